"""Arguments of the Python interface: the home, and limits that are checked before anything is written."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from proctor.base.errors import UsageFault
from proctor.conduct.machine_setup import Machine, open_machine
from proctor.execute.proctor_home import Home

T = TypeVar("T")

MOST_REPEATS = 10_000
MOST_JOBS = 64
MOST_JUDGE_SLOTS = 4096
MOST_RETRIES = 100
MOST_TIMES = 1000
MOST_OUTPUT_TOKENS = 1_000_000
MOST_WAIT_SECONDS = 86_400


def require_count(name: str, value: int, least: int, most: int) -> None:
    """Refuse a value that is not a whole number from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageFault(f"not a whole number from {least} to {most}: {str(value)[:40]}", where=name)


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is set and not one of ``choices``."""
    if value and value not in choices:
        raise UsageFault(f"expected one of {', '.join(choices)}, not {value[:100]!r}", where=name)


def require_several(name: str, values: Sequence[T]) -> Sequence[T]:
    """Refuse a single text where a list is expected, and a list with nothing in it where something is needed."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise UsageFault(f"not a list: {str(values)[:100]}", where=name, hint=f"{name}=[...]")
    if not values:
        raise UsageFault("the list is empty", where=name)
    return values


def require_dollars(name: str, value: Decimal | None) -> None:
    """Refuse an amount that is not a positive decimal number."""
    if value is not None and not (isinstance(value, Decimal) and value.is_finite() and value > 0):
        raise UsageFault(f"not an amount in dollars: {str(value)[:40]}", where=name, hint='such as Decimal("5.00")')


AnyHome = Home | Path | str | None
"""A home, its directory, or nothing for the one that the environment names."""


def home_of(home: AnyHome = None) -> Home:
    """The home at a directory; without one, that of ``PROCTOR_HOME`` or the user's usual one."""
    if isinstance(home, Home):
        return home
    if home is None:
        return Home.from_environment(os.environ)
    return Home.from_environment({"PROCTOR_HOME": str(Path(home).absolute())})


def machine_of(home: AnyHome, judge_slots: int | None = None) -> Machine:
    """What makes runs with this home; a home that other users can change is a warning."""
    return open_machine(home_of(home), judge_slots, lambda problem: warnings.warn(problem, stacklevel=4))
