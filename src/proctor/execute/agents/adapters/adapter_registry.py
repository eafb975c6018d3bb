"""All adapters by name: the built-in ones, and those of installed packages. One is imported when it is asked for.

An adapter of another package is an entry point of the group ``proctor.adapters``: code that Proctor did not write. It
is checked when it is loaded, its functions are checked each time they answer, and whatever its code raises is
reported as an error of its package. The names of built-in agents cannot be taken. The package, its version and a
digest of what it starts are part of the agent's identity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from proctor.base.canonical import NotCanonical, digest
from proctor.base.entry_points import ADAPTERS, NAME, NAME_CHARACTERS, PlugIns
from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe
from proctor.execute.agents.interface import ModelAccess, known_dialects
from proctor.execute.agents.options import SPECIAL

PINNED = {
    "npm": re.compile(r"(?:@[a-z0-9][\w.-]{0,100}/)?[A-Za-z0-9][\w.-]{0,200}@[0-9][\w.+-]{0,100}", re.ASCII),
    "pypi": re.compile(r"[A-Za-z0-9][\w.-]{0,200}==[0-9][\w.+!-]{0,100}", re.ASCII),
}
_PATTERN = re.compile(r"[\w.*?@+-]+(?:/[\w.*?@+-]+)*", re.ASCII)


def origin(adapter: Adapter, launch: Launch) -> dict[str, str]:
    """What identifies an adapter of another package, for the manifest; nothing for a built-in one."""
    if not adapter.package:
        return {}
    name, _, version = adapter.package.partition(" ")
    return {"adapter_package": name, "adapter_version": version, "adapter_launch": digest(_payload(launch))}


def _loaded(name: str) -> Adapter | None:
    """The adapter ``name`` of an installed package, whose functions are checked each time they answer."""
    adapter = PLUG_INS.load(name)
    if adapter is None:
        return None
    checked: Adapter = replace(
        adapter,
        package=str(PLUG_INS.package(name)),
        launch=_checked(adapter.launch, "launch", name),
        acp=_checked(adapter.acp, "acp", name) if adapter.acp else None,
    )
    for dialect in checked.dialects:
        order = Order("TASK", ModelAccess("http://127.0.0.1:1", "model"), dialect)
        for start in filter(None, (checked.launch, checked.acp)):
            start(order)
    return checked


def adapter_problems(adapter: Any, name: str) -> Iterator[str]:
    """What keeps ``adapter``, whose entry point is ``name``, from being used."""
    if not isinstance(adapter, Adapter):
        yield f"it is a {type(adapter).__name__}, not an Adapter"
        return
    if adapter.name != name:
        yield f"its name is {adapter.name!r}, that of its entry point is {name!r}"
    elif not NAME.fullmatch(name) or len(name) > NAME_CHARACTERS:
        yield "its name is not made of small letters, digits, points and hyphens"
    if (
        not isinstance(adapter.description, str)
        or not adapter.description.strip()
        or not adapter.description.isprintable()
    ):
        yield "its description is not one line of text"
    yield from _recipe_problems(adapter.recipe)
    if not _texts(adapter.dialects) or not adapter.dialects or len(set(adapter.dialects)) != len(adapter.dialects):
        yield "its dialects are not a tuple of different names"
    elif strange := [one for one in adapter.dialects if one not in known_dialects()]:
        yield f"there is no dialect {strange[0]!r}; there are {', '.join(known_dialects())}"
    if not _texts(adapter.trajectory):
        yield "its trajectory is not a tuple of patterns"
    else:
        for one in adapter.trajectory:
            if not _PATTERN.fullmatch(one) or ".." in one.split("/"):
                yield f"the pattern {one!r} of its trajectory is not a path below the home directory"
    if not isinstance(adapter.options, frozenset) or not adapter.options <= set(SPECIAL):
        yield f"its options are not a frozenset of {', '.join(SPECIAL)}"
    launch: Any = adapter.launch
    acp: Any = adapter.acp
    if not callable(launch):
        yield "its launch is not a function"
    if acp is not None and not callable(acp):
        yield "its acp is not a function"


def _recipe_problems(recipe: Any) -> Iterator[str]:
    if not isinstance(recipe, Recipe):
        yield f"its recipe is a {type(recipe).__name__}, not a Recipe"
        return
    pinned = PINNED.get(recipe.registry) if isinstance(recipe.registry, str) else None
    if pinned is None:
        yield "the registry of its recipe is neither npm nor pypi"
        return
    form = "NAME@VERSION" if recipe.registry == "npm" else "NAME==VERSION"
    if not _texts(recipe.packages) or not recipe.packages:
        yield "the packages of its recipe are not a tuple of texts"
    elif loose := [one for one in recipe.packages if not pinned.fullmatch(one)]:
        yield f"the package {loose[0]!r} of its recipe is not pinned as {form}"
    if not isinstance(recipe.python, str) or not re.fullmatch(r"(?:3\.[0-9]{1,2})?", recipe.python):
        yield "the python of its recipe is not a version such as 3.12"
    if not _texts(recipe.plain) or not all(PINNED["pypi"].fullmatch(one) for one in recipe.plain):
        yield "the plain packages of its recipe are not pinned as NAME==VERSION"


def _checked(start: Callable[[Order], Launch], what: str, name: str) -> Callable[[Order], Launch]:
    """``start`` with a check of what it answers."""

    def checked(order: Order) -> Launch:
        with PLUG_INS.blamed(name, f"{what}() raises "):
            launch = start(order)
        problem = next(launch_problems(launch), "")
        if problem:
            raise PLUG_INS.at_fault(name, f"{what}() returns {problem}")
        return launch

    return checked


def launch_problems(launch: Any) -> Iterator[str]:
    """What keeps the answer of an adapter's function from being used."""
    if not isinstance(launch, Launch):
        yield f"a {type(launch).__name__}, not a Launch"
        return
    if not _texts(launch.arguments) or not launch.arguments:
        yield "arguments that are not a tuple of texts"
    elif not launch.arguments[0].startswith("/"):
        yield f"a program without its full path: {launch.arguments[0]!r}"
    if not isinstance(launch.first, tuple) or not all(_texts(one) and one for one in launch.first):
        yield "commands in first that are not tuples of texts"
    for field in ("environment", "files", "links"):
        value = getattr(launch, field)
        if not isinstance(value, Mapping) or not all(isinstance(one, str) for pair in value.items() for one in pair):
            yield f"{field} that do not map texts to texts"
            return
    for path in (*launch.files, *launch.links):
        if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            yield f"a file that is not below the home directory: {path!r}"
    if type(launch.extra) is not int or not 0 <= launch.extra < max(1, len(launch.arguments or ())):
        yield "an extra that is not a number of its last arguments"
    try:
        digest(_payload(launch))
    except NotCanonical:
        yield "text that is not valid Unicode"


