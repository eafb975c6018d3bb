"""M3: only fields that a dialect lists reach a provider, and the model that answers is recorded."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.dialects.dialect_routes import DIALECTS as TABLE
from proctor.execute.gateway.dialects.dialect_routes import route
from proctor.execute.gateway.dialects.field_rules import ANTHROPIC, CHAT, GEMINI, GEMINI_CONFIG, RESPONSES, camel_case
from proctor.execute.gateway.dialects.interface import Refused, Rules
from proctor.execute.gateway.forwarded_request import prepare, rebuilt
from proctor.execute.gateway.gateway_settings import Settings
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, body_of

TOOLS = [
    ("chat", "web_search_options", {}),
    ("chat", "search_parameters", {"mode": "auto"}),
    ("chat", "enable_search", True),
    ("chat", "plugins", [{"id": "web"}]),
    ("anthropic", "mcp_servers", [{"url": "https://x.example"}]),
]
ROUTING = [
    ("chat", {"models": ["a", "b"]}),
    ("chat", {"route": "fallback"}),
    ("chat", {"provider": {"order": ["x"]}}),
    ("responses", {"models": ["a"]}),
    ("gemini", {"generationConfig": {"routingConfig": {"autoMode": {}}}}),
    ("gemini", {"generation_config": {"model_selection_config": {"x": 1}}}),
]
UNKNOWN = [
    ("chat", "best_of"),
    ("chat", "min_tokens"),
    ("chat", "service_tier"),
    ("responses", "service_tier"),
    ("responses", "context_management"),
    ("anthropic", "speed"),
    ("gemini", "serviceTier"),
    *((dialect, "something_new") for dialect in DIALECTS),
]


WORDS = sorted(
    {
        *("tools", "type", "url", "name", "spare", "metadata", "best_of", "service_tier", "source", "effort", "store"),
        *(one for fields in (CHAT, RESPONSES, ANTHROPIC, GEMINI, GEMINI_CONFIG) for one in fields.parts),
        *("thinking_config", "tool_config", "generationConfig", "budget_tokens", "max_tokens", "n", "plugins"),
    }
)
POLICIES = ("strip", "refuse", "pass")


def prepared(dialect: str, more: dict[str, Any], **rules: Any) -> tuple[dict[str, Any], list[str]]:
    found = route("POST", PATHS[dialect])
    assert found is not None
    body = body_of(dialect, **more)
    return body, TABLE[dialect].prepare(body, found, Rules(**rules))


@pytest.mark.parametrize(("dialect", "name"), UNKNOWN)
def test_a_field_that_is_not_known_goes_by_the_policy(dialect: str, name: str) -> None:
    body, changes = prepared(dialect, {name: {"x": 1}})
    assert name not in body and f"stripped {name}" in changes
    with pytest.raises(Refused, match=name) as refused:
        prepared(dialect, {name: {"x": 1}}, unknown_fields="refuse")
    assert refused.value.code == "unknown-field"
    body, changes = prepared(dialect, {name: {"x": 1}}, unknown_fields="pass")
    assert body[name] == {"x": 1} and f"passed {name}" in changes


@pytest.mark.parametrize(("dialect", "name", "value"), TOOLS)
def test_a_field_that_starts_a_tool_of_the_provider_goes_by_its_policy(dialect: str, name: str, value: Any) -> None:
    body, changes = prepared(dialect, {name: value}, unknown_fields="pass")
    assert name not in body and f"stripped {name}" in changes
    with pytest.raises(Refused) as refused:
        prepared(dialect, {name: value}, provider_tools="refuse")
    assert refused.value.code == "provider-tool"
    assert prepared(dialect, {name: value}, provider_tools="allow")[0][name] == value


@pytest.mark.parametrize(("dialect", "more"), ROUTING)
def test_routing_is_refused(dialect: str, more: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        prepared(dialect, more, unknown_fields="pass", provider_tools="allow")
    assert refused.value.code == "routing"


@pytest.mark.parametrize("value", [None, False, "", []])
def test_a_field_that_is_switched_off_is_left_out(value: Any) -> None:
    more = {"models": value, "previous_response_id": value, "web_search_options": value}
    body, _ = prepared("chat", more, unknown_fields="refuse", provider_tools="refuse")
    assert not set(more) & set(body)


@given(st.sampled_from(DIALECTS), st.dictionaries(st.text(max_size=30), st.integers(), max_size=40))
def test_no_other_field_is_left_in_any_request(dialect: str, more: dict[str, Any]) -> None:
    given_ = {name: value for name, value in more.items() if name not in body_of(dialect)}
    try:
        body, changes = prepared(dialect, given_)
    except Refused:
        return
    assert all(name in body for name in body_of(dialect))
    listed = {name for name in body if name not in body_of(dialect)} - {"store", "generationConfig"}
    assert not [name for name in listed if len(name) > 30 or "\x00" in name]
    assert len(changes) <= 25


NESTED = [
    ("chat", "reasoning", "max_price"),
    ("chat", "stream_options", "webhook"),
    ("chat", "response_format", "search"),
    ("responses", "reasoning", "tools"),
    ("responses", "stream_options", "route"),
    ("anthropic", "output_config", "speed"),
    ("anthropic", "metadata", "account"),
    ("gemini", "toolConfig", "retrievalConfig"),
]


@pytest.mark.parametrize(("dialect", "name", "part"), NESTED)
def test_a_part_that_is_not_known_goes_by_the_policy(dialect: str, name: str, part: str) -> None:
    body, changes = prepared(dialect, {name: {part: {"x": 1}}})
    assert body[name] == {} and f"stripped {name}.{part}" in changes
    with pytest.raises(Refused, match=part) as refused:
        prepared(dialect, {name: {part: {"x": 1}}}, unknown_fields="refuse")
    assert refused.value.code == "unknown-field"
    body, changes = prepared(dialect, {name: {part: {"x": 1}}}, unknown_fields="pass")
    assert body[name] == {part: {"x": 1}} and f"passed {name}.{part}" in changes


def test_parts_of_thinking_in_gemini_are_known_in_both_spellings() -> None:
    config = {"thinking_config": {"thinking_budget": 5, "spare": 1}, "temperature": 1}
    body, changes = prepared("gemini", {"generation_config": config})
    assert body["generationConfig"] == {"thinkingConfig": {"thinking_budget": 5}, "temperature": 1}
    assert "stripped thinkingConfig.spare" in changes


@pytest.mark.parametrize("name", ["generationConfig", "generation_config"])
def test_a_configuration_of_unknown_fields_alone_is_stripped(name: str) -> None:
    body, changes = prepared("gemini", {name: {"responseModalities": ["IMAGE"]}})
    assert body.get(name, {}) == {} and "stripped responseModalities" in changes


@pytest.mark.parametrize("name", ["generation_Config", "tools_", "tools__", "system_Instruction"])
def test_a_name_in_neither_spelling_is_not_known(name: str) -> None:
    body, changes = prepared("gemini", {name: {"x": 1}})
    assert name not in body and f"stripped {name}" in changes


def test_edits_of_a_context_that_are_billed_apart_are_not_known() -> None:
    clear, compact = {"type": "clear_tool_uses_20250919"}, {"type": "compact_20260112"}
    more = {"context_management": {"edits": [clear, compact]}}
    body, changes = prepared("anthropic", more)
    assert body["context_management"] == {"edits": [clear]} and "stripped edits of context_management" in changes
    with pytest.raises(Refused, match="edits"):
        prepared("anthropic", more, unknown_fields="refuse")
    body, changes = prepared("anthropic", more, unknown_fields="pass")
    assert body["context_management"] == more["context_management"] and "passed edits of context_management" in changes
    assert not prepared("anthropic", {"context_management": {"edits": [clear]}}, unknown_fields="refuse")[1]


REMOTE = [
    ("chat", {"messages": [{"role": "user", "content": [{"type": "document_url", "document_url": "https://x"}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://x"}}]}]}),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://x"}]}]}),
    ("anthropic", {"system": [{"type": "document", "source": {"type": "url", "url": "https://x"}}]}),
    (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "ftp://x"}}]}]},
    ),
    ("gemini", {"systemInstruction": {"parts": [{"fileData": {"fileUri": "gs://x"}}]}}),
    ("gemini", {"contents": [{"parts": [{"file_data": {"file_uri": "https://x"}}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "image", "image": "https://x"}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "video", "video": ["data:a", "file://x"]}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": ["https://x"]}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "images", "image_urls": ["https://x"]}]}]}),
    ("chat", {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}),
    ("responses", {"input": [{"type": None, "id": "msg_1"}]}),
    ("responses", {"input": [{"type": "image_generation_call", "id": "ig_1", "status": "completed"}]}),
]


NOT_REMOTE = [
    ("chat", {"messages": [{"role": "user", "content": "https://x"}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "image", "image": "data:image/png;base64,QUJD"}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "QUJD"}}]}]}),
    ("responses", {"input": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []}]}),
    (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "search_result", "source": "https://x", "content": []}]}]},
    ),
]


@pytest.mark.parametrize(("dialect", "more"), NOT_REMOTE)
def test_what_only_looks_like_an_address_is_forwarded(dialect: str, more: dict[str, Any]) -> None:
    body, changes = prepared(dialect, more)
    assert {name: body[name] for name in more} == more
    assert not [one for one in changes if "store" not in one]


@pytest.mark.parametrize(("dialect", "more"), REMOTE)
def test_what_a_provider_would_fetch_is_refused(dialect: str, more: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        prepared(dialect, more, unknown_fields="pass")
    assert refused.value.code in ("remote-content", "server-state")


SERVER_TOOLS = [
    ("chat", {"type": "web_search"}),
    ("responses", {"type": "mcp", "server_url": "https://x"}),
    ("responses", {"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]}),
    ("responses", {"type": "shell", "environment": {"type": "container_auto"}}),
    ("responses", {"type": "tool_search"}),
    ("anthropic", {"type": "web_search_20250305", "name": "web_search"}),
    ("anthropic", {"type": "code_execution_20250825", "name": "code_execution"}),
    ("anthropic", {"type": "mcp_toolset", "mcp_server_name": "x"}),
    ("gemini", {"googleSearch": {}}),
    ("gemini", {"functionDeclarations": [], "urlContext": {}}),
]


@pytest.mark.parametrize(("dialect", "tool"), SERVER_TOOLS)
def test_tools_of_the_provider_are_stripped_and_recorded(dialect: str, tool: dict[str, Any]) -> None:
    body, changes = prepared(dialect, {"tools": [tool]})
    assert "tools" not in body and any(change.startswith("stripped the tool") for change in changes)
    with pytest.raises(Refused):
        prepared(dialect, {"tools": [tool]}, provider_tools="refuse")


def test_a_search_for_tools_that_the_agent_makes_itself_is_its_own() -> None:
    tool = {"type": "tool_search", "execution": "client", "parameters": {}}
    assert prepared("responses", {"tools": [tool]})[0]["tools"] == [tool]


@pytest.mark.parametrize("more", [{"n": 3}, {"n": 2, "best_of": 3}, {"best_of": 3}])
def test_every_answer_that_is_generated_is_reserved(make_rig: MakeRig, more: dict[str, Any]) -> None:
    rig = make_rig("  - {say: x}\n", unknown_fields="pass")
    assert rig.post(PATHS["chat"], body_of("chat", max_tokens=100, **more))[0] == 200
    assert rig.of("model.request")[0]["reserved"]["output_tokens"] == 300


def test_functions_of_earlier_versions_are_tools() -> None:
    found = route("POST", PATHS["chat"])
    assert found is not None
    functions = [{"name": "run", "parameters": {"type": "object"}}]
    (tool,) = TABLE["chat"].asked(body_of("chat", functions=functions), found).tools
    assert (tool.name, tool.parameters) == ("run", {"type": "object"})


@pytest.mark.parametrize(
    ("more", "tokens"),
    [
        ({"reasoning": {"max_tokens": 9000}}, 9000),
        ({"thinking": {"type": "enabled", "budget_tokens": 7000}, "thinking_budget": 100}, 7000),
        ({"prediction": {"type": "content", "content": "x" * 500}}, 500),
    ],
)
def test_what_is_billed_beside_the_answer_is_reserved(more: dict[str, Any], tokens: int) -> None:
    found = route("POST", PATHS["chat"])
    assert found is not None
    assert TABLE["chat"].asked(body_of("chat", **more), found).more_output == tokens


ODD_VALUES: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"reasoning": {"max_tokens": 1e5}}),
    ("chat", {"thinking_budget": "100000"}),
    ("chat", {"thinking": {"type": "enabled", "budget_tokens": [9000]}}),
    ("anthropic", {"max_tokens": 100, "thinking": {"type": "enabled", "budget_tokens": 50_000.0}}),
    ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": "9000"}}}),
    *((dialect, {"stream": 1}) for dialect in ("chat", "responses", "anthropic")),
    *((dialect, {"stream": "true"}) for dialect in ("chat", "responses", "anthropic")),
]


@pytest.mark.parametrize(("dialect", "more"), ODD_VALUES)
def test_what_a_provider_may_read_as_a_number_or_a_switch_is_refused(dialect: str, more: dict[str, Any]) -> None:
    found = route("POST", PATHS[dialect])
    assert found is not None
    with pytest.raises(Refused) as refused:
        prepare(found, orjson.dumps(body_of(dialect, **more)), {}, "", Settings())
    assert refused.value.code == "malformed"


def test_of_two_spellings_of_a_budget_the_larger_is_reserved() -> None:
    found = route("POST", PATHS["gemini"])
    assert found is not None
    for thinking in ({"thinkingBudget": 0, "thinking_budget": 900}, {"thinkingBudget": 900, "thinking_budget": -1}):
        body = body_of("gemini", generationConfig={"thinkingConfig": thinking})
        assert TABLE["gemini"].asked(body, found).more_output == 900


def test_contents_that_are_one_object_are_read() -> None:
    found = route("POST", PATHS["gemini"])
    assert found is not None
    asked = TABLE["gemini"].asked({"contents": {"role": "user", "parts": {"text": "hello"}}}, found)
    assert [message.text for message in asked.messages] == ["hello"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["a", "data:x", "https://x"]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inside, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(DIALECTS), st.dictionaries(st.sampled_from(WORDS), JSON, max_size=6), st.sampled_from(POLICIES))
def test_no_unlisted_field_reaches_the_provider_unrecorded(dialect: str, more: dict[str, Any], policy: str) -> None:
    """At the top and in the parts that are listed; what is forwarded can be rebuilt from the record to the byte."""
    found = route("POST", PATHS[dialect])
    assert found is not None
    original = orjson.dumps({**body_of(dialect), **more})
    try:
        made = prepare(found, original, {}, "", Settings(unknown_fields=policy))
    except Refused:
        return
    assert rebuilt(original, made.difference) == made.forward.data
    fields = {"chat": CHAT, "responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}[dialect]
    spell = camel_case if dialect == "gemini" else str
    for name, value in made.forward.body.items():
        assert spell(name) in fields.passed or f"passed {name}" in made.changes
        for part in value if spell(name) in fields.parts and isinstance(value, dict) else ():
            assert spell(part) in fields.parts[spell(name)] or f"passed {name}.{part}" in made.changes


@pytest.mark.parametrize("name", ["x", "_x", "maxOutputTokens", "", "_"])
def test_names_in_camel_case_stay(name: str) -> None:
    assert camel_case(name) == name


def test_names_in_snake_case_are_respelled() -> None:
    assert camel_case("max_output_tokens") == "maxOutputTokens"
    assert camel_case("_response_json_schema") == "_responseJsonSchema"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_model_that_answers_is_recorded(make_rig: MakeRig, dialect: str, stream: bool) -> None:
    rig = make_rig("  - {say: x}\n", models={"*": "at-the-provider"})
    path = PATHS[dialect]
    if dialect == "gemini":
        path = path.replace("generate", "streamGenerate") + "?alt=sse" if stream else path
        body = body_of(dialect)
    else:
        body = body_of(dialect, stream=stream)
    assert rig.post(path, body)[0] == 200
    assert rig.of("model.response")[0]["model"] == "at-the-provider"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_is_forwarded_under_another_name_is_among_the_changes(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {say: x}\n", models={"m": "provider-m", "*": ""})
    kept = PATHS[dialect].replace("/m:", "/n:")
    assert rig.post(PATHS[dialect], body_of(dialect))[0] == 200
    assert rig.post(kept, body_of(dialect, **({} if dialect == "gemini" else {"model": "n"})))[0] == 200
    first, second = rig.of("model.request")
    assert first["model"] == "provider-m"
    assert "set the model to 'provider-m', asked for as 'm'" in first["changes"]
    assert second["model"] == "n"
    assert not [change for change in second["changes"] if "model" in change]
