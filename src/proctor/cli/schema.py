"""``proctor schema``: print the JSON Schema of contracts."""

from __future__ import annotations

import sys

import click

from proctor.cli.output import as_json, print_json


@click.command(epilog="Example: proctor schema > contract.schema.json")
@as_json
def command(json_: bool) -> None:
    """Print the JSON Schema that contract.yaml follows, for editors and other tools."""
    from proctor.contract.schema import json_schema

    if json_:
        print_json(json_schema())
        return
    import json

    sys.stdout.write(json.dumps(json_schema(), indent=2, sort_keys=True) + "\n")