def _payload(launch: Launch) -> dict[str, Any]:
    return {
        "arguments": list(launch.arguments),
        "environment": [list(pair) for pair in sorted(launch.environment.items())],
        "files": [list(pair) for pair in sorted(launch.files.items())],
        "links": [list(pair) for pair in sorted(launch.links.items())],
        "first": [list(command) for command in launch.first],
    }


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)


NAMES = (
    "mini-swe-agent",
    "codex",
    "opencode",
    "gemini-cli",
    "qwen-code",
    "pi",
    "aider",
    "cline",
    "continue",
    "openhands",
    "goose",
    "kilocode",
    "copilot",
    "kimi",
    "vibe",
    "gptme",
    "letta",
    "droid",
    "claude-code",
)


OTHER_KINDS = ("noop", "reference", "patch", "command", "builtin", "endpoint", "acp")
"""The names of agents that no package can take either."""


PLUG_INS: PlugIns[Adapter] = PlugIns(ADAPTERS, "adapter", (*NAMES, *OTHER_KINDS), adapter_problems)


def adapter_names() -> tuple[str, ...]:
    """The names of all adapters."""
    return (*NAMES, *PLUG_INS.names())


def is_adapted(name: str) -> bool:
    """Whether agent ``name`` has an adapter."""
    return name in NAMES or name in PLUG_INS.names()


def find_adapter(name: str) -> Adapter:
    """The adapter of agent ``name``."""
    if name not in NAMES:
        found = _loaded(name)
        if found is None:
            known = ", ".join(adapter_names())
            raise UsageFault(f"there is no agent {name!r} that can be installed", hint=f"there are {known}")
        return found
    module = f"{__package__}.{name.replace('-', '_')}" if name != "continue" else f"{__package__}.continue_cli"
    adapter: Adapter = import_module(module).ADAPTER
    return adapter
