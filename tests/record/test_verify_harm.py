"""Harm to finished runs: bytes, files, links and modes, at random places; every one is found and named."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.record.run_directory import RunDirectory
from proctor.record.verify import Verification, verify

PLACES = 500

# What can be done to a file or an entry of a directory. Each returns the names that a finding may give it.

Harm = Callable[[RunDirectory, Path, random.Random], set[str]]


def flip_a_bit(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return _rewrite(run, path, data)


def change_a_byte(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = bytearray(path.read_bytes())
    at = draw.randrange(len(data))
    data[at] = (data[at] + draw.randrange(1, 256)) % 256
    return _rewrite(run, path, data)


def drop_bytes(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = bytearray(path.read_bytes())
    at = draw.randrange(len(data))
    del data[at : at + draw.randrange(1, 200)]
    return _rewrite(run, path, data)


def drop_the_tail(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = bytearray(path.read_bytes())
    del data[draw.randrange(len(data)) :]
    return _rewrite(run, path, data)


def swap_two_pieces(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = path.read_bytes()
    for _ in range(1000):
        a, b, c = sorted(draw.randrange(len(data) + 1) for _ in range(3))
        swapped = data[:a] + data[b:c] + data[a:b] + data[c:]
        if swapped != data:
            return _rewrite(run, path, bytearray(swapped))
    return flip_a_bit(run, path, draw)


def swap_two_lines(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    lines = path.read_bytes().splitlines(keepends=True)
    if len(set(lines)) < 2:
        return flip_a_bit(run, path, draw)
    while True:
        a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
        if lines[a] != lines[b]:
            break
    lines[a], lines[b] = lines[b], lines[a]
    return _rewrite(run, path, bytearray(b"".join(lines)))


def drop_a_line(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[draw.randrange(len(lines))]
    return _rewrite(run, path, bytearray(b"".join(lines)))


def repeat_a_line(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    return _rewrite(run, path, bytearray(b"".join(lines)))


def append_bytes(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    more = draw.choice([b"\n", b" ", b"\0", b"{}\n", draw.randbytes(50)])
    return _rewrite(run, path, bytearray(path.read_bytes() + more))


def insert_bytes(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = bytearray(path.read_bytes())
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.randbytes(draw.randrange(1, 20))
    return _rewrite(run, path, data)


def empty_the_file(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    return _rewrite(run, path, bytearray())


def remove_the_file(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    path.unlink()
    return {run.name(path)}


def rename_the_file(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    other = path.with_name(path.name + draw.choice(["~", ".bak", "x"]))
    path.rename(other)
    return {run.name(path), run.name(other)}


def link_to_a_copy(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    copy = run.path.parent / f"copy-{path.name}"
    path.rename(copy)
    path.symlink_to(copy)
    return {run.name(path)}


def pipe_for_the_file(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    path.unlink()
    os.mkfifo(path)
    return {run.name(path)}


def directory_for_the_file(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    path.unlink()
    path.mkdir()
    return {run.name(path)}


def change_the_mode(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode ^ draw.choice([0o001, 0o010, 0o100, 0o002, 0o020, 0o040, 0o4000, 0o2000]))
    return {run.name(path)}


def add_a_file_beside(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    added = path.with_name(f".{draw.getrandbits(32):x}")
    added.write_bytes(draw.choice([b"", b"more"]))
    return {run.name(added)}


def add_a_directory_beside(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    added = path.with_name(f"{draw.getrandbits(32):x}")
    (added / "deeper").mkdir(parents=True)
    return {run.name(added)}


def swap_with_another_file(run: RunDirectory, path: Path, draw: random.Random) -> set[str]:
    data = path.read_bytes()
    others = [other for other in _files(run) if other.read_bytes() != data]
    other = draw.choice(others)
    spare = run.path.parent / "spare"
    path.rename(spare)
    other.rename(path)
    spare.rename(other)
    return {run.name(path), run.name(other)}


ON_BYTES: tuple[Harm, ...] = (
    flip_a_bit,
    change_a_byte,
    drop_bytes,
    drop_the_tail,
    swap_two_pieces,
    swap_two_lines,
    drop_a_line,
    repeat_a_line,
    empty_the_file,
)
ON_FILES: tuple[Harm, ...] = (
    append_bytes,
    insert_bytes,
    remove_the_file,
    rename_the_file,
    link_to_a_copy,
    pipe_for_the_file,
    directory_for_the_file,
    change_the_mode,
    add_a_file_beside,
    add_a_directory_beside,
    swap_with_another_file,
)


def _files(run: RunDirectory) -> list[Path]:
    return sorted(path for path in run.path.rglob("*") if path.is_file() and not path.is_symlink())


def _rewrite(run: RunDirectory, path: Path, data: bytearray) -> set[str]:
    assert data != path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(data)
    return {run.name(path)}


def _names(found: Verification, expected: set[str]) -> bool:
    return any(problem.where.partition("#")[0] in expected and problem.message for problem in found.problems)


@pytest.mark.parametrize("part", range(5))
def test_harm_at_500_random_places_is_always_found_and_named(make_run: Any, tmp_path: Path, part: int) -> None:
    harm_and_verify(make_run, tmp_path, part, PLACES // 5)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(5, 10))
def test_harm_at_5_000_random_places_is_always_found_and_named(make_run: Any, tmp_path: Path, part: int) -> None:
    harm_and_verify(make_run, tmp_path, part, PLACES * 2)


def harm_and_verify(make_run: Any, tmp_path: Path, part: int, places: int) -> None:
    originals = [make_run.sealed(seed) for seed in (part, part + 100)]
    draw = random.Random(20260307 + part)
    copy = RunDirectory(tmp_path / "harmed" / "run")
    for place in range(places):
        original = originals[place % 2]
        shutil.rmtree(copy.path.parent, ignore_errors=True)
        copy.path.parent.mkdir()
        shutil.copytree(original.path, copy.path)
        path = draw.choice(_files(copy))
        harm = draw.choice(ON_BYTES + ON_FILES if path.stat().st_size else ON_FILES)
        expected = harm(copy, path, draw)
        found = verify(copy)
        assert found.status != "intact", f"{harm.__name__} on {path.name}"
        assert _names(found, expected), f"{harm.__name__} on {path.name}: {found.problems}"
        if path.name != "seal.json":
            assert found.status == "broken"
    assert [verify(original).status for original in originals] == ["intact", "intact"]


@pytest.mark.parametrize("harm", ON_BYTES + ON_FILES, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("name", ["seal.json", "events.jsonl", "manifest.json", "workspace/final.patch"])
def test_every_harm_to_every_kind_of_file(make_run: Any, harm: Harm, name: str) -> None:
    run = make_run.sealed(3)
    expected = harm(run, run.path / name, random.Random(name))
    found = verify(run)
    assert found.status in ("broken", "unsealed")
    assert _names(found, expected)
