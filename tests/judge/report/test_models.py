"""What a report says of the model that answered, of answers that the budget cut short, and of no call at all."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.price_table import is_same_model

REQUEST: dict[str, Any] = {
    "call": 1,
    "dialect": "chat",
    "model": "big",
    "path": "/v1/chat/completions",
    "stream": False,
    "original": {},
    "forwarded": {},
    "changes": [],
    "reserved": None,
    "retry_of": None,
}
RESPONSE: dict[str, Any] = {
    "call": 1,
    "status": 200,
    "finish": "stop",
    "body": {},
    "tool_calls": 0,
    "whole": True,
    "refusal": None,
    "first_byte_seconds": "0.1",
    "wall_seconds": "0.2",
}
CLOSED: dict[str, Any] = {
    "calls": 1,
    "refused": 0,
    "errors": 0,
    "unplayed": 0,
    "replayable": True,
    "why": [],
    "diverged": [],
    "outage": None,
    "cassette": "",
    "blob": "",
}


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"),
        ("gemini-2.5-pro", "gemini-2.5-pro-001"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("openai/gpt-4o", "gpt-4o"),
        ("Qwen/Qwen3-Coder", "qwen3-coder"),
    ],
)
def test_a_dated_version_is_the_same_model(asked: str, answered: str) -> None:
    assert is_same_model(asked, answered)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("claude-opus-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "claude-sonnet-4"),
        ("gemini-2.5-pro", "gemini-2.5-flash"),
        ("big", "small"),
    ],
)
def test_another_name_is_another_model(asked: str, answered: str) -> None:
    assert not is_same_model(asked, answered)


def deviations(story: Any) -> list[str]:
    return [one["message"] for one in story.tell()["deviations"] if one["id"] == "model"]


def test_m3_another_model_is_a_deviation_that_points_at_its_answer(story: Any) -> None:
    story.before_judging = [("model.request", REQUEST), ("model.response", {**RESPONSE, "model": "small"})]
    assert deviations(story) == ["small gave 1 of the answers that big was asked for"]


@pytest.mark.parametrize("said", [{"model": "big"}, {"model": ""}, {}])
def test_m3_the_model_itself_or_no_name_is_no_deviation(story: Any, said: dict[str, Any]) -> None:
    story.before_judging = [("model.request", REQUEST), ("model.response", {**RESPONSE, **said})]
    assert deviations(story) == []


@pytest.mark.parametrize("closed", [{"never_called": True}, {"never_called": False}, {}])
def test_m6_an_agent_that_never_called_its_model_is_flagged(story: Any, closed: dict[str, Any]) -> None:
    story.before_judging = [("model.closed", {**CLOSED, **closed})]
    assert deviations(story) == (["the agent never called its model"] if closed.get("never_called") else [])


@pytest.mark.parametrize(("more", "code"), [((), "model-budget"), ((("model.response", RESPONSE),), None)])
def test_m4_an_answer_that_the_budget_cut_short_is_a_resource_termination(
    story: Any, more: tuple[tuple[str, dict[str, Any]], ...], code: str | None
) -> None:
    cut = "model.response", {**RESPONSE, "cut_by_budget": True}
    story.before_judging = [("model.request", REQUEST), cut, *more]
    report = story.tell()
    assert report["termination"]["code"] == code
    assert ("resource-termination" in [tag["id"] for tag in report["tags"]]) is bool(code)
