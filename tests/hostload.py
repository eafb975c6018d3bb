"""Load beside sandboxes, as other users of a machine make it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOOP = "while True: pass"


@contextmanager
def load() -> Iterator[None]:
    """Programs that use every processor, each with a much higher priority than a sandbox."""
    urgent = f"import os; os.setpriority(os.PRIO_PROCESS, 0, -20)\n{LOOP}"
    count = 8 * len(os.sched_getaffinity(0))
    children = [subprocess.Popen([sys.executable, "-c", urgent], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()
