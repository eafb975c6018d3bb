"""The order of all runs: stratified, paired by task, and random by one seed.

A block is one repeat of one task: every method once, in a random order, so that changes over time affect all of
them alike. In a stage, blocks are in a random order within each stratum, and the strata are interleaved evenly, so
that a pilot that ends early has covered each of them in proportion.

Each block draws from a stream of its own: NumPy's PCG64, seeded by the pilot's seed and the digest of the block's task
and repeat. Only the raw stream is used, which NumPy never changes, and what is drawn for one block does not
depend on the others: an amendment that adds repeats leaves the order inside the other blocks as it was.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from numpy.random import PCG64, SeedSequence

from proctor.base.dataclass_fields import field_names
from proctor.base.errors import BrokenSeal
from proctor.study.pilot.plan.pilot_model import STAGES

FRAMEWORK = "numpy.random.PCG64"


@dataclass(frozen=True)
class Slot:
    """One run of the plan. ``repeat`` counts from 1 over the whole pilot, ``position`` from 1 within the block."""

    order: int
    stage: str
    block: int
    stratum: str
    task: str
    contract: str
    repeat: int
    position: int
    method: str


@dataclass(frozen=True)
class Design:
    """What the order is made from. ``tasks`` have name, content id and stratum; ``runs`` are those after each stage."""

    tasks: tuple[tuple[str, str, str], ...]
    methods: tuple[str, ...]
    seed: int
    one_tasks: int
    runs: tuple[int, int, int]


def randomise(design: Design) -> tuple[Slot, ...]:
    """Every run of the plan, in its order."""
    chosen = stage_one_tasks(design)
    one, two, three = design.runs
    done = {name: one if name in chosen else 0 for name, _, _ in design.tasks}
    wanted = {
        "one": [(task, repeat) for task in design.tasks if task[0] in chosen for repeat in range(1, one + 1)],
        "two": [(task, repeat) for task in design.tasks for repeat in range(done[task[0]] + 1, two + 1)],
        "three": [(task, repeat) for task in design.tasks for repeat in range(two + 1, three + 1)],
    }
    slots: list[Slot] = []
    blocks = 0
    for stage in STAGES:
        for (name, contract, stratum), repeat in _dealt(design.seed, stage, wanted[stage]):
            blocks += 1
            for position, method in enumerate(_methods(design, name, repeat), 1):
                order = len(slots) + 1
                slots.append(Slot(order, stage, blocks, stratum, name, contract, repeat, position, method))
    return tuple(slots)


def stage_one_tasks(design: Design) -> frozenset[str]:
    """The tasks of stage one: at least one of every stratum, the rest in proportion, at random within each."""
    strata: dict[str, list[str]] = {}
    for name, _, stratum in design.tasks:
        strata.setdefault(stratum, []).append(name)
    total, wanted = len(design.tasks), min(design.one_tasks, len(design.tasks))
    counts = dict.fromkeys(strata, 1)
    while sum(counts.values()) < wanted:
        lacking = max(strata, key=lambda stratum: Fraction(len(strata[stratum]) * wanted, total) - counts[stratum])
        counts[lacking] += 1
    drawn = {
        stratum: sorted(names, key=lambda name: (_draw(design.seed, "stage one", name), name))
        for stratum, names in strata.items()
    }
    return frozenset(name for stratum, names in drawn.items() for name in names[: counts[stratum]])


def _methods(design: Design, task: str, repeat: int) -> list[str]:
    """The methods of one block in a random order."""
    raw = _stream(design.seed, "block", task, str(repeat), count=len(design.methods))
    return [method for _, method in sorted(zip(raw, design.methods, strict=True))]


def _dealt(
    seed: int, stage: str, blocks: Sequence[tuple[tuple[str, str, str], int]]
) -> list[tuple[tuple[str, str, str], int]]:
    """The blocks of a stage: shuffled within each stratum, and the strata interleaved in proportion."""
    strata: dict[str, list[tuple[int, tuple[tuple[str, str, str], int]]]] = {}
    for task, repeat in blocks:
        key = _draw(seed, f"stage {stage}", task[0], str(repeat))
        strata.setdefault(task[2], []).append((key, (task, repeat)))
    dealt = []
    for stratum, keyed in strata.items():
        first = _draw(seed, f"stratum {stage}", stratum)
        for rank, (_, block) in enumerate(sorted(keyed)):
            dealt.append((Fraction(2 * rank + 1, 2 * len(keyed)), first, stratum, block))
    return [block for *_, block in sorted(dealt)]


def _draw(seed: int, *words: str) -> int:
    return _stream(seed, *words, count=1)[0]


def _stream(seed: int, *words: str, count: int) -> list[int]:
    """The first numbers of the stream that is seeded by ``words``."""
    name = hashlib.sha256("\0".join(words).encode()).digest()
    key = tuple(int.from_bytes(name[start : start + 4], "big") for start in range(0, 32, 4))
    generator = PCG64(SeedSequence(seed, spawn_key=key))
    return [int(generator.random_raw()) for _ in range(count)]


def to_csv(slots: Iterable[Slot]) -> bytes:
    """The plan as a table, one line for each run."""
    names = field_names(Slot)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(slot, name) for name in names] for slot in slots)
    return written.getvalue().encode()


def from_csv(data: bytes, where: str) -> tuple[Slot, ...]:
    """The plan in a table; :class:`BrokenSeal` if it contains none."""
    reader = csv.DictReader(io.StringIO(data.decode("utf-8", "replace")))
    if tuple(reader.fieldnames or ()) != field_names(Slot):
        raise BrokenSeal("not a table of a randomised order", where=where)
    try:
        return tuple(_slot(row) for row in reader)
    except (ValueError, KeyError, TypeError):
        raise BrokenSeal("a line that no plan has", where=f"{where}:{reader.line_num}") from None


def _slot(row: Mapping[str, str]) -> Slot:
    return Slot(
        order=int(row["order"]),
        stage=row["stage"],
        block=int(row["block"]),
        stratum=row["stratum"],
        task=row["task"],
        contract=row["contract"],
        repeat=int(row["repeat"]),
        position=int(row["position"]),
        method=row["method"],
    )
