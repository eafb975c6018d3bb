"""An engine for each kind that a test asks for, and a backend on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.execute.sandbox.container.backend import ContainerBackend
from tests.execute.sandbox.container.engines import KINDS, layers, running_engine

MakeBackend = Callable[[Path], ContainerBackend]


@pytest.fixture(scope="session", params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The socket of a running engine of each kind in turn."""
    return running_engine(request.param, tmp_path_factory.getbasetemp().parent)


@pytest.fixture(scope="session")
def image(engine: str) -> tuple[str, ...]:
    """The digests of the test image's layers."""
    return layers(engine)


@pytest.fixture
def make_backend(engine: str, image: tuple[str, ...]) -> MakeBackend:
    """Makes backends that keep their records below a given directory."""
    return lambda top: ContainerBackend(top / "sessions", engine, image)
