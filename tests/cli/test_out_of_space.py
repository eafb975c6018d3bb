"""A full disk: one message with the place, while fetching too."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.cli.main import run_command
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.archive import ArchiveSupplier
from proctor.execute.inputs.interface import Unreachable


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_gets_one_message_with_its_place(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code), str(tmp_path / "file"))

    monkeypatch.setattr("proctor.cli.wiring.home", full)
    assert run_command(["runs"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"proctor: {tmp_path / 'file'}: out of space: {os.strerror(code)}"
    assert lines[1:] == ["  free some space and start again; finished runs are kept"]


def test_a_full_disk_without_a_name_is_searched_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("proctor.cli.wiring.home", full)
    monkeypatch.setattr("proctor.cli.main._is_full", lambda place: place == str(tmp_path))
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    assert run_command(["runs"]) == 3
    assert capsys.readouterr().err.startswith(f"proctor: out of space: {tmp_path}\n")


def test_a_full_disk_is_not_called_a_problem_of_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Answer(io.BytesIO):
        headers: dict[str, str] = {}

        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Answer())
    supplier, source = ArchiveSupplier(), Source("archive", "https://example.org/a.tar")
    with pytest.raises(InfrastructureFault, match="out of space while fetching") as found:
        supplier.fetch(source, (InputFile("a.tar", "0" * 64),), tmp_path, tmp_path)
    assert not isinstance(found.value, Unreachable)
    assert "network" not in str(found.value) and str(tmp_path) in str(found.value)
