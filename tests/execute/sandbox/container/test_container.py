"""The container backend keeps every promise of the interface, with Docker and with podman."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from proctor.base.errors import InfrastructureFault, MissingIsolation, UsageFault
from proctor.cli.image import command
from proctor.execute.requirements import container_engine
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.interface import Limits, SandboxPlan, Tree
from tests.execute.sandbox.conformance import CHECKS, Check
from tests.execute.sandbox.container.conftest import MakeBackend
from tests.execute.sandbox.workplace import (
    ORDINARY,
    as_ordinary_user,
    layer,
    open_directory,
    opened,
    overlay,
    python,
    shell,
)

pytestmark = pytest.mark.container

NOWHERE = ("sha256:" + "0" * 64,)


def mounts_below(top: Path) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {top}/" in line]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_keeps_its_promise(check: Check, make_backend: MakeBackend) -> None:
    with open_directory() as top:
        check(make_backend(top), top)
        assert mounts_below(top) == []


def test_an_image_is_pinned_by_its_layers_alone(engine: str, tmp_path: Path) -> None:
    plan = SandboxPlan(Tree(layer(tmp_path / "tree")), Limits())
    with pytest.raises(MissingIsolation, match="no image with the layers"):
        ContainerBackend(tmp_path / "sessions", engine, NOWHERE).open(plan)
    for name in ("proctor-test", "proctor-test:latest", "sha256:12"):
        with pytest.raises(UsageFault, match="digests of its layers"):
            ContainerBackend(tmp_path / "sessions", engine, (name,))


def test_a_workspace_that_cannot_be_mounted_says_why(make_backend: MakeBackend, tmp_path: Path) -> None:
    with pytest.raises(MissingIsolation, match="absent: No such file"):
        make_backend(tmp_path).open(SandboxPlan(overlay(tmp_path, tmp_path / "absent"), Limits()))
    assert list((tmp_path / "sessions").iterdir()) == []


def test_memory_that_outlives_its_process_ends_the_sandbox_and_is_told(
    make_backend: MakeBackend, tmp_path: Path
) -> None:
    """Shared memory of System V stays when its maker is gone; pid 1 is then the last one that can be killed."""
    segment = (
        "import ctypes\nl = ctypes.CDLL(None); l.shmat.restype = ctypes.c_void_p\n"
        "while True:\n i = l.shmget(0, 8 << 20, 0o1600); a = l.shmat(i, None, 0)\n ctypes.memset(a, 1, 8 << 20)"
    )
    with opened(make_backend(tmp_path), tmp_path, Limits(memory_bytes=96 << 20)) as sandbox:  # type: ignore[arg-type]
        finished = python(sandbox, segment)
        assert finished.exit_code == -9 and finished.started


def test_limits_bound_memory_processes_and_files(make_backend: MakeBackend, tmp_path: Path) -> None:
    limits = Limits(memory_bytes=192 << 20, processes=40, file_bytes=8 << 20, tmp_bytes=16 << 20, open_files=128)
    forks = (
        "import os, time\nmade = 0\nfor _ in range(1000):\n try:\n  if os.fork() == 0: time.sleep(1000)\n  made += 1\n"
        " except BlockingIOError: break\nprint(made)"
    )
    with opened(make_backend(tmp_path), tmp_path, limits) as sandbox:  # type: ignore[arg-type]
        assert 30 <= int(python(sandbox, forks).stdout.prefix) <= 40
        sandbox.end_all()
        assert python(sandbox, "b = []\nwhile True: b.append(bytearray(1 << 20))").exit_code in (-9, 1)
        usage = sandbox.usage()
        assert usage.oom_kills and usage.memory_peak_bytes and usage.memory_peak_bytes <= limits.memory_bytes
        for place in ("/tmp", "/home/agent", "/dev/shm"):
            fill = f"cd {place} && for i in 1 2 3 4 5; do head -c 8000000 /dev/zero > f$i || break; done; rm f*"
            assert b"No space left" in shell(sandbox, fill).stderr.prefix
        big = "head -c 20000000 /dev/zero > /workspace/big; stat -c %s /workspace/big; ulimit -n; ulimit -c"
        assert shell(sandbox, big).stdout.prefix == b"%d\n128\n0\n" % limits.file_bytes


def test_a_helper_that_was_not_built_is_a_fault(
    make_backend: MakeBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make_backend(tmp_path)
    tree = layer(tmp_path / "tree")
    with monkeypatch.context() as patch:
        patch.setattr(init_protocol, "PROGRAM", tmp_path / "absent")
        with pytest.raises(InfrastructureFault, match="has not been built"):
            backend.open(SandboxPlan(Tree(tree), Limits()))


def test_an_ordinary_user_whom_the_engine_serves_works_on_a_plain_tree(engine: str, image: tuple[str, ...]) -> None:
    def work() -> None:
        backend = ContainerBackend(top / "sessions", engine, image)
        assert not backend.overlays()
        with backend.open(SandboxPlan(Tree(layer(top / "tree", {"file": b"x"})), Limits())) as sandbox:
            assert shell(sandbox, "cat file; id -u; echo new > made").stdout.prefix == b"x%d\n" % ORDINARY
            sandbox.freeze()
            sandbox.end_all()
            sandbox.thaw()
            assert (sandbox.usage().cpu_ns or 0) > 0
        assert (top / "tree/workspace/made").stat().st_uid == ORDINARY and os.listdir(top / "sessions") == []
        with pytest.raises(MissingIsolation, match="only root"):
            backend.open(SandboxPlan(overlay(top / "box", top / "tree"), Limits()))

    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)
        os.chown(engine, ORDINARY, -1)
        try:
            as_ordinary_user(work)
        finally:
            os.chown(engine, 0, -1)


def test_the_command_line_prints_what_pins_an_image(
    engine: str, image: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    printed = CliRunner().invoke(command, ["inspect", "proctor-test"])
    assert printed.exit_code == 0 and printed.output.split() == list(image)
    listed = CliRunner().invoke(command, ["list"])
    assert "proctor-test" in listed.output and image[0] in listed.output
    assert isinstance(CliRunner().invoke(command, ["inspect", "absent"]).exception, UsageFault)
    assert container_engine({"DOCKER_HOST": f"unix://{engine}"}).state == "ok"


def test_what_the_engine_can_bound_is_known(make_backend: MakeBackend, engine: str, tmp_path: Path) -> None:
    assert make_backend(tmp_path).missing(("cgroup", "overlay")) == ()
    assert Engine(engine).identity().split()[0] in ("docker", "podman")
    assert make_backend(tmp_path).overlays() == (os.geteuid() == 0)
