"""YAML that was read before gives the same nodes, positions included."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.load import parse_yaml_cached
from proctor.contract.strict_yaml import Node, Report, parse_yaml

TEXT = b"""\
name: x
flags: [true, null, ~, no]
numbers:
  - 1
  - 2.50
nested: {a: {b: ["c", 'd']}}
text: |
  several
  lines
"""


def parsed(data: bytes, memory: Path | None) -> tuple[Node | None, list[object]]:
    report = Report("contract.yaml")
    return parse_yaml_cached(data, report, memory), list(report.mistakes)


def test_the_second_time_needs_no_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = parsed(TEXT, tmp_path)
    monkeypatch.setattr("proctor.contract.load.parse_yaml", None)
    assert parsed(TEXT, tmp_path) == first == (parse_yaml(TEXT, Report("")), [])


def test_other_bytes_are_parsed_anew(tmp_path: Path) -> None:
    parsed(TEXT, tmp_path)
    node, _ = parsed(TEXT + b"more: 1\n", tmp_path)
    assert node is not None and "more" in node.value


def test_mistakes_are_told_each_time(tmp_path: Path) -> None:
    data = b"a: 1\na: 2\nb: 0x1f\n"
    first, second = parsed(data, tmp_path), parsed(data, tmp_path)
    assert len(first[1]) == 2 and first == second
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("harm", [b"", b"{}", b"[1]", b"\xff", b'{"digest":"0","node":["text","y",1,1]}'])
def test_a_damaged_memory_is_as_good_as_none(tmp_path: Path, harm: bytes) -> None:
    first = parsed(TEXT, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(harm)
    assert parsed(TEXT, tmp_path) == first


def test_a_memory_that_cannot_be_written_to_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    node, mistakes = parsed(TEXT, tmp_path / "file" / "below")
    assert node is not None and not mistakes


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc: #'\"é", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz", min_size=1, max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_any_document_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    import json

    memory = tmp_path_factory.mktemp("memory")
    data = json.dumps({"a": value}).encode()
    assert parsed(data, memory) == parsed(data, memory) == parsed(data, None)
