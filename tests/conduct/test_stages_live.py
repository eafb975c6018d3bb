"""Agents that climb the ladder: the mount decides who may write, and every step is in the trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import run_command
from tests.conduct.live import Proctor, Seen, watch
from tests.conftest import ContractMaker
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory

ASKED = {"stages": {"ladder": "requested", "tests": ["/bin/true*"]}}
STAGE = "/proctor/stage"
CLIMB = f"sed -i s/-/+/ calc.py; {STAGE} write; sed -i s/-/+/ calc.py; {STAGE} next; {STAGE}"


def changes(seen: Seen) -> list[tuple[str, str]]:
    return [(payload["from"], payload["to"]) for payload in seen.of("stage.changed")]


def test_an_agent_asks_for_the_next_stage(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=ASKED), f"echo x > new.txt; {CLIMB}")
    assert changes(seen) == [("", "inspect"), ("inspect", "write"), ("write", "test")]
    assert seen.output == "the stage is write now\nthe stage is test now\nthe stage is test\n"
    early = [payload for payload in seen.of("guard.attempt") if payload["code"] == "write-early"]
    assert early[0]["path"] == "/workspace/new.txt" and not early[0]["allowed"]
    assert "new.txt" not in seen.patch
    assert seen.report["status"] == "success", "a write tried too early is no violation"
    assert [one for one in seen.report["deviations"] if one["id"] == "stages"] == []
    briefed = seen.of("briefing")[0]["text"]
    assert f"{STAGE} write" in briefed and f"{STAGE} test" in briefed


def test_an_agent_that_never_asks_changes_nothing(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(
        proctor, make_contract(policy=ASKED), "sed -i s/-/+/ calc.py; chmod 777 .; ln -s x y; rm -rf tests; true"
    )
    assert changes(seen) == [("", "inspect")]
    assert seen.patch == "" and seen.of("workspace.mutation") == []
    assert seen.report["status"] == "failure"


def test_a_rung_that_is_left_out_is_a_deviation(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=ASKED), f"{STAGE} test; sed -i s/-/+/ calc.py")
    assert seen.of("stage.changed")[-1]["skipped"] == ["write"]
    (deviation,) = [one for one in seen.report["deviations"] if one["id"] == "stages"]
    assert "left out write" in deviation["message"]
    assert seen.report["status"] == "success"


def test_nonsense_is_refused_and_a_flood_is_bounded(proctor: Proctor, make_contract: Any) -> None:
    flood = (
        "import socket\nfor i in range(210):\n s = socket.socket(1, socket.SOCK_SEQPACKET)\n"
        ' s.connect(\\"/proctor/ask\\")\n s.send(b\\"root\\")\n assert s.recv(500)[:1] == b\\"-\\"'
    )
    seen = watch(proctor, make_contract(policy=ASKED), f'python3 -c "{flood}" && {CLIMB}')
    refused = seen.of("stage.refused")
    assert len(refused) == 51
    assert (refused[0]["asked"], refused[0]["stage"]) == ("root", "inspect")
    assert sum(payload["count"] for payload in refused) == 210
    assert seen.report["status"] == "success", "whoever asks properly afterwards is served"


def test_a_step_down_takes_writing_away(proctor: Proctor, make_contract: Any) -> None:
    script = (
        f"{STAGE} write; exec 3>held; {STAGE} inspect || echo held; exec 3>&-; rm held; sed -i s/-/+/ calc.py;"
        f" {STAGE} inspect; echo x > late || echo closed; {STAGE} next; rm -f late"
    )
    seen = watch(proctor, make_contract(policy=ASKED), script)
    assert changes(seen) == [("", "inspect"), ("inspect", "write"), ("write", "inspect"), ("inspect", "write")]
    assert seen.output == ("the stage is write now\nheld\nthe stage is inspect now\nclosed\nthe stage is write now\n")
    (refused,) = seen.of("stage.refused")
    assert refused["asked"] == "inspect" and "open for writing" in refused["reason"]
    assert seen.report["status"] == "success"


def test_tests_before_the_test_stage_are_an_alert(proctor: Proctor, make_contract: Any) -> None:
    alerts = {}
    for name, script in {"early": "/bin/true", "late": f"{STAGE} next; {STAGE} next; /bin/true"}.items():
        seen = watch(proctor, make_contract(name, policy=ASKED), script)
        alerts[name] = [payload["code"] for payload in seen.of("monitor.alert")]
    assert alerts == {"early": ["early-tests"], "late": []}


@pytest.mark.parametrize(("start", "passed"), [("inspect", 3), ("write", 2), ("test", 1)])
def test_an_automatic_ladder_begins_where_the_contract_says(
    proctor: Proctor, make_contract: Any, start: str, passed: int
) -> None:
    contract = make_contract(policy={"stages": {"ladder": "automatic", "start": start}})
    seen = watch(proctor, contract, "cat calc.py; sed -i s/-/+/ calc.py")
    assert [after for _, after in changes(seen)] == ["inspect", "write", "test"][-passed:]
    assert seen.report["status"] == "success"


def test_an_agent_without_a_sandbox_has_no_ladder(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(policy=ASKED), "--agent", "reference", "--json")
    assert json.loads(done.stdout)["runs"][0]["status"] == "success", done.stderr


def test_an_ordinary_user_has_the_same_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is root's: it loads what the child cannot read once it has given up root."""
    with open_directory() as top:
        top.chmod(0o777)
        contract = ContractMaker(top)("small", policy=ASKED)

        def go(home: Path) -> None:
            monkeypatch.setenv("PROCTOR_HOME", str(home))
            assert run_command(["run", str(contract), "--agent", f"command:sh -c '{CLIMB}'"]) == 0
            (directory,) = (home / "runs").iterdir()
            seen = Seen(directory)
            assert changes(seen) == [("", "inspect"), ("inspect", "write"), ("write", "test")]
            assert seen.report["status"] == "success"

        go(top / "root")
        as_ordinary_user(lambda: go(top / "ordinary"))
