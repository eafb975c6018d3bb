"""Where the program begins, and that it ends as its command did."""

from __future__ import annotations

import subprocess
import sys

ENDS = r"""
import sys
from proctor.base.modules import KeptModules

def interrupted(self, modules):
    raise KeyboardInterrupt

KeptModules.keep = interrupted
from proctor.cli.start import main

sys.argv = ["proctor", *sys.argv[1:]]
main()
"""


def test_an_interrupt_after_a_command_does_not_change_how_it_ended() -> None:
    good = subprocess.run([sys.executable, "-c", ENDS, "--version"], capture_output=True, text=True, check=False)
    bad = subprocess.run([sys.executable, "-c", ENDS, "nonsense"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr, bad.returncode) == (0, "", 2)
    assert "Interrupt" not in bad.stderr
