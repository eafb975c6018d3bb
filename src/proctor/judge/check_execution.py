"""One attempt of a check: a fresh workspace and a fresh sandbox, one command, and what its results say.

The command runs in a judging slot, and its timeout starts then. The wait for the slot is recorded and not
charged. If the sandbox is lost while the command runs, because its pid 1 was killed, the attempt ends as after a
SIGKILL.

Nothing of an earlier attempt is left: processes, files, results. The hidden files and the sentinels are placed last,
over the files of the patch. The result file is read after every process of the sandbox has ended; the sandbox itself
is closed while the judge continues.

Sentinels import the modules that the listed tests import, because a forgery may begin there; imports are found line by
line, since a patch may have written the file. Code under test could write to the results directory: whatever is not a
plain file of a sane size there becomes incomplete results with the reason.
"""

from __future__ import annotations

import fnmatch
import json
import os
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import erase
from proctor.contract.model import Check
from proctor.execute.inputs.input_files import hidden_files
from proctor.execute.prepare import declared_mounts, limits_of, secret_directories
from proctor.execute.sandbox.interface import (
    MOST_STRETCH,
    WORKSPACE,
    Command,
    CommandLost,
    CommandResult,
    Mount,
    Sandbox,
    SandboxLost,
    SandboxPlan,
    Usage,
    owner,
)
from proctor.execute.workspace.patch import Application
from proctor.execute.workspace.workspace import Workspace
from proctor.judge.checks.check_decision import Judgement, RunnerChanges, judge_attempt, without_allowed_changes
from proctor.judge.checks.judge_context import PATCHED, JudgeContext, JudgedTree
from proctor.judge.checks.results_readers import exit_code, pytest
from proctor.judge.checks.results_readers.interface import RESULT_BYTES, RunnerChange, TestResults, merged
from proctor.judge.checks.results_readers.reader_registry import find_reader
from proctor.judge.checks.sentinels import Planted, plant, verdict, without
from proctor.judge.patch_policy.paths_of_tests import Places, loaded_as, places_of
from proctor.judge.patch_policy.tree_overlay import TreeOverlay

RESULTS = "/results"
PLUGIN = "/proctor/plugin"
PLUGIN_FILES = Path(__file__).parent / "plugin"
HANDED_OVER = "settings.json"
PLUGIN_OPTIONS = "-p proctor_results --continue-on-collection-errors -p no:cacheprovider"
FILE = 0o100644
SHELL = ("/bin/sh", "-eu", "-c")


@dataclass(frozen=True)
class Attempt:
    """One attempt and all that was seen of it."""

    tree: str
    number: int
    command: tuple[str, ...]
    finished: CommandResult
    start_ns: int
    end_ns: int
    results: TestResults
    sentinels: str
    judgement: Judgement
    overridden: tuple[bytes, ...]
    waited_ns: int = 0
    """How long the attempt waited for its slot; ``start_ns`` is after the wait."""
    machine_oom_kills: int = 0
    """How many processes were killed because the machine, not the sandbox, had no memory left."""
    changed: tuple[RunnerChange, ...] = ()
    """Changes to the test runner by code of the tree, whether or not they count."""
    set_aside: str = ""
    """Why the attempt does not count and was repeated; empty for one that counts."""


@dataclass(frozen=True)
class _Ran:
    """How and when a command ended, and what its sandbox had used by then."""

    finished: CommandResult
    usage: Usage
    start_ns: int
    end_ns: int
    waited_ns: int


@dataclass(frozen=True)
class Altered:
    """How an attempt differs from the check as it is declared.

    ``files`` replace test files, ``only`` are the tests to run if the runner can select tests, and ``run`` is another
    command.
    """

    files: tuple[tuple[bytes, bytes], ...] = ()
    only: tuple[str, ...] = ()
    run: tuple[str, ...] = ()


UNALTERED = Altered()


@dataclass(frozen=True)
class Ready:
    """An attempt that has everything but its command run. ``left`` takes down what was made for it."""

    check: Check
    tree: str
    number: int
    planted: Planted | None
    overridden: tuple[bytes, ...]
    key: bytes
    place: Path
    command: Command
    workspace: Workspace
    sandbox: Sandbox
    left: ExitStack


