"""Changes to ``contract.yaml`` that leave every other character, comments included, as its author wrote it.

A change replaces the text of one value, or adds one key to a map. Before anything is written the new text is parsed and
compared with what was meant; where the two differ, nothing is written and the author is asked to make the change.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from proctor.base.canonical import canonical
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.contract.load import CONTRACT_BYTES, CONTRACT_NAME
from proctor.contract.model import Check, Contract, NamedFile

IDS_BYTES = 16 << 20
HINT_CHARACTERS = 200


def set_ids(contract: Contract, check: Check, field: str, ids: tuple[str, ...]) -> Path:
    """Let ``field`` of ``check`` list ``ids``: in the file that it names, or in a new one next to the contract.

    A file of ids is never empty, and holds one on each line: if none is left, or one does not fit on a line, the
    contract itself gets the list, and the file is removed.
    """
    named: NamedFile | None = getattr(check, f"{field}_file")
    if not ids or not all(map(_is_line, ids)):
        set_field(contract, check, field, list(ids))
        if named is not None:
            (contract.directory / named.path).unlink()
        return contract.directory / CONTRACT_NAME
    if named is not None:
        path = contract.directory / named.path
        kept = [line for line in read_bounded(path, IDS_BYTES).decode().splitlines() if line.startswith("#")]
        write_whole(path, _lines([*kept, *ids]))
        return path
    several = sum(other.results != "exit-code" for other in contract.checks) > 1
    name = f"{check.id}.{field}.txt" if several else f"{field}.txt"
    path = contract.directory / name
    if os.path.lexists(path):
        raise UsageFault(
            "exists already, so the list of tests cannot be written there",
            where=str(path),
            hint=f"name it in {field} or remove it",
        )
    write_whole(path, _lines(ids))
    try:
        set_field(contract, check, field, {"file": name})
    except UsageFault:
        path.unlink()
        raise
    return path


def set_field(contract: Contract, check: Check, field: str, value: Any) -> None:
    """Let ``field`` of ``check`` in the contract's file be ``value``."""
    file = contract.directory / CONTRACT_NAME
    text = read_bounded(file, CONTRACT_BYTES).decode()
    index = contract.checks.index(check)
    changed = with_field(text, ("checks", index), field, value)
    if changed is None or len(changed.encode()) > CONTRACT_BYTES:
        words = f"{field} of check {check.id!r} cannot be changed without changing other parts of the file"
        shown = canonical(value).decode()[:HINT_CHARACTERS]
        raise UsageFault(words, where=str(file), hint=f"write `{field}: {shown}` yourself")
    write_whole(file, changed.encode())


def with_field(text: str, path: tuple[str | int, ...], field: str, value: Any) -> str | None:
    """``text`` with a value of the map at ``path`` set, and nothing else changed; ``None`` where that fails."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    meant = yaml.safe_load(text)
    inner = meant
    for step in path:
        inner = inner[step]
        node = _inner(node, step)
    inner[field] = value
    written = canonical(value).decode()
    for key, held in node.value:
        if key.value == field:
            start, end = held.start_mark.index, _end(held)
            changed = text[:start] + written + text[end:]
            if not getattr(held, "flow_style", True) and "\n" in text[key.end_mark.index : start]:
                changed = text[: key.end_mark.index] + ": " + written + text[end:]
            break
    else:
        changed = _added(text, node, field, written)
    try:
        return changed if yaml.safe_load(changed) == meant else None
    except yaml.YAMLError:
        return None


def _inner(node: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return node.value[step]
    return next(value for key, value in node.value if key.value == step)


def _end(node: Any) -> int:
    """The end of the text of a value; a block's mark is at the text after it, comments included."""
    if getattr(node, "flow_style", None) is False and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _added(text: str, node: Any, field: str, written: str) -> str:
    """``text`` with one more key at the end of the map ``node``."""
    end = _end(node)
    if node.flow_style:
        end -= 1
        while text[end - 1].isspace() or text[end - 1] == ",":
            end -= 1
        return f'{text[:end]}, "{field}": {written}{text[end:]}'
    line = text.find("\n", end)
    line = len(text) if line < 0 else line
    if text[end - 1] == "\n":  # a block of text takes the end of its last line along
        line = end - 1
    indent = " " * node.start_mark.column
    return f"{text[:line]}\n{indent}{field}: {written}{text[line:]}"


def _is_line(name: str) -> bool:
    """Whether a line of a file of ids can say ``name``."""
    return name == name.strip() and "\n" not in name and not name.startswith("#")


def _lines(lines: list[str] | tuple[str, ...]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
