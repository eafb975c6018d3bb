"""A bench for the judge: small contracts made by hand, real layers, real sandboxes, a real trace.

Debian's interpreter has no pytest, so a copy of the packages that pytest needs is shown inside at ``/opt/site``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from proctor.base.canonical import parse, sha256
from proctor.base.clock import SystemClock, system_entropy
from proctor.contract.digest import content_id, resolved
from proctor.contract.model import (
    Check,
    Contract,
    Environment,
    GitRepository,
    Hidden,
    NamedFile,
    PlacedFile,
    Task,
)
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.judging_slots import Slots
from proctor.execute.prepare import PreparedBase, base_environment
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import Entry
from proctor.execute.workspace.layer_store import Layer, LayerStore
from proctor.execute.workspace.patch import make_patch
from proctor.judge.checks.acceptance import Acceptance, accept, reference_tree
from proctor.judge.checks.inverted_tests.variant_pool import Pool
from proctor.judge.checks.inverted_tests.variant_screening import Screening
from proctor.judge.checks.judge_context import JudgeContext, free_slot
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.event import Event
from proctor.record.trace.reader import read_events
from proctor.record.trace.writer import TraceWriter

PYTEST_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py")
PYTEST = ("/usr/bin/python3", "-m", "pytest", "-q")
TREE = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": (
        "import calc\n\n\ndef test_zero():\n    assert calc.add(0, 0) == 0\n\n\n"
        "def test_add():\n    assert calc.add(1, 1) == 2\n"
    ),
}
FIXED = "def add(a, b):\n    return a + b\n"
TEST_ADD, TEST_ZERO = "tests/test_calc.py::test_add", "tests/test_calc.py::test_zero"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with pytest in it, readable by everyone."""
    place = tmp_path_factory.mktemp("site")
    for name in PYTEST_PACKAGES:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        if found.submodule_search_locations:
            shutil.copytree(Path(found.origin).parent, place / name)
        else:
            shutil.copy2(found.origin, place)
    for directory, _, files in os.walk(place):
        os.chmod(directory, 0o755)
        for file in files:
            os.chmod(os.path.join(directory, file), 0o644)
    return place


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapBackend:
    """The default way to isolate."""
    sessions = tmp_path_factory.mktemp("proctor") / "sessions"
    sessions.mkdir()
    return BubblewrapBackend(sessions)


class Judged:
    """What one acceptance left behind."""

    def __init__(self, acceptance: Acceptance, run: RunDirectory) -> None:
        self.acceptance = acceptance
        self.run = run
        self.events: list[Event] = read_events(run.events)
        self.results: dict[str, Any] = parse(run.results.read_bytes())

    def of(self, name: str) -> list[Any]:
        """The payloads of all events of a type."""
        return [event.payload for event in self.events if event.type == name]

    def patched(self) -> Any:
        """The payload of the first attempt on the patched tree; one on the base may come before it."""
        return next(payload for payload in self.of("check.finished") if payload["tree"] == "patched")

    def outcome(self, check: str = "tests") -> tuple[str, str, str]:
        """Outcome, reason and attribution of a check."""
        (decided,) = [payload for payload in self.of("check.decided") if payload["check"] == check]
        return decided["outcome"], decided["reason"], decided["attribution"]

    def why(self) -> str:
        """Everything that helps when a test does not come out as it should."""
        return "\n".join(str(payload) for payload in self.of("check.finished"))


