"""A plugin of pytest: the tests use the helper that an environment variable names, such as one with sanitizers."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.execute.sandbox.bubblewrap import init_protocol

HELPER = "PROCTOR_TEST_HELPER"


def pytest_configure() -> None:
    """Put the other helper in the place of the usual one."""
    init_protocol.PROGRAM = Path(os.environ[HELPER])
