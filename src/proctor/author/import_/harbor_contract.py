"""A contract from a task of Harbor.

The tree is what the Dockerfile copies into the working directory. Absolute paths of the task become paths of the
sandbox, in the instruction and in the tests: the working directory is /workspace there, the tests are in it, and the
rewards are below /tmp. A test script that runs pytest on its own files is replaced by pytest itself, whose results are
harder to forge than a number in a file. Any other script keeps its reward, unless it fetches something first: checks
are offline. The solution is a program, which the importer does not run: it is put beside the contract, where a run of
it as an agent makes the reference.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.author.import_.contract_files import contract_name, hidden_path, title_of, write_contract, write_files
from proctor.author.import_.harbor_task import SOLUTION, HarborTask, harbor_task, tree_files
from proctor.author.import_.import_record import ImportedTask, Losses, Refused, listed, shown
from proctor.author.import_.task_environment import Environments, TaskEnvironment
from proctor.judge.checks.results_readers.reward import REWARD

FORMAT = "harbor"
INSIDE = ".task"
"""Where the tests are in the tree, and the script that runs them."""
BESIDE = ".solution"
"""Ends the name of the folder beside a contract that has the programs of the solution."""
REWARDS = "/tmp/verifier"
FETCHES = re.compile(
    r"(?m)(?:^|[;&|({\s])(?:sudo )?(?:apt(?:-get)?|apk|dnf|yum|curl|wget|uvx?|pipx?3?|npm|npx|yarn|pnpm|conda|gem|cargo"
    r"|go (?:get|install)|git clone)\s"
)
PYTEST = re.compile(r"\bpytest\b[^\n;&|]*?(/tests/[A-Za-z0-9_./-]+\.py)")
RUN = f"""\
# Runs the task's test script, and hands over the reward that it wrote. A number gets the end of its line.
mkdir -p {REWARDS}
/bin/bash /workspace/{INSIDE}/tests/test.sh
for file in reward.json reward.txt; do
    if [ -f {REWARDS}/$file ]; then
        {{ cat {REWARDS}/$file; echo; }} > "$PROCTOR_RESULTS/reward"
        exit 0
    fi
