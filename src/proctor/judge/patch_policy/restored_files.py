"""What the judge restores before checks run: files that steer runners, and files that the contract protects.

Only paths that the patch touched are looked at. A steering file that the patch added is removed; one that it changed
or removed is restored from the base; of a file that steers with some tables, only those are restored. Globs in
``free_steering`` exempt paths from steering, never from protection. A file that would be imported in place of a module
of a test runner or of the standard library, or a link in place of a directory from which tests import, is removed,
unless the project has such a module itself. Pure except for reading the base.

TOML and INI are handled as text, so that comments and order survive; JSON is read and written again. A restored TOML
file is parsed and compared before it is used. INI dialects differ in what a header is, so any line that could open a
steering section counts as one. A file that cannot be split with certainty is restored as a whole.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proctor.contract.model import Policy
from proctor.execute.workspace.path_patterns import matches
from proctor.judge.patch_policy.paths_of_tests import TABLES, Has, Places, has_module, shadowing, shadows_runner, steers
from proctor.judge.patch_policy.tree_overlay import ReadBase, TreeOverlay

TOML_TABLES = ("pytest", "coverage", "tox", "nox", "hatch.envs", "pdm.scripts", "poe", "taskipy")
"""Tables below ``[tool]`` that steer runners."""

INI_SECTIONS = ("pytest", "coverage", "nosetests", "aliases", "tox", "testenv", "unittest")
"""Words that mark a section of ``setup.cfg`` or ``tox.ini`` as steering, such as ``[tool:pytest]``."""

JSON_KEYS = ("scripts", "jest", "mocha", "ava", "nyc", "c8", "tap", "babel", "vitest", "jasmine", "config")
"""Keys of ``package.json`` that steer runners."""

MAX_BYTES = 512 << 10

_TOML_HEADER = re.compile(r"[ \t]*\[\[?[ \t]*([^\[\]]+?)[ \t]*\]\]?[ \t]*(?:#.*)?\Z")
_INI_STEERING = re.compile(rf"\s*\[[^a-z0-9]*(?:tool\W+)?(?:{'|'.join(INI_SECTIONS)})(?![a-z0-9_.])", re.IGNORECASE)


def restored(name: bytes, base: bytes | None, patched: bytes) -> bytes | None:
    """``patched`` with the steering tables of ``base``; ``patched`` itself when they are the same.

    ``None`` if they cannot be separated, and the whole file has to be restored.
    """
    if base == patched:
        return patched
    if len(patched) > MAX_BYTES or len(base or b"") > MAX_BYTES:
        return None
    try:
        before, after = (base or b"").decode(), patched.decode()
    except UnicodeDecodeError:
        return None
    try:
        if name == b"package.json":
            made = _restore_json(before, after)
        elif name == b"pyproject.toml":
            made = _restore_toml(before, after)
        else:
            made = _restore_ini(before, after)
    except (ValueError, RecursionError):
        return None
    return None if made is None else made.encode("utf-8", "surrogatepass")


def _restore_json(before: str, after: str) -> str | None:
    old, new = json.loads(before or "{}"), json.loads(after)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None
    if all(key in old if key in new else key not in old for key in JSON_KEYS) and all(
        old[key] == new[key] for key in JSON_KEYS if key in old
    ):
        return after
    merged = {key: value for key, value in new.items() if key not in JSON_KEYS}
    merged |= {key: old[key] for key in JSON_KEYS if key in old}
    return json.dumps(merged, indent=2, ensure_ascii=False) + "\n"


def _restore_toml(before: str, after: str) -> str | None:
    """Replace the steering tables of ``after`` by those of ``before``, and check the result."""
    wanted, _ = _toml_parts(before)
    found, rest = _toml_parts(after)
    if wanted == found:
        return after
    made = _joined(
        "".join(text for name, text in _toml_sections(after) if not _steers_toml(name)),
        "".join(text for name, text in _toml_sections(before) if _steers_toml(name)),
    )
    return made if _toml_parts(made) == (wanted, rest) else None


def _toml_parts(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The steering tables, however they are written, and everything else."""
    whole = tomllib.loads(text)
    found: dict[str, Any] = {}
    for table in TOML_TABLES:
        *way, last = ("tool", *table.split("."))
        place: Any = whole
        for part in way:
            place = place.get(part) if isinstance(place, dict) else None
        found[table] = place.pop(last, None) if isinstance(place, dict) else None
    tool = whole.get("tool")
    if isinstance(tool, dict):
        whole["tool"] = {name: value for name, value in tool.items() if value != {}}
        if not whole["tool"]:
            del whole["tool"]
    return found, whole


