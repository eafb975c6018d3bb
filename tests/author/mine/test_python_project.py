"""Requirements, entry points and version files are found in every usual project file."""

from __future__ import annotations

import json

import pytest

from proctor.author.mine.python_project import PythonProject, read_project


def read(**files: str) -> PythonProject:
    """The project of some files; two underscores in a name stand for a dot, three for a slash."""
    named = {name.replace("___", "/").replace("__", "."): text for name, text in files.items()}
    return read_project(lambda path: named[path].encode(), frozenset(named))


def texts(project: PythonProject) -> tuple[list[str], list[str]]:
    return [one.text for one in project.requirements], [one.text for one in project.test_requirements]


def test_pyproject_with_extras_groups_and_includes() -> None:
    toml = """
[project]
name = "My_Pkg"
version = "1.2"
requires-python = ">=3.9"
dependencies = ["click>=8", "odd @ git+https://example.org/x"]
[project.optional-dependencies]
test = ["pytest", "my-pkg[extra]"]
extra = ["rich"]
docs = ["sphinx"]
[project.scripts]
run = "my_pkg:main"
[project.entry-points.pytest11]
mine = "my_pkg.plugin"
[dependency-groups]
tests = [{include-group = "base"}, "hypothesis"]
base = ["attrs"]
[tool.pytest.ini_options]
addopts = ["--import-mode=importlib", "-ra"]
[tool.setuptools_scm]
write_to = "src/my_pkg/_version.py"
[tool.hatch.build.hooks.vcs]
version-file = "../../escape.py"
"""
    found = read(pyproject__toml=toml)
    assert texts(found) == (["click>=8"], ["attrs", "hypothesis", "pytest", "rich"])
    assert found.requirements[0].line == 6 and found.requires_python == ">=3.9"
    assert found.entry_points == {"console_scripts": {"run": "my_pkg:main"}, "pytest11": {"mine": "my_pkg.plugin"}}
    assert found.version_files == ("src/my_pkg/_version.py",)
    assert found.pytest_options == ("--import-mode=importlib", "-ra")
    assert any("odd" in note for note in found.notes)


def test_poetry_with_carets_markers_and_groups() -> None:
    toml = """
[tool.poetry]
name = "p"
version = "2.0"
[tool.poetry.dependencies]
python = "^3.8"
click = "^8.1.2"
old = {version = "~0.4", python = "~3.6"}
extra = {version = "*", optional = true}
source = {git = "https://example.org/x"}
[tool.poetry.group.dev.dependencies]
pytest = ">=7,<8"
[tool.poetry.dev-dependencies]
attrs = "21.4.0"
"""
    found = read(pyproject__toml=toml)
    old = "old>=0.4,<0.5 ; python_version >= '3.6' and python_version < '3.7'"
    assert texts(found) == (["click>=8.1.2,<9", old], ["extra", "attrs==21.4.0", "pytest>=7,<8"])
    assert found.requires_python == ">=3.8,<4"


def test_setup_cfg_and_constants_of_setup_py() -> None:
    cfg = """
[metadata]
name = s
version = attr: s.__version__
[options]
python_requires = >=3.7
install_requires =
    six>=1.0  # why
package_dir =
    =lib
[options.extras_require]
testing = pytest-mock
[tool:pytest]
addopts = -p no:warnings
"""
    py = "TESTS = ['mock', 'pytest']\nsetup(name='x', install_requires=read(), "
    py += "extras_require=dict(test=TESTS + ['pytz']))\n"
    found = read(setup__cfg=cfg, setup__py=py)
    assert found.name == "s" and found.version == "" and found.source_roots == ("lib",)
    assert texts(found) == (["six>=1.0"], ["pytest-mock", "mock", "pytest", "pytz"])
    assert found.pytest_options == ("-p", "no:warnings")


def test_requirements_files_tox_nox_and_workflows() -> None:
    found = read(
        requirements___tests__txt="-r base.txt\npytest>=7 \\\n  --hash=sha256:0\n# no\n-e .[x]\nhttps://example.org/a.whl\n",
        requirements___base__txt="attrs\n",
        requirements___dev__txt="# by pip-compile\nattrs==22.1.0\n    # via x\n",
        tox__ini="[testenv]\ndeps =\n    py39: mock\n    -r requirements/tests.txt\n[testenv:docs]\ndeps = sphinx\n",
        noxfile__py="def tests(session):\n    session.install('-e', '.', 'freezegun')\n",
        **{".github___workflows___ci__yml": "  - run: python -m pytest tests\n    - name: Run pytest now\n"},
    )
    assert texts(found)[1] == ["attrs", "pytest>=7", "mock", "freezegun"]
    assert found.pins == {"attrs": "22.1.0"}
    assert [(one.text, one.line) for one in found.hints] == [("python -m pytest tests", 1)]


