"""Made-up runs in any number, the same for the same seed: agents of different strength on tasks of different weight.

Twenty agents attempt every task five times, so that a hundred times as many records are a hundred times as many tasks.
A few runs are invalid, a few end in errors, some are cut at the caps; nothing here was measured anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from proctor.study.run_table import COLUMNS, NAMES, NUMBER, Coded, Table

if TYPE_CHECKING:
    import numpy as np

SEED = 20260307
AGENTS, TRIALS = 20, 5
PER_TASK = AGENTS * TRIALS
BLOCK = 50_000
"""How many records are drawn at once; a multiple of the records of a task."""

CAP_SECONDS, CAP_USD = 1800.0, 5.0
STRATA = ("c / small", "javascript / medium", "python / large", "python / medium", "python / small")
TAGS = ("", "build-failure", "conflict", "context-overflow", "evaluation-error", "invariant-violation",
        "non-termination", "static-failure", "test-failure", "test-failure:unit")  # fmt: skip
STATUSES = ("success", "failure", "acceptance-error", "invalid")
PHASES = ("setup", "agent", "acceptance")
ENDS = ("finished", "resource", "infrastructure")


def synthetic_table(count: int, seed: int = SEED) -> Table:
    """A table of ``count`` made-up runs."""
    import numpy as np

    blocks = list(_blocks(count, seed))
    columns: dict[str, Any] = {}
    for name in blocks[0]:
        parts = [block[name] for block in blocks]
        if isinstance(parts[0], tuple):
            columns[name] = Coded(np.concatenate([codes for codes, _ in parts]), parts[0][1])
        else:
            columns[name] = np.concatenate(parts)
    ids = np.arange(count)
    columns["run"] = Coded(ids, [_run(number) for number in range(count)])
    columns["source"] = Coded(ids, [f"synthetic:{number + 1}" for number in range(count)])
    return Table(count, columns)


def synthetic_rows(count: int, seed: int = SEED) -> Iterator[list[dict[str, Any]]]:
    """The same runs as rows, block by block, each with every column."""
    start = 0
    kinds = {column.name: column.kind for column in COLUMNS}
    for block in _blocks(count, seed):
        size = len(block["success"])
        cells: dict[str, list[Any]] = {name: [None] * size for name in NAMES}
        for name, column in block.items():
            if isinstance(column, tuple):
                cells[name] = [column[1][code] for code in column[0].tolist()]
            else:
                exact = float if kinds[name] == NUMBER else int
                cells[name] = [None if value != value else exact(value) for value in column.tolist()]
        cells["run"] = [_run(number) for number in range(start, start + size)]
        cells["source"] = [f"synthetic:{number + 1}" for number in range(start, start + size)]
        yield [dict(zip(NAMES, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        start += size


def _run(number: int) -> str:
    return f"20260307T120000-{number:010x}"


def _blocks(count: int, seed: int) -> Iterator[dict[str, Any]]:
    import numpy as np

    tasks = -(-count // PER_TASK)
    names = tuple(f"task-{number:05d}" for number in range(tasks))
    contracts = tuple("sha256:" + sha256(name.encode()).hexdigest() for name in names)
    for start in range(0, count, BLOCK):
        rng = np.random.Generator(np.random.PCG64([seed, start]))
        yield _block(np.arange(start, min(count, start + BLOCK)), rng, names, contracts)


def _block(
    numbers: np.ndarray[Any, Any], rng: np.random.Generator, names: tuple[str, ...], contracts: tuple[str, ...]
) -> dict[str, Any]:
    """The columns of some records, by their numbers; a text column is its codes and its names."""
    import numpy as np

    size = len(numbers)
    agent, task = numbers % AGENTS, numbers // PER_TASK
    strength = np.linspace(-1.2, 1.4, AGENTS)[agent]
    # Each task's weight follows from its number, so that it is the same for every agent and in every block.
    weight = np.sin(task * 12.9898) * 1.6
    good = rng.random(size) < 1 / (1 + np.exp(weight - strength))
    invalid, error = rng.random(size) < 0.01, rng.random(size) < 0.02
    seconds = np.minimum(rng.lognormal(5.3 + 0.25 * weight, 0.8), CAP_SECONDS)
    tokens = np.floor(rng.lognormal(10.5 + 0.2 * weight, 0.7))
    model = np.minimum(tokens * 6e-6, CAP_USD)
    execution, overhead = seconds * 2e-4, np.full(size, 0.002)
    cut = (seconds >= CAP_SECONDS) | (model >= CAP_USD)
    status = np.where(invalid, 3, np.where(error, 2, np.where(good, 0, 1)))
    verdict = np.where(invalid, np.nan, (status == 0).astype(float))
    blamed = np.where(status == 0, 0, np.where(status == 1, rng.integers(1, len(TAGS), size), 4))
    shares = (0.1, 0.7, 0.2)
    return {
        "agent": (agent, tuple(f"agent-{number:02d}" for number in range(AGENTS))),
        "model": (agent % 4, ("large", "medium", "small", "tiny")),
        "method": (agent, tuple(f"agent-{number:02d}" for number in range(AGENTS))),
        "task": (task, names),
        "contract": (task, contracts),
        "stratum": (task % len(STRATA), STRATA),
        "trial": (numbers // AGENTS % TRIALS + 1).astype(float),
        "status": (status, STATUSES),
        "success": verdict,
        "scorable": (~invalid).astype(float),
        "ended": (np.where(invalid, 2, np.where(cut, 1, 0)), ENDS),
        "censored": cut.astype(float),
        "cost_usd": model + execution + overhead,
        "model_usd": model,
        "execution_usd": execution,
        "human_usd": np.zeros(size),
        "overhead_usd": overhead,
        "tokens_in": np.floor(tokens * 0.9),
        "tokens_out": tokens - np.floor(tokens * 0.9),
        "seconds": seconds,
        "judge_seconds": rng.lognormal(2.0, 0.5, size),
        "tool_calls": np.floor(seconds / 12) + 1,
        "test_cycles": np.floor(seconds / 90),
        "gate1": np.where(invalid, np.nan, (rng.random(size) < 0.98) | good).astype(float),
        "gate2": np.where(invalid, np.nan, (rng.random(size) < 0.9) | good).astype(float),
        "gate3": verdict,
        "gate4": np.where(invalid, np.nan, (rng.random(size) < 0.99) | good).astype(float),
        "score": np.where(status == 0, rng.random(size), np.nan),
        "contract_score": np.where(invalid, np.nan, rng.random(size)),
        "tags": (blamed, TAGS),
        "comparability": (task % 7, tuple(f"sha256:{number:064x}" for number in range(7))),
        "pilot": (np.zeros(size, dtype=np.int64), ("",)),
        "begun": (numbers // 1000 % 1440, tuple(f"2026-03-07T{m // 60:02d}:{m % 60:02d}:00Z" for m in range(1440))),
        "batch": (np.zeros(size, dtype=np.int64), ("20260307T120000-0000000000",)),
        "cost_method": (np.zeros(size, dtype=np.int64), ("synthetic",)),
        **{f"{phase}_execution_usd": execution * share for phase, share in zip(PHASES, shares, strict=True)},
        **{f"{phase}_overhead_usd": overhead * share for phase, share in zip(PHASES, shares, strict=True)},
    }
