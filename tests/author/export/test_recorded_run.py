"""What is read of a run: texts from its blobs only, and nothing of a run that names other places."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.author.export.recorded_run import _Reader, iso, read_run
from proctor.author.export.run_losses import arguments_of, clean, json_text
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.run_directory import RunDirectory
from tests.corpus_runs import unpack

NAME = "report-3b-success"


def test_a_blob_is_named_by_its_digest_only(tmp_path: Path) -> None:
    directory = RunDirectory(unpack(NAME, tmp_path))
    (directory.path.parent / "secret").write_text("secret")
    reader = _Reader(directory)
    assert reader.text({"blob": "../../secret", "bytes": 6, "prefix": "begun"}) == "begun"
    assert reader.text({"hmac": "a" * 64, "bytes": 6}) == ""
    assert reader.cut == 2
    (directory.blobs / ("a" * 64)).write_bytes(b"whole \xff")
    assert reader.text({"blob": "a" * 64, "bytes": 7, "prefix": "who"}) == "whole \\xff"
    assert reader.text({"shown": {"text": "shown"}, "bytes": 9}) == "shown"


def test_a_run_without_a_seal_is_refused(tmp_path: Path) -> None:
    directory = RunDirectory(unpack(NAME, tmp_path))
    assert read_run(directory).valid
    directory.seal.unlink()
    with pytest.raises(BrokenSeal, match="no seal"):
        read_run(directory)
    with pytest.raises(UsageFault):
        read_run(RunDirectory(tmp_path / "none"))


def test_times_have_microseconds() -> None:
    assert iso(1_795_127_373_708_867_162) == "2026-11-19T22:29:33.708867Z"
    assert iso(0) == "1970-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a": 1}', {"a": 1}), ("[1]", {"value": [1]}), ("ls -l", {"text": "ls -l"}), ("[" * 9999, {"text": "[" * 9999})],
)
def test_arguments_are_an_object(text: str, expected: dict[str, object]) -> None:
    assert arguments_of(text) == expected


def test_json_has_no_lone_surrogates() -> None:
    assert json_text({"b": "\udcff", "a": "é"}) == '{"a": "é", "b": "\\udcff"}\n'.encode()
    assert clean("\ud800x") == "\\ud800x"
