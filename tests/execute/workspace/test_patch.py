"""Patches that apply, patches that do not, and what is said about them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import Entry
from proctor.execute.workspace.git_repository import IndexEntry, read_index, scratch_repository, write_blob, write_index
from proctor.execute.workspace.patch import (
    Application,
    PatchProblem,
    apply_patch,
    conflict_markers,
    has_conflict_markers,
    make_patch,
    parse_stat,
)

Files = dict[bytes, tuple[int, bytes]]


def entry(path: bytes, file: tuple[int, bytes] | None) -> Entry | None:
    return Entry(path, file[0], len(file[1]), hashlib.sha256(file[1]).hexdigest()) if file else None


def patch_between(before: Files, after: Files) -> bytes:
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            kind = "modified" if old and new else "added" if new else "deleted"
            changes.append(Change(path, kind, entry(path, old), entry(path, new)))
    return make_patch(Changes(tuple(changes)), lambda path: before[path][1], lambda path: after[path][1])


BEFORE: Files = {
    b"calc.py": (0o100644, b"def add(a, b):\n    return a - b\n"),
    b"old.txt": (0o100644, b"".join(b"line %d\n" % number for number in range(30))),
    b"blob": (0o100644, bytes(range(256))),
}
AFTER: Files = {
    b"calc.py": (0o100644, b"def add(a, b):\n    return a + b\n"),
    b"new.txt": (0o100755, b"".join(b"line %d\n" % number for number in range(29))),
    b"blob": (0o100644, bytes(reversed(range(256)))),
}


def test_a_patch_is_the_same_every_time_and_shows_renames() -> None:
    patch = patch_between(BEFORE, AFTER)
    assert patch == patch_between(BEFORE, AFTER)
    assert b"rename from old.txt\nrename to new.txt\n" in patch
    assert b"GIT binary patch\n" in patch and b"-    return a - b\n+    return a + b\n" in patch
    assert {stat.path: (stat.added_lines, stat.deleted_lines, stat.binary) for stat in parse_stat(patch)} == {
        b"calc.py": (1, 1, False),
        b"new.txt": (0, 1, False),
        b"blob": (0, 0, True),
    }
    application = apply_patch(patch, BEFORE.get)
    assert {path: (mode, data) for path, mode, data in application.writes} == AFTER
    assert application.removals == (b"old.txt",)


def test_nothing_changed_starts_no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert make_patch(Changes(), BEFORE.__getitem__, BEFORE.__getitem__) == b""  # type: ignore[arg-type]
    assert apply_patch(b"", BEFORE.get) == Application()


def test_nobodys_configuration_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text(
        "[diff]\n\tnoprefix = true\n\texternal = /bin/false\n[core]\n\tquotepath = false\n"
    )
    plain = patch_between(BEFORE, AFTER)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "junk")
    monkeypatch.chdir(tmp_path)
    assert patch_between(BEFORE, AFTER) == plain
    assert apply_patch(plain, BEFORE.get).removals == (b"old.txt",)


def test_attributes_in_the_tree_change_nothing() -> None:
    attributes = (0o100644, b"* text=auto eol=crlf diff=evil filter=evil merge=evil ident\n*.py binary\n")
    before = BEFORE | {b".gitattributes": attributes}
    after = AFTER | {b".gitattributes": (0o100644, attributes[1] + b"x\n"), b"crlf.txt": (0o100644, b"a\r\nb\n$Id$\n")}
    patch = patch_between(before, after)
    assert b"-    return a - b\n" in patch
    application = apply_patch(patch, before.get)
    assert {path: (mode, data) for path, mode, data in application.writes} == after


REFUSED = {
    "a file that is not there": (
        b"diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n",
        "does not apply",
    ),
    "other text": (
        b"diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-what\n+b\n",
        "does not apply",
    ),
    "a new file that exists": (
        b"diff --git a/calc.py b/calc.py\nnew file mode 100644\n--- /dev/null\n+++ b/calc.py\n@@ -0,0 +1 @@\n+b\n",
        "does not apply",
    ),
    "outside": (
        b"diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+b\n",
        "not allowed: ../x",
    ),
    "git": (
        b"diff --git a/.git/x b/.git/x\nnew file mode 100644\n--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+b\n",
        "not allowed: .git/x",
    ),
    "git in another case": (
        b"diff --git a/d/.GiT b/d/.GiT\nnew file mode 100644\n--- /dev/null\n+++ b/d/.GiT\n@@ -0,0 +1 @@\n+b\n",
        "not allowed: d/.GiT",
    ),
    "a submodule": (
        b"diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit "
        + b"1" * 40
        + b"\n",
        "mode that is not allowed: 160000",
    ),
    "below a link": (
        b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
        b"diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+b\n",
        "does not apply",
    ),
    "words": (b"I could not do it, sorry.\n", "names no file"),
    "cut short": (b"--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def", "malformed"),
    "damaged binary": (
        b"diff --git a/blob b/blob\nindex "
        + b"1" * 40
        + b".."
        + b"2" * 40
        + b" 100644\nGIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\n",
        "does not apply",
    ),
    "a long name": (
        b"--- /dev/null\n+++ b/" + b"d/" * 3000 + b"x\n@@ -0,0 +1 @@\n+b\n",
        "too long",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_patch_that_is_refused(case: str) -> None:
    patch, reason = REFUSED[case]
    with pytest.raises(PatchProblem) as raised:
        apply_patch(patch, BEFORE.get)
    assert reason in raised.value.reason
    assert raised.value.exit_code == 2
    if "apply" in reason:
        assert raised.value.log.startswith("error:")


BROKEN = {
    "does nothing but print its version": (
        "echo broken >&2; exit 128",
        "does not work on this machine .exit code 128. broken",
    ),
    "is killed": ("kill -9 $$", "git apply was ended by signal 9"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_i2_a_git_that_fails_is_no_verdict_on_the_patch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: str
) -> None:
    does, says = BROKEN[case]
    (tmp_path / "git").write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(InfrastructureFault, match=says):
        apply_patch(REFUSED["other text"][0], BEFORE.get)


def test_a_plain_patch_as_people_write_them_applies_with_an_offset() -> None:
    lines = [b"line %d\n" % number for number in range(12)]
    base = {b"calc.py": (0o100755, b"# new first line\n" + b"".join(lines))}
    hunk = b"@@ -4,7 +4,7 @@\n line 3\n line 4\n line 5\n-line 6\n+line six\n line 7\n line 8\n line 9\n"
    application = apply_patch(b"--- a/calc.py\n+++ b/calc.py\n" + hunk, base.get)
    expected = base[b"calc.py"][1].replace(b"line 6", b"line six")
    assert application.writes == ((b"calc.py", 0o100755, expected),)


def test_conflict_markers() -> None:
    marked = b"a\n<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\n"
    base: Files = {b"docs": (0o100644, marked), b"code": (0o100644, b"1\n")}
    touched = apply_patch(patch_between(base, {**base, b"docs": (0o100644, marked + b"x\n")}), base.get)
    assert touched.marked_before == (b"docs",) and not has_conflict_markers(touched)
    broken = apply_patch(patch_between(base, {**base, b"code": (0o100644, marked)}), base.get)
    assert has_conflict_markers(broken) and conflict_markers(broken) == (b"code",)
    title = Application(
        writes=((b"t", 0o100644, b"Title\n=======\n"), (b"l", 0o120000, marked), (b"b", 0o100644, b"\0" + marked))
    )
    assert not has_conflict_markers(title)


def test_the_index_is_what_git_reads_and_writes() -> None:
    files = {b"a": b"1", b"d/" + b"n" * 200: b"2", b"d/" * 200 + b"long" * 60: b"", b"caf\xe9\n": b"\0" * 1000}
    with scratch_repository() as repository:
        objects = repository.path / "objects"
        entries = [IndexEntry(path, 0o100644, write_blob(objects, data)) for path, data in files.items()]
        write_index(repository.path / "index", entries)
        listed = repository.git("ls-files", "--stage", "-z").stdout
        assert listed.split(b"\0")[:-1] == [
            b"100644 %s 0\t%s" % (entry.blob.hex().encode(), entry.path)
            for entry in sorted(entries, key=lambda entry: entry.path)
        ]
        assert repository.git("fsck", "--full", "--strict").exit_code == 0
        more = b"100755 %s 0\tz\0" % entries[0].blob.hex().encode()
        assert repository.git("update-index", "-z", "--index-info", stdin=more).exit_code == 0
        again = read_index(repository.path / "index")
        assert again == sorted([*entries, IndexEntry(b"z", 0o100755, entries[0].blob)], key=lambda entry: entry.path)


def test_a_patch_is_readable_by_plain_git(tmp_path: Path) -> None:
    for path, (mode, data) in BEFORE.items():
        (tmp_path / os.fsdecode(path)).write_bytes(data)
        (tmp_path / os.fsdecode(path)).chmod(mode & 0o777)
    patch = patch_between(BEFORE, AFTER)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=60)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True, timeout=60)
    assert {os.fsencode(path.name): path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == {
        path: data for path, (_, data) in AFTER.items()
    }


def test_git_works_below_the_scratch_directory_that_it_is_given(tmp_path: Path) -> None:
    with scratch_repository(tmp_path) as repository:
        assert repository.path.parent == tmp_path
    assert list(tmp_path.iterdir()) == []
    changes = Changes((Change(b"new", "added", None, Entry(b"new", 0o100644, 1, "")),))
    patch = make_patch(changes, BEFORE.__getitem__, lambda path: b"x", scratch=tmp_path)  # type: ignore[arg-type]
    assert apply_patch(patch, BEFORE.get, scratch=tmp_path).writes == ((b"new", 0o100644, b"x"),)
    assert list(tmp_path.iterdir()) == []
    absent = tmp_path / "absent"
    with pytest.raises(FileNotFoundError):
        make_patch(changes, BEFORE.__getitem__, lambda path: b"x", scratch=absent)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        apply_patch(patch, BEFORE.get, scratch=absent)