def make_ready(
    bench: JudgeContext, check: Check, scene: JudgedTree, number: int, altered: Altered = UNALTERED
) -> Ready:
    """Open a sandbox for ``check`` on ``scene``, with its hidden files and sentinels in place."""
    placement = scene.placement.copy()
    overridden = place_hidden(bench, check, placement)
    whole = JudgedTree(scene.tree, scene.layers, placement)
    for path, data in altered.files:
        held = whole.read(path)
        placement.put(path, held[0] if held else FILE, data)
    if altered.run:
        check = replace(check, run=altered.run)
    modules = imported_modules(check, whole, places_of(bench.prepared.contract)) if check.results == "pytest" else ()
    planted = plant(check, sentinel_directory(check, whole), bench.entropy, modules)
    if planted is not None:
        placement.put(planted.path.encode(), FILE, planted.text.encode())
    key = bench.entropy(32)
    place = bench.scratch / f"check-{bench.entropy(4).hex()}"
    with ExitStack() as left:
        left.callback(erase, place)
        _furnish(place)
        command = Command(
            arguments=command_line(check, planted),
            environment=environment(bench, check, planted, key, place / "results", altered.only),
            directory=check.directory,
            timeout_seconds=check.timeout_seconds,
            output_bytes=bench.prepared.contract.budget.output_bytes,
            stretch=MOST_STRETCH,
        )
        workspace, sandbox = _open(bench, scene, placement, place, left)
        return Ready(
            *(check, scene.tree, number, planted, overridden, key, place, command, workspace, sandbox),
            left=left.pop_all(),
        )


def attempt(bench: JudgeContext, ready: Ready, on_base: Callable[[], RunnerChanges] = tuple) -> Attempt:
    """Run the command of ``ready`` to its end; afterwards every process has ended.

    ``on_base`` returns what the base changes in the test runner; such changes do not count against a patch.
    """
    check = ready.check
    try:
        ran = _run(bench, ready)
        results = collect(check, ready.place / "results", ready.key)
    finally:
        bench.later(ready.left.close)
    sentinels = verdict(ready.planted, results)
    own = without(ready.planted, results)
    changed = own.changed
    if ready.tree == PATCHED:
        own = without_allowed_changes(own, bench.prepared.contract.policy.free_steering, on_base)
    else:
        own = replace(own, changed=())
    kills = ran.usage.own_oom_kills, ran.usage.machine_oom_kills
    judgement = judge_attempt(check, ran.finished, own, sentinels, *kills)
    return Attempt(
        *(ready.tree, ready.number, ready.command.arguments, ran.finished, ran.start_ns, ran.end_ns),
        results=own,
        sentinels=sentinels,
        judgement=judgement,
        overridden=ready.overridden,
        waited_ns=ran.waited_ns,
        machine_oom_kills=ran.usage.machine_oom_kills,
        changed=changed,
    )


def _run(bench: JudgeContext, ready: Ready) -> _Ran:
    """Run the command as soon as a slot is free, and end all processes that it left behind."""
    sandbox = ready.sandbox
    with bench.slot() as waited_ns:
        start = bench.clock.wall_ns()
        before = sandbox.usage().cpu_ns or 0
        try:
            with bench.watch(sandbox, ready.workspace):
                finished = sandbox.run(ready.command)
        except CommandLost as lost:
            finished = lost.finished
        with suppress(SandboxLost):  # no process outlives the sandbox
            sandbox.end_all()
        usage = sandbox.usage()
        end = bench.clock.wall_ns()
    # the time of the whole sandbox: that of the command lacks processes that it left behind or did not wait for
    cpu_ns = max(finished.cpu_ns, (usage.cpu_ns or 0) - before)
    return _Ran(replace(finished, cpu_ns=cpu_ns), usage, start, end, waited_ns)


def _furnish(place: Path) -> None:
    """A results directory that the sandbox may write to, and a copy of the plugin that it can read for certain."""
    results, plugin = place / "results", place / "plugin"
    results.mkdir(parents=True)
    os.chown(results, *owner())
    results.chmod(0o700)
    plugin.mkdir()
    plugin.chmod(0o755)
    for file in PLUGIN_FILES.glob("*.py"):
        copy = plugin / file.name
        copy.write_bytes(file.read_bytes())
        copy.chmod(0o644)


