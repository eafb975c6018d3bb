"""M1, M2: whatever a request asks for and whatever a provider says, what is charged is plausible and the cap holds."""

from __future__ import annotations

import json
import random
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.dialects import field_rules
from proctor.execute.gateway.dialects.interface import Message, ModelRequest, Usage
from proctor.execute.gateway.gateway_settings import Caps, Limits
from proctor.execute.gateway.spend_reservation import MOST_BYTES_PER_TOKEN, Reservation, charge
from proctor.execute.monitor.price_table import total_of
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, Rig, body_of
from tests.execute.gateway.lying import lying_provider

ANY: dict[str, Any] = {
    "n": [1, 2, 3],
    "best_of": [4],
    "min_tokens": [999],
    "service_tier": ["priority"],
    "something_new": [None, "x", {"deep": 1}],
    "temperature": [0, 1.5],
}
STRANGE: dict[str, dict[str, Any]] = {
    "chat": {
        **ANY,
        "max_tokens": [1, 40, 3000],
        "max_completion_tokens": [2, 50, 2000],
        "reasoning": [{"max_tokens": 400}, {"effort": "high"}],
        "thinking_budget": [100],
        "web_search_options": [{}, {"search_context_size": "high"}],
        "search_parameters": [{"mode": "on"}],
        "prediction": [{"type": "content", "content": "y" * 90}],
    },
    "responses": {
        **ANY,
        "max_output_tokens": [1, 40, 3000],
        "max_tokens": [9000],
        "reasoning": [{"effort": "high", "max_tokens": 9000}],
        "context_management": [[{"type": "compaction"}]],
        "tools": [[{"type": "web_search"}]],
    },
    "anthropic": {
        **ANY,
        "max_tokens": [1, 40, 3000],
        "max_tokens_to_sample": [9000],
        "thinking": [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}],
        "speed": ["fast"],
        "context_management": [{"edits": [{"type": "compact_20260112"}]}],
    },
    "gemini": {
        **ANY,
        "generationConfig": [{"maxOutputTokens": 40}, {"candidateCount": 3, "maxOutputTokens": 30}],
        "generation_config": [{"max_output_tokens": 3000}, {"thinking_config": {"thinking_budget": 700}}],
        "serviceTier": ["PRIORITY"],
        "toolConfig": [{"retrievalConfig": {"x": 1}}],
    },
}
LIMITS: dict[str, dict[str, Any]] = {
    "chat": {"max_tokens": 60},
    "responses": {"max_output_tokens": 60},
    "anthropic": {"max_tokens": 60},
    "gemini": {"generationConfig": {"maxOutputTokens": 60}},
}


@dataclass(frozen=True)
class Strange:
    """A generated request; an agent that ``leaves`` reads so many bytes of the answer and goes away."""

    path: str
    body: dict[str, Any]
    leaves: int | None


def strange_request(chance: random.Random) -> Strange:
    dialect = chance.choice(DIALECTS)
    fields = STRANGE[dialect]
    chosen = chance.sample(sorted(fields), chance.randint(0, 5))
    more = {name: chance.choice(fields[name]) for name in chosen}
    limit = LIMITS[dialect] if chance.random() < 0.95 else {}
    body = body_of(dialect, "y" * chance.choice((1, 50)), stream=chance.random() < 0.5, **{**limit, **more})
    path = PATHS[dialect]
    if dialect == "gemini" and body.pop("stream", False):
        path = path.replace("generate", "streamGenerate") + "?alt=sse"
    return Strange(path, body, chance.choice((0, 1, 300)) if chance.random() < 0.1 else None)


def send(rig: Rig, strange: Strange) -> None:
    data = json.dumps(strange.body).encode()
    head = f"POST {strange.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    with suppress(OSError, HTTPException):  # a stream that breaks off
        if strange.leaves is None:
            rig.post(strange.path, data)
            return
        with socket.create_connection(("127.0.0.1", rig.port), timeout=30) as connection:
            connection.sendall(head.encode() + data)
            if strange.leaves:
                connection.recv(strange.leaves)


