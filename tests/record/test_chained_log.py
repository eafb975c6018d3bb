"""A chained log holds what was appended, and every kind of harm to it is found."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.canonical import parse_canonical
from proctor.base.errors import BrokenSeal, InfrastructureFault
from proctor.record import chained_log
from proctor.record.chained_log import ChainedLog

KEY = b"k" * 32


def filled(path: Path, key: bytes = KEY) -> ChainedLog:
    log = ChainedLog(path / "log.jsonl", key=key)
    for number in range(4):
        log.append({"n": number})
    return log


def test_records_come_back_in_order(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert [(entry.seq, entry.record) for entry in log.read()] == [(number, {"n": number}) for number in range(4)]


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert ChainedLog(tmp_path / "log.jsonl", key=KEY).read() == []


HARM: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "edited": lambda lines: [lines[0].replace(b'"n":0', b'"n":9'), *lines[1:]],
    "removed from the middle": lambda lines: [lines[0], *lines[2:]],
    "removed from the beginning": lambda lines: lines[1:],
    "swapped": lambda lines: [lines[1], lines[0], *lines[2:]],
    "repeated": lambda lines: [*lines, lines[-1]],
    "torn": lambda lines: [*lines[:-1], lines[-1][:-5]],
    "not JSON": lambda lines: [*lines, b"x\n"],
}


@pytest.mark.parametrize("name", HARM)
@pytest.mark.parametrize("key", [KEY, b""])
def test_harm_is_found(tmp_path: Path, name: str, key: bytes) -> None:
    log = filled(tmp_path, key)
    log.path.write_bytes(b"".join(HARM[name](log.path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(BrokenSeal):
        log.read()
    with pytest.raises(BrokenSeal):
        log.append({"n": 5})


@pytest.mark.parametrize("name", HARM)
@pytest.mark.parametrize("key", [KEY, b""])
def test_harm_to_what_was_read_before_is_found(tmp_path: Path, name: str, key: bytes) -> None:
    log = filled(tmp_path, key)
    whole, before = log.path.read_bytes(), log.read()
    log.path.write_bytes(b"".join(HARM[name](whole.splitlines(keepends=True))))
    with pytest.raises(BrokenSeal):
        log.read()
    log.path.write_bytes(whole)
    assert log.read() == before


def test_a_record_is_checked_once_as_long_as_its_bytes_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[bytes] = []

    def counted(line: bytes) -> object:
        checked.append(line)
        return parse_canonical(line)

    monkeypatch.setattr(chained_log, "parse_canonical", counted)
    log = filled(tmp_path, b"")
    assert len(log.read()) == len(log.read()) == len(checked) == 4
    ChainedLog(log.path).append({"n": 4})
    checked.clear()
    assert [entry.record["n"] for entry in log.read()] == [0, 1, 2, 3, 4]
    assert len(checked) == 1, "what somebody else added is checked, and nothing else"
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:2]))
    checked.clear()
    assert [entry.seq for entry in log.read()] == [0, 1], "a chain cannot show that its end is missing"
    assert len(checked) == 2


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_cut_log_with_a_key_is_refused(tmp_path: Path, left: int) -> None:
    log = filled(tmp_path)
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:left]))
    with pytest.raises(BrokenSeal, match="cut"):
        log.read()


def test_the_note_of_the_end_cannot_be_forged_or_taken_away(tmp_path: Path) -> None:
    log = filled(tmp_path)
    end = tmp_path / "log.jsonl.end"
    whole = end.read_bytes()
    for harm in (whole.replace(b'"count":4', b'"count":1'), b"", b"[]"):
        end.write_bytes(harm)
        with pytest.raises(BrokenSeal, match="note"):
            log.read()
    end.unlink()
    with pytest.raises(BrokenSeal, match="length was removed"):
        log.read()


def test_a_crash_before_the_note_loses_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path)
    end = tmp_path / "log.jsonl.end"
    before = end.read_bytes()
    log.append({"n": 4})
    end.write_bytes(before)
    assert len(log.read()) == 5
    log.append({"n": 5})
    assert len(log.read()) == 6


def test_nobody_without_the_key_adds_a_record(tmp_path: Path) -> None:
    log = filled(tmp_path)
    forged = ChainedLog(tmp_path / "other.jsonl", key=b"x" * 32)
    forged.append({"n": 0})
    log.path.write_bytes(forged.path.read_bytes())
    with pytest.raises(BrokenSeal):
        log.read()


def test_records_belong_to_their_anchor(tmp_path: Path) -> None:
    ChainedLog(tmp_path / "log.jsonl", anchor="a" * 64).append({"n": 1})
    with pytest.raises(BrokenSeal):
        ChainedLog(tmp_path / "log.jsonl", anchor="b" * 64).read()


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_line_that_a_crash_cut_off_gives_way_to_the_next(tmp_path: Path, cut: int) -> None:
    log = filled(tmp_path)
    end = tmp_path / "log.jsonl.end"
    before, noted = log.path.read_bytes(), end.read_bytes()
    log.append({"n": 4})
    line = log.path.read_bytes()[len(before) :]
    log.path.write_bytes(before + line[:cut])
    end.write_bytes(noted)
    assert len(log.read()) == 4
    log.append({"n": 5})
    assert [entry.record["n"] for entry in log.read()] == [0, 1, 2, 3, 5]
    assert log.path.read_bytes().startswith(before)


@pytest.mark.parametrize("key", [KEY, b""])
@pytest.mark.parametrize("room", [0, 10])
def test_a_record_for_which_there_is_no_space_leaves_the_log_as_it_was(tmp_path: Path, key: bytes, room: int) -> None:
    log = filled(tmp_path, key)
    before = log.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, hard))
    try:
        with pytest.raises(InfrastructureFault, match=r"no space|cannot be written"):
            log.append({"n": 4})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert log.path.read_bytes() == before
    log.append({"n": 4})
    assert len(log.read()) == 5


def test_a_log_that_is_put_back_with_its_end_is_told_by_the_second_note(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    log = ChainedLog(tmp_path / "log" / "log.jsonl", key=KEY, second=tmp_path / "note")
    log.append({"n": 0})
    copy = {path: path.read_bytes() for path in (tmp_path / "log").iterdir()}
    log.append({"n": 1})
    for path, data in copy.items():
        path.write_bytes(data)
    with pytest.raises(BrokenSeal, match="it had 2 records and has 1"):
        log.append({"n": 1})


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_plain_file_is_no_log(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "log.jsonl")
    with pytest.raises(BrokenSeal, match="cannot be read"):
        ChainedLog(tmp_path / "log.jsonl").read()
