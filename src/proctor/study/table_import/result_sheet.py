"""Attempts from the result files of another tool, as the rows and columns of a table: what every reader here returns.

A reader checks types and bounds, and names the file of every mistake. Cells are text, as in a CSV file, so one place
gives outcomes, ends and numbers their meaning. A column that no attempt has a value for is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from proctor.base.canonical import NotJson, parse
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded
from proctor.base.reversible_escapes import escape_cell
from proctor.study.statements import Statement

MAX_DOCUMENT_BYTES = 512 * 2**20
MAX_ATTEMPTS = 1_000_000
MAX_TEXT = 500
"""The longest name in characters."""
MAX_COLUMNS = 200
MAX_DIGITS = 18
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Attempt:
    """One attempt: where it is recorded, and its cells by the name of their column."""

    place: str
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Sheet:
    """The attempts of one or more result files of the same tool."""

    format: str
    attempts: tuple[Attempt, ...]
    files: tuple[tuple[str, bytes], ...]
    """The files that were read: name and bytes of the digest."""
    needed: tuple[str, ...]
    """The columns that the table has in any case."""
    outcome: str
    """The column of outcomes that the table gets if no attempt has an outcome; all such columns begin alike."""
    notes: tuple[Statement, ...] = field(default=())

    def header(self) -> list[str]:
        """The columns that some attempt has a value for, and those that are needed."""
        names = dict.fromkeys(self.needed)
        for attempt in self.attempts:
            names.update(dict.fromkeys(name for name, cell in attempt.cells.items() if cell))
        if not any(name.startswith(self.outcome.partition("_")[0]) for name in names):
            names[self.outcome] = None
        if len(names) > MAX_COLUMNS:
            raise UsageFault(f"the attempts have {len(names)} columns", hint=f"at most {MAX_COLUMNS} are read")
        return list(names)

    def records(self, header: Sequence[str]) -> Iterable[tuple[int, list[str]]]:
        """Each attempt with its number from 0."""
        for number, attempt in enumerate(self.attempts):
            yield number, [escape_cell(attempt.cells.get(name, "")) for name in header]


def document(data: bytes, where: str, *, missing_numbers: bool = False) -> dict[str, Any]:
    """The JSON object in ``data``. With ``missing_numbers`` NaN and Infinity are null."""
    try:
        found = parse(data)
    except NotJson as error:
        found = _lenient(data, where) if missing_numbers else None
        if found is None:
            raise UsageFault(f"this is not JSON: {error}", where=where, hint="is the file whole?") from None
    if not isinstance(found, dict):
        raise UsageFault(f"this is {kind_of(found)}, not an object", where=where, hint="is it another kind of file?")
    return found


def values(data: bytes, where: str) -> list[Any]:
    """The JSON list in ``data``, in which NaN and Infinity are null."""
    try:
        found = parse(data)
    except NotJson as error:
        found = _lenient(data, where)
        if found is None:
            raise UsageFault(f"this is not JSON: {error}", where=where, hint="is the file whole?") from None
    if not isinstance(found, list):
        raise UsageFault(f"this is {kind_of(found)}, not a list", where=where, hint="is it another kind of file?")
    return found


def _integer(digits: str) -> int | float:
    """An integer, or a float where it has too many digits: no sum or comparison may overflow."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _lenient(data: bytes, where: str) -> Any:
    try:
        found = json.loads(data, parse_constant=lambda _: None, parse_int=_integer)
        if SURROGATE.search(data):  # text in pairs of them is whole, one alone is no text
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except (ValueError, RecursionError):
        return None


def file_bytes(path: Path) -> bytes:
    """The bytes of a result file, bounded; :class:`UsageFault` if it is no ordinary file."""
    try:
        return read_bounded(path, MAX_DOCUMENT_BYTES)
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(path), hint="give an ordinary file of results") from None
    except OSError as error:
        raise UsageFault(f"it cannot be read: {error.strerror}", where=str(path), hint="give another file") from None


def at(record: Any, path: str, kind: type | tuple[type, ...], where: str) -> Any:
    """What ``record`` has at the dotted ``path``; nothing if it is missing or null, an error if it has another type."""
    found = record
    for name in path.split("."):
        if found is None:
            return None
        if not isinstance(found, dict):
            raise UsageFault(f"{path!r} is not where it should be", where=where, hint="is it another kind of file?")
        found = found.get(name)
    wanted = kind if isinstance(kind, tuple) else (kind,)
    if found is not None and (not isinstance(found, wanted) or (isinstance(found, bool) and bool not in wanted)):
        raise UsageFault(f"{path!r} is {kind_of(found)}", where=where, hint=f"expected {_kinds(wanted)}")
    return found


def needed(record: Any, path: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Like :func:`at`, and an error if there is nothing."""
    found = at(record, path, kind, where)
    if found is None:
        raise UsageFault(f"{path!r} is missing", where=where, hint="is it another kind of file?")
    return found


def name_at(record: Any, path: str, where: str) -> str:
    """The name at ``path``: text with a character, on one line, of bounded length."""
    return checked_name(needed(record, path, str, where), path, where)


def checked_name(name: str, what: str, where: str) -> str:
    """``name`` if it is fit to name an agent, a task or a trial."""
    if not name.strip() or len(name) > MAX_TEXT or not name.isprintable():
        raise UsageFault(
            f"{what!r} is {name[:60]!r}",
            where=where,
            hint=f"a name has 1 to {MAX_TEXT} printable characters",
        )
    return name


def number_cell(value: Any, what: str, where: str) -> str:
    """A number as a cell; nothing for none."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageFault(f"{what!r} is {kind_of(value)}", where=where, hint="expected a number")
    return repr(value)


def number_at(record: Any, path: str, where: str) -> str:
    """The number at ``path`` as a cell; nothing if it is missing."""
    return number_cell(at(record, path, (int, float), where), path, where)


def seconds_between(record: Any, path: str, where: str) -> str:
    """The seconds from ``started_at`` to ``finished_at`` of the object at ``path``; nothing if one is missing."""
    times = [moment_at(record, f"{path}.{name}", where) for name in ("started_at", "finished_at")]
    if times[0] is None or times[1] is None:
        return ""
    if (times[0].tzinfo is None) != (times[1].tzinfo is None):
        raise UsageFault(f"{path!r} has a time with and one without a time zone", where=where, hint="correct one")
    return repr((times[1] - times[0]).total_seconds())


def moment_at(record: Any, path: str, where: str) -> datetime | None:
    """The time at ``path``."""
    text = at(record, path, str, where)
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise UsageFault(f"{path!r} is {text[:60]!r}, not a time", where=where, hint="as in ISO 8601") from None


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {bool: "true or false", dict: "an object", list: "a list", str: "text", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), "something else")


def _kinds(kinds: Iterable[type]) -> str:
    names = {bool: "true or false", dict: "an object", list: "a list", str: "text", int: "a number", float: "a number"}
    return " or ".join(dict.fromkeys(names[kind] for kind in kinds))
