"""Take away what runs of dead harnesses left: processes, cgroups, scratch directories. Evidence stays."""

from __future__ import annotations

import sys

from proctor.base.owned import sweep_unowned
from proctor.execute.home import Home
from proctor.execute.sandbox.sessions import sweep


def sweep_home(home: Home) -> list[str]:
    """Sweep, and say what was removed. Sandboxes exist on Linux only."""
    removed = sweep(home.sessions) if sys.platform == "linux" else []
    removed += [f"scratch directory {name}" for name in sweep_unowned(home.scratch)]
    return removed