def _open(
    bench: JudgeContext, scene: JudgedTree, placement: TreeOverlay, place: Path, left: ExitStack
) -> tuple[Workspace, Sandbox]:
    """A workspace and a sandbox over it; what takes them down is put on ``left``."""
    contract = bench.prepared.contract
    overlays = bench.backend.overlays()
    application = Application(placement.writes(), placement.removals())
    workspace = Workspace.create(scene.layers, place / "tree", overlays=overlays, application=application)
    left.callback(workspace.discard)
    plan = SandboxPlan(
        workspace=workspace.view(),
        limits=limits_of(contract.budget),
        mounts=(
            Mount(place / "results", RESULTS, writable=True),
            Mount(place / "plugin", PLUGIN),
            *declared_mounts(contract),
            *bench.mounts,
        ),
        masked=secret_directories(contract),
        measured=True,
        guard=bench.guard,
    )
    return workspace, left.enter_context(bench.backend.open(plan))


def place_hidden(bench: JudgeContext, check: Check, placement: TreeOverlay) -> tuple[bytes, ...]:
    """Put the check's hidden files in place; the paths among them that the patch had touched.

    A file that the patch added and that would be loaded in place of a hidden file is removed.
    """
    touched = set(placement.touched())
    overridden, forms = [], set()
    for hidden in check.hidden:
        for path, mode, data in hidden_files(hidden, bench.prepared.contract, bench.prepared.inputs):
            placement.put(path, mode, data)
            forms.add(loaded_as(path))
            if path in touched:
                overridden.append(path)
    placed = {path for path, _, _ in placement.writes()} - set(overridden)
    for path in sorted(touched & placed):
        if loaded_as(path) in forms and bench.read_base(path) is None:
            placement.remove(path)
            overridden.append(path)
    return tuple(sorted(overridden))


def sentinel_directory(check: Check, scene: JudgedTree) -> str:
    """The directory of the tree where sentinels share their surroundings with the tests: that of the first listed one.

    Without listed tests, or where their ids do not lead to a file, it is the directory in which the check runs.
    """
    for path in listed_files(check, scene):
        return posixpath.dirname(path.decode())
    start = posixpath.relpath(check.directory, WORKSPACE)
    return "" if start == "." or start.startswith("..") else start


def command_line(check: Check, planted: Planted | None) -> tuple[str, ...]:
    """The check's command with the arguments that name its sentinels.

    A shell text takes them as ``"$@"`` where it mentions that, otherwise at its end.
    """
    extra = planted.arguments if planted else ()
    if not extra or check.run[:3] != SHELL or len(check.run) != 4:
        return (*check.run, *extra)
    text = check.run[3]
    if "$@" in text:
        return (*check.run, "sh", *extra)
    return (*SHELL, f"{text.rstrip()} {shlex.join(extra)}")


def environment(
    bench: JudgeContext, check: Check, planted: Planted | None, key: bytes, results: Path, only: tuple[str, ...] = ()
) -> dict[str, str]:
    """The whole environment of an attempt; ``only`` are the tests that pytest is to run, if not all.

    What the plugin needs, such as the key, is in a file that the plugin removes when it has read it, since the
    environment that a process started with stays readable. A command that may start pytest several times, such as a
    shell's, gets it in the variable itself.
    """
    variables = {**bench.prepared.environment, **check.variables, "PROCTOR_RESULTS": RESULTS}
    if check.results != "pytest":
        return variables
    options, path = variables.get("PYTEST_ADDOPTS", ""), variables.get("PYTHONPATH", "")
    settings = {
        "key": key.hex(),
        "directory": RESULTS,
        "options": options,
        "sentinel": f"{WORKSPACE}/{planted.path}" if planted and not planted.arguments else "",
        "token": planted.token if planted else "",
        "places": list(planted.places) if planted else [],
        "only": list(only),
    }
    text = json.dumps(settings)
    if starts_pytest(check.run):
        handed = results / HANDED_OVER
        handed.write_text(text)
        handed.chmod(0o644)
        text = f"@{RESULTS}/{HANDED_OVER}"
    return {
        **variables,
        "PYTEST_ADDOPTS": f"{PLUGIN_OPTIONS} {options}".strip(),
        "PYTHONPATH": f"{PLUGIN}:{path}" if path else PLUGIN,
        "PROCTOR_PYTEST": text,
    }


