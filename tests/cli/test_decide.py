"""``proctor decide`` says that something was decided only if the run has taken it."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.cli.decide import command
from proctor.conduct.run.operator_answers import Question
from proctor.record.run_directory import RunDirectory, RunLock

RUN, NEWEST = "20260307T120000-0123456789", "20260307T130000-0123456789"


@pytest.mark.parametrize("decision", ["approve", "deny", "rollback"])
def test_an_answer_that_the_run_does_not_take_is_not_reported_as_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decision: str
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    run = RunDirectory(tmp_path / "runs" / RUN)
    run.path.mkdir(parents=True)
    run.events.write_bytes(b"")
    monkeypatch.setattr("proctor.cli.decide.require_evidence", lambda run, live: None)
    question = Question(3, "id", {"1": "before the agent acts"})
    monkeypatch.setattr("proctor.cli.decide.open_question", lambda run: question)
    monkeypatch.setattr("proctor.cli.decide.TAKEN_SECONDS", 0)
    with pytest.raises(InfrastructureFault, match="did not take the answer"):
        command.main([str(run.path), decision, "--why", "because"], standalone_mode=False)


@pytest.mark.parametrize("decision", ["approve", "stop"])
def test_a_run_that_has_ended_is_refused_and_those_in_progress_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decision: str
) -> None:
    """While inverted tests are made, the last run is one that has ended."""
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    monkeypatch.setattr("proctor.cli.decide.require_evidence", lambda run, live: None)
    earlier, newest = (RunDirectory(tmp_path / "runs" / name).create() for name in (RUN, NEWEST))
    newest.events.write_bytes(b"")
    arguments = ["last", decision, "--why", "because"]
    with RunLock.take(earlier), pytest.raises(UsageFault, match="the run has ended") as refused:
        command.main(arguments, standalone_mode=False)
    assert refused.value.where == newest.path.name
    assert refused.value.hint.startswith(f"in progress: {earlier.path.name}; while inverted tests are made")
    with pytest.raises(UsageFault) as refused:
        command.main(arguments, standalone_mode=False)
    assert refused.value.hint == "no run is in progress; while inverted tests are made, no run has begun yet"
