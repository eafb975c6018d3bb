"""``proctor verify``: check that a run's evidence is whole."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, printable


@click.command(epilog="Example: proctor verify 20260307T120000-0123456789")
@click.argument("runs", nargs=-1, required=True)
@as_json
def command(runs: tuple[str, ...], json_: bool) -> int:
    """Check every byte of RUNS against their seals: ids (or their beginnings) or paths. Exits with 4 on any change.

    A copy under a name of its own is as good as the run; one that goes by another run's id is refused.
    """
    from proctor.cli.wiring import shelf
    from proctor.record.verify import verify

    code = 0
    for name in runs:
        run = shelf().find(name)
        result = verify(run)
        code = code if result.status == "intact" else 4
        if json_:
            problems = [{"where": p.where, "message": p.message} for p in result.problems]
            counts = {"events": result.events, "seal": result.digest}
            print_json(
                {"run": run.path.name, "id": result.run_id, "status": result.status, "problems": problems, **counts}
            )
            continue
        copied = f", a copy of {result.run_id}" if result.run_id not in ("", run.path.name) else ""
        click.echo(printable(f"{run.path.name}: {result.status}, {result.events} events{copied}"))
        if result.digest:
            click.echo(f"  seal {result.digest}")
        for problem in result.problems:
            click.echo(printable(f"  {problem.where}: {problem.message}"))
    return code
