"""Every dialect through a real gateway to a real server: what the agent gets, and what is on record."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from proctor.execute.gateway.forwarded_request import rebuilt
from tests.execute.gateway.conftest import DIALECTS, KEY, PATHS, MakeRig, body_of

SAY = "  - {say: 'Hello there, this is an answer of some length.'}\n"


def streaming(dialect: str) -> tuple[str, dict[str, Any]]:
    """The path and the body of a streamed request."""
    if dialect == "gemini":
        return "/v1beta/models/m:streamGenerateContent?alt=sse", body_of(dialect)
    return PATHS[dialect], body_of(dialect, stream=True)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_passes_and_is_on_record(make_rig: MakeRig, dialect: str, streamed: bool) -> None:
    rig = make_rig(SAY)
    path, body = streaming(dialect) if streamed else (PATHS[dialect], body_of(dialect))
    status, data = rig.post(path, body)
    assert status == 200
    assert "Hello" in data.decode()
    (response,) = rig.of("model.response")
    assert response["whole"] is True
    assert response["first_byte_seconds"] is not None
    messages = rig.of("model.message")
    assert [(message["role"], rig.text(message["content"])) for message in messages] == [
        ("user", "hello"),
        ("assistant", "Hello there, this is an answer of some length."),
    ]
    assert [message["index"] for message in messages] == [0, 1]
    (usage,) = rig.of("model.usage")
    assert usage["estimated"] is False
    assert usage["output_tokens"] == 12
    assert rig.meter.tokens == usage["input_tokens"] + usage["output_tokens"]
    assert rig.stop().errors == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_original_and_the_forwarded_request_are_on_record(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig(SAY, output_tokens=77)
    sent = json.dumps(body_of(dialect)).encode()
    rig.post(PATHS[dialect], sent)
    (request,) = rig.of("model.request")
    original = rig.text(request["original"]).encode()
    assert original == sent
    forwarded = rebuilt(original, rig.text(request["forwarded"]["difference"]))
    assert hashlib.sha256(forwarded).hexdigest() == request["forwarded"]["sha256"]
    assert b"77" in forwarded
    assert request["reserved"]["output_tokens"] == 77


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_key_is_only_outside(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig(SAY)
    status, data = rig.post(PATHS[dialect], body_of(dialect), {"Authorization": "Bearer mine", "x-api-key": "mine"})
    assert status == 200
    rig.stop()
    everything = rig.path.read_bytes() + b"".join(rig.blobs.values()) + data
    assert KEY.encode() not in everything
    assert b"mine" not in everything


def test_an_error_that_names_the_key_is_cleaned(make_rig: MakeRig) -> None:
    rig = make_rig("  - {error: {status: 401, message: 'the key " + KEY + " is wrong'}}\n", cassette="record")
    status, data = rig.post(PATHS["chat"], body_of("chat"))
    assert status == 401
    assert b"the key [key] is wrong" in data
    summary = rig.stop()
    assert summary.cassette is not None
    assert KEY.encode() not in rig.path.read_bytes() + summary.cassette + data + repr(summary).encode()
    (error,) = rig.of("model.error")
    assert error["class"] == "credentials"
    assert error["infrastructure"] is True


def test_usage_that_was_not_asked_for_is_not_shown(make_rig: MakeRig) -> None:
    rig = make_rig(SAY)
    _, hidden = rig.post(PATHS["chat"], body_of("chat", stream=True))
    assert b"prompt_tokens" not in hidden
    _, shown = rig.post(PATHS["chat"], body_of("chat", "again", stream=True, stream_options={"include_usage": True}))
    assert b"prompt_tokens" in shown
    assert len(rig.of("model.usage")) == 2


def test_unknown_paths_are_refused_and_recorded(make_rig: MakeRig) -> None:
    rig = make_rig(SAY)
    for path in ("/v1/embeddings", "/v1/assistants", "/v1/responses/resp_1/cancel", "/v1beta/cachedContents", "/"):
        status, data = rig.post(path, {"model": "m"})
        assert status == 404
        assert "error" in json.loads(data)
    assert [one["code"] for one in rig.of("model.refused")] == ["unknown-path"] * 5
    assert rig.of("model.request") == []


def test_models_are_listed_without_a_call(make_rig: MakeRig) -> None:
    import urllib.request

    rig = make_rig(SAY, models={"fast": "m-1", "slow": "m-2"})
    with urllib.request.urlopen(rig.url + "/v1/models", timeout=10) as answer:
        assert [one["id"] for one in json.load(answer)["data"]] == ["fast", "slow"]
    with urllib.request.urlopen(rig.url + "/v1beta/models", timeout=10) as answer:
        assert [one["name"] for one in json.load(answer)["models"]] == ["models/fast", "models/slow"]
    assert rig.events == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_models_are_mapped_and_others_refused(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig(SAY, models={"m": "real-name"})
    assert rig.post(PATHS[dialect], body_of(dialect))[0] == 200
    assert rig.of("model.request")[0]["model"] == "real-name"
    assert rig.of("model.usage")[0]["model"] == "real-name"
    other = {**body_of(dialect), "model": "other"} if dialect != "gemini" else body_of(dialect)
    status, data = rig.post(PATHS[dialect].replace("/m:", "/other:"), other)
    assert status == 404
    assert b"is not offered here" in data
