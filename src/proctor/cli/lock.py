"""``proctor lock``: resolve a contract's inputs to files and digests."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from proctor.author.solution_leaks import require_no_answers, require_no_copies
from proctor.cli.output import as_json, print_json
from proctor.cli.wiring import export_image, home
from proctor.contract.load import load_contract
from proctor.contract.lock import LOCK_NAME, Lock, read_lock, write_lock
from proctor.execute.inputs.input_cache import InputCache, resolve_contract, with_lock


@click.command(epilog="Example: proctor lock examples/parse-time-zone")
@click.argument("contract", type=click.Path(path_type=Path))
@as_json
def command(contract: Path, json_: bool) -> None:
    """Pin the inputs of a contract by their digests.

    Fetches the inputs that CONTRACT names but does not pin, and writes their digests into contract.lock next to it.

    Inputs that an earlier lock pinned keep their digests as long as the contract asks for the same; remove the lock to
    resolve all of them again. Setup inputs are searched for other versions of the project under test. If one is found,
    no lock is written, unless the input gives a reason in accept_copy. No lock is written either if an image contains
    such a version, git history, hidden tests or the solution, unless environment.hide names the paths.
    """
    path, lock = pin(contract)
    locked = [*lock.inputs.values(), *([lock.repository] if lock.repository else [])]
    files = sum(len(found.files) for found in locked)
    if json_:
        print_json({"lock": str(path), "files": files})
    else:
        click.echo(f"wrote {path}: {files} files pinned")


def pin(contract: Path) -> tuple[Path, Lock]:
    """Write the lock of a contract, unless what it names has answers to the task."""
    place = home()
    place.create()
    loaded = load_contract(contract, allow_unpinned=True)
    path = loaded.directory / LOCK_NAME
    earlier = read_lock(path) if path.exists() else None
    lock = resolve_contract(loaded, InputCache(place.inputs), earlier)
    pinned = with_lock(loaded, lock)
    require_no_copies(pinned, place)
    unsearched = require_no_answers(pinned, place, partial(export_image, pinned))
    if unsearched:
        click.echo(f"proctor: warning: the image was not searched for answers to the task: {unsearched}", err=True)
    write_lock(path, lock)
    return path, lock
