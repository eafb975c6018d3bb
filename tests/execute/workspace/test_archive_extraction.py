"""Archives as snapshots, and those that must be refused."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.execute.workspace.archive_extraction import ArchiveLimits, BadArchive, extract, read_members

Files = dict[bytes, tuple[int, bytes]]
Read = Callable[[Path], Files]

FILES: Files = {
    b"top/a.txt": (0o100644, b"one\r\n"),
    b"top/bin/run": (0o100755, b"#!/bin/sh\n"),
    b"top/empty": (0o100644, b""),
    b"top/bin/link": (0o120000, b"../a.txt"),
    b"top/caf\xe9": (0o100644, b"odd"),
    b"top/new\nline": (0o100644, b"odd"),
}
STRIPPED = {path.partition(b"/")[2]: file for path, file in FILES.items()}


def tar_of(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], how: str = "w:gz") -> Path:
    with tarfile.open(path, how, format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape") as archive:  # type: ignore[call-overload]
        for information, data in members:
            information.size = len(data)
            archive.addfile(information, io.BytesIO(data))
    return path


def member(
    name: bytes, data: bytes = b"", *, kind: bytes = tarfile.REGTYPE, mode: int = 0o644, target: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    information = tarfile.TarInfo(os.fsdecode(name))
    information.type, information.mode, information.linkname, information.mtime = kind, mode, target, 1_000_000_000
    return information, data


def members_of(files: Files) -> list[tuple[tarfile.TarInfo, bytes]]:
    made = []
    for path, (mode, data) in files.items():
        if mode == 0o120000:
            made.append(member(path, kind=tarfile.SYMTYPE, target=os.fsdecode(data)))
        else:
            made.append(member(path, data, mode=mode & 0o777))
    return made


def zip_of(path: Path, files: list[tuple[str, int, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, mode, data in files:
            information = zipfile.ZipInfo(name)
            information.create_system, information.external_attr = 3, mode << 16
            information.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(information, data)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.mkdir()
    return path


@pytest.mark.parametrize("how", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_keeps_bytes_modes_links_names_and_times(how: str, tmp_path: Path, out: Path, read_tree: Read) -> None:
    archive = tar_of(tmp_path / "x.tar", members_of(FILES), how)
    extract(archive, out, strip=1)
    assert read_tree(out) == STRIPPED
    assert (out / "a.txt").stat().st_mtime == 1_000_000_000


def test_pax_names_that_are_not_utf8(tmp_path: Path, out: Path, read_tree: Read) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape") as archive:
        archive.addfile(member(b"d" * 120 + b"/caf\xe9")[0])
    extract(path, out)
    assert list(read_tree(out)) == [b"d" * 120 + b"/caf\xe9"]


def test_zip_keeps_bytes_modes_links_and_names(tmp_path: Path, out: Path, read_tree: Read) -> None:
    files = [(os.fsdecode(path), mode, data) for path, (mode, data) in FILES.items() if path != b"top/caf\xe9"]
    archive = zip_of(tmp_path / "x.whl", [*files, ("top/café", 0, b"x"), ("top/dir/", 0o040755, b"")])
    extract(archive, out, strip=1)
    expected = {path: file for path, file in STRIPPED.items() if path != b"caf\xe9"}
    assert read_tree(out) == expected | {"café".encode(): (0o100644, b"x")}
    assert (out / "dir").is_dir()


def test_the_last_of_two_members_wins(tmp_path: Path, out: Path, read_tree: Read) -> None:
    archive = tar_of(tmp_path / "x.tar", [member(b"a", b"1"), member(b"./a", b"2"), member(b"d", kind=tarfile.DIRTYPE)])
    extract(archive, out)
    assert read_tree(out) == {b"a": (0o100644, b"2")}


def test_a_hard_link_is_the_file_that_it_names(tmp_path: Path, out: Path, read_tree: Read) -> None:
    link = member(b"top/b", kind=tarfile.LNKTYPE, target="top/a")
    archive = tar_of(tmp_path / "x.tar", [member(b"top/a", b"1", mode=0o755), link])
    extract(archive, out, strip=1)
    assert read_tree(out) == {b"a": (0o100755, b"1"), b"b": (0o100755, b"1")}
    assert list(read_members(archive, lambda name: name == "b", strip=1)) == [(b"b", 0o100755, b"1")]


def test_git_directories_and_what_strip_takes_away_are_left_out(tmp_path: Path, out: Path, read_tree: Read) -> None:
    archive = tar_of(
        tmp_path / "x.tar",
        [member(b"top/.git/objects/xx"), member(b"top/sub/.git"), member(b"README"), member(b"top/a", b"1")],
    )
    extract(archive, out, strip=1)
    assert read_tree(out) == {b"a": (0o100644, b"1")}


def test_read_members_gives_only_what_is_wanted(tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "x.tar", members_of(FILES))
    wanted = {"a.txt", "bin/link", "caf\\xe9"}
    assert {path: (mode, data) for path, mode, data in read_members(archive, wanted.__contains__, strip=1)} == {
        path: STRIPPED[path] for path in (b"a.txt", b"bin/link", b"caf\xe9")
    }
    zipped = zip_of(tmp_path / "x.zip", [("a", 0o644, b"1"), ("b", 0o755, b"2")])
    assert list(read_members(zipped, lambda name: name == "b", strip=0)) == [(b"b", 0o100755, b"2")]


REFUSED = {
    "climbs": ([member(b"a/../../b", b"x")], "leaves the archive: a/../../b"),
    "absolute": ([member(b"/etc/passwd", b"x")], "absolute path: /etc/passwd"),
    "fifo": ([member(b"pipe", kind=tarfile.FIFOTYPE)], "pipe is a fifo"),
    "device": ([member(b"sda", kind=tarfile.BLKTYPE)], "sda is a device"),
    "character device": ([member(b"tty", kind=tarfile.CHRTYPE)], "tty is a device"),
    "link to outside": (
        [member(b"d/l", kind=tarfile.SYMTYPE, target="../../x")],
        "d/l leads out of the archive: ../../x",
    ),
    "absolute link": ([member(b"l", kind=tarfile.SYMTYPE, target="/etc")], "l leads out of the archive: /etc"),
    "below a link": (
        [member(b"d", kind=tarfile.DIRTYPE), member(b"l", kind=tarfile.SYMTYPE, target="d"), member(b"l/x", b"1")],
        "l/x is below l, which is not a directory",
    ),
    "hard link to outside": ([member(b"l", kind=tarfile.LNKTYPE, target="../x")], "hard link that leaves"),
    "hard link to nothing": ([member(b"l", kind=tarfile.LNKTYPE, target="x")], "a missing file: x"),
    "file and directory": ([member(b"a/b"), member(b"a", b"1")], "a comes both as a file and as a directory"),
    "long name": ([member(b"n" * 300)], "too long"),
    "deep name": ([member(b"d/" * 300 + b"x")], "too long"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_one_clear_message(case: str, tmp_path: Path, out: Path, read_tree: Read) -> None:
    members, message = REFUSED[case]
    archive = tar_of(tmp_path / "x.tar.gz", [*members])
    with pytest.raises(BadArchive) as raised:
        extract(archive, out)
    assert message in str(raised.value)
    assert str(archive) in str(raised.value)
    assert raised.value.exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "x.tar.gz"]


def test_zip_that_climbs_or_holds_a_fifo(tmp_path: Path, out: Path) -> None:
    for name, mode, message in (
        ("../x", 0o644, "leaves the archive"),
        ("/x", 0o644, "absolute"),
        ("p", 0o010644, "p is a fifo"),
    ):
        archive = zip_of(tmp_path / "x.zip", [(name, mode, b"x")])
        with pytest.raises(BadArchive, match=message):
            extract(archive, out)
    archive = zip_of(tmp_path / "x.zip", [("l", 0o120777, b"../../etc")])
    with pytest.raises(BadArchive, match="leads out"):
        extract(archive, out)
    archive = zip_of(tmp_path / "x.zip", [("l", 0o120777, b"x" * 5000)])
    with pytest.raises(BadArchive, match="target of more than 4096"):
        extract(archive, out)


def test_bombs(tmp_path: Path, out: Path) -> None:
    small = ArchiveLimits(free_bytes=1 << 20, total_bytes=1 << 30, ratio=100, members=50)
    bomb = zip_of(tmp_path / "bomb.zip", [("zeros", 0o644, bytes(8 << 20))])
    tarred = tar_of(tmp_path / "bomb.tar.gz", [member(b"zeros", bytes(8 << 20))])
    for archive in (bomb, tarred):
        with pytest.raises(BadArchive, match=r"unpacks to more than \d+ bytes"):
            extract(archive, out, limits=small)
        with pytest.raises(BadArchive, match=r"unpacks to more than \d+ bytes"):
            list(read_members(archive, lambda name: True, limits=small))
    many = tar_of(tmp_path / "many.tar.gz", [member(b"%d" % number) for number in range(60)])
    with pytest.raises(BadArchive, match="more than 50 members"):
        extract(many, out, limits=small)


def test_a_giant_header(tmp_path: Path, out: Path) -> None:
    header = member(b"x")[0]
    header.pax_headers = {"comment": "x" * (3 << 20)}
    archive = tmp_path / "header.tar.gz"
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as made:
        made.addfile(header)
    with pytest.raises(BadArchive, match="header of more than"):
        extract(archive, out)


def test_a_chain_of_headers_that_never_reaches_a_member(tmp_path: Path, out: Path) -> None:
    information = member(b"x")[0]
    information.pax_headers = {"comment": "x"}
    header = information.create_pax_header(dict(information.get_info()), "utf-8")[:1024]
    archive = tmp_path / "chain.tar"
    archive.write_bytes(header * 900 + bytes(1024))
    with pytest.raises(BadArchive):
        extract(archive, out)


def test_damaged_archives(tmp_path: Path, out: Path) -> None:
    good = tar_of(tmp_path / "good.tar.gz", [member(b"a", os.urandom(100_000))]).read_bytes()
    zipped = zip_of(tmp_path / "good.zip", [("a", 0o644, os.urandom(100_000))]).read_bytes()
    flipped = bytearray(zipped)
    flipped[500] ^= 1
    for data in (
        b"",
        b"not an archive",
        good[:50_000],
        good[:5],
        zipped[:50_000],
        bytes(flipped),
        b"\xfd7zXZ\0junk",
        b"BZhjunk",
    ):
        archive = tmp_path / "bad"
        archive.write_bytes(data)
        with pytest.raises(BadArchive) as raised:
            extract(archive, out)
        assert "Traceback" not in str(raised.value) and str(archive) in str(raised.value)
    with pytest.raises(BadArchive, match="No such file"):
        extract(tmp_path / "absent.tar", out)


def test_an_encrypted_zip(tmp_path: Path, out: Path) -> None:
    archive = zip_of(tmp_path / "x.zip", [("a", 0o644, b"secret")])
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(bytes(data))
    with pytest.raises(BadArchive, match="encrypted"):
        extract(archive, out)
