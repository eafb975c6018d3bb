"""The Markdown report."""

from __future__ import annotations

from proctor.present.html import page
from proctor.present.markdown_report import report
from proctor.present.markdown_syntax import amount, p_value, percents, plain, points, rank
from proctor.present.report_files import tables
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Extras, Question, measured_from
from proctor.study.statements import statement
from tests.present.test_data import ESTIMATE, made

UNDEFINED = {**ESTIMATE, "value": None, "low": None, "high": None, "undefined": {"code": "no-success"}}

DEVIATIONS = tuple(statement("block-not-run", task="a", repeat=repeat) for repeat in (1, 2, 3))
"""An amendment counts as one of these."""


def test_the_decision_comes_first() -> None:
    text = report(
        findings(made(), Question(against="y"), Extras(name="made.csv", notes=(statement("trials-by-order"),)))
    ).decode()
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "# Findings on made.csv"
    assert lines[1].startswith("**undecided.** Undecided on x rather than y")
    for part in (
        "## Agents",
        "## Comparisons",
        "## At least one success in k attempts",
        "## All of k attempts succeed",
        "## Strata",
        "## Cost",
        "## Seconds until the agent ends",
        "## Failure modes\n\nRuns without success that have each tag; tags of successes are left out.",
        "## What the data do not support",
        "## Not to be generalised",
        "- Trials are numbered in the order of the file.",
    ):
        assert part in text
    assert "## Other caps" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_a_pilot_says_near_the_top_what_is_missing_and_what_was_amended() -> None:
    found = findings(made(), Question(against="y", pilot="sha256:p"), Extras(name="spring", deviations=DEVIATIONS))
    held = {"code": "stage-not-over", "stage": "*two*"}
    found["progress"] = {"planned": 36, "counted": 12, "complete": False, "removed": [], "held_up": held}
    found["appendix"]["amendments"] = [{"number": 1, "after_runs": 20, "changed": [{"field": "alpha"}]}]
    lines = [line for line in report(found).decode().splitlines() if line]
    assert lines[1] == r"**This pilot is not complete:** 12 of 36 planned runs count. Stage \*two\* is not over."
    told = "The question and the plan were fixed before the first run, and amended once, after 20 runs; changed: alpha."
    assert lines[4] == told
    assert lines[5:7] == [
        "- Estimates use the amended plan; the level counts amendments after runs as looks.",
        "- 2 other deviations from the plan are recorded.",
    ]
    found["progress"]["complete"] = True
    assert "not complete" not in report(found).decode()


def test_the_level_of_the_intervals_is_told() -> None:
    assert "Intervals are at a level of 95%." in report(findings(made())).decode()
    assert "Intervals are at a level of 99.71%." in report(findings(made(), Question(alpha=0.0029))).decode()


def test_what_was_not_seen_is_labelled_apart() -> None:
    text = report(findings(made(), Question(caps={"seconds": (15.0,)}))).decode()
    assert "## Other caps\n\nHypothetical, not part of the results" in text
    assert "hypothetical: cap of 15 s" in text


def test_baselines_and_an_earlier_report_are_shown_where_there_are_any() -> None:
    found = findings(made())
    assert "## Baselines" not in report(found).decode()
    found["baselines"] = [
        {"method": "noop", "runs": 4, "success": ESTIMATE, "expected": 0.0, "held": False},
        {"method": "human", "runs": 4, "success": UNDEFINED, "expected": None, "held": None},
    ]
    found["versus"] = {
        "name": "last *year*",
        "rows": [{"agent": "x", "before": ESTIMATE, "after": ESTIMATE, "difference": ESTIMATE, "p": 0.5}],
        "notes": [{"code": "shared-tasks", "tasks": 1}],
    }
    text = report(found).decode()
    assert "| noop | 4 | 50.0% (25.0 to 75.0) | 0% | **NO** |" in text
    assert "| human | 4 | - | - | - |" in text
    assert r"## Against last \*year\*" in text
    assert "| x | 50.0% (25.0 to 75.0) | 50.0% (25.0 to 75.0) | +50.0 (+25.0 to +75.0) |" in text
    assert "- Compared on the 1 task that is the same in both." in text