def _toml_sections(text: str) -> list[tuple[str, str]]:
    """The text cut at its headers, with the name of each part; the part before the first header has none."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines(keepends=True):
        header = _TOML_HEADER.match(line.rstrip("\r\n"))
        if header:
            parts.append((re.sub(r"[ \t]*\.[ \t]*", ".", re.sub("[\"']", "", header[1])), []))
        parts[-1][1].append(line)
    return [(name, "".join(lines)) for name, lines in parts]


def _steers_toml(name: str) -> bool:
    return any(name == f"tool.{table}" or name.startswith(f"tool.{table}.") for table in TOML_TABLES)


def _restore_ini(before: str, after: str) -> str:
    """Replace every section of ``after`` that may steer by those of ``before``."""
    old, new = _ini_parts(before), _ini_parts(after)
    return after if old[0] == new[0] else _joined(new[1], old[0])


def _ini_parts(text: str) -> tuple[str, str]:
    """The text of the sections that may steer a runner, and the rest."""
    parts = ([], [])  # type: tuple[list[str], list[str]]
    place = parts[1]
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            place = parts[0] if _INI_STEERING.match(line) else parts[1]
        place.append(line)
    return "".join(parts[0]), "".join(parts[1])


def _joined(own: str, bases: str) -> str:
    return own + ("\n" if own and not own.endswith("\n") else "") + bases


LINK = 0o120000

PROTECTED, STEERING, STEERING_TABLES, SHADOWING = "protected", "steering", "steering-tables", "shadowing"


@dataclass(frozen=True)
class Restored:
    """A path that was restored to the base's version, and why: one of the four codes above, or ``hidden``."""

    path: bytes
    why: str


def restore(
    placement: TreeOverlay, policy: Policy, read_base: ReadBase, places: Places | None = None, has: Has | None = None
) -> tuple[Restored, ...]:
    """Restore in ``placement`` what the patch may not change; returns what was restored, in order of path.

    ``has`` says which files the pristine tree has; these are the project's own. Without it, the files of the base
    count.
    """
    done = []
    roots = (places or Places()).roots(lambda path: placement.read(path, read_base) is not None)
    own = has or (lambda path: read_base(path) is not None)
    for path in placement.touched():
        why = _restore_one(placement, path, policy, read_base, roots, own)
        if why:
            done.append(Restored(path, why))
    return tuple(done)


def _restore_one(
    placement: TreeOverlay, path: bytes, policy: Policy, read_base: ReadBase, roots: frozenset[bytes], own: Has
) -> str:
    if _any(path, policy.protected):
        return PROTECTED if placement.restore(path, read_base) else ""
    kind = steers(path, own)
    shadow = shadows_runner(path, own) or (not kind and _stands_in(placement, path, read_base, roots))
    if not (kind or shadow) or _any(path, policy.free_steering):
        return ""
    if kind == TABLES:
        return _restore_tables(placement, path, read_base)
    return (SHADOWING if shadow else STEERING) if placement.restore(path, read_base) else ""


def _stands_in(placement: TreeOverlay, path: bytes, read_base: ReadBase, roots: frozenset[bytes]) -> bool:
    """Whether ``path`` is a module with the name of another project, or a link in place of a directory for imports."""
    now = placement.read(path, lambda _: None)
    if now is None or read_base(path) is not None:
        return False
    if now[0] == LINK and any(root == path or root.startswith(path + b"/") for root in roots):
        return True
    if now[0] != LINK and b"." not in path.rpartition(b"/")[2]:
        return False
    module = shadowing(path, roots).encode()
    above = tuple(root + b"/" if root else b"" for root in roots)
    return bool(module) and not has_module(module, above, lambda form: read_base(form) is not None)


def _restore_tables(placement: TreeOverlay, path: bytes, read_base: ReadBase) -> str:
    """Restore the steering tables if the patch changed the file, or all of it if it was removed or is not a file."""
    now, base = placement.read(path, lambda _: None), read_base(path)
    if now is None or now[0] == LINK or (base is not None and base[0] == LINK):
        return STEERING if placement.restore(path, read_base) else ""
    made = restored(path.rpartition(b"/")[2], base[1] if base else None, now[1])
    if made is None:
        return STEERING if placement.restore(path, read_base) else ""
    if made == now[1]:
        return ""
    placement.put(path, now[0], made)
    return STEERING_TABLES


def _any(path: bytes, patterns: tuple[str, ...], match: Callable[[bytes, str], bool] = matches) -> bool:
    return any(match(path, pattern) for pattern in patterns)
