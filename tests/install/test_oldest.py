"""The lowest versions that the package allows are true: the parts that use a dependency pass their tests with them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.install.conftest import Files, succeed

RUNNERS = ("pytest", "pytest-xdist", "hypothesis", "jsonschema", "rfc8785", "securesystemslib")
PARTS = (
    "tests/base/test_canonical.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_prices.py",
    "tests/cli/test_query.py",
    "tests/contract/test_load.py",
    "tests/contract/test_strict_yaml.py",
    "tests/execute/gateway/test_service.py",
    "tests/record/signing",
    "tests/study/index",
    "tests/study/stats/test_bootstrap.py",
)
"""Tests for every package of the dependencies and the extras; none needs a package besides these and the runners."""


@pytest.mark.soak
def test_i7_the_lowest_versions_work(files: Files, uv: Path, project: Path, tmp_path: Path) -> None:
    lowest, place = tmp_path / "lowest.txt", tmp_path / "environment"
    command = (
        uv,
        "pip",
        "compile",
        "-q",
        "--resolution",
        "lowest-direct",
        "--extra",
        "all",
        "--python",
        sys.executable,
    )
    succeed(*command, project / "pyproject.toml", "--no-emit-package", "proctor", "-o", lowest)
    succeed(uv, "venv", "-q", "--no-project", "--python", sys.executable, place)
    install = (uv, "pip", "install", "-q", "--python", place / "bin/python")
    succeed(*install, "-r", lowest)
    succeed(*install, "--no-deps", files.wheel)
    succeed(*install, "-c", lowest, *RUNNERS)
    chosen = [project / part for part in PARTS]
    assert [part for part in chosen if not part.exists()] == []
    lanes = "not soak and not container and not browser"
    pytest_ = (place / "bin/python", "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", lanes)
    succeed(*pytest_, *chosen, directory=project)
