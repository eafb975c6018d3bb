"""Ordinary package clients, run outside the sandbox: with the machine's own settings, a few tries, one clear message.

Clients see the environment of the harness, because mirrors, proxies and certificates are configured there, but none
of the variables that steer a Python interpreter. No client is ever asked to run what a package brings.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from proctor.base.process import Completed, run
from proctor.execute.inputs.interface import NoSuchInput, Unreachable

T = TypeVar("T")

PAUSES_SECONDS: tuple[float, ...] = (1.0, 4.0)
"""How long to wait before the second and the third try."""

TIMEOUT_SECONDS = 900
MESSAGE_CHARACTERS = 300

_HINT = "check the network and the client's settings, then run the command again"
_STEERING = ("PYTHON", "VIRTUAL_ENV", "PYTEST_")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def client_environment() -> dict[str, str]:
    """The harness's environment without what steers interpreters, and with plain messages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_STEERING)}
    kept.setdefault("PATH", os.defpath)
    return kept | {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run_client(arguments: Sequence[str], directory: Path, *, stdin: bytes = b"") -> Completed:
    """Run a client in ``directory`` to its end."""
    return run(
        arguments,
        environment=client_environment(),
        directory=directory,
        stdin=stdin,
        timeout_seconds=TIMEOUT_SECONDS,
    )


def with_retries(action: Callable[[], T]) -> T:
    """The result of ``action``, tried again after a pause while what it needs is out of reach.

    An answer that a release does not exist is checked once: not every server of a registry knows every release.
    """
    denials = 0
    for pause in PAUSES_SECONDS:
        try:
            return action()
        except Unreachable:
            time.sleep(pause)
        except NoSuchInput:
            denials += 1
            if denials == 2:
                raise
            time.sleep(pause)
    return action()


def unreachable(what: str, client: str, output: bytes) -> Unreachable:
    """The one message about a client that could not get ``what``."""
    said = last_words(output)
    return Unreachable(f"could not fetch {what} with {client}" + (f": {said}" if said else ""), hint=_HINT)


def last_words(output: bytes) -> str:
    """The last line of a client's error message, bounded and without colours."""
    lines = [_COLOUR.sub("", line).strip() for line in output[-65536:].decode(errors="replace").splitlines()]
    telling = [line for line in lines if re.search(r"(?i)error\b|\berr\b|^E:|fail|could not", line)]
    chosen = (telling or [line for line in lines if line])[-1:]
    return "".join(sign for sign in "".join(chosen) if sign.isprintable())[:MESSAGE_CHARACTERS]
