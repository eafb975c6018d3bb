"""What every agent must do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from proctor.base.canonical import canonical
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.contract.scaffold import scaffold
from proctor.execute.agents.interface import Agent, AgentContext, AgentDescription, AgentRequest
from proctor.execute.agents.registry import description_problems, ending_problems, make_agent
from proctor.execute.sandbox.interface import Command, CommandResult, Output


class AgentSuite:
    """Subclass with the ``name`` of an agent, and the ``argument`` after the colon if it needs one."""

    name: str
    argument: str = ""

    def request(self) -> AgentRequest:
        """How the agent is asked for."""
        return AgentRequest(self.name, self.argument, reference=lambda: b"")

    @pytest.fixture
    def contract(self, tmp_path: Path) -> Contract:
        """A contract to attempt."""
        scaffold(tmp_path / "contract", "example")
        return load_contract(tmp_path / "contract")

    def agent(self) -> Agent:
        """The agent, checked as before a run."""
        return make_agent(self.request())

    def test_it_is_described_and_always_in_the_same_way(self) -> None:
        agent = self.agent()
        described = agent.describe()
        problems = list(description_problems(described))
        assert not problems, problems
        for again in (agent.describe(), self.agent().describe()):
            assert _recorded(again) == _recorded(described), (again, described)

    def test_its_mounts_are_files_of_the_host(self) -> None:
        for mount in self.agent().mounts():
            assert mount.source.exists() and not mount.writable, mount

    def test_it_acts_and_says_how_it_ended(self, contract: Contract) -> None:
        agent, commands = self.agent(), list[Command]()

        def run(command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
            assert agent.needs_sandbox, "an agent without a sandbox runs no commands"
            commands.append(command)
            nothing = Output(b"", 0, hashlib.sha256(b"").hexdigest())
            return CommandResult(0, True, False, "", nothing, nothing, 1, 1, 1)

        scene = AgentContext(contract, "The task.", {"PATH": "/usr/bin:/bin"}, run, lambda: 60.0, look=run)
        ending = agent.act(scene)
        problems = list(ending_problems(ending, agent.needs_sandbox))
        assert not problems, f"act() returns {problems}"
        assert all(command.arguments for command in commands), commands


def _recorded(one: AgentDescription) -> bytes:
    """A description as a manifest has it."""
    return canonical([one.name, one.kind, list(one.command), one.digest, dict(one.settings)])
