"""The shipped conformance suites, on the built-in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.execute.agents.adapters.adapter_registry import NAMES
from proctor.execute.agents.interface import AgentRequest
from proctor.execute.monitor.breakers.breaker_registry import BUILT_IN as BREAKERS
from proctor.execute.monitor.breakers.breaker_settings import Caps, Settings
from proctor.testing import (
    AdapterSuite,
    AgentSuite,
    BreakerSuite,
    DialectSuite,
    InputSourceSuite,
    ResultsReaderSuite,
    SandboxSuite,
)


class TestJUnit(ResultsReaderSuite):
    name = "junit"
    examples = (
        (
            b'<testsuite>\n<testcase name="a"/>\n<testcase name="b">\n<failure/>\n</testcase>\n</testsuite>\n',
            {"a": "passed", "b": "failed"},
        ),
    )


class TestTap(ResultsReaderSuite):
    name = "tap"
    examples = (
        (
            b"TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n",
            {"a": "passed", "b": "failed", "c": "skipped"},
        ),
    )


class TestHost(SandboxSuite):
    name = "host"


@pytest.mark.parametrize("name", ["noop", "command"])
class TestAgents(AgentSuite):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name, self.argument = name, "true" if name == "command" else ""

    def request(self) -> AgentRequest:
        return AgentRequest(self.name, self.argument, reference=lambda: b"")


@pytest.mark.parametrize("name", NAMES)
class TestAdapters(AdapterSuite):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize("name", BREAKERS)
class TestBreakers(BreakerSuite):
    settings = Settings(
        caps=Caps(
            cpu_seconds=60,
            disk_bytes=1000,
            inodes=10,
            tokens=100,
            tool_calls=10,
            failed_cycles=5,
            dependency_resolutions=5,
        )
    )
    quiet = (("agent.started", {"name": "a", "kind": "a", "command": []}),)

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name


class TestArchive(InputSourceSuite):
    name, spec, missing_spec = "archive", "words.txt", "no-such-file"

    @pytest.fixture
    def contract_directory(self, tmp_path: Path) -> Path:
        (tmp_path / "contract").mkdir()
        (tmp_path / "contract" / "words.txt").write_text("words")
        return tmp_path / "contract"


class TestChat(DialectSuite):
    name, path = "chat", "/v1/chat/completions"
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 10}
    answer = {
        "choices": [{"message": {"role": "assistant", "content": "Hello to you"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    text = "Hello to you"


class TestResponses(DialectSuite):
    name, path = "responses", "/v1/responses"
    body = {"model": "m", "input": [{"role": "user", "content": "Hello"}], "max_output_tokens": 10}
    answer = {
        "status": "completed",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello to you"}]}
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    text = "Hello to you"


class TestAnthropic(DialectSuite):
    name, path = "anthropic", "/v1/messages"
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 10}
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hello to you"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    text = "Hello to you"


class TestGemini(DialectSuite):
    name, path = "gemini", "/v1beta/models/m:generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}], "generationConfig": {"maxOutputTokens": 10}}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello to you"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4},
    }
    text = "Hello to you"
