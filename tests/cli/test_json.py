"""JSON answers: kind and schema everywhere, errors too, and a page that has an example of each command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from proctor.cli.main import run_command
from tests.cli.test_help import commands

JSON = {
    " ".join(words): command
    for words, command in commands()
    if not isinstance(command, click.Group) and any("--json" in one.opts for one in command.params)
}
WITHOUT_KIND = ("trace",)
"""Commands that print records whose bytes are evidence."""

CHEAP: dict[str, tuple[str, ...]] = {
    "init": ("fresh",),
    "lint": ("mine",),
    "show": ("mine",),
    "runs": (),
    "pilot init": ("a-pilot",),
    "pilot plan": ("pilots/pilot.yaml",),
    "pilot power": ("pilots/pilot.yaml",),
    "query": ("select count(*) as runs from runs",),
    "review": (),
    "keys new": ("lab",),
    "keys list": (),
    "redact": ("--check", "mine/issue.md"),
    "vault identity": ("jo", "jo.key"),
    "agents list": (),
    "agents show": ("noop",),
    "agents new": ("mine-too", "--npm", "@acme/agent@1.4.0"),
    "clean": (),
    "schema": (),
    "taxonomy": (),
    "rubric": (),
}
"""Commands that need no run, each with arguments for an answer."""


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The example of each command on the page; nothing for those without one."""
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    sections = re.findall(r"^## proctor ([a-z -]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found = {}
    for name, body in sections:
        example = re.search(r"^```json\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
        found[name] = json.loads(example[1]) if example else None
    return found


def test_the_page_has_every_command(page: dict[str, Any]) -> None:
    assert set(page) == set(JSON)
    for name, example in page.items():
        assert (example is None) == (name in WITHOUT_KIND)
        if example is not None:
            own = example["kind"].startswith("proctor.") or example["kind"] == "findings"
            assert own or (example["kind"], example["schema"]) == (name.replace(" ", "-"), 1)


@pytest.mark.parametrize("name", JSON)
def test_an_error_is_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*name.split(), "--json", "--no-such-option"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    error = json.loads(shown.err)
    assert (error["kind"], error["schema"], error["exit_code"]) == ("error", 1, 2)
    assert "--no-such-option" in error["message"] and error["hint"] == f"proctor {name} --help"


def test_an_error_of_a_file_lists_its_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pilot.yaml").write_text("schema: 1\npilots: {}\n")
    assert run_command(["pilot", "plan", str(tmp_path / "pilot.yaml"), "--json"]) == 2
    error = json.loads(capsys.readouterr().err)
    assert error["mistakes"][0]["file"] == str(tmp_path / "pilot.yaml") and {
        one["line"] for one in error["mistakes"]
    } >= {2}
    assert run_command(["show", "nothing", "--json"]) == 2
    error = json.loads(capsys.readouterr().err)
    assert (error["message"], error["hint"]) == ("there is no run 'nothing'", "`proctor runs` lists them")
    assert run_command(["show", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("proctor: there is no run 'nothing'\n  ")


@pytest.mark.parametrize("name", CHEAP)
def test_an_answer_has_kind_and_schema_and_the_fields_of_its_example(
    name: str,
    page: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    assert run_command(["init", "mine"]) == 0
    if name in ("pilot plan", "pilot power"):
        assert run_command(["pilot", "init", "one", "mine", "--out", "pilots/pilot.yaml"]) == 0
    capsys.readouterr()
    assert run_command([*name.split(), *CHEAP[name], "--json"]) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    for line in lines:
        answer, example = json.loads(line), page[name]
        assert isinstance(answer["schema"], int)
        assert answer["kind"] == ("show" if name == "show" else example["kind"])
        assert name == "show" or set(example) <= set(answer)
