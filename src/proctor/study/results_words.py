"""What the words in a table of results mean: outcomes, ends and tags. The caller's words come before the usual ones."""

from __future__ import annotations

import re

from proctor.base.errors import UsageFault
from proctor.study.results_shapes import BROKEN, CAPPED, FAILURE, FINISHED, OUTCOMES, SUCCESS, UNKNOWN, plain

MISSING = frozenset({"", "none", "null", "nan", "na", "n/a"})
"""Words that stand for no value."""
THRESHOLD = re.compile(r"^>=\s*(-?\d+(?:\.\d+)?)$")


class Words:
    """The meaning of words, with the ``success``, ``unknown`` and ``timeout`` words that the caller gave.

    Once it is said what a success is, every other outcome that is known to mean success, or nothing, is a failure.
    """

    def __init__(
        self, success: tuple[str, ...] = (), unknown: tuple[str, ...] = (), timeout: tuple[str, ...] = ()
    ) -> None:
        for word in success:
            if word.strip().startswith((">", "<", "=")) and not THRESHOLD.match(word.strip()):
                raise UsageFault(f"{word!r} is no threshold", hint="write it like --success '>=0.9'")
        self._success = frozenset(word.strip().lower() for word in success)
        thresholds = [float(match[1]) for word in success if (match := THRESHOLD.match(word.strip()))]
        self._threshold = min(thresholds) if thresholds else None
        self._unknown = frozenset(word.strip().lower() for word in unknown)
        self._timeout = frozenset(plain(word) for word in timeout)
        exact = [word for word in success if not THRESHOLD.match(word.strip())]
        self._unmet = {
            "outcome": {word.strip().lower(): word for word in (*exact, *unknown)},
            "status": {plain(word): word for word in timeout},
        }

    def unmet(self, role: str) -> tuple[str, ...]:
        """The words given for the column of a role that none of its cells was so far; a threshold need not be met."""
        return tuple(self._unmet[role].values())

    def outcome(self, cell: str) -> str:
        """The status that an outcome stands for; empty when it means nothing."""
        word = cell.strip().lower()
        self._unmet["outcome"].pop(word, None)
        if word in self._unknown:
            return UNKNOWN
        if not self._success:
            return OUTCOMES.get(word, "")
        if word in self._success:
            return SUCCESS
        if self._threshold is not None and word not in MISSING:
            try:
                return SUCCESS if float(word) >= self._threshold else FAILURE
            except ValueError:
                return ""
        usual = OUTCOMES.get(word, FAILURE)
        return FAILURE if usual == SUCCESS else usual

    def end(self, cell: str) -> str:
        """What ended an attempt."""
        word = plain(cell)
        self._unmet["status"].pop(word, None)
        if word in self._timeout or word in CAPPED:
            return "resource"
        if word in BROKEN:
            return "infrastructure"
        return "finished" if word in FINISHED else "unknown"

    def tags(self, own: str, end: str) -> str:
        """The tags of an attempt: its own, and its end where that says anything; sorted and joined."""
        found = {part.strip() for part in own.split(";")}
        if plain(end) not in FINISHED:
            found.add(end.strip().replace(";", ","))
        return ";".join(sorted(found - {""}))
