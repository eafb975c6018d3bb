"""What humans said about a sealed run: a log beside it that only grows, each record covering the one before.

``reviews.jsonl`` lies in the run directory and is no part of the seal. Its first record follows from the seal's digest,
so that a review cannot be carried to another run; ``verify`` holds it to its chain. What it cannot show is that its
last records were cut off.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.frozen import field_names, frozen, items
from proctor.record.chained import ChainedLog
from proctor.record.rundir import RunDirectory

NAME = "reviews.jsonl"
MODE = 0o644
KIND = "proctor.review"
VERDICTS = ("accept", "reject", "unsure")
MOST_CHARACTERS = 2000
_MINUTES = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,2})?")


@frozen
class Review:
    """One reviewer's verdict: the minutes that it took are the human cost of the run."""

    verdict: str
    minutes: str
    by: str
    why: str
    at: str

    def __post__(self) -> None:
        if self.verdict not in VERDICTS:
            raise UsageFault(f"{self.verdict!r} is no verdict", hint=f"one of {', '.join(VERDICTS)}")
        if not _MINUTES.fullmatch(self.minutes):
            raise UsageFault(f"{self.minutes!r} is no number of minutes", hint="such as 3 or 12.5")
        for name, text in (("--by", self.by), ("--why", self.why)):
            if not text.strip() or len(text) > MOST_CHARACTERS:
                raise UsageFault(f"needs between 1 and {MOST_CHARACTERS} characters", where=name)


def review_log(run: RunDirectory, seal_digest: str) -> ChainedLog:
    """The log of a run whose seal has that digest."""
    return ChainedLog(run.path / NAME, anchor=seal_digest.removeprefix("sha256:"))


def add_review(run: RunDirectory, seal_digest: str, review: Review) -> str:
    """Add ``review`` to the log of ``run`` and return the hash of its record."""
    log = review_log(run, seal_digest)
    entry = log.append({"kind": KIND, "schema": 1, **dict(items(review))})
    os.chmod(log.path, MODE)
    return entry.hash


def read_reviews(run: RunDirectory, seal_digest: str) -> tuple[Review, ...]:
    """Every review of ``run``, oldest first; :class:`~proctor.base.errors.BrokenSeal` when the log does not hold."""
    found = []
    for entry in review_log(run, seal_digest).read():
        try:
            found.append(Review(*(str(entry.record[name]) for name in field_names(Review))))
        except (KeyError, UsageFault) as error:
            raise BrokenSeal(f"the record is no review: {error}", where=f"{NAME}#{entry.seq}") from None
    return tuple(found)


def latest(reviews: tuple[Review, ...]) -> dict[str, str]:
    """What each reviewer said last."""
    return {review.by: review.verdict for review in reviews}


def minutes_of(reviews: tuple[Review, ...]) -> Decimal:
    """The time that all reviews took together."""
    return sum((Decimal(review.minutes) for review in reviews), Decimal(0))
