"""The settings of the breakers.

Every number that a breaker compares with, by name and unit, and all else that its decisions depend on besides the
events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from proctor.base.dataclass_fields import field_items, field_names
from proctor.contract.model import Contract
from proctor.contract.policy import Budget
from proctor.execute.monitor.price_table import Price, PriceTable

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
    """The thresholds of behaviour. Shares are decimal strings between 0 and 1.

    In a pair of steps, the first slows the run down or raises an alert, the second ends it.
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
    """After this long without a burst the delay starts again."""
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
"""The values before a threshold was a setting: records of those versions lack it, and must give the same decisions."""


def caps_of(budget: Budget) -> Caps:
    """The caps that a contract's budget sets: the fields of the same names."""
    known = set(field_names(Caps))
    return Caps(**{name: _plain(value) for name, value in field_items(budget) if name in known})


def record_of(value: Caps | Thresholds) -> dict[str, Any]:
    """``value`` as it is written into a record."""
    return {name: list(inner) if isinstance(inner, tuple) else inner for name, inner in field_items(value)}


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


SCHEMA = 1
_PLAIN = ("call_depth", "sees_tree", "task_usd", "task_spent_usd", "batch_usd", "batch_spent_usd")
_LISTS = ("ask", "forbid_commands", "forbid_syscalls", "test_commands")


@dataclass(frozen=True)
class Settings:
    """The settings of a panel.

    ``prices`` is a table in dollars, or ``None`` for the fallback schedule. The caps of task and batch are in dollars,
    and so is what earlier runs have spent of them. ``call_depth`` is how far below the agent's own process tool calls
    are. ``rules`` are the contract's grades; ``ask`` are the codes about which an operator is asked; ``rollback`` maps
    codes to whether the agent continues after the rollback (``continue``) or is ended (``end``); ``forbid_syscalls``
    are classes of system calls whose attempt is a violation; ``test_commands`` are patterns that count as running tests
    in addition to the usual runners; ``baseline`` are the keys of what the no-op or the reference also does. Without
    ``sees_tree`` nothing is decided by the state of the tree.
    """

    caps: Caps = field(default_factory=Caps)
    thresholds: Thresholds = field(default_factory=Thresholds)
    prices: PriceTable | None = None
    call_depth: int = 1
    sees_tree: bool = True
    rules: Mapping[str, str] = field(default_factory=dict)
    ask: tuple[str, ...] = ()
    rollback: Mapping[str, str] = field(default_factory=dict)
    forbid_commands: tuple[str, ...] = ()
    forbid_syscalls: tuple[str, ...] = ()
    test_commands: tuple[str, ...] = ()
    baseline: frozenset[tuple[str, str, str]] = frozenset()
    task_usd: str | None = None
    task_spent_usd: str = "0"
    batch_usd: str | None = None
    batch_spent_usd: str = "0"
    breakers: tuple[str, ...] = ()
    """The breakers of installed packages that the contract lists."""


def settings_of(contract: Contract, *, run_usd: str | None = None, **others: Any) -> Settings:
    """The settings that a contract's budget and policy make; ``others`` are the fields that a contract cannot know.

    A study may hold every run to ``run_usd`` where the contract would allow more.
    """
    policy = contract.policy
    caps = caps_of(contract.budget)
    if run_usd is not None and (caps.usd is None or Decimal(run_usd) < Decimal(caps.usd)):
        caps = replace(caps, usd=run_usd)
    return Settings(
        caps=caps,
        rules=dict(policy.rules),
        ask=tuple(dict.fromkeys(code for ask in policy.ask for code in ask.on)),
        rollback={code: rollback.then for rollback in policy.rollback for code in rollback.on},
        forbid_commands=policy.forbid_commands,
        forbid_syscalls=policy.forbid_syscalls,
        test_commands=policy.stages.tests,
        breakers=policy.breakers,
        **others,
    )


def record_of_settings(settings: Settings) -> dict[str, Any]:
    """The settings as a record keeps them."""
    table = settings.prices
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "proctor.watch",
        "caps": record_of(settings.caps),
        "thresholds": record_of(settings.thresholds),
        "prices": None,
        "rules": [[code, settings.rules[code]] for code in sorted(settings.rules)],
        "rollback": [[code, settings.rollback[code]] for code in sorted(settings.rollback)],
        "baseline": [list(key) for key in sorted(settings.baseline)],
    }
    if table is not None:
        rows = [[row.action, row.unit, format(row.price, "f"), row.model, row.notes, row.tier] for row in table.prices]
        named = "exact" if table.by_exact_name else "dated"
        record["prices"] = {"id": table.id, "currency": table.currency, "names": named, "rows": rows}
    record |= {name: getattr(settings, name) for name in _PLAIN}
    record |= {name: list(getattr(settings, name)) for name in _LISTS}
    if settings.breakers:
        record["breakers"] = list(settings.breakers)
    return record


def settings_from(record: Mapping[str, Any]) -> Settings:
    """The settings that :func:`record_of_settings` wrote."""
    table = record.get("prices")
    prices = None
    if table is not None:
        rows = tuple(Price(row[0], row[1], Decimal(row[2]), *row[3:]) for row in table["rows"])
        prices = PriceTable(table["id"], table["currency"], rows, table.get("names", "exact") == "exact")
    plain: dict[str, Any] = {name: record[name] for name in _PLAIN}
    lists: dict[str, Any] = {name: tuple(record[name]) for name in _LISTS}
    return Settings(
        caps=caps_from(record["caps"]),
        thresholds=thresholds_from(record["thresholds"]),
        prices=prices,
        rules=dict(record["rules"]),
        rollback=dict(record.get("rollback", ())),
        baseline=frozenset((key[0], key[1], key[2]) for key in record["baseline"]),
        breakers=tuple(record.get("breakers", ())),
        **plain,
        **lists,
    )
