"""``proctor rescore``: compute a run's report again from its evidence."""

from __future__ import annotations

import sys

import click

from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, print_json, printable
from proctor.cli.wiring import run_store
from proctor.conduct.plug_ins import notes_of, took_part
from proctor.conduct.recompute import rescore
from proctor.judge.evidence_consistency.sealed_report import Rescoring


@click.command(epilog="Example: proctor rescore 20260307T120000 --print | python3 -m json.tool")
@click.argument("run", shell_complete=complete_runs)
@click.option("--print", "print_", is_flag=True, help="Print the computed report.")
@as_json
def command(run: str, print_: bool, json_: bool) -> int:
    """Compute the report of a run again and compare the two.

    RUN is verified first. The reports are compared byte by byte. A run that was scored by other rules, such as those of
    an earlier version, counts as the same if everything that the rules do not decide is equal: status, gates, checks,
    patch, events, durations and usage. The other parts are listed.
    """
    found = run_store().find(run)
    result = rescore(found)
    if print_:
        sys.stdout.buffer.write(result.report + b"\n")
    elif json_:
        differing: dict[str, list[object]] = {
            "different": list(result.different),
            "other_rules": list(result.other_rules),
        }
        differing["plugins"] = list(took_part(found.read_json(found.manifest)))
        print_json({"run": found.path.name, "same": result.same, **differing, "without": list(result.without)})
    else:
        verdict = "DIFFERENT from the sealed report" if result.different else "the same bytes"
        if result.same and result.other_rules:
            verdict = "the same, except for parts that depend on the scoring rules"
        click.echo(f"{found.path.name}: {verdict}")
        for line in (*notes(result), *notes_of(found.read_json(found.manifest))):
            click.echo(printable(f"  {line}"))
    return 0 if result.same else 4


def notes(result: Rescoring) -> list[str]:
    """The lines about a comparison of reports that follow the verdict."""
    lines = [f"different: {place or 'the whole report'}" for place in result.different]
    if result.other_rules:
        lines.append(f"scored by other rules: {', '.join(result.other_rules)}")
    if result.without:
        lines.append(f"written by an earlier version, without: {', '.join(result.without)}")
    return lines
