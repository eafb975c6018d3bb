"""Archives of strangers: what is read, and what is refused before it costs memory."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.study.table_import.zip_members import ZipMembers
from tests.study.table_import.result_samples import deflated, zstd


def members(path: Path, limit: int = 1 << 20) -> ZipMembers:
    return ZipMembers(BytesIO(path.read_bytes()), path.name, limit)


def test_deflated_and_stored_members_are_read(tmp_path: Path) -> None:
    path = deflated(tmp_path / "a.eval", {"one": "x" * 5000})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("two", b"plain")
    found = members(path)
    assert found.names() == ("one", "two")
    assert found.read("one") == b"x" * 5000
    assert found.read("two") == b"plain"


def test_members_compressed_by_zstd_are_read(tmp_path: Path) -> None:
    data = bytes(range(256)) * 100
    assert members(zstd(tmp_path / "a.eval", {"one": data})).read("one") == data


@pytest.mark.parametrize("make", [lambda path, data: deflated(path, {"a": data}), lambda p, d: zstd(p, {"a": d})])
def test_a_bomb_is_refused_by_its_stated_size(tmp_path: Path, make: object) -> None:
    path = make(tmp_path / "bomb.eval", b"0" * (1 << 21))  # type: ignore[operator]
    with pytest.raises(UsageFault, match=r"bomb\.eval:a: this member has 2,097,152 bytes"):
        members(path).read("a")


def test_a_bomb_that_states_a_small_size_is_refused(tmp_path: Path) -> None:
    path = zstd(tmp_path / "bomb.eval", {"a": b"0" * (1 << 22)}, stated=10)
    with pytest.raises(UsageFault, match="larger than it says"):
        members(path).read("a")


@pytest.mark.parametrize("pack", [deflated, zstd])
def test_damaged_members_are_refused(tmp_path: Path, pack: object) -> None:
    path = pack(tmp_path / "a.eval", {"a": b"some text that is long enough to be damaged" * 9})  # type: ignore[operator]
    data = bytearray(path.read_bytes())
    data[38] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(UsageFault, match=r"a\.eval:a: this member"):
        members(path).read("a")


@pytest.mark.parametrize("cut", [1, 30, 60])
def test_an_archive_that_was_cut_is_refused(tmp_path: Path, cut: int) -> None:
    path = deflated(tmp_path / "a.eval", {"a": "text"})
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(UsageFault, match="not a whole zip archive"):
        members(path)


def test_other_methods_and_equal_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", b"x")
    with pytest.raises(UsageFault, match="compressed by method 12"):
        members(path).read("a")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a", b"y")
    with pytest.raises(UsageFault, match="the same name"):
        members(path)


def test_members_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    """Many members may share the same compressed bytes."""
    path = deflated(tmp_path / "a.eval", {f"m{number}": b"0" * 900_000 for number in range(6)})
    found = members(path)
    with pytest.raises(UsageFault, match="too large together"):
        for name in found.names():
            found.read(name)
