"""The folder with which an exported task judges: the program, its plan, and the files of the judge.

The readers of results and the matching of paths are Proctor's own modules, copied as they are: only the names by which
they import each other change, because Proctor is not installed where they run.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from proctor.author.export.interface import ExportedFile
from proctor.author.export.swebench_ids import judged_checks, listed_tests
from proctor.author.export.task_material import TaskMaterial, tar_bytes
from proctor.author.export.verifier import verify
from proctor.execute.workspace import path_patterns
from proctor.judge.checks.results_readers import interface, junit, tap
from proctor.judge.patch_policy.paths_of_tests import IMPORT_ROOTS, NAMES, PATTERNS, RUNNER_MODULES, has_module

PROGRAM = "verify.py"
MODULES = (verify, path_patterns, interface, junit, tap)
PLUGIN = Path(verify.__file__).with_name("proctor_export_results.py")
"""The plug-in is read as a file: it imports pytest, which is not installed with Proctor."""
LEAST_PYTHON = "3.9"
"""The version of Python that the program needs in the image, as ``python3``."""

_OWN = re.compile(r"^from proctor\.[\w.]+?\.(\w+) import", re.MULTILINE)


def verifier_files(task: TaskMaterial, folder: str = "") -> tuple[ExportedFile, ...]:
    """The files of the folder, by their paths below ``folder``."""
    sources = {f"{_name(module)}": _source(module) for module in MODULES}
    sources[f"plugin/{PLUGIN.name}"] = PLUGIN.read_bytes()
    files = {**sources, "checks.json": _json(plan(task)), "files.tar": judge_archive(task)}
    return tuple(ExportedFile(f"{folder}{path}", content) for path, content in sorted(files.items()))


def judge_archive(task: TaskMaterial) -> bytes:
    """The guarded files of the base, and the hidden files of each check."""
    files = [(b"base/" + path, mode, data) for path, mode, data in task.guarded]
    judged = {check.id for check in judged_checks(task.contract)}
    for check, hidden in task.hidden.items():
        if check in judged:
            top = b"hidden/" + check.encode() + b"/"
            files += [(top + path, mode, data) for path, mode, data in hidden]
    return tar_bytes(files)


def plan(task: TaskMaterial) -> dict[str, Any]:
    """What the program needs to know, as data."""
    policy = task.contract.policy
    paths = {path for path, _, _ in task.guarded} | set(task.products)
    source = task.workspace
    foreign = [
        module.decode()
        for module in sorted(RUNNER_MODULES)
        if not has_module(module, IMPORT_ROOTS, lambda path: source.file(path) is not None)
    ]
    return {
        "contract": task.content_id,
        "workspace": "/workspace",
        "environment": task.environment,
        "protected": list(policy.protected),
        "free_steering": list(policy.free_steering),
        "guarded": sorted(os.fsdecode(path) for path in paths),
        "steering_names": sorted(name.decode() for name in NAMES),
        "steering_pattern": "(?si)" + PATTERNS.pattern.decode(),
        "runner_modules": foreign,
        "import_roots": [root.decode() for root in IMPORT_ROOTS],
        "checks": [
            {
                "id": check.id,
                "gate": check.gate,
                "run": list(check.run),
                "directory": check.directory,
                "timeout_seconds": check.timeout_seconds,
                "variables": dict(check.variables),
                "results": check.results,
                "results_file": check.results_file,
                "must_pass": list(check.must_pass),
                "keep_passing": list(check.keep_passing),
            }
            for check in judged_checks(task.contract)
        ],
        "tests": [{"check": one.check, "test": one.test, "id": one.id} for one in listed_tests(task.contract)],
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1).encode() + b"\n"


def _name(module: Any) -> str:
    return Path(str(module.__file__)).name


def _source(module: Any) -> bytes:
    """The text of a module, which imports the others by their plain names."""
    text = Path(str(module.__file__)).read_text("utf-8")
    return _OWN.sub(r"from \1 import", text).encode()
