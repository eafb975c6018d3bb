"""Commits as snapshots: exact files, a past without a future, and clear messages for what cannot be."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.contract.model import Submodule
from proctor.execute.workspace.git_checkout import BadRepository, export_commit

Files = dict[bytes, tuple[int, bytes]]
Write = Callable[[Path, Files], None]
Read = Callable[[Path], Files]

FILES: Files = {
    b"a.txt": (0o100644, b"one\r\ntwo\n$Id$\n"),
    b"run": (0o100755, b"#!/bin/sh\n"),
    b"empty": (0o100644, b""),
    b"dir/link": (0o120000, b"../a.txt"),
    b"dir/out": (0o120000, b"/etc/passwd"),
    b'caf\xe9 "q"\n': (0o100644, b"\0\xff"),
    b"back\\slash": (0o100644, b"x"),
    b".gitattributes": (0o100644, b"*.txt text eol=crlf ident\n* filter=evil\n"),
}


def git(where: Path, *arguments: str, stdin: bytes = b"") -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(where),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    command = ["git", "-c", "safe.directory=*", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=where, env=environment, input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def commit_files(repository: Path, files: Files, write_tree: Write, message: str = "work") -> str:
    """Commit exactly these files, byte for byte."""
    for old in repository.iterdir():
        if old.name != ".git":
            subprocess.run(["rm", "-rf", "--", old], check=True, timeout=60)
    write_tree(repository, files)
    git(repository, "rm", "-rq", "--cached", "--ignore-unmatch", ".")
    for path, (mode, data) in files.items():
        name = git(repository, "hash-object", "-w", "--no-filters", "--stdin", stdin=data)
        line = b"%o %s\t%s\0" % (mode, name.encode(), path)
        git(repository, "update-index", "-z", "--index-info", stdin=line)
    git(repository, "commit", "-qm", message)
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.mkdir()
    git(path, "init", "-q", "-b", "trunk")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.mkdir()
    return path


def objects_of(tree: Path) -> set[str]:
    """Every object that is in the repository of ``tree``, reachable or not."""
    listed = git(tree, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
    return set(listed.split())


def test_files_are_exact_and_nothing_is_converted(
    repository: Path, out: Path, tmp_path: Path, write_tree: Write, read_tree: Read
) -> None:
    commit = commit_files(repository, FILES, write_tree)
    proof = tmp_path / "executed"
    git(repository, "config", "filter.evil.smudge", f"touch {proof}; cat")
    git(repository, "config", "core.fsmonitor", f"touch {proof}")
    export_commit(repository, commit, (), out)
    assert read_tree(out) == FILES
    assert not proof.exists()
    assert git(out, "rev-parse", "HEAD") == commit
    assert git(out, "status", "--porcelain") == ""
    assert git(out, "symbolic-ref", "HEAD") == "refs/heads/main"
    git(out, "fsck", "--strict", "--full")


def test_an_unusual_mask_does_not_show(repository: Path, out: Path, write_tree: Write) -> None:
    commit = commit_files(repository, FILES, write_tree)
    before = os.umask(0o077)
    try:
        export_commit(repository, commit, (), out)
    finally:
        os.umask(before)
    assert [(out / name).stat().st_mode & 0o777 for name in ("run", "empty", "dir")] == [0o755, 0o644, 0o755]


def test_nothing_newer_and_nothing_dangling_comes_along(repository: Path, out: Path, write_tree: Write) -> None:
    first = commit_files(repository, {b"a": (0o100644, b"1\n")}, write_tree)
    pinned = commit_files(repository, {b"a": (0o100644, b"2\n")}, write_tree)
    git(repository, "tag", "-a", "-m", "release", "v1")
    git(repository, "update-ref", "refs/notes/x", pinned)
    newer = commit_files(repository, {b"a": (0o100644, b"the fix\n")}, write_tree)
    git(repository, "checkout", "-q", "-b", "side", first)
    side = commit_files(repository, {b"s": (0o100644, b"side\n")}, write_tree)
    dangling = git(repository, "hash-object", "-w", "--stdin", stdin=b"dangling\n")
    git(repository, "stash", "list")
    git(repository, "repack", "-adq")
    export_commit(repository, pinned, (), out)
    there = objects_of(out)
    assert {first, pinned} <= there
    assert not there & {newer, side, dangling, git(repository, "rev-parse", "v1")}
    assert there == set(git(repository, "rev-list", "--objects", "--no-object-names", pinned).split())
    assert git(out, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(out, "remote") == ""
    assert not (out / ".git" / "logs").exists() and not (out / ".git" / "info").exists()
    assert [path.name for path in (out / ".git" / "objects").iterdir()] == ["pack"]


def test_bare_linked_shallow_and_borrowing_repositories(
    repository: Path, tmp_path: Path, write_tree: Write, read_tree: Read
) -> None:
    commit_files(repository, {b"a": (0o100644, b"1\n")}, write_tree)
    commit = commit_files(repository, {b"a": (0o100644, b"2\n")}, write_tree)
    git(repository, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"))
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    git(repository, "clone", "-q", "--depth=1", f"file://{repository}", str(tmp_path / "shallow"))
    git(repository, "clone", "-q", "--shared", str(repository), str(tmp_path / "odd \"'\n:name"))
    for name, depth in (("bare.git", 2), ("linked", 2), ("shallow", 1), ("odd \"'\n:name", 2)):
        out = tmp_path / f"out-{depth}-{name.split()[0]}"
        out.mkdir()
        export_commit(tmp_path / name, commit, (), out)
        assert read_tree(out) == {b"a": (0o100644, b"2\n")}
        assert git(out, "rev-list", "--count", "HEAD") == str(depth)
        git(out, "fsck", "--full")


def test_submodules_are_placed_as_files(
    repository: Path, tmp_path: Path, out: Path, write_tree: Write, read_tree: Read
) -> None:
    for name in ("inner", "deep"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    deep = commit_files(tmp_path / "deep", {b"d": (0o100755, b"deep")}, write_tree)
    commit_files(tmp_path / "inner", {b"i": (0o100644, b"inner")}, write_tree)
    git(tmp_path / "inner", "update-index", "--add", "--cacheinfo", f"160000,{deep},nested")
    git(tmp_path / "inner", "commit", "-qm", "nest")
    inner = git(tmp_path / "inner", "rev-parse", "HEAD")
    commit_files(repository, {b"a": (0o100644, b"top")}, write_tree)
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{inner},lib/inner")
    git(repository, "commit", "-qm", "add")
    commit = git(repository, "rev-parse", "HEAD")
    modules = [
        Submodule("lib/inner", str(tmp_path / "inner"), inner),
        Submodule("lib/inner/nested", str(tmp_path / "deep"), deep),
    ]
    export_commit(repository, commit, modules, out)
    assert read_tree(out) == {
        b"a": (0o100644, b"top"),
        b"lib/inner/i": (0o100644, b"inner"),
        b"lib/inner/nested/d": (0o100755, b"deep"),
    }
    assert not (out / "lib" / "inner" / ".git").exists()
    for wrong, message in (
        (modules[:1], f"submodule lib/inner/nested is not declared\n.*{deep}"),
        (
            [Submodule("lib/inner", str(tmp_path / "inner"), "0" * 40), modules[1]],
            "pinned to 0{40}, but the tree names",
        ),
        ([*modules, Submodule("other", "x", inner)], "no submodule other"),
    ):
        again = tmp_path / f"again-{len(message)}"
        again.mkdir()
        with pytest.raises(BadRepository, match=message):
            export_commit(repository, commit, wrong, again)


def test_a_commit_that_does_not_exist(repository: Path, out: Path, write_tree: Write) -> None:
    commit = commit_files(repository, FILES, write_tree)
    with pytest.raises(BadRepository, match=r"there is no commit 1{40}") as raised:
        export_commit(repository, "1" * 40, (), out)
    assert raised.value.exit_code == 2 and str(repository) in str(raised.value)
    with pytest.raises(BadRepository, match="not a full commit name"):
        export_commit(repository, commit[:12], (), out)
    with pytest.raises(BadRepository, match="not a full commit name"):
        export_commit(repository, "--upload-pack=x", (), out)
    with pytest.raises(BadRepository, match="is a tree, not a commit"):
        export_commit(repository, git(repository, "rev-parse", f"{commit}^{{tree}}"), (), out)
    with pytest.raises(BadRepository, match="not a git repository"):
        export_commit(out, commit, (), out)
    with pytest.raises(BadRepository, match="not a git repository"):
        export_commit(str(out / "absent"), commit, (), out)
    with pytest.raises(BadRepository, match="cannot fetch from ext::"):
        export_commit("ext::sh -c touch% /tmp/x", commit, (), out)


def test_a_forged_object_is_found_out(repository: Path, out: Path, write_tree: Write) -> None:
    commit = commit_files(repository, {b"a": (0o100644, b"honest\n")}, write_tree)
    blob = git(repository, "rev-parse", f"{commit}:a")
    other = git(repository, "hash-object", "-w", "--stdin", stdin=b"forged\n")
    objects = repository / ".git" / "objects"
    place = objects / blob[:2] / blob[2:]
    place.unlink()
    place.write_bytes((objects / other[:2] / other[2:]).read_bytes())
    with pytest.raises(BadRepository, match=r"damaged|incomplete"):
        export_commit(repository, commit, (), out)


def test_a_missing_object_is_named(repository: Path, out: Path, write_tree: Write) -> None:
    commit = commit_files(repository, {b"a": (0o100644, b"1\n")}, write_tree)
    blob = git(repository, "rev-parse", f"{commit}:a")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(BadRepository, match="incomplete"):
        export_commit(repository, commit, (), out)


def test_a_tree_that_reaches_for_git(repository: Path, out: Path) -> None:
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"[core]\n")
    for name in (".git", ".GIT"):
        inner = git(repository, "mktree", "-z", stdin=f"100644 blob {blob}\tconfig\0".encode())
        tree = git(repository, "mktree", "-z", stdin=f"040000 tree {inner}\t{name}\0".encode())
        commit = git(repository, "commit-tree", "-m", "x", tree)
        with pytest.raises(BadRepository, match="cannot write the tree"):
            export_commit(repository, commit, (), out)
        subprocess.run(["rm", "-rf", out / ".git"], check=True, timeout=60)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_fetching_from_an_address(
    repository: Path, tmp_path: Path, out: Path, served: str, write_tree: Write, read_tree: Read
) -> None:
    pinned = commit_files(repository, FILES, write_tree)
    newer = commit_files(repository, {b"a": (0o100644, b"the fix\n")}, write_tree)
    git(repository, "update-server-info")
    export_commit(f"{served}/source/.git", pinned, (), out)
    assert read_tree(out) == FILES
    assert newer not in objects_of(out)
    with pytest.raises(InfrastructureFault, match="could not fetch"):
        export_commit(f"{served}/absent", pinned, (), tmp_path / "other")
