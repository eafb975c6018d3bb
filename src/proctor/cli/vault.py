"""``proctor vault``: the restricted store of redacted originals."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from proctor.base.canonical import canonical
from proctor.base.clock import SystemClock, system_entropy
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded
from proctor.cli.output import Group, as_json, examples, print_json, print_record, print_table, printable
from proctor.cli.wiring import home
from proctor.record.signing.operator_identity import load_identity, load_person, new_identity
from proctor.record.vault import KEY_BYTES, TOKEN_BYTES, Vault

identity_option = click.option(
    "--identity", required=True, type=click.Path(path_type=Path), help="Your private identity file."
)
why_option = click.option("--why", required=True, help="What the original is needed for; recorded in the access log.")


@click.group(cls=Group, epilog="Example: proctor vault init --identity jo.key")
def command() -> None:
    """Manage the originals of redacted secrets.

    The originals are encrypted for the recipients of the vault. The access log records every time one is read.
    """


@command.command(epilog="Example: proctor vault identity jo jo.key")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@as_json
def identity(name: str, file: Path, json_: bool) -> None:
    """Make a private identity, and print its public line.

    The private identity of NAME is written to FILE, the public line also to FILE.pub.
    """
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
    """Make the vault of this home.

    The owner of the identity is its first recipient.
    """
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
    """Add a recipient who can read the vault.

    PUBLIC is the public file of the new recipient (NAME age1... HEX). --identity names a current recipient.
    """
    person = load_person(public)
    count = _vault().add_recipient(person, load_identity(identity), SystemClock().wall_ns())
    if json_:
        print_json({"recipient": person.name, "entries": count})
    else:
        click.echo(f"{person.name} can read the vault; entries encrypted again: {count}")


@command.command(epilog=examples("vault token 0123456789abcdef01234567 --identity jo.key --why audit"))
@click.argument("name")
@identity_option
@why_option
def token(name: str, identity: Path, why: str) -> None:
    """Print a signed request for one original.

    The request is valid for one reading within ten minutes. NAME is the last part of the placeholder, or all of it.
    """
    print_record(_token(name, identity, why))


@command.command(epilog=examples("vault get 0123456789abcdef01234567 --identity jo.key --why audit"))
@click.argument("name", required=False)
@identity_option
@click.option("--why", default="", help="What the original is needed for; recorded in the access log.")
@click.option("--token", "token_file", type=click.Path(path_type=Path), help="A request from `proctor vault token`.")
@as_json
def get(name: str | None, identity: Path, why: str, token_file: Path | None, json_: bool) -> None:
    """Print the original of a placeholder.

    The access log records every request before it is answered, also if it is refused. NAME is the last part of the
    placeholder, or all of it.
    """
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
        print_json({"name": original.name, "secret_kind": original.kind, "secret": secret})
    else:
        sys.stdout.buffer.write(original.secret + b"\n")


@command.command(epilog="Example: proctor vault log --json")
@as_json
def log(json_: bool) -> None:
    """Check and print the access log.

    Note its last hash elsewhere: it shows whether a later log still contains these records.
    """
    history = _vault().history()
    if json_:
        print_json({"entries": [{"seq": entry.seq, "hash": entry.hash, **entry.record} for entry in history]})
        return
    keys = ("act", "by", "about", "outcome", "reason", "why")
    entries = [
        {"by": entry.record.get("reader", ""), "about": _about(entry.record), **entry.record} for entry in history
    ]
    rows = [[str(seq), *(printable(str(one.get(key, "")))[:60] for key in keys)] for seq, one in enumerate(entries)]
    print_table(["SEQ", *(key.upper() for key in keys)], rows)
    click.echo(f"head {history[-1].hash}")


def _about(record: Mapping[str, Any]) -> str:
    """The entry that a record of the log is about, or the name of the recipient."""
    return str(record.get("entry", "")) or str(record.get("recipient", "")).partition(" ")[0]


def _vault() -> Vault:
    """The vault of this home, without what a crash left of one that never came to be."""
    vault = Vault(home().vault)
    vault.sweep()
    return vault


def _read_token(path: Path) -> bytes:
    try:
        return read_bounded(path, TOKEN_BYTES)
    except InfrastructureFault as error:
        raise UsageFault(f"this is not a token: {error.message}", where=str(path)) from None
    except OSError as error:
        raise UsageFault(f"the token cannot be read: {error.strerror}", where=str(path)) from None


def _token(name: str, identity: Path, why: str) -> dict[str, str]:
    if name.startswith("[secret:"):
        name = name.removesuffix("]").rpartition(":")[2]
    asked, reason = (text.encode("utf-8", "replace").decode() for text in (name, why))
    return _vault().token(load_identity(identity), asked, reason, system_entropy(16), SystemClock().wall_ns())
