"""Write the contract of a fix: the form with its lock, the issue, the patch of the solution and the hidden tests.

The lists of tests are derived later. Values of others are quoted as JSON, which YAML reads alike.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.author.mine.environment import Environment
from proctor.author.mine.known_fix import ChangedFile, KnownFix, UnfitFix
from proctor.author.mine.path_kinds import SOURCE, kind_of
from proctor.author.mine.task_text import TaskText
from proctor.base.canonical import canonical
from proctor.base.errors import UsageFault
from proctor.base.files import write_whole
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.lock import LOCK_NAME, Lock, write_lock
from proctor.contract.text_types import NAME

TESTS_CHECK = "tests"
MOST_TEST_FILES = 60
CHECK_SECONDS = 600
_TEST_CODE = re.compile(
    rb"^\s*(?:async\s+)?def test|^\s*class \w*Test|^\s*class \w+\(.*TestCase|parametrize", re.MULTILINE
)


@dataclass(frozen=True)
class Remark:
    """Something that a person should look at, with its place in the contract's directory."""

    file: str
    line: int
    code: str
    text: str


def test_files(fix: KnownFix) -> tuple[str, ...]:
    """The changed files that hold tests and that a runner can be given."""
    found = []
    for one in fix.tests:
        name = posixpath.basename(one.path)
        if one.after is None or not name.endswith(".py") or name in ("conftest.py", "__init__.py"):
            continue
        if _TEST_CODE.search(one.after[1]):
            found.append(one.path)
    if not found:
        raise UnfitFix("no-test-module", "the fix changes no file with tests that pytest can run")
    if len(found) > MOST_TEST_FILES:
        raise UnfitFix("too-large", f"the fix changes {len(found)} files with tests; the most are {MOST_TEST_FILES}")
    return tuple(found)


def write_contract(
    directory: Path,
    name: str,
    fix: KnownFix,
    environment: Environment,
    text: TaskText,
    kind: str,
    scratch: Path | None = None,
) -> tuple[Path, ...]:
    """Write the contract ``name`` into ``directory``, which must be new or empty; the files written."""
    if not NAME.matches(name):
        raise UsageFault(f"{name!r} cannot be the name of a contract", hint=f"it has to be {NAME.expected}")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageFault("exists and is not an empty directory", where=str(directory), hint="name a new directory")
    patch = fix.reference(scratch)
    if not patch:
        raise UnfitFix("no-source", "the fix changes nothing but tests")
    files = {CONTRACT_NAME: (0o644, _form(name, fix, environment, text, kind).encode())}
    files["issue.md"] = (0o644, text.whole.encode("utf-8", "replace"))
    files["reference.patch"] = (0o644, patch)
    for one in fix.tests:
        if one.after is not None:
            mode, data = one.after
            files[f"hidden/{one.path}"] = (0o755 if mode & 0o100 else 0o644, data)
    written = []
    for path, (mode, data) in files.items():
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, data, mode=mode, sync=False)
        written.append(place)
    write_lock(directory / LOCK_NAME, Lock(environment.inputs, fix.locked))
    return (*written, directory / LOCK_NAME)


