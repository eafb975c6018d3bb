"""The record of one commit of a mined history: a line of ``mine.jsonl``. ``proctor schema mined`` describes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from proctor.author.mine.candidate_rules import REASONS
from proctor.author.mine.quality import Quality
from proctor.base.canonical import canonical, parse
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.json_records import Amount, NotARecord, from_json, json_schema, to_json
from proctor.execute.workspace.git_history import LATEST

KIND, SCHEMA = "mined", 1
FILE_NAME = "mine.jsonl"
FILE_BYTES = 256 << 20
_CONTRACT = re.compile(r"contracts/[a-z0-9][a-z0-9._-]{0,99}")
"""Directories are removed by the names in records, so a record names one of the walk's own."""

Status = Literal["valid", "proven", "rejected", "fault"]
VALID: Status = "valid"
PROVEN: Status = "proven"
REJECTED: Status = "rejected"
FAULT: Status = "fault"


@dataclass(frozen=True, kw_only=True)
class MinedCommit:
    """One commit: whether it is a task, and if not, why."""

    kind: Annotated[str, "mined."]
    schema: Annotated[int, "The version of this form."]
    commit: Annotated[str, "The commit."]
    base: Annotated[str, "Its first parent; empty for the first commit."]
    committed: Annotated[int, "When it was committed, in seconds since 1970."]
    subject: Annotated[str, "The first line of its message, shortened."]
    status: Annotated[
        Status,
        "valid: its contract was validated. proven: not validated yet. fault: this machine could not judge it.",
    ]
    reason: Annotated[str, "The code of the reason to reject it."] = ""
    detail: Annotated[str, "More about the reason."] = ""
    tried: Annotated[bool, "Whether its tests were run."] = False
    settings: Annotated[str, "The digest of the settings of the proof; with others it is made again."] = ""
    contract: Annotated[str, "The directory of its contract, relative to this file."] = ""
    task: Annotated[str, "bug-fix or feature."] = ""
    title: Annotated[str, "The title of the drafted text."] = ""
    sources: Annotated[tuple[str, ...], "What the text was drafted from."] = ()
    must_pass: Annotated[tuple[str, ...], "The tests that fail before and pass after."] = ()
    keep_passing: Annotated[int, "How many tests pass on both trees and are listed."] = 0
    failures: Annotated[Mapping[str, int], "How many must_pass tests fail in each way on the base."] = field(
        default_factory=dict
    )
    unsteady: Annotated[tuple[str, ...], "Tests whose outcome varies."] = ()
    dependent: Annotated[tuple[str, ...], "Tests that depend on other tests."] = ()
    hidden: Annotated[tuple[str, ...], "Tests that were left out because they need a name that the text lacks."] = ()
    shares: Annotated[tuple[str, ...], "Other valid commits with a must_pass test of the same id."] = ()
    quality: Annotated[Quality | None, "Numbers about the task."] = None
    as_of: Annotated[str, "The day of the environment."] = ""
    inputs: Annotated[int, "How many inputs the environment has."] = 0
    seconds: Annotated[Amount, "How long the proof took."] = "0"

    @property
    def row(self) -> dict[str, Any]:
        """The record as JSON."""
        return to_json(self)


def mined_schema() -> dict[str, Any]:
    """The JSON Schema of a line of ``mine.jsonl``."""
    return json_schema(MinedCommit, KIND, "A commit of a mined history", SCHEMA, kind=KIND)


def read_mined(path: Path) -> dict[str, MinedCommit]:
    """The records of an earlier run by commit; a last line that was cut off is left out."""
    try:
        data = read_bounded(path, FILE_BYTES)
    except FileNotFoundError:
        return {}
    found = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            one = from_json(MinedCommit, parse(line))
            _check(one)
        except (ValueError, NotARecord) as error:
            hint = "remove the file to start again; contracts that are complete stay valid"
            raise UsageFault(f"line {number} is not a record: {error}", where=str(path), hint=hint) from None
        found[one.commit] = one
    return found


def _check(one: MinedCommit) -> None:
    """Refuse a record that names another place than a contract of the walk, or a reason that there is not."""
    if one.contract and not _CONTRACT.fullmatch(one.contract):
        raise ValueError("'contract' is not contracts/NAME")
    if one.reason and one.reason not in REASONS:
        raise ValueError("'reason' is unknown")
    if not 0 <= one.committed <= LATEST:
        raise ValueError("'committed' is no time")


def write_mined(path: Path, records: Iterable[MinedCommit]) -> None:
    """Write the whole file atomically."""
    write_whole(path, b"".join(canonical(one.row) + b"\n" for one in records))


def append_mined(path: Path, record: MinedCommit) -> None:
    """Add one record at once, so that an interruption loses nothing."""
    with path.open("ab") as file:
        file.write(canonical(record.row) + b"\n")
