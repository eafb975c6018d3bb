"""``proctor redact``: take secrets out of a text, or say where they are."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded
from proctor.cli.output import as_json, print_json
from proctor.cli.wiring import home
from proctor.record.redact import Redactor
from proctor.record.secrets import usual_rules
from proctor.record.vault import Vault

FILE_BYTES = 1 << 30


@click.command(epilog="Example: proctor redact --check notes.txt")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="List kinds and lines of the secrets; exit with 1 if there are any.")
@as_json
def command(file: Path, check: bool, json_: bool) -> int:
    """Replace the secrets in a text, or list them.

    Prints FILE with placeholders for its secrets, as `proctor run --redact-secrets` records them. The originals are
    stored in the vault.
    """
    try:
        data = read_bounded(file, FILE_BYTES)
    except OSError as error:
        raise UsageFault(f"cannot be read: {error.strerror}", where=str(file)) from None
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(file)) from None
    if not check:
        if json_:
            raise UsageFault("--json can only be combined with --check", hint="without it the text itself is printed")
        vault = Vault(home().vault)
        sys.stdout.buffer.write(Redactor(vault.key, vault.keeper()).data(data))
        return 0
    found = [(data.count(b"\n", 0, one.start) + 1, one) for one in usual_rules().find(data)]
    if json_:
        secrets = [{"line": line, "kind": one.kind, "bytes": one.end - one.start} for line, one in found]
        print_json({"secrets": secrets})
    else:
        for line, one in found:
            click.echo(f"{file}:{line}: {one.kind}, {one.end - one.start} bytes")
    return 1 if found else 0
