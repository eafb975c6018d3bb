"""A run of a real agent, repeated: nothing may differ."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable

REPEATS = int(os.environ.get("PROCTOR_REPLAYS", "1"))
"""How often each replay is made."""


def assert_replays(proctor: Callable[..., subprocess.CompletedProcess[str]], run: str) -> None:
    """``run`` replays with its model and with its tools as often as asked for, and no difference is named."""
    for depth, name in (("--model", "difference"), ("--tools", "divergence")):
        for _ in range(REPEATS):
            done = proctor("replay", run, depth, "--json")
            assert done.stdout, done.stderr
            told = json.loads(done.stdout)
            assert (done.returncode, told["base"], told[name]) == (0, [], ""), told
