"""The environment of a Python project as of a fix: wheels for an offline set-up, variables and the command of pytest.

Imports come from the workspace: the project is never installed, its source roots come first on the path, and a wheel
with its name is left out even if a test tool depends on it. What an installation would have left beside the code is
written by the set-up: the metadata with version and entry points, and version files that a build back end makes.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proctor.author.mine.environment import Environment, Evidence
from proctor.author.mine.known_fix import KnownFix, UnfitFix
from proctor.author.mine.path_kinds import SOURCE, kind_of
from proctor.author.mine.python_project import NOT_FOR_TESTS, PythonProject, Requirement, normalised, read_project
from proctor.author.mine.python_resolution import Resolution, Resolver, Unresolvable
from proctor.contract.lock import Locked, spec_text
from proctor.contract.model import Source
from proctor.judge.patch_policy.paths_of_tests import is_test

PYTHON = "/usr/bin/python3"
SITE = "/setup/site"
TEST_SECONDS = 60
"""How long one test may take before it counts as failed."""
TEXT_BYTES = 24 << 20
MOST_TEXTS = 1500

ALWAYS = ("pytest>=7.1", "pytest-timeout>=2.1")
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w]*)", re.MULTILINE)
_MODULES = {
    "pyyaml": "yaml",
    "attrs": "attr",
    "python-dateutil": "dateutil",
    "beautifulsoup4": "bs4",
    "pillow": "PIL",
    "scikit-learn": "sklearn",
    "pytest-asyncio": "pytest_asyncio",
    "typing-extensions": "typing_extensions",
    "python-dotenv": "dotenv",
    "pyjwt": "jwt",
    "protobuf": "google",
    "setuptools": "pkg_resources",
}
_USUAL = {
    "yaml": "pyyaml",
    "attr": "attrs",
    "dateutil": "python-dateutil",
    "pkg_resources": "setuptools<80",
    "mock": "mock",
    **{name: name for name in ("six", "packaging", "numpy", "requests", "pytz", "hypothesis", "jinja2", "freezegun")},
    **{name: name for name in ("pretend", "toml", "tomli", "simplejson", "psutil", "docutils", "pexpect", "trio")},
    "typing_extensions": "typing-extensions",
    "markupsafe": "markupsafe",
    "pygments": "pygments",
    "anyio": "anyio",
}
"""Modules that files import without a declaration, because development tools bring them, and their distributions."""
_TOP_IMPORT = re.compile(r"^(?:import|from) ([A-Za-z_]\w*)", re.MULTILINE)
_KEPT_OPTIONS = re.compile(r"--import-mode=\w+|--doctest-[a-z-]+(?:=\S+)?|--pyargs|-p=?no:\w+")
_OWN_PARTS = frozenset(
    ("tests", "test", "testing", "docs", "doc", "examples", "benchmarks", "scripts", "tools", "setup")
)


@dataclass(frozen=True)
class _Choice:
    """The requirements to try, from the most complete to the least."""

    what: str
    requirements: tuple[str, ...]
    pins: bool


def is_python(fix: KnownFix) -> bool:
    """Whether the fix is one of Python code with Python tests."""
    return any(one.path.endswith(".py") for one in fix.tests) and any(one.path.endswith(".py") for one in fix.others)


def for_fix(fix: KnownFix, resolver: Resolver, seconds: int) -> Environment:
    """The environment as of ``seconds``; the fix's own project files count, since a fix may need a new dependency."""
    project = read_project(fix.read_fix, fix.fix_paths)
    _require_interpreter(project)
    roots = source_roots(project, fix.base_paths)
    modules = modules_under_test(fix, roots)
    texts = _texts(fix)
    wanted = _wanted(project, texts)
    resolution, dropped = _resolved(project, wanted, texts, resolver, seconds)
    mine = {normalised(project.name), *(normalised(one) for one in modules)} - {"pytest"}
    changed = changed_modules(fix, roots)
    pins = [
        pin
        for pin in resolution.pins
        if normalised(pin.name) not in mine
        and (normalised(pin.name) == "pytest" or not changed & resolver.contents(pin))
    ]
    inputs = {}
    for pin in pins:
        source = Source("pypi", f"{normalised(pin.name)}=={pin.version}")
        inputs[normalised(pin.name)] = Locked(spec_text(source), (pin.file,))
    version = project_version(project, fix)
    notes = list(project.notes)
    if dropped:
        notes.append(dropped)
    if not resolution.day:
        why = "the time of the fix is not known" if resolution.client == "uv" else "uv is not installed"
        notes.append(f"the dependencies are those of today: {why}")
    evidence = [Evidence(one.file, one.line, one.text) for one in (*project.requirements, *wanted, *project.hints)]
    roots_shown = ":".join(f"/workspace/{root}" if root else "/workspace" for root in roots)
    return Environment(
        language="python",
        sources="pypi",
        inputs=inputs,
        variables={"PYTHONPATH": f"{roots_shown}:{SITE}", "PYTHONDONTWRITEBYTECODE": "1"},
        setup=setup_script(project, version, fix),
        tests=_command(project),
        results="pytest",
        imports=modules,
        evidence=tuple(evidence),
        notes=tuple(dict.fromkeys(notes)),
        as_of=resolution.day,
    )


