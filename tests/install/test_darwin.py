"""The pure wheel on a system without sandboxes: every command that needs none works, the others say what they need.

The system is simulated, see ``darwin.py``: Linux without the names and files that macOS does not have.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.corpus_runs import unpack
from tests.install.conftest import Files, Installer, succeed

DRIVER = """
import contextlib, io, json, sys
from proctor.cli.main import COMMANDS, run_command
assert sys.platform == "darwin"
answers = []
for arguments in [[name, "--help"] for name in COMMANDS] + json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        code = run_command(arguments)
    answers.append({"command": arguments, "code": code, "out": out.getvalue(), "error": error.getvalue()})
print(json.dumps(answers))
"""
"""Runs commands in one process, each after the help text of every command, so that every module is imported."""

REFUSAL = "sandboxes need Linux, and this system is darwin"


@pytest.mark.soak
def test_i6_commands_without_a_sandbox_work_elsewhere(files: Files, install: Installer, tmp_path: Path) -> None:
    programs = install(files.pure, extras="[study]")
    (packages,) = programs.parent.glob("lib/python3*/site-packages")
    shutil.copy(Path(__file__).parent / "darwin.py", packages / "proctor_as_on_darwin.py")
    (packages / "proctor_as_on_darwin.pth").write_text("import proctor_as_on_darwin\n")
    first, second = (unpack(name, tmp_path / "home/runs").name for name in ("report-3-success", "report-3-forged"))
    (tmp_path / "results.csv").write_text("agent,task,success\na,t1,1\na,t2,0\nb,t1,1\nb,t2,1\n")
    works: list[tuple[int, list[str]]] = [
        *((0, ["init", "greeting"]), (0, ["lint", "greeting"]), (0, ["show", "greeting"]), (0, ["lock", "greeting"])),
        *((0, ["runs"]), (0, ["show", first]), (0, ["show", first, "--output"]), (0, ["trace", first])),
        *((0, ["verify", first]), (0, ["rescore", first]), (0, ["replay", first]), (0, ["cost", first])),
        *((0, ["replay", first, "--breakers"]), (0, ["compare", first, first]), (1, ["compare", first, second])),
        *((0, ["keys", "new", "lab"]), (0, ["attest", first, "--key", "lab"]), (0, ["keys", "list"])),
        *((0, ["verify", first, "--key", "lab.pub"]), (0, ["prove", first, "--event", "1", "--to", "proof.json"])),
        *((0, ["prove", "--check", "proof.json"]), (0, ["query", "--sql", "select count(*) from runs"])),
        *(
            (0, ["review"]),
            (0, ["review", second, "--verdict", "reject", "--minutes", "4", "--by", "ada", "--why", "forged"]),
        ),
        *((0, ["review", "--agreement"]), (0, ["redact", "--check", "results.csv"]), (0, ["clean"])),
        *((0, ["vault", "identity", "ada", "ada.key"]), (0, ["vault", "init", "--identity", "ada.key"])),
        (0, ["retain", second, "--tier", "long-term", "--approve", "ada", "--why", "closed"]),
        *((0, ["verify", second]), (0, ["analyse", "results.csv", "--out", "report"])),
        *((0, ["taxonomy"]), (0, ["rubric"]), (0, ["agents"]), (0, ["schema"])),
    ]
    refused = [
        *(["demo"], ["validate", "greeting"], ["strength", "greeting"], ["run", "greeting", "--agent", "noop"]),
    ]
    (tmp_path / "commands.json").write_text(json.dumps([*(one for _, one in works), *refused, ["doctor"]]))
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PROCTOR_HOME": str(tmp_path / "home")}
    told = succeed(
        "sh", "-c", f"exec '{programs}/python' -c '{DRIVER}' <commands.json", variables=variables, directory=tmp_path
    )
    answers: list[dict[str, Any]] = json.loads(told)
    assert [one for one in answers if one["command"][-1] == "--help" and one["code"] != 0] == []
    by_command = {tuple(one["command"]): one for one in answers}
    assert [by_command[tuple(command)] for code, command in works if by_command[tuple(command)]["code"] != code] == []
    for command in refused:
        answer = by_command[tuple(command)]
        assert answer["code"] == 3 and REFUSAL in answer["error"] and "defect" not in answer["error"], answer
    assert by_command["doctor",]["code"] == 3 and REFUSAL in by_command["doctor",]["out"]
