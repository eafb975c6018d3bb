"""A contract from a task of the SWE-bench family.

The repository is pinned at the base commit, the gold patch is the reference, and the files that the test patch makes
are hidden. Both patches are applied to the base here, so a record whose patches do not fit is refused beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.author.import_.contract_files import contract_name, hidden_path, title_of, write_contract
from proctor.author.import_.eval_script import Evaluation, evaluation
from proctor.author.import_.import_record import ImportedTask, Losses, Refused, listed, shown
from proctor.author.import_.swebench_instance import Instance, instance
from proctor.author.import_.task_environment import Environments, TaskEnvironment
from proctor.author.import_.test_ids import Repaired, repaired
from proctor.base.errors import ProctorError
from proctor.base.untrusted_directories import FILE, PROGRAM
from proctor.execute.workspace.git_checkout import BadRepository, read_commit
from proctor.execute.workspace.patch import Application, PatchProblem, apply_patch
from proctor.judge.patch_policy.paths_of_tests import WHOLE, steers

FORMAT = "swebench"
WALL_SECONDS, CHECK_SECONDS = 3600, 1800
MAX_CUT = 10_000
Read = Callable[[bytes], tuple[int, bytes] | None]


@dataclass(frozen=True)
class Repositories:
    """Where the repositories of tasks are: clones in a folder, and an address for the contracts in place of a clone."""

    clones: Path
    address: str = ""

    def clone(self, repo: str) -> Path:
        """The clone of ``owner/name``."""
        owner, _, name = repo.partition("/")
        forms = (f"{owner}/{name}", f"{owner}__{name}", f"{owner}+{name}", f"{owner}+{name}/repo", name)
        for form in (*forms, *(f"{form}.git" for form in forms)):
            if (self.clones / form).is_dir() and _is_repository(self.clones / form):
                return self.clones / form
        raise Refused("no-repository", repo)

    def pinned(self, repo: str, contract: Path) -> str:
        """The repository as the contract names it."""
        if self.address:
            return self.address.replace("{repo}", repo)
        return os.path.relpath(self.clone(repo).resolve(), contract.resolve())


def _is_repository(path: Path) -> bool:
    return any((path / name).exists() for name in (".git", "objects"))


def import_instance(
    record: Mapping[str, Any], source: str, out: Path, repositories: Repositories, environments: Environments
) -> ImportedTask:
    """Write the contract of a record into ``out``, or say why there is none."""
    losses = Losses()
    name = record.get("instance_id")
    task = shown(name) if isinstance(name, str) else "?"
    try:
        found = instance(record, losses)
        target, cut = _write(found, out, repositories, environments, losses)
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
        format=FORMAT,
        task=task,
        source=source,
        status="written",
        contract=str(target),
        losses=losses.all(),
        cut_ids=cut[:MAX_CUT],
    )


def _write(
    task: Instance, out: Path, repositories: Repositories, environments: Environments, losses: Losses
) -> tuple[Path, tuple[str, ...]]:
    name = contract_name(task.id)
    how = evaluation(task.script, task.repo, losses)
    environment = environments.of(task.id, task.repo, task.version, task.image, losses)
    clone = repositories.clone(task.repo)
    try:
        with read_commit(clone, task.commit) as read:
            after = _applied(task.test_patch, read, "test_patch")
            gold = _applied(task.patch, read, "patch")
            free = _steering(gold, read)
            exists = _exists(read)
            hidden = _hidden(after)
            ids = repaired(task.fail_to_pass, task.pass_to_pass, {path: data for path, (data, _) in hidden.items()})
            missing = [path for path in ids.files() if path not in hidden and not exists(path.encode())]
    except BadRepository as error:
        raise Refused("no-commit", str(error)) from None
    if missing:
        raise Refused("no-tests", listed(missing))
    _note(ids, after, free, losses)
    files: dict[str, tuple[bytes, bool]] = {f"hidden/{path}": content for path, content in hidden.items()}
    files["issue.md"] = (task.issue.encode(), False)
    files["reference.patch"] = (task.patch, False)
    files["must_pass.txt"] = (_lines(ids.must_pass), False)
    if ids.keep_passing:
        files["keep_passing.txt"] = (_lines(ids.keep_passing), False)
    git = repositories.pinned(task.repo, out / name)
    sections = _sections(task, name, git, how, environment, ids, free, bool(hidden))
    return write_contract(out, name, sections, files), ids.cut


def _applied(patch: bytes, read: Read, field: str) -> Application:
    try:
        return apply_patch(patch, read)
    except PatchProblem as problem:
        raise Refused("bad-patch", f"{field}: {problem.reason} {problem.log}") from None
    except ProctorError as error:
        raise Refused("bad-patch", f"{field}: {error}") from None


def _exists(read: Read) -> Callable[[bytes], bool]:
    def exists(path: bytes) -> bool:
        return read(path) is not None

    return exists


def _hidden(after: Application) -> dict[str, tuple[bytes, bool]]:
    found = {}
    for path, mode, data in after.writes:
        if mode not in (FILE, PROGRAM):
            raise Refused("bad-patch", f"{path!r} is neither a file nor a program")
        found[hidden_path(path)] = (data, mode == PROGRAM)
    return found


def _steering(gold: Application, read: Read) -> tuple[str, ...]:
    """Files of the gold patch that the judge would put back because they steer the tests."""
    paths = [path for path, _, _ in gold.writes] + list(gold.removals)
    return tuple(hidden_path(path) for path in paths if steers(path, _exists(read)) == WHOLE)


def _note(ids: Repaired, after: Application, free: tuple[str, ...], losses: Losses) -> None:
    losses.add("network")
    if ids.cut:
        losses.add("cut-ids", f"{len(ids.cut)}: {listed(ids.cut)}")
    if ids.unknown:
        losses.add("unknown-ids", f"{len(ids.unknown)}: {listed(ids.unknown)}")
    if after.removals:
        losses.add("removed-tests", listed([os.fsdecode(path) for path in after.removals]))
    if free:
        losses.add("free-steering", listed(free))


def _lines(ids: tuple[str, ...]) -> bytes:
    if any(one.startswith("#") for one in ids):
        raise Refused("bad-record", "an id begins with #")
    return "".join(f"{one}\n" for one in ids).encode()


def _sections(
    task: Instance,
    name: str,
    git: str,
    how: Evaluation,
    environment: TaskEnvironment,
    ids: Repaired,
    free: tuple[str, ...],
    has_hidden: bool,
) -> dict[str, Any]:
    strata = {"benchmark": "swe-bench", "repository": task.repo}
    if task.difficulty:
        strata["difficulty"] = shown(task.difficulty)
    check: dict[str, Any] = {
        "id": "tests",
        "gate": "acceptance",
        "run": [environment.python, "-m", "pytest", *how.options, *ids.files()],
        "timeout_seconds": CHECK_SECONDS,
        "results": "pytest",
        "must_pass": {"file": "must_pass.txt"},
    }
    if ids.keep_passing:
        check["keep_passing"] = {"file": "keep_passing.txt"}
    if how.variables:
        check["variables"] = how.variables
    if has_hidden:
        check["hidden"] = [{"from": "hidden"}]
    sections: dict[str, Any] = {
        "schema": 1,
        "contract": {"name": name, "title": title_of(task.issue), "kind": "bug-fix", "strata": strata},
        "task": {"issue": "issue.md"},
        "repository": {"git": git, "commit": task.commit},
        **environment.sections,
        "budget": {"wall_seconds": WALL_SECONDS},
        "checks": [
            {"id": "builds", "gate": "build", "no_op": True},
            {"id": "style", "gate": "static", "no_op": True},
            check,
        ],
        "reference": {"patch": "reference.patch"},
    }
    if free:
        sections["policy"] = {"free_steering": list(free)}
    return sections
