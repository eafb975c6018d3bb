"""What somebody chose about the meaning of a table, in sentences: a report that does not tell it cannot be checked.

Whoever calls a failure a success turns every answer round, and whoever calls failures unknown leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.study.results import Reading
from proctor.study.results_shapes import OUTCOMES, SUCCESS, UNKNOWN
from proctor.study.results_words import MISSING, THRESHOLD

CALLED = {"failure": "a failure", "acceptance-error": "an acceptance error", "invalid": "an invalid run"}
"""What the usual meanings of words are called in a sentence."""


def choices(reading: Reading) -> Iterator[str]:
    """Each choice about outcomes, ends and caps that the options made, those that turn usual words round first."""
    yield from _turned_round(reading)
    if reading.success:
        exact = [word for word in reading.success if not THRESHOLD.match(word.strip())]
        limits = [word.strip() for word in reading.success if THRESHOLD.match(word.strip())]
        told = " or ".join(filter(None, (_listed(exact), f"an outcome {min(limits, key=_number)}" if limits else "")))
        yield f"By --success, {told} is a success, and nothing else is."
    if reading.unknown:
        yield f"By --unknown, {_listed(reading.unknown)} says nothing: such rows are left out of the success rate."
    if reading.timeout:
        yield f"By --timeout, the status {_listed(reading.timeout)} means that a cap cut the attempt short."
    if reading.cap_seconds is not None:
        yield f"By --cap-seconds, attempts of {reading.cap_seconds:g} seconds or more count as cut short."


def _turned_round(reading: Reading) -> Iterator[str]:
    """Words whose usual meaning is another one than the caller gives them."""
    for word in reading.success:
        if match := THRESHOLD.match(word.strip()):
            if float(match[1]) <= 0:
                yield f"Warning: 0 counts as a success by --success {word.strip()!r}; usually it means a failure."
        elif (usual := _usual(word)) != SUCCESS and usual:
            yield f"Warning: {word.strip()!r} counts as a success by --success; usually it means {_called(usual)}."
    for word in reading.unknown:
        if (usual := _usual(word)) != UNKNOWN and usual:
            yield f"Warning: {word.strip()!r} counts as unknown by --unknown; usually it means {_called(usual)}."


def _usual(word: str) -> str:
    """What a word of an outcome means where nobody says anything; empty where that is nothing."""
    plain = word.strip().lower()
    return UNKNOWN if plain in MISSING else OUTCOMES.get(plain, "")


def _called(usual: str) -> str:
    return CALLED.get(usual, "a success" if usual == SUCCESS else "that nothing is known")


def _listed(words: Sequence[str]) -> str:
    return " or ".join(repr(word.strip()) for word in words)


def _number(limit: str) -> float:
    return float(limit.removeprefix(">="))
