"""The official packages of the providers work through the gateway: streaming, tools, errors, cancellation."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest

from proctor.execute.gateway.gateway_settings import Limits
from tests.execute.gateway.conftest import MakeRig, Rig

with warnings.catch_warnings():
    # Its source has escapes that a newer Python warns about when it compiles them.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors, types

TURNS = """
  - {when: {last: overloaded}, error: {status: 429, message: slow down, retry_after: 0}}
  - {when: {last: broken}, error: {status: 500, message: it broke}}
  - {when: {last: nonsense}, error: {status: 400, message: no sense in it}}
  - {when: {last: slowly}, say: 'One word after the other, and there are many of them, so that it takes its time.',
     pause_seconds: 0.3}
  - {say: 'I will look.', call: {tool: read, arguments: {path: a.py}}}
  - {say: 'It says one.'}
"""
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
FAKE = "not-a-key"


@contextmanager
def openai_client(rig: Rig) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{rig.url}/v1", api_key=FAKE, max_retries=0) as client:
        yield client


@contextmanager
def anthropic_client(rig: Rig) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=rig.url, api_key=FAKE, max_retries=0) as client:
        yield client


@contextmanager
def gemini_client(rig: Rig) -> Iterator[genai.Client]:
    client = genai.Client(api_key=FAKE, http_options=types.HttpOptions(base_url=rig.url))
    try:
        yield client
    finally:
        client.close()


def check_tools(rig: Rig) -> None:
    """One call of one tool, its result, and each message once."""
    (called,) = rig.of("tool.call")
    assert (called["name"], json.loads(rig.text(called["arguments"]))) == ("read", {"path": "a.py"})
    (result,) = rig.of("tool.result")
    assert (result["name"], rig.text(result["content"])) == ("read", "x = 1")
    assert result["id"] == called["id"]
    assert [message["role"] for message in rig.of("model.message")] == ["user", "assistant", "tool", "assistant"]
    assert [message["index"] for message in rig.of("model.message")] == [0, 1, 2, 3]
    assert all(usage["estimated"] is False for usage in rig.of("model.usage"))
    assert len(rig.of("model.usage")) == 2
    assert rig.of("model.error") == []


@pytest.mark.parametrize("streamed", [False, True])
def test_openai_chat_with_tools(make_rig: MakeRig, streamed: bool) -> None:
    rig = make_rig(TURNS)
    tools: Any = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
    messages: Any = [{"role": "user", "content": "what is x?"}]
    with openai_client(rig) as client:
        if streamed:
            with client.chat.completions.stream(model="m", messages=messages, tools=tools) as stream:
                for _ in stream:
                    pass
                said: Any = stream.get_final_completion().choices[0].message
        else:
            said = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
        assert said.content == "I will look."
        assert said.tool_calls is not None
        (call,) = said.tool_calls
        messages.append(said.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "x = 1"})
        final = client.chat.completions.create(model="m", messages=messages, tools=tools)
    assert final.choices[0].message.content == "It says one."
    check_tools(rig)


@pytest.mark.parametrize("streamed", [False, True])
def test_openai_responses_with_tools(make_rig: MakeRig, streamed: bool) -> None:
    rig = make_rig(TURNS)
    tools: Any = [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]
    given: Any = [{"role": "user", "content": "what is x?"}]
    with openai_client(rig) as client:
        if streamed:
            with client.responses.stream(model="m", input=given, tools=tools) as stream:
                kinds = [event.type for event in stream]
                response: Any = stream.get_final_response()
            assert "response.output_text.delta" in kinds
        else:
            response = client.responses.create(model="m", input=given, tools=tools)
        assert response.output_text == "I will look."
        given += [item.model_dump(exclude_none=True) for item in response.output]
        call = response.output[-1]
        given.append({"type": "function_call_output", "call_id": call.call_id, "output": "x = 1"})
        final = client.responses.create(model="m", input=given, tools=tools)
    assert final.output_text == "It says one."
    check_tools(rig)
    assert "set store to false" in rig.of("model.request")[0]["changes"]


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_messages_with_tools(make_rig: MakeRig, streamed: bool) -> None:
    rig = make_rig(TURNS)
    tools: Any = [{"name": "read", "input_schema": SCHEMA}]
    messages: Any = [{"role": "user", "content": "what is x?"}]
    with anthropic_client(rig) as client:
        if streamed:
            with client.messages.stream(model="m", max_tokens=100, messages=messages, tools=tools) as stream:
                assert "".join(stream.text_stream) == "I will look."
                said: Any = stream.get_final_message()
        else:
            said = client.messages.create(model="m", max_tokens=100, messages=messages, tools=tools)
        call = said.content[-1]
        assert (call.type, call.input) == ("tool_use", {"path": "a.py"})
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in said.content]}
        )
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "x = 1"}
        messages.append({"role": "user", "content": [result]})
        final: Any = client.messages.create(model="m", max_tokens=100, messages=messages, tools=tools)
        assert client.messages.count_tokens(model="m", messages=messages).input_tokens > 0
    assert final.content[0].text == "It says one."
    check_tools(rig)
    assert [request["kind"] for request in rig.of("model.request")] == ["generate", "generate", "count"]


@pytest.mark.parametrize("streamed", [False, True])
def test_gemini_with_tools(make_rig: MakeRig, streamed: bool) -> None:
    rig = make_rig(TURNS)
    declared = types.FunctionDeclaration(name="read", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    contents: Any = [types.Content(role="user", parts=[types.Part(text="what is x?")])]
    with gemini_client(rig) as client:
        if streamed:
            chunks = list(client.models.generate_content_stream(model="m", contents=contents, config=config))
            parts: Any = [part for chunk in chunks for part in chunk.candidates[0].content.parts]  # type: ignore[index,union-attr]
        else:
            answer: Any = client.models.generate_content(model="m", contents=contents, config=config)
            parts = answer.candidates[0].content.parts
        assert "".join(part.text or "" for part in parts) == "I will look."
        assert parts[-1].function_call.args == {"path": "a.py"}
        contents.append(types.Content(role="model", parts=parts))
        result = types.Part.from_function_response(name="read", response={"output": "x = 1"})
        contents.append(types.Content(role="user", parts=[result]))
        final = client.models.generate_content(model="m", contents=contents, config=config)
    assert final.text == "It says one."
    check_tools(rig)


ERRORS: list[tuple[str, str, Any, Any]] = [
    ("overloaded", "rate-limit", openai.RateLimitError, anthropic.RateLimitError),
    ("broken", "upstream", openai.InternalServerError, anthropic.InternalServerError),
    ("nonsense", "rejected", openai.BadRequestError, anthropic.BadRequestError),
]


@pytest.mark.parametrize(("words", "kind", "theirs", "others"), ERRORS, ids=[row[0] for row in ERRORS])
def test_errors_are_told_apart(make_rig: MakeRig, words: str, kind: str, theirs: Any, others: Any) -> None:
    rig = make_rig(TURNS)
    messages: Any = [{"role": "user", "content": words}]
    with openai_client(rig) as client, pytest.raises(theirs):
        client.chat.completions.create(model="m", messages=messages)
    with openai_client(rig) as client, pytest.raises(theirs):
        client.responses.create(model="m", input=words)
    with anthropic_client(rig) as other, pytest.raises(others):
        other.messages.create(model="m", max_tokens=10, messages=messages)
    with gemini_client(rig) as third, pytest.raises(errors.APIError):
        third.models.generate_content(model="m", contents=words)
    assert {error["class"] for error in rig.of("model.error")} == {kind}
    assert {error["infrastructure"] for error in rig.of("model.error")} == {True}, "nothing was ever answered"
    assert rig.of("model.usage") == []
    assert rig.meter.amount == 0
    assert rig.stop().outage_class == kind


def test_a_retry_names_the_call_that_it_repeats(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS)
    with (
        openai.OpenAI(base_url=f"{rig.url}/v1", api_key=FAKE, max_retries=2) as client,
        pytest.raises(openai.RateLimitError),
    ):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "overloaded"}])
    assert [request["retry_of"] for request in rig.of("model.request")] == [None, 1, 2]
    assert [message["role"] for message in rig.of("model.message")] == ["user"]


@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
@pytest.mark.parametrize("seconds", [0.0, 30.0], ids=["cut off", "read on"])
def test_a_client_that_goes_away_pays_for_its_call(make_rig: MakeRig, dialect: str, seconds: float) -> None:
    rig = make_rig(TURNS, limits=Limits(abandoned_seconds=seconds))
    messages: Any = [{"role": "user", "content": "slowly"}]
    if dialect == "chat":
        with openai_client(rig) as client:
            stream: Any = client.chat.completions.create(model="m", messages=messages, stream=True)
            next(iter(stream))
            stream.close()
    else:
        with anthropic_client(rig) as other:
            stream = other.messages.create(model="m", max_tokens=10, messages=messages, stream=True)
            next(iter(stream))
            stream.close()
    (error,) = rig.wait("model.error")
    assert (error["class"], error["infrastructure"]) == ("client-abort", False)
    (usage,) = rig.of("model.usage")
    assert usage["estimated"] is (not seconds)
    assert usage["input_tokens"] > 0
    if not seconds:
        assert usage["output_tokens"] == rig.of("model.request")[0]["reserved"]["output_tokens"]
    assert rig.of("model.response")[0]["whole"] is bool(seconds)


def test_a_refused_call_has_the_shape_that_clients_expect(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS, amount="0")
    with openai_client(rig) as client, pytest.raises(openai.PermissionDeniedError, match="budget"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    with anthropic_client(rig) as other, pytest.raises(anthropic.PermissionDeniedError, match="budget"):
        other.messages.create(model="m", max_tokens=10, messages=[{"role": "user", "content": "x"}])
    with gemini_client(rig) as third, pytest.raises(errors.ClientError, match="budget"):
        third.models.generate_content(model="m", contents="x")
    assert [refused["code"] for refused in rig.of("model.refused")] == ["budget"] * 3
    assert rig.of("model.request") == []
