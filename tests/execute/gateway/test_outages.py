"""M6: outages are judged by conversation, and what a provider does not take is judged by how it came about."""

from __future__ import annotations

import orjson
import pytest

from proctor.execute.gateway.dialects.interface import Message, ModelRequest, Tool
from proctor.execute.gateway.model_events import Failure
from proctor.execute.gateway.provider_outages import SMALL_REQUEST_BYTES, Conversations, Outage
from proctor.execute.gateway.sources.interface import ForwardedRequest

DOWN = Outage("upstream", "it is down")
OVERFLOW, REJECTED = Failure("context-overflow", "too long", 400), Failure("rejected", "no", 400)


def call(name: str, size: int = 100, *, tools: bool = True, most: int | None = None) -> ForwardedRequest:
    """A request of the conversation ``name``, of about ``size`` bytes."""
    asked = ModelRequest("m", (Message("user", name),), (Tool("run"),) if tools else (), most)
    body = {"text": "x" * size}
    return ForwardedRequest("chat", "generate", "/v1/chat/completions", "", {}, body, orjson.dumps(body), asked)


@pytest.mark.parametrize(
    ("calls", "is_out"),
    [
        ("main+ main-", True),
        ("main- main+", False),
        ("main+ helper- main+", False),
        ("main+ helper+ main- helper+", True),
        ("main+ main- shorter+", False),
        ("main+ main- shorter+ shorter-", True),
        ("main+ helper-", True),
    ],
)
def test_m6_an_outage_lasts_until_the_agent_goes_on(calls: str, is_out: bool) -> None:
    talks = Conversations()
    for one in calls.split():
        if one.endswith("+"):
            talks.answered(call(one[:-1]))
        else:
            talks.failed(call(one[:-1]), DOWN)
    assert (talks.outage is not None) is is_out


def test_m6_a_side_call_without_tools_hides_no_outage() -> None:
    talks = Conversations()
    talks.failed(call("main"), DOWN)
    talks.answered(call("title", tools=False))
    assert talks.outage == DOWN


@pytest.mark.parametrize("failure", [OVERFLOW, REJECTED])
def test_m6_a_request_that_nothing_like_it_was_answered_before_shows_the_set_up(failure: Failure) -> None:
    talks = Conversations()
    assert talks.is_setup(call("main", 10 * SMALL_REQUEST_BYTES), failure)
    talks.answered(call("title", tools=False))
    assert talks.is_setup(call("main"), failure), "a call for a title says nothing about calls with tools"
    talks.answered(call("main"))
    assert talks.is_setup(call("main"), failure) is (failure is OVERFLOW)


def test_m6_an_overflow_is_the_agents_when_its_own_conversation_grew() -> None:
    talks = Conversations()
    talks.answered(call("main", SMALL_REQUEST_BYTES))
    assert talks.is_setup(call("main", SMALL_REQUEST_BYTES // 2), OVERFLOW), "a window that small fits no agent"
    assert talks.is_setup(call("main", SMALL_REQUEST_BYTES * 3 // 2), OVERFLOW), "most of it was there at the start"
    assert not talks.is_setup(call("main", SMALL_REQUEST_BYTES * 5), OVERFLOW)
    assert not talks.is_setup(call("main"), Failure("client-abort", "gone"))


def test_m6_an_overflow_is_the_agents_when_it_asks_for_a_larger_answer_than_before() -> None:
    talks = Conversations()
    assert talks.is_setup(call("main", most=10**7), OVERFLOW), "nothing was ever answered"
    talks.answered(call("main", most=4000))
    assert not talks.is_setup(call("main", most=10**7), OVERFLOW)
    assert talks.is_setup(call("main", most=4000), OVERFLOW)


def test_m6_an_agent_that_worked_without_tools_has_a_model_that_fits_it() -> None:
    talks = Conversations()
    talks.answered(call("work", tools=False))
    talks.answered(call("work", tools=False))
    assert talks.is_setup(call("other"), REJECTED)
    talks.answered(call("work", tools=False))
    assert not talks.is_setup(call("other"), REJECTED)
