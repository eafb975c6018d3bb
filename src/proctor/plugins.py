"""Every extension point of Proctor on one page: its protocol, its entry-point group, and the table of its parts.

A package offers a part by an entry point. The name on the left is the name by which contracts, commands and pilots ask
for it; names of built-in parts cannot be taken. A part is loaded when it is used, and is checked then. What keeps it
from being used is an error of its package: the message names the package, and the exit code is 2. docs/extending.md
has an example of each, and :mod:`proctor.testing` the conformance suites.

========================  ==========================  ===============================================================
group                     asked for by                the entry point names
========================  ==========================  ===============================================================
proctor.agents            --agent NAME                a function from ``AgentRequest`` to an ``Agent``
proctor.adapters          --agent NAME                an ``Adapter``
proctor.sandboxes         environment.sandbox: NAME   a function from a directory to a ``SandboxBackend``
proctor.results_readers   results: NAME of a check    a ``ResultsReader``: a function from bytes to ``TestResults``
proctor.input_sources     inputs: [{NAME: SPEC}]      an ``InputSource``
proctor.dialects          --dialect NAME              a ``Dialect``
proctor.breakers          policy.breakers: [NAME]     a function from ``RunState`` and ``Settings`` to a ``Breaker``
proctor.report_sections   --section NAME              a ``ReportSection``
========================  ==========================  ===============================================================

Packages that take part in a run are recorded in its manifest with their versions. All but those of agents and adapters
are part of its comparability class.
"""

from __future__ import annotations

from typing import Any

from proctor.base.entry_points import (
    ADAPTERS,
    AGENTS,
    BREAKERS,
    DIALECTS,
    INPUT_SOURCES,
    REPORT_SECTIONS,
    RESULTS_READERS,
    SANDBOXES,
    PlugIns,
)
from proctor.base.entry_points import Package as Package
from proctor.base.errors import ContractError as ContractError
from proctor.base.errors import InfrastructureFault as InfrastructureFault
from proctor.base.errors import ProctorError as ProctorError
from proctor.base.errors import UsageFault as UsageFault
from proctor.contract.model import Contract as Contract
from proctor.contract.model import InputFile as InputFile
from proctor.contract.model import Source as Source
from proctor.execute.agents import registry as agent_registry
from proctor.execute.agents.adapters import adapter_registry
from proctor.execute.agents.adapters.interface import Adapter as Adapter
from proctor.execute.agents.adapters.interface import Launch as Launch
from proctor.execute.agents.adapters.interface import Order as Order
from proctor.execute.agents.adapters.interface import Recipe as Recipe
from proctor.execute.agents.adapters.interface import node_program as node_program
from proctor.execute.agents.adapters.interface import python_program as python_program
from proctor.execute.agents.command_agent import model_variables as model_variables
from proctor.execute.agents.interface import Agent as Agent
from proctor.execute.agents.interface import AgentContext as AgentContext
from proctor.execute.agents.interface import AgentDescription as AgentDescription
from proctor.execute.agents.interface import AgentRequest as AgentRequest
from proctor.execute.agents.interface import Ending as Ending
from proctor.execute.agents.interface import ModelAccess as ModelAccess
from proctor.execute.gateway.dialects import dialect_routes
from proctor.execute.gateway.dialects.interface import Call as Call
from proctor.execute.gateway.dialects.interface import Collector as Collector
from proctor.execute.gateway.dialects.interface import Dialect as Dialect
from proctor.execute.gateway.dialects.interface import Message as Message
from proctor.execute.gateway.dialects.interface import ModelAnswer as ModelAnswer
from proctor.execute.gateway.dialects.interface import ModelRequest as ModelRequest
from proctor.execute.gateway.dialects.interface import Refused as Refused
from proctor.execute.gateway.dialects.interface import Result as Result
from proctor.execute.gateway.dialects.interface import Route as Route
from proctor.execute.gateway.dialects.interface import Rules as Rules
from proctor.execute.gateway.dialects.interface import Tool as Tool
from proctor.execute.gateway.dialects.interface import Usage as ModelUsage
from proctor.execute.inputs import input_cache
from proctor.execute.inputs.interface import InputRequest as InputRequest
from proctor.execute.inputs.interface import InputSource as InputSource
from proctor.execute.inputs.interface import NoSuchInput as NoSuchInput
from proctor.execute.inputs.interface import Unreachable as Unreachable
from proctor.execute.monitor.breakers import breaker_registry
from proctor.execute.monitor.breakers.breaker_settings import Settings as Settings
from proctor.execute.monitor.breakers.interface import Breaker as Breaker
from proctor.execute.monitor.breakers.interface import Trip as Trip
from proctor.execute.monitor.breakers.interface import evidence_of as evidence_of
from proctor.execute.monitor.run_state import RunState as RunState
from proctor.execute.sandbox import sandbox_registry
from proctor.execute.sandbox.command_sandbox import CommandSandbox as CommandSandbox
from proctor.execute.sandbox.guard_observations import Guard as Guard
from proctor.execute.sandbox.guard_observations import GuardPlan as GuardPlan
from proctor.execute.sandbox.interface import Command as Command
from proctor.execute.sandbox.interface import CommandResult as CommandResult
from proctor.execute.sandbox.interface import Limits as Limits
from proctor.execute.sandbox.interface import Mount as Mount
from proctor.execute.sandbox.interface import Output as Output
from proctor.execute.sandbox.interface import Overlay as Overlay
from proctor.execute.sandbox.interface import Sandbox as Sandbox
from proctor.execute.sandbox.interface import SandboxBackend as SandboxBackend
from proctor.execute.sandbox.interface import SandboxPlan as SandboxPlan
from proctor.execute.sandbox.interface import Tree as Tree
from proctor.execute.sandbox.interface import Usage as Usage
from proctor.execute.sandbox.interface import owner as owner
from proctor.judge.checks.results_readers import reader_registry
from proctor.judge.checks.results_readers.interface import OUTCOMES as OUTCOMES
from proctor.judge.checks.results_readers.interface import Collector as ResultsCollector
from proctor.judge.checks.results_readers.interface import TestResults as TestResults
from proctor.judge.checks.results_readers.interface import TooMuch as TooMuch
from proctor.judge.checks.results_readers.reader_registry import ResultsReader as ResultsReader
from proctor.present import package_sections
from proctor.present.package_sections import Block as Block
from proctor.present.package_sections import ReportSection as ReportSection
from proctor.present.package_sections import SectionTable as SectionTable
from proctor.record.trace.event import Event as Event

