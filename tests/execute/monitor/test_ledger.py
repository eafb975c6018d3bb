"""Costs: every part, every phase, to the last digit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.base.canonical import canonical
from proctor.execute.monitor.budget import Ledger, by_phase, projection
from proctor.execute.monitor.price_table import FALLBACK, PriceTable, load_prices, plain
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event

TABLE = load_prices(
    b"action_type,unit,unit_price,model\n"
    b"llm_request,call,0.01,\n"
    b"llm_input,token,0.000003,\n"
    b"llm_output,token,0.000015,\n"
    b"llm_output,token,0.000075,large\n"
    b"tool_call,call,0.001,\n"
    b"execution,minute,0.06,\n"
    b"human_review,hour,60,\n"
    b"artifact_storage,gigabyte,0.5,\n"
    b"trace_event,event,0,\n"
    b"run,run,0.25,\n"
)


def ledger_of(story: Any, table: PriceTable = TABLE) -> Ledger:
    facts = RunState(table)
    for event in story.events:
        facts.see(event)
    return facts.ledger


def whole_run(story: Any) -> Any:
    story.add("run.started", run="r")
    story.add("setup.step", index=0, command=["x"], cached=False, exit_code=0, wall_seconds="60")
    story.add("setup.step", index=1, command=["x"], cached=True, exit_code=0, wall_seconds="60")
    story.start().wait(120).usage(1000, 100, "0.02").usage(0, 100, None, "large").call("ls")
    story.add("operator.asked", code="x", question="?", deadline_seconds=1, alert=0)
    story.wait(360).add("operator.decided", decision="approve", why="", code="", by="", rollback=None)
    story.finish()
    story.add("patch.extracted", sha256="", bytes=2_000_000_000, files=1, dropped=[])
    story.add("check.finished", check="c", observed_seconds="30", stdout={"bytes": 0}, stderr={"bytes": 0})
    return story


def test_every_part_is_itemised_by_phase(new_story: Any) -> None:
    ledger = ledger_of(whole_run(new_story()))
    sums = by_phase(ledger.items())
    assert sums["setup"] == {
        "model": Decimal(0),
        "execution": Decimal("0.06"),
        "human": Decimal(0),
        "overhead": Decimal("0.25"),
    }
    # Two requests at 0.01; 1,000 tokens in at 0.000003; 100 out at 0.000015 and 100 at 0.000075.
    assert sums["agent"]["model"] == Decimal("0.02") + Decimal("0.003") + Decimal("0.0015") + Decimal("0.0075")
    assert sums["agent"]["human"].quantize(Decimal("0.001")) == 6
    assert sums["acceptance"]["execution"] == Decimal("0.03")
    assert sums["acceptance"]["overhead"] == 1
    assert ledger.projected == sum((sum(parts.values()) for parts in sums.values()), Decimal(0))


def test_execution_while_the_agent_acts_is_its_own_time(new_story: Any) -> None:
    ledger = ledger_of(whole_run(new_story()))
    assert ledger.quantity("execution_ns", "agent") // 10**9 == 120
    assert ledger.quantity("execution_ns") // 10**9 == 60 + 120 + 30
    assert ledger.quantity("calls") == 1


def test_what_was_billed_stands_apart_from_what_is_projected(new_story: Any) -> None:
    ledger = ledger_of(whole_run(new_story()))
    assert ledger.observed_usd == Decimal("0.02") and ledger.billed_requests == 1
    without = ledger_of(new_story().start().usage(1, 1))
    assert projection(without)["observed_usd"] is None


def test_the_projection_is_a_payload(new_story: Any) -> None:
    story = whole_run(new_story())
    money = projection(ledger_of(story))
    assert money["method"] == TABLE.id and money["units"] is None and money["phase"] == "acceptance"
    assert canonical(money)
    units = projection(ledger_of(story, FALLBACK.table))
    assert units["usd"] is None and units["method"] == "fallback-1"
    assert sum(Decimal(item["amount"]) for item in units["items"]) == Decimal(units["units"])


def test_amounts_are_shown_without_exponents() -> None:
    assert [plain(Decimal(value)) for value in ("0", "5", "1E-7", "1E+3", "2.500", "0.125")] == [
        *("0.00", "5.00", "0.0000001", "1000.00", "2.50", "0.125"),
    ]


USAGES = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(["m", "large"])), max_size=20)


@given(USAGES)
def test_money_is_exact(usages: list[tuple[int, int, str]]) -> None:
    facts, expected = RunState(TABLE), Fraction(0)
    for seq, (came, went, model) in enumerate(usages):
        payload = {"model": model, "input_tokens": came, "output_tokens": went, "usd": "0.1"}
        facts.see(Event(seq, "1", "model.usage", "agent", payload, "", ""))
        dear = Fraction("0.000075" if model == "large" else "0.000015")
        expected += Fraction("0.01") + came * Fraction("0.000003") + went * dear
    assert Fraction(facts.ledger.projected) == expected
    assert Fraction(facts.ledger.observed_usd) == Fraction(len(usages), 10)


@given(st.lists(st.integers(0, 10**13), max_size=20))
def test_time_is_rounded_up_once_and_by_less_than_a_billionth_of_a_cent(steps: list[int]) -> None:
    facts, now = RunState(TABLE), 1
    facts.see(Event(0, str(now), "agent.started", "harness", {}, "", ""))
    for seq, step in enumerate(steps, 1):
        now += step
        facts.see(Event(seq, str(now), "monitor.sample", "monitor", {}, "", ""))
    exact = Fraction(sum(steps), 60 * 10**9) * Fraction("0.06")
    assert 0 <= Fraction(facts.ledger.projected) - exact < Fraction(1, 10**12)


def test_the_estimate_is_the_sum_of_its_items_at_every_event(new_story: Any) -> None:
    facts = RunState(TABLE)
    for event in whole_run(new_story()).events:
        facts.see(event)
        assert facts.ledger.projected == sum((item.amount for item in facts.ledger.items()), Decimal(0))
