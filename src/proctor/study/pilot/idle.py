"""Methods that left no change in any run, or always ended with an error: a mistyped path comes out like an agent that
solves nothing. Pure.

Both are failures, and a comparison with either says the same. Only how such runs ended, and that none of them changed
anything, tells them apart. An agent may rightly change nothing; a reader has to know that it did not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from proctor.study.pilot.ledger import FAILED, Run


def by_method(runs: Iterable[Run], methods: Iterable[str]) -> dict[str, list[Run]]:
    """The runs of each method, without those that the machine spoilt; methods without any are left out."""
    found: dict[str, list[Run]] = {name: [] for name in methods}
    for run in runs:
        if run.method in found and not run.spoilt:
            found[run.method].append(run)
    return {name: made for name, made in found.items() if made}


def ended_with(runs: Sequence[Run]) -> str:
    """The exit codes of runs, the most frequent first: ``exit code 2 in 23, 0 in 1``."""
    counts = Counter("none" if run.exit_code is None else str(run.exit_code) for run in runs)
    told = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return f"exit code {', '.join(f'{code} in {count}' for code, count in told)}"


def unproven(runs: Iterable[Run], methods: Iterable[str]) -> Iterator[str]:
    """Which methods changed nothing, or ended well, in no run that counts, in sentences for the first screen."""
    for name, made in by_method(runs, methods).items():
        look = f"proctor show {made[-1].run} --output says what it printed"
        if not any(run.changed for run in made):
            of = f"any of its {len(made)} runs" if len(made) > 1 else "its only run"
            yield f"{name} changed nothing in {of} ({ended_with(made)}): it may never have worked; {look}."
        elif all(run.reason == FAILED for run in made):
            of = f"all of its {len(made)} runs" if len(made) > 1 else "its only run"
            yield f"{name} ended with an error in {of} ({ended_with(made)}): it may be broken; {look}."
