"""Find the edits that can make a listed test fail: from test ids to source files and the tests in them. Pure.

A pytest id names its file. The last parts of other ids are matched with the names of tests in the test files. A test
with few edits of its own also takes those of the helpers in its file that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from proctor.base.frozen import frozen
from proctor.judge.inverted import c, javascript, python
from proctor.judge.inverted.edit import ASSERTION, Block, Edit, kinds_of
from proctor.judge.inverted.values import Draw

_FEW = 3
_PARTS = re.compile(r"[A-Za-z0-9_$]+")


@frozen
class Unit:
    """The listed tests of one test function in a file, and the edits that may make them fail."""

    path: bytes
    name: str
    ids: tuple[str, ...]
    edits: tuple[Edit, ...]


def has_reader(path: bytes) -> bool:
    """Whether there are rules to invert the tests of a file."""
    return path.lower().endswith((*python.SUFFIXES, *javascript.SUFFIXES, *c.SUFFIXES))


def read_blocks(path: bytes, data: bytes, nonce: bytes, *, by_pytest: bool) -> tuple[Block, ...]:
    """The tests of a file, by the rules for its language."""
    draw, name = Draw(nonce + path, data), path.lower()
    if name.endswith(python.SUFFIXES):
        return python.blocks(data, draw, by_pytest=by_pytest)
    if name.endswith(javascript.SUFFIXES):
        return javascript.blocks(data, draw)
    return c.blocks(data, draw) if name.endswith(c.SUFFIXES) else ()


def find_units(
    wanted: Sequence[str], files: Mapping[bytes, bytes], nonce: bytes, *, by_pytest: bool, start: str = ""
) -> tuple[Unit, ...]:
    """The units of the ``wanted`` ids, in files of the tree; pytest ids are relative to ``start``."""
    read = {path: read_blocks(path, data, nonce, by_pytest=by_pytest) for path, data in sorted(files.items())}
    by_name = _by_name(read)
    found: dict[tuple[bytes, Block], list[str]] = {}
    for test in wanted:
        place = _pytest_block(test, read, start) if by_pytest else _best_block(test, by_name)
        if place is not None:
            found.setdefault(place, []).append(test)
    helpers = {path: _by_call(several) for path, several in read.items()}
    return tuple(
        Unit(path, block.name, tuple(ids), _edits(block, helpers[path])) for (path, block), ids in found.items()
    )


def whole_files(files: Mapping[bytes, bytes], nonce: bytes) -> tuple[Unit, ...]:
    """Every test of ``files`` as a unit without ids: for a check that its exit code decides."""
    return tuple(
        Unit(path, block.name, (), block.edits)
        for path, data in sorted(files.items())
        for block in read_blocks(path, data, nonce, by_pytest=False)
        if block.edits
    )


def pytest_file(test: str, start: str = "") -> bytes:
    """The file of a test with a pytest id."""
    path = test.partition("::")[0]
    return (f"{start}/{path}" if start else path).encode()


def _pytest_block(test: str, read: Mapping[bytes, tuple[Block, ...]], start: str) -> tuple[bytes, Block] | None:
    path = pytest_file(test, start)
    names = test.partition("::")[2].partition("[")[0].split("::")
    for block in read.get(path, ()):
        if (*block.around, block.name) == tuple(names):
            return path, block
    return _inherited(path, names, read)


def _inherited(
    path: bytes, names: Sequence[str], read: Mapping[bytes, tuple[Block, ...]]
) -> tuple[bytes, Block] | None:
    """A method that the test's class inherits from another class of the same file, if only one has that name."""
    same = [block for block in read.get(path, ()) if len(names) > 1 and block.name == names[-1] and block.around]
    return (path, same[0]) if len(same) == 1 else None


def _by_name(read: Mapping[bytes, tuple[Block, ...]]) -> dict[str, list[tuple[bytes, Block]]]:
    """Every test of the files that has a name, by that name."""
    found: dict[str, list[tuple[bytes, Block]]] = {}
    for path, several in read.items():
        for block in several:
            found.setdefault(block.name, []).append((path, block))
    found.pop("", None)
    return found


def _best_block(test: str, by_name: Mapping[str, Sequence[tuple[bytes, Block]]]) -> tuple[bytes, Block] | None:
    """The test with the longest name that ends an id; of several, the one whose file and suites are in the id."""
    name = max((one for one in _last_parts(test) if one in by_name), key=len, default="")
    parts = set(_PARTS.findall(test))
    return max(by_name.get(name, ()), key=lambda place: _shared(place, test, parts), default=None)


def _shared(place: tuple[bytes, Block], test: str, parts: set[str]) -> int:
    stem = place[0].rpartition(b"/")[2].partition(b".")[0].decode(errors="replace")
    return sum(name in test for name in place[1].around) + (stem in parts)


def _last_parts(test: str) -> Iterator[str]:
    """An id and its endings after each separator of names, also without its parameters."""
    for text in (test, test.partition("[")[0].rstrip()):
        for at in range(len(text)):
            if at == 0 or not _is_word(text[at - 1]):
                yield text[at:]


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _edits(block: Block, helpers: Mapping[str, Sequence[Edit]]) -> tuple[Edit, ...]:
    """The edits of a test; where they are few, or assertions were added, also those of the helpers that it calls."""
    kinds = kinds_of(block.edits)
    if len(block.edits) >= _FEW and len(kinds) > 1 and ASSERTION not in kinds:
        return block.edits
    called = (edit for name in sorted(block.calls) for edit in helpers.get(name, ()))
    return tuple(dict.fromkeys((*block.edits, *called)))


def _by_call(several: Iterable[Block]) -> dict[str, list[Edit]]:
    """The edits of every function by the text of a call to it: the name, with a dot before it for a method."""
    found: dict[str, list[Edit]] = {}
    for block in several:
        found.setdefault(f".{block.name}" if block.around else block.name, []).extend(block.edits)
    return found
