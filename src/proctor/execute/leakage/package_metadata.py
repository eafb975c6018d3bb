"""Read the ecosystem, name and version of a package from its metadata files. Pure.

It reads the metadata of wheels, eggs and source releases (``METADATA``, ``PKG-INFO``), the files that declare a Python
project (``pyproject.toml``, ``setup.cfg``, literals in ``setup.py``), ``package.json``, and Debian's control files. No
code of a package runs. A malformed file declares nothing.
"""

from __future__ import annotations

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PYPI, NPM, DEB = "pypi", "npm", "deb"

_DECLARING = ("PKG-INFO", "METADATA", "pyproject.toml", "setup.cfg", "setup.py", "package.json", "control")
_CHANGELOG = re.compile(r"([a-z0-9][a-z0-9+.-]+) \(([^)\s]+)\)")
_LITERAL = r"\b{}\s*=\s*['\"]([^'\"\n]+)['\"]"
_TEXT_BYTES = 1 << 20


@dataclass(frozen=True)
class Package:
    """A package; ``root`` is the directory of its files. ``version`` is empty if it is not declared."""

    ecosystem: str
    name: str
    version: str
    root: str


def is_metadata(path: str) -> bool:
    """Whether the file ``path`` may declare a package."""
    name = path.rpartition("/")[2]
    return name in _DECLARING or name.endswith((".egg-info", ".dsc")) or f"/{path}".endswith("/debian/changelog")


def packages_in(path: str, data: bytes) -> tuple[Package, ...]:
    """The packages that the metadata file ``path`` declares."""
    text = data[:_TEXT_BYTES].decode("utf-8", "replace")
    directory, _, name = path.rpartition("/")
    try:
        return tuple(
            Package(ecosystem, normalised(ecosystem, found), version, root)
            for ecosystem, found, version, root in _declared(directory, name, text)
            if found
        )
    except (ValueError, SyntaxError, RecursionError, MemoryError, configparser.Error):
        return ()


def normalised(ecosystem: str, name: str) -> str:
    """A name as its ecosystem compares it."""
    name = name.strip().lower()
    return re.sub(r"[-_.]+", "-", name) if ecosystem == PYPI else name


def same_version(ecosystem: str, one: str, other: str) -> bool:
    """Whether two versions mean the same release, such as ``v1.4`` and ``1.4.0``; the revision of a Debian package
    and its epoch do not count."""
    return _release(ecosystem, one) == _release(ecosystem, other)


def debian_names(ecosystem: str, name: str) -> tuple[str, ...]:
    """The binary packages of Debian that contain a project of another ecosystem."""
    if ecosystem == PYPI:
        return tuple(f"{interpreter}-{name}" for interpreter in ("python3", "python", "pypy3"))
    return (f"node-{name.removeprefix('@').replace('/', '-')}",) if ecosystem == NPM else ()


def _release(ecosystem: str, version: str) -> str:
    text = version.strip().lower().removeprefix("v").partition("+")[0]
    if ecosystem == DEB:
        text = re.sub(r"-[^-]*$", "", re.sub(r"^\d+:", "", text))
    return re.sub(r"(\.0)+$", "", text)


def _declared(directory: str, name: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    """Ecosystem, name, version and root of what a file declares."""
    parent, _, last = directory.rpartition("/")
    if name == "METADATA" and not last.endswith(".dist-info"):
        return
    if name in ("PKG-INFO", "METADATA") or name.endswith(".egg-info"):
        fields = _headers(text)
        beside = last.endswith((".dist-info", ".egg-info")) or last == "EGG-INFO"
        yield PYPI, fields.get("name", ""), fields.get("version", ""), parent if beside else directory
    elif name == "pyproject.toml":
        yield PYPI, *_pyproject(tomllib.loads(text)), directory
    elif name == "setup.cfg":
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
        version = parser.get("metadata", "version", fallback="")
        literal = version if re.match(r"v?\d", version) else ""
        yield PYPI, parser.get("metadata", "name", fallback=""), literal, directory
    elif name == "setup.py":
        yield PYPI, *_setup_py(text), directory
    elif name == "package.json":
        found, version = _strings(json.loads(text), "name", "version")
        yield NPM, found, version, directory
    else:
        yield from _debian(directory, name, text)


def _debian(directory: str, name: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    root = directory.rpartition("/")[0] if directory.rpartition("/")[2] in ("debian", "DEBIAN") else directory
    if name == "changelog":
        match = _CHANGELOG.match(text)
        if match:
            yield DEB, match[1], match[2], root
        return
    for stanza in re.split(r"\n\s*\n", text):
        fields = _headers(stanza)
        version = fields.get("version", "")
        source, _, of_source = fields.get("source", "").partition("(")
        yield DEB, source, of_source.rstrip(") ") or version, root
        yield DEB, fields.get("package", ""), version, root


def _headers(text: str) -> dict[str, str]:
    """The ``Name: value`` lines up to the first empty line; if a name is repeated, its first line counts."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() and fields:
            break
        key, colon, value = line.partition(":")
        if colon and key and not key[0].isspace():
            fields.setdefault(key.strip().lower(), value.strip())
    return fields


def _pyproject(whole: dict[str, Any]) -> tuple[str, str]:
    tool = whole.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    for table in (whole.get("project"), poetry):
        name, version = _strings(table, "name", "version")
        if name:
            return name, version
    return "", ""


def _strings(table: Any, *keys: str) -> tuple[str, ...]:
    """The values of ``keys`` that are text; empty text for any other."""
    found = [table.get(key) if isinstance(table, dict) else None for key in keys]
    return tuple(value if isinstance(value, str) else "" for value in found)


def _setup_py(text: str) -> tuple[str, str]:
    """Name and version that ``setup.py`` passes to ``setup``, as literals or as constants of the module."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        found = [re.search(_LITERAL.format(key), text) for key in ("name", "version")]
        name, version = (match[1] if match else "" for match in found)
        return name, version
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    given: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "setup":
            for keyword in node.keywords:
                value = keyword.value
                if isinstance(value, ast.Constant):
                    given.setdefault(keyword.arg or "", value.value)
                elif isinstance(value, ast.Name) and value.id in constants:
                    given.setdefault(keyword.arg or "", constants[value.id])
    name, version = _strings(given, "name", "version")
    return name, version
