"""Parts of packages that fail, lie, change or go missing: no such run counts, and the message names the package."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ContractMaker

Proctor = Callable[..., subprocess.CompletedProcess[str]]

READER = """
from proctor.plugins import ResultsCollector
def read(data):
    found = ResultsCollector()
    for line in data.decode().split():
        found.add(line, "passed")
    return {returned}
"""
BREAKER = """
from proctor.plugins import Trip
class Part:
    name = "acme-breaker"
    def see(self, event):
        {body}
        return ()
def make(facts, settings):
    {make}
    return Part()
"""
BOX = """
from proctor.plugins import CommandSandbox
class Box:
    name, watched = "acme-box", False
    def __init__(self, directory): pass
    def identity(self): return {"kind": "acme-box"}
    def isolation(self): return {"memory": "none"}
    def overlays(self): return False
    def missing(self, require): return ()
    def open(self, plan): return CommandSandbox(plan)
"""
POINTS = {
    "proctor.results_readers": "acme-reader = acme_reader:read",
    "proctor.breakers": "acme-breaker = acme_breaker:make",
    "proctor.sandboxes": "acme-box = acme_box:Box",
}


def install(
    site: Path, *, returned: str = "found.results()", body: str = "pass", make: str = "pass", version: str = "1.0"
) -> dict[str, str]:
    """A package with a reader, a breaker and a sandbox; the variables with which Proctor finds it."""
    site.mkdir(exist_ok=True)
    (site / "acme_reader.py").write_text(READER.format(returned=returned))
    (site / "acme_breaker.py").write_text(BREAKER.format(body=body, make=make))
    (site / "acme_box.py").write_text(BOX)
    info = site / "acme-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{point}\n" for group, point in POINTS.items()))
    return {"PYTHONPATH": str(site)}


def contract_with(make_contract: ContractMaker, **parts: Any) -> Path:
    """A contract that a no-op passes, with a check that the reader of the package reads."""
    check = {
        "id": "tests",
        "gate": "acceptance",
        "run": "echo one > $PROCTOR_RESULTS/out",
        "results": "acme-reader",
        "results_file": "out",
        "must_pass": ["one"],
        "inverted": {"draws": 0},
    }
    return make_contract(**{"checks": [check], **parts})


def status(proctor: Proctor, tmp_path: Path) -> tuple[str, str]:
    """The status of the only run, and the message of its fault."""
    (directory,) = (tmp_path / "home" / "runs").iterdir()
    report = json.loads((directory / "report.json").read_bytes())
    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    faults = [event["payload"]["message"] for event in events if event["type"] == "run.fault"]
    return report["status"], "; ".join(faults)


@pytest.mark.parametrize(
    ("returned", "says"),
    {
        "raises": ("1 / 0", "ZeroDivisionError"),
        "returns another type": ("{'one': 'passed'}", "it returns a dict, not TestResults"),
        "an outcome of its own": (
            "type(found.results())({'one': 'great'}, True)",
            "an outcome is not one of passed, skipped, error, failed",
        ),
        "complete with a problem": ("type(found.results())({}, True, 'cut')", "not both or neither"),
    }.values(),
)
def test_a_reader_that_fails_makes_the_run_invalid(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path, returned: str, says: str
) -> None:
    own = install(tmp_path / "site", returned=returned)
    done = proctor("run", contract_with(make_contract), "--agent", "noop", **own)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "defect" not in done.stderr and "Traceback" not in done.stderr
    found, fault = status(proctor, tmp_path)
    assert found == "invalid" and "the results reader 'acme-reader' of the package acme failed" in fault
    assert says in fault


@pytest.mark.parametrize(
    ("body", "says"),
    {
        "raises": ("1 / 0", "ZeroDivisionError"),
        "returns another type": ("return [event]", "see() does not return a tuple of Trip"),
        "a code of another breaker": (
            "return (Trip(self.name, 'cost', 'none', 'alert', 'why', (event.seq,)),)",
            "the code 'cost' of a trip is neither 'acme-breaker' nor does it begin with 'acme-breaker-'",
        ),
        "an action of the panel": (
            "return (Trip(self.name, self.name, 'rollback', 'alert', 'why', (event.seq,)),)",
            "the action or the grade of a trip",
        ),
    }.values(),
)
def test_a_breaker_that_fails_makes_the_run_invalid(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path, body: str, says: str
) -> None:
    own = install(tmp_path / "site", body=body)
    contract = contract_with(make_contract, policy={"breakers": ["acme-breaker"]})
    done = proctor("run", contract, "--agent", "noop", **own)
    assert done.returncode == 3, done.stdout + done.stderr
    found, fault = status(proctor, tmp_path)
    assert found == "invalid" and fault.startswith("the breaker 'acme-breaker' of the package acme failed: ")
    assert says in fault and fault.count("acme-breaker' of") == 1
    assert proctor("verify", "last", **own).returncode == 0


def test_a_breaker_that_cannot_be_made_is_reported_before_the_run(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    own = install(tmp_path / "site", make="{}[1]")
    contract = contract_with(make_contract, policy={"breakers": ["acme-breaker"]})
    done = proctor("run", contract, "--agent", "noop", **own)
    assert done.returncode == 2 and "the breaker 'acme-breaker' of the package acme cannot be used" in done.stderr
    assert not list((tmp_path / "home" / "runs").iterdir())


def test_a_package_of_another_version_is_reported_and_its_decisions_are_not_repeated(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    trips = "return (Trip(self.name, self.name, 'none', 'alert', 'why', (event.seq,)),) if event.seq == 3 else ()"
    own = install(tmp_path / "site", body=trips)
    contract = contract_with(make_contract, policy={"breakers": ["acme-breaker"]})
    assert proctor("run", contract, "--agent", "noop", **own).returncode == 0
    assert proctor("replay", "last", **own).returncode == 0
    install(tmp_path / "site", version="2.0")
    done = proctor("verify", "last", **own)
    assert done.returncode == 0, done.stdout
    assert "acme 1.0 took part; version 2.0 is installed here, so its own work was not repeated" in done.stdout
    assert proctor("replay", "last", **own).returncode == 4
    proctor("run", contract, "--agent", "noop", **own)
    first, second = sorted(path.name for path in (tmp_path / "home" / "runs").iterdir())
    compared = proctor("compare", first, second)
    assert compared.returncode == 1 and "plugins.breakers.acme-breaker.version" in compared.stdout


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({"stages": {"ladder": "automatic"}}, "policy.stages"),
        ({"network": {"allow": ["example.org:443"]}, "forbid_commands": ["curl"]}, "policy.network, policy.forbid_"),
    ],
)
def test_a_contract_that_needs_a_guard_is_refused_where_there_is_none(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path, policy: Any, names: str
) -> None:
    own = install(tmp_path / "site")
    contract = contract_with(make_contract, policy=policy, environment={"sandbox": "acme-box"})
    done = proctor("run", contract, "--agent", "noop", **own)
    assert done.returncode == 3 and names in done.stderr
    assert "the sandbox 'acme-box' cannot watch an agent, and the contract asks for it" in done.stderr


def test_an_image_is_for_the_sandbox_image_alone(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    own = install(tmp_path / "site")
    contract = contract_with(make_contract, environment={"sandbox": "acme-box", "image": f"sha256:{'0' * 64}"})
    done = proctor("lint", contract, **own)
    assert done.returncode == 2 and "'image' makes no sense with sandbox: acme-box" in done.stderr
