"""``proctor keys``: keys that sign runs."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Group, as_json, print_json, print_table


@click.group(cls=Group, epilog="Example: proctor keys new lab")
def command() -> None:
    """Keys for `proctor attest` and `proctor verify --key`: Ed25519, in PEM files."""


@command.command(epilog="Example: proctor keys new lab --in ~/safe")
@click.argument("name")
@click.option(
    "--in", "directory", type=click.Path(file_okay=False, path_type=Path), help="Where to write it; else the home."
)
@as_json
def new(name: str, directory: Path | None, json_: bool) -> None:
    """Draw a new key: NAME.key is the private half, for its owner's eyes only, NAME.pub the public one."""
    from proctor.base.errors import UsageFault
    from proctor.cli.wiring import home
    from proctor.record.attest.keys import create_key

    if not name or "/" in name or name.startswith("."):
        raise UsageFault("a key's name is a plain file name", where=name, hint="--in DIRECTORY says where to write it")
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
    """The keys of the home directory."""
    from proctor.cli.wiring import home
    from proctor.record.attest.keys import key_id, load_public

    found = [(path.stem, key_id(load_public(path)), str(path)) for path in sorted(home().keys.glob("*.pub"))]
    if json_:
        print_json([{"name": name, "keyid": keyid, "public": path} for name, keyid, path in found])
    else:
        print_table(["NAME", "KEY", "PUBLIC"], [list(row) for row in found])
