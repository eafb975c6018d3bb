"""``proctor review``: which runs need a review, the verdicts of reviewers, and how far they agree."""

from __future__ import annotations

from typing import Any

import click

from proctor.base.clock import SystemClock, utc_text
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import BrokenSeal, ProctorError, UsageFault
from proctor.base.json_records import to_json
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, examples, print_json, print_table, printable
from proctor.cli.wiring import run_store
from proctor.judge.human_review import (
    URGENCY,
    cohen_kappa,
    krippendorff_alpha,
    needs_review,
    paired_verdicts,
    review_reasons,
    urgency,
)
from proctor.record.report_model import Report, read_report
from proctor.record.retain import retention_of
from proctor.record.reviews import (
    Heads,
    Review,
    add_review,
    home_log,
    last_verdicts,
    minutes_of,
    noted_heads,
    opinion,
    read_reviews,
)
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import load_seal
from proctor.record.verify import verify

Listed = tuple[str, Report, tuple[Review, ...]]


@click.command(epilog=examples("review", "review last --verdict reject --minutes 4 --by ada --why '...'"))
@click.argument("run", shell_complete=complete_runs, default="")
@click.option("--verdict", type=click.Choice(["accept", "reject", "unsure"]), help="Your verdict on the patch of RUN.")
@click.option("--minutes", default="", metavar="M", help="How many minutes the review took.")
@click.option("--by", default="", metavar="NAME", help="Your name.")
@click.option("--why", default="", metavar="TEXT", help="The reason, in a sentence.")
@click.option("--all", "all_", is_flag=True, help="Also list runs that were reviewed.")
@click.option("--agreement", is_flag=True, help="Print how far the reviewers agree beyond chance.")
@as_json
def command(
    run: str, verdict: str | None, minutes: str, by: str, why: str, all_: bool, agreement: bool, json_: bool
) -> int:
    """List runs that need a review, and record verdicts on them.

    A run is listed when its report has indicators or a check reached no decision, and it has no review yet or the
    reviewers disagree. With RUN alone, its indicators and reviews are printed. A verdict is recorded in a log next to
    the sealed run, and changes nothing in the run. Exits with 4 when the evidence or the reviews of a run were changed.
    """
    if not run and (verdict or minutes or by or why):
        raise UsageFault("name the run of the verdict", hint="`proctor review` lists the runs")
    if run and (all_ or agreement):
        raise UsageFault("--all and --agreement are about all runs", hint="leave the run out")
    if not run:
        found, broken = _listed()
        for message in broken:
            click.echo(f"proctor: left out: {printable(message)}", err=True)
        if agreement:
            _agreement(found, json_)
        else:
            _queue(found, all_, json_)
        return 4 if broken else 0
    if verdict:
        missing = [name for name, text in (("--minutes", minutes), ("--by", by), ("--why", why)) if not text]
        if missing:
            message = f"a verdict needs {' and '.join(missing)}"
            raise UsageFault(message, hint="how long you looked, who you are, and the reason in a sentence")
        _record(run, verdict, minutes, by, why, json_)
    elif minutes or by or why:
        raise UsageFault("there is no verdict", hint="add --verdict accept, reject or unsure")
    else:
        _show(run, json_)
    return 0


def _record(name: str, verdict: str, minutes: str, by: str, why: str, json_: bool) -> None:
    found = run_store().find(name)
    review = Review(verdict, minutes, by, why, utc_text(SystemClock().wall_ns()))
    digest = add_review(found, _intact(found), review)
    paired_verdicts = home_log(found)
    notes = paired_verdicts.read() if paired_verdicts is not None else []
    head = notes[-1].hash if notes else ""
    if json_:
        row = {"run": found.path.name, "verdict": verdict, "hash": digest}
        print_json({**row, "home_reviews": len(notes), "home_head": head})
    else:
        click.echo(printable(f"{found.path.name}: {verdict} by {by}, {minutes} minutes"))
        _note_retention(found)
        if notes:
            click.echo(f"the log of all reviews has {counted(len(notes), 'record')}; the last is {head}")


def _note_retention(run: RunDirectory) -> None:
    """Say it where the patch and the trace can no longer be looked at."""
    act = retention_of(run)
    if act is not None:
        click.echo(printable(f"the patch and the payloads were removed: {act}"))


