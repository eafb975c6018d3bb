"""``proctor agents``: list the kinds of agents."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, print_table


@click.command(epilog="Example: proctor agents --json")
@as_json
def command(json_: bool) -> None:
    """List the agents that can attempt a contract, built in and from installed packages."""
    from proctor.execute.agents.registry import BUILT_IN, WORDS, plug_ins

    rows = [[kind, "built in", WORDS[kind]] for kind in BUILT_IN]
    rows += [[kind, "plug-in", ""] for kind in plug_ins()]
    if json_:
        print_json([{"kind": kind, "from": origin, "words": words} for kind, origin, words in rows])
    else:
        print_table(["AGENT", "FROM", "WHAT IT DOES"], rows)
