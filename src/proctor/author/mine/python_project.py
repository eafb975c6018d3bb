"""What the files of a Python project say about its environment. They are parsed, never run.

Read are ``pyproject.toml`` (extras, dependency groups, poetry, PDM, hatch), ``setup.cfg``, the constants in
``setup.py``, requirements files, ``tox.ini``, ``noxfile.py``, lock files and CI workflows. Everything is bounded; a
file that cannot be parsed is left out and noted.
"""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proctor.author.mine.python_resolution import is_pin, is_requirement

FILE_BYTES = 4 << 20
MOST_REQUIREMENTS = 400
MOST_INCLUDES = 20
MOST_CONSTANTS = 10_000
"""The most items of a list that sums of constants make."""
MOST_DEPTH = 100
MOST_DIGITS = 18

Read = Callable[[str], bytes | None]

TEST_NAMES = re.compile(
    r"(?:.*[-_])?(?:tests?|testing|dev|develop|development|ci|checks?|all|full|pytest)(?:[-_].*)?\Z", re.I
)
"""Names of extras, groups and files that hold what tests need."""

NOT_FOR_TESTS = re.compile(
    r"(?:mypy|ruff|black|flake8.*|isort|pre-commit|tox.*|nox|sphinx.*|.*sphinx.*|furo|mkdocs.*|twine|build|bump.*|"
    r"coverage.*|codecov|coveralls|pyright|pylint.*|pyupgrade|interrogate|types-.*|.*-stubs|towncrier|zest-releaser|"
    r"check-manifest|wheel|pip|pip-tools|virtualenv|uv|commitizen|pyroma|bandit|safety|ipython|ipdb|jupyter.*|notebook|"
    r"pallets-sphinx-themes|myst-parser|recommonmark|doc8|docutils-stubs|invoke|watchdog|gh-.*|tbump|cogapp|cog|"
    r"pytest-(?:cov|xdist|randomly|sugar|rerunfailures|clarity|codspeed|github-actions.*|instafail|parallel|memray|"
    r"mypy.*|ruff|black|flake8|isort|pylint|timeout|enabler|checkdocs|perf|reportlog|icdiff|profiling|custom-exit.*)"
    r"|jaraco-(?:packaging|tidelift)|rst-linker|pylint|pytype|pyre-check|attribution|trove-classifiers)\Z"
)
"""Distributions that development groups list and tests seldom need. A test that imports one gets it all the same."""

_COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:(?:uv|poetry|pdm|hatch|pipenv|coverage|xvfb-run)(?: run)? (?:-\S+ )*)?"
    r"(?:python3? -m )?(?:pytest|py\.test|tox|nox|unittest|trial|make (?:test|check))(?![\w-]*[:=])\b"
)
"""A line of a CI workflow that runs tests."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class Requirement:
    """One requirement as it is written, the file that has it, and the line if it is known."""

    text: str
    file: str
    line: int = 0

    @property
    def name(self) -> str:
        """The normalised name of the distribution."""
        match = _NAME.match(self.text)
        return normalised(match[0]) if match else ""


@dataclass(frozen=True)
class PythonProject:
    """What was found. ``test_requirements`` are those of groups and files for tests; ``pins`` come from lock files."""

    name: str = ""
    version: str = ""
    requires_python: str = ""
    requirements: tuple[Requirement, ...] = ()
    test_requirements: tuple[Requirement, ...] = ()
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    version_files: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    source_roots: tuple[str, ...] = ()
    pytest_options: tuple[str, ...] = ()
    hints: tuple[Requirement, ...] = ()
    notes: tuple[str, ...] = ()


def normalised(name: str) -> str:
    """The name of a distribution as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_project(read: Read, paths: frozenset[str]) -> PythonProject:
    """What the project files among ``paths`` say; ``read`` gives the bytes of a file."""
    return _Reader(read, paths).project()


