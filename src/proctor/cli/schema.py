"""``proctor schema``: print the JSON Schema of contracts, of pilots, or of agent files."""

from __future__ import annotations

import sys

import click

from proctor.cli.output import as_json, print_json


@click.command(epilog="Example: proctor schema > contract.schema.json")
@click.argument("form", type=click.Choice(["contract", "pilot", "agent"]), default="contract")
@as_json
def command(form: str, json_: bool) -> None:
    """Print the JSON Schema of contract.yaml, of a pilot file or of an agent file, for editors and other tools."""
    if form == "pilot":
        from proctor.study.pilot.fields import json_schema
    elif form == "agent":
        from proctor.execute.agents.agent_file import json_schema
    else:
        from proctor.contract.schema import json_schema

    if json_:
        print_json(json_schema())
        return
    import json

    sys.stdout.write(json.dumps(json_schema(), indent=2, sort_keys=True) + "\n")
