"""``proctor``: finds the command, loads only that one, and turns errors into messages and exit codes.

Exit codes: 0 yes, 1 a negative verdict, 2 usage or a bad contract, 3 infrastructure, 4 integrity, 130 interrupted,
141 if the reader of the output has gone, as shells report it of programs that SIGPIPE ends.
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from proctor import __version__
from proctor.base.errors import ContractError, ProctorError, UsageFault, missing_extra
from proctor.cli.terminal import echo, has_colour, printable

NO_READER = 141
JSON: ContextVar[bool] = ContextVar("json", default=False)
"""Whether the command was called with ``--json``: errors are then JSON, too, on standard error."""
LEAST_FREE_BYTES = 1 << 20
"""A place with less free space is reported as full, after a write has failed."""
SECTIONS = {
    "Start": {
        "demo": "Run three agents on a bundled task, offline; one of them cheats.",
        "doctor": "Test what this machine can isolate, and list what is missing.",
        "init": "Write a new contract, from scratch or from a known fix.",
    },
    "Tasks": {
        "mine": "Make contracts from the fixes in the history of a repository.",
        "import": "Import tasks of other benchmarks as contracts.",
        "lint": "Check contracts and report every mistake with its line.",
        "lock": "Pin the inputs of a contract by their digests.",
        "validate": "Check that the no-op fails and the reference passes.",
        "strength": "Measure how many faults the checks of a contract notice.",
    },
    "Runs": {
        "run": "Run agents on contracts.",
        "runs": "List runs.",
        "show": "Show a contract or a run.",
        "trace": "Print the events of a run.",
        "compare": "List the differences between runs, and their results.",
        "cost": "Itemise the cost of runs.",
        "replay": "Repeat decisions, acceptance, commands or all of a run.",
        "rescore": "Compute the report of a run again and compare the two.",
    },
    "Studies": {
        "pilot": "Plan, run and report a comparison of agents.",
        "analyse": "Rank the agents in a table of results.",
        "export": "Write contracts and runs in the formats of other tools.",
        "query": "Query all runs in SQL.",
        "review": "List runs that need a review, and record verdicts on them.",
        "decide": "Answer, stop, pause or resume a run as an operator.",
    },
    "Evidence": {
        "verify": "Check that the evidence of runs is complete and unchanged.",
        "attest": "Sign a run.",
        "prove": "Prove that an event is part of a run, or check a proof.",
        "keys": "Manage the keys that sign runs.",
        "redact": "Replace the secrets in a text, or list them.",
        "retain": "Remove the contents of a run for good; keep its results.",
        "vault": "Manage the originals of redacted secrets.",
    },
    "Administration": {
        "agents": "List, install and describe agents.",
        "image": "Build, load and list container images.",
        "prices": "Make price tables.",
        "clean": "Remove what interrupted runs left behind, and caches.",
        "schema": "Print the JSON Schema of an input file or of a stored record.",
        "taxonomy": "List the kinds of failures that reports name.",
        "rubric": "Print the gates, weights and scores.",
        "completion": "Print a completion script for bash, zsh or fish.",
    },
}
"""The commands by section, in the order of the help, each with the first paragraph of its own help."""

COMMANDS = {name: text for commands in SECTIONS.values() for name, text in commands.items()}


def command_module(name: str) -> str:
    """The module of a command; one whose name Python reserves ends in an underscore."""
    return f"proctor.cli.{name}{'_' * iskeyword(name)}"


class Broken(Exception):
    """A broken pipe, under a name that click does not know: click would leave with the code of a negative verdict."""


@contextmanager
def _past_click() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise Broken(str(error)) from error


class Commands(click.Group):
    """The commands by name; each is imported when it is called."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _past_click():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _past_click():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(command_module(cmd_name))
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; proctor --help lists the commands"
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx) from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: proctor demo",
)
@click.version_option(__version__, prog_name="proctor")
def group() -> None:
    """Evaluate coding agents on real repositories, by executable contracts.

    `proctor COMMAND --help` describes a command, with an example.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its code."""
    _open_closed_streams()
    sys.exit(run_command(arguments))


def _open_closed_streams() -> None:
    """Let closed standard streams lead to /dev/null.

    Otherwise the next file that is opened gets the number of such a stream, and what is written to the stream by its
    number ends up in that file, which may be evidence.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number, which is this one
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Nothing but a message reaches the user when it fails.

    A command whose output no one reads any more, as in ``proctor trace RUN | head``, ends without a message.
    """
    before = JSON.set("--json" in (sys.argv[1:] if arguments is None else arguments))
    try:
        return _run(arguments)
    except (BrokenPipeError, Broken) as error:
        return NO_READER if _reader_is_gone() else _defect(error)
    finally:
        JSON.reset(before)


def _reader_is_gone() -> bool:
    """Whether standard output or standard error leads to a pipe that is closed at its other end."""
    streams = select.poll()
    for stream in (1, 2):
        streams.register(stream, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in streams.poll(0))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = group.main(arguments, prog_name="proctor", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _usage(error)
    except click.Abort:
        return _say("stopped", 130)
    except KeyboardInterrupt:
        return _say("stopped", 130)
    except (BrokenPipeError, Broken):
        raise
    except ProctorError as error:
        return _say(error, error.exit_code)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _say(_out_of_space(error), 3)
        if error.filename is None:
            return _defect(error)
        return _say(f"{os.fsdecode(error.filename)}: {error.strerror}", 3)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        return _say(missing, missing.exit_code) if missing else _defect(error)
    except Exception as error:  # the process boundary: one message instead of a traceback
        return _defect(error)


def _out_of_space(error: OSError) -> str:
    """The message for a full disk, with the file, or else with every directory of Proctor that is full."""
    hint = "free some space and start again; finished runs are kept"
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: out of space: {error.strerror}\n  {hint}"
    home = os.environ.get("PROCTOR_HOME") or os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~")
    full = [place for place in dict.fromkeys((home, os.environ.get("TMPDIR", "/tmp"), os.curdir)) if _is_full(place)]
    return f"out of space: {', '.join(full) or error.strerror}\n  {hint}"


def _is_full(place: str) -> bool:
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < LEAST_FREE_BYTES or (found.f_files > 0 and found.f_favail == 0)


def _defect(error: Exception) -> int:
    if os.environ.get("PROCTOR_DEBUG"):
        raise error
    return _say(f"{type(error).__name__}: {error}\n  this is a defect of Proctor; PROCTOR_DEBUG=1 shows more", 3)


def _usage(error: click.ClickException) -> int:
    if JSON.get():
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"{context.command_path} --help" if context is not None else ""
        return _say(UsageFault(error.format_message(), hint=hint), 2)
    error.show()
    return 2


def _say(message: str | ProctorError, code: int) -> int:
    if JSON.get():
        error = message if isinstance(message, ProctorError) else ProctorError(*message.split("\n  ", 1)[:1])
        hint = error.hint or (str(message).partition("\n  ")[2] if isinstance(message, str) else "")
        answer = {"message": error.message, "where": error.where, "hint": hint, "exit_code": code}
        answer |= {"mistakes": [asdict(one) for one in error.mistakes]} if isinstance(error, ContractError) else {}
        click.echo(json.dumps({"kind": "error", "schema": 1, **answer}, sort_keys=True), err=True)
        return code
    name = click.style("proctor:", fg="red") if has_colour(sys.stderr) else "proctor:"
    echo(f"{name} {printable(str(message))}", err=True)
    return code
