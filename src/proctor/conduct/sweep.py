"""Take away what runs of dead harnesses left: processes, cgroups, scratch directories. Evidence stays."""

from __future__ import annotations

from proctor.base.owned import sweep_unowned
from proctor.execute.home import Home
from proctor.execute.sandbox.sessions import sweep


def sweep_home(home: Home) -> list[str]:
    """Sweep, and say what was removed."""
    removed = sweep(home.sessions)
    removed += [f"scratch directory {name}" for name in sweep_unowned(home.scratch)]
    return removed