def send_all(make_rig: MakeRig, count: int, cap: int) -> None:
    with lying_provider() as (url, liar):
        rig = make_rig(url=url, caps=Caps(tokens=cap), limits=Limits(affordable_seconds=0, abandoned_seconds=1))
        chance = random.Random(16)
        requests = [strange_request(chance) for _ in range(count)]
        with ThreadPoolExecutor(50) as pool:
            list(pool.map(lambda one: send(rig, one), requests))
        rig.stop()
        asked = {one["call"]: one for one in rig.of("model.request")}
        largest = max(sum(one["reserved"][f"{way}_tokens"] for way in ("input", "output")) for one in asked.values())
        assert cap - largest < rig.meter.tokens < cap + largest, "the cap is reached, and it holds"
        assert len(asked) + len(rig.of("model.refused")) >= 0.9 * count, "those that left early may not have been read"
        assert {one["code"] for one in rig.of("model.refused")} == {"budget"}
        assert {dialect for dialect, _ in liar.came} == set(DIALECTS)
        charged = [one["call"] for one in rig.of("model.usage")]
        assert len(charged) == len(set(charged)) and len(liar.came) <= len(charged) <= len(asked)
        for usage in rig.of("model.usage"):
            held = asked[usage["call"]]["reserved"]
            assert 0 < usage["input_tokens"] <= held["input_tokens"]
            assert 0 <= usage["output_tokens"] <= max(held["output_tokens"], 2000)
        for dialect, body in liar.came:
            assert {field_rules.camel_case(name) if dialect == "gemini" else name for name in body} <= PASSED[dialect]
            assert not {"max_tokens", "max_completion_tokens"} <= set(body)


PASSED = {
    "chat": field_rules.CHAT.passed,
    "responses": field_rules.RESPONSES.passed,
    "anthropic": field_rules.ANTHROPIC.passed,
    "gemini": field_rules.GEMINI.passed,
}


def test_strange_requests_to_a_lying_provider_at_the_cap(make_rig: MakeRig) -> None:
    send_all(make_rig, 1000, cap=100_000)


@pytest.mark.soak
def test_ten_thousand_strange_requests_to_a_lying_provider_at_the_cap(make_rig: MakeRig) -> None:
    send_all(make_rig, 10_000, cap=3_000_000)


MAXIMA: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    ("chat", {"max_tokens": 100, "max_completion_tokens": 2700}, {"max_completion_tokens": 100}, 100),
    ("chat", {"max_tokens": 100, "max_completion_tokens": None}, {"max_tokens": 100}, 100),
    ("chat", {"max_tokens": 100, "thinking_budget": 5000}, {"max_tokens": 100}, 5100),
    ("anthropic", {"max_tokens": 100, "thinking": {"type": "enabled", "budget_tokens": 900}}, {"max_tokens": 100}, 900),
    (
        "gemini",
        {"generationConfig": {"maxOutputTokens": 10}, "generation_config": {"max_output_tokens": 4000}},
        {"generationConfig": {"maxOutputTokens": 10}},
        10,
    ),
    (
        "gemini",
        {
            "generation_config": {
                "max_output_tokens": 70,
                "candidate_count": 2,
                "thinking_config": {"thinking_budget": 30},
            }
        },
        {"generationConfig": {"maxOutputTokens": 70, "candidateCount": 2, "thinkingConfig": {"thinking_budget": 30}}},
        200,
    ),
]


