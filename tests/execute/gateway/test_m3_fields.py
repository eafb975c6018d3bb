"""M3: only fields that a dialect lists reach a provider, and the model that answers is recorded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.dialects.fields import camel_case
from proctor.execute.gateway.dialects.interface import Refused, Rules
from proctor.execute.gateway.dialects.table import DIALECTS as TABLE
from proctor.execute.gateway.dialects.table import route
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
    ("anthropic", "speed"),
    ("gemini", "serviceTier"),
    *((dialect, "something_new") for dialect in DIALECTS),
]


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
