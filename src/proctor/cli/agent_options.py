"""The options of agents on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from proctor.execute.agents.options import EFFORTS

_OPTIONS = (
    click.option("--name", "agent_name", default=None, help="The agent's name in tables and reports."),
    click.option("--effort", type=click.Choice(EFFORTS), default=None, help="The reasoning effort of the model."),
    click.option("--temperature", default="", help="The temperature of the model's answers."),
    click.option(
        "--small-model", default="", help="A second model of the same provider, for small tasks of the agent."
    ),
    click.option("--rules", multiple=True, help="A file of instructions for the agent, such as an AGENTS.md."),
    click.option("--skills", default="", help="A directory of skills, each a directory with a SKILL.md."),
    click.option("--agent-arg", multiple=True, help="An argument for the agent's program; can be given several times."),
    click.option(
        "--agent-env", multiple=True, help="NAME=VALUE, a variable for the agent's program; can be given several times."
    ),
)


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
