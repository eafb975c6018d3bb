"""M6: every fault of a provider is recognised in every dialect, in one piece and as a stream."""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.gateway.gateway_settings import Limits
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, Rig, body_of
from tests.execute.gateway.faults import FAULTS, UNREACHABLE, rows
from tests.execute.gateway.faulty import FIRST, faulty_provider, name_of
from tests.ports import refusing_port

SCRIPT = b"""\
schema: 1
turns:
  - {when: {tools: false}, say: A title of a few words}
  - say: I look first, and say a few words so that the answer has several events.
    call: {tool: run, arguments: {command: ls}}
  - {say: Done.}
"""
LIMITS = Limits(idle_seconds=0.3, call_seconds=1, abandoned_seconds=0.1)
TOOL = {"name": "run", "description": "Run it", "parameters": {"type": "object", "properties": {}}}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "chat": [{"type": "function", "function": TOOL}],
    "responses": [{"type": "function", **TOOL}],
    "anthropic": [{"name": "run", "input_schema": {"type": "object"}}],
    "gemini": [{"functionDeclarations": [TOOL]}],
}


def ask(rig: Rig, dialect: str, model: str, *, is_stream: bool, with_tools: bool = True) -> tuple[int, bytes]:
    """What an agent gets; nothing where the connection broke."""
    path = PATHS[dialect]
    more: dict[str, Any] = {"tools": TOOLS[dialect]} if with_tools else {}
    if dialect == "gemini":
        path = f"/v1beta/models/{model}:" + ("streamGenerateContent?alt=sse" if is_stream else "generateContent")
    else:
        more |= {"model": model, "stream": is_stream}
    try:
        return rig.post(path, body_of(dialect, "hello", **more))
    except (OSError, HTTPException):
        return 0, b""


@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", FAULTS)
def test_m6_a_fault_has_its_code_in_every_dialect(make_rig: MakeRig, name: str, dialect: str, is_stream: bool) -> None:
    fault, model = FAULTS[name], name_of(name, FIRST)
    with faulty_provider(SCRIPT) as (url, provider):
        rig = make_rig(url=url, limits=LIMITS)
        status, _ = ask(rig, dialect, model, is_stream=is_stream)
        assert ask(rig, dialect, model, is_stream=is_stream, with_tools=False)[0] == 200, "a call for a title works"
        if not fault.code:
            assert status == 200 and not rig.of("model.error")
        else:
            (error,) = rig.wait("model.error")
            assert (error["class"], error["infrastructure"]) == (fault.code, True), error
        if fault.passes:
            assert ask(rig, dialect, model, is_stream=is_stream)[0] == 200
        summary = rig.stop()
        assert summary.outage_class == ("" if fault.passes else fault.code)
        assert provider.steps[model] == [FIRST] * (1 + fault.passes)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_m6_an_endpoint_at_which_nobody_answers(make_rig: MakeRig, dialect: str) -> None:
    with faulty_provider(SCRIPT) as (url, _), refusing_port() as port:
        places = (f"http://127.0.0.1:{port}", "http://no-such-host.invalid", url.replace("http:", "https:"))
        assert len(places) == len(UNREACHABLE)
        for place in places:
            rig = make_rig(url=place, limits=LIMITS)
            assert ask(rig, dialect, "m", is_stream=True)[0] == 502
            assert rig.stop().outage_class == "network", place


def test_m6_the_documentation_lists_every_fault(project: Path) -> None:
    page = (project / "docs" / "faults.md").read_text().splitlines()
    start = page.index("|---|---|---|---|") + 1
    assert page[start : start + len(rows())] == rows()
    assert not page[start + len(rows())].startswith("|")
    assert len(rows()) >= 24
