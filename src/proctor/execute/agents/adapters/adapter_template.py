"""A package with an adapter to start from: its entry point, the adapter with comments, a test, and four commands."""

from __future__ import annotations

import re
from pathlib import Path

from proctor.base.entry_points import ADAPTERS, NAME
from proctor.base.errors import UsageFault
from proctor.base.files import write_whole
from proctor.execute.agents.adapters.adapter_registry import NAMES, OTHER_KINDS, PINNED
from proctor.execute.agents.interface import known_dialects

_PROGRAM = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*", re.ASCII)

_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "proctor-{name}"
version = "0.1.0"
description = "An adapter of Proctor for {name}"
requires-python = ">=3.11"
dependencies = ["proctor"]

# The name on the left is the name of the agent: proctor run CONTRACT --agent {name}
[project.entry-points."{group}"]
{name} = "{module}:ADAPTER"

[tool.hatch.build.targets.wheel]
only-include = ["{module}.py"]
"""

_ADAPTER = '''\
"""An adapter of Proctor for {name}: how it is installed, started and pointed at its model."""

from proctor.plugins import Adapter, Launch, Order, Recipe, model_variables, {helper}


def launch(order: Order) -> Launch:
    """What to start. It runs in a sandbox, so switch off the agent's own sandbox, questions, updates and telemetry.

    ``order.task`` is the task, ``order.dialect`` one of the adapter's dialects, ``order.model`` has the address, the
    name and the key of the model (the key opens nothing), and ``order.home`` is an empty home directory.
    """
    return Launch(
        # {where}
        # Flags go before the task, for example ("--yes", "--model", order.model.name, order.task).
        {helper}("{program}", order.task),
        # Address, key and model in the variables that usual clients read: OPENAI_BASE_URL, OPENAI_API_KEY and others.
        environment=model_variables(order.model),
        # Settings files of the agent, by their path below the home directory: {{".config/{name}/settings.json": "..."}}
        files={{}},
        # How many arguments at the end are the task; arguments of the user go before them.
        extra=1,
    )


ADAPTER = Adapter(
    name="{name}",
    description="one line for `proctor agents list`",
    # Pinned releases of one registry, the agent's own first. Nothing that a package brings runs while it is installed.
    recipe=Recipe("{registry}", ("{package}",)),
    # The dialects that the agent speaks, its own choice first.
    dialects={dialects},
    # Where the agent writes its own notes, as patterns below the home directory. They are stored with the run.
    trajectory=(),
    launch=launch,
    # acp=..., a function like launch, if the agent speaks the Agent Client Protocol over its standard streams
    # options=frozenset({{"rules"}}), the options of order.options that launch translates
)
'''

_TEST = '''\
"""Run with: python -m pytest"""

from {module} import ADAPTER
from proctor.testing import AdapterSuite


class TestAdapter(AdapterSuite):
    name, adapter = "{name}", ADAPTER
'''

_README = """\
# An adapter of Proctor for {name}

`{module}.py` says how {name} is installed, started and pointed at its model; its comments say what to fill in.
The package goes into the environment that Proctor is installed in. With `PYTHON` for the Python of that environment,
such as `.venv/bin/python` of Proctor's directory, and pip 22.3 or newer:

    pip --python PYTHON install pytest .
    PYTHON -m pytest
    proctor agents install {name}
    proctor run CONTRACT --agent {name} --model PROVIDER/NAME
    proctor verify last

The tests check the adapter without running the agent. A scripted model needs no key and no provider:
`--model scripted/demo --script turns.yaml`. `proctor trace last` shows what the agent did and which requests it made.
"""


def write_skeleton(
    directory: Path, name: str, registry: str, package: str, program: str, dialects: tuple[str, ...]
) -> list[Path]:
    """Write the package into ``directory``, which must not exist or be empty; the files."""
    if not NAME.fullmatch(name) or len(name) > 60:
        raise UsageFault(
            f"not a name for an agent: {name[:100]!r}", hint="use small letters, digits, points and hyphens"
        )
    if name in NAMES or name in OTHER_KINDS:
        raise UsageFault(f"{name} is a built-in agent", hint="choose another name")
    if not PINNED[registry].fullmatch(package):
        form = "NAME@VERSION" if registry == "npm" else "NAME==VERSION"
        raise UsageFault(f"not a pinned release: {package[:200]!r}", hint=f"write it as {form}")
    strange = [one for one in dialects if one not in known_dialects()]
    if strange:
        raise UsageFault(f"there is no dialect {strange[0][:60]!r}", hint=f"there are {', '.join(known_dialects())}")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageFault("this exists and is not an empty directory", where=str(directory), hint="choose another place")
    if program and not _PROGRAM.fullmatch(program):
        raise UsageFault(f"not a program: {program[:200]!r}", hint="name a path below node_modules or a Python module")
    npm = registry == "npm"
    dialect_names = ", ".join(f'"{one}"' for one in dict.fromkeys(dialects))
    released = package.rpartition("@" if npm else "==")[0]
    module = "proctor_" + name.replace("-", "_").replace(".", "_")
    values = {
        "name": name,
        "module": module,
        "group": ADAPTERS,
        "registry": registry,
        "package": package,
        "helper": "node_program" if npm else "python_program",
        "program": program or (f"{released}/cli.js" if npm else released.replace("-", "_")),
        "where": "The program below node_modules: `bin` in the package.json of the package names it."
        if npm
        else "The module that `python -m` starts: entry_points.txt of the package names it.",
        "dialects": f"({dialect_names},)" if len(set(dialects)) == 1 else f"({dialect_names})",
    }
    texts = {"pyproject.toml": _PROJECT, f"{module}.py": _ADAPTER, f"test_{module}.py": _TEST, "README.md": _README}
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        write_whole(directory / file, text.format(**values).encode())
    return [directory / file for file in texts]
