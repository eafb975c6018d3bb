"""What is said by option about a table of results is held against it: nothing that is given is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.study.statements import statement
from proctor.study.table_import.csv_reader import Reading, Results, read_results

ENDS = "agent,task,resolved,exit_status\na,t,True,done\na,u,False,late\nb,t,false,\n"


def read(folder: Path, text: str, **options: Any) -> Results:
    (folder / "r.csv").write_text(text)
    return read_results(folder / "r.csv", Reading(**options))


def refused(folder: Path, text: str, **options: Any) -> UsageFault:
    with pytest.raises(UsageFault) as caught:
        read(folder, text, **options)
    return caught.value


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"success": ("yes",)}, "r.csv: no row has 'yes' in column resolved; its values are False, True, false"),
        ({"success": ("true", "yes")}, "r.csv: no row has 'yes' in column resolved; its values are False, True, false"),
        ({"unknown": ("offn",)}, "r.csv: no row has 'offn' in column resolved; its values are False, True, false"),
        ({"timeout": ("foo",)}, "r.csv: no row has 'foo' in column exit_status; its values are (empty), done, late"),
    ],
)
def test_a_word_that_no_row_has_is_refused(options: dict[str, Any], told: str, tmp_path: Path) -> None:
    fault = refused(tmp_path, ENDS, **options)
    assert str(fault.message) == told and fault.hint == "give a value that the column has, or leave the option out"


def test_words_and_rows_that_are_wrong_are_told_together(tmp_path: Path) -> None:
    fault = refused(tmp_path, f"{ENDS}b,t,True,done\n", success=("yes",), timeout=("foo", "late"))
    first, second, third = fault.message.splitlines()
    assert (
        "'yes'" in first
        and "'foo'" in second
        and third.startswith("r.csv:5: the attempt of 'b' at 't' is already at line 4")
    )
    assert fault.hint.startswith("give a value that the column has") and "correct these rows" in fault.hint


def test_words_that_rows_have_are_taken_whatever_their_case(tmp_path: Path) -> None:
    found = read(tmp_path, ENDS, success=("TRUE ",), unknown=("False",), timeout=("Late",))
    assert list(found.table.status) == ["success", "unknown", "unknown"]
    assert found.table.censored.tolist() == [0, 1, 0]


def test_a_threshold_may_be_beyond_everybody(tmp_path: Path) -> None:
    found = read(tmp_path, "agent,task,score\na,t,0.2\na,u,0.4\n", success=(">=0.9",))
    assert list(found.table.status) == ["failure", "failure"]


def test_few_of_many_values_are_told_in_their_order(tmp_path: Path) -> None:
    rows = "".join(f"a,t{place},word{place:02}\n" for place in reversed(range(30)))
    fault = refused(tmp_path, f"agent,task,outcome\n{rows}", success=("no",))
    assert fault.message.endswith(f"its values are {', '.join(f'word{place:02}' for place in range(10))} ...")


def test_attempts_that_another_column_may_tell_apart_are_refused_with_its_name(tmp_path: Path) -> None:
    text = "agent,method,task,outcome\nsolve.py,careful,t,1\nsolve.py,hasty,t,0\n"
    assert "name it: --agent method;" in refused(tmp_path, text).hint
    assert list(read(tmp_path, text, columns={"agent": "method"}).table.method) == ["careful", "hasty"]
    assert "--agent" not in refused(tmp_path, "agent,task,outcome\na,t,1\na,t,0\n").hint


@pytest.mark.parametrize("word", ["nan", "NA", "n/a", "null", "None", ""])
def test_words_for_no_value(word: str, tmp_path: Path) -> None:
    (row,) = read(tmp_path, f"agent,task,outcome,cost\na,t,{word},{word}\n").table.rows()
    assert row["status"] == "unknown" and "cost_usd" not in row


@pytest.mark.parametrize(("other", "told"), [("astropy", True), ("django", False)])
def test_repositories_are_strata_where_there_are_several(other: str, told: bool, tmp_path: Path) -> None:
    found = read(tmp_path, f"agent,task,outcome\na,django__django-1,1\na,{other}__{other}-2,1\n")
    assert (statement("strata-from-task-names") in found.notes) is told


PLAIN = "agent,task,outcome{}\na,t,pass{}\na,u,fail{}\n"


def test_columns_that_are_not_used_are_kept_by_name_and_hinted_at(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN.format(",secs,team", ",3,red", ",4,blue"))
    assert found.unused == ("secs", "team")
    assert statement("no-column-of-costs", option=True) in found.cannot
    assert statement("no-column-of-times", option=True) in found.cannot
    assert statement("no-column-of-strata", option=True) in found.cannot
    named = read(tmp_path, PLAIN.format(",secs,team", ",3,red", ",4,blue"), columns={"seconds": "secs"})
    assert named.unused == ("team",) and not any(one.code == "no-column-of-times" for one in named.cannot)
    bare = read(tmp_path, PLAIN.format("", "", ""))
    assert bare.unused == () and statement("no-column-of-times", option=False) in bare.cannot
    assert not any(one.code == "no-column-of-strata" for one in bare.cannot)
    empty = read(tmp_path, PLAIN.format(",seconds,team", ",,red", ",,blue"))
    assert statement("no-column-of-times", option=False) in empty.cannot


def test_tags_are_failure_modes_as_well(tmp_path: Path) -> None:
    told = statement("no-failure-modes")
    assert told not in read(tmp_path, PLAIN.format(",tags", ",", ",slow;odd")).cannot
    assert told in read(tmp_path, PLAIN.format(",tags", ",", ",")).cannot
    assert told in read(tmp_path, PLAIN.format("", "", "")).cannot


def test_the_hint_fits_the_mistake(tmp_path: Path) -> None:
    mapped = "correct these rows, or map their values by option"
    assert refused(tmp_path, PLAIN.format("", "", ",1")).hint == "correct these rows"
    assert refused(tmp_path, PLAIN.format(",cost", ",cheap", ",1")).hint == "correct these rows"
    assert refused(tmp_path, PLAIN.format("", "", "") + "a,v,perhaps\n").hint == mapped


@pytest.mark.parametrize(("text", "told"), [("", "the file is empty"), ("\n\n", "the file is empty")])
def test_an_empty_file_is_called_so(text: str, told: str, tmp_path: Path) -> None:
    assert str(refused(tmp_path, text).message) == told
    assert str(refused(tmp_path, "\nagent,task,outcome\n").message) == "the first line is empty"
