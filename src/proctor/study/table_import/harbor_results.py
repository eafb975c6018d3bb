"""Results of Harbor: the result of a trial, and a job as the folder of its trials.

An attempt is a trial. Its reward is the outcome; a trial without a verifier result has an unknown outcome, whatever
ended it: Harbor's own means count it as 0. The result of a job has no tasks, so the trials beside it are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.study.statements import Statement, statement
from proctor.study.table_import.result_sheet import (
    MAX_ATTEMPTS,
    Attempt,
    at,
    checked_name,
    document,
    file_bytes,
    name_at,
    needed,
    number_at,
    number_cell,
    seconds_between,
)

FORMAT = "Harbor"
NEEDED = ("agent_name", "task_name", "trial_name")
RESULT = "result.json"
REWARD = OUTCOME = "reward"
MAX_REWARDS = 50


def is_trial(record: dict[str, Any]) -> bool:
    """Whether a JSON object looks like the result of a trial."""
    return "trial_name" in record and "agent_info" in record


def is_job(record: dict[str, Any]) -> bool:
    """Whether a JSON object looks like the result of a job."""
    return "n_total_trials" in record and "stats" in record


def trial(record: dict[str, Any], where: str) -> Attempt:
    """The attempt that the result of a trial describes."""
    model = at(record, "agent_info.model_info", dict, where)
    cells = {
        "agent_name": name_at(record, "agent_info.name", where),
        "model": _model(model, where) if model else "",
        "task_name": name_at(record, "task_name", where),
        "trial_name": name_at(record, "trial_name", where),
        "exception_type": (at(record, "exception_info.exception_type", str, where) or "")[:200],
        "cost_usd": number_at(record, "agent_result.cost_usd", where),
        "n_input_tokens": number_at(record, "agent_result.n_input_tokens", where),
        "n_output_tokens": number_at(record, "agent_result.n_output_tokens", where),
        "agent_seconds": seconds_between(record, "agent_execution", where),
        "started_at": at(record, "started_at", str, where) or "",
    }
    rewards: dict[str, Any] = at(record, "verifier_result.rewards", dict, where) or {}
    if len(rewards) > MAX_REWARDS:
        raise UsageFault(f"the trial has {len(rewards)} rewards", where=where, hint=f"at most {MAX_REWARDS} are read")
    for name, value in rewards.items():
        column = REWARD if name == REWARD else f"{REWARD}_{checked_name(name, 'the name of a reward', where)}"
        cells[column] = number_cell(value, f"verifier_result.rewards.{name[:60]}", where)
    return Attempt(where, cells)


def _model(model: dict[str, Any], where: str) -> str:
    provider = at(model, "provider", str, where)
    name: str = needed(model, "name", str, where)
    return f"{provider}/{name}" if provider else name


def job(
    record: dict[str, Any], folder: Path, files: list[tuple[str, bytes]]
) -> tuple[list[Attempt], tuple[Statement, ...]]:
    """The trials in the folder of a job, and how many of its trials have no result. ``files`` gets what was read."""
    where = f"{folder.name}/{RESULT}"
    planned = needed(record, "n_total_trials", int, where)
    found = []
    for path in trial_files(folder):
        data = file_bytes(path)
        place = f"{folder.name}/{path.parent.name}/{RESULT}"
        result = document(data, place)
        if not is_trial(result):
            raise UsageFault("this is not the result of a trial", where=place, hint="a job has trials of Harbor only")
        files.append((place, data))
        found.append(trial(result, place))
    if not found:
        raise UsageFault("the folder has no trials", where=str(folder), hint="give the whole folder of the job")
    missing = max(0, planned - len(found))
    return found, ((statement("attempts-not-recorded", missing=missing),) if missing else ())


def trial_files(folder: Path) -> Iterator[Path]:
    """The results of trials in the folders of ``folder``, by name; links are passed over."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    if len(folders) > MAX_ATTEMPTS:
        raise UsageFault(f"{len(folders):,} folders", where=str(folder), hint=f"at most {MAX_ATTEMPTS:,} are read")
    for path in folders:
        if (path / RESULT).is_file():
            yield path / RESULT
