"""Options that were renamed, and names that mean the same in every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from proctor.cli.main import run_command
from proctor.cli.options import Renamed
from tests.cli.test_help import commands


def options() -> Iterator[tuple[list[str], click.Option]]:
    for words, command in commands():
        yield from ((words, one) for one in command.params if isinstance(one, click.Option))


def test_an_output_is_called_out() -> None:
    """No command calls its output otherwise, and nothing that is read is called so."""
    assert {one.opts[0] for _, one in options()} & {"--to", "--into", "--in", "--archive", "--output-dir"} == set()
    for words, one in options():
        if "--out" in one.opts:
            assert isinstance(one.type, click.Path) and not one.type.exists, words
            assert "folder" in str(one.help).lower() or "write" in str(one.help).lower() or "director" in str(one.help)


def test_jobs_reasons_and_plans_are_named_alike() -> None:
    names = {one.opts[0] for _, one in options()}
    assert "--why" in names and not names & {"--reason-text", "--because", "--message"}
    assert not names & {"--parallel", "--workers", "--output-format", "--format"}
    plans = {" ".join(words) for words, one in options() if one.opts[0] == "--plan"}
    assert plans == {f"pilot {name}" for name in ("amend", "power", "remove", "report", "run", "status")}


@click.command()
@click.option("--out", cls=Renamed, former=["--to", "--into"], default="")
def renamed(out: str) -> None:
    click.echo(f"out is {out!r}")


def test_a_former_name_works_and_is_hidden() -> None:

    for name in ("--out", "--to", "--into"):
        assert CliRunner().invoke(renamed, [name, "there"]).output == "out is 'there'\n"
    text = CliRunner().invoke(renamed, ["--help"]).output
    assert "--out TEXT" in text and "--to" not in text and "--into" not in text


def test_a_pilot_file_is_written_and_can_be_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    for name in ("one", "two"):
        assert run_command(["init", f"contracts/{name}"]) == 0
    assert run_command(["pilot", "init", "mine", "contracts/one", "contracts/two", "--out", "pilots/mine.yaml"]) == 0
    out = capsys.readouterr().out
    assert "next: fill it in, then proctor pilot plan pilots/mine.yaml" in out
    assert run_command(["pilot", "plan", "pilots/mine.yaml"]) == 0
    out = capsys.readouterr().out
    assert "24 runs: 4 methods, 2 tasks, 3 of each" in out
    assert run_command(["pilot", "init", "mine", "--out", "pilots/mine.yaml"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run_command(["pilot", "init", "no/name"]) == 2
    assert run_command(["pilot", "init", "blank"]) == 0
    assert run_command(["pilot", "plan", "pilot.yaml"]) == 2
    err = capsys.readouterr().err
    assert err.count("pilot.yaml:") == 2, "only the contracts that are not there are wrong"
    assert "contracts/task-1" in err and "contracts/task-2" in err
