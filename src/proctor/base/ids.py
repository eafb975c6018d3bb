"""Names for runs: sortable by time, unique, safe as file names."""

from __future__ import annotations

import re
import time

from proctor.base.clock import NANOSECONDS, Clock, Entropy

RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{10}\Z")
SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")


def new_run_id(clock: Clock, entropy: Entropy) -> str:
    """A new id such as ``20260307T120000-0123456789``."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(clock.wall_ns() // NANOSECONDS))
    return f"{stamp}-{entropy(5).hex()}"
