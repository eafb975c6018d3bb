"""The home that a call of the front door uses."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from proctor.conduct.machine import Machine
from proctor.conduct.session.opening import open_machine
from proctor.execute.home import Home

AnyHome = Home | Path | str | None
"""A home, its directory, or nothing for the one that the environment names."""


def home_of(home: AnyHome = None) -> Home:
    """The home at a directory; without one, that of ``PROCTOR_HOME`` or the user's usual one."""
    if isinstance(home, Home):
        return home
    if home is None:
        return Home.from_environment(os.environ)
    return Home.from_environment({"PROCTOR_HOME": str(Path(home).absolute())})


def machine_of(home: AnyHome, judge_slots: int | None = None) -> Machine:
    """What makes runs with this home; a home that other users can change is a warning."""
    return open_machine(home_of(home), judge_slots, lambda problem: warnings.warn(problem, stacklevel=4))
