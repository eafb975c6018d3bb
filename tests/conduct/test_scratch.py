"""git works where the next command sweeps, never in the system's directory for temporary files."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

WITHOUT_TEMPORARY = """
import sys, tempfile
tempfile.tempdir = "/nonexistent"
from proctor.cli.main import main
main(sys.argv[1:])
"""
"""Proctor on a machine where whatever uses the system's directory for temporary files fails."""


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    done = subprocess.run(["git", "-C", repository, *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def archive_of(path: Path, name: str, text: str) -> str:
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("agent", ["reference", "command:sed -i s/a.-.b/a+b/ calc.py"])
def test_nothing_is_made_where_a_kill_would_leave_it(tmp_path: Path, make_contract: Any, agent: str) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "calc.py").write_text(make_contract.FILES["calc.py"])
    git(repository, "init", "-q")
    git(repository, "add", "calc.py")
    git(repository, "commit", "-q", "-m", "first")
    contract = make_contract("from-git", reference={"from": "fixed", "paths": ["calc.py"]})
    digest = archive_of(contract / "fixed.tar", "calc.py", "def add(a, b):\n    return a + b\n")
    whole = json.loads((contract / "contract.yaml").read_text())
    whole["repository"] = {"git": str(repository), "commit": git(repository, "rev-parse", "HEAD")}
    whole["inputs"] = [{"name": "fixed", "archive": "fixed.tar", "sha256": digest, "for": "judge"}]
    (contract / "contract.yaml").write_text(json.dumps(whole))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TEMPORARY, "run", contract, "--agent", agent, "--json"],
        env={**os.environ, "PROCTOR_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert not list((tmp_path / "home" / "scratch").iterdir())
