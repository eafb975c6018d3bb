"""``proctor replay``: derive the decisions of a run again from its trace."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, print_table, printable


@click.command(epilog="Example: proctor replay 20260307T120000 --breakers")
@click.argument("run")
@click.option("--breakers", is_flag=True, help="Derive every decision of the breakers; the default.")
@as_json
def command(run: str, breakers: bool, json_: bool) -> int:
    """Let the breakers decide again over the events of RUN. Exits with 4 when they decide otherwise than recorded."""
    from proctor.cli.wiring import shelf
    from proctor.conduct.replay import replay_breakers

    found = shelf().find(run)
    result = replay_breakers(found)
    rows = [
        {"breaker": one.trip.breaker, "code": one.trip.code, "action": one.trip.action, "event": one.seq}
        for one in result.recorded
    ]
    if json_:
        differences = list(result.differences)
        print_json({"run": found.path.name, "agree": result.agree, "decisions": rows, "differences": differences})
    else:
        if rows:
            cells = [[one.trip.breaker, one.trip.code, one.trip.action, f"#{one.seq}"] for one in result.recorded]
            print_table(["BREAKER", "CODE", "ACTION", "EVENT"], cells)
        for difference in result.differences:
            click.echo(printable(difference))
        words = "the same decisions" if result.agree else "DIFFERENT decisions"
        click.echo(f"{found.path.name}: {len(rows)} decisions recorded, {words} when derived again")
    return 0 if result.agree else 4
