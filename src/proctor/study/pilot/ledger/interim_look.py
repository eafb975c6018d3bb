"""One look at a comparison before a pilot is complete: what it showed, and the runs that it was taken from.

A look is recorded in the pilot's journal when it is taken, and nothing that happens later changes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.dataclass_fields import field_items

UNDEFINED = "undefined"


@dataclass(frozen=True)
class Look:
    """After how many blocks, at which share of the plan, each pair with its p value, the level, and the runs.

    ``wanted`` is the share at which the protocol planned it; a look falls at the end of the block that reaches it.
    ``tasks`` are those that the comparison had by then.
    """

    blocks: int
    share: str
    pairs: tuple[tuple[str, str, str, str], ...]
    nominal: str
    crossed: bool
    wanted: str = ""
    tasks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The largest p value, or that there is none."""
        return max((p for *_, p in self.pairs), key=lambda p: math.inf if p == UNDEFINED else float(p))

    @property
    def values(self) -> dict[str, Any]:
        """What the look showed, as the values of a statement."""
        pairs = [{"a": a, "b": b, "difference": _number(gap), "p": _number(p)} for a, b, gap, p in self.pairs]
        return {"share": _number(self.share), "level": _number(self.nominal), "pairs": pairs}

    def record(self) -> dict[str, Any]:
        """The look as data."""
        lists = {"pairs": [list(pair) for pair in self.pairs], "tasks": list(self.tasks), "runs": list(self.runs)}
        return {**dict(field_items(self)), **lists}


def _number(text: str) -> float | None:
    return None if text == UNDEFINED else float(text)


def look_from(record: Mapping[str, Any]) -> Look:
    """The look in a record of a journal."""
    pairs = tuple((str(a), str(b), str(difference), str(p)) for a, b, difference, p in record["pairs"])
    return Look(
        blocks=int(record["blocks"]),
        share=str(record["share"]),
        pairs=pairs,
        nominal=str(record["nominal"]),
        crossed=record["crossed"] is True,
        wanted=str(record["wanted"]),
        tasks=tuple(map(str, record["tasks"])),
        runs=tuple(map(str, record["runs"])),
    )