done
echo "the test script wrote no reward" >&2
exit 1
"""


def import_task(folder: Path, out: Path, environments: Environments) -> ImportedTask:
    """Write the contract of the task in ``folder`` into ``out``, or say why there is none."""
    losses = Losses()
    task, source = shown(folder.name), str(folder)
    try:
        found = harbor_task(folder, losses)
        task = shown(found.name)
        target = _write(found, folder, out, environments, losses)
    except Refused as refusal:
        return ImportedTask(
            format=FORMAT,
            task=task,
            source=source,
            status="refused",
            reason=refusal.code,
            detail=shown(refusal.detail),
            losses=losses.all(),
        )
    return ImportedTask(
        format=FORMAT, task=task, source=source, status="written", contract=str(target), losses=losses.all()
    )


def absent_task(name: str, dataset: Path) -> ImportedTask:
    """The record of a task that a data set names and does not have."""
    return ImportedTask(format=FORMAT, task=shown(name), source=str(dataset), status="refused", reason="not-here")


def _write(task: HarborTask, folder: Path, out: Path, environments: Environments, losses: Losses) -> Path:
    name = contract_name(task.name.replace("/", "__"))
    if name.endswith(BESIDE) or os.path.lexists(out / f"{name}{BESIDE}"):
        raise Refused("exists", f"{name}{BESIDE}")
    environment = environments.of(task.name, "", "", task.image, losses, hide=task.workdir)
    tree = _tree(task, folder, losses)
    check = _check(task, environment, losses)
    tests = {path: (_moved(data, task.workdir), program) for path, (data, program) in task.tests.items()}
    issue = _moved(task.instruction.encode(), task.workdir).decode()
    if not issue.strip():
        raise Refused("bad-record", "instruction.md is empty")
    archive = _archive(tree)
    files: dict[str, tuple[bytes, bool]] = {
        "issue.md": (issue.encode(), False),
        "repository.tar": (archive, False),
        **{f"hidden/{INSIDE}/tests/{hidden_path(path.encode())}": content for path, content in tests.items()},
    }
    if check["results"] == "reward":
        files[f"hidden/{INSIDE}/run.sh"] = (RUN.encode(), False)
    losses.add("no-reference", SOLUTION if (folder / SOLUTION).is_file() else "")
    solution = {
        hidden_path(path.encode()): (_moved(data, task.workdir), program)
        for path, (data, program) in tree_files(folder / "solution").items()
    }
    sections: dict[str, Any] = {
        "schema": 1,
        "contract": {
            "name": name,
            "title": title_of(issue),
            "kind": "feature",
            "strata": {"benchmark": "harbor", **task.labels},
        },
        "task": {"issue": "issue.md"},
        "repository": {"archive": "repository.tar", "sha256": hashlib.sha256(archive).hexdigest()},
        **environment.sections,
        "policy": {"protected": [f"{INSIDE}/**"]},
        "budget": _budget(task),
        "checks": [
            {"id": "builds", "gate": "build", "no_op": True},
            {"id": "style", "gate": "static", "no_op": True},
            check,
        ],
    }
    target = write_contract(out, name, sections, files)
    write_files(out, f"{name}{BESIDE}", solution)
    return target


def _budget(task: HarborTask) -> dict[str, Any]:
    found = {"wall_seconds": task.agent_seconds + task.check_seconds}
    for name, value in (("memory_bytes", task.memory_bytes), ("disk_bytes", task.disk_bytes)):
        if value:
            found[name] = value
    return found


def _tree(task: HarborTask, folder: Path, losses: Losses) -> dict[str, tuple[bytes, bool]]:
    """The files that the container has in its working directory, as far as the Dockerfile says."""
    top = folder / "environment"
    tree: dict[str, tuple[bytes, bool]] = {}
    for source, target in task.copies:
        place = Path(top, source)
        if not _is_inside(top, source):
            raise Refused("bad-record", f"the Dockerfile copies {source!r}, which is not there")
        if not f"{target}/".startswith(f"{task.workdir}/"):
            losses.add("build", f"COPY {source} {target}")
            continue
        below = target.removeprefix(task.workdir).strip("/")
        if place.is_file():  # a folder is copied as its contents, a file under its name or the target's
            if not below and not target.endswith("/"):
                raise Refused("bad-record", f"the Dockerfile copies a file to {target}, which is a directory")
            found = {place.name if target.endswith("/") else "": tree_files(place.parent)[place.name]}
        else:
            found = {path: content for path, content in tree_files(place).items() if path != "Dockerfile"}
        for path, content in found.items():
            tree["/".join(part for part in (below, path) if part)] = content
    return {hidden_path(path.encode()): content for path, content in tree.items()}


def _is_inside(top: Path, source: str) -> bool:
    """Whether ``source`` is a file or directory below ``top`` that no link leads to."""
    parts = Path(source).parts
    if "\0" in source or ".." in parts or Path(source).is_absolute():
        return False
    try:
        place = top
        for part in parts:
            place /= part
            if place.is_symlink():
                return False
        return place.exists()
    except OSError:  # a name that is too long
        return False


def _archive(tree: Mapping[str, tuple[bytes, bool]]) -> bytes:
    """The tree as a tar file; the same bytes every time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (data, is_program) in sorted(tree.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data), 0o755 if is_program else 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _check(task: HarborTask, environment: TaskEnvironment, losses: Losses) -> dict[str, Any]:
    """The check: pytest on the files that the script gives it, else the script with its reward."""
    script = task.tests["test.sh"][0].decode("utf-8", "replace")
    common = {"id": "tests", "gate": "acceptance", "timeout_seconds": task.check_seconds}
    if task.variables:
        common["variables"] = dict(task.variables)
    hidden = [{"from": "hidden"}]
    files = [path.removeprefix("/tests/") for path in PYTEST.findall(script)]
    if files and all(path in task.tests for path in files):
        losses.add("runner-replaced", "tests/test.sh")
        run = [environment.python, "-m", "pytest", *(f"{INSIDE}/tests/{path}" for path in dict.fromkeys(files))]
        ids = [test for path in dict.fromkeys(files) for test in _tests(path, task.tests[path][0])]
        return {**common, "run": run, "results": "pytest", "must_pass": ids, "hidden": hidden}
    if match := FETCHES.search("\n".join(line for line in script.splitlines() if not line.lstrip().startswith("#"))):
        raise Refused("needs-network", match[0].strip())
    losses.add("weak-check", "tests/test.sh")
    run = ["/bin/sh", f"{INSIDE}/run.sh"]
    return {**common, "run": run, "results": "reward", "results_file": REWARD, "must_pass": [REWARD], "hidden": hidden}


def _tests(path: str, data: bytes) -> list[str]:
    """The ids of the tests in a file; a test whose ids are only known after a run is refused."""
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("no-tests", f"tests/{path} is not Python") from None
    found = []
    for one in body:
        inner = one.body if isinstance(one, ast.ClassDef) and one.name.startswith("Test") else [one]
        above = f"{one.name}::" if isinstance(one, ast.ClassDef) else ""
        for test in inner:
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test"):
                if any(_is_parametrize(node) for mark in test.decorator_list for node in ast.walk(mark)):
                    raise Refused("unknown-id", f"tests/{path}::{test.name} has parameters")
                found.append(f"{INSIDE}/tests/{path}::{above}{test.name}")
    if not found:
        raise Refused("no-tests", listed([f"tests/{path}"]))
    return found


def _is_parametrize(node: ast.AST) -> bool:
    return "parametrize" in (getattr(node, "attr", ""), getattr(node, "id", ""))


def _moved(data: bytes, workdir: str) -> bytes:
    """A text with the paths that the sandbox has; bytes that are no text stay."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    for before, after in (
        (workdir, "/workspace"),
        ("/tests", f"/workspace/{INSIDE}/tests"),
        ("/logs/verifier", REWARDS),
        ("/solution", "/agent"),
    ):
        text = re.sub(rf"(?<![\w./-]){re.escape(before)}(?![\w.-])", after, text)
    return text.encode()
