"""``proctor completion``: print a completion script.

The scripts and the answers to them are click's. A shell asks by calling ``proctor`` with ``_PROCTOR_COMPLETE`` set, and
the answer comes before any command runs; only the module of the command on the line is imported.
"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from proctor.cli.output import examples

VARIABLE = "_PROCTOR_COMPLETE"
"""The variable by which a shell asks for completions; click derives the same name from the name of the program."""

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(
    epilog=examples(
        "completion bash > ~/.local/share/bash-completion/completions/proctor",
        "completion zsh > ~/.zfunc/_proctor",
        "completion fish > ~/.config/fish/completions/proctor.fish",
    )
)
@click.argument("shell", type=click.Choice([*SHELLS]))
def command(shell: str) -> None:
    """Print a completion script for bash, zsh or fish.

    The shell then completes commands, options, their values, files and the ids of runs. Bash needs version 4.4 or
    newer. `eval "$(proctor completion bash)"` enables completion in the current shell.
    """
    root = click.get_current_context().find_root().command
    click.echo(SHELLS[shell](root, {}, "proctor", VARIABLE).source())
