"""A dialect of an installed package: calls go through it, and its errors close the gateway in the package's name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.conduct.run.model_connection import ModelPlan
from proctor.conduct.session.model_options import plan_model
from proctor.execute.gateway.dialects.dialect_routes import find_dialect
from proctor.execute.gateway.gateway_settings import Settings, Upstream
from tests.execute.gateway.answering import answering_provider
from tests.execute.gateway.conftest import KEY, MakeRig
from tests.test_extending import FILES

ASKED = {"model": "acme-1", "prompt": "Hello", "more": 1}
ANSWER = {"reply": "Hello to you", "read": 3, "written": 4}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Installs the dialect of docs/extending.md with a change to its code."""

    def make(old: str = "", new: str = "") -> None:
        text = FILES["acme-proctor/acme_proctor/dialect.py"]
        assert old in text
        site = tmp_path / "site"
        (site / "acme-1.0.dist-info").mkdir(parents=True)
        (site / "acme_dialect.py").write_text(text.replace(old, new))
        (site / "acme-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        points = "[proctor.dialects]\nacme-ask = acme_dialect:DIALECT\n"
        (site / "acme-1.0.dist-info" / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(site)

    find_dialect.cache_clear()
    yield make
    find_dialect.cache_clear()
    sys.modules.pop("acme_dialect", None)


def test_calls_go_through_the_dialect_and_are_metered(install: Any, make_rig: MakeRig) -> None:
    install()
    with answering_provider() as (url, provider):
        provider.answer = ANSWER
        rig = make_rig(upstreams={"acme-ask": Upstream(url, KEY)})
        status, data = rig.post("/acme/ask", ASKED)
        rig.wait("model.usage")
    assert status == 200 and json.loads(data) == ANSWER and provider.paths == ["/acme/ask"]
    (usage,) = rig.of("model.usage")
    assert (usage["input_tokens"], usage["output_tokens"]) == (3, 4)
    assert rig.of("model.request")[0]["dialect"] == "acme-ask"
    assert rig.post("/no/such/path", ASKED)[0] == 404


def test_recorded_calls_are_played_again_in_the_dialect(install: Any, make_rig: MakeRig) -> None:
    install()
    with answering_provider() as (url, provider):
        provider.answer = ANSWER
        rig = make_rig(upstreams={"acme-ask": Upstream(url, KEY)}, cassette="record")
        recorded = rig.post("/acme/ask", ASKED)
        tape = rig.stop().cassette
    again = make_rig(cassette="replay", tape=tape, dialects=("acme-ask",))
    assert again.post("/acme/ask", ASKED) == recorded
    assert again.stop().unplayed == ()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("        prompt, most =", "        raise PermissionError(1, 'x')\n        prompt, most =", "PermissionError"),
        (
            "        return Route(self.name",
            "        raise ConnectionResetError('x')\n        return Route(self.name",
            "ConnectionResetError: x",
        ),
        ("        found = body if", "        raise TimeoutError('x')\n        found = body if", "TimeoutError: x"),
        (
            '        return {"x-acme-key": key}',
            '        return {"x": key + chr(10)}',
            "headers() does not return texts",
        ),
        ('        return {"x-acme-key": key}', "        return None", "headers() returns a NoneType, not dict"),
        ("        return [f", "        return 7 or [f", "prepare() returns a int, not list"),
        ('        return "/acme/ask"', '        return "acme"', "forwarded_path() does not return a path"),
        (
            "        prompt, most =",
            "        return 7\n        prompt, most =",
            "asked() returns a int, not ModelRequest",
        ),
    ],
)
def test_an_error_that_looks_like_one_of_the_network_is_the_package_s(
    install: Any, make_rig: MakeRig, old: str, new: str, says: str
) -> None:
    install(old, new)
    with answering_provider() as (url, provider):
        provider.answer = ANSWER
        rig = make_rig(upstreams={"acme-ask": Upstream(url, KEY)})
        rig.post("/acme/ask", ASKED)
        rig.wait_until(lambda: rig.post("/acme/ask", ASKED)[0] == 503)
    rig.broken_at = "model.closed"
    with pytest.raises(InfrastructureFault, match="the dialect 'acme-ask' of the package acme failed: ") as fault:
        rig.stop()
    assert says in str(fault.value)


@pytest.mark.parametrize(
    ("old", "new"),
    {
        "while a request is read": ("        prompt, most =", "        1 / 0\n        prompt, most ="),
        "while a path is read": ("        return Route(self.name", "        1 / 0\n        return Route(self.name"),
        "while an answer is read": ("        found = body if", "        1 / 0\n        found = body if"),
    }.values(),
)
def test_an_error_of_the_dialect_closes_the_gateway(install: Any, make_rig: MakeRig, old: str, new: str) -> None:
    install(old, new)
    with answering_provider() as (url, provider):
        provider.answer = ANSWER
        rig = make_rig(upstreams={"acme-ask": Upstream(url, KEY)})
        rig.post("/acme/ask", ASKED)
        rig.wait_until(lambda: rig.post("/acme/ask", ASKED)[0] == 503)
    rig.broken_at = "model.closed"
    with pytest.raises(InfrastructureFault, match="the dialect 'acme-ask' of the package acme failed: ZeroDivision"):
        rig.stop()


def test_a_scripted_model_does_not_speak_the_dialect(install: Any, tmp_path: Path) -> None:
    install()
    script = tmp_path / "turns.yaml"
    script.write_text("schema: 1\nturns: [{say: x}]\n")
    with pytest.raises(UsageFault, match="a scripted model does not speak 'acme-ask'") as fault:
        plan_model("scripted/x", {"script": str(script), "dialect": "acme-ask"})
    assert fault.value.where == "--dialect"


def test_a_run_on_recorded_calls_records_the_dialect(install: Any) -> None:
    install()
    settings = Settings(cassette="replay", tape=b"calls", dialects=("acme-ask",))
    assert ModelPlan("m", settings).record()["upstreams"] == {"acme-ask": ""}
    with pytest.raises(UsageFault, match="there is no dialect 'acme-none'"):
        Settings(dialects=("acme-none",))