def test_lock_files_pin_what_has_one_version() -> None:
    versions = [("a", "1"), ("b", "1"), ("b", "2")]
    lock = "".join(f'[[package]]\nname = "{name}"\nversion = "{version}"\n' for name, version in versions)
    assert read(uv__lock=lock).pins == {"a": "1"}


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject__toml": "[project\n"},
        {"pyproject__toml": "project = 1\ntool = []\n"},
        {
            "pyproject__toml": "[project]\nname = 3\ndependencies = {a = 1}\n"
            "[dependency-groups]\ntest = [{include-group = 'test'}]\n"
        },
        {"setup__cfg": "no section\n"},
        {"setup__py": "def (:\n"},
        {"setup__py": "setup(**{'name': 1}, install_requires=3, extras_require={1: 2})\n"},
        {"setup__py": "(" * 3000},
        {"requirements___test__txt": "-r test.txt\n"},
        {"uv__lock": "package = 3\n"},
        {"tox__ini": "[testenv]\ndeps = %(x)s\n"},
    ],
)
def test_broken_files_are_left_out(files: dict[str, str]) -> None:
    assert texts(read(**files))[0] == []


@pytest.mark.parametrize(
    "line",
    [
        "foo@file:/x",
        "foo\t@\tfile:/x",
        "file:/home/x",
        "hg+file:/home/x",
        "foo\r-e /x",
        "foo\x0b-e /x",
        "foo\u2028--index-url=x",
        "foo\n-r /etc/passwd",
        "foo; x --global-option=y",
        "a/../b",
        "foo @ ./x",
    ],
)
def test_a_requirement_that_would_be_a_path_or_an_option_is_left_out(line: str) -> None:
    """Clients read requirements from a file, and would build on this machine what a path names."""
    found = read(
        pyproject__toml=f"[project]\ndependencies = [{json.dumps(line)}, 'good>=1 ; python_version > \"3\"']\n"
    )
    assert texts(found) == (['good>=1 ; python_version > "3"'], []) and len(found.notes) == 1


def test_names_in_a_lock_file_cannot_be_lines_of_their_own() -> None:
    lock = '[[package]]\nname = "a\\n-e /x"\nversion = "1"\n[[package]]\nname = "b"\nversion = "2"\n'
    assert read(uv__lock=lock).pins == {"b": "2"}


def test_files_that_include_themselves_and_each_other_end() -> None:
    lines = "-r requirements-dev.txt\n-r requirements-test.txt\n" * 30
    found = read(**{"requirements-dev__txt": f"{lines}a\n", "requirements-test__txt": f"{lines}b\n"})
    assert sorted(set(texts(found)[1])) == ["a", "b"]
    groups = "[dependency-groups]\ntest = [" + '{include-group = "test"}, ' * 30 + '"c"]\n'
    assert texts(read(pyproject__toml=groups))[1] == ["c"]


def test_constants_that_grow_and_nest_without_end_are_left_out() -> None:
    doubled = "a = ['x']\n" + "a = a + a\n" * 60
    nested = "b = " + "[" * 150 + "]" * 150 + "\n"
    summed = "c = " + " + ".join(["[]"] * 1500) + "\n"
    found = read(setup__py=f"{doubled}{nested}{summed}setup(install_requires=a + ['y'], tests_require=b + c)\n")
    assert len(found.requirements) <= 1


def test_names_without_values_and_numbers_without_end_are_no_faults() -> None:
    config = "[metadata]\nname\n[options]\ninstall_requires\n[options.entry_points]\nx\n[tool:pytest]\naddopts\n"
    assert read(setup__cfg=config).name == ""
    assert read(setup__cfg="[metadata]\nname\n  more\n").name == ""
    assert read(tox__ini="[testenv]\ndeps\nextras\n") == PythonProject()
    assert read(pyproject__toml=f"x = {'9' * 5000}\n").notes
    poetry = f"[tool.poetry.dependencies]\na = '^{'9' * 5000}'\nb = '^1.{'9' * 5000}'\nc = '^1.2a1'\n"
    assert texts(read(pyproject__toml=poetry))[0][-1] == "c>=1.2a1,<2"
