"""Forged runs that hold together: verify computes every value that follows from others, and names what does not fit."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, parse
from proctor.base.errors import ProctorError
from proctor.conduct.recompute import recompute
from proctor.contract.digest import recorded_content_id
from proctor.judge.evidence_consistency import disagreements
from proctor.judge.evidence_consistency.compared_run import Subject
from proctor.judge.run_evidence import read_evidence
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.event import Event
from tests.conduct.resealing import Forger, Steps, another, copy_of, shape

Proctor = Callable[..., subprocess.CompletedProcess[str]]

UNNOTICED = (
    # clocks: readings that nothing else records
    *("run.started.wall_ns", "patch.applied.start", "patch.applied.end", "safety.checked.start", "safety.checked.end"),
    *("check.finished.start", "check.finished.end", "check.inverted.start", "check.inverted.end"),
    # what the machine did to an attempt
    *("check.finished.waited_seconds", "check.finished.stall", "check.finished.machine_oom_kills"),
    *(
        "check.decided.set_aside",
        "check.finished.set_aside",
        "check.inverted.waited_seconds",
        "check.inverted.stalled_seconds",
    ),
    # the machine, the harness and the sandbox, which the manifest alone describes
    *("manifest.json.machine.", "manifest.json.os.", "manifest.json.harness.", "manifest.json.sandbox.backend"),
    "manifest.json.sandbox.isolation.",
    # the agent's own identity, and the batch that the run belongs to
    *("manifest.json.agent.digest", "manifest.json.agent.settings", "manifest.json.configuration."),
    # places that bytes came from, which a contract id leaves out
    *("contract.json.repository.source.spec", "contract.json.repository.git"),
    # observations: what an event saw, and no other record repeats
    *(
        "tool.invocation.",
        "guard.",
        "monitor.sample.",
        "network.closed.",
        "agent.rested.",
        "agent.finished.",
        "stage.changed.",
    ),
    *(
        "workspace.mutation.diff.",
        "workspace.mutation.actor",
        "check.finished.command",
        "check.finished.diagnostics",
        "patch.applied.command",
    ),
    *("patch.applied.log", "check.finished.failing", "setup.step.", "workspace.checkpoint."),
    # what the machine did to an attempt
    *("check.finished.machine_oom_kills", "check.finished.waited_seconds", "check.finished.stall", "check.inverted."),
    # ids of tests and restored files, which results.json alone lists
    *("acceptance/results.json.checks[].tests", "acceptance/results.json.restored"),
    # the name of the rules: another one makes it a report of other rules, which is said
    "report.json.rules",
)
"""Classes of values that no other record gives, as docs/evidence.md lists them."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, project: Path) -> dict[str, Path]:
    """The three runs of the demo, by agent."""
    import os
    import sys

    home = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "proctor", "demo", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env={**os.environ, "PROCTOR_HOME": str(home / "home")},
    )
    return {row["agent"]: Path(row["evidence"]) for row in json.loads(done.stdout)["runs"]}


@pytest.fixture
def forger(demo: dict[str, Path], tmp_path: Path) -> Forger:
    """Forges the run of the agent that cheats."""
    return Forger(copy_of(demo["cheat"], tmp_path / "run"))


def codes(run: RunDirectory) -> set[str]:
    """The comparisons that find something in ``run``."""
    found = recompute(run).verification
    assert found.status == "broken"
    return {problem.code for problem in found.problems}


def test_j6_a_weaker_oracle_is_noticed(forger: Forger, proctor: Proctor) -> None:
    contract = parse(forger.original["contract.json"])
    number = next(index for index, check in enumerate(contract["checks"]) if check["must_pass"])
    forger.forge("contract.json", ("checks", number, "must_pass"), [], scored=True)
    assert codes(forger.run) == {"contract-id"}
    done = proctor("verify", forger.run.path)
    assert done.returncode == 4 and "contract.json: its content id is" in done.stdout
    assert proctor("rescore", forger.run.path).returncode == 4


def test_j6_a_weaker_oracle_with_a_new_id_everywhere_is_noticed(forger: Forger) -> None:
    contract = parse(forger.original["contract.json"])
    number = next(index for index, check in enumerate(contract["checks"]) if check["must_pass"])
    contract["checks"][number]["run"] = ["/bin/true"]
    manifest = parse(forger.original["manifest.json"])
    new = recorded_content_id(contract)
    manifest["contract"].update(id=new, version=new[7:19])
    manifest["configuration"]["contract"] = new
    forger.run.manifest.write_bytes(canonical(manifest))
    forger.run.contract.write_bytes(canonical(contract))
    forger.seal()
    assert codes(forger.run) >= {"contract-parts", "first-event"}


