"""Where bubblewrap is: the file that ``PROCTOR_BWRAP`` names, or the first ``bwrap`` on ``PATH``.

The path is always absolute and free of links. Relative entries of ``PATH`` are skipped: they would let the working
directory, which may be a repository of unknown origin, choose the program that isolates.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from proctor.base.errors import MissingIsolation
from proctor.execute.sandbox.bubblewrap.view import STAGE

VARIABLE = "PROCTOR_BWRAP"
NAME = "bwrap"
INSTALL = f"apt-get install bubblewrap, or set {VARIABLE} to its absolute path"


def find_bubblewrap(variables: Mapping[str, str]) -> str:
    """The absolute path of bubblewrap; :class:`MissingIsolation` if there is none."""
    named = variables.get(VARIABLE, "")
    if named and not os.path.isabs(named):
        raise MissingIsolation(f"{VARIABLE} is not an absolute path", where=named, hint="write the whole path")
    if named and not _is_program(named):
        raise MissingIsolation(f"the file that {VARIABLE} names is not a program", where=named, hint=INSTALL)
    if named:
        return _visible(named)
    for directory in variables.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, NAME)
        if os.path.isabs(directory) and _is_program(path):
            return _visible(path)
    raise MissingIsolation("bubblewrap is not installed: no bwrap on PATH", hint=INSTALL)


def _visible(path: str) -> str:
    """``path`` without links; one below the directory that is mounted over before bubblewrap starts is refused."""
    real = os.path.realpath(path)
    if real.startswith(f"{STAGE}/"):
        raise MissingIsolation(
            f"bubblewrap is below {STAGE} and cannot be started from there", where=real, hint="move it elsewhere"
        )
    return real


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
