"""Settings: what a contract sets, and that a record of them gives the same panel again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from proctor.base.canonical import canonical, parse
from proctor.base.dataclass_fields import field_names
from proctor.contract.load import load_contract
from proctor.contract.model import Budget
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel
from proctor.execute.monitor.breakers.breaker_settings import (
    Caps,
    Settings,
    Thresholds,
    caps_of,
    record_of_settings,
    settings_from,
    settings_of,
)
from proctor.execute.monitor.price_table import load_prices


def test_a_contract_sets_caps_rules_and_questions(make_contract: Callable[..., Path]) -> None:
    place = make_contract(
        policy={
            "forbid_commands": ["git push"],
            "forbid_syscalls": ["mount"],
            "stages": {"ladder": "automatic", "tests": ["./check"]},
            "rules": {"network": "violation"},
            "ask": [{"on": ["burst", "network"]}, {"on": ["cost-cap"]}],
        },
        budget={"wall_seconds": 60, "usd": "0.50", "tokens": 1000},
    )
    settings = settings_of(load_contract(place), call_depth=0)
    assert (settings.caps.wall_seconds, settings.caps.usd, settings.caps.tokens) == (60, "0.50", 1000)
    assert settings.forbid_commands == ("git push",) and settings.forbid_syscalls == ("mount",)
    assert settings.test_commands == ("./check",) and settings.ask == ("burst", "network", "cost-cap")
    assert dict(settings.rules) == {"network": "violation"} and settings.call_depth == 0


def test_a_budget_sets_every_cap() -> None:
    assert set(field_names(Caps)) <= set(field_names(Budget))
    caps = caps_of(Budget())
    assert (caps.wall_seconds, caps.usd) == (Caps().wall_seconds, Caps().usd) == (1800, "5.00")


def test_a_record_gives_the_same_settings_again() -> None:
    table = load_prices(b"action_type,unit,unit_price,model,notes\nllm_input,token,0.0000010,m,\xc3\xa9\n")
    settings = Settings(
        caps=Caps(usd=None, tokens=5),
        thresholds=Thresholds(burst_calls=3, stale_calls=(2, 4)),
        prices=table,
        call_depth=2,
        sees_tree=False,
        rules={"\u00e9": "notice", "network": "alert"},
        ask=("a",),
        forbid_commands=("x *",),
        forbid_syscalls=("mount",),
        test_commands=("y",),
        baseline=frozenset({("dns", "node", "a.example")}),
        task_usd="20",
        task_spent_usd="1.5",
    )
    record = parse(canonical(record_of_settings(settings)))
    assert settings_from(record) == settings
    assert BreakerPanel(settings_from(record)).names == BreakerPanel(settings).names
    assert settings_from(parse(canonical(record_of_settings(Settings())))) == Settings()
