"""Reviews of a sealed run by people: an append-only log next to it, each record covering the one before.

``reviews.jsonl`` is in the run directory and is not part of the seal. Its first record follows from the seal's digest,
so that a review cannot be moved to another run; ``verify`` checks the chain.

A chain cannot show that its end was cut off. So each review is noted a second time, in a log of the home that all its
runs share: how many records the run has now, and the hash of the last. A run with fewer, or with others, was cut. To
hide that, the home's log has to be cut as well, with every review that came later. A run that was copied elsewhere has
only its own chain.

Reviewers are identified by their names. Case, spaces and the encoding of accents do not matter.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from proctor.base.dataclass_fields import EMPTY, field_items, field_names
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.chained_log import ChainedLog
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import REVIEW, check_version

NAME = "reviews.jsonl"
MODE = 0o644
HEADS_NAME = "review-heads.jsonl"
HEAD_KIND = "proctor.review-head"
RUNS = "runs"
ACCEPT, REJECT, UNSURE = VERDICTS = ("accept", "reject", "unsure")
OPEN, DISPUTED = "open", "disputed"
"""The opinion on a run without a review, and on one whose reviewers disagree."""
MOST_CHARACTERS = 2000
_MINUTES = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,2})?")


@dataclass(frozen=True)
class Review:
    """One reviewer's verdict: the minutes that it took are the human cost of the run."""

    verdict: str
    minutes: str
    by: str
    why: str
    at: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise UsageFault(f"{self.verdict!r} is not a verdict", hint=f"one of {', '.join(VERDICTS)}")
        if not _MINUTES.fullmatch(self.minutes):
            raise UsageFault(f"{self.minutes!r} is not a number of minutes", hint="such as 3 or 12.5")
        for name, text in (("--by", self.by), ("--why", self.why)):
            if not text.strip() or len(text) > MOST_CHARACTERS:
                raise UsageFault(f"needs between 1 and {MOST_CHARACTERS} characters", where=name)


def review_log(run: RunDirectory, seal_digest: str) -> ChainedLog:
    """The log of a run whose seal has that digest."""
    return ChainedLog(run.path / NAME, anchor=seal_digest.removeprefix("sha256:"))


def home_log(run: RunDirectory) -> ChainedLog | None:
    """The log that the runs of a home share; none for a run outside of a home."""
    above = run.path.absolute().parent
    return ChainedLog(above.parent / HEADS_NAME) if above.name == RUNS else None


def add_review(run: RunDirectory, seal_digest: str, review: Review) -> str:
    """Add ``review`` to the log of ``run``, note that in the home, and return the hash of its record."""
    for name, text in (("--by", review.by), ("--why", review.why)):
        if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
            raise UsageFault("is not one line of text", where=name)
    read_reviews(run, seal_digest, noted_heads(run))
    log = review_log(run, seal_digest)
    entry = log.append({**REVIEW.head(), **dict(field_items(review))})
    os.chmod(log.path, MODE)
    shared = home_log(run)
    if shared is not None:
        head = {"seal": seal_digest, "count": entry.seq + 1, "head": entry.hash}
        shared.append({"kind": HEAD_KIND, "schema": 1, "run": run.path.name, **head})
        os.chmod(shared.path, MODE)
    return entry.hash


Heads = Mapping[str, tuple[tuple[int, str], ...]]
"""By the digest of a run's seal: each time that it was noted, how many reviews it had, and the hash of the last."""


def noted_heads(run: RunDirectory) -> Heads:
    """The notes in the home of ``run`` on all its runs; :class:`BrokenSeal` if its log is not valid."""
    shared = home_log(run)
    heads: dict[str, tuple[tuple[int, str], ...]] = {}
    for entry in shared.read() if shared is not None else ():
        seal, count, head = (entry.record.get(name) for name in ("seal", "count", "head"))
        if not (isinstance(seal, str) and isinstance(head, str) and type(count) is int and count > 0):
            raise BrokenSeal(f"line {entry.seq + 1} is not a note of a review", where=f"{HEADS_NAME}#{entry.seq}")
        heads[seal] = (*heads.get(seal, ()), (count, head))
    return heads


def read_reviews(run: RunDirectory, seal_digest: str, heads: Heads = EMPTY) -> tuple[Review, ...]:
    """Every review of ``run``, oldest first; :class:`~proctor.base.errors.BrokenSeal` if the log is not valid.

    With the ``heads`` from its home, a log whose end is missing is not valid either. A crash can leave one record more
    than noted.
    """
    found = []
    entries = review_log(run, seal_digest).read()
    noted = heads.get(seal_digest, ())
    most = max((count for count, _ in noted), default=0)
    if most > len(entries):
        raise BrokenSeal(
            f"the log was cut: it had {most} records and has {len(entries)}",
            where=f"{run.path.name}/{NAME}",
            hint="restore it from a copy of the run",
        )
    for count, head in noted:
        if entries[count - 1].hash != head:
            raise BrokenSeal("the record is not the one that the home notes", where=f"{NAME}#{count - 1}")
    for entry in entries:
        check_version(REVIEW, entry.record, f"{NAME}#{entry.seq}")
        texts = [entry.record.get(name) for name in field_names(Review)]
        try:
            if not all(isinstance(text, str) for text in texts):
                raise UsageFault("other fields than a review has")
            found.append(Review(*map(str, texts)))
        except UsageFault as error:
            message = f"line {entry.seq + 1} is not a review: {error.message}"
            raise BrokenSeal(message, where=f"{NAME}#{entry.seq}") from None
    return tuple(found)


def reviewer(name: str) -> str:
    """The normalized form of ``name``, equal for all ways to write it."""
    plain = unicodedata.normalize("NFC", " ".join(name.split()))
    return unicodedata.normalize("NFC", plain.casefold())


def last_verdicts(logs: Iterable[tuple[Review, ...]]) -> list[dict[str, str]]:
    """The last verdict of each reviewer, for each log, under the name that they used first."""
    known = [*logs]
    names: dict[str, str] = {}
    for review in sorted((one for log in known for one in log), key=lambda one: one.at):
        names.setdefault(reviewer(review.by), " ".join(review.by.split()))
    return [{names[reviewer(review.by)]: review.verdict for review in log} for log in known]


def latest(reviews: tuple[Review, ...]) -> dict[str, str]:
    """The last verdict of each reviewer."""
    return last_verdicts([reviews])[0]


def opinion(reviews: tuple[Review, ...]) -> str:
    """The common opinion of all reviewers: the verdict that all of them gave, disputed, or open without any."""
    verdicts = set(latest(reviews).values())
    return OPEN if not verdicts else DISPUTED if len(verdicts) > 1 else verdicts.pop()


def minutes_of(reviews: tuple[Review, ...]) -> Decimal:
    """The total time of all reviews."""
    return sum((Decimal(review.minutes) for review in reviews), Decimal(0))