@pytest.mark.parametrize(("dialect", "more", "forwarded", "reserved"), MAXIMA)
def test_one_limit_is_forwarded_and_the_most_is_reserved(
    make_rig: MakeRig, dialect: str, more: dict[str, Any], forwarded: dict[str, Any], reserved: int
) -> None:
    rig = make_rig("  - {say: x}\n")
    assert rig.post(PATHS[dialect], body_of(dialect, **more))[0] == 200
    (request,) = rig.of("model.request")
    assert request["reserved"]["output_tokens"] == reserved
    difference = json.loads(rig.text(request["forwarded"]["difference"]))
    left = {**{name: value for name, value in more.items() if name not in difference["removed"]}, **difference["set"]}
    assert {name: left[name] for name in forwarded} == forwarded
    assert dialect != "gemini" or "generation_config" not in left
    limits = [name for name in ("max_tokens", "max_completion_tokens") if left.get(name) is not None]
    assert dialect == "gemini" or len(limits) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_cap_no_limit_is_added(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {say: x}\n")
    assert rig.post(PATHS[dialect], body_of(dialect))[0] == 200
    (request,) = rig.of("model.request")
    assert request["budget_limit"] is None
    assert not [change for change in request["changes"] if "max" in change]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_m4_a_limit_that_the_budget_needs_is_what_is_left_and_is_shown(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {say: x, limited: true}\n", caps=Caps(tokens=9000))
    assert rig.post(PATHS[dialect], body_of(dialect))[0] == 200
    (request,) = rig.of("model.request")
    assert 8000 < request["budget_limit"] < 9000
    assert request["budget_limit"] + request["reserved"]["input_tokens"] == 9000
    assert any(f"to {request['budget_limit']}, which is what the budget" in change for change in request["changes"])
    (response,) = rig.of("model.response")
    assert response["cut_by_budget"] is True


def test_m4_a_limit_of_the_agents_own_is_lowered_where_the_budget_needs_it(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n", caps=Caps(tokens=5000))
    assert rig.post(PATHS["anthropic"], body_of("anthropic", max_tokens=32_000))[0] == 200
    assert 4000 < rig.of("model.request")[0]["budget_limit"] < 5000
    assert rig.of("model.response")[0]["cut_by_budget"] is False


def test_m4_too_little_for_an_answer_is_refused(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n", caps=Caps(tokens=1150))
    assert rig.post(PATHS["chat"], body_of("chat"))[0] == 403
    assert rig.of("model.refused")[0]["code"] == "budget"


MEDIA: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
    ("chat", {"type": "file", "file": {"file_data": "QUJD", "filename": "x.pdf"}}),
    ("chat", {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
    ("responses", {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}),
    ("anthropic", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}),
    ("gemini", {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}),
]


@pytest.mark.parametrize(("dialect", "part"), MEDIA)
def test_an_image_is_reserved_by_what_it_may_cost_and_not_by_its_bytes(
    make_rig: MakeRig, dialect: str, part: dict[str, Any]
) -> None:
    rig = make_rig("  - {say: x}\n")
    body = body_of(dialect)
    (said,) = body[{"responses": "input", "gemini": "contents"}.get(dialect, "messages")]
    said["parts" if dialect == "gemini" else "content"] = [part]
    assert rig.post(PATHS[dialect], body)[0] == 200
    assert rig.of("model.request")[0]["reserved"]["input_tokens"] > 5000


def test_a_document_that_is_counted_as_more_than_its_bytes_is_charged_as_counted() -> None:
    asked = ModelRequest("m", (Message("user", "y" * 300),), media=1)
    usage, estimated = charge(Usage(90_000, 5), HELD, asked, 390, Message("assistant", "z"), came_bytes=9, whole=True)
    assert (usage.input_tokens, estimated) == (90_000, False)


ASKED = ModelRequest("m", (Message("user", "y" * 300),))
HELD = Reservation("m", 500, 1000, total_of(()))


@pytest.mark.parametrize(
    ("said", "whole", "found"),
    [
        (Usage(100, 50), True, (100, 50, False)),
        (None, True, (130, 20, True)),
        (None, False, (130, 1000, True)),
        (Usage(100, 50), False, (100, 1000, True)),
        (Usage(0, 50), True, (130, 50, True)),
        (Usage(100, 0), True, (100, 20, True)),
        (Usage(501, 50), True, (500, 50, True)),
        (Usage(100, 1001), True, (100, 1000, True)),
    ],
)
def test_m2_what_cannot_be_true_is_replaced_by_an_estimate(
    said: Usage | None, whole: bool, found: tuple[int, int, bool]
) -> None:
    usage, estimated = charge(said, HELD, ASKED, 390, Message("assistant", "z" * 60), came_bytes=200, whole=whole)
    assert (usage.input_tokens, usage.output_tokens, estimated) == found


@given(
    st.one_of(st.none(), st.builds(Usage, st.integers(0, 2**40), st.integers(0, 2**40))),
    st.integers(0, 5000),
    st.integers(0, 9000),
    st.booleans(),
)
def test_m2_a_charge_lies_between_what_was_seen_and_what_was_set_aside(
    said: Usage | None, seen: int, came: int, whole: bool
) -> None:
    came = max(came, seen)
    message = Message("assistant", "z" * seen)
    usage, estimated = charge(said, HELD, ASKED, 390, message, came_bytes=came, whole=whole)
    assert usage.output_tokens * MOST_BYTES_PER_TOKEN >= seen
    assert usage.output_tokens <= max(HELD.output_tokens, came)
    assert 0 < usage.input_tokens <= HELD.input_tokens
    assert whole or usage.output_tokens >= HELD.output_tokens
    assert estimated == (usage != said)
