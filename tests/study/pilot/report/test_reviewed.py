"""What reviewers said of successes, and what nobody has looked at, stands among the first caveats of a pilot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proctor.study.pilot.ledger.journal import Journal, Removal
from proctor.study.pilot.report.pilot_findings import caveats_of
from proctor.study.pilot.report.unconfirmed_successes import doubted
from tests.english import english
from tests.study.pilot.pilot_cases import SHOWN, review, run_of
from tests.study.pilot.report.test_status import stands

RISKY = {"risks": ("security", "path")}
ACCEPTED = {"reviews": (review(),)}
REJECTED = {"reviews": (review(verdict="reject"),)}
DISPUTED = {"reviews": (review(), review(verdict="reject", by="bo"))}
UNSURE = {"reviews": (review(verdict="unsure"),)}


def told(x: list[dict[str, Any]], y: list[dict[str, Any]] | None = None) -> str:
    """What is said of runs of x and y that came to these fields."""
    slots = stands(None).plan.slots
    runs = []
    for name, made in (("x", x), ("y", y or [])):
        places = [slot for slot in slots if slot.method == name]
        runs += [run_of(slot, **{"success": True, **fields}) for slot, fields in zip(places, made, strict=False)]
    return " ".join(english(list(doubted(runs, ["x", "y"]))))


def test_open_indicators_of_successes_are_counted_with_their_kinds() -> None:
    found = told([RISKY, RISKY, {"risks": ("path",)}, {}], [{"risks": ("churn",)}])
    assert found == (
        "The risk indicators of these successes have not been reviewed: 3 of 4 successes of x (security in 2 and path "
        "in 3) and the only success of y (churn in 1). proctor review lists them."
    )


def test_what_was_reviewed_and_what_is_no_success_is_not_waited_for() -> None:
    lost = {**RISKY, "success": False, "status": "failure"}
    assert told([RISKY | ACCEPTED, lost, {}]) == ""
    assert told([]) == ""


def test_successes_that_reviewers_did_not_accept_are_counted() -> None:
    found = told([REJECTED, REJECTED, DISPUTED, UNSURE, ACCEPTED, {}], [RISKY | REJECTED])
    assert found == (
        "The rates count successes that reviewers did not accept: 4 of 6 of x (2 rejected, 1 disputed, 1 unsure) and "
        "the only one of y (1 rejected)."
    )
    assert told([{**REJECTED, "success": False}]) == ""


def test_who_changed_their_mind_is_counted_by_what_they_said_last() -> None:
    assert told([{"reviews": (review(verdict="reject"), review())}]) == ""


def test_both_are_caveats() -> None:
    found = told([REJECTED, RISKY])
    assert found.startswith(
        "The rates count successes that reviewers did not accept: 1 of 2 of x (1 rejected). The risk"
    )


def test_a_pilot_tells_it_of_the_methods_compared_and_the_runs_that_count_alone() -> None:
    def says(slot: Any) -> dict[str, Any]:
        return dict(RISKY) if slot.method in ("x", "reference") else {}

    here = stands(None, says)
    (caveat,) = (one for one in english(list(caveats_of(here))) if "reviewed" in one)
    assert "12 of 12 successes of x (" in caveat and "reference" not in caveat
    gone = Removal("a", "", "flaky", (), SHOWN, "", "", "", 0, "")
    fewer = replace(here, journal=Journal(here.journal.screens, (gone,)))
    assert any("9 of 9 successes of x (" in one for one in english(list(caveats_of(fewer))))
    assert any("successes of x (" in one for one in english(list(caveats_of(stands(9, says))))), "also before the end"
    assert not any("review" in one for one in english(list(caveats_of(stands(None)))))
