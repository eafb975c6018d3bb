"""Options of agents: who has which, what identifies them, and what reaches a program in the sandbox."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.adapter_registry import find_adapter
from proctor.execute.agents.adapters.interface import Launch, Recipe
from proctor.execute.agents.install.agent_lock import AgentLock, Release
from proctor.execute.agents.install.agent_store import CONTENT, Installation, of_version
from proctor.execute.agents.installed_agent import command_line, extended
from proctor.execute.agents.interface import AgentRequest, Provided
from proctor.execute.agents.options import AgentOptions, McpServer, McpSource, RequestedOptions
from proctor.execute.agents.registry import make_agent
from proctor.execute.agents.resolve_options import RULES_BYTES, package_of, resolve, server_of
from proctor.execute.workspace.layer_store import LayerStore
from tests.conftest import ContractMaker
from tests.execute.agents.stage import staged
from tests.execute.sandbox.workplace import open_directory

RULES = "Use tabs.\nDon't use 'quotes'.\n"


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def resolved(top: Path, wanted: RequestedOptions) -> tuple[AgentOptions, Provided]:
    return resolve(wanted, top / "home" / "agents", top / "home" / "agents", {}, "install it")


def with_options(top: Path, kind: str, argument: str, wanted: RequestedOptions, **more: Any) -> AgentRequest:
    options, provided = resolved(top, wanted)
    return AgentRequest(kind, argument, options=options, provided=provided, **more)


def test_an_agent_without_options_is_what_it_was() -> None:
    plain = make_agent(AgentRequest("command", "python3 fix.py")).describe()
    named = make_agent(AgentRequest("command", "python3 fix.py", name="fixer")).describe()
    assert named == replace(plain, name="fixer")


def test_every_option_changes_the_digest_and_values_of_variables_are_not_kept(top: Path) -> None:
    rules = top / "AGENTS.md"
    rules.write_text(RULES)
    (top / "skills" / "review").mkdir(parents=True)
    (top / "skills" / "review" / "SKILL.md").write_text("Look twice.")
    variants = [
        RequestedOptions(),
        RequestedOptions(effort="high"),
        RequestedOptions(temperature="0.2"),
        RequestedOptions(small_model="tiny"),
        RequestedOptions(arguments=("--fast",)),
        RequestedOptions(environment={"TOKEN": "hidden-value"}),
        RequestedOptions(environment={"TOKEN": "other-value"}),
        RequestedOptions(rules=(str(rules),)),
        RequestedOptions(skills=str(top / "skills")),
    ]
    found = [make_agent(with_options(top, "endpoint", "go", one, model="m")).describe() for one in variants]
    assert len({one.digest for one in found}) == len(variants)
    assert found[5].settings["environment"] == "TOKEN"
    assert "hidden-value" not in json.dumps(dict(found[5].settings))
    assert found[7].settings["rules_bytes"] == str(len(RULES))
    assert found[8].settings["skills"] == "review"
    assert found[4].command == ("go", "--fast")


@pytest.mark.parametrize(
    ("kind", "argument", "options", "message", "hint"),
    [
        ("builtin", "", AgentOptions(skills=("a",)), "builtin does not have the option skills", "effort, temperature"),
        ("builtin", "", AgentOptions(arguments=("a",)), "does not have the option arguments", "environment"),
        ("noop", "", AgentOptions(effort="low"), "noop does not have the option effort", "none"),
        ("patch", "x", AgentOptions(environment={"A": "b"}), "does not have the option environment", "none"),
    ],
)
def test_an_option_that_an_agent_does_not_have_is_refused(
    kind: str, argument: str, options: AgentOptions, message: str, hint: str
) -> None:
    with pytest.raises(UsageFault, match=message) as raised:
        make_agent(AgentRequest(kind, argument, model="m", dialects=("chat",), options=options))
    assert hint in raised.value.hint


def test_only_agents_from_registries_have_versions() -> None:
    with pytest.raises(UsageFault, match="the agent builtin has no versions"):
        make_agent(AgentRequest("builtin", model="m", dialects=("chat",), version="1.0"))


def test_another_version_replaces_the_agents_own_release() -> None:
    adapter = find_adapter("mini-swe-agent")
    other = of_version(adapter, "2.0.0")
    assert other.recipe.packages == ("mini-swe-agent==2.0.0", *adapter.recipe.packages[1:])
    assert of_version(adapter, adapter.recipe.version) is adapter
    scoped = of_version(find_adapter("codex"), "0.1.2")
    assert scoped.recipe.packages[0] == "@openai/codex@0.1.2"
    with pytest.raises(UsageFault, match="not a version: 'latest'"):
        of_version(adapter, "latest")


def test_extra_arguments_go_before_the_task() -> None:
    options = AgentOptions(arguments=("--fast",), environment={"B": "mine", "C": "new"})
    found = extended(Launch(("run", "-x", "TASK"), {"A": "1", "B": "2"}, extra=1), options)
    assert found.arguments == ("run", "-x", "--fast", "TASK")
    assert dict(found.environment) == {"A": "1", "B": "mine", "C": "new"}
    assert extended(Launch(("run", "TASK")), options).arguments == ("run", "TASK", "--fast")


def test_links_are_made_by_the_one_command_line() -> None:
    line = command_line(Launch(("run",), links={".agent/skills": "/opt/skills"}))
    assert "ln -sfn /opt/skills /home/agent/.agent/skills" in line[2]
    assert line[-1] == "run"


def test_a_program_finds_its_options_in_variables(top: Path, make_contract: ContractMaker) -> None:
    rules = top / "AGENTS.md"
    rules.write_text(RULES)
    (top / "skills" / "review").mkdir(parents=True)
    (top / "skills" / "review" / "SKILL.md").write_text("Look twice.\n")
    shown = (
        "import os, sys; print(sys.argv[1:], os.environ['PROCTOR_EFFORT'], os.environ['PROCTOR_TEMPERATURE'], "
        "os.environ['MINE'], os.environ['PROCTOR_BRIEFING']); print(open(os.environ['PROCTOR_RULES']).read(), end=''); "
        "print(open(os.environ['PROCTOR_SKILLS'] + '/review/SKILL.md').read(), end='')"
    )
    wanted = RequestedOptions("high", "0.2", "", ("--fast",), {"MINE": "yes"}, (str(rules),), str(top / "skills"))
    agent = make_agent(with_options(top, "command", f'/usr/bin/python3 -c "{shown}"', wanted))
    with staged(top, make_contract(), agent) as (stage, _):
        assert agent.act(stage.scene()).reason == "finished"
        ((command, finished),) = stage.commands
        printed = finished.stdout.prefix.decode()
    assert printed == f"['--fast'] high 0.2 yes /proctor/briefing.md\n{RULES}Look twice.\n"
    assert command.wrappers == (command.arguments,), "what the harness wrote is not the agent's text"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.md", b" \n", "empty or not text"),
        ("binary.md", b"\xff\xfe", "not text in UTF-8"),
        ("long.md", b"x" * (RULES_BYTES + 1), "rules files may hold 48 KiB together"),
    ],
)
def test_rules_are_text_of_some_length(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageFault, match=message):
        resolved(tmp_path, RequestedOptions(rules=(str(tmp_path / name),)))
    with pytest.raises(UsageFault, match="the rules file cannot be read: No such file"):
        resolved(tmp_path, RequestedOptions(rules=(str(tmp_path / "none.md"),)))


def test_rules_may_be_a_link_but_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(RULES)
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    options, _ = resolved(tmp_path, RequestedOptions(rules=(str(tmp_path / "CLAUDE.md"),)))
    assert options.rules == RULES
    with pytest.raises(UsageFault, match="the rules file is a directory"):
        resolved(tmp_path, RequestedOptions(rules=(str(tmp_path),)))


@pytest.mark.parametrize("linked", ["review", "review/SKILL.md"])
def test_a_skill_that_is_a_link_to_another_place_is_refused(top: Path, linked: str) -> None:
    (top / "elsewhere" / "review").mkdir(parents=True)
    (top / "elsewhere" / "review" / "SKILL.md").write_text("Look twice.")
    link = top / "skills" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(top / "elsewhere" / linked)
    with pytest.raises(UsageFault, match="the skill review is a link to a place outside of this directory"):
        resolved(top, RequestedOptions(skills=str(top / "skills")))
    link.unlink()
    (top / "skills" / "shared" / "review").mkdir(parents=True)
    (top / "skills" / "shared" / "review" / "SKILL.md").write_text("Look twice.")
    own = top / "skills" / "shared" / linked
    link.symlink_to(os.path.relpath(own, link.parent))
    assert resolved(top, RequestedOptions(skills=str(top / "skills")))[0].skills == ("review",)


@pytest.mark.parametrize("name", [b"\xff", b"a\x1b[31m", b"a\nb"])
def test_a_skill_with_a_name_that_no_manifest_can_hold_is_refused(top: Path, name: bytes) -> None:
    skill = top / "skills" / os.fsdecode(name)
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("Look twice.")
    with pytest.raises(UsageFault, match="not a name for a skill"):
        resolved(top, RequestedOptions(skills=str(top / "skills")))


def test_a_directory_without_skills_is_refused(top: Path) -> None:
    (top / "skills" / "notes").mkdir(parents=True)
    (top / "skills" / "notes" / "README.md").write_text("no skill")
    with pytest.raises(UsageFault, match="there is no skill in this directory"):
        resolved(top, RequestedOptions(skills=str(top / "skills")))


def test_a_server_that_is_not_installed_is_named_with_the_command(tmp_path: Path) -> None:
    wanted = RequestedOptions(mcp=(McpSource("time", "pypi", "mcp-server-time==1.0"),))
    with pytest.raises(UsageFault, match=r"the MCP server time \(mcp-server-time==1.0\) is not installed") as raised:
        resolved(tmp_path, wanted)
    assert raised.value.hint == "install it"


def installed(top: Path, files: Mapping[str, str], registry: str) -> Installation:
    """An installation with ``files``, as the store would have made it."""

    def fill(content: Path) -> Mapping[str, Any]:
        for name, text in files.items():
            path = content / CONTENT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return {"bytes": 0}

    lock = AgentLock("server", "1.0", registry, (Release("server", "1.0", f"sha256:{'0' * 64}"),))
    return Installation(lock, LayerStore(top / "layers").make(f"server-{registry}", fill), None)


def test_servers_from_pypi_are_started_by_full_path(top: Path) -> None:
    info = "lib/python3.11/site-packages/mcp_server_time-1.0.dist-info"
    files = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: mcp-server-time\nVersion: 1.0\n",
        f"{info}/entry_points.txt": "[console_scripts]\nmcp-server-time = mcp_server_time:main\n",
    }
    found = installed(top, files, "pypi")
    source = McpSource("time", "pypi", "mcp-server-time==1.0", ("mcp-server-time", "--tz", "UTC"), {"A": "b"})
    start = "import sys; from mcp_server_time import main; sys.exit(main())"
    expected = ("/opt/mcp/time/bin/python", "-I", "-c", start)
    assert server_of(source, found) == McpServer("time", (*expected, "--tz", "UTC"), {"A": "b"})
    assert server_of(replace(source, run=()), found).command == expected
    by_module = replace(source, run=("python", "-m", "mcp_server_time"))
    assert server_of(by_module, found).command == ("/opt/mcp/time/bin/python", "-I", "-m", "mcp_server_time")
    with pytest.raises(UsageFault, match="no program 'other'") as raised:
        server_of(replace(source, run=("other",)), found)
    assert raised.value.hint == "programs of mcp-server-time==1.0: mcp-server-time, python"


def test_servers_from_npm_are_started_by_node_and_full_path(top: Path) -> None:
    described = {"bin": {"serve": "./dist/index.js", "check": "dist/check.js"}}
    found = installed(top, {"node_modules/@scope/server/package.json": json.dumps(described)}, "npm")
    source = McpSource("files", "npm", "@scope/server@1.0", ("serve", "/workspace"))
    server = server_of(source, found)
    program = "/opt/mcp/files/node_modules/@scope/server/dist/index.js"
    assert server.command == ("/opt/node/bin/node", program, "/workspace")
    with pytest.raises(UsageFault, match="run does not say which program"):
        server_of(replace(source, run=()), found)
    assert package_of(source).name == "mcp-npm-scope+server"
    assert package_of(source).recipe == Recipe("npm", ("@scope/server@1.0",))
