"""Agent files: what they say, and every mistake in them with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.base.errors import ContractError
from proctor.execute.agents.agent_file import is_agent_file, json_schema, load_agent_file, parse_agent, read_agent

WHOLE = """\
schema: 1
agent: codex@0.166.0
name: careful
model: openai/m
endpoint: "https://host/api?version=1"
key_file: key
effort: high
temperature: 0.20
small_model: tiny
arguments: [--fast, "1"]
environment: {A: b}
rules: [AGENTS.md, ../more.md]
skills: skills
mcp:
  time: {pypi: mcp-server-time==2025.9.25, run: [mcp-server-time, --local-timezone, UTC]}
  files: {npm: "@scope/server@1.2.3", environment: {ROOT: /workspace}}
"""


def test_every_field_is_read_and_paths_begin_at_the_file(tmp_path: Path) -> None:
    path = tmp_path / "codex.yaml"
    path.write_text(WHOLE)
    found = load_agent_file(path)
    assert (found.agent, found.name, found.model) == ("codex@0.166.0", "careful", "openai/m")
    assert found.endpoint == "https://host/api?version=1"
    assert found.key_file == str(tmp_path / "key")
    wanted = found.wanted
    assert (wanted.effort, wanted.temperature, wanted.small_model) == ("high", "0.2", "tiny")
    assert (wanted.arguments, dict(wanted.environment)) == (("--fast", "1"), {"A": "b"})
    assert wanted.rules == (f"{tmp_path}/AGENTS.md", f"{tmp_path}/../more.md")
    assert wanted.skills == f"{tmp_path}/skills"
    time, files = wanted.mcp
    assert (time.name, time.registry, time.package) == ("time", "pypi", "mcp-server-time==2025.9.25")
    assert time.run == ("mcp-server-time", "--local-timezone", "UTC")
    assert (files.registry, files.package, dict(files.environment)) == (
        "npm",
        "@scope/server@1.2.3",
        {"ROOT": "/workspace"},
    )


def test_a_file_without_a_name_has_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "Pi With Rules.yaml"
    path.write_text("schema: 1\nagent: pi\nrules: AGENTS.md\n")
    found = read_agent(str(path))
    assert (found.name, found.agent, found.wanted.rules) == ("pi-with-rules", "pi", (f"{tmp_path}/AGENTS.md",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: the file is empty"),
        ("schema: 1\n", "1:1: agent file: the key 'agent' is missing"),
        ("schema: 1\nagent: pi\nefort: high\n", "3:1: unknown key 'efort'"),
        ("schema: 1\nagent: pi\neffort: huge\n", "3:9: 'huge' is not one of minimal, low, medium, high"),
        ("schema: 1\nagent: pi\ntemperature: -1\n", "3:14: -1 is negative"),
        ("schema: 1\nagent: pi\nenvironment: {PROCTOR_X: a}\n", "3:15: expected a variable's name"),
        ("schema: 1\nagent: pi\nname: A Name\n", "3:7: expected a name of lower-case letters"),
        ("schema: 1\nagent: pi\nendpoint: http://x\n", "3:11: 'endpoint' makes no sense without a model"),
        ("schema: 1\nagent: other.yaml\n", "2:8: an agent file cannot name another agent file"),
        ("schema: 1\nagent: pi\nmcp: {a: {run: [x]}}\n", "3:10: server: one of pypi, npm is missing"),
        ("schema: 1\nagent: pi\nmcp: {a: {pypi: x}}\n", "3:17: expected name==version, not 'x'"),
        ("schema: 1\nagent: pi\nmcp: {A B: {pypi: x==1}}\n", "3:7: expected a name of lower-case letters"),
        (
            "schema: 1\nagent: pi\nmodel: a/b\nkey_env: K\nkey_file: k\n",
            "5:11: a key comes from key_env or from key_file",
        ),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ContractError) as raised:
        load_agent_file(path)
    assert f"{path}:{message}" in str(raised.value)


def test_a_file_that_is_not_there_is_reported_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="does not exist"):
        read_agent(str(tmp_path / "none.yaml"))


def test_only_paths_are_agent_files() -> None:
    assert is_agent_file("variants/pi.yaml") and is_agent_file("/a/b.yml")
    assert not any(map(is_agent_file, ("pi", "command:python3 run.yaml", "patch:a.yaml", "acp:server x.yml")))
    assert parse_agent("codex@0.1.2") == ("codex", "0.1.2", "")
    assert parse_agent("command:a@b c") == ("command", "", "a@b c")


def test_the_schema_names_every_field() -> None:
    schema = json_schema()
    assert schema["required"] == ["schema", "agent"]
    assert {"rules", "skills", "mcp", "effort", "environment"} <= set(schema["properties"])
