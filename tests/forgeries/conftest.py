"""The contracts and the forgeries are material: nothing below their directories is a test of this project."""

from pathlib import Path

import pytest

collect_ignore = ["code", "contracts"]


@pytest.fixture(autouse=True)
def _one_home(shared_home: Path) -> None:
    """Forgeries of one contract use the same pool of variants."""
