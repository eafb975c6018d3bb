"""Secrets of which a text holds only a part: at the end of one that was cut off, or spread over two that follow. Pure.

A token is known by how it begins, and a value by what it is called: where the text ends there, the rest is missing. In
a text that was not cut, only a beginning that looks drawn by chance counts, because words begin like tokens, too.
"""

from __future__ import annotations

import re

from proctor.record.encoded import views_after, views_of
from proctor.record.secrets import Found, Hit, Rules, joined_hits, placed

TAIL_BYTES = 600
LEAST_REST = 4
"""How many characters after the literal of a token make it one; after a literal of three or fewer, twice as many."""

_LAST_RUN = re.compile(rb"[A-Za-z0-9_.+/=~$:-]{1,600}\Z")
_FIRST_RUN = re.compile(rb"[A-Za-z0-9_.+/=~$:-]{1,600}")
_CLOSINGS = (b'"', b"'", b"0", b"@x")
"""What may follow where a text is cut off: with it, patterns hold that want the end of a value."""

_BY_CHANCE = re.compile(rb"[0-9]|[a-z][A-Z]")


def find_cut(rules: Rules, data: bytes) -> list[Found]:
    """The secrets in ``data``, which was cut off, with the one that it ends in the middle of."""
    tail = data[-4 * TAIL_BYTES :]
    before = len(data) - len(tail)
    hits = _unfinished(rules, tail)
    for view in (*views_of(tail), *views_after(tail, tail.lower())):
        if view.end == len(tail):
            hits += [hit for one in _unfinished(rules, view.text) for hit in placed(view, one)]
    return joined_hits(
        [
            *((one.start, 0, one.end, one.kind) for one in rules.find(data)),
            *((start + before, order, end + before, kind) for start, order, end, kind in hits),
        ]
    )


def begun(rules: Rules, data: bytes, found: list[Found]) -> Found | None:
    """The token that ``data`` ends with, whole by now or not: what follows may belong to it."""
    run = _LAST_RUN.search(data, max(0, len(data) - TAIL_BYTES))
    if run is None or not _BY_CHANCE.search(run[0]):
        return None
    if found and found[-1].end == len(data):
        return found[-1]
    for literal, where in _literals(rules, run[0]):
        rest = run[0][where + len(literal) :]
        if len(literal) > 3 and len(rest) >= LEAST_REST and _BY_CHANCE.search(rest):
            return Found(run.start() + where, len(data), rules.near[literal][0].kind)
    return None


def rest_of(rules: Rules, before: bytes, data: bytes) -> list[Found]:
    """What at the beginning of ``data`` belongs to the token ``before`` that the last text ended with."""
    run = _FIRST_RUN.match(data)
    if run is None or len(run[0]) < LEAST_REST or not _BY_CHANCE.search(run[0]):
        return []
    size = len(before)
    whole = joined_hits(list(rules.plain(before + run[0])))
    return [Found(0, one.end - size, one.kind) for one in whole if one.start < size < one.end]


def _unfinished(rules: Rules, data: bytes) -> list[Hit]:
    """The secret that ``data`` ends in the middle of."""
    tail = data[-TAIL_BYTES:]
    before = len(data) - len(tail)
    found: list[Hit] = []
    run = _LAST_RUN.search(tail)
    for literal, where in _literals(rules, run[0]) if run is not None else ():
        rest = len(run[0]) - where - len(literal) if run is not None else 0
        if run is not None and rest >= (LEAST_REST if len(literal) > 3 else 2 * LEAST_REST):
            rule = rules.near[literal][0]
            begin = run.start() + (where if literal[:1].isalnum() and not rule.back else 0)
            found.append((before + begin, rule.order, len(data), rule.kind))
    for closing in _CLOSINGS:
        for start, order, end, kind in rules.plain(tail + closing):
            if end >= len(tail) > start:
                found.append((before + start, order, len(data), kind))
    return found


def _literals(rules: Rules, run: bytes) -> list[tuple[bytes, int]]:
    """The literals with which tokens begin in ``run``, or which stand in them, and where."""
    low = run.lower()
    places = [(literal, low.find(literal), rule[0].back) for literal, rule in rules.near.items()]
    return [
        (literal, where)
        for literal, where, back in places
        if where >= 0 and (back or where == 0 or not literal[:1].isalnum() or not run[where - 1 : where].isalnum())
    ]
