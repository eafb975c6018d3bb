"""What requests are held to: tools of the provider, state at the provider, content elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.execute.gateway.dialects.dialect_routes import DIALECTS as TABLE
from proctor.execute.gateway.dialects.dialect_routes import route
from proctor.execute.gateway.dialects.interface import Refused, Rules
from tests.execute.gateway.conftest import PATHS, MakeRig, body_of

OWN: dict[str, list[dict[str, Any]]] = {
    "chat": [{"type": "function", "function": {"name": "read"}}, {"type": "custom", "custom": {"name": "patch"}}],
    "responses": [
        {"type": "function", "name": "read"},
        {"type": "custom", "name": "apply_patch"},
        {"type": "local_shell"},
        {"type": "shell", "environment": {"type": "local"}},
    ],
    "anthropic": [
        {"name": "read", "input_schema": {}},
        {"type": "custom", "name": "x", "input_schema": {}},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "edit"},
    ],
    "gemini": [{"functionDeclarations": [{"name": "read"}]}],
}
LEAVING: dict[str, list[dict[str, Any]]] = {
    "chat": [{"type": "web_search"}, {"type": "openrouter:web_search"}, {}],
    "responses": [
        {"type": "web_search"},
        {"type": "web_search_preview"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "file_search"},
        {"type": "image_generation"},
        {"type": "mcp", "server_url": "https://x.example"},
        {"type": "shell", "environment": {"type": "container_auto"}},
    ],
    "anthropic": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "something_new_20270101", "name": "new"},
    ],
    "gemini": [
        {"googleSearch": {}},
        {"google_search": {}},
        {"codeExecution": {}},
        {"urlContext": {}},
        {"googleMaps": {}},
    ],
}
CASES = [(dialect, tool) for dialect, tools in LEAVING.items() for tool in tools]


def prepare(dialect: str, body: dict[str, Any], policy: str = "strip") -> list[str]:
    found = route("POST", PATHS[dialect])
    assert found is not None
    return TABLE[dialect].prepare(body, found, Rules(provider_tools=policy))


@pytest.mark.parametrize(("dialect", "tool"), CASES, ids=[f"{one}-{json.dumps(tool)[:40]}" for one, tool in CASES])
def test_tools_of_the_provider(dialect: str, tool: dict[str, Any]) -> None:
    both = [*OWN[dialect], tool]
    stripped = body_of(dialect, tools=list(both))
    assert any(change.startswith("stripped the tool") for change in prepare(dialect, stripped))
    assert stripped["tools"] == OWN[dialect]
    with pytest.raises(Refused, match="leave the sandbox") as refused:
        prepare(dialect, body_of(dialect, tools=list(both)), "refuse")
    assert refused.value.code == "provider-tool"
    allowed = body_of(dialect, tools=list(both))
    prepare(dialect, allowed, "allow")
    assert allowed["tools"] == both


@pytest.mark.parametrize(("dialect", "tool"), CASES, ids=[f"{one}-{json.dumps(tool)[:40]}" for one, tool in CASES])
def test_a_single_tool_that_is_not_in_a_list_is_one_of_the_provider_all_the_same(
    dialect: str, tool: dict[str, Any]
) -> None:
    stripped = body_of(dialect, tools=tool)
    assert any(change.startswith("stripped the tool") for change in prepare(dialect, stripped))
    assert "tools" not in stripped
    with pytest.raises(Refused, match="leave the sandbox"):
        prepare(dialect, body_of(dialect, tools=tool), "refuse")


def test_an_object_of_tools_is_read_and_forwarded_as_it_is() -> None:
    """goose sends its tools to Gemini in this form."""
    found = route("POST", PATHS["gemini"])
    assert found is not None
    body = body_of("gemini", tools={"functionDeclarations": [{"name": "shell", "parameters": {"type": "object"}}]})
    before = json.loads(json.dumps(body["tools"]))
    assert prepare("gemini", body, "refuse") == []
    assert body["tools"] == before
    assert [tool.name for tool in TABLE["gemini"].asked(body, found).tools] == ["shell"]


@pytest.mark.parametrize("dialect", TABLE)
def test_a_request_whose_only_tools_are_stripped_has_none(dialect: str) -> None:
    body = body_of(dialect, tools=[LEAVING[dialect][0]], tool_choice={"type": "web_search"})
    prepare(dialect, body)
    assert "tools" not in body
    assert "tool_choice" not in body


STATE: list[tuple[str, dict[str, Any]]] = [
    ("responses", {"previous_response_id": "resp_1"}),
    ("responses", {"store": True}),
    ("responses", {"conversation": "conv_1"}),
    ("responses", {"background": True}),
    ("responses", {"prompt": {"id": "pmpt_1"}}),
    ("responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]}),
    ("chat", {"store": True}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]}]}),
    ("anthropic", {"container": "container_1"}),
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "document", "source": {"file_id": "f"}}]}]}),
    ("gemini", {"cachedContent": "cachedContents/1"}),
    ("gemini", {"contents": [{"parts": [{"fileData": {"fileUri": "https://x.example/files/1"}}]}]}),
]


@pytest.mark.parametrize(("dialect", "more"), STATE, ids=[f"{one}-{json.dumps(more)[:50]}" for one, more in STATE])
def test_state_at_the_provider_is_refused(dialect: str, more: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        prepare(dialect, {**body_of(dialect), **more}, "allow")
    assert refused.value.code == "server-state"


REMOTE: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]}),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x"}]}]}),
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "image", "source": {"url": "https://x"}}]}]}),
]


@pytest.mark.parametrize(("dialect", "more"), REMOTE, ids=[one for one, _ in REMOTE])
def test_content_elsewhere_is_refused(dialect: str, more: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        prepare(dialect, {**body_of(dialect), **more})
    assert refused.value.code == "remote-content"
    inside = json.loads(json.dumps(more).replace("https://x", "data:image/png;base64,AA").replace("http://x", "data:,"))
    prepare(dialect, {**body_of(dialect), **inside})


def test_addresses_in_the_words_of_models_are_only_words() -> None:
    call = {"type": "tool_use", "id": "t", "name": "fetch", "input": {"url": "https://x.example", "file_id": "7"}}
    prepare("anthropic", body_of("anthropic", messages=[{"role": "assistant", "content": [call]}]))
    part = {"functionCall": {"name": "fetch", "args": {"url": "https://x.example"}}}
    prepare("gemini", {"contents": [{"role": "model", "parts": [part]}]})


@pytest.mark.parametrize("model", ["gpt-4o-search-preview", "o4-deep-research", "x/y:online"])
def test_models_that_search_by_themselves_are_refused(model: str) -> None:
    with pytest.raises(Refused, match="searches"):
        prepare("chat", {**body_of("chat"), "model": model})


def test_switches_for_searching_are_stripped() -> None:
    body = body_of("chat", web_search_options={"a": 1}, plugins=[{"id": "web"}])
    assert prepare("chat", body)[:2] == ["stripped web_search_options", "stripped plugins"]
    body = body_of("anthropic", mcp_servers=[{"url": "https://x"}])
    assert "stripped mcp_servers" in prepare("anthropic", body)


def test_refusals_are_on_record_with_the_request(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n")
    body = body_of("responses", previous_response_id="resp_1")
    status, data = rig.post(PATHS["responses"], body)
    assert status == 400
    assert "whole conversation" in json.loads(data)["error"]["message"]
    (refused,) = rig.of("model.refused")
    assert refused["code"] == "server-state"
    assert json.loads(rig.text(refused["original"])) == body
    assert rig.of("model.request") == []


def test_headers_and_parameters_pass_only_when_they_mean_something(make_rig: MakeRig) -> None:
    from proctor.execute.gateway.forwarded_request import prepare as forward
    from proctor.execute.gateway.gateway_settings import Settings

    found = route("POST", PATHS["anthropic"])
    assert found is not None
    sent = {"anthropic-beta": "web-fetch-2025-09-10,prompt-tools-1,mcp-client-2025", "cookie": "a=b", "x-api-key": "k"}
    prepared = forward(found, json.dumps(body_of("anthropic")).encode(), sent, "beta=true&key=secret", Settings())
    assert prepared.forward.headers == {"anthropic-beta": "prompt-tools-1"}
    assert prepared.forward.query == "beta=true"


@pytest.mark.parametrize("dialect", TABLE)
def test_preparing_changes_nothing_inside_of_the_original(dialect: str) -> None:
    more: dict[str, Any] = {"tools": [*OWN[dialect], LEAVING[dialect][0]], "stream": True, "stream_options": {"a": 1}}
    original = body_of(dialect, generationConfig={"topK": 1}, **more)
    before = json.dumps(original)
    prepare(dialect, dict(original))
    assert json.dumps(original) == before
