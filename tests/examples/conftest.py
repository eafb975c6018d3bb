"""Commands on the examples use one home: each example is fetched and set up once."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _one_home(shared_home: Path) -> None:
    """Runs of all workers are in the same home."""
