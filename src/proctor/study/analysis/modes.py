"""Which ways of failing each agent showed, and what one more would cost to find.

A mode is a tag. Tags of runs that succeeded are left out: they say what happened, not how the run failed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.study.analysis.cells import Cells

MAX_TAGS = 60
"""How many modes the matrix has; the most frequent are kept."""


class Modes:
    """Tags by run: for each pair of run and tag the row and the tag."""

    def __init__(self, cells: Cells) -> None:
        column = cells.table.tags.used()
        split = [tuple(sorted({tag.strip() for tag in text.split(";") if tag.strip()})) for text in column.names]
        self.names = tuple(sorted({tag for tags in split for tag in tags}))
        place = {tag: number for number, tag in enumerate(self.names)}
        lengths = np.array([*(len(tags) for tags in split), 0], dtype=np.int64)
        flat = np.array([place[tag] for tags in split for tag in tags], dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.flatnonzero((lengths[column.codes] > 0) & ~cells.won)
        codes = column.codes[rows]
        many = lengths[codes]
        self.row: NDArray[np.int64] = np.repeat(rows, many)
        offset = np.arange(len(self.row)) - np.repeat(np.cumsum(many) - many, many)
        self.tag: NDArray[np.int64] = flat[np.repeat(starts[codes], many) + offset] if len(flat) else flat


def matrix(cells: Cells, modes: Modes) -> tuple[list[str], list[dict[str, Any]]]:
    """The modes, and how often each agent showed them."""
    size = max(1, len(modes.names))
    key = cells.agent[modes.row] * size + modes.tag
    counts = np.bincount(key, minlength=len(cells.agents) * size).reshape(len(cells.agents), size)
    totals = counts.sum(axis=0)
    order = [place for place in np.lexsort((np.arange(size), -totals)).tolist() if totals[place]][:MAX_TAGS]
    runs = cells.attempts.sum(axis=1)
    tags = [modes.names[place] for place in order]
    rows = [
        {
            "agent": name,
            "counts": {modes.names[place]: int(counts[agent, place]) for place in order if counts[agent, place]},
            "runs": int(runs[agent]),
        }
        for agent, name in enumerate(cells.agents)
    ]
    return tags, rows
