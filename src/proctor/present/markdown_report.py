"""Findings as a Markdown report: the decision first, then the tables a reader asks for next.

The tables are bounded; the CSV files and the JSON beside the report have every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.present.markdown_syntax import (
    MAX_ROWS,
    amount,
    listed,
    p_value,
    percents,
    plain,
    points,
    rank,
    section,
    table,
    unit_of,
)
from proctor.present.package_sections import MadeSection, SectionTable
from proctor.present.readable_numbers import counted, currency, left_after
from proctor.present.sentences import joined, sentence, sentences
from proctor.present.sentences.comparability import earlier
from proctor.present.sentences.estimates import reason
from proctor.present.sentences.phrases import level
from proctor.present.sentences.pilot_bill import TITLE, bill
from proctor.present.sentences.pilot_plan import (
    INCOMPLETE,
    departures,
    fixed,
    incomplete,
    minimum_effect_sentence,
)
from proctor.present.sentences.tables import other_cap, step

SEPARABLE = "a pair is separable if p adjusted is below alpha and the interval excludes 0"


def report(findings: Mapping[str, Any], more: Sequence[MadeSection] = ()) -> bytes:
    """The report on ``findings``; ``more`` are sections of installed packages, which come last."""
    lines = [*_lines(findings), *(line for made in more for line in _package_section(made))]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _package_section(made: MadeSection) -> Iterator[str]:
    yield from section(plain(made.title))
    yield plain(made.origin)
    yield ""
    for block in made.blocks:
        if isinstance(block, SectionTable):
            yield f"**{plain(block.title)}**"
            yield ""
            cells = [["-" if value is None else plain(str(value)) for value in row] for row in block.rows]
            yield from table([plain(title) for title in block.columns], cells)
        else:
            yield plain(block)
            yield ""


def _lines(findings: Mapping[str, Any]) -> Iterator[str]:
    source, head = findings["source"], findings["headline"]
    yield f"# Findings on {plain(source['name']) or 'runs'}"
    yield ""
    if asked := (findings.get("question") or {}).get("text"):
        yield plain(asked)
        yield ""
    if missing := incomplete(findings):
        yield f"**{INCOMPLETE}:** {plain(missing)}"
        yield ""
    yield f"**{head['verdict']}.** {plain(sentence(head['reason']))}"
    yield ""
    if effect := minimum_effect_sentence(findings):
        yield plain(effect)
        yield ""
    if counting := head.get("counting"):
        yield plain(sentence(counting))
        yield ""
    yield f"Cost: {plain(joined(head['cost']))}"
    yield ""
    if plan := fixed(findings):
        yield plain(plan)
        yield ""
    yield from listed([*departures(findings), *sentences(head["caveats"])])
    trials = source["trials"]
    many = str(trials["max"]) if trials["min"] == trials["max"] else f"{trials['min']} to {trials['max']}"
    agents, tasks = counted(source["agents"], "agent"), counted(source["tasks"], "task")
    yield (
        f"{counted(source['rows'], 'run')} of {agents} at {tasks}, {many} for each pair. "
        f"Source: {source['kind']}, {source['digest'] or 'no digest'}."
    )
    yield ""
    for note in sentences(source.get("notes")):
        yield f"- {plain(note)}"
    yield from _agents(findings)
    yield from _baselines(findings)
    yield from _variations(findings)
    yield from _versus(findings)
    yield from _pairs(findings)
    yield from _attempts(findings)
    yield from _erring(findings)
    yield from _strata(findings)
    yield from _costs(findings)
    yield from _bill(findings)
    yield from _times(findings)
    yield from _modes(findings)
    yield from _gates(findings)
    yield from _counterfactual(findings)
    yield from _conditions(findings)
    for title, texts in (
        ("Deviations", findings["deviations"]),
        ("What the data do not support", findings["cannot"]),
        ("Not to be generalised", findings["scope"]["not_to_generalise"]),
    ):
        if texts:
            yield from section(title)
            yield from listed(sentences(texts))


def _agents(findings: Mapping[str, Any]) -> Iterator[str]:
    yield from section("Agents")
    yield (
        "A rank is a range: agents that are not separable, adjusted for all comparisons, share ranks. "
        f"Intervals are at a level of {level(1 - findings['question']['alpha'])}."
    )
    yield ""
    yield from table(
        ("rank", "agent", "runs", "tasks", "success", "all attempted", "error", "invalid", "unknown", "bounds"),
        [
            (
                rank(agent["rank"]),
                plain(agent["agent"]),
                agent["attempted"],
                agent["tasks"],
                percents(agent["success"]),
                percents(agent["intention_to_treat"]),
                "0" if agent["error"]["value"] == 0 else percents(agent["error"]),
                "0" if agent["invalid"]["value"] == 0 else percents(agent["invalid"]),
                agent["bounds"]["unknown"],
                _bounds(agent["bounds"]),
            )
            for agent in findings["agents"]
        ],
    )


def _baselines(findings: Mapping[str, Any]) -> Iterator[str]:
    if rows := findings.get("baselines"):
        yield from section("Baselines")
        yield "Baselines are not compared with the agents; they show whether the tasks are valid."
        yield ""
        held = {True: "yes", False: "**NO**", None: "-"}
        yield from table(
            ("baseline", "runs", "success", "must be", "held"),
            [
                (
                    plain(row["method"]),
                    row["runs"],
                    percents(row["success"]),
                    "-" if row["expected"] is None else f"{100 * row['expected']:.0f}%",
                    held[row["held"]],
                )
                for row in rows
            ],
        )


def _variations(findings: Mapping[str, Any]) -> Iterator[str]:
    if rows := findings.get("variations"):
        yield from section("Variations")
        yield "Counts of runs, not part of the comparison: so few runs do not separate variations."
        yield ""
        yield from table(
            ("variation", "method", "runs", "with a verdict", "successes"),
            [
                (plain(row["variation"]), plain(row["method"]), row["runs"], row["scorable"], row["successes"])
                for row in rows
            ],
        )


def _versus(findings: Mapping[str, Any]) -> Iterator[str]:
    if other := findings.get("versus"):
        yield from section(f"Against {plain(earlier(other))}")
        yield from table(
            ("agent", "before", "after", "after - before, points"),
            [
                (
                    plain(row["agent"]) + (" (another agent than before)" if row.get("another") else ""),
                    percents(row["before"]),
                    percents(row["after"]),
                    points(row["difference"]),
                )
                for row in other["rows"]
            ],
        )
        yield from listed(sentences(other["notes"]))


def _bounds(bounds: Mapping[str, Any]) -> str:
    return "-" if not bounds["unknown"] else f"{100 * bounds['low']:.1f} to {100 * bounds['high']:.1f}"


def _pairs(findings: Mapping[str, Any]) -> Iterator[str]:
    pairs = findings["pairs"]
    if not pairs:
        return
    yield from section("Comparisons")
    open_ = [pair for pair in pairs if not pair["separable"]]
    if len(pairs) == 1:
        yield f"The pair is {'not ' if open_ else ''}separable. It is the only one; {SEPARABLE}."
    else:
        apart = f"{len(pairs) - len(open_)} of {len(pairs)} pairs are separable, adjusted for all of them"
        yield f"{apart}; {SEPARABLE}."
    yield ""
    if len(pairs) <= MAX_ROWS:
        shown = pairs
    else:
        yield "The pairs that are **not separable**:"
        yield ""
        shown = open_
    yield from table(
        ("a", "b", "tasks", "a - b, points", "p", "p adjusted", "p by sign flips", "separable"),
        [
            (
                plain(pair["a"]),
                plain(pair["b"]),
                pair["tasks"],
                points(pair["difference"]),
                p_value(pair["p"]),
                p_value(pair["p_adjusted"]),
                p_value(pair["p_sign_flip"]),
                "yes" if pair["separable"] else "no",
            )
            for pair in shown
        ],
    )


def _attempts(findings: Mapping[str, Any]) -> Iterator[str]:
    ks = sorted({one["k"] for agent in findings["agents"] for one in agent["pass_at"]})
    if not ks or ks[-1] < 2:
        return
    for title, key in (("At least one success in k attempts", "pass_at"), ("All of k attempts succeed", "all_of")):
        yield from section(title)
        rows = []
        for agent in findings["agents"]:
            by_k = {one["k"]: one["estimate"] for one in agent[key]}
            rows.append((plain(agent["agent"]), *(percents(by_k.get(k)) for k in ks)))
        yield from table(("agent", *(f"k = {k}" for k in ks)), rows)


def _erring(findings: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            plain(agent["agent"]),
            f"{100 * one['sensitivity']:.1f}% of {one['sensitivity_n']}",
            f"{100 * one['specificity']:.1f}% of {one['specificity_n']}",
            percents(one["estimate"]),
        )
        for agent in findings["agents"]
        for one in agent["corrected"]
        if one.get("sensitivity_n") is not None
    ]
    if rows:
        yield from section("If the checks are wrong as often as measured")
        yield "Hypothetical, not part of the results: the rate of correct patches if the checks are wrong that often."
        yield ""
        yield from table(("agent", "correct ones accepted", "faulty ones rejected", "correct"), rows)


def _strata(findings: Mapping[str, Any]) -> Iterator[str]:
    if findings["strata"]:
        yield from section("Strata")
        yield from table(
            ("stratum", "agent", "tasks", "runs", "success"),
            [
                (plain(one["stratum"]), plain(one["agent"]), one["tasks"], one["runs"], percents(one["success"]))
                for one in findings["strata"]
            ],
        )


def _costs(findings: Mapping[str, Any]) -> Iterator[str]:
    paid = currency(findings)
    unit = unit_of(paid)
    rows = [
        (
            plain(agent["agent"]),
            _amount_of(agent["cost"]["total_usd"], paid.per_usd),
            _priced(agent["cost"]["per_run_usd"], agent["cost"]["per_run"], paid.per_usd),
            _priced(agent["cost"]["per_success_usd"], agent["cost"].get("per_success"), paid.per_usd),
            amount(agent["cost"]["tokens_in"]),
            amount(agent["cost"]["tokens_out"]),
        )
        for agent in findings["agents"]
    ]
    if any(set(row[1:]) != {"-"} for row in rows):
        yield from section("Cost")
        yield from table(("agent", unit, f"{unit} per run", f"{unit} per success", "tokens in", "tokens out"), rows)
        yield from listed(_without_interval(findings["agents"]))


def _bill(findings: Mapping[str, Any]) -> Iterator[str]:
    if whole := bill(findings):
        yield from section(TITLE)
        yield from table(("for", "number", whole.unit), [(plain(name), *rest) for name, *rest, _ in whole.lines])
        yield from listed(whole.notes)


def _without_interval(agents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why an amount of the table of costs has no interval, a sentence for each reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for agent in agents[:MAX_ROWS]:
        for name, word in (("per_run", "run"), ("per_success", "success")):
            estimate = agent["cost"].get(name)
            why = reason(estimate) if estimate else ""
            if why and agent["cost"][f"{name}_usd"] is not None:
                found.setdefault((word, why), []).append(str(agent["agent"]))
    return [
        f"The cost of a {word} of {', '.join(names)} has no interval, because {why}."
        for (word, why), names in found.items()
    ]


def _times(findings: Mapping[str, Any]) -> Iterator[str]:
    paid = currency(findings)
    for name, word, rate in (("seconds", "seconds", 1.0), ("cost_usd", unit_of(paid), paid.per_usd)):
        title = f"{word[0].upper()}{word[1:]} until the agent ends"
        rows = [one for one in findings["survival"] if one["of"] == name]
        if rows:
            yield from section(title)
            horizon = _amount_of(rows[0]["horizon"], rate)
            yield f"Runs that a cap cut short count as still at work. The mean is up to {horizon}."
            yield ""
            yield from table(
                ("agent", "ended", "cut short", "median", "mean", "interval"),
                [
                    (
                        plain(one["agent"]),
                        one["events"],
                        one["censored"],
                        _amount_of(one["median"], rate),
                        _amount_of(one["mean"]["value"], rate),
                        f"{_amount_of(one['mean']['low'], rate)} to {_amount_of(one['mean']['high'], rate)}",
                    )
                    for one in rows
                ],
            )


def _priced(usd: float | None, estimate: Mapping[str, Any] | None, rate: float) -> str:
    """An amount with its interval where there is one."""
    value = _amount_of(usd, rate)
    if estimate is None or estimate["low"] is None:
        return value
    return f"{value} ({_amount_of(estimate['low'], rate)} to {_amount_of(estimate['high'], rate)})"


def _amount_of(number: float | None, rate: float) -> str:
    """A number times a rate, such as units per dollar."""
    return amount(None if number is None else number * rate)


def _modes(findings: Mapping[str, Any]) -> Iterator[str]:
    tags = findings["modes"]["tags"][:8]
    if tags:
        yield from section("Failure modes")
        yield "Runs without success that have each tag; tags of successes are left out."
        yield ""
        yield from table(
            ("agent", "runs", *(plain(tag) for tag in tags)),
            [
                (plain(row["agent"]), row["runs"], *(row["counts"].get(tag, 0) for tag in tags))
                for row in findings["modes"]["rows"]
            ],
        )


def _gates(findings: Mapping[str, Any]) -> Iterator[str]:
    rows = findings["funnel"]
    if rows:
        yield from section("Runs left after each gate")
        names = [step(one["name"]) for one in rows[0]["steps"]]
        yield from table(
            ("agent", *names),
            [(plain(row["agent"]), *left_after([one["count"] for one in row["steps"]])) for row in rows],
        )


def _counterfactual(findings: Mapping[str, Any]) -> Iterator[str]:
    if findings["counterfactual"]:
        yield from section("Other caps")
        yield "Hypothetical, not part of the results: the recorded runs scored again under tighter caps."
        yield ""
        yield from table(
            ("what", "agent", "success"),
            [
                (plain(other_cap(one, findings)), plain(one["agent"]), percents(one["success"]))
                for one in findings["counterfactual"]
            ],
        )


def _conditions(findings: Mapping[str, Any]) -> Iterator[str]:
    """The classes of conditions, if any differs in more than its task."""
    rows = findings["comparability"]
    if any(len(row["differs"]) > 1 for row in rows):
        yield from section("Conditions")
        yield from table(
            ("class", "runs", "of each agent", "differs in"),
            [
                (
                    f"`{plain(row['class'])[:19]}`",
                    row["runs"],
                    plain(
                        ", ".join(f"{many} of {name}" for name, many in zip(row["agents"], row["counts"], strict=True))
                    ),
                    plain("; ".join(sentences(row["differs"]))),
                )
                for row in rows
            ],
        )