@pytest.mark.parametrize("scored", [False, True])
def test_j6_another_status_is_noticed(forger: Forger, proctor: Proctor, scored: bool) -> None:
    last = forger.events[-1]
    forger.forge(f"run.finished#{last['seq']}", ("payload", "status"), "success", scored=scored)
    assert codes(forger.run) == {"status"}
    forger.forge("report.json", ("status",), "success", scored=False)
    assert codes(forger.run) == {"status"}
    said = json.loads(proctor("verify", forger.run.path, "--json").stdout)
    assert said["status"] == "broken" and said["problems"][0]["comparison"] == "status"
    forger.restore()
    assert recompute(forger.run).verification.status == "intact"


def test_j6_a_status_that_is_changed_everywhere_is_noticed_by_the_report(forger: Forger) -> None:
    last = forger.events[-1]
    report = parse(forger.original["report.json"])
    forger.original["report.json"] = canonical({**report, "status": "success"})
    forger.forge(f"run.finished#{last['seq']}", ("payload", "status"), "success", scored=False)
    assert codes(forger.run) == {"report"}


CASES: dict[str, tuple[str, Steps, Any]] = {
    "attempts": ("acceptance/results.json", ("checks", 0, "attempts", 0, "exit_code"), 9),
    "listed-decisions": ("acceptance/results.json", ("checks", 0, "reason"), "other"),
    "change-kinds": ("workspace/changes.json", ("changes", 0, "change"), "renamed"),
    "change-sides": ("workspace/changes.json", ("changes", 0, "after", "mode"), "100600"),
    "change-lines": ("workspace/changes.json", ("changes", 0, "lines", "added"), 1),
    "settings": ("manifest.json", ("configuration", "watch", "caps", "wall_seconds"), 1),
    "manifest-parts": ("manifest.json", ("started", "text"), "2026-01-01T00:00:00Z"),
    "agent": ("manifest.json", ("agent", "kind"), "noop"),
    "decisions": ("check.decided", ("payload", "attribution"), "nobody"),
    "declared-checks": ("check.finished", ("payload", "ceiling_seconds"), "1"),
    "patch": ("patch.extracted", ("payload", "bytes"), 1),
    "patch-applied": ("patch.applied", ("payload", "exit_status"), 1),
    "workspace-identity": ("run.identity", ("payload", "match"), False),
    "cost": ("cost.projected", ("payload", "units"), "0"),
    "policy": ("safety.checked", ("payload", "violations"), 1),
    "briefing": ("briefing", ("payload", "text"), "do as you like"),
    "short-outputs": ("tool.invocation", ("payload", "stdout", "bytes"), 5),
    "actors": ("run.started", ("actor",), "operator"),
    "report": ("report.json", ("durations", "wall_seconds"), "0.001"),
}


@pytest.mark.parametrize("code", CASES)
def test_j6_each_comparison_finds_its_forgery(forger: Forger, code: str) -> None:
    place, steps, value = CASES[code]
    if "/" not in place and not place.endswith(".json"):
        place = next(f"{event['type']}#{event['seq']}" for event in forger.events if event["type"] == place)
    forger.forge(place, steps, value, scored=True)
    assert code in codes(forger.run)


@pytest.mark.parametrize("counted", [1, 0])
def test_j6_an_attempt_that_was_set_aside_decides_nothing(demo: dict[str, Path], counted: int) -> None:
    whole = read_evidence(RunDirectory(demo["no-op"]))
    results = parse(canonical(whole.results))
    (entry,) = (one for one in results["checks"] if one["id"] == "tests")
    aside = {"attempt": 99, "set_aside": "killed", "outcome": "error", "reason": "runner-crash", "log": {}}
    entry["attempts"].insert(1, {**entry["attempts"][0], **aside})
    events: list[Event] = []
    for event in whole.events:
        payload = dict(event.payload)
        if payload.get("check") == "tests" and event.type == "check.decided":
            payload["set_aside"] = counted
        events.append(replace(event, payload=payload))
        if payload.get("check") == "tests" and event.type == "check.finished":
            events.append(replace(event, payload={**payload, **aside}))
    evidence = replace(whole, events=tuple(events), results=results)
    found = list(disagreements(Subject(evidence, {}, {}, lambda name: b""), by_rules=False))
    assert {problem.code for problem in found} - {"logs"} == (set() if counted else {"decisions"})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param([{"suspicious": ["a"]}] * 2, False, id="a test is suspicious in one set"),
        pytest.param([{"suspicious": ["a"]}, {"suspicious": ["b"], "set": 2}], False, id="tests are suspicious once"),
        pytest.param([{"suspicious": ["a"]}, {"suspicious": ["b", "a"], "set": 2}], True, id="in two sets"),
        pytest.param([{"sentinels": "forged", "variant_count": 0}], True, id="the sentinels of a round were forged"),
        pytest.param([{"sentinels": "forged", "variant_count": 1}], False, id="a test disturbed the sentinels"),
        pytest.param([{"tampered": True}], True, id="the results of a round were tampered with"),
    ],
)
def test_j6_rounds_that_show_a_forgery_do_not_end_in_a_pass(
    demo: dict[str, Path], changes: list[dict[str, Any]], problem: bool
) -> None:
    whole = read_evidence(RunDirectory(demo["reference"]))
    left = list(changes)
    events = tuple(
        replace(event, payload={**event.payload, **left.pop(0)}) if event.type == "check.inverted" and left else event
        for event in whole.events
    )
    assert not left, "the run has that many rounds"
    subject = Subject(replace(whole, events=events), {}, {}, lambda name: b"")
    found = {one.code for one in disagreements(subject, by_rules=False)}
    assert ("decisions" in found) is problem


