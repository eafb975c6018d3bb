"""Issues from a local export: a JSON list, or a JSON object in each line, with ``number``, ``title`` and ``body``.

``gh issue list --state all --json number,title,body`` writes such a file. Entries that are pull requests are left out,
because their texts describe solutions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded

EXPORT_BYTES = 256 << 20
TEXT_CHARACTERS = 20_000
MOST_NUMBER = 10**9

_CLOSING = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b[:\s]*(?:issue\s*)?(?:[\w.-]+/[\w.-]+)?#(\d{1,7})", re.IGNORECASE
)
_ANY = re.compile(r"(?<![\w&])#(\d{1,7})\b")


@dataclass(frozen=True)
class Issue:
    """One issue."""

    number: int
    title: str
    body: str


def read_issues(path: Path) -> dict[int, Issue]:
    """The issues of an export by number."""
    try:
        data = read_bounded(path, EXPORT_BYTES)
    except OSError as error:
        raise UsageFault(f"cannot be read: {error.strerror}", where=str(path)) from None
    try:
        entries = (
            parse(data) if data.lstrip()[:1] == b"[" else [parse(line) for line in data.splitlines() if line.strip()]
        )
    except ValueError as error:
        hint = "give a JSON list, or a JSON object in each line"
        raise UsageFault(f"is not an export of issues: {error}", where=str(path), hint=hint) from None
    issues = (_issue(one) for one in entries)
    return {one.number: one for one in issues if one is not None}


def _issue(entry: Any) -> Issue | None:
    if not isinstance(entry, Mapping) or entry.get("pull_request"):
        return None
    number, title, body = entry.get("number"), entry.get("title"), entry.get("body")
    if type(number) is not int or not 0 < number <= MOST_NUMBER or not isinstance(title, str):
        return None
    return Issue(number, title[:TEXT_CHARACTERS], body[:TEXT_CHARACTERS] if isinstance(body, str) else "")


def issue_of(texts: Iterable[str], issues: Mapping[int, Issue]) -> Issue | None:
    """The issue that texts of a fix close, or else the only one that they mention."""
    whole = "\n".join(texts)
    closed = [int(number) for number in _CLOSING.findall(whole)]
    named = {int(number) for number in _ANY.findall(whole)} & issues.keys()
    for number in closed:
        if number in issues:
            return issues[number]
    return issues[next(iter(named))] if len(named) == 1 else None