def _intact(run: RunDirectory) -> str:
    """The digest of the seal of a run that holds; a review of anything else would be about nothing."""
    result = verify(run)
    if result.status in ("broken", "unsealed"):
        problem = result.problems[0]
        raise BrokenSeal(f"{result.status}, {problem.message}", where=f"{run.path.name}/{problem.where}")
    return result.digest


def _listed() -> tuple[list[Listed], list[str]]:
    """Every sealed run with its report and its reviews, and what is wrong with those that do not hold."""
    found, broken = [], []
    heads: Heads | None = None
    for item in run_store().list():
        run = RunDirectory(item.path)
        if item.status and run.seal.exists():
            try:
                heads = noted_heads(run) if heads is None else heads
                reviews = read_reviews(run, load_seal(run).digest, heads)
                found.append((run.path.name, read_report(run), reviews))
            except ProctorError as error:
                broken.append(f"{item.id}/{error}")
    return found, broken


def _queue(found: list[Listed], all_: bool, json_: bool) -> None:
    rows: list[dict[str, Any]] = []
    for name, report, reviews in found:
        why, state = review_reasons(report), opinion(reviews)
        if needs_review(why, state) or (all_ and (reviews or why)):
            rows.append(
                {
                    "run": name,
                    "contract": report.contract.name,
                    "agent": report.agent.name,
                    "status": report.status,
                    "review": state,
                    "minutes": str(minutes_of(reviews)),
                    "reasons": why,
                }
            )
    rows.sort(key=lambda row: min(map(urgency, row["reasons"]), default=len(URGENCY)))
    if json_:
        print_json({"runs": rows})
    elif not rows:
        click.echo("no run waits for a review")
    else:
        columns = ("run", "contract", "agent", "status", "review", "minutes")
        table = [[*(printable(row[name]) for name in columns), ", ".join(row["reasons"])] for row in rows]
        print_table([*(name.upper() for name in columns), "LOOK AT"], table)


def _show(name: str, json_: bool) -> None:
    run = run_store().find(name)
    reviews = read_reviews(run, _intact(run))  # which holds them against the home, too
    report = read_report(run)
    found = report.indicators
    if json_:
        rows = [dict(field_items(review)) for review in reviews]
        print_json(
            {
                "run": run.path.name,
                "indicators": [to_json(one) for one in found],
                "reviews": rows,
                "minutes": str(minutes_of(reviews)),
            }
        )
        return
    click.echo(printable(f"{run.path.name}: {report.status}, review {opinion(reviews)}, {minutes_of(reviews)} minutes"))
    _note_retention(run)
    for one in found:
        click.echo(printable(f"{one.kind:<12} {one.about} ({one.count})"))
        for place in one.evidence:
            click.echo(printable(f"             {place}"))
    for review in reviews:
        at, by, why = (" ".join(text.split()) for text in (review.at, review.by, review.why))
        click.echo(printable(f"{at}  {review.verdict} by {by}, {review.minutes} minutes: {why}"))


def _agreement(found: list[Listed], json_: bool) -> None:
    reviewed = [reviews for _, _, reviews in found if reviews]
    units = last_verdicts(reviewed)
    two = paired_verdicts(units)
    kappa, alpha = cohen_kappa(two[1]) if two else None, krippendorff_alpha(units)
    twice = sum(len(unit) > 1 for unit in units)
    names = sorted({name for unit in units for name in unit})
    minutes = str(sum(map(minutes_of, reviewed)))
    figures = {"cohen_kappa": kappa, "krippendorff_alpha": alpha}
    shown = {name: None if value is None else f"{float(value):.6f}" for name, value in figures.items()}
    if json_:
        counts = {"runs": len(units), "runs_with_several_reviewers": twice, "reviewers": names, "minutes": minutes}
        print_json({**counts, **shown})
        return
    who = f"{counted(len(units), 'run')} reviewed by {counted(len(names), 'reviewer')}"
    click.echo(printable(f"{who} in {minutes} minutes, {twice} of them by several"))
    if two:
        click.echo(
            printable(f"Cohen's kappa of {two[0][0]} and {two[0][1]}: {shown['cohen_kappa'] or _undefined(twice)}")
        )
    click.echo(f"Krippendorff's alpha: {shown['krippendorff_alpha'] or _undefined(twice)}")


def _undefined(twice: int) -> str:
    return (
        "undefined, because all reviewers gave the same verdict on all runs"
        if twice
        else "undefined, because no run has two reviews"
    )
