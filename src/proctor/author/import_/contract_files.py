"""Write a contract from its sections and files, whole or not at all.

Paths of strangers are checked before anything is written. The contract is loaded from a directory beside its place;
only one that loads is moved there, so no directory is left that a later command would refuse or misread.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from proctor.author.import_.import_record import Refused, shown
from proctor.base.errors import ContractError, InfrastructureFault, UsageFault
from proctor.base.files import write_whole
from proctor.contract.load import CONTRACT_NAME, load_contract
from proctor.contract.text_types import IN_TREE, NAME

MAX_FILES = 5000
MAX_BYTES = 512 << 20
MAX_TITLE = 100

Files = Mapping[str, tuple[bytes, bool]]
"""Bytes by path in the contract, and whether the file is a program."""


def contract_name(task: str) -> str:
    """The name of the contract of a task."""
    name = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in task.lower())
    name = name.lstrip("._-")[:100]
    if not NAME.matches(name):
        raise Refused("bad-record", f"{task[:80]!r} gives no name for a contract")
    return name


def title_of(issue: str) -> str:
    """The first line of an issue that has text."""
    line = next((line.strip(" #*`") for line in issue.splitlines() if line.strip(" #*`")), "Imported task")
    line = shown(line)
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 3].rpartition(" ")[0] + "..."


def hidden_path(path: bytes) -> str:
    """A path of the tree as text, if it can be a hidden file."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        raise Refused("bad-patch", "a path is not UTF-8") from None
    if not IN_TREE.matches(text) or not text.isprintable() or ".git" in text.lower().split("/"):
        raise Refused("bad-patch", f"the path {text[:120]!r}")
    return text


def as_text(sections: Mapping[str, Any]) -> bytes:
    """The text of contract.yaml."""
    text: str = yaml.safe_dump(dict(sections), sort_keys=False, allow_unicode=True, width=110)
    return text.encode()


def write_contract(out: Path, name: str, sections: Mapping[str, Any], files: Files) -> Path:
    """The new directory of the contract in ``out``; :class:`Refused` if it exists or does not load."""
    target = out / name
    if os.path.lexists(target):
        raise Refused("exists", name)
    if len(files) > MAX_FILES or sum(len(data) for data, _ in files.values()) > MAX_BYTES:
        raise Refused("bad-patch", f"{len(files)} files are too many or too large")
    made = out / f".{name[:40]}.{secrets.token_hex(6)}"
    try:
        write_files(out, made.name, {CONTRACT_NAME: (as_text(sections), False), **files})
        load_contract(made, allow_unpinned=True)
        made.rename(target)
    except ContractError as error:
        said = [f"{one.line}: {one.message}" for one in error.mistakes[:3]]
        raise Refused("bad-contract", shown("; ".join(said))) from None
    except (OSError, InfrastructureFault) as error:
        raise UsageFault(
            f"the contract cannot be written: {error}", where=str(target), hint="is there space?"
        ) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def write_files(out: Path, name: str, files: Files) -> None:
    """Write files into the folder ``name`` of ``out``; nothing if there are none."""
    try:
        for path, (data, is_program) in files.items():
            if not IN_TREE.matches(path):
                raise Refused("bad-patch", f"the path {path[:120]!r}")
            place = out / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, data, mode=0o755 if is_program else 0o644, sync=False)
    except OSError as error:
        hint = "is there space, and a name that the disk can have?"
        raise UsageFault(f"it cannot be written: {error.strerror}", where=str(out / name), hint=hint) from None
