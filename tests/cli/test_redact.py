"""``proctor redact`` on a file."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]
TOKEN = "glpat-" + "aB3" * 7


def test_a_file_is_checked_and_redacted(proctor: Proctor, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(f"one\ntwo {TOKEN} three\n")
    checked = proctor("redact", "--check", "--json", file)
    assert checked.returncode == 1
    assert json.loads(checked.stdout)["secrets"] == [{"bytes": 27, "kind": "gitlab-token", "line": 2}]
    refused = proctor("redact", file)
    assert refused.returncode == 2 and "there is no vault" in refused.stderr
    proctor("vault", "identity", "jo", tmp_path / "jo.key")
    proctor("vault", "init", "--identity", tmp_path / "jo.key")
    clean = proctor("redact", file).stdout
    assert TOKEN not in clean and clean.startswith("one\ntwo [secret:gitlab-token:27:") and clean.endswith("] three\n")
    file.write_text(clean)
    name = clean.rpartition("]")[0].rpartition(":")[2]
    got = proctor("vault", "get", name, "--identity", tmp_path / "jo.key", "--why", "a test", "--json")
    answer = {"kind": "vault-get", "schema": 1, "name": name, "secret_kind": "gitlab-token", "secret": TOKEN}
    assert json.loads(got.stdout) == answer


def test_a_plain_file_has_nothing_to_tell(proctor: Proctor, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("plain\n")
    assert proctor("redact", "--check", tmp_path / "notes.txt").returncode == 0
    assert proctor("redact", "--json", tmp_path / "notes.txt").returncode == 2
    assert proctor("redact", "--check", tmp_path / "missing.txt").returncode == 2
    os.mkfifo(tmp_path / "pipe")
    refused = proctor("redact", "--check", tmp_path / "pipe")
    assert refused.returncode == 2 and "not a regular file" in refused.stderr


def test_bad_words_for_the_vault_are_told_in_one_line(proctor: Proctor, tmp_path: Path) -> None:
    for words in (
        ("vault", "log"),
        ("vault", "init", "--identity", tmp_path / "missing.key"),
        ("vault", "identity", "two words", tmp_path / "x.key"),
        ("vault", "get", "--identity", tmp_path / "missing.key"),
    ):
        done = proctor(*words)
        assert done.returncode == 2 and done.stderr.startswith("proctor: ") and "Traceback" not in done.stderr


@pytest.fixture
def vault(proctor: Proctor, tmp_path: Path) -> str:
    """A vault of jo's; the name of what is in it."""
    proctor("vault", "identity", "jo", tmp_path / "jo.key")
    proctor("vault", "init", "--identity", tmp_path / "jo.key")
    (tmp_path / "notes.txt").write_text(TOKEN)
    return proctor("redact", tmp_path / "notes.txt").stdout.strip().rpartition("]")[0].rpartition(":")[2]


def logged(proctor: Proctor) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(proctor("vault", "log", "--json").stdout)["entries"]
    return found


def test_every_reading_that_is_refused_stands_in_the_log(proctor: Proctor, tmp_path: Path, vault: str) -> None:
    (tmp_path / "large").write_bytes(b"{" * 9000)
    (tmp_path / "deep").write_bytes(b"[" * 8000)
    (tmp_path / "text").write_bytes(b"\xff")
    (tmp_path / "text").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "text")
    (tmp_path / "open.key").write_bytes((tmp_path / "jo.key").read_bytes())
    jo = ("--identity", tmp_path / "jo.key")
    asked: dict[tuple[str | Path, ...], str] = {
        ("--token", tmp_path / "large", *jo): "larger than 8192 bytes",
        ("--token", tmp_path / "deep", *jo): "not a token",
        ("--token", tmp_path / "text", *jo): "not a token",
        ("--token", tmp_path / "link", *jo): "cannot be read",
        ("--token", tmp_path / "none", *jo): "cannot be read",
        ("--token", tmp_path, *jo): "not a token",
        (vault, *jo): "why",
        (vault, *jo, "--why", "\udcff"): "",
        ("\udcff", *jo, "--why", "x"): "no such entry",
        (vault, "--why", "x", "--identity", tmp_path / "open.key"): "others can read",
        (vault, "--why", "x", "--identity", tmp_path / "text"): "not an identity",
    }
    for words, reason in asked.items():
        done = proctor("vault", "get", *words)
        assert (done.returncode, done.stdout) == (2, "") if reason else done.stdout == TOKEN + "\n", words
        assert reason in done.stderr and len(done.stderr.splitlines()) <= 2, done.stderr
    told = logged(proctor)[1:]
    assert [one["outcome"] for one in told] == ["refused" if reason else "granted" for reason in asked.values()]
    assert all(reason in one["reason"] for one, reason in zip(told, asked.values(), strict=True))


def test_a_recipient_who_is_refused_stands_in_the_log(proctor: Proctor, tmp_path: Path, vault: str) -> None:
    proctor("vault", "identity", "eve", tmp_path / "eve.key")
    done = proctor("vault", "add-recipient", tmp_path / "eve.key.pub", "--identity", tmp_path / "eve.key")
    assert done.returncode == 2 and "only a recipient can add another" in done.stderr
    assert logged(proctor)[-1]["act"] == "refuse-recipient"
    assert "eve" in proctor("vault", "log").stdout


def test_a_recipient_who_is_added_is_named_in_the_log(proctor: Proctor, tmp_path: Path, vault: str) -> None:
    proctor("vault", "identity", "kim", tmp_path / "kim.key")
    jo = ("--identity", tmp_path / "jo.key")
    assert proctor("vault", "add-recipient", tmp_path / "kim.key.pub", *jo).returncode == 0
    proctor("vault", "get", vault, *jo, "--why", "a test")
    rows = [line.split() for line in proctor("vault", "log").stdout.splitlines()]
    assert rows[0][:4] == ["SEQ", "ACT", "BY", "ABOUT"]
    assert [row[1:] for row in rows[2:5]] == [
        ["init", "jo"],
        ["add-recipient", "jo", "kim"],
        ["read", "jo", vault, "granted", "a", "test"],
    ]


def test_an_original_is_also_named_by_its_whole_placeholder(proctor: Proctor, tmp_path: Path, vault: str) -> None:
    asked = (f"[secret:gitlab-token:27:{vault}]", "--identity", tmp_path / "jo.key", "--why", "a test")
    assert proctor("vault", "get", *asked).stdout == TOKEN + "\n"
    (tmp_path / "request").write_text(proctor("vault", "token", *asked).stdout)
    used = proctor("vault", "get", "--token", tmp_path / "request", "--identity", tmp_path / "jo.key")
    assert used.stdout == TOKEN + "\n"
    refused = proctor("vault", "get", "0" * 24, *asked[1:])
    assert refused.returncode == 2 and "[secret:KIND:LENGTH:NAME]" in refused.stderr


def test_the_next_vault_command_takes_away_what_a_crash_left(proctor: Proctor, tmp_path: Path) -> None:
    proctor("vault", "identity", "jo", tmp_path / "jo.key")
    left = tmp_path / "home" / ".vault-0123456789abcdef"
    for command in (("vault", "init", "--identity", tmp_path / "jo.key"), ("vault", "log")):
        left.mkdir(parents=True)
        assert proctor(*command).returncode == 0
        assert not left.exists()
