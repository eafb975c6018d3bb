"""Agent files: an agent, its model and its options in one YAML file that ``--agent`` and pilots can name.

Loading is strict, as for contracts: every mistake is reported with file, line and column. Paths in the file are
relative to its directory; they are absolute in the result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from proctor.base.entry_points import DIALECTS as DIALECT_GROUP
from proctor.base.errors import ContractError, InfrastructureFault, Mistake, UsageFault
from proctor.base.files import read_bounded
from proctor.contract.composite_types import Either, Field, ListOf, MapOf, Part, Shape, Variants
from proctor.contract.scalar_types import Decimal, Text, Whole
from proctor.contract.strict_yaml import Report, TooManyMistakes, parse_yaml
from proctor.contract.text_types import ANY, NAME, NPM, PYPI, TEXT, VARIABLE
from proctor.execute.agents.interface import DIALECTS
from proctor.execute.agents.options import EFFORTS, NO_REQUESTED_OPTIONS, McpSource, RequestedOptions

SCHEMA_VERSION = 1
FILE_BYTES = 1 << 20
LEFT_OUT = "name an agent as NAME, NAME@VERSION or NAME:ARGUMENT; `proctor agents` lists them"
ENDINGS = (".yaml", ".yml")

_TELLING = ("patch", "command", "endpoint", "acp")
"""Agents that say themselves what is to follow their name."""

_KIND = re.compile(r"[a-z][a-z0-9_-]*:")
_PATH = Text("a path, relative to the agent file", r"[^\u0000-\u001f]+")
_OPTIONAL_PATH = replace(_PATH, empty=True)
_MODEL = Text("PROVIDER/NAME, such as openai/NAME", r"[^/\u0000-\u0020]+/[^\u0000-\u0020]+", empty=True)
_KEY_VARIABLE = Text("the name of a variable, not its value", r"[A-Za-z_][A-Za-z0-9_]{0,99}", empty=True)
_SERVER_NAME = Text("a name of lower-case letters, digits, '_' and '-'", r"[a-z0-9][a-z0-9_-]{0,39}")
_VARIABLES = MapOf(VARIABLE, ANY)


def _server(registry: str, package: Text) -> Shape:
    return Shape(
        "server",
        (
            Field(registry, package, f"The release to install: {package.expected}."),
            Field(
                "run",
                ListOf(TEXT, least=1),
                "A program of the package and its arguments; the package's only program if left out.",
                (),
            ),
            Field("environment", _VARIABLES, "Variables of the server.", {}),
            Field("with", ListOf(package, unique=True), "More releases that it needs in exactly these versions.", ()),
        ),
    )


AGENT_FILE = Shape(
    "agent file",
    (
        Field("schema", Whole(SCHEMA_VERSION, SCHEMA_VERSION), "The version of this form: 1."),
        Field("agent", TEXT, "The agent, as proctor run --agent names it."),
        Field("name", NAME, "The agent's name in tables and reports; else the file's.", ""),
        Field("model", _MODEL, "The one model of this agent, as PROVIDER/NAME; those of --model if left out.", ""),
        Field("endpoint", ANY, "The base URL of the model's provider.", ""),
        Field("key_env", _KEY_VARIABLE, "The variable that holds the key.", ""),
        Field("key_file", _OPTIONAL_PATH, "A file that holds the key.", ""),
        Field(
            "dialect",
            Text("a dialect", choices=DIALECTS, empty=True, group=DIALECT_GROUP),
            "The one way to talk to the model.",
            "",
        ),
        Field("effort", Text("an effort", choices=EFFORTS, empty=True), "How much the model is to reason.", ""),
        Field("temperature", Decimal(), "The temperature of the model's answers.", ""),
        Field("small_model", ANY, "A second model of the provider, by name, for the agent's small tasks.", ""),
        Field("arguments", ListOf(ANY), "More arguments of the agent's program.", ()),
        Field("environment", _VARIABLES, "More variables of the agent's program.", {}),
        Field(
            "rules",
            Either("a path or a list of paths", {"text": _PATH, "list": ListOf(_PATH, unique=True)}),
            "Files of instructions that the agent reads first, such as an AGENTS.md.",
            (),
        ),
        Field("skills", _OPTIONAL_PATH, "A directory with skills: each is a directory with a SKILL.md.", ""),
        Field(
            "mcp",
            MapOf(_SERVER_NAME, Variants("server", (_server("pypi", PYPI), _server("npm", NPM)))),
            "MCP servers that the agent can use, by name.",
            {},
        ),
    ),
)


@dataclass(frozen=True)
class AgentFile:
    """An agent as a user asked for it. Without a file there is ``agent`` alone, as on the command line.

    ``key_file`` and the paths of ``wanted`` are absolute. ``places`` maps options to their positions in the file.
    """

    agent: str
    path: Path | None = None
    name: str = ""
    model: str = ""
    endpoint: str = ""
    key_env: str = ""
    key_file: str = ""
    dialect: str = ""
    wanted: RequestedOptions = NO_REQUESTED_OPTIONS
    places: Mapping[str, str] = field(default_factory=dict)


def is_agent_file(value: str) -> bool:
    """Whether the value of ``--agent`` is the path of an agent file."""
    return value.endswith(ENDINGS) and not _KIND.match(value)


def read_agent(value: str) -> AgentFile:
    """The agent in ``value``, the value of ``--agent``; :class:`ContractError` with all mistakes in an agent file."""
    if is_agent_file(value):
        return load_agent_file(Path(value))
    if missing := what_is_missing(value):
        raise UsageFault(missing, where=f"--agent {value[:200]!r}", hint=LEFT_OUT)
    return AgentFile(value)


def what_is_missing(agent: str) -> str:
    """What is missing after the ``@`` or the ``:`` of ``agent``; empty if nothing is."""
    kind, _, argument = parse_agent(agent)
    if not kind.strip():
        return "the name of the agent is missing"
    named = argument if kind == "acp" and " " not in argument else agent.partition(":")[0]
    if "@" in named and not named.partition("@")[2]:
        return "the version after the '@' is missing"
    return "" if argument or ":" not in agent or kind in _TELLING else "what follows the ':' is missing"


def parse_agent(agent: str) -> tuple[str, str, str]:
    """The kind, the version and the argument that ``KIND@VERSION:ARGUMENT`` consists of; the last two may be empty."""
    start, _, argument = agent.partition(":")
    kind, _, version = start.partition("@")
    return kind, version, argument


def load_agent_file(path: Path) -> AgentFile:
    """The agent in the file ``path``; :class:`ContractError` with all mistakes otherwise."""
    data = _read(path)
    report = Report(str(path))
    found = None
    try:
        node = parse_yaml(data, report) if data.strip() else None
        if node is not None:
            found = _build(AGENT_FILE.read(node, report), path.absolute(), report)
        elif not data.strip():
            report.add((1, 1), "the file is empty", "docs/agents.md has an agent file to start from")
    except TooManyMistakes:
        pass
    report.raise_any()
    assert found is not None
    return found


def _read(path: Path) -> bytes:
    try:
        return read_bounded(Path(os.path.realpath(path)), FILE_BYTES)
    except FileNotFoundError:
        message, hint = "does not exist", "--agent takes the path of an agent file, or a name from `proctor agents`"
    except InfrastructureFault as fault:
        message, hint = f"is {fault.message}, so it is not an agent file", ""
    except OSError as error:
        message, hint = f"cannot be read: {error.strerror}", ""
    raise ContractError([Mistake(str(path), 0, 0, message, hint)])


def _build(part: Part, path: Path, report: Report) -> AgentFile:
    if is_agent_file(part["agent"]):
        report.add(part.place("agent"), "an agent file cannot name another agent file", "name the agent itself")
    elif part["agent"] and (missing := what_is_missing(part["agent"])):
        report.add(part.place("agent"), missing)
    if not part["model"]:
        for name in ("endpoint", "key_env", "key_file", "dialect"):
            if part[name]:
                report.add(part.place(name), f"{name!r} makes no sense without a model")
    if part["key_env"] and part["key_file"]:
        report.add(part.place("key_file"), "a key comes from key_env or from key_file, not from both")
    rules = (part["rules"],) if isinstance(part["rules"], str) else tuple(part["rules"] or ())
    kind, _, argument = str(part["agent"]).partition(":")
    here = path.parent
    return AgentFile(
        agent=f"patch:{here / argument}" if kind == "patch" and argument else part["agent"],
        path=path,
        name=part["name"] or _name_of(path),
        model=part["model"],
        endpoint=part["endpoint"],
        key_env=part["key_env"],
        key_file=str(here / part["key_file"]) if part["key_file"] else "",
        dialect=part["dialect"],
        wanted=RequestedOptions(
            effort=part["effort"],
            temperature=part["temperature"],
            small_model=part["small_model"],
            arguments=tuple(part["arguments"]),
            environment=dict(part["environment"]),
            rules=tuple(str(here / one) for one in rules if one),
            skills=str(here / part["skills"]) if part["skills"] else "",
            mcp=tuple(_source(name, one) for name, one in part["mcp"].items() if one.variant),
        ),
        places={
            name: f"{path}:{part.place(name).line}:{part.place(name).column}"
            for name in ("rules", "skills")
            if part.given(name)
        },
    )


def _source(name: str, part: Part) -> McpSource:
    run, beside = tuple(part["run"]), tuple(part["with"])
    return McpSource(name, part.variant, part[part.variant], run, dict(part["environment"]), beside)


def _name_of(path: Path) -> str:
    """The file's own name, as far as a name in reports can hold it."""
    return re.sub(r"[^a-z0-9._-]", "-", path.stem.lower()).strip("-._")[:100]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of agent files, in the dialect of 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Proctor agent file",
        **AGENT_FILE.schema(),
    }
