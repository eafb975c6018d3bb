"""What holds for every test: Proctor's home is a temporary one, and property tests draw the same examples each time.

A test that looks at what stands in the home points ``PROCTOR_HOME`` at a directory of its own.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings

from tests.forked import Server, interpret, serving
from tests.session import Session, open_session
from tools.build_hook import compile_helper, is_helper_outdated

settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("repeatable")

SESSION = pytest.StashKey[Session]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give the session a temporary directory of its own; workers work in that of the process that started them.

    A helper that is older than its sources is compiled again first.
    """
    if not hasattr(config, "workerinput") and is_helper_outdated():
        compile_helper()
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        stack = ExitStack()
        config.add_cleanup(stack.close)
        config.stash[SESSION] = session = stack.enter_context(open_session())
        config.option.basetemp = str(session.base)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What tests that failed have written is kept until the next session."""
    if SESSION in session.config.stash:
        session.config.stash[SESSION].passed = exitstatus == 0


@pytest.fixture(scope="session", autouse=True)
def _temporary_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing in the user's home is seen or left behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROCTOR_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("PYTHONPATH", raising=False)
        yield


@pytest.fixture
def shared_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that all workers of a session share: each contract is fetched, set up and given variants once."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-home"
    monkeypatch.setenv("PROCTOR_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the source tree."""
    return Path(__file__).resolve().parent.parent


class ContractMaker:
    """Writes small contracts: a module with a bug, a check that shows it, and whatever a test changes about them."""

    FILES: ClassVar[dict[str, str]] = {
        "calc.py": "def add(a, b):\n    return a - b\n",
        "README.md": "A calculator.\n",
        "tests/test_calc.py": "import calc\nassert calc.add(0, 0) == 0\n",
    }
    CHECK: ClassVar[dict[str, Any]] = {
        "id": "adds",
        "gate": "acceptance",
        "run": ["/usr/bin/python3", "-c", "import calc; assert calc.add(2, 2) == 4"],
        "timeout_seconds": 60,
    }
    FIX = (
        "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
        "-    return a - b\n+    return a + b\n"
    )

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, name: str = "small", *, files: dict[str, str] | None = None, **parts: Any) -> Path:
        """A contract directory; ``parts`` replace whole top-level parts of the contract, ``None`` leaves one out."""
        place = self.directory / name
        place.mkdir(parents=True)
        archive = place / "repository.tar"
        with tarfile.open(archive, "w") as tar:
            for path, text in {**self.FILES, **(files or {})}.items():
                data = text.encode()
                member = tarfile.TarInfo(path)
                member.size, member.mode = len(data), 0o644
                tar.addfile(member, io.BytesIO(data))
        (place / "issue.md").write_text("add() subtracts.\n")
        (place / "fix.patch").write_text(self.FIX)
        whole: dict[str, Any] = {
            "schema": 1,
            "contract": {"name": name, "title": "Adding subtracts", "kind": "bug-fix"},
            "task": {"issue": "issue.md"},
            "repository": {"archive": "repository.tar", "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()},
            "budget": {"wall_seconds": 60, "memory_bytes": 1 << 30},
            "checks": [self.CHECK],
            "reference": {"patch": "fix.patch"},
        }
        whole |= parts
        kept = {key: value for key, value in whole.items() if value is not None}
        (place / "contract.yaml").write_text(json.dumps(kept, indent=1))
        return place


@pytest.fixture
def make_contract(tmp_path: Path) -> ContractMaker:
    """Makes contracts below the test's own directory."""
    return ContractMaker(tmp_path / "contracts")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Has the command line loaded, and forks for each command."""
    with serving() as server:
        yield server


@pytest.fixture
def proctor(tmp_path: Path, server: Server) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line in a process of its own with a home of the test's own."""

    def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PROCTOR_HOME": str(tmp_path / "home"), **variables}
        run = interpret if "PYTHONPATH" in environment else server.run
        return run([*map(str, arguments)], directory=tmp_path, environment=environment, seconds=300)

    return run
