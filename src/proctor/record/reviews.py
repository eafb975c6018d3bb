"""What humans said about a sealed run: a log beside it that only grows, each record covering the one before.

``reviews.jsonl`` lies in the run directory and is no part of the seal. Its first record follows from the seal's digest,
so that a review cannot be carried to another run; ``verify`` holds it to its chain.

A chain cannot show that its end was cut off. So each review is noted a second time, in a log of the home that all its
runs share: how many records the run has now, and the hash of the last. A run with fewer, or with others, was cut. To
hide that, somebody has to cut the home's log as well, with every review that came later; and a run that was carried
elsewhere has only its own chain.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.frozen import EMPTY, field_names, frozen, items
from proctor.record.chained import ChainedLog
from proctor.record.rundir import RunDirectory

NAME = "reviews.jsonl"
MODE = 0o644
KIND = "proctor.review"
HEADS_NAME = "review-heads.jsonl"
HEAD_KIND = "proctor.review-head"
RUNS = "runs"
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


def home_log(run: RunDirectory) -> ChainedLog | None:
    """The log that the runs of a home share; none for a run that lies somewhere else."""
    above = run.path.absolute().parent
    return ChainedLog(above.parent / HEADS_NAME) if above.name == RUNS else None


def add_review(run: RunDirectory, seal_digest: str, review: Review) -> str:
    """Add ``review`` to the log of ``run``, note that in the home, and return the hash of its record."""
    read_reviews(run, seal_digest, noted_heads(run))
    log = review_log(run, seal_digest)
    entry = log.append({"kind": KIND, "schema": 1, **dict(items(review))})
    os.chmod(log.path, MODE)
    shared = home_log(run)
    if shared is not None:
        head = {"seal": seal_digest, "count": entry.seq + 1, "head": entry.hash}
        shared.append({"kind": HEAD_KIND, "schema": 1, "run": run.path.name, **head})
        os.chmod(shared.path, MODE)
    return entry.hash


Heads = Mapping[str, tuple[int, str]]
"""How many reviews a run has, and the hash of the last, by the digest of its seal."""


def noted_heads(run: RunDirectory) -> Heads:
    """What the home of ``run`` notes of all its runs; :class:`BrokenSeal` when its log does not hold."""
    shared = home_log(run)
    heads: dict[str, tuple[int, str]] = {}
    for entry in shared.read() if shared is not None else ():
        try:
            seal, count, head = (entry.record[name] for name in ("seal", "count", "head"))
            if (int(count), str(head)) > heads.get(str(seal), (0, "")):
                heads[str(seal)] = int(count), str(head)
        except (KeyError, ValueError) as error:
            raise BrokenSeal(f"the record notes no review: {error}", where=f"{HEADS_NAME}#{entry.seq}") from None
    return heads


def read_reviews(run: RunDirectory, seal_digest: str, heads: Heads = EMPTY) -> tuple[Review, ...]:
    """Every review of ``run``, oldest first; :class:`~proctor.base.errors.BrokenSeal` when the log does not hold.

    With the ``heads`` that its home notes, a log whose end is missing does not hold either. One record more than noted
    is what a crash leaves.
    """
    found = []
    entries = review_log(run, seal_digest).read()
    count, head = heads.get(seal_digest, (0, ""))
    if count > len(entries):
        raise BrokenSeal(f"the log was cut: it had {count} records and has {len(entries)}", where=NAME)
    if count and entries[count - 1].hash != head:
        raise BrokenSeal("the record is not the one that the home notes", where=f"{NAME}#{count - 1}")
    for entry in entries:
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
