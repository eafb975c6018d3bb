"""Write the contracts of the Python examples from one table, so that they stay alike.

    python tools/examples.py

The old release is the repository; the hidden tests and the reference come out of the new one, which only the judge
has. Issues, test ids and locks are files beside each contract and are not touched here; the examples in other
languages are written by hand. Tests of the example's own, which notice what those of the release let pass, lie in
``hidden``; other ways to solve the task, which the checks must accept too, lie in ``alternatives``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@dataclass(frozen=True)
class Example:
    """One bug fix between two releases of a project on the Python package index."""

    name: str
    title: str
    project: str
    old: str
    new: str
    behaviour: str
    entry_points: tuple[str, ...]
    sources: tuple[str, ...]
    tests: tuple[str, ...] = ("tests",)
    tools: tuple[str, ...] = ("pytest==8.4.2",)
    path: str = "/setup/site"
    own_tests: bool = False
    module: str = ""
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    alternatives: tuple[str, ...] = ()
    ambiguity: str = "Only what the issue describes has to change; everything else behaves as before."


TABLE = (
    Example(
        name="parse-time-zone",
        title="Time formats drop the time zone",
        project="parse",
        old="1.22.2",
        new="1.22.3",
        behaviour="A time that is parsed with an offset keeps it as its tzinfo.",
        entry_points=("parse.parse",),
        sources=("parse/__init__.py",),
        alternatives=("replace-the-zone", "build-the-time"),
    ),
    Example(
        name="jsonpointer-missing-key",
        title="Resolving a missing key changes a defaultdict",
        project="jsonpointer",
        old="3.9",
        new="3.10",
        behaviour="A member that is absent is reported as missing, and looking for it changes nothing.",
        entry_points=("jsonpointer.resolve_pointer", "jsonpointer.set_pointer"),
        sources=("jsonpointer.py",),
        tests=("tests.py",),
        alternatives=("get-with-a-sentinel", "look-before-indexing"),
    ),
    Example(
        name="xmltodict-none-text",
        title="unparse writes the word None",
        project="xmltodict",
        old="1.0.2",
        new="1.0.3",
        behaviour="None as text or as the value of an attribute is written as nothing at all.",
        entry_points=("xmltodict.unparse",),
        sources=("xmltodict.py",),
        own_tests=True,
        alternatives=("one-function-for-attributes",),
    ),
    Example(
        name="simpleeval-unhashable-arguments",
        title="A tuple that holds a list crashes the evaluation",
        project="simpleeval",
        old="1.0.5",
        new="1.0.6",
        behaviour="Values that cannot be hashed pass through functions and attributes like any other value.",
        entry_points=("simpleeval.simple_eval",),
        sources=("simpleeval.py",),
        tests=("test_simpleeval.py",),
    ),
    Example(
        name="sqlparse-keep-hints",
        title="strip_comments removes optimizer hints",
        project="sqlparse",
        old="0.5.1",
        new="0.5.2",
        behaviour="Comments that are hints to the database survive strip_comments.",
        entry_points=("sqlparse.format",),
        sources=("sqlparse/filters/others.py",),
    ),
    Example(
        name="voluptuous-allow-extra",
        title="ALLOW_EXTRA no longer allows extra keys beside a validator as key",
        project="voluptuous",
        old="0.15.1",
        new="0.15.2",
        behaviour="With ALLOW_EXTRA a key that no key validator accepts is kept and is no error.",
        entry_points=("voluptuous.Schema",),
        sources=("voluptuous/schema_builder.py",),
        tests=("voluptuous/tests",),
    ),
    Example(
        name="itsdangerous-huge-timestamp",
        title="A huge time stamp leaks ValueError from unsign",
        project="itsdangerous",
        old="2.1.0",
        new="2.1.1",
        behaviour="A time stamp that is no possible date raises BadTimeSignature, as other bad ones do.",
        entry_points=("itsdangerous.TimestampSigner.unsign",),
        sources=("src/itsdangerous/timed.py",),
        tools=("pytest==8.4.2", "freezegun==1.5.5"),
        path="/workspace/src:/setup/site",
    ),
    Example(
        name="tabulate-digits-with-commas",
        title="Text such as 126,000 crashes the formatting of a table",
        project="tabulate",
        old="0.8.8",
        new="0.8.9",
        behaviour="Text with commas between digits is text unless it can be converted as it stands.",
        entry_points=("tabulate.tabulate",),
        sources=("tabulate.py",),
        tests=("test",),
        tools=("pytest==8.4.2", "wcwidth==0.9.4"),
        alternatives=("text-with-a-comma-is-text", "convert-once"),
    ),
    Example(
        name="pytest-importlib-same-name",
        title="importlib mode fails where a directory has the name of a module",
        project="pytest",
        old="8.3.4",
        new="8.3.5",
        behaviour="A directory may be called like a loaded module or a file in it, and may vanish before it is read.",
        entry_points=("_pytest.pathlib.import_path", "_pytest.pathlib.scandir"),
        sources=("src/_pytest/pathlib.py",),
        tests=("testing/test_pathlib.py",),
        tools=("iniconfig==2.3.0", "packaging==26.3", "pluggy==1.6.0", "pygments==2.21.0"),
        path="/workspace/src:/setup/site",
        options=("-p", "pytester"),
    ),
    Example(
        name="pytest-mock-stop-patches",
        title="Only one of two patches with the same replacement is undone",
        project="pytest-mock",
        old="3.13.0",
        new="3.14.0",
        behaviour="Every patch is undone, also where several have the same or an equal replacement.",
        entry_points=("pytest_mock.MockerFixture.stopall", "pytest_mock.MockerFixture.stop"),
        sources=("src/pytest_mock/plugin.py",),
        tools=("pytest==8.4.2", "pytest-asyncio==1.4.0"),
        path="/workspace/src:/setup/site",
        module="pytest_mock",
        variables=(("PYTEST_PLUGINS", "pytest_mock"),),
    ),
)


def _protected(test: str) -> str:
    """A pattern for a directory of tests; of a test file its directory too, unless it lies at the top of the tree."""
    directory = test.rpartition("/")[0] if test.endswith(".py") else test
    return f"{directory}/**" if directory else test


def contract(example: Example) -> str:
    """The text of the example's contract.yaml."""
    top = f"{example.project}-{example.new}"
    tools = "\n".join(f'  - {{pypi: "{tool}", with_dependencies: true}}' for tool in example.tools)
    protected = [_protected(test) for test in example.tests]
    own = "      - {from: hidden}\n" if example.own_tests else ""
    others = "".join(f"    - alternatives/{name}.patch\n" for name in example.alternatives)
    others = f"  alternatives:\n{others}" if others else ""
    variables = "".join(f"    {name}: {value}\n" for name, value in example.variables)
    return f"""\
schema: 1

contract:
  name: {example.name}
  title: {example.title}
  kind: bug-fix
  strata: {{language: python, project: {example.project}}}
  assumptions:
    - The public interface of the release stays as it is.

task:
  issue: issue.md
  targets:
    modules: [{", ".join(example.sources)}]
    entry_points: [{", ".join(example.entry_points)}]
    behaviour: {example.behaviour}
  ambiguities:
    - {example.ambiguity}

repository: {{pypi: "{example.project}=={example.old}", strip: 1}}

inputs:
  - {{name: fixed, pypi: "{example.project}=={example.new}", for: judge}}
{tools}

environment:
  variables:
    PYTHONPATH: {example.path}
    PYTHONDONTWRITEBYTECODE: "1"
{variables}
setup:
  - run: |
      mkdir -p /setup/site
      for wheel in /inputs/*.whl; do /usr/bin/python3 -m zipfile -e "$wheel" /setup/site; done

policy:
  protected: [{", ".join(f'"{path}"' for path in protected)}]
  max_changed_files: 10
  max_changed_lines: 300

budget: {{wall_seconds: 900, memory_bytes: 1073741824}}

checks:
  - id: imports
    gate: build
    run: [/usr/bin/python3, -c, "import {example.module or example.project}"]
    timeout_seconds: 60
  - id: compiles
    gate: static
    run: [/usr/bin/python3, -m, py_compile, {", ".join(example.sources)}]
    variables: {{PYTHONPYCACHEPREFIX: /tmp/pycache}}
    timeout_seconds: 60
  - id: tests
    gate: acceptance
    layer: unit
    run: [/usr/bin/python3, -m, pytest, -q, -o, addopts=, {", ".join((*example.options, *example.tests))}]
    timeout_seconds: 300
    results: pytest
    must_pass: {{file: must_pass.txt}}
    keep_passing: {{file: keep_passing.txt}}
    hidden:
      - from: fixed
        paths: [{", ".join(f"{top}/{test}" for test in example.tests)}]
        strip: 1
{own}
reference:
  from: fixed
  paths: [{", ".join(f"{top}/{source}" for source in example.sources)}]
  strip: 1
{others}"""


def main() -> None:
    for example in TABLE:
        directory = EXAMPLES / example.name
        directory.mkdir(exist_ok=True)
        (directory / "contract.yaml").write_text(contract(example))


if __name__ == "__main__":
    main()
