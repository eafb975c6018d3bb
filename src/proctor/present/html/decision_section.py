"""The first screen: the decision, how sure it is, what it costs, and what to know before relying on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from proctor.present.figures.svg_shapes import box, frame, line, scale, text_line
from proctor.present.html.evidence_links import Evidence
from proctor.present.html.html_table import confidence, listed
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import (
    count,
    currency,
    finite_number,
    points,
    probability,
    share,
    span,
)
from proctor.present.sentences import joined, sentence, sentences
from proctor.present.sentences.decision import at_level
from proctor.present.sentences.estimates import reason, with_span
from proctor.present.sentences.pilot_plan import INCOMPLETE, departures, fixed, incomplete, minimum_effect_sentence
from proctor.present.sentences.tables import endpoint
from proctor.study.stats.estimate import LEVEL

VERDICTS = {
    "adopt": ("Adopt", "good", "\u2713"),
    "keep": ("Keep what you have", "bad", "\u2715"),
    "undecided": ("Undecided", "warn", "?"),
    "ranking": ("Ranking", "plain", "#"),
}
SHOWN_CAVEATS = 4
SHOWN_LINES = 6
"""How many lines the card of caveats has without unfolding, as far as what departs from the plan leaves room."""
LEADERS = 5
NEARLY_ALL = 0.99
"""The share above which two digits would round to all."""
LONG = 110
"""From this number of characters on, a heading is smaller, and its further sentences are below it."""


def decision(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    """The part that a reader sees without scrolling."""
    headline = findings.get("headline") or {}
    name, look, sign = VERDICTS.get(str(headline.get("verdict")), ("No verdict", "plain", "\u2013"))
    given = headline.get("reason")
    first, rest = _split(sentence(given) if given else "These findings contain no decision.")
    return tag(
        "section",
        tag(
            "div",
            _incomplete(findings),
            _question(findings),
            tag("p", tag("span", sign, aria_hidden="true"), " ", name, class_=f"verdict {look}"),
            tag("h1", first, class_="long" if len(first) > LONG else None),
            tag("p", rest, class_="lead") if rest else None,
            _asked(findings),
            class_="answer",
        ),
        tag("div", _evidence_card(findings, evidence), class_="glance"),
        tag(
            "div",
            _card("How sure is this?", _sure(findings, evidence)),
            _card("What does it cost?", _cost(findings, evidence)),
            _card("Before you rely on it", _caveats(findings)),
            class_="cards",
        ),
        id="decision",
        class_="decision",
        aria_label="Decision",
    )


def _split(text: str) -> tuple[str, str]:
    """The first sentence of a long text, and the others."""
    end = re.search(r"(?<=[a-z0-9)%])\. (?=[A-Z0-9])", text) if len(text) > LONG else None
    return (text[: end.start() + 1], text[end.end() :]) if end else (text, "")


def _card(title: str, *inside: Piece) -> Markup:
    return tag("div", tag("h2", title), inside, class_="card")


def _incomplete(findings: Mapping[str, Any]) -> Markup | None:
    """That the pilot is not complete, which a reader must see before the verdict."""
    text = incomplete(findings)
    return tag("p", tag("strong", f"{INCOMPLETE}: "), text, class_="incomplete") if text else None


def _question(findings: Mapping[str, Any]) -> Markup | None:
    """The question as it was written."""
    text = (findings.get("question") or {}).get("text")
    return tag("p", str(text), class_="asked question") if text else None


def _asked(findings: Mapping[str, Any]) -> Markup | None:
    """What was asked beforehand, in one line."""
    question = findings.get("question") or {}
    said: list[Piece] = []
    if question.get("endpoint"):
        said.append(f"Measured by: {endpoint(question['endpoint'])}. ")
    if effect := minimum_effect_sentence(findings):
        said.append(f"{effect} ")
    if plan := fixed(findings):
        said.append(plan)
        if (findings.get("appendix") or {}).get("amendments"):
            said += [" ", tag("a", "Deviations", href="#deviations"), "."]
    return tag("p", said, class_="asked") if said else None


def _alike(findings: Mapping[str, Any], best: str) -> int:
    """How many agents are not separable from the best: the same that the sentence of a ranking names."""
    pairs = [pair for pair in findings.get("pairs") or () if best in (pair.get("a"), pair.get("b"))]
    return sum(not pair.get("separable") for pair in pairs)


def _ahead(findings: Mapping[str, Any], best: str) -> list[str]:
    """The agents that were shown to be better than the first, on the tasks that both ran."""
    found = []
    for pair in findings.get("pairs") or ():
        gap = finite_number((pair.get("difference") or {}).get("value")) or 0.0
        if pair.get("separable") and (pair.get("a"), gap < 0) == (best, True):
            found.append(str(pair.get("b")))
        if pair.get("separable") and (pair.get("b"), gap > 0) == (best, True):
            found.append(str(pair.get("a")))
    return found


def _measured(findings: Mapping[str, Any]) -> tuple[str, str]:
    """The rate of an agent that answers the question, and its name."""
    if (findings.get("question") or {}).get("endpoint") == "intention-to-treat":
        return "intention_to_treat", "success over all attempted runs"
    return "success", "success"


def _sure(findings: Mapping[str, Any], evidence: Evidence) -> list[Piece]:
    headline = findings.get("headline") or {}
    difference = headline.get("difference")
    if not difference:
        return _sure_of_ranking(findings, evidence)
    best, against = str(headline.get("best") or "one agent"), str(headline.get("against") or "the other")
    if why := reason(difference):
        return [tag("p", f"The difference between {best} and {against} is undefined, because {why}.")]
    link = evidence.pair(best, against)
    parts: list[Piece] = [
        tag("p", evidence.number(points(difference["value"]), link), tag("small", " percentage points"), class_="big"),
        tag("p", f"{best} against {against}, on {count(difference.get('clusters'))} tasks."),
    ]
    if counting := headline.get("counting"):
        parts.append(tag("p", sentence(counting), class_="quiet"))
    level = at_level(difference, LEVEL)
    if inside := span(difference, points):
        parts.append(
            tag("p", "The data are compatible with any difference from ", tag("b", inside), f" points{level}.")
        )
    if (p := finite_number(headline.get("p"))) is not None:
        text = f"Without any difference, {_often(p)} such studies would show one at least as large in either direction"
        parts.append(tag("p", f"{text} (p {_p(p)}{_counted(findings, p)}).", class_="quiet"))
    return parts


def _counted(findings: Mapping[str, Any], p: float) -> str:
    """That a p value is adjusted for all pairs, if it is larger than those of its own tests."""
    headline = findings.get("headline") or {}
    both = {headline.get("best"), headline.get("against")}
    own = [pair for pair in findings.get("pairs") or () if {pair.get("a"), pair.get("b")} == both]
    alone = max((finite_number(pair.get(name)) or 0.0 for pair in own for name in ("p", "p_sign_flip")), default=1.0)
    return ", adjusted for all comparisons" if p > alone else ""


def _often(p: float) -> str:
    """The part of studies that a probability means, as the beginning of a sentence about them."""
    if p < 0.001:
        return "fewer than 1 in 1,000 of"
    if p > NEARLY_ALL:
        return "all" if p >= 1 else "nearly all"
    return f"{100 * round(p, 3):.3g}% of"


def _p(value: float) -> str:
    text = probability(value)
    return text if text.startswith("<") else f"= {text}"


def _sure_of_ranking(findings: Mapping[str, Any], evidence: Evidence) -> list[Piece]:
    rows = list(findings.get("agents") or ())
    if not rows:
        return [tag("p", "There are no agents to compare.")]
    first = rows[0]
    name = str(first.get("agent"))
    part, called = _measured(findings)
    rate = first.get(part)
    parts: list[Piece] = []
    if rate and not reason(rate):
        value = evidence.number(share(rate["value"]), evidence.rate(name, part))
        parts.append(tag("p", value, tag("small", f" {called}"), class_="big"))
        parts.append(tag("p", f"{name}; the data are compatible with {span(rate)}{at_level(rate, LEVEL)}."))
    else:
        parts.append(tag("p", f"The rate of {name} is undefined, because {reason(rate)}."))
    ahead = _ahead(findings, name)
    if ahead:
        better = "another agent is" if len(ahead) == 1 else f"{count(len(ahead))} other agents are"
        text = f"On the tasks that both ran, {better} shown to be better. Rates count other tasks, or some more often."
    elif alike := _alike(findings, name):
        others = "one agent is" if alike == 1 else f"{count(alike)} agents are"
        text = f"{others[0].upper()}{others[1:]} not separable from it: these runs do not show which one is best."
    elif len(rows) == 1:
        text = "There is no other agent to compare it with."
    else:
        text = "Its lead over every other agent is larger than chance explains."
    parts.append(tag("p", text))
    return parts


def _cost(findings: Mapping[str, Any], evidence: Evidence) -> list[Piece]:
    headline = findings.get("headline") or {}
    rows = list(findings.get("agents") or ())
    named = [str(headline[key]) for key in ("best", "against") if headline.get(key)]
    wanted = [row for name in named for row in rows if row.get("agent") == name] or rows[:1]
    form = currency(findings).form
    parts: list[Piece] = []
    for row in wanted[:1]:
        cost = row.get("cost") or {}
        each = finite_number(cost.get("per_run_usd"))
        if each is not None:
            link = evidence.metered(str(row["agent"]))
            parts.append(tag("p", evidence.number(form(each), link), tag("small", " a run"), class_="big"))
    parts.append(tag("p", joined(headline.get("cost") or ()) or "No costs are recorded."))
    return parts


def _caveats(findings: Mapping[str, Any]) -> list[Piece]:
    """What departs from the plan, which is never folded away, and the first of the other caveats."""
    caveats = sentences((findings.get("headline") or {}).get("caveats"))
    left = departures(findings)
    first: list[Piece] = [tag("a", text, href="#deviations") for text in left]
    shown = min(SHOWN_CAVEATS, max(1, SHOWN_LINES - len(left)))
    first += caveats[:shown]
    parts: list[Piece] = [listed(first)] if first else [tag("p", "No caveat is recorded.")]
    more = len(caveats) - shown
    if more > 0:
        parts.append(tag("details", tag("summary", f"{more} more"), listed(caveats[shown:])))
    ends = [
        tag("a", "What the data do not support", href="#cannot"),
        " and ",
        tag("a", "its scope", href="#scope"),
        ".",
    ]
    parts.append(tag("p", ends, class_="quiet"))
    return parts


def _evidence_card(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    """The agents in question at a glance: names, rates and whiskers that fit a narrow screen."""
    headline = findings.get("headline") or {}
    named = [headline.get("best"), headline.get("against")] if headline.get("difference") else []
    rows = list(findings.get("agents") or ())
    shown = [row for row in rows if row.get("agent") in named] or rows[:LEADERS]
    part, called = _measured(findings)
    items = [
        tag(
            "li",
            tag("span", str(row.get("agent")), class_="name"),
            tag("span", _rate(row, part, evidence), class_="rate"),
            _whisker(place, row, part, last=place == len(shown) - 1),
        )
        for place, row in enumerate(shown)
    ]
    title = f"{called[0].upper()}{called[1:]}, with its interval at {confidence(findings)}"
    more = len(rows) - len(shown)
    rest = tag("a", f"and {count(more)} more", href="#agents") if more > 0 else None
    return tag("div", tag("h2", title), tag("ol", items, class_="whiskers"), tag("p", rest) if rest else None)


def _rate(row: Mapping[str, Any], part: str, evidence: Evidence) -> Piece:
    success = row.get(part)
    if reason(success):
        return "undefined"
    assert success is not None
    return evidence.number(share(success["value"]), evidence.rate(str(row.get("agent")), part))


def _whisker(place: int, row: Mapping[str, Any], part: str, last: bool) -> Markup:
    """One interval on the scale from 0 to 100%, which the last one spells out."""
    axis = scale(0, 1, 2, 318, tight=True)
    success = row.get(part) or {}
    value, low, high = (finite_number(success.get(end)) for end in ("value", "low", "high"))
    shapes: list[Piece] = [box(2, 9, 316, 4, "c0", 2)]
    if low is not None and high is not None:
        shapes.append(box(axis(low), 6, axis(high) - axis(low), 10, "band-strong", 3))
    if value is not None:
        shapes.append(line((axis(value), 2), (axis(value), 20), "tick"))
    if last:
        shapes += [text_line(2, 35, "0", "t axis small"), text_line(318, 35, "100%", "t axis small", "end")]
    title = f"{row.get('agent')}: {with_span(row.get(part))}"
    return frame(f"glance{place}", (320, 38 if last else 22), title, "The interval on a scale from 0 to 100%.", *shapes)
