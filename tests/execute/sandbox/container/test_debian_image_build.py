"""Images from package lists: the same content gives the same digest, and nothing of this machine goes in."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.execute.sandbox.container import debian_image_build as module
from proctor.execute.sandbox.container.debian_image_build import build
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory

DEBOOTSTRAP = """#!/bin/sh
set -eu
root=$4
mkdir -p $root/etc $root/usr/bin $root/var/log $root/dev $root/var/cache/x
echo "$@" > {calls}
printf 'root:*:%s:0:99999:7:::\\n' $(date +%N) > $root/etc/shadow
hostname > $root/etc/hostname; date +%N > $root/var/log/bootstrap.log; date +%N > $root/var/cache/x/y
printf tool > $root/usr/bin/tool; touch -d @1000000000 $root/usr/bin/tool; ln -s tool $root/usr/bin/link
date > $root/etc/passwd-; echo fixed > $root/etc/made-now
"""


@pytest.fixture
def debootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A debootstrap that makes a tiny root; the file that keeps what it was called with."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/debootstrap"
    program.write_text(DEBOOTSTRAP.replace("{calls}", str(tmp_path / "calls")))
    program.chmod(0o755)
    search = {**module.ENVIRONMENT, "PATH": f"{tmp_path / 'bin'}:{module.ENVIRONMENT['PATH']}"}
    monkeypatch.setattr(module, "ENVIRONMENT", search)
    monkeypatch.setattr(os, "environ", {**os.environ, "PATH": search["PATH"]})
    return tmp_path / "calls"


def layer_of(archive: Path) -> tuple[dict[str, tarfile.TarInfo], str]:
    with tarfile.open(archive) as outer:
        manifest = json.load(outer.extractfile("manifest.json"))[0]  # type: ignore[arg-type]
        configuration = json.load(outer.extractfile(manifest["Config"]))  # type: ignore[arg-type]
        content = outer.extractfile(manifest["Layers"][0])
        assert content is not None
        digest = "sha256:" + hashlib.sha256(content.read()).hexdigest()
        assert configuration["rootfs"]["diff_ids"] == [digest] and configuration["config"] == {}
        content.seek(0)
        with tarfile.open(fileobj=content) as inner:
            return {member.name: member for member in inner}, digest


def test_the_same_packages_give_the_same_layer(debootstrap: Path, tmp_path: Path) -> None:
    first = build("base", ("python3", "git"), tmp_path / "one.tar", "bookworm", "file:/nowhere")
    second = build("other", ("python3", "git"), tmp_path / "two.tar", "bookworm", "file:/nowhere")
    assert first == second and layer_of(tmp_path / "one.tar")[1] == first[0]
    assert "--variant=minbase --include=python3,git bookworm" in debootstrap.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "calls", "one.tar", "two.tar"]


def test_nothing_of_the_machine_or_the_moment_is_in_it(debootstrap: Path, tmp_path: Path) -> None:
    build("base", ("python3", "git"), tmp_path / "one.tar", "bookworm", "file:/nowhere")
    members, _ = layer_of(tmp_path / "one.tar")
    left_out = {"./etc/hostname", "./etc/passwd-", "./var/log/bootstrap.log", "./var/cache/x", f"./{module.UNSAFE}"}
    assert not left_out & set(members) and {"./usr/bin/tool", "./usr/bin/link", "./dev", "./etc/shadow"} <= set(members)
    assert {member.mtime for member in members.values()} == {1000000000}
    assert {(member.uid, member.uname) for member in members.values()} == {(0, "")}


def test_a_debootstrap_that_fails_says_why(debootstrap: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin/debootstrap"
    program.write_text("#!/bin/sh\necho 'I: fine'; echo 'E: Couldn'\"'\"'t find these debs: nonsense' >&2; exit 1\n")
    with pytest.raises(InfrastructureFault, match="find these debs: nonsense"):
        build("base", ("nonsense",), tmp_path / "one.tar", "bookworm", "file:/nowhere")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


def test_a_build_that_is_cut_off_leaves_no_mounts(debootstrap: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin/debootstrap"
    program.write_text("#!/bin/sh\nmkdir $4/proc; mount -t proc proc $4/proc || exit 9; kill -KILL $$ $PPID; exit 1\n")
    with pytest.raises(InfrastructureFault, match="debootstrap failed"):
        build("base", ("git",), tmp_path / "one.tar", "bookworm", "file:/nowhere")
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


def test_debootstrap_ends_with_the_process_that_builds(debootstrap: Path, tmp_path: Path) -> None:
    (tmp_path / "bin/debootstrap").write_text(f"#!/bin/sh\necho ready > {debootstrap}; exec sleep 987654\n")
    child = os.fork()
    if child == 0:
        try:
            build("base", ("git",), tmp_path / "one.tar", "bookworm", "file:/nowhere")
        finally:
            os._exit(1)
    wait_until(debootstrap.exists)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_until(lambda: b"sleep\x00987654" not in b"".join(_command_lines()))


def wait_until(held: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not held():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes()


def test_without_debootstrap_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENVIRONMENT", {"PATH": str(tmp_path)})
    with pytest.raises(InfrastructureFault, match="debootstrap is not installed"):
        build("base", ("git",), tmp_path / "one.tar", "bookworm", "file:/nowhere")


@pytest.mark.parametrize("package", ["", "a b", "--help", "a;b", "Big", "x"])
def test_a_package_by_a_name_that_none_has(package: str, tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="not a name of a Debian package"):
        build("base", (package,), tmp_path / "one.tar", "bookworm")


def test_a_suite_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="not a name of a Debian suite"):
        build("base", (), tmp_path / "one.tar", "--print-debs")


def test_an_ordinary_user_is_told_to_ask_root() -> None:
    def attempt() -> None:
        with pytest.raises(UsageFault, match="only root"):
            build("base", ("git",), top / "one.tar", "bookworm")

    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)
        as_ordinary_user(attempt)
