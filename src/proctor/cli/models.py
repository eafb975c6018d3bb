"""The options that say which model agents use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from proctor.conduct.session.models import ALL_DIALECTS, REDACTIONS

_OPTIONS = (
    click.option(
        "--model",
        "models",
        multiple=True,
        help="PROVIDER/NAME, such as openai/NAME; with several, each agent runs with each.",
    ),
    click.option(
        "--endpoint",
        multiple=True,
        help="The base URL of the model's provider, with any path and query; MODEL=URL for one model of several. "
        "--key-env, --key-file and --dialect can be given for one model in the same way.",
    ),
    click.option("--key-env", multiple=True, help="The environment variable with the key, which the agent never sees."),
    click.option("--key-file", multiple=True, help="A file with the key, which the agent never sees."),
    click.option("--dialect", multiple=True, help=f"The API of the model: {', '.join(ALL_DIALECTS)}."),
    click.option("--script", default="", help="With --model scripted/NAME: the YAML file of its answers."),
    click.option("--cassette", default="", help="Answer from the recorded calls of this run, without a provider."),
    click.option(
        "--provider-tools",
        type=click.Choice(["strip", "refuse", "allow"]),
        default="strip",
        show_default=True,
        help="What to do with tools that the provider itself would run, such as web search.",
    ),
    click.option(
        "--unknown-fields",
        type=click.Choice(["strip", "refuse", "pass"]),
        default="strip",
        show_default=True,
        help="What to do with unknown fields of a model request.",
    ),
    click.option(
        "--output-tokens",
        type=click.IntRange(1, 1_000_000),
        default=None,
        help="Maximum tokens of an answer, for requests that name none.  [default: none, unless the budget needs one]",
    ),
    click.option(
        "--provider-wait",
        type=click.IntRange(1, 86_400),
        default=None,
        help="Maximum seconds that a run waits for a silent provider; they do not count as time of the agent.  "
        "[default: wall_seconds of the contract, at most 1800]",
    ),
    click.option(
        "--redact",
        type=click.Choice(REDACTIONS),
        default=None,
        help="Record the conversation without secrets (spans) or without any text (all), and no cassette; digests and "
        "lengths stay.",
    ),
    click.option("--secrets", default="", help="With --redact spans: a file of regular expressions, one per line."),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
