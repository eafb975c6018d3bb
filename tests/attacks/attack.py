"""What an attack on a sandbox is, for the tables beside this file: a program, what holds it, and what is told of it.

A program runs inside and prints what became of it. It is contained when it prints one of ``answers`` (``*``: whatever
it says, since only what is found outside counts) or dies by ``dies_of``. It is recorded when an observation of ``kind``
has every field of ``told``. An attack that is ``unrecorded`` says why; docs/risks.md names each of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PRELUDE = """
import ctypes, errno, os, signal, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return errno.errorcode.get(ctypes.get_errno(), "none") if result < 0 else "allowed"
def attempt(action):
    try:
        action()
        print("allowed")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""

SECRET = "the host's own secret"
MARK = "987654.25"
"""What processes that an attack leaves behind have in their command line."""


@dataclass(frozen=True)
class Attack:
    """One attack; ``{secret}``, ``{abstract}`` and ``{canary}`` in a program stand for things that the arena has."""

    name: str
    program: str
    answers: tuple[str, ...] = ("EPERM",)
    code: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "attempt"
    dies_of: int = 0
    held: bool = False
    """Tried while changes of the workspace are held, as in the stage that only reads."""
    unrecorded: str = ""

    def agrees(self, observation: Any) -> bool:
        """Whether an observation is the one that this attack has to leave."""
        return (
            observation.kind == self.kind
            and observation.code == self.code
            and all(getattr(observation, name) == value for name, value in self.told.items())
        )


def attack(name: str, program: str, answers: str, code: str = "", **fields: Any) -> Attack:
    """A row of a table: ``answers`` are words; fields that :class:`Attack` lacks are what is told."""
    own = {name: fields.pop(name) for name in ("kind", "dies_of", "held", "unrecorded") if name in fields}
    return Attack(name, program, tuple(answers.split()), code, fields, **own)