def test_prices_stand_with_their_intervals() -> None:
    found = findings(made())
    found["agents"][0]["cost"].update(per_success_usd=2.0, per_success={**ESTIMATE, "low": 1.5, "high": 3.25})
    assert "| 2 (1.5 to 3.25) |" in report(found).decode()
    found["agents"][0]["cost"]["per_success"] = {**UNDEFINED, "undefined": {"code": "all-tasks-cost-alike", "tasks": 9}}
    assert "| 2 |" in report(found).decode()
    why = "because all 9 tasks cost the same, so that the cost of another task has no bound"
    assert f"- The cost of a success of x has no interval, {why}.\n" in report(found).decode()


def test_rates_corrected_by_what_was_measured_stand_apart() -> None:
    assert "checks are wrong" not in report(findings(made())).decode()
    text = report(findings(made(), Question(measured=measured_from("8/8,126/130")))).decode()
    assert "## If the checks are wrong as often as measured" in text and "| 100.0% of 8 | 96.9% of 130 |" in text


def test_variations_are_shown_where_a_pilot_declares_them() -> None:
    found = findings(made())
    assert "Variations" not in report(found).decode()
    found["variations"] = [{"variation": "ter|se", "method": "x", "runs": 4, "scorable": 3, "successes": 2}]
    text = report(found).decode()
    assert "## Variations" in text and "| ter\\|se | x | 4 | 3 | 2 |" in text
    assert tables(found)["variations"] == found["variations"]


def test_the_same_findings_give_the_same_bytes() -> None:
    assert report(findings(made())) == report(findings(made()))


def test_names_cannot_write_markdown_or_html() -> None:
    text = report(findings(made(("<b>|x|</b>\n# big", "[y](http://z)")))).decode()
    assert "<b>" not in text
    assert "\n# big" not in text
    assert "[y](" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "x" in line and "big" in line]
    assert rows
    assert plain("a|b_c\n<d>") == r"a\|b\_c \<d\>"


def test_one_pair_is_adjusted_for_no_other() -> None:
    text = report(findings(made())).decode()
    assert "The pair is not separable. It is the only one" in text
    assert "| a | b | tasks | a - b, points | p | p adjusted | p by sign flips | separable |" in text
    found = findings(made(("x", "y", "z")))
    found["pairs"][0].update(p=0.25, p_adjusted=0.5, p_sign_flip=0.375)
    text = report(found).decode()
    assert "0 of 3 pairs are separable, adjusted for all of them; a pair is separable if" in text
    assert "| 0.250 | 0.500 | 0.375 | no |" in text


def test_many_pairs_show_those_that_are_open() -> None:
    text = report(findings(made(tuple(f"a{number:02}" for number in range(12))))).decode()
    assert "The pairs that are **not separable**:" in text
    assert "... and 6 more, in the CSV files." in text, "66 pairs, all open, 60 shown"


def test_numbers() -> None:
    assert percents(ESTIMATE) == "50.0% (25.0 to 75.0)"
    assert percents(UNDEFINED) == "-"
    assert percents(None) == "-"
    assert points(ESTIMATE) == "+50.0 (+25.0 to +75.0)"
    assert points(UNDEFINED) == "-"
    assert [amount(number) for number in (None, 0.12345, 12.3, 12345.6)] == ["-", "0.123", "12.3", "12,346"]
    assert [p_value(p) for p in (None, 0.0001, 0.04567)] == ["-", "< 0.001", "0.046"]
    assert rank({"best": 1, "worst": 3}) == "1-3"
    assert rank({"best": 2, "worst": 2}) == "2"


def test_what_would_steer_a_terminal_or_turn_a_line_is_replaced() -> None:
    assert plain("a\x1b[31mb\u202ec\nd") == "a\ufffd\\[31mb\ufffdc d"
    assert len(plain("x" * 9_000)) == 4_000


def test_gates_that_no_run_came_to_are_not_reached() -> None:
    found = findings(made())
    found["funnel"][0]["steps"] = [
        {"name": name, "count": many}
        for name, many in (("attempted", 6), ("scorable", 0), ("gate 1", 0), ("success", 0))
    ]
    found["funnel"] = found["funnel"][:1]
    text = report(found).decode()
    assert "| agent | attempted | scorable | gate 1 | success |" in text
    assert "| x | 6 | 0 | not reached | not reached |" in text
    shown = page(found).decode()
    assert shown.count("not reached") >= 4, "in the figure, its description and the table"
    assert "attempted: 6, scorable: 0, gate 1: not reached" in shown
