"""Every form in which an input can bring the project under test is found, and other projects are not."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.leakage.input_entries import SearchLimits
from proctor.execute.leakage.project_features import Project
from proctor.execute.workspace.archive_reader import ArchiveLimits

CONTROL = "Package: python3-sums\nSource: sums (1.1-2)\nVersion: 1.1-2\n"


def test_j3_a_wheel_of_another_version_is_found(search: Any, pack: Any) -> None:
    (found,) = search("sums-1.1-py3-none-any.whl", pack.wheel("Sums", "1.1", pack.fixed))
    assert found.is_other
    assert (found.reason, found.place, found.version) == ("name", "sums-1.1-py3-none-any.whl", "1.1")
    assert "sums 1.1, and the repository is 1.0" in found.sentence()


@pytest.mark.parametrize("version", ["0.9", "1.0.post1", "1.0rc1"])
def test_j3_an_older_version_is_found_too(search: Any, pack: Any, version: str) -> None:
    (found,) = search("sums.whl", pack.wheel("sums", version, pack.project))
    assert found.is_other


@pytest.mark.parametrize("form", ["gz", "bz2", "xz", "zst", ""])
def test_j3_a_source_release_is_found_in_every_form(search: Any, pack: Any, form: str) -> None:
    files = {f"sums-1.1/src/{path}": text for path, text in pack.fixed.items()}
    metadata = {"sums-1.1/PKG-INFO": "Name: sums\nVersion: 1.1\n", "sums-1.1/setup.py": "setup(name='sums')"}
    (found,) = search("anything", pack.tar({**files, **metadata}, form))
    assert found.is_other
    assert (found.place, found.version) == ("anything!/sums-1.1", "1.1")


def test_j3_an_npm_package_below_another_is_found(search: Any, pack: Any) -> None:
    inner = "package/node_modules/x/node_modules/@scope/sums"
    files = {"package/package.json": '{"name": "outer", "version": "9.0.0"}', f"{inner}/index.js": "x"}
    (found,) = search(
        "outer.tgz", pack.tar({**files, f"{inner}/package.json": '{"name":"@scope/sums","version":"1.1.0"}'})
    )
    assert found.is_other
    assert (found.place, found.version) == (f"outer.tgz!/{inner}", "1.1.0")


def test_an_npm_package_of_another_scope_is_another_project(search: Any, pack: Any) -> None:
    assert search("a.tgz", pack.tar({"package/package.json": '{"name": "@other/sums", "version": "1.1.0"}'})) == []


@pytest.mark.parametrize("form", ["gz", "xz", "zst"])
def test_j3_a_binary_package_of_debian_is_found(search: Any, pack: Any, form: str) -> None:
    (found,) = search("python3-sums_1.1-2_all.deb", pack.deb(CONTROL, {"./usr/lib/libsums.so.1": b"\x7fELF\0"}, form))
    assert found.is_other
    assert found.place == "python3-sums_1.1-2_all.deb"


@pytest.mark.parametrize("form", ["gz", "xz", "zst"])
def test_j3_a_copy_in_the_files_of_a_binary_package_is_found(search: Any, pack: Any, form: str) -> None:
    files = {f"./usr/lib/python3/dist-packages/other/_vendor/{path}": text for path, text in pack.fixed.items()}
    (found,) = search("other_1_all.deb", pack.deb("Package: python3-other\nVersion: 1\n", files, form))
    assert found.is_other
    assert found.place == f"other_1_all.deb!/data.tar.{form}!/usr/lib/python3/dist-packages/other/_vendor/sums"


def test_j3_the_compiled_package_of_the_same_version_shows_nothing_to_compare(search: Any, pack: Any) -> None:
    control = "Package: libsums1\nSource: sums\nVersion: 1.0-3\n"
    (found,) = search("libsums1.deb", pack.deb(control, {"./usr/lib/libsums.so.1": b"\x7fELF\0"}))
    assert found.is_other, "a distribution patches what it packages"


def test_j3_a_vendored_copy_without_metadata_is_found(search: Any, pack: Any) -> None:
    files = {f"other/_vendor/{path}": text for path, text in pack.fixed.items()}
    (found,) = search("other-2.0.whl", pack.wheel("other", "2.0", {**files, "other/main.py": "x = 1\n"}))
    assert found.is_other
    assert (found.reason, found.place, found.files) == ("files", "other-2.0.whl!/other/_vendor/sums", 2)
    assert found.example == "other/_vendor/sums/core.py"
    assert "nearly equal" in found.sentence()


def test_j3_a_reformatted_and_renamed_copy_is_found(search: Any, pack: Any) -> None:
    text = pack.fixed["sums/core.py"].replace("    ", "\t").replace("\n", "\r\n").replace(" * ", "*")
    (found,) = search("other.zip", pack.zip({"other/_private_sums.py": text}))
    assert found.is_other


@pytest.mark.parametrize("name", ["core.py", "core.py.orig", "core.py.in.txt"])
def test_j3_a_copy_that_says_do_not_edit_or_is_kept_aside_is_found(search: Any, pack: Any, name: str) -> None:
    text = "# Vendored from sums 1.1. DO NOT EDIT.\n" + pack.fixed["sums/core.py"]
    (found,) = search("other.whl", pack.wheel("other", "2.0", {f"other/_vendor/{name}": text}))
    assert found.is_other and found.example == f"other/_vendor/{name}"


@pytest.mark.parametrize("place", ["old.tar", "other.zip!/old.tar"])
def test_j3_an_archive_of_the_oldest_form_of_tar_is_searched(
    search: Any, pack: Any, tmp_path: Path, place: str
) -> None:
    (tmp_path / "sums").mkdir()
    for path, text in pack.fixed.items():
        (tmp_path / path).write_text(text)
    command = ["tar", "--format=v7", "-c", "-C", str(tmp_path), "sums"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    outer, inside, _ = place.partition("!/")
    (found,) = search(outer, pack.zip({"old.tar": data}) if inside else data)
    assert found.is_other and found.place == f"{place}!/sums"


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"clone/.git/objects/pack/pack-1.pack": b"PACK\0\0\0\2"}, "other.zip!/clone/.git"),
        ({f"mirror.git/objects/aa/{'0' * 38}": b"x"}, "other.zip!/mirror.git"),
        ({"history.dat": b"# v2 git bundle\n"}, "other.zip!/history.dat"),
    ],
    ids=["a clone", "a bare repository", "a bundle"],
)
def test_j3_git_history_is_refused(search: Any, pack: Any, files: dict[str, bytes], place: str) -> None:
    found = search("other.zip", pack.zip({**files, **{f"clone/{path}": text for path, text in pack.project.items()}}))
    assert [(one.reason, one.place) for one in found if one.is_other] == [("history", place)]


def test_j3_a_bundle_that_is_an_input_itself_is_refused(search: Any) -> None:
    (found,) = search("project.bundle", b"# v3 git bundle\n@object-format=sha1\n")
    assert found.is_other and "holds git history: a bundle" in found.sentence()


def test_j3_a_copy_inside_a_larger_file_is_found(search: Any, pack: Any) -> None:
    bundle = "".join(f"function other_{n}(a, b) {{ return a + b + {n}; }}\n" for n in range(2000))
    files = {
        "package/dist/bundle.js": bundle + pack.fixed["sums/core.py"],
        "package/dist/core.py": "def other(): ...\n",
    }
    (found,) = search("bundle.tgz", pack.tar(files))
    assert found.is_other and found.example == "package/dist/bundle.js", "not a file that merely has the same name"


def test_j3_a_copy_of_which_one_file_was_written_again_is_found(search: Any, pack: Any) -> None:
    files = {**pack.project, "sums/core.py": "def everything_else():\n    return 'rewritten from scratch'\n"}
    (found,) = search("other.zip", pack.zip({f"vendor/{path}": text for path, text in files.items()}))
    assert found.is_other
    assert found.example == "vendor/sums/core.py"


def test_j3_archives_in_archives_are_searched(search: Any, pack: Any) -> None:
    wheel = pack.wheel("sums", "1.1", pack.fixed)
    nested = pack.tar({"deep/wheels.zip": pack.zip({"w/renamed.bin": wheel})}, "xz")
    (found,) = search("outer.zip", pack.zip({"a/b.dat": nested}))
    assert found.is_other
    assert found.place == "outer.zip!/a/b.dat!/deep/wheels.zip!/w/renamed.bin"


def test_j3_a_compressed_file_and_a_plain_one_are_searched(search: Any, pack: Any) -> None:
    text = pack.fixed["sums/core.py"]
    (packed,) = search("docs.zip", pack.zip({"examples/core.py.gz": pack.gzip(text)}))
    (alone,) = search("core.py", text.encode())
    assert packed.is_other
    assert alone.is_other
    assert alone.place == "core.py"


def test_the_same_version_with_the_same_files_gives_nothing_away(search: Any, pack: Any) -> None:
    made = {"sums/_version.py": "version = '1.0.0'\n", "sums/speedups.so": b"\x7fELF\0"}
    (found,) = search("sums-1.0.whl", pack.wheel("sums", "1.0.0", {**pack.project, **made}))
    assert not found.is_other
    assert found.reason == "name"


def test_j3_the_same_version_with_another_file_is_found(search: Any, pack: Any) -> None:
    (found,) = search("sums-1.0.whl", pack.wheel("sums", "1.0", pack.fixed))
    assert found.is_other
    assert "sums/core.py differs" in found.sentence()


def test_an_equal_vendored_copy_gives_nothing_away(search: Any, pack: Any) -> None:
    (found,) = search("other.zip", pack.zip({f"v/{path}": text for path, text in pack.project.items()}))
    assert not found.is_other
    assert "equal to" in found.sentence()


@pytest.mark.parametrize(
    ("change", "is_other"), [({}, False), ({"sums/new.py": "def brand_new_function(): pass\n"}, True)]
)
def test_without_a_known_version_the_files_decide(
    search: Any, pack: Any, project: Project, change: dict[str, str], is_other: bool
) -> None:
    unknown = replace(project, versions={name: frozenset() for name in project.versions})
    (found,) = search("sums.whl", pack.wheel("sums", "1.1", {**pack.project, **change}), of=unknown)
    assert found.is_other == is_other


def test_other_projects_are_not_found(search: Any, pack: Any) -> None:
    shared = {
        "LICENSE": "Permission is hereby granted, free of charge\n" * 20,
        "other/__init__.py": "from .core import *\n",
        "versioneer.py": "def get_versions_of_everything(verbose=False):\n" * 3,
        "tests/conftest.py": "import pytest\n",
    }
    assert search("other-1.1.whl", pack.wheel("sums-extra", "1.1", shared)) == []
    assert search("data.csv", b"sums,1.1\n") == []
    assert search("empty", b"") == []


def test_an_input_that_cannot_be_read_is_refused(search: Any, pack: Any) -> None:
    whole = pack.tar(pack.project)
    (found,) = search("cut.tar.gz", whole[: len(whole) // 2])
    assert found.is_other
    assert found.reason == "unread"


def test_a_damaged_archive_inside_an_input_is_only_remarked(search: Any, pack: Any) -> None:
    (found,) = search("a.zip", pack.zip({"tests/broken.zip": pack.zip(pack.project)[:60], "tests/b.gz": b"\x1f\x8bno"}))
    assert not found.is_other
    assert "2 archives" in found.sentence()


@pytest.mark.parametrize(
    "limits",
    [
        SearchLimits(depth=1),
        SearchLimits(nested_archives=1),
        SearchLimits(nested_bytes=100),
        SearchLimits(total_bytes=1000),
        SearchLimits(archive=ArchiveLimits(members=1)),
    ],
    ids=["depth", "nested", "nested-bytes", "total", "members"],
)
def test_j3_what_is_over_a_limit_counts_as_not_searched(search: Any, pack: Any, limits: SearchLimits) -> None:
    inner = pack.zip({"c.zip": pack.wheel("sums", "1.1", pack.fixed), "d.txt": "d"})
    found = search("a.zip", pack.zip({"b.zip": inner}), limits)
    assert {one.is_other for one in found if one.reason == "unread"} == {True}


def test_a_bomb_ends_at_the_limits(search: Any, pack: Any) -> None:
    (found,) = search("a.zip", pack.zip({"b.zip": pack.zip({"zeros": bytes(100 << 20)})}))
    assert found.is_other
    assert "unpacks to more than" in found.sentence()


def test_hostile_names_do_no_harm(search: Any, pack: Any) -> None:
    (found,) = search("a.tar", pack.tar({"../../etc/sums/core.py": pack.fixed["sums/core.py"]}, ""))
    assert found.place == "a.tar!/etc/sums"


@pytest.mark.parametrize("size", [b"-1", b"9999999999", b"x"])
def test_a_damaged_debian_package_is_refused(search: Any, size: bytes) -> None:
    header = struct.pack("16s12s6s6s8s10s2s", b"debian-binary", b"0", b"0", b"0", b"100644", size.ljust(10), b"`\n")
    (found,) = search("a.deb", b"!<arch>\n" + header)
    assert found.is_other
    assert found.reason == "unread"


@pytest.mark.parametrize("start", [b"#!/usr/bin/env python3\n", b"MZ" + bytes(600)])
def test_j3_a_program_that_carries_a_copy_is_searched(search: Any, pack: Any, start: bytes) -> None:
    carrier = start + pack.zip(pack.fixed)
    (alone,) = search("tool.pex", carrier)
    assert alone.is_other and alone.place.startswith("tool.pex")
    (inside,) = search("other.whl", pack.wheel("other", "2.0", {"other/bin/tool": carrier}))
    assert inside.is_other and inside.place == "other.whl!/other/bin/tool!/sums"


def test_j3_a_script_is_searched_like_other_source(search: Any, pack: Any) -> None:
    files = {path: f"#!/usr/bin/env python3\n{text}" for path, text in pack.fixed.items()}
    (found,) = search("other.whl", pack.wheel("other", "2.0", {f"other/{path}": text for path, text in files.items()}))
    assert found.is_other


def unknown_compression(data: bytes) -> bytes:
    """A zip archive whose only member is compressed in a way that cannot be read here."""
    central = data.rfind(b"PK\x01\x02")
    method = struct.pack("<H", 9)
    return data[:8] + method + data[10 : central + 10] + method + data[central + 12 :]


def test_an_archive_with_an_unknown_compression_is_not_searched(search: Any, pack: Any) -> None:
    unknown = unknown_compression(pack.zip({"a.py": "x = 1\n" * 100}))
    (found,) = search("a.zip", unknown)
    assert found.is_other and "cannot be read" in found.sentence()
    (inside,) = search("other.whl", pack.wheel("other", "2.0", {"other/a.zip": unknown}))
    assert not inside.is_other and "other/a.zip" in inside.detail


def test_a_member_that_is_damaged_is_not_searched(search: Any, pack: Any) -> None:
    data = bytearray(pack.zip({"a.py": "x = 1\n"}))
    central = data.rfind(b"PK\x01\x02")
    data[14] ^= 1
    data[central + 16] ^= 1
    (found,) = search("a.zip", bytes(data))
    assert found.is_other and "CRC" in found.sentence()


def test_j3_what_is_beside_an_encrypted_member_is_searched(search: Any, pack: Any) -> None:
    data = bytearray(pack.zip({"secret.py": "x = 1\n", **pack.fixed}))
    central = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[central + 8] |= 1
    found = search("other.whl", pack.wheel("other", "2.0", {"other/a.zip": bytes(data)}))
    assert [one.is_other for one in found] == [True, False]
    assert found[0].place == "other.whl!/other/a.zip!/sums" and "encrypted" in found[1].detail


def test_a_container_that_cannot_be_read_is_named(search: Any, pack: Any) -> None:
    (found,) = search("other.whl", pack.wheel("other", "2.0", {"other/a.7z": b"7z\xbc\xaf\x27\x1c" + bytes(40)}))
    assert not found.is_other and "other/a.7z: a 7z archive, which Proctor cannot read" in found.detail