def _require_interpreter(project: PythonProject) -> None:
    """Refuse a project that does not run on the interpreter of the sandbox."""
    here = sys.version_info[:2]
    for part in re.split(r"[,\s]+(?=[<>=!~])", project.requires_python):
        match = re.match(r"(>=|>|<=|<)\s*([0-9]{1,9})(?:\.([0-9]{1,9}))?(\S*)", part.strip())
        if not match:
            continue
        bound = (int(match[2]), int(match[3] or 0))
        bad = {">=": here < bound, ">": here < bound, "<": here >= bound, "<=": here > bound}[match[1]]
        if bad and not (match[1] == "<" and match[4].strip(".0")):
            message = f"the project needs Python {project.requires_python}, and sandboxes have {here[0]}.{here[1]}"
            raise UnfitFix("interpreter", message, hint="run Proctor on a machine with that interpreter")


def source_roots(project: PythonProject, paths: frozenset[str]) -> tuple[str, ...]:
    """The directories from which the project's modules are imported; the tree itself is always one."""
    found = [root.rstrip("/") for root in project.source_roots if root not in (".", "")]
    candidates = [*found, "src", "lib"]
    kept = [root for root in candidates if any(path.startswith(f"{root}/") and path.endswith(".py") for path in paths)]
    return (*dict.fromkeys(one for one in kept if f"{one}/__init__.py" not in paths), "")


def modules_under_test(fix: KnownFix, roots: Sequence[str]) -> tuple[str, ...]:
    """The top-level modules that the changed source files belong to."""
    found: dict[str, None] = {}
    for one in fix.others:
        if one.kind == SOURCE and one.path.endswith(".py") and one.before is not None:
            root = next((root for root in roots if root and one.path.startswith(f"{root}/")), "")
            inner = one.path[len(root) + 1 :] if root else one.path
            first = inner.split("/")[0].removesuffix(".py")
            package = posixpath.join(root, first)
            is_module = f"{package}.py" in fix.base_paths or f"{package}/__init__.py" in fix.base_paths
            if first.isidentifier() and first not in _OWN_PARTS and is_module:
                found[first] = None
    return tuple(found)[:5]


def changed_modules(fix: KnownFix, roots: Sequence[str]) -> frozenset[str]:
    """The changed source files as a wheel of the project has them.

    A wheel with one of them is a release of the project under a name that its files do not state, and may have the fix.
    """
    found = set()
    for one in fix.others:
        if one.kind == SOURCE and one.path.endswith(".py") and one.before is not None:
            root = next((root for root in roots if root and one.path.startswith(f"{root}/")), "")
            inner = one.path[len(root) + 1 :] if root else one.path
            if inner.split("/")[0].removesuffix(".py") not in _OWN_PARTS:
                found.add(inner)
    return frozenset(found)


def project_version(project: PythonProject, fix: KnownFix) -> str:
    """The version that the metadata gets: the declared one, or else the one that the tags of git describe."""
    for version in (project.version, fix.version):
        if re.fullmatch(r"[0-9][0-9A-Za-z.!+]{0,60}", version):
            return version
    return "0.0.0"


def _texts(fix: KnownFix) -> str:
    """The tests and sources of the fixed tree, to see what they import or name."""
    parts, left = [], TEXT_BYTES
    paths = [path for path in sorted(fix.fix_paths) if path.endswith(".py") and path not in ("setup.py", "noxfile.py")]
    ordered = sorted(paths, key=lambda path: (not (is_test(path) or path.endswith("conftest.py")), path))
    for path, data in fix.read_many(ordered[:MOST_TEXTS]).items():
        if kind_of(path) != "vendored" and len(data) <= left:
            left -= len(data)
            parts.append(data.decode("utf-8", "replace"))
    return "\n".join(parts)


def _wanted(project: PythonProject, texts: str) -> tuple[Requirement, ...]:
    """The requirements of tests that are needed: those that a file imports or names, and plug-ins of pytest."""
    imported = {name.lower() for name in _IMPORT.findall(texts)}
    found = []
    for one in project.test_requirements:
        module = _MODULES.get(one.name, one.name.replace("-", "_")).lower()
        if NOT_FOR_TESTS.match(one.name):
            if module in imported and not one.name.startswith(("pytest-", "types-")):
                found.append(one)
        elif module in imported or one.name == "pytest" or _is_plug_in(one.name) or _names(texts, one.name, module):
            found.append(one)
    return tuple(found)


