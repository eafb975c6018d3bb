"""The commands in the documentation do what the documentation says.

A page is one shell session: the lines after ``$`` in its ``console`` blocks are run in order in an empty directory, and
each must exit with 0, or with what its ``# exits with`` comment says. A block below ``<!-- file: NAME -->`` is a file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pytest
import yaml

from proctor.base.dataclass_fields import field_items
from proctor.contract.model import Budget
from proctor.contract.schema import json_schema
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel
from proctor.execute.monitor.breakers.breaker_settings import Settings, caps_of
from proctor.execute.monitor.breakers.interface import GRADES
from proctor.execute.monitor.severity_grades import DEFAULT_RULES
from tests.test_layers import FLOORS

PROJECT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/api.md",
    "docs/installation.md",
    "docs/privacy.md",
    "docs/tutorial.md",
    "docs/contracts.md",
    "docs/watching.md",
    "docs/isolation.md",
    "docs/agents.md",
    "docs/models.md",
    "docs/judging.md",
    "docs/attestation.md",
    "docs/replay.md",
    "docs/oracles.md",
    "docs/queries.md",
    "docs/export.md",
    "docs/analyse.md",
    "docs/import.md",
    "docs/reports.md",
    "docs/pilots.md",
    "docs/pilot-runs.md",
    "docs/troubleshooting.md",
    "docs/guides/evaluate-on-your-repository.md",
    "docs/guides/compare-two-agents.md",
    "docs/guides/review-runs.md",
    "docs/guides/audit-a-run.md",
    "docs/guides/run-in-ci.md",
)
LONG_PAGES = (
    *("docs/models.md", "docs/watching.md", "docs/pilots.md", "docs/pilot-runs.md", "docs/queries.md"),
    *("docs/judging.md", "docs/agents.md", "docs/privacy.md", "docs/analyse.md"),
    *("docs/guides/compare-two-agents.md", "docs/guides/evaluate-on-your-repository.md"),
)
"""Pages whose commands take longest, for `make soak`; other tests run the same commands with other arguments."""
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *sorted(str(p.relative_to(PROJECT)) for p in PROJECT.glob("docs/**/*.md")),
)

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
EXITS = re.compile(r"\s*# exits with (\d+)$")
RUN_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{10}")


def commands(text: str) -> list[tuple[str, int]]:
    """The commands of a page with the exit codes that it promises."""
    found: list[tuple[str, int]] = []
    for language, body in BLOCK.findall(text):
        if language != "console":
            continue
        for line in re.sub(r"\\\n", "\\\n\0", body).replace("\n\0", "\0").splitlines():
            if line.startswith("$ "):
                command = line[2:].replace("\0", "\n")
                code = EXITS.search(command)
                found.append((EXITS.sub("", command), int(code[1]) if code else 0))
    return found


def script(page: str) -> str:
    """A shell script that runs the commands of ``page`` and stops at the first that does something else."""
    lines = ["set -u"]
    for command, code in commands((PROJECT / page).read_text("utf-8")):
        lines += ["set +e", command, f'code=$?; set -e; test $code -eq {code} || {{ echo "{code} wanted, $code got:"']
        lines[-1] += " >&2; cat >&2 <<'COMMAND'"
        lines += [command, "COMMAND", "exit 99; }"]
    return "\n".join(lines) + "\n"


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "PROCTOR_HOME": str(home / "proctor"), "LANG": "C.UTF-8"}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.soak if page in LONG_PAGES else ()) for page in PAGES]
)
def test_commands_run_as_written(page: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for name, body in FILE.findall((PROJECT / page).read_text("utf-8")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(body)
    text = script(page)
    assert "\nset +e\n" in text
    done = subprocess.run(
        ["bash", "-c", text], cwd=place, env=environment(tmp_path), capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_page_with_commands_is_run() -> None:
    with_commands = {page for page in TEXTS if commands((PROJECT / page).read_text("utf-8"))}
    assert with_commands == set(PAGES)


def shape(text: str) -> list[str]:
    """``text`` without what differs from run to run: ids, paths and the widths of columns."""
    lines = [re.sub(r"~?/\S+", "PATH", RUN_ID.sub("RUN", line)) for line in text.strip().splitlines()]
    return [re.sub(r"[\s-]{2,}", "  ", line).strip() for line in lines if line.strip()]


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    blocks = [body for language, body in BLOCK.findall((PROJECT / "README.md").read_text()) if language == "text"]
    done = subprocess.run(["proctor", "demo"], env=environment(tmp_path), capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shape(done.stdout) == shape(blocks[0])


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    here = PROJECT / page
    assert [link for link in LINK.findall(here.read_text("utf-8")) if not (here.parent / link).exists()] == []


def test_parts_of_contracts_are_as_the_schema_has_them() -> None:
    schema = json_schema()
    parts = [
        body for language, body in BLOCK.findall((PROJECT / "docs/contracts.md").read_text()) if language == "yaml"
    ]
    assert len(parts) >= 4
    for part in parts:
        for name, value in yaml.safe_load(part).items():
            jsonschema.validate(value, schema["properties"][name])


def rows(page: str, columns: int) -> list[list[str]]:
    """The rows of every table of ``page`` with so many columns, without heads."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    return [row for row in cells if len(row) == columns and not set(row[0]) <= set("-")]


