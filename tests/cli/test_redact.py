"""``proctor redact`` on a file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Proctor = Callable[..., subprocess.CompletedProcess[str]]
TOKEN = "glpat-" + "aB3" * 7


def test_a_file_is_checked_and_redacted(proctor: Proctor, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(f"one\ntwo {TOKEN} three\n")
    checked = proctor("redact", "--check", "--json", file)
    assert checked.returncode == 1
    assert json.loads(checked.stdout) == [{"bytes": 27, "kind": "gitlab-token", "line": 2}]
    refused = proctor("redact", file)
    assert refused.returncode == 2 and "there is no vault" in refused.stderr
    proctor("vault", "identity", "jo", tmp_path / "jo.key")
    proctor("vault", "init", "--identity", tmp_path / "jo.key")
    clean = proctor("redact", file).stdout
    assert TOKEN not in clean and clean.startswith("one\ntwo [secret:gitlab-token:27:") and clean.endswith("] three\n")
    file.write_text(clean)
    name = clean.rpartition("]")[0].rpartition(":")[2]
    got = proctor("vault", "get", name, "--identity", tmp_path / "jo.key", "--why", "a test", "--json")
    assert json.loads(got.stdout) == {"kind": "gitlab-token", "name": name, "secret": TOKEN}


def test_a_plain_file_has_nothing_to_tell(proctor: Proctor, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("plain\n")
    assert proctor("redact", "--check", tmp_path / "notes.txt").returncode == 0
    assert proctor("redact", "--json", tmp_path / "notes.txt").returncode == 2
    assert proctor("redact", "--check", tmp_path / "missing.txt").returncode == 2


def test_bad_words_for_the_vault_are_told_in_one_line(proctor: Proctor, tmp_path: Path) -> None:
    for words in (
        ("vault", "log"),
        ("vault", "init", "--identity", tmp_path / "missing.key"),
        ("vault", "identity", "two words", tmp_path / "x.key"),
        ("vault", "get", "--identity", tmp_path / "missing.key"),
    ):
        done = proctor(*words)
        assert done.returncode == 2 and done.stderr.startswith("proctor: ") and "Traceback" not in done.stderr
