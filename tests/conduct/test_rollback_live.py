"""Breakers that undo: the tree goes back, the agent goes on or not, and the chain of every file stays whole.

Steps of the ladder stand for the places where checkpoints are taken, because the agent waits for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import run_command
from tests.conduct.live import Proctor, Seen, watch
from tests.conftest import ContractMaker
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory

STAGE = "/proctor/stage"
GOOD = f"{STAGE} write; sed -i s/-/+/ calc.py; {STAGE} test"
BAD = "echo bad >> calc.py; echo bad > bad.txt; mkdir worse; mv README.md worse"
WAIT = "while [ -e bad.txt ]; do sleep 0.05; done"


def policy(then: str = "continue", **more: Any) -> dict[str, Any]:
    """Undo what led to a command that is otherwise only told."""
    return {
        "stages": {"ladder": "requested"},
        "forbid_commands": ["id"],
        "rules": {"forbidden-command": "alert"},
        "rollback": [{"on": ["forbidden-command"], "then": then}],
        **more,
    }


def harness_changes(seen: Seen) -> dict[str, str]:
    return {
        event["payload"]["path"]: event["payload"]["change"]
        for event in seen.events
        if event["type"] == "workspace.mutation" and event["actor"] == "harness"
    }


def test_the_tree_goes_back_and_the_agent_goes_on(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=policy()), f"{GOOD}; {BAD}; id; {WAIT}; echo on > after.txt; ls")
    reasons = {payload["id"]: payload["reason"] for payload in seen.of("workspace.checkpoint")}
    assert reasons == {"1": "before the agent acts", "2": "before the stage write", "3": "before the stage test"}
    (alert,) = [event for event in seen.events if event["type"] == "monitor.alert"]
    (done,) = seen.of("intervention")
    assert (done["action"], done["alert"], done["detail"]["to"]) == ("rollback", alert["seq"], "3")
    (restored,) = seen.of("workspace.restored")
    assert (restored["checkpoint"], restored["alert"], restored["problem"]) == ("3", alert["seq"], "")
    assert harness_changes(seen) == {
        "calc.py": "modified",
        "bad.txt": "deleted",
        "worse/README.md": "deleted",
        "README.md": "added",
    }
    assert seen.output.endswith("README.md\nafter.txt\ncalc.py\ntests\n")
    assert "after.txt" in seen.patch and "bad" not in seen.patch and "return a + b" in seen.patch
    assert seen.report["status"] == "success"


def test_a_rollback_may_end_the_agent(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=policy("end")), f"{GOOD}; {BAD}; id; {WAIT}; echo on > after.txt")
    (restored,) = seen.of("workspace.restored")
    assert restored["ended"] is True
    assert seen.report["termination"]["code"] == "forbidden-command"
    assert "after.txt" not in seen.patch and "bad" not in seen.patch
    assert seen.report["status"] == "success", "what the checkpoint held is judged"


def test_the_last_act_of_an_agent_is_undone_too(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=policy()), f"{GOOD}; {BAD}; exec id")
    (restored,) = seen.of("workspace.restored")
    assert restored["problem"] == ""
    assert "bad" not in seen.patch
    assert seen.report["status"] == "success"


def test_checkpoints_are_bounded(proctor: Proctor, make_contract: Any) -> None:
    rounds = " ".join(f"echo {n} > f; {STAGE} inspect; {STAGE} write;" for n in range(3))
    seen = watch(proctor, make_contract(policy=policy(checkpoints={"keep": 3})), f"{STAGE} write; {rounds} true")
    kept: list[str] = []
    for payload in seen.of("workspace.checkpoint"):
        kept = [name for name in kept if name not in payload["dropped"]] + [payload["id"]]
        assert len(kept) <= 3
    assert kept == ["1", "7", "8"]


def test_what_is_too_large_is_not_kept(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(policy=policy(checkpoints={"total_bytes": 1000}))
    seen = watch(proctor, contract, f"{STAGE} write; head -c 2000 /dev/zero > large; {STAGE} test; id; sleep 1")
    last = seen.of("workspace.checkpoint")[-1]
    assert last["id"] == "" and "too large" in last["problem"]
    assert seen.of("workspace.restored")[0]["checkpoint"] == "1"
    assert seen.patch == ""


@pytest.mark.parametrize(
    ("when", "reason"), [({"every_calls": 2}, "tool calls"), ({"every_seconds": 1}, "1 s after the one before")]
)
def test_checkpoints_come_by_count_and_by_time(
    proctor: Proctor, make_contract: Any, when: dict[str, int], reason: str
) -> None:
    seen = watch(proctor, make_contract(policy={"checkpoints": when}), "echo x > f; /bin/true; /bin/true; sleep 2")
    taken = seen.of("workspace.checkpoint")
    assert taken[0]["reason"] == "before the agent acts" and taken[0]["files"] == 0
    assert any(payload["reason"].endswith(reason) and payload["files"] == 1 for payload in taken[1:])
    assert len(taken) == 2, "a state that has not changed is not kept again"


def test_an_ordinary_user_rolls_back_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is root's: it loads what the child could not read once it has given up root."""
    with open_directory() as top:
        top.chmod(0o777)
        contract = ContractMaker(top)("small", policy=policy())
        script = f"{GOOD}; {BAD}; id; {WAIT}; echo on > after.txt"

        def go(home: Path) -> None:
            monkeypatch.setenv("PROCTOR_HOME", str(home))
            assert run_command(["run", str(contract), "--agent", f"command:sh -c '{script}'"]) == 0
            (directory,) = (home / "runs").iterdir()
            seen = Seen(directory)
            assert seen.of("workspace.restored")[0]["ended"] is False
            assert "after.txt" in seen.patch and "bad" not in seen.patch
            assert run_command(["verify", seen.run]) == 0

        go(top / "root")
        as_ordinary_user(lambda: go(top / "ordinary"))
