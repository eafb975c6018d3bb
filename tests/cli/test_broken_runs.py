"""Broken run directories, from the command line down: exit code 4, one clear message, and nothing lost.

Every file of a run directory is damaged in every way, and every command that reads runs is asked about it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical
from proctor.cli.main import run_command
from tests.conftest import ContractMaker

FILES = (
    *("manifest.json", "events.jsonl", "contract.json", "report.json", "seal.json"),
    *("workspace/final.patch", "workspace/changes.json", "acceptance/results.json", "acceptance/logs/*"),
    *("attestation.json", "reviews.jsonl"),
)


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": _cut,
    "binary": lambda path: path.write_bytes(hashlib.sha256(path.name.encode()).digest() * 8),
    "directory": _replaced(Path.mkdir),
    "pipe": _replaced(os.mkfifo),
    "other": lambda path: path.write_bytes(b'{"kind":7,"run":7,"schema":99,"status":7}'),
}
MORE: dict[str, Callable[[Path], object]] = {
    "link": _replaced(lambda path: path.symlink_to("/etc/hostname")),
    "list": lambda path: path.write_bytes(b"[]"),
    "null": lambda path: path.write_bytes(b"null"),
    "object": lambda path: path.write_bytes(b"{}"),
    "deep": lambda path: path.write_bytes(b"[" * 100_000),
}
CASES = [
    *((name, how) for name in FILES for how in DAMAGE),
    *((name, how) for name in ("report.json", "manifest.json", "workspace/changes.json") for how in MORE),
]

ONE = {
    "show": ("show", "RUN"),
    "show --json": ("show", "RUN", "--json"),
    "show --why": ("show", "RUN", "--why"),
    "show --output": ("show", "RUN", "--output"),
    "trace": ("trace", "RUN"),
    "trace --json": ("trace", "RUN", "--json"),
    "trace --conversation": ("trace", "RUN", "--conversation"),
    "verify": ("verify", "RUN"),
    "verify --json": ("verify", "RUN", "--json"),
    "rescore": ("rescore", "RUN"),
    "rescore --print": ("rescore", "RUN", "--print"),
    "compare": ("compare", "GOOD", "RUN"),
    "compare first": ("compare", "RUN", "GOOD"),
    "cost": ("cost", "RUN"),
    "cost of several": ("cost", "GOOD", "RUN"),
    "replay": ("replay", "RUN"),
    "replay --acceptance": ("replay", "RUN", "--acceptance"),
    "replay --tools": ("replay", "RUN", "--tools"),
    "replay --model": ("replay", "RUN", "--model"),
    "review": ("review", "RUN"),
    "review --verdict": ("review", "RUN", "--verdict", "accept", "--minutes", "1", "--by", "ada", "--why", "good"),
    "retain": ("retain", "RUN", "--tier", "long-term", "--approve", "jo", "--why", "closed"),
    "attest": ("attest", "RUN", "--key", "lab"),
    "prove": ("prove", "RUN", "--event", "0"),
    "rubric": ("rubric", "RUN", "GOOD", "--csv"),
    "decide": ("decide", "RUN", "approve", "--why", "good"),
}
"""Commands about one run; each is asked about a broken one."""

WRITING = ("retain", "review --verdict")
"""Commands that write beside a run whose evidence is whole."""

ALL = {
    "runs": ("runs",),
    "runs --json": ("runs", "--json"),
    "query": ("query", "select run from runs"),
    "review": ("review",),
    "review --agreement": ("review", "--agreement"),
}
"""Commands about all runs; a broken one is named and stops none of them."""

STEERING = "\x1b]0;stolen\x07"
"""Sets the title of a terminal."""

RAW = ("Traceback", "defect", "Error:", "Exception", "line 1", "column", "[Errno", "unexpected", "object is not")
"""Words of exceptions, which no message may contain."""


class Place:
    """A home with a good run and one that is to be broken."""

    def __init__(self, home: Path, run: str, good: str) -> None:
        self.home, self.run, self.good = home, run, good

    def ask(self, capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
        """The exit code of a command and what it printed."""
        names = {"RUN": self.run, "GOOD": self.good}
        code = run_command([names.get(one, one) for one in arguments])
        printed = capfd.readouterr()
        return code, printed.out, printed.err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A run with reviews and an attestation, and another one beside it."""
    top = tmp_path_factory.mktemp("broken")
    check = {**ContractMaker.CHECK, "run": ["/usr/bin/python3", "-c", "import calc; print(calc.add(1, 1) // 2 == 1)"]}
    contract = ContractMaker(top / "contracts")(checks=[check])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROCTOR_HOME", str(top / "home"))
        agent = "command:sh -c \"sed -i 's/a - b/a + b/' calc.py; echo done; head -c 70000 /dev/zero > zeros\""
        for _ in range(2):
            assert run_command(["run", str(contract), "--agent", agent]) == 0
        good, run = sorted(path.name for path in (top / "home" / "runs").iterdir())
        verdict = ["--verdict", "accept", "--minutes", "1", "--by", "bo", "--why", "good"]
        assert run_command(["review", run, *verdict]) == 0
        assert run_command(["keys", "new", "lab"]) == 0
        assert run_command(["attest", run, "--key", "lab"]) == 0
    yield Place(top / "home", run, good)


