"""``proctor``: finds the command, loads only that one, and turns errors into messages and exit codes.

Exit codes: 0 yes, 1 a negative verdict, 2 usage or a bad contract, 3 infrastructure, 4 integrity, 130 interrupted,
141 if the reader of the output has gone, as shells report it of programs that SIGPIPE ends.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from proctor import __version__

NO_READER = 141
COMMANDS = {
    "demo": "the whole story on a bundled repository, offline",
    "init": "start a new contract",
    "lint": "check a contract and point at what it leaves open",
    "lock": "resolve a contract's inputs to files and digests",
    "validate": "the no-op must fail and the reference must pass",
    "strength": "how many faults in the known solution the checks notice",
    "run": "let an agent attempt contracts",
    "runs": "list runs",
    "show": "show a contract or a run",
    "trace": "print the events of a run",
    "verify": "check that a run's evidence is whole",
    "attest": "sign a run",
    "prove": "show one event of a run without the rest, or check such a proof",
    "keys": "keys that sign runs",
    "rescore": "compute a run's report again from its evidence",
    "replay": "repeat a run from its evidence: decisions, acceptance, commands or the whole of it",
    "compare": "what makes runs incomparable, and how they came out",
    "cost": "what a run cost, item by item",
    "prices": "make a price table",
    "analyse": "rank the agents in anyone's table of results",
    "query": "ask SQL about all runs",
    "decide": "answer a run that waits for an operator; stop, pause or resume a run",
    "review": "runs that a human should look at, verdicts on them, and agreement",
    "pilot": "a comparison that is planned, frozen, run in stages and reported",
    "taxonomy": "the kinds of failures that reports tag",
    "rubric": "gates, weights and scores, and how much a ranking owes to the weights",
    "agents": "list the kinds of agents",
    "image": "base images for containers, pinned by their layers",
    "retain": "move a run to another retention tier, with an approval",
    "redact": "take secrets out of a text, or say where they are",
    "vault": "originals of redacted secrets, for those who may read them",
    "schema": "print the JSON Schema of contracts or of pilots",
    "doctor": "what this machine can isolate, and how to get the rest",
    "clean": "sweep what dead runs left, or drop the caches",
}


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
        module = import_module(f"proctor.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; proctor --help lists the commands"
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx) from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with: proctor demo",
)
@click.version_option(__version__, prog_name="proctor")
def group() -> None:
    """Evaluate coding agents on real repositories by executable contracts."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its code."""
    leave(run_command(arguments))


def leave(code: int) -> NoReturn:
    """End the process with ``code``.

    The interpreter's own way out takes everything apart piece by piece, which is a tenth of a short run; what is still
    here goes with the process.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Nothing but a message reaches the user when it fails.

    A command whose output no one reads any more, as in ``proctor trace RUN | head``, ends without a message.
    """
    try:
        return _run(arguments)
    except (BrokenPipeError, Broken) as error:
        return NO_READER if _reader_is_gone() else _defect(error)


def _reader_is_gone() -> bool:
    """Whether standard output or standard error leads to a pipe that is closed at its other end."""
    streams = select.poll()
    for stream in (1, 2):
        streams.register(stream, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in streams.poll(0))


def _run(arguments: Sequence[str] | None) -> int:
    from proctor.base.errors import ProctorError

    try:
        code = group.main(arguments, prog_name="proctor", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        return _say("stopped", 130)
    except KeyboardInterrupt:
        return _say("stopped", 130)
    except (BrokenPipeError, Broken):
        raise
    except ProctorError as error:
        return _say(str(error), error.exit_code)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _say(f"{error.strerror}\n  make room and start again; what was finished is kept", 3)
        if error.filename is None:
            return _defect(error)
        return _say(f"{os.fsdecode(error.filename)}: {error.strerror}", 3)
    except Exception as error:  # the process boundary: one message instead of a traceback
        return _defect(error)


def _defect(error: Exception) -> int:
    if os.environ.get("PROCTOR_DEBUG"):
        raise error
    return _say(f"{type(error).__name__}: {error}\n  this is a defect of Proctor; PROCTOR_DEBUG=1 shows more", 3)


def _say(message: str, code: int) -> int:
    click.echo(f"proctor: {message}", err=True)
    return code
