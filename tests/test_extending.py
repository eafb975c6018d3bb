"""A package that is written from docs/extending.md alone: its parts pass the shipped suites and take part in a run."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor import plugins

Proctor = Callable[..., subprocess.CompletedProcess[str]]

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "extending.md"
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = dict(FILE.findall(PAGE.read_text("utf-8")))

GREETING = b"def greet(name):\n    return 'Hello, ' + name\n"
CHECK = """
from greeting import greet
print("passed" if greet("Ada") == "Hello, Ada" else "failed", "greets-a-name")
print("passed" if greet(" ") == "Hello, world" else "failed", "greets-the-world")
print("end")
"""
SOLUTION = "; ".join(
    (
        """sed -i "s/+ name/+ (name.strip() or 'world')/" greeting.py""",
        "echo > one.txt",
        "echo > two.txt",
        "cat /setup/words.txt",
    )
)


def install(place: Path, version: str = "1.0") -> Path:
    """The package of the page as an installer would leave it; the directory for the path of Python."""
    site, source = place / "site", place / "acme-proctor"
    for name, text in FILES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    info = site / f"acme_proctor-{version}.dist-info"
    info.mkdir(parents=True)
    (site / "acme_proctor").symlink_to(source / "acme_proctor")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
    sections = (
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
        for group, points in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(sections) + "\n")
    return site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("acme"))


@pytest.fixture
def contract(site: Path, tmp_path: Path) -> Path:
    """The contract of the page, with the files that it names."""
    directory = tmp_path / "acme-contract"
    (directory / "hidden").mkdir(parents=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("greeting.py")
        member.size = len(GREETING)
        archive.addfile(member, io.BytesIO(GREETING))
    (directory / "repository.tar").write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    (directory / "contract.yaml").write_text(FILES["acme-contract/contract.yaml"].replace("0" * 64, digest))
    (directory / "issue.md").write_text("Greet the world when there is no name.\n")
    (directory / "words.txt").write_text("words of the input\n")
    (directory / "hidden" / "check.py").write_text(CHECK)
    return directory


def test_the_page_shows_each_extension_point() -> None:
    project = tomllib.loads(FILES["acme-proctor/pyproject.toml"])["project"]
    assert set(project["entry-points"]) == set(plugins.TABLES)
    text = PAGE.read_text("utf-8")
    assert all(f"`{group}`" in text for group in plugins.TABLES)
    assert all(group in str(plugins.__doc__) for group in plugins.TABLES)


def test_the_parts_of_the_page_pass_the_conformance_suites(site: Path, tmp_path: Path) -> None:
    tests = site.parent / "acme-proctor" / "tests"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(tests),
        "-p",
        "no:cacheprovider",
    ]
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTEST_ADDOPTS": "", "PROCTOR_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [*command, "-W", "error", str(tests)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) >= 50 and "skipped" not in done.stdout


def test_a_run_with_the_parts_of_the_page(proctor: Proctor, contract: Path, site: Path, tmp_path: Path) -> None:
    own = {"PYTHONPATH": str(site)}
    assert proctor("lock", contract, **own).returncode == 0
    linted = proctor("lint", contract, **own)
    assert linted.returncode == 0, linted.stdout + linted.stderr
    done = proctor("run", contract, "--agent", f"acme-shell:{SOLUTION}", **own)
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = (tmp_path / "home" / "runs").iterdir()
    manifest = json.loads((directory / "manifest.json").read_bytes())
    parts = {kind: list(names) for kind, names in manifest["plugins"].items()}
    assert parts == {
        "breakers": ["acme-changes"],
        "input_sources": ["acme-file"],
        "results_readers": ["acme-lines"],
        "sandboxes": ["acme-box"],
    }
    origin = {"package": "acme-proctor", "version": "1.0"}
    assert all(names[name] == origin for names in manifest["plugins"].values() for name in names)
    settings = manifest["agent"]["settings"]
    assert (settings["agent_package"], settings["agent_version"]) == ("acme-proctor", "1.0")
    assert manifest["sandbox"]["isolation"]["guard"] == "none"

    report = json.loads((directory / "report.json").read_bytes())
    assert report["status"] == "success"
    assert any("guard: absent" in one["message"] for one in report["deviations"])
    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    alerts = [one["payload"] for one in events if one["type"] == "monitor.alert"]
    assert [one["breaker"] for one in alerts] == ["acme-changes"]
    (command,) = (one["payload"] for one in events if one["type"] == "tool.invocation")
    assert command["stdout"]["prefix"] == "words of the input\\x0a"

    here = proctor("verify", "last", **own)
    assert here.returncode == 0 and "intact" in here.stdout, here.stdout + here.stderr
    assert "results reader acme-lines of the package acme-proctor 1.0 took part\n" in here.stdout
    assert proctor("replay", "last", **own).returncode == 0

    elsewhere = proctor("verify", "last")
    assert elsewhere.returncode == 0 and "intact" in elsewhere.stdout
    absent = "breaker acme-changes of the package acme-proctor 1.0 took part; it is not installed here"
    assert absent in elsewhere.stdout
    again = proctor("rescore", "last", "--json")
    assert again.returncode == 0
    assert {one["here"] for one in json.loads(again.stdout)["plugins"]} == {""}
    refused = proctor("replay", "last")
    assert refused.returncode == 2 and "no installed package provides the breaker 'acme-changes'" in refused.stderr


def test_unknown_names_are_mistakes_with_their_place(proctor: Proctor, contract: Path, site: Path) -> None:
    done = proctor("lint", contract)
    assert done.returncode == 2, done.stdout
    for place, message in (
        ("5:24", "'acme-box' is not one of host, image"),
        ("6:10", "input: one of archive, pypi, npm, deb is missing"),
        ("8:21", "'acme-changes' is not a breaker of an installed package (no installed package provides one)"),
        ("13:14", "'acme-lines' is not one of exit-code, pytest, junit, tap"),
    ):
        assert f"contract.yaml:{place}: {message}" in done.stderr, done.stderr


def test_a_report_with_the_section_of_the_page(proctor: Proctor, site: Path, tmp_path: Path) -> None:
    rows = [f"{agent},t{task},{int(task < limit)}" for agent, limit in (("one", 4), ("two", 2)) for task in range(6)]
    (tmp_path / "results.csv").write_text("\n".join(["agent,task,outcome", *rows]) + "\n")
    asked = ("analyse", tmp_path / "results.csv", "--out", tmp_path / "report", "--section", "acme-summary")
    done = proctor(*asked, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("report.html", "report.md"):
        text = (tmp_path / "report" / name).read_text("utf-8")
        assert "Summary for Acme" in text and "the package acme-proctor 1.0, which is not part of Proctor" in text
    plain = proctor("analyse", tmp_path / "results.csv", "--out", tmp_path / "plain", PYTHONPATH=str(site))
    assert plain.returncode == 0 and b"Acme" not in (tmp_path / "plain" / "report.html").read_bytes()
    refused = proctor(*asked)
    assert refused.returncode == 2 and "provides the report section 'acme-summary'" in refused.stderr
