"""``proctor doctor``: what this machine can do, and how to get the rest."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, print_table, printable


@click.command(epilog="Example: proctor doctor")
@as_json
def command(json_: bool) -> int:
    """Try everything that a run needs for real and say what works, what is weaker, and how to get the rest.

    Exits with 3 when something is missing without which no run can work; other commands then refuse with the same
    message. What is reduced is needed by some contracts only, or has a weaker replacement.
    """
    from proctor.cli.wiring import home
    from proctor.execute.doctor import probe, works

    findings = probe(home())
    if json_:
        print_json([{"name": f.name, "state": f.state, "detail": f.detail, "advice": f.advice} for f in findings])
    else:
        print_table(["PART", "STATE", "DETAIL"], [[f.name, f.state, f.detail] for f in findings])
        for finding in findings:
            if finding.advice and finding.state != "ok":
                click.echo(printable(f"{finding.name}: {finding.advice}"))
    return 0 if works(findings) else 3
