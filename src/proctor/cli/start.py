"""Where the program ``proctor`` begins: with an interpreter set for short commands, and modules already compiled."""

from __future__ import annotations

import gc
import os
import sys

import proctor
from proctor.base.modules import kept_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

GARBAGE = (100_000, 20, 20)
"""Starting up makes many objects and drops few; looking for garbage every 700 of them would be a tenth of it."""

SWITCH_SECONDS = 0.0002
"""How long one thread may keep the others waiting. They come back from the kernel often and have little to do then."""


def main() -> NoReturn:
    """Run the command that the command line names."""
    gc.set_threshold(*GARBAGE)
    sys.setswitchinterval(SWITCH_SECONDS)
    kept = kept_modules(os.path.dirname(proctor.__file__), "click")
    sys.meta_path.insert(0, kept)
    from proctor.base.late import load_later

    load_later()
    from proctor.cli.main import leave, run_command

    code = run_command()
    try:
        kept.keep(list(sys.modules.values()))
    finally:
        leave(code)  # the command is done, whatever becomes of the next one's modules
