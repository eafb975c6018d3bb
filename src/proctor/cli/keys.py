"""``proctor keys``: keys that sign runs."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.base.errors import UsageFault
from proctor.cli.options import Renamed
from proctor.cli.output import Group, as_json, print_json, print_table
from proctor.cli.wiring import home
from proctor.record.signing.keys import create_key, key_id, load_public


@click.group(cls=Group, epilog="Example: proctor keys new lab")
def command() -> None:
    """Manage the keys that sign runs.

    `proctor attest` signs with them and `proctor verify --key` checks. They are Ed25519 keys in PEM files.
    """


@command.command(epilog="Example: proctor keys new lab --out ~/safe")
@click.argument("name")
@click.option(
    "--out",
    "directory",
    cls=Renamed,
    former=["--in"],
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="The directory of the files.  [default: the home]",
)
@as_json
def new(name: str, directory: Path | None, json_: bool) -> None:
    """Make a key pair.

    NAME.key is the private key, which only its owner may read; NAME.pub is the public key.
    """
    if not name or "/" in name or name.startswith("."):
        raise UsageFault(
            "a key's name is a plain file name", where=name, hint="--out DIRECTORY is the directory of the files"
        )
    place = directory or home().keys
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    private, public = place / f"{name}.key", place / f"{name}.pub"
    made = create_key(private, public)
    if json_:
        print_json({"keyid": made, "private": str(private), "public": str(public)})
    else:
        click.echo(f"key {made}\n  private {private}\n  public  {public}")


@command.command("list", epilog="Example: proctor keys list")
@as_json
def list_(json_: bool) -> None:
    """List the keys of the home directory."""
    found = [(path.stem, key_id(load_public(path)), str(path)) for path in sorted(home().keys.glob("*.pub"))]
    if json_:
        print_json({"keys": [{"name": name, "keyid": keyid, "public": path} for name, keyid, path in found]})
    else:
        print_table(["NAME", "KEY", "PUBLIC"], [list(row) for row in found])
