"""A human is asked: what is answered is done, in time or too late, and all of it is in the trace."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.conduct.run.operator_answers import Answer, answer_path, give_answer, read_answer, wait_for_answer
from proctor.contract.model import Ask
from proctor.record.signing.operator_identity import act_signature, new_identity
from tests.conduct.live import Proctor, asked, assert_own_time, check, ended, watch

SCRIPT = "echo bad > bad.txt; id; sleep 5; sed -i s/-/+/ calc.py"
UNDONE = "echo bad > bad.txt; id; while [ -e bad.txt ]; do sleep 0.05; done; sed -i s/-/+/ calc.py"


def policy(**ask: Any) -> dict[str, Any]:
    """Ask about a command that is otherwise only told."""
    return {
        "forbid_commands": ["id"],
        "rules": {"forbidden-command": "alert"},
        "ask": [{"on": ["forbidden-command"], "deadline_seconds": 100, **ask}],
    }


@pytest.mark.parametrize(("decision", "status"), [("approve", "success"), ("deny", "failure")])
def test_a_human_decides(proctor: Proctor, make_contract: Any, tmp_path: Path, decision: str, status: str) -> None:
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", SCRIPT)
    answer = proctor("decide", directory.name, decision, "--why", "looked at it", "--code", "seen")
    assert answer.returncode == 0, answer.stderr
    seen = ended(child, directory)
    assert seen.report["status"] == status
    (decided,) = seen.of("operator.decided")
    assert (decided["decision"], decided["why"], decided["code"]) == (decision, "looked at it", "seen")
    assert ("bad.txt" in seen.patch) is True, "neither undoes anything"
    check(proctor, seen.run)


def test_those_who_could_answer_are_told(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", SCRIPT)
    assert child.stderr is not None
    line = child.stderr.readline()
    run = directory.name
    assert line.startswith(f"{run} asks: forbidden-command: id; proctor decide {run} approve|deny|rollback --why")
    assert line.endswith("; 100 s left\n"), "also without a terminal, and beside --json"
    waiting = proctor("runs", "--status", "waiting").stdout
    assert run in waiting and " waiting " in waiting
    assert proctor("decide", "last", "deny", "--why", "no").returncode == 0
    ended(child, directory)
    assert run not in proctor("runs", "--status", "waiting").stdout


def test_a_question_comes_before_a_quarantine_too(proctor: Proctor, make_contract: Any) -> None:
    """What ends a run for safety has a code of its own; the policy asks about the code of the deed."""
    asks = {"forbid_syscalls": ["mount"], "ask": [{"on": ["forbidden-syscall"], "deadline_seconds": 1}]}
    seen = watch(proctor, make_contract(policy=asks), "mount -t tmpfs none /tmp; sleep 5")
    (asked_about,) = seen.of("operator.asked")
    assert asked_about["code"] == "safety-forbidden-syscall"
    assert seen.report["termination"]["code"] == "operator-denied"


@pytest.mark.parametrize(("to", "signs"), [("1", False), ("", False), ("1", True), ("", True)])
def test_a_human_rolls_back(proctor: Proctor, make_contract: Any, tmp_path: Path, to: str, signs: bool) -> None:
    assert proctor("vault", "identity", "alice", tmp_path / "alice").returncode == 0
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", UNDONE)
    arguments = ("decide", directory.name, "rollback", "--why", "undo it", "--code", "undo")
    wrong = proctor(*arguments, "--checkpoint", "7")
    assert wrong.returncode == 2 and "no checkpoint '7'" in wrong.stderr
    assert "1 (before the agent acts)" in wrong.stderr
    mixed = proctor("decide", directory.name, "approve", "--why", "x", "--checkpoint", "1")
    assert mixed.returncode == 2 and "only be combined with rollback" in mixed.stderr
    more = (*(("--checkpoint", to) if to else ()), *(("--identity", tmp_path / "alice") if signs else ()))
    answer = proctor(*arguments, *more)
    assert answer.returncode == 0, answer.stderr
    seen = ended(child, directory)
    (decided,) = seen.of("operator.decided")
    assert (decided["decision"], decided["to"], decided["code"]) == ("rollback", to, "undo")
    assert decided["checkpoint"] == "1" and bool(decided["signature"]) == signs
    (alert,) = [event for event in seen.events if event["type"] == "monitor.alert"]
    actions = [(payload["action"], payload["alert"]) for payload in seen.of("intervention")]
    assert actions == [("pause", alert["seq"]), ("rollback", alert["seq"]), ("resume", alert["seq"])]
    (restored,) = seen.of("workspace.restored")
    assert (restored["checkpoint"], restored["names"], restored["ended"]) == ("1", 1, False)
    assert "bad.txt" not in seen.patch
    assert seen.report["status"] == "success", "the agent went on after the rollback"
    check(proctor, seen.run)


def test_a_closed_workspace_is_brought_back_and_stays_closed(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    stage = "/proctor/stage"
    script = (
        f"{stage} write; echo bad > bad.txt; {stage} inspect; id; while [ -e bad.txt ]; do sleep 0.05; done;"
        f" echo x > y || echo closed; {stage} write; sed -i s/-/+/ calc.py"
    )
    contract = make_contract(policy={**policy(), "stages": {"ladder": "requested"}})
    child, directory = asked(contract, tmp_path / "home", script)
    assert proctor("decide", directory.name, "rollback", "--why", "undo it", "--checkpoint", "2").returncode == 0
    seen = ended(child, directory)
    assert seen.of("workspace.restored")[0]["names"] == 1
    assert "\nclosed\n" in seen.output
    assert "bad.txt" not in seen.patch and seen.report["status"] == "success"
    check(proctor, seen.run)


@pytest.mark.parametrize("otherwise", ["approve", "deny", "rollback"])
def test_the_deadline_decides_when_nobody_answers(
    proctor: Proctor, make_contract: Any, tmp_path: Path, otherwise: str
) -> None:
    contract = make_contract(policy=policy(deadline_seconds=1, otherwise=otherwise))
    script = UNDONE if otherwise == "rollback" else "id; sleep 2; sed -i s/-/+/ calc.py"
    seen = watch(proctor, contract, script)
    (decided,) = seen.of("operator.decided")
    assert (decided["decision"], decided["code"], decided["by"]) == (otherwise, "deadline", "nobody")
    assert_own_time(seen, 1)
    assert len(seen.of("workspace.restored")) == (otherwise == "rollback")
    assert seen.report["status"] == ("failure" if otherwise == "deny" else "success")
    if otherwise == "deny":
        assert seen.report["termination"]["code"] == "operator-denied"


def test_a_question_that_comes_too_late_is_withdrawn(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=policy()), "sed -i s/-/+/ calc.py; exec id")
    assert len(seen.of("operator.asked")) == 1
    (decided,) = seen.of("operator.decided")
    assert (decided["decision"], decided["by"]) == ("withdrawn", "nobody")
    assert seen.report["status"] == "success", "what the agent left is judged"


def test_a_run_that_asks_nothing_wants_no_decision(proctor: Proctor, make_contract: Any) -> None:
    seen = watch(proctor, make_contract(policy=policy()), "sed -i s/-/+/ calc.py")
    done = proctor("decide", seen.run, "rollback", "--why", "x")
    assert done.returncode == 2 and "the run has ended" in done.stderr


def test_what_is_no_answer_is_passed_over_and_the_deadline_decides(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contract = make_contract(policy=policy(deadline_seconds=2, otherwise="approve"))
    child, directory = asked(contract, tmp_path / "home", SCRIPT)
    (question,) = tmp_path.glob("home/runs/*/events.jsonl")
    seq = next(
        event["seq"]
        for event in map(json.loads, question.read_text().splitlines())
        if event["type"] == "operator.asked"
    )
    (tmp_path / "home" / "decisions" / directory.name / f"{seq}.json").mkdir(parents=True)
    seen = ended(child, directory)
    assert seen.report["status"] == "success"
    assert [payload["by"] for payload in seen.of("operator.decided")] == ["nobody"]


def test_an_answer_that_cannot_be_carried_out_ends_the_agent_and_leaves_a_fault(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", SCRIPT)
    (kept,) = tmp_path.glob("home/scratch/run.*/agent/checkpoints")
    shutil.rmtree(kept)
    assert proctor("decide", directory.name, "rollback", "--why", "undo it").returncode == 0
    seen = ended(child, directory)
    assert seen.report["status"] == "invalid"
    assert child.returncode == 3
    assert len(seen.of("run.fault")) == 1
    check(proctor, seen.run)


def test_an_answer_to_an_earlier_question_answers_no_later_one(tmp_path: Path) -> None:
    give_answer(tmp_path / "run", 7, Answer("approve", "harmless", "seen", "me"))
    assert read_answer(answer_path(tmp_path / "run", 9)) is None
    give_answer(tmp_path / "run", 9, Answer("deny", "this one not", "seen", "me"))
    answer = read_answer(answer_path(tmp_path / "run", 9))
    assert answer is not None and answer.decision == "deny"


def test_an_answer_whose_signature_does_not_hold_is_removed(tmp_path: Path) -> None:
    alice = new_identity("alice", bytes(32))
    answer = Answer("approve", "harmless", "seen", "alice")
    right = replace(answer, **act_signature(alice, "run", 7, answer.act()))
    looks: list[bool] = []

    def ended() -> str:
        """Called once the first answer was refused; then the right one is given."""
        looks.append(answer_path(tmp_path / "run", 7).exists())
        give_answer(tmp_path / "run", 7, right)
        return ""

    give_answer(tmp_path / "run", 7, replace(right, why="another reason"))
    ask = Ask(("forbidden-command",), 100, "deny")
    assert wait_for_answer(tmp_path / "run", 7, ask, ended) == right
    assert looks == [False]


def test_i3_of_two_operators_at_once_exactly_one_decides(tmp_path: Path) -> None:
    """Two hundred questions, two operators for each; whoever comes second is told who decided what."""
    together = threading.Barrier(2)
    said: list[tuple[int, str, str]] = []

    def operate(name: str) -> None:
        for number in range(200):
            together.wait()
            try:
                give_answer(tmp_path / "run", number, Answer("deny", "why", "code", name))
                said.append((number, name, ""))
            except UsageFault as fault:
                said.append((number, name, fault.message))

    operators = [threading.Thread(target=operate, args=(name,)) for name in ("one", "two")]
    for thread in operators:
        thread.start()
    for thread in operators:
        thread.join()
    for number in range(200):
        answer = read_answer(answer_path(tmp_path / "run", number))
        assert answer is not None
        first, second = sorted((one for one in said if one[0] == number), key=lambda one: one[2])
        assert first == (number, answer.by, "")
        assert second[2] == f"the question was decided before: deny, by {answer.by}: why"


def test_i3_the_second_operator_of_a_run_is_told_who_decided(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", SCRIPT)
    answers: list[Any] = []

    def operate(decision: str) -> None:
        answers.append(proctor("decide", directory.name, decision, "--why", f"I would {decision}"))

    operators = [threading.Thread(target=operate, args=(decision,)) for decision in ("approve", "deny")]
    for thread in operators:
        thread.start()
    for thread in operators:
        thread.join()
    seen = ended(child, directory)
    (decided,) = seen.of("operator.decided")
    assert sorted(answer.returncode for answer in answers) == [0, 2]
    (late,) = [answer.stderr for answer in answers if answer.returncode]
    assert (
        f"decided before: {decided['decision']}, by {decided['by']}: {decided['why']}" in late
        or "not wait" in late
        or "has ended" in late
    )
