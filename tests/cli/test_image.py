"""``proctor image`` on its command line; what it does with an engine is tested with the containers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proctor.base.errors import MissingIsolation, ProctorError, UsageFault
from proctor.cli.image import command


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
    error = called("build", *arguments, "--archive", str(tmp_path / "x.tar")).exception
    assert isinstance(error, UsageFault) and isinstance(error, ProctorError)
