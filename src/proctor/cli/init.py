"""``proctor init``: start a new contract."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import as_json, print_json
from proctor.contract.scaffold import scaffold


@click.command(epilog="Example: proctor init contracts/fix-parser --name fix-parser")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The contract's name.  [default: the directory's name]")
@as_json
def command(directory: Path, name: str, json_: bool) -> None:
    """Write a new contract with every field explained.

    DIRECTORY gets a small contract that already passes `proctor validate`. Replace its parts with your own.
    """
    written = scaffold(directory, name or directory.absolute().name)
    if json_:
        print_json({"written": [str(path) for path in written]})
        return
    for path in written:
        click.echo(f"wrote {path}")
    click.echo(f"next: fill it in, then proctor lint {directory}")
