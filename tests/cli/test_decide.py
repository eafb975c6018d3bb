"""``proctor decide`` says that something was decided only if the run has taken it."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.cli.decide import command
from proctor.conduct import operator
from proctor.conduct.operator import Question
from proctor.record.rundir import RunDirectory

RUN = "20260307T120000-0123456789"


@pytest.mark.parametrize("decision", ["approve", "deny", "rollback"])
def test_an_answer_that_the_run_does_not_take_is_not_reported_as_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decision: str
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    run = RunDirectory(tmp_path / "runs" / RUN)
    run.path.mkdir(parents=True)
    run.events.write_bytes(b"")
    monkeypatch.setattr(operator, "open_question", lambda run: Question(3, "id", {"1": "before the agent acts"}))
    monkeypatch.setattr(operator, "TAKEN_SECONDS", 0)
    with pytest.raises(InfrastructureFault, match="did not take the answer"):
        command.main([str(run.path), decision, "--why", "because"], standalone_mode=False)
