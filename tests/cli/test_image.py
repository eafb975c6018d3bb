"""``proctor image`` on its command line; what it does with an engine is tested with the containers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from proctor.base.errors import MissingIsolation, ProctorError, UsageFault
from proctor.cli import wiring
from proctor.cli.image import command
from proctor.conduct.machine_setup import sweep_home
from proctor.execute.sandbox.container import debian_image_build as building
from proctor.execute.sandbox.container import images


def called(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_every_part_has_an_example() -> None:
    for name in ("build", "load", "list", "inspect"):
        assert "Example: proctor image" in called(name, "--help").output


@pytest.mark.parametrize("arguments", [("list",), ("inspect", "base"), ("build", "base", "--packages", "git")])
def test_without_an_engine_the_message_says_what_to_do(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/absent.sock")
    error = called(*arguments).exception
    assert isinstance(error, MissingIsolation) and "DOCKER_HOST" in str(error)


@pytest.mark.parametrize("arguments", [("Bad Name",), ("base", "--packages", "a b"), ("base", "--suite", "-x")])
def test_a_build_that_cannot_work_is_a_usage_fault(arguments: tuple[str, ...], tmp_path: Path) -> None:
    error = called("build", *arguments, "--out", str(tmp_path / "x.tar")).exception
    assert isinstance(error, UsageFault) and isinstance(error, ProctorError)


def test_a_run_beside_a_build_leaves_the_build_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(wiring, "engine", lambda: SimpleNamespace(identity=lambda: None))
    monkeypatch.setattr(images, "load", lambda _, archive: archive.read_bytes())

    def build(name: str, packages: tuple[str, ...], archive: Path, *_: str) -> tuple[str, ...]:
        archive.write_bytes(b"image")
        assert sweep_home(wiring.home()) == []
        return ("sha256:0",)

    monkeypatch.setattr(building, "build", build)
    done = called("build", "base", "--packages", "git")
    assert done.output == "sha256:0\n" and not list((tmp_path / "home/scratch").iterdir())


def test_a_contract_on_an_image_says_which_engine_it_misses(
    proctor: Callable[..., subprocess.CompletedProcess[str]], make_contract: Any, tmp_path: Path
) -> None:
    contract = make_contract(environment={"sandbox": "image", "image": "sha256:" + "1" * 64})
    assert proctor("lint", contract).returncode == 0
    for host, code, words in (
        (f"unix://{tmp_path}/absent.sock", 3, "start Docker or podman"),
        ("tcp://192.0.2.1:2375", 3, "cannot show files of this machine"),
    ):
        done = proctor("run", contract, "--agent", "noop", DOCKER_HOST=host)
        assert done.returncode == code and words in done.stderr and "Traceback" not in done.stderr
