"""SWE-bench task repository 5: one folder for each contract, and the same instances as JSON lines.

The image is built from a base image by digest, the tree of the base and what setup left. ``eval.sh`` contains the
judge's program and files as an archive, because the image is the agent's too: nothing of the judge may be in it. The
program prints one line for each listed test between the two marks, in the form that the parser for pytest reads.
"""

from __future__ import annotations

import base64
import bz2
import json
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from proctor.author.export.image_names import env_line
from proctor.author.export.interface import HIDDEN_TESTS, SOLUTION, Exported, ExportedFile, Loss
from proctor.author.export.run_losses import clean
from proctor.author.export.swebench_ids import (
    FAIL_TO_PASS,
    OWNER,
    PASS_TO_PASS,
    instance_id,
    listed_tests,
    needs_escapes,
)
from proctor.author.export.task_losses import repository_identity, task_losses
from proctor.author.export.task_material import TaskMaterial, tar_bytes
from proctor.author.export.verifier_files import verifier_files
from proctor.base.errors import UsageFault
from proctor.contract.model import GitRepository

VERSION = "task repository 5"
DATASET = f"{OWNER}/contracts"
SPLIT = "test"
PARSER = "parse_log_pytest"
START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
FOLDER = "/tmp/proctor-verifier"
ARCHIVE = f"{FOLDER}/verifier.tar.bz2"
LINE = 76


def image_name(instance: str) -> str:
    """The name that SWE-bench gives to the image of an instance."""
    return f"swebench/sweb.eval.x86_64.{instance}:latest".lower().replace("__", "_1776_")


def metadata(task: TaskMaterial) -> dict[str, Any]:
    """The short fields of an instance."""
    contract = task.contract
    name = instance_id(contract.name)
    commit = repository_identity(contract)[1]
    return {
        "instance_id": name,
        "repo": f"{OWNER}/{contract.name}",
        "version": task.content_id.removeprefix("sha256:")[:12],
        "base_commit": commit,
        "environment_setup_commit": commit,
        "image": image_name(name),
        "log_parser": PARSER,
        "eval_type": "pass_and_fail",
    }


def tests(task: TaskMaterial) -> dict[str, list[str]]:
    """The two lists of tests."""
    listed = listed_tests(task.contract)
    return {kind: [one.id for one in listed if one.kind == kind] for kind in (FAIL_TO_PASS, PASS_TO_PASS)}


def eval_script(task: TaskMaterial) -> str:
    """The script that judges the tree in the container."""
    files = [(file.path.encode(), 0o100644, _bytes(file)) for file in verifier_files(task)]
    text = base64.b64encode(bz2.compress(tar_bytes(files), 9)).decode()
    lines = [text[start : start + LINE] for start in range(0, len(text), LINE)]
    return "\n".join(
        [
            "#!/bin/bash",
            "set -uxo pipefail",
            f"rm -rf {FOLDER} && mkdir -p {FOLDER}",
            f"base64 -d > {ARCHIVE} <<'END_OF_VERIFIER'",
            *lines,
            "END_OF_VERIFIER",
            f"python3 -I -c \"import tarfile; tarfile.open('{ARCHIVE}').extractall('{FOLDER}')\"",
            f": '{START}'",
            f"python3 -E -s {FOLDER}/verify.py {FOLDER} --lines",
            f": '{END}'",
            "",
        ]
    )


def _bytes(file: ExportedFile) -> bytes:
    assert isinstance(file.content, bytes)
    return file.content


def dockerfile(task: TaskMaterial, image: str) -> str:
    """The image of the agent and of the judge: the tree is at ``/workspace``, and ``/testbed`` leads there."""
    lines = [f"FROM {image}", "ADD base.tar /"]
    lines += [env_line(name, value) for name, value in sorted(task.contract.environment.variables.items())]
    commit = "git -c user.name=base -c user.email=base@localhost commit -q -m base"
    lines += [
        "RUN ln -s /workspace /testbed",
        "RUN if command -v git > /dev/null; then cd /workspace && git init -q && git add -A -f && "
        f"GIT_AUTHOR_DATE=@0+0000 GIT_COMMITTER_DATE=@0+0000 {commit}; fi",
        "WORKDIR /testbed",
        "",
    ]
    return "\n".join(lines)


def _gold(task: TaskMaterial) -> str:
    try:
        return task.solution.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageFault(
            "the reference is no text in UTF-8, which SWE-bench needs",
            where=task.contract.name,
            hint="proctor export harbor carries any file",
        ) from None


class SwebenchTasks:
    """Writes ``tasks/ID/`` for each contract, ``sweb.yaml`` and ``instances.jsonl``."""

    name, version = "swebench", VERSION
    contains = (HIDDEN_TESTS, SOLUTION)
    readme = False

    def export(self, task: TaskMaterial, image: str) -> Exported:
        """One contract as an instance."""
        row = metadata(task)
        name = row["instance_id"]
        lists = tests(task)
        parts = {
            "problem_statement.md": clean(task.briefing.task),
            "gold.patch": _gold(task),
            "test.patch": task.test_patch.decode("utf-8"),
            "eval.sh": eval_script(task),
        }
        full = {**row, "datasets": [DATASET], "split": SPLIT}
        texts = {
            **parts,
            "task.yaml": yaml.safe_dump(full, sort_keys=True, allow_unicode=True),
            "tests.json": json.dumps(lists, indent=2, sort_keys=True) + "\n",
            "Dockerfile": dockerfile(task, image),
        }
        files = [
            ExportedFile(f"tasks/{name}/{path}", text.encode(), path == "eval.sh")
            for path, text in sorted(texts.items())
        ]
        files.append(ExportedFile(f"tasks/{name}/base.tar", task.write_base))
        names = ("problem_statement", "patch", "test_patch", "eval_script")
        columns = dict(zip(names, parts.values(), strict=True))
        instance = {**row, **columns, "hints_text": "", **{kind: json.dumps(ids) for kind, ids in lists.items()}}
        losses = (*task_losses(task, image, ()), *_losses(task))
        line = json.dumps(instance, sort_keys=True)
        return Exported(task.contract.name, tuple(files), losses, row=line)

    def index(self, tasks: Sequence[Exported]) -> tuple[ExportedFile, ...]:
        """The description of the repository, and the instances as lines."""
        about = yaml.safe_dump({"datasets": [DATASET], "splits": [SPLIT]}, sort_keys=True)
        lines = "".join(one.row + "\n" for one in tasks)
        return (ExportedFile("instances.jsonl", lines.encode()), ExportedFile("sweb.yaml", about.encode()))


def _losses(task: TaskMaterial) -> Iterator[Loss]:
    escaped = [one.id for one in listed_tests(task.contract) if needs_escapes(one.test) and one.test]
    if escaped:
        yield Loss("escaped-ids", {"tests": len(escaped)})
    if task.untold:
        yield Loss("test-patch-without", {"files": list(task.untold)})
    yield Loss("obligations", {})
    yield Loss("shared-image", {})
    if isinstance(task.contract.repository, GitRepository):
        yield Loss("other-history", {"commit": task.contract.repository.commit})


FORMAT = SwebenchTasks()