@pytest.mark.parametrize(
    ("steps", "value"),
    [(("variants",), 99), (("controls",), 0), (("tests",), 99), (("without",), ["another test"])],
)
def test_j6_the_numbers_of_altered_tests_follow_from_the_rounds(
    demo: dict[str, Path], tmp_path: Path, steps: Steps, value: Any
) -> None:
    forger = Forger(copy_of(demo["reference"], tmp_path / "run"))
    checks = parse(forger.original["acceptance/results.json"])["checks"]
    place = next(index for index, check in enumerate(checks) if check.get("inverted"))
    forger.forge("acceptance/results.json", ("checks", place, "inverted", *steps), value, scored=True)
    assert codes(forger.run) == {"inverted"}


@pytest.mark.parametrize("name", ["bytes", "sha256", "text"])
def test_j6_a_text_in_an_event_has_its_size_and_digest(demo: dict[str, Path], name: str) -> None:
    whole = read_evidence(RunDirectory(demo["reference"]))
    content = {"text": "hello", "bytes": 5, "sha256": sha256(b"hello").hexdigest()}

    def found(changed: dict[str, Any]) -> set[str]:
        payload = {"call": 1, "content": {**content, **changed}}
        event = replace(whole.events[0], type="model.message", payload=payload)
        subject = Subject(replace(whole, events=(*whole.events, event)), {}, {}, lambda name: b"")
        return {one.code for one in disagreements(subject, by_rules=False)}

    assert "texts" not in found({})
    assert "texts" in found({name: {"bytes": 6, "sha256": "0" * 64, "text": "hallo"}[name]})


def test_j6_a_log_must_be_the_one_of_its_event(proctor: Proctor, make_contract: Any) -> None:
    (row,) = json.loads(proctor("run", make_contract(), "--agent", "noop", "--json").stdout)["runs"]
    forger = Forger(RunDirectory(Path(row["evidence"])))
    logs = [name for name in forger.original if name.startswith("acceptance/logs/")]
    assert logs
    data = forger.original[logs[0]]
    (forger.run.path / logs[0]).write_bytes(bytes([data[0] ^ 1]) + data[1:])
    forger.seal()
    assert codes(forger.run) == {"logs"}


def test_j6_one_changed_value_of_each_class_is_noticed(forger: Forger) -> None:
    first: dict[str, tuple[str, Steps, Any]] = {}
    for place, steps, value in forger.leaves():
        first.setdefault(shape(place, steps), (place, steps, value))
    unnoticed: dict[str, int] = defaultdict(int)
    noticed = 0
    for name, (place, steps, value) in first.items():
        forger.forge(place, steps, another(value), scored=True)
        try:
            sound = recompute(forger.run).verification.sound
        except ProctorError:
            sound = False
        unnoticed[name] += sound
        noticed += not sound
    missed = [name for name, count in unnoticed.items() if count and not name.startswith(UNNOTICED)]
    assert missed == []
    assert noticed / len(first) > 0.75, f"{noticed} of {len(first)} classes"


def test_j6_whatever_stands_in_a_sealed_directory_verify_answers(forger: Forger) -> None:
    for place in ("manifest.json", "contract.json", "report.json", "workspace/changes.json", "acceptance/results.json"):
        odds: tuple[Any, ...] = ([], {}, "text", 7, None, {"schema": 1})
        for odd in odds:
            forger.restore()
            (forger.run.path / place).write_bytes(canonical(odd))
            forger.seal()
            try:
                found = recompute(forger.run).verification
            except ProctorError:
                continue
            assert found.status == "broken", (place, odd)
