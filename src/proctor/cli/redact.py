"""``proctor redact``: take secrets out of a text, or say where they are."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from proctor.cli.output import as_json, print_json

FILE_BYTES = 1 << 30


@click.command(epilog="Example: proctor redact --check notes.txt")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Only say which kinds stand in which lines; exits with 1 when any does.")
@as_json
def command(file: Path, check: bool, json_: bool) -> int:
    """Print FILE with placeholders for its secrets, as `proctor run --redact-secrets` records it.

    The originals go to the vault, whose key names them.
    """
    from proctor.base.errors import InfrastructureFault, UsageFault
    from proctor.base.files import read_bounded

    try:
        data = read_bounded(file, FILE_BYTES)
    except OSError as error:
        raise UsageFault(f"cannot be read: {error.strerror}", where=str(file)) from None
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(file)) from None
    if not check:
        if json_:
            raise UsageFault("--json goes with --check", hint="without it the text itself is printed")
        from proctor.cli.wiring import home
        from proctor.record.redact import Redactor
        from proctor.record.vault import Vault

        vault = Vault(home().vault)
        sys.stdout.buffer.write(Redactor(vault.key, vault.keeper()).data(data))
        return 0
    from proctor.record.secrets import usual_rules

    found = [(data.count(b"\n", 0, one.start) + 1, one) for one in usual_rules().find(data)]
    if json_:
        print_json([{"line": line, "kind": one.kind, "bytes": one.end - one.start} for line, one in found])
    else:
        for line, one in found:
            click.echo(f"{file}:{line}: {one.kind}, {one.end - one.start} bytes")
    return 1 if found else 0
