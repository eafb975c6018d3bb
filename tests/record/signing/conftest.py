"""A signed run and its key, made in milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.record.run_directory import RunDirectory
from proctor.record.signing.attestation import attest
from proctor.record.signing.keys import create_key, load_private


@pytest.fixture
def signing(tmp_path: Path) -> Path:
    """The private half of a new key; the public one ends in ``.pub``."""
    create_key(tmp_path / "lab.key", tmp_path / "lab.pub")
    return tmp_path / "lab.key"


@pytest.fixture
def signed(make_run: Any, signing: Path) -> RunDirectory:
    """A finished run with an attestation."""
    run: RunDirectory = make_run.sealed()
    attest(run, load_private(signing))
    return run
