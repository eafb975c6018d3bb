"""The index follows the run directories: it reads what is new, forgets what is gone, and names what has no row."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.proctor_home import Home
from proctor.record.reviews import Review, add_review
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import load_seal
from proctor.study.index import index_update as refreshing
from proctor.study.index.index_update import refresh, rows_of
from proctor.study.run_table import Table
from tests.study.index.conftest import Runs


def rows(table: Table) -> list[dict[str, object]]:
    return list(table.rows())


def test_only_new_and_changed_runs_are_read_again(runs: Runs) -> None:
    first = [runs.make() for _ in range(3)]
    told: list[tuple[int, int]] = []
    made = refresh(runs.home, lambda done, all_: told.append((done, all_)))
    assert (made.runs, made.read, made.left_out) == (3, 3, ())
    assert told == [(1, 3), (2, 3), (3, 3)]
    before = made.path.read_bytes()
    again = refresh(runs.home)
    assert (again.runs, again.read) == (3, 0)
    assert made.path.read_bytes() == before
    said = Review(verdict="accept", minutes="2", by="jo", why="fine", at="2026-03-08T10:00:00Z")
    add_review(first[1], load_seal(first[1]).digest, said)
    newer = runs.make()
    changed = refresh(runs.home)
    assert (changed.runs, changed.read) == (4, 2)
    table = changed.table()
    assert list(table.run) == [run.path.name for run in (*first, newer)]
    assert [row.get("human_minutes") for row in table.rows()] == [None, 2.0, None, None]


def test_the_index_says_what_the_directories_say(runs: Runs) -> None:
    for number in range(4):
        runs.make(configuration={"repeat": number})
        refresh(runs.home)
    found = rows_of(runs.home)
    assert found.left_out == ()
    assert rows(refresh(runs.home).table()) == rows(Table.from_rows(found.rows))


def test_runs_that_are_gone_are_forgotten(runs: Runs) -> None:
    kept, gone = runs.make(), runs.make()
    assert refresh(runs.home).runs == 2
    shutil.rmtree(gone.path)
    after = refresh(runs.home)
    assert (after.runs, after.read) == (1, 0)
    assert list(after.table().run) == [kept.path.name]


def test_no_run_is_left_out_silently(runs: Runs) -> None:
    good, spoilt = runs.make(), runs.make()
    cut = runs.make(seal=False)
    replayed = runs.make(configuration={"replay_of": good.path.name})
    moved = runs.make(name="20260307T125959-ffffffffff")
    empty = RunDirectory(runs.home.runs / "20260307T130000-0000000000")
    empty.path.mkdir()
    assert refresh(runs.home).runs == 2
    said = Review(verdict="reject", minutes="40", by="jo", why="no", at="2026-03-08T10:00:00Z")
    unheard = runs.make()
    add_review(unheard, load_seal(unheard).digest, said)
    (unheard.path / "reviews.jsonl").unlink()
    spoilt.report.write_bytes(spoilt.report.read_bytes().replace(b"success", b"failure"))
    found = refresh(runs.home)
    assert list(found.table().run) == [good.path.name], "a row goes when its evidence is changed"
    assert {(one.run, one.reason, one.broken) for one in found.left_out} == {
        (spoilt.path.name, "is not what was sealed", True),
        (unheard.path.name, "the log was cut: it had 1 records and has 0", True),
        (cut.path.name, "was cut off before it was sealed", False),
        (replayed.path.name, f"repeats {good.path.name} on recorded answers", False),
        (moved.path.name, "contains the run 20260307T120005-0000000005 under another id and does not count", True),
        (empty.path.name, "was cut off before it was sealed", False),
    }
    assert all(one.source == str(runs.home.runs / one.run) for one in found.left_out)
    assert rows_of(runs.home).left_out == found.left_out


def test_other_names_among_the_runs_are_no_runs(runs: Runs) -> None:
    run = runs.make()
    (runs.home.runs / "notes").mkdir()
    (runs.home.runs / "20260307T130000-0000000000").symlink_to(run.path)
    (runs.home.runs / "20260307T130000-0000000001").write_text("a file")
    assert (refresh(runs.home).runs, refresh(runs.home).left_out) == (1, ())


@pytest.mark.parametrize("harm", ["cut", "foreign", "version"])
def test_an_index_that_cannot_be_used_is_made_again(runs: Runs, harm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.make(), runs.make()
    path = refresh(runs.home).path
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif harm == "foreign":
        path.write_text("something else")
    else:
        monkeypatch.setattr(refreshing, "VERSION", refreshing.VERSION + 1)
    made = refresh(runs.home)
    assert (made.runs, made.read, made.table().length) == (2, 2, 2)
    assert refresh(runs.home).read == 0


def test_a_home_without_runs_has_an_empty_index(tmp_path: Path) -> None:
    found = refresh(Home(tmp_path / "nothing"))
    assert (found.runs, found.read, found.left_out, found.table().length) == (0, 0, (), 0)
    assert refresh(Home(tmp_path / "nothing")).runs == 0


def test_nothing_but_the_index_is_left(runs: Runs) -> None:
    runs.make()
    path = refresh(runs.home).path
    runs.make(seal=False)
    (path.parent / ".runs.parquet.0123").write_text("half of an index")
    (path.parent / ".runs.parquet.0123.spill").mkdir()
    (path.parent / ".runs.parquet.0123.spill" / "block").write_text("more of it")
    refresh(runs.home)
    assert sorted(place.name for place in path.parent.iterdir()) == [".lock", "runs.parquet"]


def test_two_who_refresh_at_once_take_turns(runs: Runs) -> None:
    for _ in range(5):
        runs.make()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: refresh(runs.home), range(4)))
    assert sorted(one.read for one in found) == [0, 0, 0, 5]
    assert {one.runs for one in found} == {5}
    assert refresh(runs.home).table().length == 5


def test_a_home_that_cannot_hold_an_index_is_named(runs: Runs) -> None:
    runs.make()
    (runs.home.path / "index").write_text("in the way")
    with pytest.raises(UsageFault, match="the index cannot be written") as caught:
        refresh(runs.home)
    assert caught.value.hint == "set PROCTOR_HOME to a directory that you can write to"
