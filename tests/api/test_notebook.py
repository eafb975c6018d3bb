"""The notebook of the documentation runs from its first cell to its last, and uses the Python interface alone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = "docs/notebooks/two-agents.ipynb"


def cells(project: Path) -> list[str]:
    """The code cells of the notebook."""
    notebook = json.loads((project / NOTEBOOK).read_text())
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs(project: Path, tmp_path: Path) -> None:
    last = cells(project)[-1].splitlines()
    script = "\n".join([*cells(project)[:-1], *last[:-1], f"figure = {last[-1]}", "print(figure.svg)"])
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    options: dict[str, Any] = {
        "cwd": tmp_path,
        "env": environment,
        "capture_output": True,
        "text": True,
    }
    subprocess.run(["proctor", "init", "greeting"], check=True, timeout=60, **options)
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=600, **options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" reference success\n") == done.stdout.count(" noop failure\n") == 3
    assert "G3 failed" in done.stdout
    assert "</svg>" in done.stdout


def test_the_notebook_imports_nothing_else(project: Path) -> None:
    nodes = [node for cell in cells(project) for node in ast.walk(ast.parse(cell))]
    assert [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)] == ["import proctor"]
