"""``proctor rescore``: compute a run's report again from its evidence."""

from __future__ import annotations

import sys

import click

from proctor.cli.output import as_json, print_json


@click.command(epilog="Example: proctor rescore 20260307T120000 --print | python3 -m json.tool")
@click.argument("run")
@click.option("--print", "print_", is_flag=True, help="Print the report that was computed.")
@as_json
def command(run: str, print_: bool, json_: bool) -> int:
    """Verify RUN, compute its report anew, and compare it byte by byte with the sealed one."""
    from proctor.cli.wiring import shelf
    from proctor.conduct.rescore import rescore

    found = shelf().find(run)
    result = rescore(found)
    if print_:
        sys.stdout.buffer.write(result.report + b"\n")
    elif json_:
        print_json({"run": found.path.name, "same": result.same})
    else:
        click.echo(f"{found.path.name}: {'the same bytes' if result.same else 'DIFFERENT from the sealed report'}")
    return 0 if result.same else 4
