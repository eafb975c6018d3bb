"""The pilots of the Python interface: planned, stopped, continued and reported without a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor.conduct.batch.batch_record import Place
from proctor.conduct.run.lifecycle import RunOutcome
from tests.study.pilot.live import write_pilot


class StopAfterOne(proctor.BatchWatcher):
    """Asks to stop when one run has ended."""

    def __init__(self) -> None:
        self.ended = 0

    def finished(self, place: Place, outcome: RunOutcome) -> None:
        self.ended += 1

    def stopped(self) -> bool:
        return self.ended > 0


def test_a_pilot_is_planned_stopped_continued_and_reported(make_contract: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = write_pilot(tmp_path, [make_contract(f"task-{number}") for number in range(3)])
    plan = proctor.plan_pilot(file, home=home)
    assert proctor.plan_pilot(file, home=home) == plan
    assert plan.folder == file.with_suffix(".plan")
    assert plan.protocol["pilot"]["name"] == "trial"

    stopped = proctor.run_pilot(file, home=home, watcher=StopAfterOne())
    assert stopped.stopped and not stopped.complete
    status = proctor.pilot_status(file, home=home)
    assert (status["pilot"], status["complete"], status["busy"]) == (plan.digest, False, False)

    done = proctor.run_pilot(file, jobs=2, home=home)
    assert done.complete and [stage.verdict for stage in done.stages] == ["over"] * 3
    assert proctor.pilot_status(file, home=home)["complete"]

    findings = proctor.report_pilot(file, out=tmp_path / "report", home=home)
    rates = {one["agent"]: one["success"]["value"] for one in findings["agents"]}
    assert (rates["fixer"], rates["idler"]) == (1.0, 0.0)
    assert "</svg>" in proctor.plot(findings).svg
    assert (tmp_path / "report" / "findings.json").is_file()


def test_a_changed_pilot_is_refused(make_contract: Any, tmp_path: Path) -> None:
    file = write_pilot(tmp_path, [make_contract("task")])
    with pytest.raises(proctor.ProctorError, match="planned"):
        proctor.run_pilot(file, home=tmp_path / "home")
    proctor.plan_pilot(file, home=tmp_path / "home")
    file.write_text(file.read_text().replace('"0.8"', '"0.7"'))
    with pytest.raises(proctor.ProctorError, match=r"changed|differs"):
        proctor.run_pilot(file, home=tmp_path / "home")
    with pytest.raises(proctor.ProctorError, match="jobs"):
        proctor.run_pilot(file, jobs=0, home=tmp_path / "home")
