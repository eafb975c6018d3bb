"""Reviews beside a run: bound to the seal, bounded in what they hold, and no record passes that is no review."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.base.dataclass_fields import field_items
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.reviews import (
    HEADS_NAME,
    Review,
    add_review,
    home_log,
    last_verdicts,
    latest,
    minutes_of,
    noted_heads,
    read_reviews,
    review_log,
)
from proctor.record.run_directory import RunDirectory

SEAL = "sha256:" + "a" * 64


def review(verdict: str = "accept", by: str = "ada", minutes: str = "1.5", day: int = 7) -> Review:
    return Review(verdict, minutes, by, "because", f"2026-03-{day:02}T12:00:00Z")


def test_reviews_come_back_in_order_and_the_last_of_each_counts(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    given = (review(), review("reject", "bo"), review("reject"))
    for one in given:
        add_review(run, SEAL, one)
    assert read_reviews(run, SEAL) == given
    assert latest(given) == {"ada": "reject", "bo": "reject"}
    assert minutes_of(given) == Decimal("4.5")
    assert oct((tmp_path / "reviews.jsonl").stat().st_mode & 0o777) == "0o644"


def test_a_review_cannot_be_carried_to_another_run(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    add_review(run, SEAL, review())
    with pytest.raises(BrokenSeal):
        read_reviews(run, "sha256:" + "b" * 64)


def test_a_record_that_is_no_review_is_named(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    review_log(run, SEAL).append({"kind": "proctor.review", "verdict": "accept"})
    with pytest.raises(BrokenSeal, match="is not a review"):
        read_reviews(run, SEAL)


def homed(tmp_path: Path, name: str = "one") -> RunDirectory:
    (tmp_path / "runs" / name).mkdir(parents=True)
    return RunDirectory(tmp_path / "runs" / name)


@pytest.mark.parametrize("left", [0, 1])
def test_a_cut_log_is_told_by_the_home(tmp_path: Path, left: int) -> None:
    run = homed(tmp_path)
    for _ in range(2):
        add_review(run, SEAL, review())
    lines = (run.path / "reviews.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "reviews.jsonl").write_bytes(b"".join(lines[:left]))
    assert len(read_reviews(run, SEAL)) == left, "the chain alone does not show it"
    with pytest.raises(BrokenSeal, match=f"it had 2 records and has {left}"):
        read_reviews(run, SEAL, noted_heads(run))
    with pytest.raises(BrokenSeal, match="it had 2 records"):
        add_review(run, SEAL, review("reject"))


def test_a_history_that_was_written_anew_is_told_by_the_home(tmp_path: Path) -> None:
    run = homed(tmp_path)
    add_review(run, SEAL, review())
    (run.path / "reviews.jsonl").unlink()
    review_log(run, SEAL).append({"kind": "proctor.review", "schema": 1, **dict(field_items(review("reject")))})
    with pytest.raises(BrokenSeal, match="not the one that the home notes"):
        read_reviews(run, SEAL, noted_heads(run))


@pytest.mark.parametrize("count", [1, 2])
def test_a_note_on_another_history_does_not_take_the_place_of_the_first(tmp_path: Path, count: int) -> None:
    run = homed(tmp_path)
    add_review(run, SEAL, review())
    (run.path / "reviews.jsonl").unlink()
    for number in range(count):
        why = f"other {number}"
        last = review_log(run, SEAL).append(
            {"kind": "proctor.review", "schema": 1, **dict(field_items(review("reject"))), "why": why}
        )
    shared = home_log(run)
    assert shared is not None
    shared.append({"run": run.path.name, "seal": SEAL, "count": count, "head": last.hash})
    with pytest.raises(BrokenSeal, match="not the one that the home notes"):
        read_reviews(run, SEAL, noted_heads(run))


def test_a_review_that_a_crash_left_unnoted_counts(tmp_path: Path) -> None:
    run = homed(tmp_path)
    add_review(run, SEAL, review())
    review_log(run, SEAL).append({"kind": "proctor.review", "schema": 1, **dict(field_items(review("reject")))})
    assert len(read_reviews(run, SEAL, noted_heads(run))) == 2


def test_runs_of_one_home_are_noted_apart_and_a_run_elsewhere_not_at_all(tmp_path: Path) -> None:
    one, two = homed(tmp_path), homed(tmp_path, "two")
    add_review(one, SEAL, review())
    add_review(two, "sha256:" + "b" * 64, review())
    assert {seal: count for seal, ((count, _),) in noted_heads(one).items()} == {SEAL: 1, "sha256:" + "b" * 64: 1}
    assert noted_heads(RunDirectory(tmp_path / "elsewhere")) == {}


@pytest.mark.parametrize("minutes", ["", "-1", "1e3", "nan", "123456", "1.234", "\u0661"])
def test_minutes_are_a_plain_number(minutes: str) -> None:
    with pytest.raises(UsageFault):
        review(minutes=minutes)


@pytest.mark.parametrize("name", ["", " ", "x" * 2001])
def test_a_reviewer_has_a_name(name: str) -> None:
    with pytest.raises(UsageFault):
        review(by=name)


@pytest.mark.parametrize("name", ["ada", "ADA", " Ada ", "\u212bda", "A\u030ada", "\u00e5da"])
def test_one_reviewer_is_one_however_the_name_is_written(name: str) -> None:
    first = "Ada" if name.isascii() else "\u00c5da"
    assert latest((review(by=first), review("reject", name))) == {first: "reject"}


def test_a_reviewer_is_shown_by_the_name_that_came_first_in_all_runs() -> None:
    logs = [
        (review(by="ADA", day=9), review(by="bo")),
        (review("reject", by=" Ada  L ", day=8), review(by="Bo", day=8)),
    ]
    assert last_verdicts(logs) == [{"ADA": "accept", "bo": "accept"}, {"Ada L": "reject", "bo": "accept"}]
    assert last_verdicts([(review(by="ada l", day=9),), logs[1]])[0] == {"Ada L": "accept"}
    assert latest((review(by="stra\u00dfe"), review("unsure", by="STRASSE"))) == {"stra\u00dfe": "unsure"}


NO_COUNTS: list[Any] = [[1], {}, None, True, -1, 0, "1"]
NO_TEXTS: list[Any] = [[SEAL], {}, None, 1]
NO_NOTES = [("count", value) for value in NO_COUNTS] + [(name, one) for name in ("seal", "head") for one in NO_TEXTS]


@pytest.mark.parametrize(("field", "value"), NO_NOTES)
def test_a_note_that_is_none_is_named(tmp_path: Path, field: str, value: Any) -> None:
    run = homed(tmp_path)
    add_review(run, SEAL, review())
    shared = home_log(run)
    assert shared is not None
    shared.append({**shared.read()[0].record, field: value})
    with pytest.raises(BrokenSeal, match=f"{HEADS_NAME}#1: line 2 is not a note of a review"):
        noted_heads(run)


@pytest.mark.parametrize("harm", [{"by": ["ada"]}, {"minutes": 3}, {"why": None}, {"at": {}}, {"verdict": "perhaps"}])
def test_a_record_of_other_fields_is_no_review(tmp_path: Path, harm: dict[str, Any]) -> None:
    run = RunDirectory(tmp_path)
    add_review(run, SEAL, review())
    review_log(run, SEAL).append({"kind": "proctor.review", "schema": 1, **dict(field_items(review())), **harm})
    with pytest.raises(BrokenSeal, match=r"reviews.jsonl#1: line 2 is not a review"):
        read_reviews(run, SEAL)


def test_a_record_of_another_kind_is_no_review(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    review_log(run, SEAL).append({"kind": "other", "schema": 1, **dict(field_items(review()))})
    with pytest.raises(BrokenSeal, match=r"reviews.jsonl#0: is not a record of the kind proctor.review"):
        read_reviews(run, SEAL)


@pytest.mark.parametrize("text", ["two\nlines", "\udcff", "\x1b[31m", "a\u2028b", "a\x00b"])
def test_a_review_is_one_line_of_text(tmp_path: Path, text: str) -> None:
    run = RunDirectory(tmp_path)
    given = review(by="ada")
    for one in (review(by=text), Review(given.verdict, given.minutes, given.by, text, given.at)):
        with pytest.raises(UsageFault, match=r"--(by|why): is not one line"):
            add_review(run, SEAL, one)
    assert read_reviews(run, SEAL) == ()


def test_an_older_review_of_two_lines_is_read(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    review_log(run, SEAL).append(
        {"kind": "proctor.review", "schema": 1, **dict(field_items(review())), "why": "two\nlines"}
    )
    assert read_reviews(run, SEAL)[0].why == "two\nlines"
