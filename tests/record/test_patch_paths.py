"""Paths of patches, held against what git itself says of patches that git has made."""

from __future__ import annotations

import io
import os
import random
import subprocess
from pathlib import Path

import pytest

from proctor.record.completeness import LINE_BYTES, bounded_lines, patch_paths

GIT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "LC_ALL": "C",
}


def git(directory: bytes, *arguments: str) -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env=GIT, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(patch: bytes) -> set[bytes]:
    return patch_paths(bounded_lines(io.BytesIO(patch)))


NAMES = [
    b"plain.py",
    b"with space.py",
    b"a b/a b",
    b"b/b b/b",
    b" leading",
    b"trailing ",
    b"tab\there",
    b"new\nline",
    b'quote"d',
    b"back\\slash",
    b"caf\xc3\xa9",
    b"\xff\xfe",
    b"diff --git a",
    b"-dash",
    b"x b/x",
]


def write(root: bytes, name: bytes, data: bytes) -> None:
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def test_paths_are_those_that_git_names(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    draw = random.Random(7)
    git(root, "init", "-q")
    text = b"".join(b"line %d\n" % number for number in range(50))
    for name in NAMES:
        write(root, name, text + name + b"\n")
        write(root, b"binary/" + name, draw.randbytes(300))
        write(root, b"gone/" + name, b"-- a/decoy\n++ b/decoy\ndiff --git a/no b/no\n")
        write(root, b"mode/" + name, b"#!/bin/sh\n")
        write(root, b"move/" + name, draw.randbytes(50).hex().encode() + b"\n" + text)
        write(root, b"empty/" + name, b"")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "before")
    for name in NAMES:
        write(root, name, text + b"rename to decoy\n-- a/x\n++ b/y\n" + name)
        write(root, b"binary/" + name, draw.randbytes(300))
        os.unlink(os.path.join(root, b"gone/" + name))
        os.unlink(os.path.join(root, b"empty/" + name))
        os.chmod(os.path.join(root, b"mode/" + name), 0o755)
        with open(os.path.join(root, b"move/" + name), "rb") as file:
            write(root, b"moved/x" + name, file.read())
        os.unlink(os.path.join(root, b"move/" + name))
        write(root, b"fresh/" + name, b"diff --git a/decoy b/decoy\n@@ -1 +1 @@\n")
        write(root, b"void/" + name, b"")
    git(root, "add", "-A")
    expected = set(git(root, "diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD").split(b"\0")) - {b""}
    assert len(expected) == 9 * len(NAMES)
    for options in (["-M"], ["--no-renames"], ["-M", "-C", "-C"], ["-M", "-U0"]):
        patch = git(root, "diff", "--cached", "--binary", "--full-index", *options, "HEAD")
        found = read(patch)
        assert found == expected, options


def test_an_empty_patch_has_no_paths() -> None:
    assert read(b"") == set()


@pytest.mark.parametrize(
    "title", [b"a/x b/y", b"x x", b'"a/x" "b/y"', b'"a/x', b'"a/x" b/x', b"", b"a/x", b'"a/x" "b/x" '], ids=repr
)
def test_a_header_that_names_two_things_without_a_rename(title: bytes) -> None:
    with pytest.raises(ValueError, match="name"):
        read(b"diff --git " + title + b"\nold mode 100644\nnew mode 100755\n")


def test_lines_are_bounded() -> None:
    data = b"x" * (3 * LINE_BYTES) + b"\nshort\n" + b"y" * LINE_BYTES + b"\n\nlast"
    assert [len(line) for line in bounded_lines(io.BytesIO(data))] == [LINE_BYTES, 5, LINE_BYTES, 0, 4]


def test_the_middle_of_a_long_line_is_no_header() -> None:
    line = b"+" + b"x" * (LINE_BYTES - 1) + b"diff --git a/decoy b/decoy\n"
    assert read(b"diff --git a/x b/x\n@@ -0,0 +1 @@\n" + line) == {b"x"}
