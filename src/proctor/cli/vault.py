"""``proctor vault``: the restricted store of what redaction took out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.output import Group, as_json, print_json, print_table, printable

if TYPE_CHECKING:
    from proctor.record.vault import Vault

identity_option = click.option(
    "--identity", required=True, type=click.Path(path_type=Path), help="Your private identity file."
)
why_option = click.option("--why", required=True, help="What the original is needed for; it stands in the access log.")


@click.group(cls=Group, epilog="Example: proctor vault get 0123456789abcdef01234567 --identity me.key --why 'case 12'")
def command() -> None:
    """Originals of redacted secrets, encrypted for their recipients; every reading stands in the access log."""


@command.command(epilog="Example: proctor vault identity jo jo.key")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@as_json
def identity(name: str, file: Path, json_: bool) -> None:
    """Make a private identity for NAME in FILE, and print its public line, which also goes to FILE.pub."""
    from proctor.base.clock import system_entropy
    from proctor.record.identity import new_identity

    made = new_identity(name, system_entropy(32))
    made.save(file)
    if json_:
        print_json({"name": made.person.name, "private": str(file), "public": str(made.person)})
    else:
        click.echo(str(made.person))


@command.command(epilog="Example: proctor vault init --identity jo.key")
@identity_option
@as_json
def init(identity: Path, json_: bool) -> None:
    """Make the vault of this home, with the owner of the identity as its first recipient."""
    from proctor.base.clock import SystemClock, system_entropy
    from proctor.cli.wiring import home
    from proctor.record.identity import load_identity
    from proctor.record.vault import KEY_BYTES

    person = load_identity(identity).person
    home().create()
    vault = _vault()
    vault.create(person, system_entropy(KEY_BYTES), SystemClock().wall_ns())
    if json_:
        print_json({"vault": str(vault.path), "recipient": person.name})
    else:
        click.echo(f"{vault.path}: {person.name} can read it")


@command.command(name="add-recipient", epilog="Example: proctor vault add-recipient kim.key.pub --identity jo.key")
@click.argument("public", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@identity_option
@as_json
def add_recipient(public: Path, identity: Path, json_: bool) -> None:
    """Let the owner of the file PUBLIC (NAME age1... HEX) read the vault; a recipient must say so."""
    from proctor.base.clock import SystemClock
    from proctor.record.identity import load_identity, load_person

    person = load_person(public)
    count = _vault().add_recipient(person, load_identity(identity), SystemClock().wall_ns())
    if json_:
        print_json({"recipient": person.name, "entries": count})
    else:
        click.echo(f"{person.name} can read the vault; entries encrypted anew: {count}")


@command.command(epilog="Example: proctor vault token 0123456789abcdef01234567 --identity jo.key --why 'case 12'")
@click.argument("name")
@identity_option
@why_option
def token(name: str, identity: Path, why: str) -> None:
    """Print a signed request for the original NAME, good for one reading within ten minutes.

    NAME may be the whole placeholder.
    """
    print_json(_token(name, identity, why))


@command.command(epilog="Example: proctor vault get 0123456789abcdef01234567 --identity jo.key --why 'case 12'")
@click.argument("name", required=False)
@identity_option
@click.option("--why", default="", help="What the original is needed for; it stands in the access log.")
@click.option("--token", "token_file", type=click.Path(path_type=Path), help="A request made by `vault token`.")
@as_json
def get(name: str | None, identity: Path, why: str, token_file: Path | None, json_: bool) -> None:
    """Print the original whose placeholder ends in NAME. The access log tells of it first, granted or refused.

    NAME may be the whole placeholder.
    """
    from proctor.base.canonical import canonical
    from proctor.base.clock import SystemClock
    from proctor.base.errors import UsageFault
    from proctor.record.identity import load_identity

    if (token_file is None) == (name is None):
        raise UsageFault("give the name of an original and --why, or a --token")
    vault, clock = _vault(), SystemClock()
    try:
        opener = load_identity(identity)
        request = _read_token(token_file) if token_file else canonical(_token(str(name), identity, why))
    except UsageFault as error:
        vault.tell_refused(error.message, clock.wall_ns())
        raise
    original = vault.read(request, opener, clock.wall_ns())
    if json_:
        secret = original.secret.decode("utf-8", "replace")
        print_json({"name": original.name, "kind": original.kind, "secret": secret})
    else:
        sys.stdout.buffer.write(original.secret + b"\n")


@command.command(epilog="Example: proctor vault log --json")
@as_json
def log(json_: bool) -> None:
    """Print the access log, after checking that it is whole; its last hash is worth noting elsewhere."""
    history = _vault().history()
    if json_:
        print_json([{"seq": entry.seq, "hash": entry.hash, **entry.record} for entry in history])
        return
    keys = ("act", "by", "about", "outcome", "reason", "why")
    told = [{"by": entry.record.get("reader", ""), "about": _about(entry.record), **entry.record} for entry in history]
    rows = [[str(seq), *(printable(str(one.get(key, "")))[:60] for key in keys)] for seq, one in enumerate(told)]
    print_table(["SEQ", *(key.upper() for key in keys)], rows)
    click.echo(f"head {history[-1].hash}")


def _about(record: Mapping[str, Any]) -> str:
    """The entry that a record of the log is about, or the name of the recipient."""
    return str(record.get("entry", "")) or str(record.get("recipient", "")).partition(" ")[0]


def _vault() -> Vault:
    """The vault of this home, without what a crash left of one that never came to be."""
    from proctor.cli.wiring import home
    from proctor.record.vault import Vault

    vault = Vault(home().vault)
    vault.sweep()
    return vault


def _read_token(path: Path) -> bytes:
    from proctor.base.errors import InfrastructureFault, UsageFault
    from proctor.base.files import read_bounded
    from proctor.record.vault import TOKEN_BYTES

    try:
        return read_bounded(path, TOKEN_BYTES)
    except InfrastructureFault as error:
        raise UsageFault(f"this is no token: {error.message}", where=str(path)) from None
    except OSError as error:
        raise UsageFault(f"the token cannot be read: {error.strerror}", where=str(path)) from None


def _token(name: str, identity: Path, why: str) -> dict[str, str]:
    from proctor.base.clock import SystemClock, system_entropy
    from proctor.record.identity import load_identity

    if name.startswith("[secret:"):
        name = name.removesuffix("]").rpartition(":")[2]
    asked, reason = (text.encode("utf-8", "replace").decode() for text in (name, why))
    return _vault().token(load_identity(identity), asked, reason, system_entropy(16), SystemClock().wall_ns())
