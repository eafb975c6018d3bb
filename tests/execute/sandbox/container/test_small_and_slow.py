"""B1, B2: the time that an engine takes is not the agent's, and an image needs nothing but what its contract runs."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from tests.conduct.live import Proctor, watch
from tests.execute.sandbox.container.slow_engine import slow_engine
from tests.execute.sandbox.container.small_image import small_image
from tests.execute.sandbox.workplace import layer, open_directory, overlay, shell

pytestmark = pytest.mark.container

DELAY_SECONDS = 0.8
"""What each request to the slow engine takes longer; a sandbox takes at least two to open and two to close."""

CHECK = {
    "id": "adds",
    "gate": "acceptance",
    "run": ["/bin/sh", "-c", "grep -q 'a + b' calc.py"],
    "timeout_seconds": 60,
}


def test_b1_what_a_slow_engine_takes_is_not_the_agents_time(
    engine: str, proctor: Proctor, make_contract: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (image,) = small_image(engine, "small", {})
    with slow_engine(engine, DELAY_SECONDS) as slow:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{slow.path}")
        contract = make_contract(
            environment={"sandbox": "image", "image": image},
            checks=[CHECK],
            budget={"wall_seconds": 2, "memory_bytes": 1 << 30},
        )
        begin = time.monotonic()
        seen = watch(proctor, contract, "sed -i s/-/+/ calc.py; sleep 0.5")
        took = time.monotonic() - begin
        requests = slow.requests
    assert seen.report["status"] == "success", seen.report["problems"]
    (ended,) = seen.of("agent.finished")
    assert ended["reason"] == "finished"
    assert 0.5 <= float(ended["wall_seconds"]) < 0.5 + DELAY_SECONDS, "no request lies in the agent's time"
    (invocation,) = seen.of("tool.invocation")
    assert float(invocation["wall_seconds"]) < 0.5 + DELAY_SECONDS
    (attempt,) = [one for one in seen.report["checks"][0]["attempts"] if one["tree"] == "patched"]
    assert float(attempt["observed_seconds"]) < DELAY_SECONDS, "nor in the check's"
    assert requests >= 8 and took > requests * DELAY_SECONDS / 4 > 2, "the engine was slow, beyond the agent's budget"


def test_b1_a_command_is_not_slowed_by_its_engine(engine: str) -> None:
    image = small_image(engine, "small", {})
    with open_directory() as top, slow_engine(engine, 0) as slow:
        backend = ContainerBackend(top / "sessions", slow.path, image)
        with backend.open(SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())) as sandbox:
            slow.seconds, before = 5, slow.requests
            finished = shell(sandbox, "sleep 0.2")
            assert 0.2 <= finished.wall_ns / 1e9 < 2
            sandbox.freeze()
            sandbox.thaw()
            sandbox.end_all()
            assert sandbox.usage().cpu_ns is not None
            assert slow.requests == before, "while it is open, a sandbox does not need its engine"
            slow.seconds = 0


def test_what_an_agent_made_is_kept_when_its_container_is_taken_away(
    engine: str, proctor: Proctor, make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    (image,) = small_image(engine, "small", {})
    contract = make_contract(environment={"sandbox": "image", "image": image}, checks=[CHECK])
    taken: list[str] = []

    def take_away() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not taken:
            events = "".join(path.read_text() for path in tmp_path.glob("home/runs/*/events.jsonl"))
            if '"calc.py"' in events and "workspace.mutation" in events:
                for record in tmp_path.glob("home/sessions/*.json"):
                    Engine(engine).call("DELETE", f"/containers/{record.stem}", {"force": "true"})
                    taken.append(record.stem)
            time.sleep(0.02)

    thread = threading.Thread(target=take_away)
    thread.start()
    seen = watch(proctor, contract, "sed -i s/-/+/ calc.py; sleep 100")
    thread.join()
    assert len(taken) == 1 and (seen.report["status"], seen.report["attribution"]) == ("invalid", "harness")
    assert seen.report["termination"]["reason"] == "killed" and "+    return a + b" in seen.patch


def test_b7_a_pause_from_outside_is_recorded_and_not_the_agents_time(
    engine: str, proctor: Proctor, make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    (image,) = small_image(engine, "small", {})
    budget = {"wall_seconds": 5, "memory_bytes": 1 << 30}
    contract = make_contract(environment={"sandbox": "image", "image": image}, checks=[CHECK], budget=budget)

    def pause() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            events = "".join(path.read_text() for path in tmp_path.glob("home/runs/*/events.jsonl"))
            if '"guard.exec"' in events and "sleep" in events:
                (record,) = tmp_path.glob("home/sessions/*.json")
                Engine(engine).call("POST", f"/containers/{record.stem}/pause")
                time.sleep(6)
                Engine(engine).call("POST", f"/containers/{record.stem}/unpause")
                return
            time.sleep(0.02)

    thread = threading.Thread(target=pause)
    thread.start()
    seen = watch(proctor, contract, "/bin/sleep 2; sed -i s/-/+/ calc.py")
    thread.join()
    assert seen.report["status"] == "success", (seen.report["problems"], seen.of("run.terminated"))
    assert len(seen.of("sandbox.paused")) == 1
    (resumed,) = seen.of("sandbox.resumed")
    assert 5 < float(resumed["seconds"]) < 8 and seen.of("run.terminated") == []
    (invocation,) = seen.of("tool.invocation")
    assert float(invocation["wall_seconds"]) < 5, "the command's own time stands still as well"


def test_b2_an_image_needs_nothing_but_a_shell(
    engine: str, proctor: Proctor, make_contract: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    (image,) = small_image(engine, "small", {})
    contract: Path = make_contract(environment={"sandbox": "image", "image": image}, checks=[CHECK])
    valid = proctor("validate", contract, "--times", "1")
    assert valid.returncode == 0, valid.stdout + valid.stderr
    absent = "for tool in python3 node gcc cc git perl ldd apt; do type $tool && exit 3; done"
    seen = watch(proctor, contract, f"{absent}; test -e /usr && exit 4; test -e /lib && exit 5; sed -i s/-/+/ calc.py")
    assert seen.report["status"] == "success", (seen.report["problems"], seen.output)
    assert [one["exit_code"] for one in seen.of("tool.invocation")] == [0]
    assert {"sed"} <= {one["argv"][0] for one in seen.of("guard.exec")}
    identity = json.loads((contract.parent.parent / "home/images.json").read_text())["images"]
    assert not {"python3", "node", "gcc", "git"} & {name for facts in identity.values() for name in facts}
