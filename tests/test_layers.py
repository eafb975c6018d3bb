"""The house rules that a machine can read: who may import whom, and what no file may hold.

Every import below ``src/proctor`` is read, those inside functions too. Imports point down the stairs; inside one floor
a room (a sub-package) keeps to itself unless ``DOORS`` names the step; nothing goes round in circles.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "src" / "proctor"
DATA = PACKAGE / "author" / "demo" / "contract"
"""The bundled contract: files of another project, which are shipped and not imported."""

FLOORS = ("base", "contract", "record", "execute", "judge", "conduct", "author", "study", "present", "api", "cli")

FOR_PACKAGES = ("plugins", "testing")
"""What other packages import, beside the floors. It may use every floor up to ``present``, and no floor uses it."""

DOORS = {
    "record.signing": ("record.retain", "record.trace", "record.run_directory", "record.seal", "record.verify"),
    "record.trace": ("record.schema_versions",),
    "execute.sandbox": ("execute.workspace.path_patterns",),
    "execute.workspace": ("execute.sandbox.interface",),
    "execute.inputs": (
        "execute.sandbox.interface",
        "execute.workspace.archive_extraction",
        "execute.workspace.path_patterns",
    ),
    "execute.leakage": ("execute.inputs", "execute.workspace"),
    "execute.agents": (
        "execute.sandbox.interface",
        "execute.workspace.file_tree",
        "execute.workspace.layer_store",
        "execute.workspace.path_patterns",
        "execute.inputs",
    ),
    "execute.network": ("execute.sandbox.interface", "execute.sandbox.bubblewrap.init_protocol"),
    "execute.monitor": ("execute.sandbox.interface", "execute.workspace"),
    "execute.gateway": ("execute.monitor.price_table", "execute.monitor.text_rules.text_scan"),
    "judge.checks": ("judge.check_execution", "judge.patch_policy"),
    "judge.evidence_consistency": (
        *("judge.checks", "judge.patch_policy", "judge.risk_indicators", "judge.run_evidence", "judge.run_report"),
    ),
    "conduct.run": ("conduct.briefing", "conduct.inverted_pools", "conduct.machine_setup", "conduct.run_manifest"),
    "conduct.replay": ("conduct.briefing", "conduct.machine_setup", "conduct.run_manifest"),
    "conduct.batch": ("conduct.briefing", "conduct.machine_setup", "conduct.replay", "conduct.run"),
    "conduct.session": (
        *("conduct.batch", "conduct.inverted_pools", "conduct.machine_setup", "conduct.reference_patch"),
        *("conduct.replay", "conduct.run"),
    ),
    "author.import_": ("author.contract_edit", "author.patch_trial"),
    "author.mine": (*("author.contract_edit", "author.flaky_tests", "author.patch_trial", "author.validation"),),
    "study.index": ("study.run_table",),
    "study.stats": ("study.statements",),
    "study.analysis": ("study.stats", "study.run_table", "study.statements"),
    "study.table_import": ("study.run_table", "study.analysis", "study.statements"),
    "study.pilot": ("study.stats", "study.run_table", "study.index", "study.analysis", "study.statements"),
    "present.figures": ("present.readable_numbers", "present.html_markup"),
    "present.html": (
        "present.package_sections",
        "present.readable_numbers",
        "present.sentences",
        "present.figures",
        "present.html_markup",
    ),
    "present.sentences": ("present.readable_numbers",),
}
"""The steps from one room to another of the same floor."""

CLOSED = {"judge": ("execute.agents", "execute.gateway")}
"""What a floor may not use although it lies below: what judges never imports what acts."""

STANDS_ALONE = ("judge.plugin", "author.failures")
"""Rooms whose code runs inside the sandbox, where Proctor itself is not installed."""

HEAVY = frozenset(
    {"aiohttp", "cryptography", "duckdb", "genai_prices", "numpy", "pyrage", "scipy", "yarl", "zstandard"}
)
"""Packages that not every command needs; a function may import them."""

MOST_INNER_IMPORTS = 60


def module_name(path: Path) -> str:
    """The dotted name below ``proctor``, such as ``execute.sandbox.interface``; empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {
    module_name(path): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not path.is_relative_to(DATA) and "__pycache__" not in path.parts
}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module."""
    return {name: ast.parse(path.read_bytes(), filename=str(path)) for name, path in SOURCES.items()}


def imported(node: ast.AST, name: str) -> Iterator[str]:
    """The dotted names that an import statement in module ``name`` may load."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = node.module or ""
        if node.level:
            here = ["proctor", *name.split(".")]
            is_package = SOURCES[name].name == "__init__.py"
            here = here[: len(here) - node.level + is_package]
            origin = ".".join([*here, origin] if origin else here)
        for alias in node.names:
            yield f"{origin}.{alias.name}"


def own_imports(name: str) -> Iterator[tuple[str, int]]:
    """The modules of Proctor that module ``name`` imports anywhere, with the line."""
    for node in ast.walk(trees()[name]):
        for target in imported(node, name):
            if target != "proctor" and not target.startswith("proctor."):
                continue
            inner = target.removeprefix("proctor").removeprefix(".")
            while inner and inner not in SOURCES:
                inner = inner.rpartition(".")[0]
            if inner:
                yield inner, getattr(node, "lineno", 0)