def _is_plug_in(name: str) -> bool:
    return (
        name.startswith("pytest-") or name.endswith("-pytest") or name in ("anyio", "hypothesis", "trio", "freezegun")
    )


def _names(texts: str, name: str, module: str) -> bool:
    """Whether a text names the distribution or its module in quotes, as ``importorskip`` and plug-ins do."""
    return any(f"{sign}{one}{sign}" in texts for sign in "\"'" for one in (name, module))


def _resolved(
    project: PythonProject, wanted: Iterable[Requirement], texts: str, resolver: Resolver, seconds: int
) -> tuple[Resolution, str]:
    """Resolve what can be resolved: with the locked versions, without them, and with fewer test requirements."""
    needed = tuple(one.text for one in project.requirements)
    declared = {one.name for one in (*project.requirements, *wanted)}
    usual = [_USUAL[name] for name in sorted(set(_TOP_IMPORT.findall(texts)) & _USUAL.keys())]
    undeclared = [one for one in usual if one.partition("<")[0] not in declared]
    tests = (*(one.text for one in wanted), *undeclared)
    names = tuple(dict.fromkeys(one.name for one in wanted))
    unbounded = (*(name for name in names if name != "pytest"), *undeclared)
    choices = [
        _Choice("", (*needed, *tests, *ALWAYS), pins=True),
        _Choice("", (*needed, *tests, *ALWAYS), pins=False),
        _Choice("the bounds of test requirements were left out", (*needed, *unbounded, *ALWAYS), pins=False),
        _Choice("all test requirements but pytest were left out", (*needed, *ALWAYS), pins=False),
    ]
    problem: Unresolvable | None = None
    for choice in choices:
        if choice.pins and not project.pins:
            continue
        pins = {name: version for name, version in project.pins.items() if name not in ("pytest", "pytest-timeout")}
        try:
            found = resolver.resolve(choice.requirements, pins if choice.pins else {}, seconds)
        except Unresolvable as error:
            problem = problem or error
            continue
        return found, f"{choice.what}: {problem}" if choice.what else ""
    assert problem is not None
    raise UnfitFix("environment", problem.message, hint="write the inputs and the setup of the contract by hand")


def _command(project: PythonProject) -> tuple[str, ...]:
    """pytest with the options of the project that change what its tests mean; other options may need plug-ins."""
    kept = " ".join(one for one in project.pytest_options if _KEPT_OPTIONS.fullmatch(one))
    options = ("-o", f"addopts={kept}", "--rootdir=/workspace", f"--timeout={TEST_SECONDS}")
    return (PYTHON, "-m", "pytest", "-q", *options)


def setup_script(project: PythonProject, version: str, fix: KnownFix) -> str:
    """Unpack the wheels, and write what an installation of the project would have left beside its code."""
    lines = [
        f"mkdir -p {SITE}",
        f'for wheel in /inputs/*.whl; do {PYTHON} -m zipfile -e "$wheel" {SITE}; done',
        f'for part in {SITE}/*.data/*lib; do [ ! -d "$part" ] || cp -a "$part"/. {SITE}/; done',
    ]
    name = normalised(project.name) if re.fullmatch(r"[A-Za-z0-9._-]{1,100}", project.name) else ""
    if name:
        place = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
        facts = ["Metadata-Version: 2.1", f"Name: {project.name}", f"Version: {version}"]
        lines += [f"mkdir -p {shlex.quote(place)}", _written(facts, f"{place}/METADATA")]
        points = [
            line
            for title, entries in sorted(project.entry_points.items())
            for line in (f"[{title}]", *(f"{key} = {value}" for key, value in sorted(entries.items())))
        ]
        if points:
            lines.append(_written(points, f"{place}/entry_points.txt"))
    for path in dict.fromkeys(project.version_files):
        directory = posixpath.dirname(path)
        if path not in fix.base_paths and (not directory or any(p.startswith(f"{directory}/") for p in fix.base_paths)):
            lines.append(_written(_version_lines(path, version), f"/workspace/{path}"))
    return "".join(f"{line}\n" for line in lines)


def _written(lines: Sequence[str], path: str) -> str:
    return f"printf '%s\\n' {' '.join(shlex.quote(line) for line in lines)} > {shlex.quote(path)}"


def _version_lines(path: str, version: str) -> list[str]:
    """A version file in the form that setuptools-scm and hatch-vcs write."""
    if not path.endswith(".py"):
        return [version]
    parts = re.split(r"[.+]", version)
    numbers = ", ".join(part if part.isdigit() else repr(part) for part in parts)
    return [
        f"__version__ = version = {version!r}",
        f"__version_tuple__ = version_tuple = ({numbers},)",
        "__commit_id__ = commit_id = None",
    ]
