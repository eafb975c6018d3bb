"""Runs whose records hold together under a new seal but have another form: commands say so, and name no defect."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.record.run_directory import RunDirectory
from tests.conduct.resealing import Forger, Steps
from tests.corpus_runs import unpack

Proctor = Callable[..., subprocess.CompletedProcess[str]]
WATCH: Steps = ("configuration", "watch")

FORMS: list[tuple[str, str, Steps, Any]] = [
    ("cost", "manifest.json", (*WATCH, "task_usd"), "red"),
    ("cost", "manifest.json", (*WATCH, "task_usd"), []),
    ("cost", "manifest.json", (*WATCH, "caps", "usd"), "red"),
    ("cost", "manifest.json", (*WATCH, "caps"), None),
    ("cost", "manifest.json", (*WATCH, "thresholds", "no_progress_seconds"), None),
    ("cost", "manifest.json", (*WATCH, "rules"), "red"),
    ("replay", "manifest.json", (*WATCH, "thresholds", "no_progress_seconds"), None),
    ("replay", "manifest.json", (*WATCH, "caps", "tool_calls"), "red"),
    ("rescore", "cost.projected#-1", ("payload", "phases"), "red"),
    ("rescore", "manifest.json", ("sandbox", "isolation", "memory"), [[]]),
]


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """A run as it was sealed, to be changed."""
    return Forger(RunDirectory(unpack("report-3b-forged", tmp_path_factory.mktemp("other-forms") / "home" / "runs")))


@pytest.mark.parametrize(("command", "place", "steps", "value"), FORMS)
def test_a_record_of_another_form_is_named(
    proctor: Proctor, forger: Forger, command: str, place: str, steps: Steps, value: Any
) -> None:
    name, _, number = place.partition("#")
    if number:
        place = f"{name}#{[event['seq'] for event in forger.events if event['type'] == name][int(number)]}"
    forger.forge(place, steps, value, scored=False)
    for options in ((), ("--json",)):
        done = proctor(command, Path(forger.run.path), *options)
        assert done.returncode == 4, done.stderr
        assert "defect" not in done.stderr and forger.run.path.name in done.stderr


PARTS: list[tuple[str, Steps, Any]] = [
    ("manifest.json", ("sandbox", "identity"), "red"),
    ("manifest.json", ("setup", "layer"), []),
    ("manifest.json", ("toolchain",), "red"),
    ("contract.json", ("environment", "variables"), "red"),
    ("contract.json", ("repository",), 1),
]


@pytest.mark.parametrize(("place", "steps", "value"), PARTS)
def test_an_invalid_run_whose_records_cannot_be_compared_is_broken(
    proctor: Proctor, forger: Forger, place: str, steps: Steps, value: Any
) -> None:
    forger.forge("report.json", ("status",), "invalid", scored=False)
    report = forger.run.report.read_bytes()
    forger.forge(place, steps, value, scored=False)
    forger.run.report.write_bytes(report)
    forger.seal()
    done = proctor("verify", forger.run.path)
    assert done.returncode == 4 and "the records cannot be compared" in done.stdout, done.stderr
    assert "defect" not in done.stderr