TABLES: dict[str, PlugIns[Any]] = {
    AGENTS: agent_registry.PLUG_INS,
    ADAPTERS: adapter_registry.PLUG_INS,
    SANDBOXES: sandbox_registry.PLUG_INS,
    RESULTS_READERS: reader_registry.PLUG_INS,
    INPUT_SOURCES: input_cache.PLUG_INS,
    DIALECTS: dialect_routes.PLUG_INS,
    BREAKERS: breaker_registry.PLUG_INS,
    REPORT_SECTIONS: package_sections.PLUG_INS,
}
"""The table of each entry-point group: the names of its built-in parts and of those that packages provide."""

__all__ = [
    "OUTCOMES",
    "TABLES",
    "Adapter",
    "Agent",
    "AgentContext",
    "AgentDescription",
    "AgentRequest",
    "Block",
    "Breaker",
    "Call",
    "Collector",
    "Command",
    "CommandResult",
    "CommandSandbox",
    "Contract",
    "ContractError",
    "Dialect",
    "Ending",
    "Event",
    "Guard",
    "GuardPlan",
    "InfrastructureFault",
    "InputFile",
    "InputRequest",
    "InputSource",
    "Launch",
    "Limits",
    "Message",
    "ModelAccess",
    "ModelAnswer",
    "ModelRequest",
    "ModelUsage",
    "Mount",
    "NoSuchInput",
    "Order",
    "Output",
    "Overlay",
    "Package",
    "ProctorError",
    "Recipe",
    "Refused",
    "ReportSection",
    "Result",
    "ResultsCollector",
    "ResultsReader",
    "Route",
    "Rules",
    "RunState",
    "Sandbox",
    "SandboxBackend",
    "SandboxPlan",
    "SectionTable",
    "Settings",
    "Source",
    "TestResults",
    "TooMuch",
    "Tool",
    "Tree",
    "Trip",
    "Unreachable",
    "Usage",
    "UsageFault",
    "evidence_of",
    "model_variables",
    "node_program",
    "owner",
    "python_program",
]
