"""The environment of an imported task: an image of the engine, pinned by its layers, or one that the caller declares.

A record names packages and interpreters only by an image, or by a table in the peer's program. Where neither an image
nor a declaration fits, a task is refused: a guess would give verdicts about another environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.author.import_.import_record import Losses, Refused
from proctor.author.import_.task_records import simple_yaml
from proctor.base.errors import UsageFault

TESTBED = "/testbed"
"""Where images of SWE-bench have their own copy of the tree, which must not be seen: it has a repository."""
HOST_PYTHON = "/usr/bin/python3"
CONDA_PYTHON = "/opt/miniconda3/envs/testbed/bin/python"
FROM_WORKSPACE = "/workspace/src:/workspace/lib:/workspace"
SWEBENCH_IMAGE = re.compile(r"(?:.*/)?swebench/sweb\.eval\..*|sweb\.eval\..*")
ENTRY = frozenset({"repo", "version", "task", "python", "environment", "inputs", "setup"})
SELECTORS = ("repo", "version", "task")

Inspect = Callable[[str], tuple[str, ...]]
"""The layers of an image of the engine; none if there is no such image or no engine."""


@dataclass(frozen=True)
class TaskEnvironment:
    """The interpreter, and the sections of the contract that provide it."""

    python: str
    sections: Mapping[str, Any] = field(default_factory=dict)


def no_images(_: str) -> tuple[str, ...]:
    """The layers of an image where there is no engine."""
    return ()


class Environments:
    """The environments that a file declares, the first that fits a task, else the task's image."""

    def __init__(self, file: Path | None, inspect: Inspect = no_images) -> None:
        self._inspect = inspect
        self._declared = [] if file is None else _declared(file)

    def of(
        self, task: str, repo: str, version: str, image: str, losses: Losses, hide: str = TESTBED
    ) -> TaskEnvironment:
        """The environment of a task."""
        about = {"task": task, "repo": repo, "version": version}
        for entry in self._declared:
            if all(str(entry[name]) == about[name] for name in SELECTORS if name in entry):
                sections: dict[str, Any] = {
                    name: entry[name] for name in ("environment", "inputs", "setup") if name in entry
                }
                if any("sha256" not in one for one in sections.get("inputs", ())):
                    losses.add("needs-lock")
                return TaskEnvironment(entry.get("python", HOST_PYTHON), sections)
        layers = self._inspect(image) if image else ()
        if not layers:
            raise Refused("no-image" if image else "no-environment", image)
        losses.add("image-tag", image)
        losses.add("build-products", hide)
        is_swebench = SWEBENCH_IMAGE.fullmatch(image) is not None
        environment = {
            "sandbox": "image",
            "image": list(layers),
            "hide": [hide],
            "variables": {"PYTHONPATH": FROM_WORKSPACE, "PYTHONDONTWRITEBYTECODE": "1"},
        }
        return TaskEnvironment(CONDA_PYTHON if is_swebench else "python", {"environment": environment})


def _declared(file: Path) -> list[dict[str, Any]]:
    """The entries of a file of environments; their sections are checked by the loader of contracts."""
    found = simple_yaml(file)
    hint = (
        "write environments: [{repo: OWNER/NAME, version: ..., python: ..., environment: ..., inputs: ..., setup: ...}]"
    )
    entries = found.get("environments")
    if found.keys() != {"environments"} or not isinstance(entries, list) or not entries:
        raise UsageFault("there is no list of environments", where=str(file), hint=hint)
    for number, entry in enumerate(entries, 1):
        where = f"{file.name}: environment {number}"
        if not isinstance(entry, dict) or (unknown := set(entry) - ENTRY):
            names = ", ".join(sorted(map(str, unknown))) if isinstance(entry, dict) else "no fields"
            raise UsageFault(f"it has {names}", where=where, hint=hint)
        if not isinstance(entry.get("python", ""), str) or not isinstance(entry.get("environment", {}), dict):
            raise UsageFault("python is text and environment a map", where=where, hint=hint)
        if not all(isinstance(one, dict) for one in entry.get("inputs", [{}]) or [{}]):
            raise UsageFault("inputs is a list of maps", where=where, hint=hint)
    return entries
