"""The history of a repository is read without running anything that it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.execute.workspace.git_checkout import BadRepository
from proctor.execute.workspace.git_history import PathChange, open_history
from tests.author.mine.histories import Repository, slugs


def test_commits_are_found_by_id_short_id_tag_and_branch(tmp_path: Path) -> None:
    made = slugs(tmp_path / "project")
    fix = made.git("rev-parse", "HEAD")
    made.git("tag", "-a", "-m", "release", "v1.1")
    made.git("branch", "release/1.x", "HEAD~1")
    made.git("pack-refs", "--all")
    made.git("branch", "later")
    with open_history(made.path) as history:
        assert {history.resolve(name) for name in (fix, fix[:8], "v1.1", "main", "later", "HEAD")} == {fix}
        assert history.resolve("release/1.x") == history.commit(fix).parents[0]
        for bad in ("--all", "", "nothing", "v1.1\0", "main:CHANGES.rst"):
            with pytest.raises(BadRepository):
                history.resolve(bad)


def test_what_a_commit_changed_and_held_is_read(tmp_path: Path) -> None:
    made = slugs(tmp_path / "project")
    with open_history(made.path) as history:
        fix, base = (one.id for one in history.first_parents(history.resolve("HEAD")))
        changed = {one.path for one in history.changes(base, fix)}
        assert changed == {b"CHANGES.rst", b"src/slugs/__init__.py", b"tests/test_slugs.py"}
        mode, data = history.read(base, b"tests/test_slugs.py") or (0, b"")
        assert mode == 0o100644 and data.startswith(b"from slugs")
        assert history.read(base, b"src") is None and history.read(base, b"absent") is None
        everything = history.read_all(base, lambda path: path.endswith(b".py"), 1 << 20)
        assert everything[b"tests/test_slugs.py"] == data and len(everything) == 2
        assert history.read_all(base, lambda _: True, 10) == {}


def test_the_version_is_that_of_the_nearest_tag_with_a_number(tmp_path: Path) -> None:
    made = slugs(tmp_path / "project")
    with open_history(made.path) as history:
        assert history.describe(history.resolve("HEAD")) == ("", 0)
    made.git("tag", "project-2.0.1", "HEAD~1")
    made.git("tag", "nightly", "HEAD")
    with open_history(made.path) as history:
        assert history.describe(history.resolve("HEAD")) == ("2.0.1", 1)


def test_a_commit_older_than_its_ancestor_gets_the_ancestors_time(tmp_path: Path) -> None:
    made = Repository(tmp_path / "project")
    made.commit("First", {"a": "1"}, seconds=5000)
    late = made.now
    made.commit("Second", {"a": "2"}, seconds=-4000)
    with open_history(made.path) as history:
        tip = history.resolve("HEAD")
        assert history.commit(tip).committed < late == history.latest_time(tip)


def test_nothing_of_a_hostile_repository_runs(tmp_path: Path) -> None:
    """Configuration, hooks, filters, text conversion and a credential helper would all leave a file."""
    made = slugs(tmp_path / "project")
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    (made.path / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    made.commit("Attributes", {})
    for name in (
        "core.fsmonitor",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.external",
        "core.pager",
        "gpg.program",
    ):
        made.git("config", name, str(script))
    made.git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "pre-commit", "reference-transaction"):
        place = made.path / ".git" / "hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(script.read_bytes())
        place.chmod(0o755)
    with open_history(made.path) as history:
        tip = history.resolve("HEAD")
        assert len(list(history.first_parents(tip))) == 3
        assert history.changes(history.commit(tip).parents[0], tip)
        assert history.read(tip, b"src/slugs/__init__.py") is not None
    assert not mark.exists()


def test_hostile_references_are_left_out(tmp_path: Path) -> None:
    made = slugs(tmp_path / "project")
    tip = made.git("rev-parse", "HEAD")
    heads = made.path / ".git" / "refs" / "heads"
    (heads / "--upload-pack=x").write_text(f"{tip}\n")
    (heads / "two..dots").write_text(f"{tip}\n")
    (heads / "space here").write_text(f"{tip}\n")
    (heads / "not-a-commit").write_text("ref: refs/heads/../../config\n")
    os.symlink("/etc/passwd", heads / "link")
    os.mkfifo(heads / "fifo")
    (made.path / ".git" / "packed-refs").write_text(f"{tip} refs/heads/good\n{tip} ../../etc\nnonsense\n")
    with open_history(made.path) as history:
        assert history.resolve("good") == tip == history.resolve("main")
        for name in ("two..dots", "link", "not-a-commit"):
            with pytest.raises(BadRepository):
                history.resolve(name)


def test_names_of_any_bytes_are_read(tmp_path: Path) -> None:
    made = Repository(tmp_path / "project")
    for name in (b"new\nline", b"tab\there", b"\xff\xfe", b'quote"', b":(glob)**"):
        (Path(os.fsdecode(os.fsencode(made.path) + b"/" + name))).write_text("x")
    base = made.commit("First", {"a": "1"})
    (Path(os.fsdecode(os.fsencode(made.path) + b"/new\nline"))).write_text("y")
    fix = made.commit("Second", {})
    with open_history(made.path) as history:
        assert history.changes(base, fix) == (PathChange(b"new\nline", 0o100644, 0o100644),)
        assert history.read(fix, b"new\nline") == (0o100644, b"y")
        assert history.read(fix, b":(glob)**") == (0o100644, b"x")
        assert set(history.read_all(fix, lambda _: True, 1 << 20)) == set(history.paths(fix))


def test_a_clone_without_all_files_is_refused_with_advice(tmp_path: Path) -> None:
    """A file that is not there must not look like one that the fix removed."""
    made = slugs(tmp_path / "project")
    name = made.git("rev-parse", "HEAD:src/slugs/__init__.py")
    place = made.path / ".git" / "objects" / name[:2] / name[2:]
    place.chmod(0o600)
    place.unlink()
    with open_history(made.path) as history:
        tip = history.resolve("HEAD")
        with pytest.raises(BadRepository, match="missing or damaged") as refused:
            history.read(tip, b"src/slugs/__init__.py")
        assert "whole clone" in refused.value.hint
        assert b"src/slugs/__init__.py" not in history.read_all(tip, lambda _: True, 1 << 20)


@pytest.mark.parametrize("place", [b"x" * 5000, b"a\0b", b"/dev/null", b""])
def test_a_checkout_that_points_nowhere_is_not_a_repository(tmp_path: Path, place: bytes) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: " + place + b"\n")
    with pytest.raises(BadRepository, match="not a git repository"), open_history(tmp_path):
        pass