def starts_pytest(run: tuple[str, ...]) -> bool:
    """Whether a command is pytest itself, and so one session."""
    program = posixpath.basename(run[0])
    return program in ("pytest", "py.test") or (program.startswith("python") and ("-m", "pytest") in pairwise(run))


MOST_FILES = 8
MOST_MODULES = 6
FILE_BYTES = 1 << 20
"""How many test files are read, how much of each, and how many modules are imported; policy choices."""

_IMPORT = re.compile(rb"^(?:import[ \t]+([A-Za-z_][^\n#;\\]{0,400})|from[ \t]+([A-Za-z_]\w{0,100}))", re.MULTILINE)
_NAME = re.compile(rb"[ \t]*([A-Za-z_][A-Za-z0-9_]{0,100})")


def imported_modules(check: Check, scene: JudgedTree, places: Places) -> tuple[str, ...]:
    """The top-level modules of ``scene`` that the files of listed tests import, in the order of their first import."""
    roots = sorted(places.roots(lambda path: scene.read(path) is not None))
    found: dict[bytes, None] = {}
    for path in listed_files(check, scene):
        _, data = scene.read(path) or (0, b"")
        for module in _imports(data[:FILE_BYTES]):
            if module not in found and any(_has(scene, root, module) for root in roots):
                found[module] = None
    return tuple(module.decode() for module in found)[:MOST_MODULES]


def listed_files(check: Check, scene: JudgedTree) -> tuple[bytes, ...]:
    """The first files that the ids of listed tests name, as paths in the tree."""
    start = posixpath.relpath(check.directory, WORKSPACE)
    start = "" if start == "." or start.startswith("..") else start
    names = dict.fromkeys(test.partition("::")[0] for test in (*check.must_pass, *check.keep_passing))
    paths = (posixpath.normpath(posixpath.join(start, name)) for name in names)
    inside = (path.encode() for path in paths if not path.startswith(".."))
    return tuple(islice((path for path in inside if scene.read(path) is not None), MOST_FILES))


def _imports(source: bytes) -> Iterator[bytes]:
    """The top-level names that a Python file imports at its outermost level."""
    for match in _IMPORT.finditer(source):
        for part in (match[1] or match[2]).split(b","):
            name = _NAME.match(part)
            if name:
                yield name[1]


def _has(scene: JudgedTree, root: bytes, module: bytes) -> bool:
    head = root + b"/" + module if root else module
    return any(scene.read(head + form) is not None for form in (b".py", b"/__init__.py"))


MOST_RESULT_FILES = 256


def collect(check: Check, directory: Path, key: bytes) -> TestResults:
    """What the result files of one attempt say. ``key`` is the one that the pytest plugin was given."""
    if check.results == "exit-code":
        return exit_code.parse()
    if check.results == "pytest":
        return _parsed(directory, "pytest-*.jsonl", lambda data: pytest.parse(data, key))
    return _parsed(directory, check.results_file, find_reader(check.results))


def _parsed(directory: Path, pattern: str, parse: Callable[[bytes], TestResults]) -> TestResults:
    """All files of ``directory`` that ``pattern`` names, as one."""
    try:
        names = _names(directory, pattern)
    except OSError as error:
        return TestResults(problem=f"the results directory: {error.strerror}")
    if not names:
        return TestResults(problem=f"no result file {pattern}")
    if len(names) > MOST_RESULT_FILES:
        return TestResults(problem=f"more than {MOST_RESULT_FILES} result files")
    several = []
    left = RESULT_BYTES
    for name in names:
        try:
            data = read_bounded(directory / name, left)
        except InfrastructureFault as error:
            return TestResults(problem=f"{name_text(os.fsencode(name))}: {error.message}")
        except OSError as error:
            return TestResults(problem=f"{name_text(os.fsencode(name))}: {error.strerror}")
        left -= len(data)
        several.append(parse(data))
    return several[0] if len(several) == 1 else merged(several)


def _names(directory: Path, pattern: str) -> list[str]:
    """The names in ``directory`` itself that match; directories below it are not entered."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name == pattern or fnmatch.fnmatchcase(entry.name, pattern):
                found.append(entry.name)
                if len(found) > MOST_RESULT_FILES:
                    break
    return sorted(found)
