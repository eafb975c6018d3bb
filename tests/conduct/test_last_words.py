"""What an agent printed before it was ended is kept, whoever ended it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conduct.live import Proctor, asked, check, ended, watch

LAST_WORDS = "echo thinking; echo doubting >&2; "


def printed(proctor: Proctor, run: str) -> list[str]:
    """The lines that ``show --output`` prints of a run."""
    shown = proctor("show", run, "--output")
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.splitlines()


def test_an_agent_that_a_cap_ends_has_its_say(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(budget={"wall_seconds": 600, "tool_calls": 2})
    seen = watch(proctor, contract, LAST_WORDS + "while true; do /bin/true; done")
    assert seen.report["termination"]["code"] == "tool-call-cap"
    assert [line for line in printed(proctor, seen.run) if not line.startswith("---")] == ["thinking", "doubting"]
    (call,) = seen.of("tool.invocation")
    assert (call["started"], call["timed_out"], call["exit_code"]) == (True, False, -9)


def test_an_agent_that_an_operator_denies_has_its_say(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    policy = {
        "forbid_commands": ["id"],
        "rules": {"forbidden-command": "alert"},
        "ask": [{"on": ["forbidden-command"], "deadline_seconds": 1000}],
    }
    child, directory = asked(make_contract(policy=policy), tmp_path / "home", LAST_WORDS + "id; sleep 1000")
    assert proctor("decide", directory.name, "deny", "--why", "no").returncode == 0
    seen = ended(child, directory)
    assert seen.report["termination"]["code"] == "operator-denied"
    assert {"thinking", "doubting"} <= set(printed(proctor, seen.run))
    check(proctor, seen.run)


def test_an_agent_that_the_wall_ceiling_ends_has_its_say(proctor: Proctor, make_contract: Any) -> None:
    for seconds in (4, 16, 64, 256):  # on a busy machine the agent may not come as far as its first line in time
        contract = make_contract(f"ends-after-{seconds}", budget={"wall_seconds": seconds})
        seen = watch(proctor, contract, LAST_WORDS + "echo x > begun; sleep 1000")
        assert seen.report["termination"]["code"] == "wall-ceiling"
        if "begun" in seen.patch:
            break
    assert {"thinking", "doubting"} <= set(printed(proctor, seen.run))
