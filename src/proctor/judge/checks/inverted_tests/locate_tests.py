"""Find the edits that can make a listed test fail: from test ids to source files and the tests in them. Pure.

A pytest id names its file. The last parts of other ids are matched with the names of tests in the test files. A test
with few edits of its own also takes those of the helpers in its file that it calls.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.judge.checks.inverted_tests import c, javascript, python
from proctor.judge.checks.inverted_tests.assertion_edits import ASSERTION, Block, Edit, ReplacementValues, kinds_of

_FEW = 3
_PARTS = re.compile(r"[A-Za-z0-9_$]+")


@dataclass(frozen=True)
class EditableTest:
    """Listed tests of one test function in a file, and the edits that may make them fail.

    The cases of a parametrised test are units of their own, for the edits that alter one case. So are helpers with all
    tests that call them; ``touched`` are the tests that may call the helper too.
    """

    path: bytes
    name: str
    ids: tuple[str, ...]
    edits: tuple[Edit, ...]
    touched: tuple[str, ...] = ()


def has_reader(path: bytes) -> bool:
    """Whether there are rules to invert the tests of a file."""
    return path.lower().endswith((*python.SUFFIXES, *javascript.SUFFIXES, *c.SUFFIXES))


def read_blocks(path: bytes, data: bytes, nonce: bytes, *, by_pytest: bool) -> tuple[Block, ...]:
    """The tests of a file, by the rules for its language."""
    draw, name = ReplacementValues(nonce + path, data), path.lower()
    if name.endswith(python.SUFFIXES):
        return python.blocks(data, draw, by_pytest=by_pytest)
    if name.endswith(javascript.SUFFIXES):
        return javascript.blocks(data, draw)
    return c.blocks(data, draw) if name.endswith(c.SUFFIXES) else ()


def find_units(
    wanted: Sequence[str], files: Mapping[bytes, bytes], nonce: bytes, *, by_pytest: bool, start: str = ""
) -> tuple[EditableTest, ...]:
    """The units of the ``wanted`` ids, in files of the tree; pytest ids are relative to ``start``."""
    read = {path: read_blocks(path, data, nonce, by_pytest=by_pytest) for path, data in sorted(files.items())}
    by_name = _by_name(read)
    found: dict[tuple[bytes, Block], list[str]] = {}
    for test in wanted:
        place = _pytest_block(test, read, start) if by_pytest else _best_block(test, by_name)
        if place is not None:
            found.setdefault(place, []).append(test)
    units = [unit for (path, block), ids in found.items() for unit in _by_case(path, block, tuple(ids))]
    for path, several in read.items():
        tests = [(block, ids) for (place, block), ids in found.items() if place == path]
        units += _of_helpers(path, several, tests)
    return tuple(units)


def _by_case(path: bytes, block: Block, ids: tuple[str, ...]) -> Iterator[EditableTest]:
    """The unit of a test with the edits that alter all of its cases, and a unit for each case."""
    yield EditableTest(path, block.name, ids, tuple(edit for edit in block.edits if edit.case is None))
    cases: dict[tuple[str, ...], list[Edit]] = {}
    for edit in block.edits:
        own = tuple(edit.case.renamed(ids)) if edit.case is not None else ()
        if own:
            cases.setdefault(own, []).append(edit)
    for own, edits in cases.items():
        yield EditableTest(path, block.name, own, tuple(edits))


def _of_helpers(
    path: bytes, several: Sequence[Block], tests: Sequence[tuple[Block, list[str]]]
) -> Iterator[EditableTest]:
    """The helpers that tests with few edits call: their edits make all of these tests fail."""
    callers: dict[str, list[str]] = {}
    for block, ids in tests:
        for name in block.calls if _is_poor(block) else ():
            callers.setdefault(name, []).extend(ids)
    helpers = [one for one in several if _as_called(one) in callers and one.edits and not one.is_decorated]
    mentions = [_mentions(block, several) if helpers else set() for block, _ in tests]
    for helper in helpers:
        called = dict.fromkeys(callers[_as_called(helper)])
        touched = (
            test for (_, ids), names in zip(tests, mentions, strict=True) if helper.name in names for test in ids
        )
        yield EditableTest(
            path, helper.name, tuple(called), helper.edits, tuple(test for test in touched if test not in called)
        )


def _mentions(block: Block, several: Sequence[Block]) -> set[str]:
    """Every name that a test mentions, by itself or through functions of its file."""
    by_name: dict[str, list[Block]] = {}
    for one in several:
        by_name.setdefault(one.name, []).append(one)
    found: set[str] = set()
    waiting = [block]
    while waiting:
        new = waiting.pop().mentions - found
        found |= new
        waiting += (one for name in new for one in by_name.get(name, ()))
    return found


def _is_poor(block: Block) -> bool:
    """Whether a test has few edits, or needed added assertions."""
    kinds = kinds_of(block.edits)
    return len(block.edits) < _FEW or len(kinds) < 2 or ASSERTION in kinds


def whole_files(files: Mapping[bytes, bytes], nonce: bytes) -> tuple[EditableTest, ...]:
    """Every test of ``files`` as a unit without ids: for a check that its exit code decides."""
    return tuple(
        EditableTest(path, block.name, (), block.edits)
        for path, data in sorted(files.items())
        for block in _reached(path, data, read_blocks(path, data, nonce, by_pytest=False))
        if block.edits
    )


def _reached(path: bytes, data: bytes, several: Sequence[Block]) -> list[Block]:
    """The tests of a file, what the file calls by itself, and the functions that these call.

    The code under test need not call any other function. Every block of a JavaScript file is a test.
    """
    if path.lower().endswith(javascript.SUFFIXES):
        return list(several)
    by_call: dict[str, list[int]] = {}
    for place, block in enumerate(several):
        by_call.setdefault(_as_called(block), []).append(place)
    names = [(place, block.name.lower()) for place, block in enumerate(several)]
    waiting = [place for place, name in names if name.startswith("test") or name == "main"]
    called = python.called_by_module(data) if path.lower().endswith(python.SUFFIXES) else frozenset()
    waiting += (one for name in called for one in by_call.get(name, ()))
    found: set[int] = set()
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting += (one for name in several[place].calls for one in by_call.get(name, ()))
    return [several[place] for place in sorted(found)]


def _as_called(block: Block) -> str:
    """The text of a call to a function: its name, with a dot before it for a method."""
    return f".{block.name}" if block.around else block.name


def pytest_files(test: str, start: str = "") -> tuple[bytes, ...]:
    """The files that a test with a pytest id may be in: pytest's root is ``start``, or the whole tree."""
    path = test.partition("::")[0]
    return tuple(dict.fromkeys((posixpath.join(start, path).encode(), path.encode())))


def _pytest_block(test: str, read: Mapping[bytes, tuple[Block, ...]], start: str) -> tuple[bytes, Block] | None:
    names = test.partition("::")[2].partition("[")[0].split("::")
    path = next((path for path in pytest_files(test, start) if path in read), b"")
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