class Workbench:
    """Makes contracts and judges patches on them."""

    def __init__(self, top: Path, site: Path, backend: BubblewrapBackend) -> None:
        self.top = top
        self.backend = backend
        self.store = LayerStore(top / "layers")
        self.directory = top / "contract"
        self.directory.mkdir()
        (self.directory / "site").symlink_to(site)
        self._count = 0
        self.slots: Slots | None = None

    def contract(self, *checks: Check, **fields: Any) -> Contract:
        """A contract with these checks; files of the tree are made by :meth:`prepared`."""
        environment = Environment(
            variables=MappingProxyType({"PYTHONPATH": "/opt/site"}),
            files=(PlacedFile(NamedFile("site", "0" * 64), "/opt/site"),),
        )
        whole: dict[str, Any] = {
            "directory": self.directory,
            "name": "calc",
            "title": "Adding subtracts",
            "kind": "bug-fix",
            "task": Task(NamedFile("issue.md", "0" * 64), "It subtracts."),
            "repository": GitRepository("nowhere", "0" * 40),
            "checks": checks or (self.check(),),
            "environment": environment,
        }
        return Contract(**{**whole, **fields})

    def check(self, **fields: Any) -> Check:
        """A pytest check of the calculator."""
        whole: dict[str, Any] = {
            "id": "tests",
            "gate": "acceptance",
            "layer": "unit",
            "run": (*PYTEST, "tests"),
            "results": "pytest",
            "must_pass": (TEST_ADD,),
            "keep_passing": (TEST_ZERO,),
            "timeout_seconds": 120,
        }
        return Check(**{**whole, **fields})

    def hidden(self, files: dict[str, str]) -> Hidden:
        """Hidden files from a directory of the contract."""
        self._count += 1
        top = self.directory / f"hidden{self._count}"
        named = []
        for name, text in sorted(files.items()):
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            named.append(NamedFile(f"{top.name}/{name}", sha256(text.encode()).removeprefix("sha256:")))
        return Hidden(directory=top.name, files=tuple(named))

    def layer(self, files: dict[str, str]) -> Layer:
        """A layer that holds ``files`` below the tree."""
        self._count += 1

        def build(content: Path) -> dict[str, Any]:
            for name, text in files.items():
                path = content / "workspace" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return {}

        return self.store.make(f"layer-{self._count}", build)

    def prepared(
        self, contract: Contract, tree: dict[str, str] | None = None, setup: dict[str, str] | None = None
    ) -> PreparedBase:
        """A contract made ready, with ``tree`` as its repository and ``setup`` as what setup added to it."""
        source = self.layer(TREE if tree is None else tree)
        return PreparedBase(
            contract=contract,
            content_id=content_id(contract),
            source=source,
            layers=(self.layer(setup), source) if setup is not None else (source,),
            environment=base_environment(contract),
            identity={"kind": "host"},
            inputs=InputCache(self.top / "inputs"),
            setup_cached=True,
        )

    def judge(
        self,
        contract: Contract,
        after: dict[str, str | bytes | None] | bytes,
        tree: dict[str, str] | None = None,
        setup: dict[str, str] | None = None,
        pool: Pool | None = None,
    ) -> Judged:
        """Judge a patch: its bytes, or what it makes of files (a text, a link's target as bytes, ``None``: gone)."""
        prepared = self.prepared(contract, tree, setup)
        patch = after if isinstance(after, bytes) else patch_of({**(TREE if tree is None else tree)}, after)
        self._count += 1
        run = RunDirectory(self.top / "runs" / f"run-{self._count}").create()
        run.write_json(run.contract, resolved(contract))
        scratch = self.top / f"scratch-{self._count}"
        scratch.mkdir()
        with TraceWriter.create(run.events, SystemClock(), system_entropy) as trace:
            slot = self.slots.hold if self.slots else free_slot
            bench = JudgeContext(
                *(prepared, self.backend, scratch, trace, run, SystemClock(), system_entropy), slot=slot, pool=pool
            )
            acceptance = accept(bench, patch)
        assert list(scratch.iterdir()) == [], "the judge leaves nothing behind"
        return Judged(acceptance, run)

    def pool(self, contract: Contract, reference: dict[str, str | bytes | None]) -> Pool:
        """The inverted tests of ``contract``, tried on ``reference``."""
        prepared = self.prepared(contract)
        self._count += 1
        run = RunDirectory(self.top / "runs" / f"pool-{self._count}").create()
        scratch = self.top / f"scratch-{self._count}"
        scratch.mkdir()
        with TraceWriter.create(run.events, SystemClock(), system_entropy) as trace:
            bench = JudgeContext(prepared, self.backend, scratch, trace, run, SystemClock(), system_entropy)
            with reference_tree(bench, patch_of({**TREE}, reference)) as scene:
                made = [Screening(bench, check, scene, 2).pool(b"nonce", 0) for check in contract.checks]
        return Pool(prepared.content_id, tuple(replace(one, round_ms=0) for one in made))  # whatever a round takes here


def patch_of(tree: dict[str, str], after: dict[str, str | bytes | None]) -> bytes:
    """The patch that turns ``tree`` into one where ``after`` holds."""
    old = {name.encode(): (0o100644, text.encode()) for name, text in tree.items()}
    new: dict[bytes, tuple[int, bytes] | None] = {}
    for name, content in after.items():
        if content is None:
            new[name.encode()] = None
        elif isinstance(content, bytes):
            new[name.encode()] = (0o120000, content)
        else:
            new[name.encode()] = (0o100644, content.encode())

    def entry(path: bytes, found: tuple[int, bytes] | None) -> Entry | None:
        return found and Entry(path, found[0], len(found[1]), sha256(found[1]).removeprefix("sha256:"))

    changes = []
    for path, found in sorted(new.items()):
        before = entry(path, old.get(path))
        kind = "deleted" if found is None else "modified" if before else "added"
        changes.append(Change(path, kind, before, entry(path, found)))
    return make_patch(Changes(tuple(changes)), lambda path: old[path][1], lambda path: (new[path] or (0, b""))[1])


@pytest.fixture
def bench(tmp_path: Path, site: Path, backend: BubblewrapBackend) -> Iterator[Workbench]:
    """A workbench of one's own."""
    tmp_path.chmod(0o755)
    yield Workbench(tmp_path, site, backend)


@pytest.fixture
def with_checks() -> Callable[..., Contract]:
    """Changes some fields of a contract."""
    return replace
