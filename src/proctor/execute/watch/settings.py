"""Everything that a panel's decisions depend on besides the events, as one record that a run can keep.

:func:`settings_of` takes what a contract says. A replay needs the settings that the run had:
:func:`record_of_settings` writes all of them, thresholds and prices included; :func:`settings_from` reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from proctor.contract.model import Contract
from proctor.execute.watch.prices import Price, PriceTable
from proctor.execute.watch.thresholds import Caps, Thresholds, caps_from, caps_of, record_of, thresholds_from

SCHEMA = 1
_PLAIN = ("call_depth", "sees_tree", "task_usd", "task_spent_usd", "batch_usd", "batch_spent_usd")
_LISTS = ("ask", "forbid_commands", "forbid_syscalls", "test_commands")


@dataclass(frozen=True)
class Settings:
    """What a panel is set to.

    ``prices`` is a table in dollars, or ``None`` for the fallback schedule. The caps of task and batch are in dollars,
    and so is what earlier runs have spent of them. ``call_depth`` says where tool calls stand below the agent's own
    process. ``rules`` are the contract's grades; ``ask`` are the codes about which an operator is asked;
    ``rollback`` says for codes whether the agent goes on (``continue``) or not (``end``) after the tree went back;
    ``forbid_syscalls`` are classes of system calls whose attempt is a violation; ``test_commands`` are patterns that
    count as running tests besides the usual runners; ``baseline`` are the keys of what the no-op or the reference
    also does. Without ``sees_tree`` nothing is decided by the state of the tree.
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
        **plain,
        **lists,
    )
