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
from proctor.execute.agents import registry as agent_registry
from proctor.execute.agents.adapters import adapter_registry
from proctor.execute.gateway.dialects import dialect_routes
from proctor.execute.inputs import input_cache
from proctor.execute.monitor.breakers import breaker_registry
from proctor.execute.sandbox import sandbox_registry
from proctor.judge.checks.results_readers import reader_registry
from proctor.present import package_sections

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
    *("TABLES", "Package", "PlugIns"),
    *("ContractError", "InfrastructureFault", "ProctorError", "UsageFault"),
    *("Contract", "Event", "InputFile", "Source"),
    *("Agent", "AgentContext", "AgentDescription", "AgentRequest", "Ending", "ModelAccess"),
    *("Adapter", "Launch", "Order", "Recipe", "node_program", "python_program"),
    *("Command", "CommandResult", "CommandSandbox", "Guard", "GuardPlan", "Limits", "Mount", "Output", "Overlay"),
    *("Sandbox", "SandboxBackend", "SandboxPlan", "Tree", "Usage"),
    *("ResultsCollector", "ResultsReader", "TestResults", "TooMuch"),
    *("InputRequest", "InputSource", "NoSuchInput", "Unreachable"),
    *("Call", "Collector", "Dialect", "Message", "ModelAnswer", "ModelRequest", "ModelUsage", "Refused", "Result"),
    *("Route", "Rules", "Tool"),
    *("Breaker", "RunState", "Settings", "Trip", "evidence_of"),
    *("Block", "ReportSection", "SectionTable"),
]
