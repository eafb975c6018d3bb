"""Ids of SWE-bench as pytest prints them: bare names, cut ids and ids that stand for nothing."""

from __future__ import annotations

import pytest

from proctor.author.import_.import_record import Refused
from proctor.author.import_.test_ids import is_cut, repaired

FILES = {
    "a/test_one.py": b"def test_x():\n    pass\n\n\nclass TestC:\n    def test_y(self):\n        pass\n",
    "a/test_two.py": b"def test_x():\n    pass\n\n\nasync def test_z():\n    pass\n",
    "data.txt": b"def test_w(): pass",
    "broken.py": b"def (",
}


def code_of(fails: tuple[str, ...], keeps: tuple[str, ...] = ()) -> str:
    with pytest.raises(Refused) as caught:
        repaired(fails, keeps, FILES)
    return caught.value.code


def test_ids_of_pytest_stay() -> None:
    found = repaired(("a/b.py::test_x[1-2]",), ("a/b.py::test_y", "a/b.py::test_x[1-2]"), {})
    assert found.must_pass == ("a/b.py::test_x[1-2]",)
    assert found.keep_passing == ("a/b.py::test_y",)
    assert found.files() == ("a/b.py",)


def test_bare_names_are_found_in_the_test_files() -> None:
    found = repaired(("test_y",), ("test_z", "test_x", "test_w", "test_none"), FILES)
    assert found.must_pass == ("a/test_one.py::TestC::test_y",)
    assert found.keep_passing == ("a/test_two.py::test_z",)
    assert found.unknown == ("test_x", "test_w", "test_none")


def test_what_must_pass_is_never_guessed() -> None:
    assert code_of(("test_x",)) == "ambiguous-id"
    assert code_of(("test_none",)) == "unknown-id"
    assert code_of(("test_x (mod.Class)",)) == "unknown-id"
    assert code_of(("/etc/passwd.py::x",)) == "unknown-id"
    assert code_of(("../a.py::x",)) == "unknown-id"


def test_cut_ids_are_listed_and_refused_where_nothing_else_must_pass() -> None:
    cut = "t.py::test_x[test-Basic"
    assert is_cut(cut) and not is_cut("t.py::test_x[a b]") and not is_cut("t.py::test_x")
    assert code_of((cut,)) == "cut-id"
    found = repaired(("t.py::test_a", cut), ("t.py::test_b[x",), {})
    assert found.must_pass == ("t.py::test_a",)
    assert found.cut == (cut, "t.py::test_b[x")
