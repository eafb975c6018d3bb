"""The report as a document: it holds together, keeps text as text, stays small, and leads to the runs."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.present.html import page
from tests.present.sample import findings, ranking
from tests.present.sample_parts import estimate, rate
from tests.present.test_html_markup import read

PROJECT = Path(__file__).resolve().parents[3]
BARE = {"schema": 2, "kind": "proctor.findings"}
VERSUS = {
    "name": "autumn pilot",
    "rows": [{"agent": "careful-coder", "before": rate(0.6), "after": rate(0.7), "difference": estimate(0.1, 0.05)}],
    "notes": ["2 tasks are in one of the two alone."],
}
SAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "two agents": lambda: findings(2),
    "four agents": findings,
    "twenty-five agents": ranking,
    "against another": lambda: {**findings(), "versus": VERSUS},
    "nothing": lambda: BARE,
}


def shown(found: dict[str, Any]) -> str:
    return page(found).decode()


@pytest.fixture(scope="module", params=SAMPLES)
def html(request: pytest.FixtureRequest) -> str:
    return shown(SAMPLES[request.param]())


def test_every_link_leads_somewhere(html: str) -> None:
    ids = re.findall(r' id="([^"]+)"', html)
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert set(re.findall(r' href="([^"]+)"', html)) <= {f"#{name}" for name in ids}


def test_the_parts_stand_in_their_order(html: str) -> None:
    parts = "decision agents comparisons strata cost survival modes funnel counterfactual deviations comparability"
    wanted = [*parts.split(), "cannot", "scope", "appendix", "evidence", "runs"]
    assert [key for key in re.findall(r'<section[^>]* id="([a-z]+)"', html) if key not in ("versus", "plan")] == wanted


def test_headings_leave_out_no_level(html: str) -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)", html)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_header_says_what_it_heads(html: str) -> None:
    assert re.findall(r"<th(?![^>]*scope)[^>]*>", html.replace("<thead", "<head")) == []
    assert html.count("<table") == html.count("<caption>")


def test_every_figure_is_named_and_described(html: str) -> None:
    figures = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert all('role="img"' in one and "<title" in one and "<desc" in one for one in figures)


def test_nothing_is_fetched_from_anywhere(html: str) -> None:
    assert set(re.findall(r"https?://[^\s\"'<)]+", html)) <= {"http://www.w3.org/2000/svg"}
    assert re.findall(r"""(?:src|srcset|poster|action|data)=["']""", html) == []
    assert all(url.startswith("data:font/woff2;base64,") for url in re.findall(r"url\(([^)]{0,40})", html))


def test_the_policy_admits_the_style_and_the_script_of_the_page_alone(html: str) -> None:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert found
    policy = unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        inside = re.findall(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)
        assert len(inside) == 1
        assert f"{kind}-src 'sha256-{b64encode(sha256(inside[0].encode()).digest()).decode()}';" in policy
    assert " style=" not in html


def test_the_same_findings_give_the_same_bytes() -> None:
    assert page(findings()) == page(findings())
    assert page(findings()) != page(findings(seed=8))


def test_neither_the_order_of_hashes_nor_a_way_through_json_changes_a_byte() -> None:
    script = "import hashlib; from proctor.present.html import page; from tests.present.sample import findings; "
    script += "print(hashlib.sha256(page(findings())).hexdigest())"
    made = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, check=True, timeout=120)
        made.add(done.stdout.decode().strip())
    assert made == {sha256(page(json.loads(json.dumps(findings())))).hexdigest()}


def test_findings_are_left_as_they_are() -> None:
    given = findings()
    before = copy.deepcopy(given)
    page(given)
    assert given == before


HOSTILE = "</style></script></title><img src=x onerror=alert(1)><a href='javascript:alert(1)'>\" ' & \u202e"


