"""What holds for every test: Proctor's home is a temporary one, and property tests draw the same examples each time.

A test that looks at what stands in the home points ``PROCTOR_HOME`` at a directory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def _temporary_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing in the user's home is seen or left behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROCTOR_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("PYTHONPATH", raising=False)
        yield


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the source tree."""
    return Path(__file__).resolve().parent.parent
