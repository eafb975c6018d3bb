"""Exported images: git history, links, copies and answers are found where an agent could read them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.leakage.image_search import Answer, AnswerIndex, search_image
from proctor.execute.leakage.leakage_finding import Finding
from proctor.execute.leakage.project_features import Project
from proctor.execute.leakage.source_similarity import read_source

OBJECT = "objects/ab/" + "0" * 38
SECRET = "amount = sum(values)\nlogger.debug(amount)\nreturn amount * SIGN\n"

Search = Callable[..., list[Finding]]


@pytest.fixture
def search(project: Project, tmp_path: Path) -> Search:
    text = read_source(SECRET.encode())
    assert text is not None
    answers = AnswerIndex([Answer("solution", "src/total.py", text.lines)])

    def run(files: dict[str, Any], hide: tuple[str, ...] = ()) -> list[Finding]:
        archive = tmp_path / "image.tar"
        with tarfile.open(archive, "w") as tar:
            for path, content in files.items():
                member = tarfile.TarInfo(path)
                if isinstance(content, tuple):
                    member.type, member.linkname = content
                    tar.addfile(member)
                    continue
                data = content.encode() if isinstance(content, str) else content
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        found = search_image(project, answers, archive, hide, scratch)
        assert list(scratch.iterdir()) == []
        return found

    return run


@pytest.mark.parametrize(
    ("files", "place", "detail"),
    [
        ({f"testbed/.git/{OBJECT}": "x"}, "/testbed/.git", "git objects"),
        ({f"srv/bare.git/{OBJECT}": "x"}, "/srv/bare.git", "git objects"),
        ({f"home/x/{OBJECT[:-1]}{'0' * 25}": "x"}, "/home/x", "git objects"),
        ({"a/.git/modules/m/objects/pack/pack-1a2b.pack": "PACK\0\0\0\2"}, "/a/.git/modules/m", "git objects"),
        ({"opt/loose.bin": b"PACK\0\0\0\2rest"}, "/opt/loose.bin", "a pack of objects"),
        ({"opt/history": "# v3 git bundle\n"}, "/opt/history", "a bundle"),
        (
            {f"a/.git/{OBJECT}": "x", f"b/.git/{OBJECT}": (tarfile.LNKTYPE, f"a/.git/{OBJECT}")},
            "/b/.git",
            "git objects",
        ),
    ],
    ids=("directory", "bare", "sha256", "submodule", "pack", "bundle", "second-name"),
)
def test_git_history_is_found(search: Search, files: dict[str, Any], place: str, detail: str) -> None:
    found = {one.place: one for one in search(files)}
    assert found[place].reason == "history" and found[place].detail == detail and found[place].is_other
    assert f"{place} holds git history" in found[place].sentence()
    assert all(one.place != place for one in search(files, hide=(place,)))


def test_git_history_in_an_archive_is_found(search: Search, pack: Any) -> None:
    (found,) = search({"opt/backup.tar.gz": pack.tar({f"repo/.git/{OBJECT}": "x"})})
    assert (found.reason, found.place) == ("history", "/opt/backup.tar.gz!/repo/.git")


def test_what_every_sandbox_covers_is_not_searched(search: Search) -> None:
    places = ("workspace", "setup", "tmp", "home/agent", "run/x", "var/tmp", "dev/shm")
    assert search({f"{place}/.git/{OBJECT}": "x" for place in places}) == []


def test_a_git_directory_without_objects_is_harmless(search: Search) -> None:
    assert search({"a/.git/HEAD": "ref: refs/heads/main\n", "a/.git/config": "[core]\n", "x/objects/readme": "x"}) == []


def test_the_same_version_is_harmless_and_another_is_not(search: Search, pack: Any) -> None:
    same = {f"testbed/src/{path}": text for path, text in pack.project.items()}
    assert all(not one.is_other for one in search(same))
    later = {f"usr/lib/python3/dist-packages/{path}": text for path, text in pack.fixed.items()}
    metadata = {"usr/lib/python3/dist-packages/sums-1.1.dist-info/METADATA": "Name: sums\nVersion: 1.1\n"}
    others = [one for one in search({**same, **later, **metadata}) if one.is_other]
    assert others and all(one.place.startswith("/usr/lib/python3/dist-packages") for one in others)
    assert all(
        not one.is_other for one in search({**same, **later, **metadata}, hide=("/usr/lib/python3/dist-packages",))
    )


def test_a_solution_is_found_and_named(search: Search) -> None:
    (found,) = search({"opt/kept/total.py": SECRET})
    assert found.sentence() == "/opt/kept/total.py contains the solution of src/total.py (3 of its new lines)"
    for pattern in ("/opt/kept/total.py", "/opt/kept", "/opt/**/*.py", "/opt/kept/"):
        assert search({"opt/kept/total.py": SECRET}, hide=(pattern,)) == [], pattern


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("solution", SECRET),
        ("var/lib/evaluation/run.log", SECRET),
        ("opt/total.py.gz", gzip.compress(SECRET.encode())),
        ("opt/kept.bz2", bz2.compress(SECRET.encode())),
        ("opt/instance.json", json.dumps({"patch": SECRET})),
        ("opt/tasks.jsonl", json.dumps({"id": 1, "patch": "@@ -1,2 +1,3 @@\n+" + SECRET.replace("\n", "\n+")})),
    ],
    ids=("no-suffix", "log", "gzip", "bzip2", "json", "jsonl"),
)
def test_b6_a_solution_in_any_text_is_found_under_its_own_name(search: Search, path: str, content: str) -> None:
    (found,) = search({path: content})
    assert (found.reason, found.place) == ("solution", f"/{path}")
    assert search({path: content}, hide=(f"/{path}",)) == []


def test_another_name_of_a_hidden_file_is_searched(search: Search) -> None:
    files = {"opt/total.py": SECRET, "srv/other.py": (tarfile.LNKTYPE, "opt/total.py")}
    (found,) = search(files, hide=("/opt/total.py",))
    assert found.place == "/srv/other.py"


@pytest.mark.parametrize("path", ["workspace", "setup", "home", "home/agent", "tmp", "var"])
def test_a_link_where_the_sandbox_mounts_is_found(search: Search, path: str) -> None:
    (found,) = search({path: (tarfile.SYMTYPE, "/data")})
    assert (found.reason, found.place, found.is_other) == ("link", f"/{path}", True) and "/data" in found.sentence()
    (found,) = search({path: "a file"})
    assert (found.reason, found.place) == ("link", f"/{path}") and f"/{path} is a file" in found.sentence()
