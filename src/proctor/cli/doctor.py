"""``proctor doctor``: what this machine can isolate, and how to get the rest."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, print_table


@click.command(epilog="Example: proctor doctor")
@as_json
def command(json_: bool) -> int:
    """Try every part of the isolation for real and say what works, what is weaker, and how to get the rest."""
    from proctor.execute.sandbox.doctor import probe

    findings = probe()
    if json_:
        print_json([{"name": f.name, "state": f.state, "detail": f.detail, "advice": f.advice} for f in findings])
    else:
        print_table(["PART", "STATE", "DETAIL"], [[f.name, f.state, f.detail] for f in findings])
        for finding in findings:
            if finding.advice and finding.state != "ok":
                click.echo(f"{finding.name}: {finding.advice}")
    return 3 if any(finding.state == "missing" for finding in findings) else 0
