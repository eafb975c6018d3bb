"""YAML files that were read before, by the digest of their bytes.

Loading the YAML library takes longer than everything else that is done about a small contract. What was parsed without
a mistake is kept as JSON with every position; the same bytes then give the same nodes. A file that is missing, damaged
or of another version is as good as none.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.files import write_whole
from proctor.contract.strict_yaml import Node, Report, parse_yaml

VERSION = "1"
"""Changes with the meaning of YAML here, or of what is kept."""
MOST_KEPT = 1000


def parse_remembered(data: bytes, report: Report, memory: Path | None) -> Node | None:
    """What :func:`parse_yaml` gives, from ``memory`` where the same bytes were parsed before."""
    if memory is None:
        return parse_yaml(data, report)
    file = memory / hashlib.sha256(VERSION.encode() + b"\0" + data).hexdigest()
    known = _recall(file)
    if known is not None:
        return known
    mistakes = len(report.mistakes)
    node = parse_yaml(data, report)
    if node is not None and len(report.mistakes) == mistakes:
        _remember(file, node)
    return node


def _recall(file: Path) -> Node | None:
    try:
        kept = parse(file.read_bytes())
        if kept["digest"] != _digest(kept["node"]):
            return None
        return _node(kept["node"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(file: Path, node: Node) -> None:
    """Keep ``node``; a memory that is full or cannot be written to does without."""
    try:
        file.parent.mkdir(exist_ok=True)
        if sum(1 for _ in file.parent.iterdir()) < MOST_KEPT:
            plain = _plain(node)
            write_whole(file, canonical({"digest": _digest(plain), "node": plain}), sync=False)
    except OSError:
        return


def _digest(plain: list[Any]) -> str:
    return hashlib.sha256(canonical(plain)).hexdigest()


def _plain(node: Node) -> list[Any]:
    value: Any = node.value
    if node.kind == "list":
        value = [_plain(item) for item in node.value]
    elif node.kind == "map":
        assert node.keys is not None
        value = [[key, *node.keys[key], _plain(item)] for key, item in node.value.items()]
    return [node.kind, value, node.line, node.column]


def _node(plain: list[Any]) -> Node:
    kind, value, line, column = plain
    if kind == "list":
        return Node(kind, tuple(_node(item) for item in value), line, column)
    if kind == "map":
        values = {key: _node(item) for key, _, _, item in value}
        return Node(kind, values, line, column, {key: (at, beside) for key, at, beside, _ in value})
    return Node(kind, value, line, column)
