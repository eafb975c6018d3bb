"""Completion scripts, and what a shell gets from them: bash is run, with the real program on its path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.cli.main import COMMANDS, run_command

DRIVER = """
eval "$(proctor completion bash)"
complete -p proctor
COMP_WORDS=({words})
COMP_CWORD={last}
compopt() {{ :; }}  # which only works while readline completes
_proctor_completion proctor
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(home: Path, *words: str) -> list[str]:
    """What bash offers for the last of ``words``."""
    quoted = " ".join(f"'{word}'" for word in words)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", DRIVER.format(words=quoted, last=len(words) - 1)],
        env={"PATH": path, "HOME": str(home), "PROCTOR_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    first, *offered = done.stdout.splitlines()
    assert first == "complete -o nosort -F _proctor_completion proctor"
    return [line for line in offered if line]


def test_bash_completes_commands(tmp_path: Path) -> None:
    assert completed(tmp_path, "proctor", "") == list(COMMANDS)
    assert completed(tmp_path, "proctor", "re") == ["replay", "rescore", "review", "redact", "retain"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["pilot", "re"], ["remove", "report"]),
        (["runs", "--st"], ["--status"]),
        (["runs", "--status", "su"], ["success"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["query", "--s"], []),
        (["prove", "--o"], ["--out"]),
        (["decide", "last", "re"], ["resume"]),
    ],
    ids=" ".join,
)
def test_bash_completes_what_belongs_to_a_command(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    assert completed(tmp_path, "proctor", *words) == offered


def test_bash_completes_runs(tmp_path: Path) -> None:
    names = ["20260307T120000-0123456789", "20260308T120000-0123456789"]
    for name in names:
        (tmp_path / "runs" / name).mkdir(parents=True)
    assert completed(tmp_path, "proctor", "show", "20") == names[::-1]
    assert completed(tmp_path, "proctor", "compare", names[0], "") == ["last", names[1]]
    assert completed(tmp_path, "proctor", "trace", "docs/") == [], "the shell completes files"


def test_a_list_of_commands_loads_none_of_them(tmp_path: Path) -> None:
    program = "import sys\nfrom proctor.cli.main import main\ntry:\n    main()\nfinally:\n    "
    program += "print(*(name for name in sys.modules if name.startswith('proctor.cli.')), file=sys.stderr)"
    asked = {"_PROCTOR_COMPLETE": "bash_complete", "COMP_WORDS": "proctor\nru", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["plain,run", "plain,runs", "plain,rubric"]
    assert set(done.stderr.split()) == {"proctor.cli.main", "proctor.cli.terminal"}


@pytest.mark.parametrize(("shell", "mark"), [("zsh", "#compdef proctor"), ("fish", "complete --no-files --command")])
def test_other_shells_get_a_script(shell: str, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert mark in out and f"_PROCTOR_COMPLETE={shell}_complete" in out
    assert run_command(["completion", "tcsh"]) == 2
