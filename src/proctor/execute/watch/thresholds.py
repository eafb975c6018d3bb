"""Every number that a breaker compares with, by name and with its unit.

:class:`Caps` are the most that one run may use; a contract's budget sets them, and ``None`` is no cap. The default
caps (30 minutes, $5.00) and every threshold below are policy choices: nobody has tuned them, and no result shows that
others would be worse. :class:`Thresholds` say when behaviour counts as a loop, a burst or a run without progress. They
have one version, are the same for every method that is compared, and change only between studies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.base.fields import field_names, items
from proctor.contract.policy import Budget

VERSION = "thresholds-4"
"""Names these defaults in reports; any change of a default is a new version."""

DEFAULT_WALL_SECONDS = 1800
"""The run ceiling when a contract says nothing: 30 minutes, a policy choice."""

DEFAULT_USD = "5.00"
"""The cost cap when a contract says nothing: $5.00, a policy choice."""

POLICY_CHOICE = "a policy choice"
"""What every text says that shows a default."""


@dataclass(frozen=True)
class Caps:
    """The most that one run may use; ``None`` is no cap. The defaults are policy choices."""

    command_seconds: int | None = 600
    wall_seconds: int | None = DEFAULT_WALL_SECONDS
    cpu_seconds: int | None = None
    memory_bytes: int | None = 4 << 30
    disk_bytes: int | None = None
    inodes: int | None = None
    processes: int | None = 512
    usd: str | None = DEFAULT_USD
    tokens: int | None = None
    tool_calls: int | None = None
    failed_cycles: int | None = None
    dependency_resolutions: int | None = None


@dataclass(frozen=True)
class Thresholds:
    """When behaviour is more than bad luck. Shares are decimal strings between 0 and 1.

    Where two steps stand in a pair, the first slows the run down or tells of it, the second ends it.
    """

    version: str = VERSION

    stale_calls: tuple[int, int] = (12, 30)
    """Calls in a row that were all made before in the same state of the tree."""
    stale_seconds: int = 3
    """How long such a row must last at least, so that the look at the tree has had its turn."""
    repeats_below_calls: bool = True
    """Whether programs that a tool call starts count like tool calls where they repeat. Before ``thresholds-4`` they
    did not."""
    expensive_seconds: int = 30
    """A call that takes this long is expensive; a run of tests always is."""
    expensive_repeats: int = 3
    """How often one expensive call is made in the same state of the tree before it is slowed down."""
    reinstalls: tuple[int, int] = (3, 6)
    """How often the same dependencies are installed."""
    oscillations: tuple[int, int] = (1, 2)
    """Returns to an earlier state of the tree whose tests failed, with another failing state between."""
    unknown_oscillations: tuple[int, int] = (3, 6)
    """The same where it is not known how the tests ended."""
    no_progress_seconds: tuple[int, int] = (600, 1200)
    """The agent's own time without a change of the tree or a passing run of tests."""
    no_progress_calls: tuple[int, int] = (100, 300)
    """Tool calls without a change of the tree or a passing run of tests."""
    dominance_share: str = "0.9"
    """The part of a cap that may be used before a first milestone."""

    burst_calls: int = 40
    """Tool calls within ``burst_seconds`` that make a burst."""
    burst_seconds: int = 10
    calm_seconds: int = 60
    """After this long without a burst the delay starts anew."""
    delay_seconds: str = "0.5"
    """The first delay of a throttle."""
    delay_growth: int = 2
    """What each further delay is multiplied by."""
    delay_most_seconds: int = 30

    oom_kills: tuple[int, int] = (1, 5)
    """Processes that the kernel has ended for want of memory."""
    full_samples: int = 3
    """Samples in a row with as many processes as the cap allows."""
    denied_writes: int = 50
    """Different places outside the writable scope that were tried before writing is suspended altogether."""
    violations: int = 3
    """Violations of policy before the run is quarantined."""
    quarantine_codes: tuple[str, ...] = ("canary-leak", "forbidden-syscall", "records-lost")
    """Violations that quarantine the run at once."""
    record_bytes: int = 256 << 20
    """About what the record of an agent may take up, which is read whole when the run is judged."""
    repeated_trips: int = 20
    """Alerts of breakers before the run is ended for the sum of them."""

    headroom_share: str = "0.1"
    """The part of the cost cap that is kept for acceptance and logging."""
    throttle_share: str = "0.8"
    """The part of what is left of the cap at which the run is slowed down."""


_BEFORE: Mapping[str, Any] = {"repeats_below_calls": False}
"""What held before a threshold had a name: records of those versions lack it, and must give the same decisions."""


def caps_of(budget: Budget) -> Caps:
    """The caps that a contract's budget sets: the fields of the same names."""
    known = set(field_names(Caps))
    return Caps(**{name: _plain(value) for name, value in items(budget) if name in known})


def record_of(value: Caps | Thresholds) -> dict[str, Any]:
    """``value`` as it is written into a record."""
    return {name: list(inner) if isinstance(inner, tuple) else inner for name, inner in items(value)}


def caps_from(record: Mapping[str, Any]) -> Caps:
    """The caps that :func:`record_of` wrote."""
    return Caps(**{name: record[name] for name in field_names(Caps) if name in record})


def thresholds_from(record: Mapping[str, Any]) -> Thresholds:
    """The thresholds that :func:`record_of` wrote."""
    known: dict[str, Any] = {**_BEFORE, **{name: record[name] for name in field_names(Thresholds) if name in record}}
    for name, value in known.items():
        known[name] = tuple(value) if isinstance(value, list) else value
    return Thresholds(**known)


def _plain(value: Any) -> Any:
    return format(value, "f") if isinstance(value, Decimal) else value
