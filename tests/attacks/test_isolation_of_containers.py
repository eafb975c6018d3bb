"""The same attacks on containers, with Docker and with podman; root alone may ask an engine for one."""

from __future__ import annotations

import pytest

from proctor.execute.sandbox.container.backend import ContainerBackend
from tests.attacks.test_isolation import attack_all
from tests.execute.sandbox.container.engines import KINDS, layers, running_engine

pytestmark = pytest.mark.container


@pytest.mark.parametrize("kind", KINDS)
def test_attacks_on_containers(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    engine = running_engine(kind, tmp_path_factory.getbasetemp().parent)
    attack_all(kind, "root", lambda top: ContainerBackend(top / "sessions", engine, layers(engine)))
