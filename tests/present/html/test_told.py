"""What a page says of rankings, levels and variations."""

from __future__ import annotations

from html import unescape

from proctor.present.markdown_report import report
from proctor.present.readable_numbers import money
from proctor.study.analysis.findings import findings as analysed
from proctor.study.analysis.question import Question
from tests.present.html.test_page import first_screen, shown
from tests.present.sample import findings, ranking
from tests.present.sample_parts import rate
from tests.present.test_html_markup import read
from tests.study.analysis.made import table


def test_a_first_that_is_worse_on_shared_tasks_has_no_lead() -> None:
    given = ranking(3)
    best = given["agents"][0]["agent"]
    for pair in given["pairs"]:
        pair["separable"] = True
    assert "Its lead over every other agent" in first_screen(given)
    pair = next(pair for pair in given["pairs"] if best in (pair["a"], pair["b"]))
    gap = 0.2 if pair["b"] == best else -0.2
    pair["difference"] = {**pair["difference"], "value": gap, "low": gap - 0.1, "high": gap + 0.1}
    text = first_screen(given)
    assert "another agent is shown to be better" in text and "Its lead over every other agent" not in text


def test_the_first_screen_shows_the_rate_that_agents_are_ranked_by_and_its_level() -> None:
    given = ranking(3)
    given["question"]["endpoint"] = "intention-to-treat"
    given["agents"][0]["intention_to_treat"] = {**rate(0.1234, 0.02), "level": 0.7}
    text = read("<i " + first_screen(given)).text
    assert "12.3% success over all attempted runs" in text and ", at a level of 70%." in text
    assert "Success over all attempted runs, with its interval at 95%" in text
    given["question"]["alpha"] = 0.299734
    assert "with its interval at 70%" in read("<i " + first_screen(given)).text


def test_variations_have_a_table_where_a_pilot_declares_them() -> None:
    given = findings()
    assert "Variations" not in shown(given)
    given["variations"] = [{"variation": "terse", "method": "x", "runs": 4, "scorable": 3, "successes": 2}]
    text = read(shown(given)).text
    assert "Variations" in text and "tersex432Counts of runs" in text
    given["variations"][0] |= {"repeats": [1, 3], "method": given["agents"][0]["agent"]}
    assert "trial IN (1, 3) AND scorable IS DISTINCT FROM 0 AND success = 1" in unescape(shown(given))


def test_sums_of_costs_say_what_they_leave_out() -> None:
    given = findings()
    assert "Sums of costs leave out" not in shown(given)
    first = given["agents"][0]
    first["cost"]["metered"] = first["attempted"] - 12
    told = f"Sums of costs leave out runs whose cost is not known: 12 of {first['attempted']} of {first['agent']}."
    assert told in read(shown(given)).text


def test_errors_that_were_measured_say_on_how_many_patches() -> None:
    given = findings()
    one = {**given["agents"][0]["corrected"][0], "sensitivity_n": 8, "specificity_n": 130}
    assert "measured on" not in shown(given).partition("<main")[2].partition("unless they say")[0]
    given["agents"][0]["corrected"].insert(0, one)
    assert "measured on 8 correct and 130 faulty patches" in shown(given)


def test_reviewers_are_counted_and_named_where_findings_name_them() -> None:
    given = findings()
    people = ((3, "3"), (["ada", "<bo>"], "2 (ada and &lt;bo&gt;)"), ([f"r{one}" for one in range(12)], "and 2 more)"))
    for reviewers, told in people:
        given["agreement"]["reviewers"] = reviewers
        assert told in shown(given).partition("<dt>reviewers</dt><dd>")[2].partition("</dd>")[0]


def test_a_p_value_among_many_says_so() -> None:
    given = findings(4)
    both = {given["headline"]["best"], given["headline"]["against"]}
    pair = next(one for one in given["pairs"] if {one["a"], one["b"]} == both)
    pair["p"], pair["p_sign_flip"] = 0.01, 0.02
    for p, told in ((0.02, False), (0.04, True)):
        given["headline"]["p"] = p
        assert ("adjusted for all comparisons)" in first_screen(given)) == told


def test_a_cost_without_an_interval_says_why() -> None:
    given = findings()
    assert "no interval" not in shown(given).partition("<main")[2]
    cost = given["agents"][0]["cost"]
    why = {"code": "all-tasks-cost-alike", "tasks": 12}
    cost["per_run"] = {**cost["per_run"], "value": None, "low": None, "high": None, "undefined": why}
    text = read(shown(given)).text
    assert (
        "A cost has no interval if all 12 tasks cost the same, so that the cost of another task has no bound." in text
    )
    assert f"{money(cost['per_run_usd'])}no interval" in text
    assert f"{money(cost['per_run_usd'])} a run" in read("<i " + first_screen(given)).text


def test_one_pair_is_adjusted_for_no_other() -> None:
    for agents, told in ((2, False), (3, True)):
        assert ("after adjusting for the number of comparisons" in read(shown(ranking(agents))).text) == told


def test_a_level_is_rounded_for_people() -> None:
    given = findings()
    for row in given["agents"]:
        row["success"]["level"] = 0.700266396581
    assert "Korn-Graubard, tasks as clusters, 70% interval" in shown(given)
    assert "70.02" not in shown(given)


def test_the_appendix_has_no_words_of_a_program() -> None:
    given = findings()
    given["appendix"]["stages"] = [
        {
            "stage": "one",
            "stop": None,
            "looks": [],
            "entry": [{"met": True, "todo": ""}, {"met": False, "todo": "mend it"}],
        }
    ]
    html = shown(given)
    appendix = read("<i " + html[html.index('id="appendix"') : html.index('id="evidence"')]).text
    for word in ("True", "False", "None", "[]"):
        assert word not in appendix
    assert "yes" in appendix and "no" in appendix and "none" in appendix


def test_one_is_one_in_what_is_told_of_figures() -> None:
    given = findings(2, runs=20)
    for row in given["modes"]["discovery"]:
        row["curve"] = [[1, 0.1, 0.5], [2, 0.2, 1]]
    html = shown(given)
    assert "1 line, each with an estimate" in html
    assert "A rising curve that ends at 1 mode after 2 runs." in html


def test_an_agent_that_is_another_one_than_before_is_marked() -> None:
    given = findings(2)
    name = given["agents"][0]["agent"]
    row = {"agent": name, "before": rate(0.5), "after": rate(0.6), "difference": rate(0.1), "another": True}
    given["versus"] = {"name": "spring", "rows": [row], "notes": [{"code": "interval-level", "level": 0.95}]}
    assert f"{name} (another agent than before)" in shown(given)
    assert f"{name} (another agent than before)" in report({**given, "survival": []}).decode()


def test_why_rates_do_not_make_the_difference_stands_beside_it() -> None:
    """On the page, in Markdown and in the terminal's own words: 100% and 33.3% are no 50 points apart."""
    outcomes = {"x": {"a": [1], "b": [1, 1]}, "y": {"a": [0, 0], "b": [0], "c": [1]}}
    found = analysed(table(outcomes), Question(against="y"))
    counts = "Rates count every run; the difference counts every task equally."
    told = f"1 of 3 tasks has no outcome of one of the agents. {counts}"
    assert f'<p>x against y, on 2 tasks.</p><p class="quiet">{told}</p>' in shown(found)
    assert f"\n\n{told}\n\nCost: " in report(found).decode()