def hostile(value: Any) -> Any:
    """The same findings with every text made an attack; what is compared with fixed words stays."""
    if isinstance(value, dict):
        keep = {"kind", "verdict", "undefined"}
        return {key: inner if key in keep else hostile(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner) for inner in value]
    return f"{HOSTILE}{value}" if isinstance(value, str) else value


def test_text_of_an_attacker_stays_text() -> None:
    given = {**findings(), "versus": VERSUS}
    attack = shown({**hostile(given), "kind": "proctor.findings"})
    names = Counter(name for name, _ in read(attack).tags)
    assert names["script"] == names["style"] == 1
    assert names["img"] == 0
    assert [key for _, attributes in read(attack).tags for key in attributes if key.startswith("on")] == []
    links = [attributes.get("href") for name, attributes in read(attack).tags if name == "a"]
    assert all(link and link.startswith("#") for link in links)
    assert "\u202e" not in attack


def optional(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths to what may be missing: fields of records, three steps deep."""
    if len(path) < 4 and isinstance(value, dict):
        for key, inner in value.items():
            if path or key not in ("schema", "kind"):
                yield (*path, key)
                yield from optional(inner, (*path, key))
    elif len(path) < 4 and isinstance(value, list) and value:
        yield from optional(value[0], (*path, 0))


def test_a_page_is_made_whatever_is_missing() -> None:
    small = {**findings(2, tasks=2, trials=2, runs=2), "versus": VERSUS}
    small["survival"] = [{**row, "steps": row["steps"][:3]} for row in small["survival"][:2]]
    small["cost"]["by_task"], small["strata"] = small["cost"]["by_task"][:2], small["strata"][:2]
    paths = [path for path in optional(small) if len(path) < 3 or path[0] in ("agents", "headline", "pairs")]
    assert len(paths) > 80
    for path in paths:
        given = copy.deepcopy(small)
        at: Any = given
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = None
        assert b"</html>" in page(given), path


def test_missing_parts_say_why() -> None:
    html = shown(BARE)
    assert html.count("<strong>Not available</strong>, because ") >= 9
    assert "None<" not in html


@pytest.mark.parametrize("given", [{}, {"kind": "proctor.findings", "schema": 1}, {"kind": "other", "schema": 2}])
def test_something_else_than_findings_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageFault, match="not findings of a version"):
        page(given)


def test_many_pairs_are_a_matrix_with_the_list_folded_away() -> None:
    html = shown(ranking())
    assert '<table class="matrix">' in html
    assert "<summary>All 300 pairs with intervals</summary>" in html
    assert '<table class="matrix">' not in shown(findings())


def test_a_page_for_a_million_runs_is_small() -> None:
    given = findings(25, tasks=40, trials=5, runs=5000)
    given["runs_left_out"] = 995_000
    long = "x" * 380
    for row in given["runs"]:
        row.update(run=row["run"] + long, source=long, tags=long)
    given["cost"]["by_task"] = [
        {"task": f"task {task}", "agent": row["agent"], "runs": 4, "usd": 1.0}
        for task in range(10_000)
        for row in given["agents"][:4]
    ]
    made = page(given)
    assert len(made) < 5_000_000
    assert b"more runs are not on this page" in made


def test_counterfactuals_are_labelled_and_apart() -> None:
    html = shown(findings())
    part = re.search(r'<section id="counterfactual".*?</section>', html, re.DOTALL)
    assert part
    assert 'class="apart"' in part[0]
    assert part[0].count("hypothetical: cap") == html.count("hypothetical: cap") == 2


def test_the_first_screen_has_the_decision_its_doubt_its_cost_and_its_caveats() -> None:
    html = shown(findings())
    first = html[html.index('id="decision"') : html.index('id="agents"')]
    text = read("<i " + first).text
    assert "Adopt careful-coder rather than quick-fix" in text
    assert "+18.8 percentage points" in text
    assert "+11.4 to +26.2 points" in text
    assert "fewer than 1 in 1,000 of such studies" in text
    assert "Smallest difference worth a change: 10 points." in text
    assert "quick-fix cost 0.61 USD per run, 0.90 USD per success." in text
    assert "12 of 960 runs are invalid (1.2%)." in text


def test_a_ranking_counts_those_that_its_sentence_counts() -> None:
    given = ranking()
    html = shown(given)
    assert "is not separable from agent 0 and agent 1." in html
    assert "<p>2 agents are not separable from it: these runs do not show which one is best.</p>" in html
    for pair in given["pairs"]:
        pair["separable"] = pair["b"] != given["agents"][1]["agent"]
    assert "<p>One agent is not separable from it: " in shown(given)
    for pair in given["pairs"]:
        pair["separable"] = True
    assert "<p>Its lead over every other agent is larger than chance explains.</p>" in shown(given)
    given["agents"], given["pairs"] = given["agents"][:1], []
    assert "<p>There is no other agent to compare it with.</p>" in shown(given)


@pytest.mark.parametrize(
    ("p", "often"),
    [
        (0.0004, "fewer than 1 in 1,000 of such studies"),
        (0.034, "3.4% of such studies"),
        (0.125, "12.5% of such studies"),
        (0.5, "50% of such studies"),
        (0.99, "99% of such studies"),
        (0.995, ", nearly all such studies"),
        (0.99999, ", nearly all such studies"),
        (1.0, ", all such studies"),
    ],
)
def test_a_probability_is_told_as_a_share_of_studies(p: float, often: str) -> None:
    given = findings(2)
    given["headline"]["p"] = p
    assert f"{often} would show one at least as large in either direction" in shown(given)
    assert "e+" not in read("<i " + first_screen(given)).text


def first_screen(given: dict[str, Any]) -> str:
    html = shown(given)
    return html[html.index('id="decision"') : html.index('id="agents"')]


def test_a_pilot_that_is_not_complete_says_so_before_its_verdict() -> None:
    found = {"code": "stage-two", "unmet": []}
    held = {"code": "stage-refused", "stage": "a & b", "unmet": [found]}
    progress = {"planned": 36, "counted": 12, "complete": False, "removed": [], "held_up": held}
    given = {**findings(), "progress": progress}
    first = first_screen(given)
    banner = first.index(
        "<strong>This pilot is not complete: </strong>12 of 36 planned runs count. Stage a &amp; b was ref"
    )
    assert banner < first.index('class="verdict')
    assert "Stage a &amp; b was refused" in first
    given["progress"]["complete"] = True
    assert "not complete" not in first_screen(given)
    assert "not complete" not in first_screen(findings())


def test_amendments_and_deviations_stand_on_the_first_screen() -> None:
    given = findings()
    given["appendix"]["amendments"] = [
        {"number": 1, "at": "t", "after_runs": 0, "changed": [{"field": "alpha"}], "why": "w"},
        {"number": 2, "at": "t", "after_runs": 20, "changed": [{"field": "prices"}], "why": "w"},
    ]
    given["deviations"] = [{"code": "amended"}, {"code": "amended"}, {"code": "no-baseline-with-solution"}]
    first = first_screen(given)
    text = read("<i " + first).text
    assert "fixed before the first run, and amended twice, once after 20 runs; changed: alpha, prices." in text
    assert text.count("amended twice") == 1
    assert "1 other deviation from the plan is recorded." in text
    assert first.count('href="#deviations"') == 3
    given["appendix"]["amendments"], given["deviations"] = [], []
    assert "were fixed before the first run.</p>" in first_screen(given)
    assert 'href="#deviations"' not in first_screen(given)


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        ("adopt", "Adopt"),
        ("keep", "Keep what you have"),
        ("undecided", "Undecided"),
        ("ranking", "Ranking"),
        ("?", "No verdict"),
    ],
)
def test_a_verdict_is_a_word_and_a_sign(verdict: str, word: str) -> None:
    given = findings(2)
    given["headline"]["verdict"] = verdict
    found = re.search(r'<p class="verdict \w+"><span aria-hidden="true">(\S)</span> ([^<]+)</p>', shown(given))
    assert found
    assert found[2] == word


def test_baselines_that_do_not_hold_are_loud() -> None:
    html = shown(findings())
    assert html.count('<b class="broken">NO</b>') == 1
    assert "Baselines are not compared with the agents" in html


def test_reviews_are_in_the_table_of_items_and_in_no_bar() -> None:
    def parts(found: dict[str, Any]) -> tuple[str, str]:
        cost = shown(found).partition('<section id="cost"')[2]
        figure, _, rest = cost.partition("The same by phase, as a table")
        return figure, rest

    given = findings()
    bars, _ = parts(given)
    agent = given["cost"]["items"][0]["agent"]
    given["cost"]["items"].append({"agent": agent, "item": "human", "phase": "review", "usd": 98765.0})
    with_it, told = parts(given)
    assert with_it == bars and "review after the run" in told and "$98,765" in told


def test_cost_that_nobody_knows_is_a_dash_and_never_zero() -> None:
    given = findings(2)
    for row in [*given["cost"]["by_task"], *given["cost"]["by_outcome"], *given["tradeoff"]["precision"]]:
        row.update(usd=None, usd_quartiles=None)
    given["cost"]["items"] = []
    given["tradeoff"]["agents"] = []
    html = shown(given)
    part = html[html.index('<section id="cost"') : html.index('<section id="survival"')]
    tasks = part[part.index("Cost by task") : part.index("Cost by stratum")]
    assert "$" not in tasks
    assert "Time</th>" in tasks
    assert "Half of the interval against the runs of a study" in part


def test_rows_of_agents_follow_the_ranking() -> None:
    given = findings()
    given["survival"].reverse()
    given["funnel"].reverse()
    html = shown(given)
    names = [row["agent"] for row in given["agents"]]
    assert re.findall(r"<figure><figcaption>([^<]+)</figcaption><svg[^>]*><title id=\"funnel", html) == names
    assert re.findall(r"<figure><figcaption>([^<]+)</figcaption><svg[^>]*><title id=\"seconds", html) == names


def test_a_comparison_with_other_findings_is_shown() -> None:
    html = shown({**findings(), "versus": VERSUS})
    part = html[html.index('<section id="versus"') : html.index('<section id="strata"')]
    assert "Before is autumn pilot" in part
    assert "+10.0" in part
    assert "2 tasks are in one of the two alone." in part
    assert '<section id="versus"' not in shown(findings())


def test_tasks_are_added_up_only_where_all_their_rows_are_there() -> None:
    given = findings(2)
    given["cost"]["by_task"] = [
        {"task": "one", "agent": row["agent"], "runs": 5, "usd": 2.0, "seconds": None} for row in given["agents"]
    ]
    assert "<caption>Cost by task, all agents together, most first</caption>" in shown(given)
    assert re.search(r">one</th><td[^>]*><a[^>]*>10</a></td><td[^>]*><a[^>]*>\$4.00</a>", shown(given))
    given["cost"]["by_task_left_out"] = 7
    html = shown(given)
    assert "<caption>Cost by task and agent, most first</caption>" in html
    assert len(re.findall(r">one</th><td>[^<]+</td><td[^>]*><a[^>]*>5</a></td><td[^>]*><a[^>]*>\$2.00</a>", html)) == 2
    assert "7 more are not on this page." in html


def test_the_level_is_that_of_the_question() -> None:
    given = findings()
    assert "are not separable at 95%." in shown(given)
    given["question"]["alpha"] = 0.0451
    assert "are not separable at 95.5%." in shown(given)
    assert "separable at 95.5% after" in shown(given)


def test_a_curve_of_zeros_has_an_axis() -> None:
    given = findings()
    for row in given["tradeoff"]["precision"]:
        row["half_width"] = 0.0
    figure = re.search(r'<svg[^>]*aria-labelledby="precision-title".*?</svg>', shown(given), re.DOTALL)
    assert figure
    assert ">100</text>" in figure[0]