def test_every_breaker_is_in_the_table_in_its_order() -> None:
    page = (PROJECT / "docs/watching.md").read_text("utf-8")
    settings = Settings(caps=caps_of(Budget()))
    listed = [row for row in rows(page, 4) if row[0].startswith("`")]
    assert [row[0].strip("`") for row in listed] == list(BreakerPanel(settings).names)
    for name, value in field_items(settings.caps):
        cell = next(row[3] for row in listed if f"`{name}`" in row[3]).replace(",", "")
        words = f"${value}" if name == "usd" else str(value)
        if name in ("memory_bytes", "disk_bytes"):
            words = f"{value >> 30} GiB"
        assert words in cell


def test_every_default_grade_is_in_the_table() -> None:
    page = (PROJECT / "docs/watching.md").read_text("utf-8")
    grades = {row[0].strip("`"): row[2] for row in rows(page, 3) if row[0].strip("`") in GRADES}
    assert all(f"`{code}`" in grades[grade] for code, grade in DEFAULT_RULES.items())


def test_the_register_names_tests_that_are_there() -> None:
    found = [row for row in rows((PROJECT / "docs/risks.md").read_text("utf-8"), 7) if re.fullmatch(r"[HC]\d+", row[0])]
    assert len(found) >= 15
    for row in found:
        assert all(row)
        folder = PROJECT
        for name in re.findall(r"`([^`]+)`", row[6]):
            place = PROJECT / name if "/" in name else folder / name
            folder = place.parent
            assert place.exists() or list(folder.parent.rglob(name)), f"{row[0]}: {name}"


def test_anchors_lead_to_headings() -> None:
    for here in (PROJECT / name for name in TEXTS):
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", here.read_text("utf-8")):
            page = (here.parent / link) if link else here
            heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w-]", "", head.lower().replace(" ", "-")) for head in heads], (here, anchor)


def test_known_attacks_name_tests_that_exist() -> None:
    page = (PROJECT / "docs/known-attacks.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) >= 60
    missing = [f"{path}::{name}" for path, name in named if not defines(PROJECT / path, name)]
    assert missing == []
    for attack in page.split("\n### ")[1:]:
        title, _, body = attack.partition("\n")
        for part in ("- **Done**: ", "- **Not done**: ", "- **Tests**:"):
            assert part in body, (title, part)


def defines(path: Path, name: str) -> bool:
    return path.is_file() and re.search(rf"^def {name}\(", path.read_text("utf-8"), re.MULTILINE) is not None


def test_the_architecture_page_has_every_floor_from_the_highest_down() -> None:
    page = (PROJECT / "docs/architecture.md").read_text("utf-8")
    assert [row[0].strip("`") for row in rows(page, 3) if row[0].startswith("`")] == list(reversed(FLOORS))
    figure = (PROJECT / "docs/figures/floors.svg").read_text("utf-8")
    assert re.findall(r'class="name"[^>]*>(\w+)<', figure) == list(reversed(FLOORS))


SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|json|jsonl|c))`")
NOT_OURS = {"proctor-my-agent/proctor_my_agent.py"}
"""A file that the reader of a page makes."""


def test_files_of_the_source_that_pages_name_exist() -> None:
    pages = [page for page in TEXTS if not page.startswith("docs/decisions/0")]
    named = {(page, name) for page in pages for name in SOURCE.findall((PROJECT / page).read_text("utf-8"))}
    assert len(named) >= 50
    tops = (PROJECT, PROJECT / "src/proctor")
    assert [(page, name) for page, name in named if name not in NOT_OURS and not any_exists(tops, name)] == []


def test_folders_and_targets_that_developers_need_exist() -> None:
    for page in ("CONTRIBUTING.md", "docs/architecture.md"):
        text = BLOCK.sub("", (PROJECT / page).read_text("utf-8"))
        folders = set(re.findall(r"`([\w.-]+/[\w./-]*)`", text))
        assert len(folders) >= 10
        assert [name for name in folders if not any_exists((PROJECT, PROJECT / "src/proctor"), name)] == []
        targets = set(re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE))
        assert set(re.findall(r"`make (\w+)", text)) <= targets


def any_exists(tops: Iterable[Path], name: str) -> bool:
    return any((top / name).exists() for top in tops)


def test_figures_have_a_title_and_a_description() -> None:
    for name in ("flow-of-a-run", "floors"):
        figure = (PROJECT / "docs/figures" / f"{name}.svg").read_text("utf-8")
        assert "<title" in figure and "<desc" in figure and "prefers-color-scheme: dark" in figure


def test_every_decision_is_in_the_list() -> None:
    folder = PROJECT / "docs/decisions"
    listed = rows((folder / "README.md").read_text("utf-8"), 3)[1:]
    for row, record in zip(listed, sorted(folder.glob("0*.md")), strict=True):
        text = record.read_text("utf-8")
        number, _, title = text.splitlines()[0].removeprefix("# ").partition(". ")
        assert row == [number, f"[{title}]({record.name})", "superseded" if "**Superseded.**" in text else ""]


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme, ci = (PROJECT / "README.md").read_text(), (PROJECT / ".ci" / "run").read_text()
    for target in ("test", "demo", "soak"):
        assert f"make {target}" in readme and re.search(rf"^make {target}\b", ci, re.MULTILINE), target


def test_c1_ci_repeats_nothing_and_ignores_no_failure() -> None:
    lines = (PROJECT / ".ci" / "run").read_text().splitlines()
    steps = lines[next(place for place, line in enumerate(lines) if line.startswith("make ")) :]
    assert "set -eu" in lines and steps[:2] == ["make test", "make demo"]
    assert [line for line in steps if not re.fullmatch(r'make [a-z]+( REPEATS=\d+)?( AGENTS="[\w ()-]+")?', line)] == []
    makefile = (PROJECT / "Makefile").read_text()
    assert not re.search(r"^\t-|\|\||last-failed|reruns", makefile, re.MULTILINE)
