"""Harbor tasks (schema_version 1.4): one folder for each contract.

The verifier is separate: an image of its own with the judge's files, without network, to which Harbor uploads the
declared artefact ``/workspace``. So no file that an agent leaves elsewhere reaches it. Both images are built from a
base image by digest. The solution is a patch as files: no tool besides tar is needed.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from proctor.author.export.image_names import env_line
from proctor.author.export.interface import HIDDEN_TESTS, SOLUTION, Exported, ExportedFile, Loss
from proctor.author.export.run_losses import clean
from proctor.author.export.swebench_ids import OWNER, judged_checks
from proctor.author.export.task_losses import repository_identity, task_losses
from proctor.author.export.task_material import TaskMaterial, tar_bytes
from proctor.author.export.verifier_files import LEAST_PYTHON, verifier_files

VERSION = "1.4"
REWARD = "/logs/verifier/reward.json"
CARRIED_LIMITS = ("wall_seconds", "memory_bytes", "disk_bytes")
SPARE_SECONDS = 120
"""What the verifier gets besides the time of its checks."""


def task_table(task: TaskMaterial, image: str) -> dict[str, Any]:
    """``task.toml`` as data."""
    contract = task.contract
    budget = contract.budget
    seconds = sum(check.timeout_seconds for check in judged_checks(contract)) + SPARE_SECONDS
    environment: dict[str, Any] = {
        "network_mode": "no-network",
        "build_timeout_sec": 600.0,
        "os": "linux",
        "memory_mb": max(budget.memory_bytes >> 20, 1),
        "workdir": "/workspace",
    }
    if budget.disk_bytes is not None:
        environment["storage_mb"] = max(budget.disk_bytes >> 20, 1)
    place, identity = repository_identity(contract)
    return {
        "schema_version": VERSION,
        "artifacts": ["/workspace"],
        "task": {
            "name": f"{OWNER}/{contract.name}",
            "version": task.content_id.removeprefix("sha256:")[:12],
            "description": clean(contract.title),
            "keywords": sorted({contract.kind, *contract.strata.values()}),
        },
        "metadata": {
            "contract": task.content_id,
            "image": image,
            "repository": place,
            "repository_identity": identity,
            "python_in_verifier": LEAST_PYTHON,
        },
        "agent": {"timeout_sec": float(budget.wall_seconds)},
        "environment": environment,
        "verifier": {
            "timeout_sec": float(seconds),
            "environment_mode": "separate",
            "environment": {
                "network_mode": "no-network",
                "build_timeout_sec": 600.0,
                "os": "linux",
                "memory_mb": environment["memory_mb"],
            },
        },
    }


def toml(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """A table as TOML: plain values first, then the tables in it."""
    lines = [f"{name} = {_toml_value(value)}" for name, value in table.items() if not isinstance(value, Mapping)]
    head = [f"[{'.'.join(path)}]"] if path else []
    parts = ["\n".join((*head, *lines))] if lines or path else []
    parts += [toml(value, (*path, name)) for name, value in table.items() if isinstance(value, Mapping)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _toml_value(value: str | int | float | Sequence[Any]) -> str:
    if isinstance(value, str):
        return json.dumps(clean(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    return "[" + ", ".join(map(_toml_value, value)) + "]"


def environment_dockerfile(task: TaskMaterial, image: str) -> str:
    """The image of the agent: the tree of the base, and what setup left."""
    lines = [f"FROM {image}", "ADD base.tar /"]
    lines += [env_line(name, value) for name, value in sorted(task.contract.environment.variables.items())]
    return "\n".join((*lines, "WORKDIR /workspace", ""))


def tests_dockerfile(image: str) -> str:
    """The image of the verifier: what setup left, and the judge's files. The tree comes from the agent."""
    names = "test.sh verify.py path_patterns.py interface.py junit.py tap.py checks.json files.tar"
    return "\n".join(
        (
            f"FROM {image}",
            "ADD setup.tar /",
            f"COPY {names} /tests/",
            "COPY plugin /tests/plugin/",
            "RUN mkdir -p /workspace /logs/verifier && chmod 755 /tests/test.sh",
            "WORKDIR /workspace",
            "",
        )
    )


TEST_SCRIPT = f"""#!/bin/bash
# Judges /workspace. Nothing is written if the verifier itself fails, so that this is an error and not a failure.
set -u
cd /workspace || exit 1
python3 -E -s /tests/verify.py /tests --reward {REWARD}
code=$?
test $code -le 1 || exit $code
test -f {REWARD}
"""


def solve_script(task: TaskMaterial) -> bytes:
    """The script that applies the reference solution."""
    lines = [b"#!/bin/bash", b"# The reference solution of the contract: see solution.patch.", b"set -eu"]
    lines.append(b"cd /workspace")
    for path in task.solved.removals:
        lines.append(b"rm -f -- " + os.fsencode(shlex.quote(os.fsdecode(path))))
    lines.append(b"tar -xf /solution/solution.tar -C /workspace")
    return b"\n".join((*lines, b""))


class HarborTasks:
    """Writes a folder for each contract, and nothing about all of them."""

    name, version = "harbor", VERSION
    contains = (HIDDEN_TESTS, SOLUTION)
    readme = True

    def export(self, task: TaskMaterial, image: str) -> Exported:
        """One contract as a task."""
        folder = task.contract.name
        contents: dict[str, bytes | str] = {
            "task.toml": toml(task_table(task, image)),
            "instruction.md": clean(task.briefing.text),
            "environment/Dockerfile": environment_dockerfile(task, image),
            "tests/Dockerfile": tests_dockerfile(image),
            "solution/solution.patch": task.solution,
            "solution/solution.tar": tar_bytes(task.solved.writes),
        }
        files = [
            ExportedFile(f"{folder}/{path}", content.encode() if isinstance(content, str) else content)
            for path, content in sorted(contents.items())
        ]
        files += [
            ExportedFile(f"{folder}/tests/test.sh", TEST_SCRIPT.encode(), executable=True),
            ExportedFile(f"{folder}/solution/solve.sh", solve_script(task), executable=True),
            ExportedFile(f"{folder}/environment/base.tar", task.write_base),
            ExportedFile(f"{folder}/tests/setup.tar", task.write_setup),
            *verifier_files(task, f"{folder}/tests/"),
        ]
        losses = (*task_losses(task, image, CARRIED_LIMITS), Loss("patch-is-tree"))
        return Exported(task.contract.name, tuple(files), losses, folder)

    def index(self, tasks: Sequence[Exported]) -> tuple[ExportedFile, ...]:
        """No files about all tasks."""
        return ()


FORMAT = HarborTasks()