class _Reader:
    """Collects from one file after another; the first that gives a value wins."""

    def __init__(self, read: Read, paths: frozenset[str]) -> None:
        self._read = read
        self._paths = paths
        self._texts: dict[str, str] = {}
        self._included: set[str] = set()
        self.name = self.version = self.requires_python = ""
        self.requirements: list[Requirement] = []
        self.extras: dict[str, list[Requirement]] = {}
        self.tests: list[Requirement] = []
        self.entry_points: dict[str, dict[str, str]] = {}
        self.version_files: list[str] = []
        self.options: list[str] = []
        self.roots: list[str] = []
        self.pins: dict[str, str] = {}
        self.hints: list[Requirement] = []
        self.notes: list[str] = []

    def project(self) -> PythonProject:
        toml = self._toml("pyproject.toml")
        self._pyproject(toml)
        self._setup_cfg()
        self._setup_py()
        for name, group in self.extras.items():
            if TEST_NAMES.match(name):
                self.tests += group
        for path in sorted(self._paths):
            if self._is_test_requirements(path):
                found = self._requirements_file(path)
                if re.search(r"#\s+via\b|pip-compile", self._text(path)):
                    self._pin(found)
                else:
                    self.tests += found
        self._tox()
        self._nox()
        self._locks()
        self._workflows()
        self._pytest_options(toml)
        mine = normalised(self.name)
        return PythonProject(
            name=self.name,
            version=self.version,
            requires_python=self.requires_python,
            requirements=self._usable(self.requirements, mine),
            test_requirements=self._usable(self.tests, mine),
            entry_points=self.entry_points,
            version_files=tuple(self.version_files),
            pins={name: version for name, version in self.pins.items() if name != mine},
            source_roots=tuple(dict.fromkeys(self.roots)),
            pytest_options=tuple(self.options),
            hints=tuple(self.hints[:20]),
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _usable(self, found: Iterable[Requirement], mine: str) -> tuple[Requirement, ...]:
        """The requirements that an index can satisfy, with the project's own extras replaced by what they list."""
        done: dict[str, Requirement] = {}
        waiting, seen = list(found), 0
        while waiting and seen < MOST_REQUIREMENTS * 2:
            one, seen = waiting.pop(0), seen + 1
            text = re.split(r"\s#", one.text)[0].strip()
            one = replace(one, text=text)
            if one.name == mine or text in ("", "."):
                inner = re.search(r"\[([^\]]*)\]", text)
                for extra in (inner[1] if inner else "").split(","):
                    waiting += self.extras.get(normalised(extra.strip()), [])
                continue
            if not is_requirement(text):
                shown = "".join(sign if sign.isprintable() else " " for sign in text[:100])
                self.notes.append(f"{one.file}: {shown} is not on an index and was left out")
                continue
            if len(done) < MOST_REQUIREMENTS:
                done.setdefault(text, one)
        return tuple(done.values())

    def _text(self, path: str) -> str:
        if path not in self._paths:
            return ""
        if path not in self._texts:
            data = self._read(path)
            self._texts[path] = "" if data is None or len(data) > FILE_BYTES else data.decode("utf-8", "replace")
        return self._texts[path]

    def _toml(self, path: str) -> dict[str, Any]:
        text = self._text(path)
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError):  # a number may have too many digits, besides wrong TOML
            self.notes.append(f"{path} is not valid TOML and was left out")
            return {}

    def _line(self, path: str, text: str) -> int:
        """The line of ``path`` that holds ``text`` first, or 0."""
        place = self._text(path).find(text)
        return self._text(path).count("\n", 0, place) + 1 if place >= 0 else 0

    def _listed(self, value: Any, path: str) -> list[Requirement]:
        """The texts of a list as requirements."""
        texts = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
        texts = texts[:MOST_REQUIREMENTS]
        return [Requirement(text.strip(), path, self._line(path, text)) for text in texts]

    def _pyproject(self, whole: dict[str, Any]) -> None:
        file = "pyproject.toml"
        project = _table(whole, "project")
        self.name = _string(project.get("name"))
        self.version = _string(project.get("version"))
        self.requires_python = _string(project.get("requires-python"))
        self.requirements += self._listed(project.get("dependencies"), file)
        for name, group in _table(project, "optional-dependencies").items():
            self.extras[normalised(name)] = self._listed(group, file)
        for title, group in (("console_scripts", "scripts"), ("gui_scripts", "gui-scripts")):
            self._entry_point_group(title, project.get(group))
        for title, entries in _table(project, "entry-points").items():
            self._entry_point_group(title, entries)
        groups = _table(whole, "dependency-groups")
        for name in groups:
            if TEST_NAMES.match(name):
                self.tests += self._group(groups, name, file, 0)
        tool = _table(whole, "tool")
        self._poetry(_table(tool, "poetry"), file)
        for group in _table(_table(tool, "pdm"), "dev-dependencies").values():
            self.tests += self._listed(group, file)
        self.tests += self._listed(_table(tool, "uv").get("dev-dependencies"), file)
        for name, inner in _table(_table(tool, "hatch"), "envs").items():
            if isinstance(inner, dict) and (name == "default" or TEST_NAMES.match(name)):
                self.tests += self._listed(inner.get("dependencies"), file)
                self.tests += self._listed(inner.get("extra-dependencies"), file)
        self._version_files(tool)
        where = _table(_table(_table(tool, "setuptools"), "packages"), "find").get("where")
        self.roots += [one for one in where if isinstance(one, str)] if isinstance(where, list) else []

    def _group(self, groups: dict[str, Any], name: str, file: str, depth: int) -> list[Requirement]:
        """A dependency group with those that it includes; none counts twice."""
        found: list[Requirement] = []
        group = groups.get(name) if f"{file}:{name}" not in self._included else None
        self._included.add(f"{file}:{name}")
        for one in group if isinstance(group, list) and depth < MOST_INCLUDES else []:
            if isinstance(one, str):
                found += self._listed([one], file)
            elif isinstance(one, dict):
                found += self._group(groups, _string(one.get("include-group")), file, depth + 1)
        return found

    def _poetry(self, poetry: dict[str, Any], file: str) -> None:
        self.name = self.name or _string(poetry.get("name"))
        self.version = self.version or _string(poetry.get("version"))
        own = _table(poetry, "dependencies")
        self.requires_python = self.requires_python or _poetry_bounds(_string(own.get("python")))
        optional = {
            normalised(name) for name, value in own.items() if isinstance(value, dict) and value.get("optional")
        }
        for one in self._poetry_requirements(own, file):
            (self.tests if one.name in optional else self.requirements).append(one)
        groups = [_table(poetry, "dev-dependencies")]
        groups += [_table(group, "dependencies") for group in _tables(_table(poetry, "group"))]
        for group in groups:
            self.tests += self._poetry_requirements(group, file)
        self._entry_point_group("console_scripts", poetry.get("scripts"))
        for title, entries in _table(poetry, "plugins").items():
            self._entry_point_group(title, entries)

    def _poetry_requirements(self, table: dict[str, Any], file: str) -> Iterator[Requirement]:
        for name, value in table.items():
            bounds = value.get("version") if isinstance(value, dict) else value
            if name.lower() == "python" or not _NAME.fullmatch(name):
                continue
            if isinstance(value, dict) and ({"git", "path", "url"} & value.keys()):
                self.notes.append(f"{file}: {name} is not on an index and was left out")
                continue
            extras = value.get("extras") if isinstance(value, dict) else None
            marks = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) and extras else ""
            when = _poetry_marker(value) if isinstance(value, dict) else ""
            text = f"{name}{marks}{_poetry_bounds(_string(bounds))}{when}"
            yield Requirement(text, file, self._line(file, f"{name} ="))

    def _entry_point_group(self, title: str, entries: Any) -> None:
        for name, value in entries.items() if isinstance(entries, dict) else ():
            if isinstance(value, str) and all(part.isprintable() and part for part in (title, name, value)):
                self.entry_points.setdefault(title, {})[name] = value

    def _version_files(self, tool: dict[str, Any]) -> None:
        """Files that a build back end writes from the tags of git."""
        scm = _table(tool, "setuptools_scm") | _table(tool, "setuptools-scm")
        found = [scm.get("write_to"), scm.get("version_file")]
        for hook in ("vcs", "version"):
            inner = _table(_table(_table(_table(tool, "hatch"), "build"), "hooks"), hook)
            found += [inner.get("version-file"), inner.get("path")]
        found.append(_table(_table(tool, "pdm"), "version").get("write_to"))
        self.version_files += [one for one in found if isinstance(one, str) and _is_inner(one)]

    def _setup_cfg(self) -> None:
        file = "setup.cfg"
        config = self._ini(file)
        if config is None:
            return

        def get(section: str, name: str, *, fallback: str) -> str:
            return config.get(section, name, fallback=fallback) or ""  # a name may be without a value

        self.name = self.name or get("metadata", "name", fallback="").strip()
        version = get("metadata", "version", fallback="").strip()
        self.version = self.version or (version if re.match(r"[0-9]", version) else "")
        self.requires_python = self.requires_python or get("options", "python_requires", fallback="").strip()
        self.requirements += self._ini_list(get("options", "install_requires", fallback=""), file)
        self.tests += self._ini_list(get("options", "tests_require", fallback=""), file)
        if config.has_section("options.extras_require"):
            for name, text in config.items("options.extras_require"):
                self.extras.setdefault(normalised(name), []).extend(self._ini_list(text, file))
        if config.has_section("options.entry_points"):
            for title, text in config.items("options.entry_points"):
                self._entry_point_lines(title, (text or "").splitlines())
        for root in (get("options.packages.find", "where", fallback=""), get("options", "package_dir", fallback="")):
            self.roots += [part.strip() for part in root.replace("=", "\n").splitlines() if _is_inner(part.strip())]

    def _ini(self, file: str) -> configparser.ConfigParser | None:
        text = self._text(file)
        if not text:
            return None
        config = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        try:
            config.read_string(text)
        except (configparser.Error, AttributeError):  # the latter where lines continue a name without a value
            self.notes.append(f"{file} cannot be parsed and was left out")
            return None
        return config

    def _ini_list(self, text: str | None, file: str) -> list[Requirement]:
        lines = [line.partition(" #")[0].strip() for line in (text or "").splitlines()[:MOST_REQUIREMENTS]]
        return [Requirement(line, file, self._line(file, line)) for line in lines if _NAME.match(line)]

    def _entry_point_lines(self, title: str, lines: Iterable[str]) -> None:
        pairs = (line.partition("=") for line in lines)
        self._entry_point_group(title, {name.strip(): value.strip() for name, sign, value in pairs if sign})

    def _setup_py(self) -> None:
        """The constant arguments of ``setup(...)``, where names may refer to constants of the module."""
        file = "setup.py"
        try:
            tree = ast.parse(self._text(file))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.notes.append(f"{file} cannot be parsed and was left out")
            return
        known: dict[str, Any] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                known[node.targets[0].id] = _constant(node.value, known)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _called(call) == "setup":
                self._setup_arguments({one.arg: _constant(one.value, known) for one in call.keywords if one.arg}, file)

    def _setup_arguments(self, found: dict[str, Any], file: str) -> None:
        self.name = self.name or _string(found.get("name"))
        self.version = self.version or _string(found.get("version"))
        self.requires_python = self.requires_python or _string(found.get("python_requires"))
        self.requirements += self._listed(_as_list(found.get("install_requires")), file)
        self.tests += self._listed(_as_list(found.get("tests_require")), file)
        extras = found.get("extras_require")
        for name, group in extras.items() if isinstance(extras, dict) else ():
            if isinstance(name, str):
                self.extras.setdefault(normalised(name), []).extend(self._listed(_as_list(group), file))
        points = found.get("entry_points")
        for title, lines in points.items() if isinstance(points, dict) else ():
            if isinstance(title, str):
                self._entry_point_lines(title, (one for one in _as_list(lines) if isinstance(one, str)))
        roots = found.get("package_dir")
        self.roots += [one for one in (roots.values() if isinstance(roots, dict) else ()) if _is_root(one)]
        scm = found.get("use_scm_version")
        target = scm.get("write_to") if isinstance(scm, dict) else None
        self.version_files += [target] if isinstance(target, str) and _is_inner(target) else []

    def _is_test_requirements(self, path: str) -> bool:
        directory, name = posixpath.split(path)
        if not name.endswith((".txt", ".in")) or directory.count("/") > 1:
            return False
        stem = name.rsplit(".", 1)[0]
        if directory.split("/")[-1] in ("requirements", "requirements-dev") and (
            TEST_NAMES.match(stem) or stem == "base"
        ):
            return True
        return (
            "requirement" in stem
            and (bool(TEST_NAMES.match(stem)) or stem == "requirements")
            and (directory in ("", "requirements", "tests", "test", "dev"))
        )

    def _requirements_file(self, path: str, above: set[str] | None = None) -> list[Requirement]:
        """The lines of a file and of those that it includes; each file counts once."""
        found: list[Requirement] = []
        seen = set() if above is None else above
        if path in seen or len(seen) > MOST_INCLUDES:
            return found
        seen.add(path)
        text = self._text(path).replace("\\\n", " ")
        for number, line in enumerate(text.splitlines()[:5000], 1):
            entry = re.split(r"\s#|\s--hash", line.strip())[0].strip()
            if match := re.match(r"(?:-r|--requirement|-c)[ =]?\s*(\S+)", entry):
                inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
                if not entry.startswith("-c"):
                    found += self._requirements_file(inner, seen)
            elif match := re.match(r"(?:-e|--editable)[ =]?\s*(\S+)", entry):
                if match[1].startswith("."):
                    found.append(Requirement(f"{self.name or '.'}{match[1].lstrip('./')}", path, number))
            elif entry and not entry.startswith(("#", "-")):
                found.append(Requirement(entry, path, number))
        return found

    def _pin(self, compiled: Iterable[Requirement]) -> None:
        """Take over the versions of a compiled file, which also lists what others depend on."""
        for one in compiled:
            if match := re.search(r"==\s*([0-9][0-9A-Za-z.!+]*)", one.text):
                self.pins.setdefault(one.name, match[1])

    def _tox(self) -> None:
        config = self._ini("tox.ini")
        for section in config.sections() if config else ():
            if (
                config
                and section.startswith("testenv")
                and (section == "testenv" or "test" in section[7:] or "py" in section)
            ):
                lines = [
                    re.sub(r"^[\w{},!.-]+:\s+", "", line)
                    for line in (config.get(section, "deps", fallback="") or "").splitlines()
                ]
                self._tool_lines(lines, "tox.ini")
                for extra in re.split(r"[\s,]+", config.get(section, "extras", fallback="") or ""):
                    self.tests += self.extras.get(normalised(extra), []) if extra else []

    def _tool_lines(self, lines: Iterable[str], file: str) -> None:
        for line in (one.strip() for one in lines):
            if match := re.match(r"-r\s*(?:\{toxinidir\}/)?(\S+)", line):
                self.tests += self._requirements_file(posixpath.normpath(match[1]))
            elif _NAME.match(line) and "{" not in line:
                self.tests.append(Requirement(line, file, self._line(file, line)))

    def _nox(self) -> None:
        """The constants in ``session.install(...)`` of sessions that run tests."""
        try:
            tree = ast.parse(self._text("noxfile.py"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and "test" in function.name:
                calls = (one for one in ast.walk(function) if isinstance(one, ast.Call) and _called(one) == "install")
                words = [
                    w.value for c in calls for w in c.args if isinstance(w, ast.Constant) and isinstance(w.value, str)
                ]
                pairs = zip(["", *words], words, strict=False)
                self._tool_lines(
                    [f"-r {word}" if before == "-r" else word for before, word in pairs if not word.startswith("-")],
                    "noxfile.py",
                )

    def _locks(self) -> None:
        for path in ("uv.lock", "poetry.lock", "pdm.lock"):
            packages = self._toml(path).get("package") if path in self._paths else None
            for one in packages if isinstance(packages, list) else ():
                name, version = (one.get("name"), one.get("version")) if isinstance(one, dict) else (None, None)
                if isinstance(name, str) and isinstance(version, str) and is_pin(name, version):
                    known = self.pins.setdefault(normalised(name), version)
                    if known != version:  # a fork for other interpreters or systems: no single pin
                        self.pins[normalised(name)] = ""
        self.pins = {name: version for name, version in self.pins.items() if version}

    def _workflows(self) -> None:
        """The commands of CI that run tests: hints for a person, with their lines."""
        for path in sorted(self._paths):
            if re.match(r"\.github/workflows/[^/]+\.ya?ml\Z", path) or path in (".travis.yml", ".gitlab-ci.yml"):
                for number, line in enumerate(self._text(path).splitlines()[:3000], 1):
                    text = re.sub(r"^\s*-?\s*(?:run|script):\s*", "", line).strip()
                    if _COMMAND.match(text) and len(text) < 200:
                        self.hints.append(Requirement(text, path, number))

    def _pytest_options(self, toml: dict[str, Any]) -> None:
        """The options of pytest in the project's configuration, where the first file that has any wins."""
        options: Any = None
        for file in ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"):
            config = self._ini(file)
            section = "tool:pytest" if file == "setup.cfg" else "pytest"
            if config and config.has_section(section):
                options = config.get(section, "addopts", fallback="")
                break
        else:
            options = _table(_table(_table(toml, "tool"), "pytest"), "ini_options").get("addopts")
        words = options if isinstance(options, list) else _string(options).split()
        self.options = [str(word) for word in words]


def _table(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _tables(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in value.values() if isinstance(one, dict)]


def _string(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return value.splitlines()
    return list(value) if isinstance(value, list | tuple) else []


def _is_inner(path: str) -> bool:
    """Whether ``path`` is a plain relative path that stays in the tree."""
    parts = path.split("/")
    return bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", path)) and ".." not in parts and "" not in parts


def _is_root(value: Any) -> bool:
    return isinstance(value, str) and _is_inner(value)


def _poetry_bounds(text: str) -> str:
    """Bounds of poetry as pip writes them: ``^1.2`` is ``>=1.2,<2``."""
    text = text.strip()
    if text in ("", "*") or "||" in text or "|" in text:
        return ""
    found = []
    for one in text.split(","):
        part = one.strip()
        match = re.fullmatch(rf"(\^|~)\s*([0-9]{{1,{MOST_DIGITS}}})((?:\.[0-9]{{1,{MOST_DIGITS}}})*)([^0-9].*)?", part)
        if match:
            numbers = [int(match[2]), *map(int, filter(None, match[3].split(".")))]
            place = (
                next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
                if match[1] == "^"
                else min(1, len(numbers) - 1)
            )
            upper = [*numbers[:place], numbers[place] + 1]
            found.append(f">={match[2]}{match[3]}{match[4] or ''},<{'.'.join(map(str, upper))}")
        elif re.match(r"[0-9]", part):
            found.append(f"=={part}")
        elif re.match(r"(?:[<>=!]=?|~=)", part):
            found.append(part)
    return ",".join(found)


def _poetry_marker(value: dict[str, Any]) -> str:
    """The marker of a dependency that poetry installs on some interpreters or systems only."""
    bounds = _poetry_bounds(_string(value.get("python")))
    parts = [f"({_string(value.get('markers'))})"] if _string(value.get("markers")) else []
    for one in bounds.split(",") if bounds else ():
        match = re.fullmatch(r"([<>=!~]+)\s*([0-9]+(?:\.[0-9]+)?)[0-9.]*", one)
        parts += [f"python_version {match[1]} '{match[2]}'"] if match else []
    return f" ; {' and '.join(parts)}" if parts else ""


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _constant(node: ast.expr, known: Mapping[str, Any], depth: int = 0) -> Any:
    """The value of an expression of constants, known names and sums; ``None`` for anything else, also inside."""
    if depth > MOST_DEPTH:
        return None
    depth += 1
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.List | ast.Tuple):
        return [_constant(one, known, depth) for one in node.elts]
    if isinstance(node, ast.Dict):
        keys = [_constant(one, known, depth) if one is not None else None for one in node.keys]
        pairs = zip(keys, node.values, strict=True)
        return {key: _constant(value, known, depth) for key, value in pairs if isinstance(key, str)}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _constant(node.left, known, depth), _constant(node.right, known, depth)
        if isinstance(left, list) and isinstance(right, list) and len(left) + len(right) <= MOST_CONSTANTS:
            return left + right
    if isinstance(node, ast.Call) and _called(node) == "dict":
        return {one.arg: _constant(one.value, known, depth) for one in node.keywords if one.arg}
    return None