def _form(name: str, fix: KnownFix, environment: Environment, text: TaskText, kind: str) -> str:
    sources = [one for one in fix.others if one.kind == SOURCE]
    modules = [one.path for one in sources if one.before is not None]
    checked = [one.path for one in sources if one.before and one.after and one.path.endswith(".py")]
    count = len([one for one in fix.others if one.kind != "changelog"])
    repository = ", ".join(f"{key}: {_value(value)}" for key, value in fix.repository.items())
    lines = [
        f"# Written from the fix {_plain(fix.name)} by Proctor. The issue is a draft: read it.",
        "schema: 1",
        "",
        "contract:",
        f"  name: {name}",
        f"  title: {_value(text.title)}",
        f"  kind: {kind}",
        f"  strata: {{language: {environment.language}}}",
        "",
        "task:",
        "  issue: issue.md",
        *([f"  targets: {{modules: {_value(modules[:20])}}}"] if modules else []),
        "",
        f"repository: {{{repository}}}",
        "",
        "# The wheels of the environment, pinned in contract.lock"
        + (f", as of {environment.as_of}." if environment.as_of else "."),
        "inputs:",
        *(
            f"  - {{{environment.sources}: {_value(locked.spec.split(' ')[1])}, name: {one}}}"
            for one, locked in sorted(environment.inputs.items())
        ),
        "",
        "environment:",
        "  variables:",
        *(f"    {key}: {_value(value)}" for key, value in environment.variables.items()),
        "",
        "setup:",
        "  - run: |",
        *(f"      {line}" for line in environment.setup.splitlines()),
        "",
        "policy:",
        *([f"  protected: {_value(list(protected))}"] if (protected := _protected(fix.tests)) else []),
        f"  max_changed_files: {max(10, 2 * count)}",
        "",
        "budget: {wall_seconds: 1800, memory_bytes: 2147483648}",
        "",
        "checks:",
        *_imports_check(environment),
        *_compiles_check(checked),
        f"  - id: {TESTS_CHECK}",
        "    gate: acceptance",
        "    layer: unit",
        f"    run: {_value([*environment.tests, *test_files(fix)])}",
        f"    timeout_seconds: {CHECK_SECONDS}",
        f"    results: {environment.results}",
        "    hidden: [{from: hidden}]",
        "",
        "reference: {patch: reference.patch}",
    ]
    return "\n".join(lines) + "\n"


def _imports_check(environment: Environment) -> list[str]:
    """A check that the modules under test come from the tree: a release in their place would hide every fault."""
    if not environment.imports:
        return ["  - id: builds", "    gate: build", "    no_op: true"]
    code = (
        "from importlib.util import find_spec\n"
        f"for name in {list(environment.imports)!r}:\n"
        "    spec = find_spec(name)\n"
        "    place = str([*(spec.submodule_search_locations or ()), spec.origin][0])\n"
        "    assert place.startswith('/workspace/'), f'{name} is imported from {place}'\n"
        "    __import__(name)\n"
    )
    run = ["/usr/bin/python3", "-c", code]
    return ["  - id: imports", "    gate: build", f"    run: {_value(run)}", "    timeout_seconds: 120"]


def _compiles_check(paths: Sequence[str]) -> list[str]:
    if not paths:
        return ["  - id: compiles", "    gate: static", "    no_op: true"]
    return [
        "  - id: compiles",
        "    gate: static",
        f"    run: {_value(['/usr/bin/python3', '-m', 'py_compile', *paths[:50]])}",
        "    variables: {PYTHONPYCACHEPREFIX: /tmp/pycache}",
        "    timeout_seconds: 120",
    ]


def _protected(tests: Sequence[ChangedFile]) -> tuple[str, ...]:
    """The directories of tests that the fix touched, as globs; a test beside the source is protected by its name."""
    found: dict[str, None] = {}
    for one in tests:
        parts = one.path.split("/")
        depth = next(
            (n for n, part in enumerate(parts[:-1], 1) if part.lower() in ("test", "tests", "spec", "specs")), 0
        )
        glob = "/".join(parts[:depth]) + "/**" if depth else one.path
        if not set(glob.removesuffix("/**")) & set("*?[]{}!\\"):
            found[glob] = None
    return tuple(found)


def _value(value: str | int | list[str]) -> str:
    return canonical(value).decode()


def _plain(text: str) -> str:
    return "".join(sign for sign in text if sign.isprintable())[:80]


def line_of(path: Path, start: str) -> int:
    """The first line of a file that begins with ``start``, spaces apart; 0 if there is none."""
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        if line.strip().startswith(start):
            return number
    return 0


def is_generated_only(fix: KnownFix) -> bool:
    """Whether the fix changes no source beside vendored and generated files."""
    return not any(kind_of(one.path) == SOURCE for one in fix.others)