@pytest.fixture
def place(made: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The same in a copy of its own."""
    shutil.copytree(made.home, tmp_path / "home", symlinks=True)
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path / "home", made.run, made.good)


def state_of(top: Path) -> dict[str, str]:
    """Every path below ``top`` with its kind, and its digest where it is a file."""
    found = {}
    for path in sorted(top.rglob("*")):
        plain = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(top))] = hashlib.sha256(path.read_bytes()).hexdigest() if plain else "other"
    return found


def damaged(place: Place, name: str, how: str) -> Path:
    """One file of the run, after it was damaged."""
    path = sorted((place.home / "runs" / place.run).glob(name))[0]
    {**DAMAGE, **MORE}[how](path)
    return path


def plain(text: str) -> bool:
    """Whether nothing of an exception is in a message."""
    return not any(words in text for words in RAW)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "how"), CASES)
def test_j7_every_command_about_a_broken_run(
    place: Place, capfd: pytest.CaptureFixture[str], name: str, how: str
) -> None:
    damaged(place, name, how)
    wrong: list[Any] = []
    before = state_of(place.home / "runs")
    for label, arguments in ONE.items():
        if name == "attestation.json" and (label in WRITING or (label, how) == ("attest", "missing")):
            continue
        code, out, err = place.ask(capfd, *arguments)
        if (
            expected(label, name, how) not in (code, -1)
            or not plain(err)
            or (code and not err.strip() and label[:6] != "verify")
        ):
            wrong.append((label, code, out[-300:], err[-300:]))
    for label, arguments in ALL.items():
        code, out, err = place.ask(capfd, *arguments)
        if code not in (0, 4) or not plain(err) or (place.good not in out and label == "runs"):
            wrong.append((label, code, out[-300:], err[-300:]))
    assert not wrong, "\n".join(map(repr, wrong))
    assert state_of(place.home / "runs") == before, "nothing is lost and nothing is written"


def expected(label: str, name: str, how: str) -> int:
    """The exit code of a command about a broken run. An attestation is no part of the evidence that it is about."""
    if name != "attestation.json":
        return 4
    return 4 if how != "missing" and label in ("verify", "verify --json", "attest", "prove") else -1


def seal_taken_away(run: Path) -> None:
    (run / "seal.json").unlink()


def cut_before_the_report(run: Path) -> None:
    (run / "seal.json").unlink()
    (run / "report.json").unlink()


def cut_in_an_event(run: Path) -> None:
    cut_before_the_report(run)
    data = (run / "events.jsonl").read_bytes()
    (run / "events.jsonl").write_bytes(data[: len(data) * 2 // 3])


def cut_before_the_first_event(run: Path) -> None:
    cut_before_the_report(run)
    (run / "events.jsonl").unlink()


CUTS = (seal_taken_away, cut_before_the_report, cut_in_an_event, cut_before_the_first_event)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
def test_j7_every_command_about_a_cut_run(
    place: Place, capfd: pytest.CaptureFixture[str], cut: Callable[[Path], None]
) -> None:
    cut(place.home / "runs" / place.run)
    before = state_of(place.home / "runs")
    for label, arguments in ONE.items():
        code, _, err = place.ask(capfd, *arguments)
        assert code == 4 and plain(err), (label, code, err)
    assert state_of(place.home / "runs") == before
    code, out, _ = place.ask(capfd, "runs")
    assert code == 0 and ["cut" in line.split() for line in out.splitlines() if place.run in line] == [True]


def test_j7_what_is_left_of_a_cut_run_is_printed(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    cut_in_an_event(place.home / "runs" / place.run)
    code, out, err = place.ask(capfd, "trace", "RUN")
    assert code == 4 and "run.started" in out and "the run was cut" in err
    code, out, err = place.ask(capfd, "cost", "RUN")
    assert code == 4 and "projected" in out and "the run was cut" in err


@pytest.mark.parametrize("how", DAMAGE)
def test_j7_a_broken_retention_act(place: Place, capfd: pytest.CaptureFixture[str], how: str) -> None:
    assert place.ask(capfd, *ONE["retain"])[0] == 0
    damaged(place, "retention.jsonl", how)
    before = state_of(place.home / "runs")
    for label, arguments in ONE.items():
        code, _, err = place.ask(capfd, *arguments)
        assert code == 4 and plain(err), (label, code, err)
    assert state_of(place.home / "runs") == before


def hostile(value: Any) -> Any:
    """``value`` with a terminal sequence in each text but numbers and texts that decide what is shown."""
    if isinstance(value, dict):
        return {key: one if key in ("kind", "tree", "outcome") else hostile(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hostile(one) for one in value]
    is_text = isinstance(value, str) and not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value)
    return f"{value}{STEERING}" if is_text else value


def test_j7_a_report_that_would_steer_the_terminal(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    path = place.home / "runs" / place.run / "report.json"
    report = hostile(json.loads(path.read_bytes()))
    report["interpretation"] = {"label": f"a guess{STEERING}", "sentences": []}
    path.write_bytes(canonical(report))
    for asked in ((), ("--why",)):
        code, out, err = place.ask(capfd, "show", "RUN", *asked)
        assert code == 4 and "?]0;stolen?" in out and "\x1b" not in out + err
    report["durations"]["waited_for_provider_seconds"] = f"1{STEERING}"
    path.write_bytes(canonical(report))
    code, out, err = place.ask(capfd, "show", "RUN")
    assert (code, out) == (4, "") and "waited_for_provider_seconds is not a decimal number" in err and "\x1b" not in err


OTHER_ID = "29990101T000000-0000000000"


def test_j7_a_copy_under_another_id_is_no_run(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(place.home / "runs" / place.run, place.home / "runs" / OTHER_ID)
    code, out, err = place.ask(capfd, "runs")
    assert code == 0 and ["copy" in line.split() for line in out.splitlines() if OTHER_ID in line] == [True]
    assert f"{OTHER_ID} contains the run {place.run}" in err and "does not count" in err
    code, out, _ = place.ask(capfd, "runs", "--status", "success", "--json")
    assert OTHER_ID not in out and place.run in out
    listed = {row["run"]: row for row in json.loads(place.ask(capfd, "runs", "--json")[1])["runs"]}
    assert listed[OTHER_ID]["status"] == "" and listed[OTHER_ID]["copy_of"] == place.run
    code, out, err = place.ask(capfd, "query", "select count(*) as n from runs", "--json")
    assert code == 0 and json.loads(out)["rows"] == [{"n": 2}] and OTHER_ID in err and place.run in err
    copied = Place(place.home, OTHER_ID, place.good)
    for label, arguments in ONE.items():
        code, out, err = copied.ask(capfd, *arguments)
        assert code == 4 and plain(err), (label, code, err)
        assert label != "show" or "success" not in out
    code, out, _ = place.ask(capfd, "show", "last")
    assert code == 0 and OTHER_ID not in out, "the newest run is not the copy"
    batch = json.loads((place.home / "runs" / place.run / "manifest.json").read_bytes())["configuration"]["batch"]
    code, out, _ = place.ask(capfd, "cost", "--batch", batch, "--json")
    assert code == 0 and [row["run"] for row in json.loads(out)["runs"]] == [place.run]


@pytest.mark.parametrize("name", ["handed-over", OTHER_ID[:8]])
def test_j7_a_directory_at_hand_is_found_by_its_name(
    place: Place, capfd: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    shutil.copytree(place.home / "runs" / place.run, tmp_path / name)
    at_hand = Place(place.home, name, place.good)
    for label, arguments in ONE.items():
        if label in (*WRITING, "decide", "replay --model", "rubric"):
            continue
        code, _, err = at_hand.ask(capfd, *arguments)
        assert code == 0, (label, code, err)
    shutil.rmtree(place.home / "runs" / place.run)
    assert at_hand.ask(capfd, "verify", "RUN")[0] == 0, "no home is needed for it"


def test_j7_two_runs_of_one_name_are_told_apart(
    place: Place, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(place.home / "runs" / place.run, tmp_path / place.run)
    (tmp_path / place.run / "report.json").write_bytes(b"")
    code, _, err = place.ask(capfd, "verify", "RUN")
    assert code == 2 and f"./{place.run}" in err and "two runs" in err
    assert place.ask(capfd, "verify", f"./{place.run}")[0] == 4
    assert place.ask(capfd, "verify", str(place.home / "runs" / place.run))[0] == 0
    monkeypatch.chdir(place.home / "runs")
    assert place.ask(capfd, "verify", "RUN")[0] == 0, "here both are the same directory"


def test_j7_a_directory_that_holds_no_run_is_not_taken_for_one(
    place: Place, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "handed-over").mkdir()
    assert place.ask(capfd, "verify", "handed-over")[0] == 2
    (tmp_path / place.run[:8]).mkdir()
    assert place.ask(capfd, "verify", place.run)[0] == 0
