"""Results of Inspect: logs of version 2, as `.eval` archives (zstd or deflate) or as JSON.

An attempt is a sample at an epoch. Of an archive only the header and the summaries are read, never the transcripts.
Each scorer gives a column of its own, so a log with several needs a choice. A sample without a score has an unknown
outcome. NaN, which Inspect writes for a sample that was not scored, is no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from proctor.base.errors import UsageFault
from proctor.study.statements import Statement, statement
from proctor.study.table_import.result_sheet import (
    MAX_ATTEMPTS,
    Attempt,
    at,
    checked_name,
    document,
    kind_of,
    name_at,
    needed,
    number_at,
    number_cell,
    values,
)
from proctor.study.table_import.zip_members import ZipMembers

FORMAT = "Inspect"
NEEDED = ("agent", "id", "epoch")
OUTCOME = "score_none"
VERSION = 2
HEADER, START, SUMMARIES, JOURNAL = "header.json", "_journal/start.json", "summaries.json", "_journal/summaries/"
MAX_SCORES = 50


def is_log(record: dict[str, Any]) -> bool:
    """Whether a JSON object looks like a log."""
    return isinstance(record.get("eval"), dict) and "version" in record


def from_archive(data: bytes, name: str) -> tuple[list[Attempt], tuple[Statement, ...]]:
    """The samples of an `.eval` archive. One that is still being written has a journal in place of summaries."""
    members = ZipMembers(BytesIO(data), name)
    names = members.names()
    head = HEADER if HEADER in names else START
    if head not in names:
        raise UsageFault("the archive has no header.json", where=name, hint="is it a log of Inspect?")
    header = document(members.read(head), f"{name}:{head}", missing_numbers=True)
    parts = [SUMMARIES] if SUMMARIES in names else [one for one in names if one.startswith(JOURNAL)]
    samples = [sample for part in parts for sample in values(members.read(part), f"{name}:{part}")]
    return _attempts(header, samples, name)


def from_document(data: bytes, name: str) -> tuple[list[Attempt], tuple[Statement, ...]]:
    """The samples of a log in JSON."""
    log = document(data, name, missing_numbers=True)
    return _attempts(log, at(log, "samples", list, name) or [], name)


def _attempts(header: dict[str, Any], samples: list[Any], name: str) -> tuple[list[Attempt], tuple[Statement, ...]]:
    version = needed(header, "version", int, name)
    if version != VERSION:
        raise UsageFault(f"this is a log of version {version}", where=name, hint=f"version {VERSION} is read")
    if len(samples) > MAX_ATTEMPTS:
        raise UsageFault(f"{len(samples):,} samples", where=name, hint=f"at most {MAX_ATTEMPTS:,} are read")
    if not samples:
        raise UsageFault("the log has no samples", where=name, hint="was the evaluation started?")
    found = list(_samples(header, samples, name))
    planned = at(header, "results.total_samples", int, name) or 0
    missing = max(0, planned - len(found))
    return found, ((statement("attempts-not-recorded", missing=missing),) if missing else ())


def _samples(header: dict[str, Any], samples: list[Any], name: str) -> Iterator[Attempt]:
    model = name_at(header, "eval.model", name)
    common = {
        "agent": at(header, "eval.solver", str, name) or model,
        "model": model,
        "task_name": name_at(header, "eval.task", name),
        "created": at(header, "eval.created", str, name) or "",
    }
    for number, sample in enumerate(samples, 1):
        where = f"{name}: sample {number}"
        if not isinstance(sample, dict):
            raise UsageFault(f"this is {kind_of(sample)}, not a sample", where=where, hint="is the log whole?")
        task = needed(sample, "id", (str, int), where)
        limit = sample.get("limit")
        cells = {
            **common,
            "id": checked_name(str(task), "id", where),
            "epoch": str(needed(sample, "epoch", int, where)),
            "limit": _limit(limit, where),
            "tags": "error" if sample.get("error") is not None else "",
            "total_time": number_at(sample, "total_time", where),
            "working_time": number_at(sample, "working_time", where),
            **_usage(sample, where),
            **_scores(sample, where),
        }
        yield Attempt(f"{name}: {cells['id']}, epoch {cells['epoch']}", cells)


def _limit(limit: Any, where: str) -> str:
    """What ended the sample: the name of a limit in a summary, an object with its type in a log."""
    name = needed(limit, "type", str, where) if isinstance(limit, dict) else limit
    if name is not None and not isinstance(name, str):
        raise UsageFault(f"'limit' is {kind_of(name)}", where=where, hint="expected the name of a limit")
    return (name or "")[:200]


def _usage(sample: dict[str, Any], where: str) -> dict[str, str]:
    """Tokens and costs of all models of a sample."""
    models = at(sample, "model_usage", dict, where) or {}
    found = {}
    for field, column in (
        ("input_tokens", "input_tokens"),
        ("output_tokens", "output_tokens"),
        ("total_cost", "cost_usd"),
    ):
        numbers = [at(usage, field, (int, float), where) for usage in models.values()]
        if numbers and all(number is not None for number in numbers):
            found[column] = number_cell(sum(numbers), f"model_usage.{field}", where)
    return found


def _scores(sample: dict[str, Any], where: str) -> dict[str, str]:
    scores = at(sample, "scores", dict, where) or {}
    found: dict[str, str] = {}
    for name, score in scores.items():
        checked_name(name, "the name of a scorer", where)
        value = score.get("value") if isinstance(score, dict) else score
        parts = value if isinstance(value, dict) else {"": value}
        for part, inner in parts.items():
            column = f"score_{name}_{part}" if part else f"score_{name}"
            if isinstance(inner, list | dict):
                hint = "one value for each sample is read"
                raise UsageFault(f"the score {name[:60]!r} is {kind_of(inner)}", where=where, hint=hint)
            found[column] = "" if inner is None else str(inner)
    if len(found) > MAX_SCORES:
        raise UsageFault(f"the sample has {len(found)} scores", where=where, hint=f"at most {MAX_SCORES} are read")
    return found