def room(name: str) -> str:
    """The room of a module: the sub-package of its floor that holds it; a floor's plain modules are in none."""
    parts = name.split(".")
    if len(parts) > 2 or (len(parts) == 2 and SOURCES[name].name == "__init__.py"):
        return ".".join(parts[:2])
    return ""


def objection(name: str, target: str) -> str:
    """Why module ``name`` may not import ``target``; empty when it may."""
    floor, below = name.split(".")[0], target.split(".")[0]
    if room(name) in STANDS_ALONE and room(target) != room(name):
        return "runs inside the sandbox and stands alone"
    level = FLOORS.index("present" if floor in FOR_PACKAGES else floor)
    if below in FOR_PACKAGES:
        return "" if floor in FOR_PACKAGES else "a step up"
    if FLOORS.index(below) > level:
        return "a step up"
    if any(target == closed or target.startswith(closed + ".") for closed in CLOSED.get(floor, ())):
        return "a closed door"
    if below != floor or not room(name) or room(target) == room(name):
        return ""
    if any(target == door or target.startswith(door + ".") for door in DOORS.get(room(name), ())):
        return ""
    return "a step sideways"


def test_every_module_stands_on_a_floor() -> None:
    strangers = [name for name in SOURCES if name and name.split(".")[0] not in (*FLOORS, *FOR_PACKAGES, "__main__")]
    assert strangers == []


def test_imports_point_down() -> None:
    found = [
        f"{SOURCES[name].relative_to(PROJECT)}:{line}: {target} is {why}"
        for name in SOURCES
        if name and name != "__main__"
        for target, line in own_imports(name)
        if (why := objection(name, target))
    ]
    assert found == []


def test_what_the_monitor_decides_depends_on_events_alone() -> None:
    senses = ("execute.monitor.sensors", "execute.monitor.checkpoints", "execute.monitor.checkpoint_copy")
    found = [
        f"{name}: {target}"
        for name in SOURCES
        if name.startswith("execute.monitor.") and not name.startswith(senses)
        for target, _ in own_imports(name)
        if target.startswith(("execute.sandbox", "execute.workspace")) and target != "execute.workspace.path_patterns"
    ]
    assert found == []


def test_imports_make_no_circles() -> None:
    edges = {name: sorted({target for target, _ in own_imports(name)} - {name}) for name in SOURCES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in edges[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in edges:
        visit(name, ())


def inner_imports(name: str) -> Iterator[tuple[str, int]]:
    """What the functions of a module import, with the line."""
    for function in ast.walk(trees()[name]):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                for target in imported(node, name):
                    yield target, getattr(node, "lineno", 0)


def test_functions_import_heavy_packages_only() -> None:
    inner = {(name, *found) for name in SOURCES if room(name) not in STANDS_ALONE for found in inner_imports(name)}
    light = [
        f"{SOURCES[name].relative_to(PROJECT)}:{line}: {target}"
        for name, target, line in sorted(inner)
        if target.split(".")[0] not in HEAVY
    ]
    assert light == []
    assert len(inner) <= MOST_INNER_IMPORTS


def broad(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes every error and does not raise it again at its end."""
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    takes_all = any(name is None or ast.unparse(name) in ("Exception", "BaseException") for name in names)
    last = handler.body[-1]
    return takes_all and not (isinstance(last, ast.Raise) and last.exc is None)


CALLS_OTHER_PACKAGES = {"base.entry_points"}
"""What code of other packages raises can be anything, and is reported as an error of its package."""


def test_only_the_command_line_catches_everything() -> None:
    found = [
        f"{SOURCES[name].relative_to(PROJECT)}:{node.lineno}"
        for name, tree in trees().items()
        if name.split(".")[0] != "cli" and room(name) not in STANDS_ALONE and name not in CALLS_OTHER_PACKAGES
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and broad(node)
    ]
    assert found == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(SOURCES[name].relative_to(PROJECT)) for name, tree in trees().items() if not ast.get_docstring(tree)]
    assert silent == []


def test_names_explain_what_is_inside() -> None:
    vague = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
    assert [name for name in SOURCES if vague & set(name.split("."))] == []


SKIPPED = ("LICENSE", ".git")
"""Files at the top that nobody wrote here; `.git` is a file in a linked worktree."""


def written_files() -> list[Path]:
    """Every text file that people wrote."""
    kinds = {".py", ".c", ".h", ".md", ".yaml", ".toml", ".txt", ".sh", ""}
    places = [PROJECT / place for place in ("src", "tests", "tools", "bench", "docs", "examples", ".ci")]
    found = [path for path in PROJECT.iterdir() if path.is_file() and path.suffix in kinds and path.name not in SKIPPED]
    for place in places:
        found += [path for path in place.rglob("*") if path.is_file() and path.suffix in kinds]
    return sorted(path for path in found if not {"__pycache__", "bin"} & set(path.parts[len(PROJECT.parts) :]))


FOREIGN = {
    "a path of one machine": re.compile(r"(?<![\w.*/-])/(?:" + "work|Users|home/(?!agent)[a-z]+" + r")/"),
    "a path outside the tree": re.compile(r"\.\./" + "shared"),
    "a registry host": re.compile(
        "|".join(("pypi" + r"\.org/simple", "registry" + r"\.npmjs", "deb" + r"\.debian\.org"))
    ),
}


@pytest.mark.parametrize("kind", sorted(FOREIGN))
def test_the_tree_names_no(kind: str) -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{number}: {line.strip()[:100]}"
        for path in written_files()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if FOREIGN[kind].search(line)
    ]
    assert found == []
