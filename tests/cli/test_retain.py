"""A run that was moved to long-term retention: what is left, what still verifies, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proctor.base.canonical import canonical, parse_canonical
from proctor.record.chained_log import ChainedLog
from proctor.record.retain import KEPT_EVENTS, NAME, PURPOSE
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import load_seal
from proctor.record.signing.operator_identity import new_identity
from proctor.record.trace.event import payload_bytes, payload_digest
from proctor.record.verify import verify
from tests.conftest import ContractMaker

Proctor = Callable[..., subprocess.CompletedProcess[str]]

AGENT = "sed -i s/-/+/ calc.py; python3 -m unittest -q; echo done"


class Scene:
    """A run, and the command line."""

    def __init__(self, proctor: Proctor, contract: Path, home: Path) -> None:
        self.proctor = proctor
        done = proctor("run", contract, "--agent", f"command:sh -c '{AGENT}'", "--json")
        self.id = json.loads(done.stdout)["runs"][0]["run"]
        self.path = home / "runs" / self.id
        self.before: dict[str, bytes] = {
            str(path): path.read_bytes() for path in self.path.rglob("*") if path.is_file()
        }

    def retain(self, *more: str | Path) -> subprocess.CompletedProcess[str]:
        return self.proctor("retain", self.id, "--tier", "long-term", "--approve", "jo", "--why", "case closed", *more)

    def status(self) -> str:
        return verify(RunDirectory(self.path)).status


@pytest.fixture
def scene(proctor: Proctor, make_contract: ContractMaker, tmp_path: Path) -> Scene:
    return Scene(proctor, make_contract(), tmp_path / "home")


def test_what_is_left_verifies_as_partial_and_still_counts(scene: Scene) -> None:
    assert scene.retain().returncode == 0
    assert not (scene.path / "workspace" / "final.patch").exists()
    log = (scene.path / "events.jsonl").read_text()
    assert "add() subtracts" not in log and log.count("\n") == scene.before[f"{scene.path}/events.jsonl"].count(b"\n")
    removed = [line for line in log.splitlines() if '"digest"' in line[:40]]
    assert removed and all("salt" not in line and "payload" not in line for line in removed)
    for name in ("report.json", "manifest.json", "seal.json", "acceptance/results.json", "workspace/changes.json"):
        assert (scene.path / name).read_bytes() == scene.before[f"{scene.path}/{name}"]

    verified = scene.proctor("verify", scene.id)
    assert verified.returncode == 0 and ": partial," in verified.stdout
    assert "approved by jo (not signed): case closed" in verified.stdout
    assert scene.proctor("show", scene.id).returncode == 0
    assert scene.id in scene.proctor("runs").stdout
    again = scene.proctor("rescore", scene.id)
    assert again.returncode == 2 and "payloads of this run were removed" in again.stderr
    for depth in ("--acceptance", "--tools"):
        repeated = scene.proctor("replay", scene.id, depth)
        assert repeated.returncode == 2 and "payloads of this run were removed" in repeated.stderr
    trace = scene.proctor("trace", scene.id)
    assert "Traceback" not in trace.stderr and "removed by a retention act" in trace.stderr


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_every_statistic_has_the_same_row_before_and_after(scene: Scene) -> None:
    question = ("query", "SELECT * FROM runs", "--json")
    before = parsed(scene.proctor(*question))
    spent = parsed(scene.proctor("cost", scene.id, "--json"))
    summed = parsed(scene.proctor("cost", scene.id, scene.id, "--json"))
    report = parsed(scene.proctor("show", scene.id, "--json"))
    calls = [line for line in scene.before[f"{scene.path}/events.jsonl"].splitlines() if b'"guard.exec"' in line]
    assert len(calls) > 2 and report["usage"]["test_cycles"] == 1 and report["usage"]["agent_calls"] == 2
    assert scene.retain().returncode == 0
    assert parsed(scene.proctor(*question)) == before and "NULL" not in str(before)
    assert parsed(scene.proctor("cost", scene.id, "--json")) == spent
    assert parsed(scene.proctor("cost", scene.id, scene.id, "--json")) == summed
    assert parsed(scene.proctor("show", scene.id, "--json")) == report


def test_what_needs_payloads_says_what_is_missing_since_when_and_by_whose_approval(scene: Scene) -> None:
    scene.proctor("keys", "new", "lab")
    assert scene.retain().returncode == 0
    since = parsed(scene.proctor("verify", scene.id, "--json"))["retained"]["at"]
    removed = next(
        number
        for number, line in enumerate((scene.path / "events.jsonl").read_bytes().splitlines())
        if b'"payload"' not in line
    )
    for words in (
        ("rescore", scene.id),
        ("show", scene.id, "--output"),
        ("replay", scene.id),
        ("replay", scene.id, "--breakers"),
        ("replay", scene.id, "--acceptance"),
        ("replay", scene.id, "--tools"),
        ("replay", scene.id, "--model"),
        ("prove", scene.id, "--event", str(removed)),
        ("attest", scene.id, "--key", "lab"),
    ):
        done = scene.proctor(*words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert f"long-term since {since}, approved by jo: case closed" in done.stderr, words
        assert "still work" in done.stderr and "Traceback" not in done.stderr, words


def test_what_is_left_is_shown_proven_compared_and_reviewed(scene: Scene, tmp_path: Path) -> None:
    scene.proctor("keys", "new", "lab")
    assert scene.proctor("attest", scene.id, "--key", "lab").returncode == 0
    assert scene.retain().returncode == 0
    assert "retention    long-term since" in scene.proctor("show", scene.id).stdout
    trace = scene.proctor("trace", scene.id, "--json")
    assert trace.returncode == 0 and trace.stdout == (scene.path / "events.jsonl").read_text()
    shown = scene.proctor("trace", scene.id)
    assert shown.returncode == 0 and "(removed)" in shown.stdout and "run.finished" in shown.stdout
    assert scene.proctor("prove", scene.id, "--event", "0", "--out", tmp_path / "proof.json").returncode == 0
    assert scene.proctor("prove", "--check", tmp_path / "proof.json", "--key", "lab").returncode == 0
    assert scene.proctor("compare", scene.id, scene.id).returncode == 0
    said = scene.proctor("review", scene.id, "--verdict", "accept", "--by", "kim", "--minutes", "5", "--why", "fine")
    assert said.returncode == 0 and "the patch and the payloads were removed: long-term since" in said.stdout, (
        said.stderr
    )
    assert "the patch and the payloads were removed" in scene.proctor("review", scene.id).stdout
    assert scene.proctor("rubric", "--csv", scene.id).returncode == 0
    assert scene.proctor("verify", scene.id, "--key", "lab").returncode == 0
    assert scene.status() == "partial"


def test_the_approval_can_be_held_against_a_key(scene: Scene, tmp_path: Path) -> None:
    for name in ("jo", "kim"):
        scene.proctor("vault", "identity", name, tmp_path / f"{name}.key")
    jo, kim = (("verify", scene.id, "--approver", tmp_path / f"{name}.key.pub") for name in ("jo", "kim"))
    assert scene.proctor(*kim).returncode == 0
    kept = scene.path.with_name("kept")
    shutil.copytree(scene.path, kept)
    assert scene.retain("--identity", tmp_path / "jo.key").returncode == 0
    assert scene.proctor(*jo).returncode == 0
    refused = scene.proctor(*kim)
    assert refused.returncode == 4 and "another key than that of kim" in refused.stdout
    assert parsed(scene.proctor(*kim, "--json"))["status"] == "broken"
    shutil.rmtree(scene.path)
    kept.rename(scene.path)
    assert scene.retain().returncode == 0
    refused = scene.proctor(*jo)
    assert refused.returncode == 4 and "the approval is not signed" in refused.stdout
    wrong = scene.proctor("verify", scene.id, "--approver", tmp_path / "jo.key")
    assert wrong.returncode == 2 and "this is a private identity" in wrong.stderr


def forged(scene: Scene, kept: Callable[[str], bool], **changes: Any) -> None:
    """Another log in the place of the one that was left, and an act that agrees with it."""
    run, seal = RunDirectory(scene.path), load_seal(RunDirectory(scene.path))
    record = parse_canonical((scene.path / NAME).read_bytes().strip())["record"]
    lines, removed = [], 0
    for line in scene.before[f"{scene.path}/events.jsonl"].splitlines(keepends=True):
        event = parse_canonical(line.strip())
        if not kept(event["type"]):
            salt, payload = bytes.fromhex(event.pop("salt")), payload_bytes(event.pop("payload"))
            line = canonical({**event, "digest": payload_digest(salt, payload)}) + b"\n"
            removed += 1
        lines.append(line)
    log = b"".join(lines)
    run.events.write_bytes(log)
    (scene.path / NAME).unlink()
    act = {**record, "events": removed, "log": {"bytes": len(log), "sha256": sha256(log).hexdigest()}, **changes}
    ChainedLog(scene.path / NAME, anchor=seal.digest.removeprefix("sha256:")).append(act)
    (scene.path / NAME).chmod(0o644)


def test_an_act_cannot_choose_what_it_removes(scene: Scene) -> None:
    assert scene.retain().returncode == 0
    forged(scene, KEPT_EVENTS.__contains__)
    assert scene.status() == "partial"
    for kind in sorted(KEPT_EVENTS & {parse_canonical(line)["type"] for line in lines_of(scene)}):
        forged(scene, lambda name, kind=kind: name in KEPT_EVENTS and name != kind)  # type: ignore[misc]
        problems = verify(RunDirectory(scene.path)).problems
        assert any("against the rule of the tier" in problem.message for problem in problems), kind
    forged(scene, lambda name: name in KEPT_EVENTS or name == "agent.started")
    assert scene.status() == "broken"
    forged(scene, KEPT_EVENTS.__contains__, events=1)
    (problem,) = verify(RunDirectory(scene.path)).problems
    assert problem.where == f"{NAME}#0" and "says that 1 payloads were removed" in problem.message
    forged(scene, KEPT_EVENTS.__contains__, files=[])
    assert scene.status() == "broken"


def lines_of(scene: Scene) -> list[bytes]:
    return scene.before[f"{scene.path}/events.jsonl"].splitlines()


def test_a_single_changed_byte_of_what_is_left_is_found(scene: Scene, tmp_path: Path) -> None:
    assert scene.retain().returncode == 0
    kept = tmp_path / "kept"
    shutil.copytree(scene.path, kept)
    places = [
        (path, at)
        for path in sorted(path for path in kept.rglob("*") if path.is_file())
        for at in range(path.stat().st_size)
    ]
    drawn = Random(20260307).sample(places, 300)
    drawn += [(kept / NAME, at) for at in range((kept / NAME).stat().st_size)]
    for path, at in drawn:
        data = path.read_bytes()
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert verify(RunDirectory(kept)).status == "broken", (path, at)
        path.write_bytes(data)
    assert verify(RunDirectory(kept)).status == "partial"


def test_an_act_can_be_signed_and_finished_after_a_crash(scene: Scene, tmp_path: Path) -> None:
    scene.proctor("vault", "identity", "jo", tmp_path / "jo.key")
    assert scene.retain("--identity", tmp_path / "jo.key").returncode == 0
    for name in ("events.jsonl", "workspace/final.patch"):
        (scene.path / name).write_bytes(scene.before[f"{scene.path}/{name}"])
    assert scene.status() == "partial"
    unfinished = scene.proctor("verify", scene.id).stdout
    assert "not removed yet: workspace/final.patch, events.jsonl; repeat the same proctor retain" in unfinished
    later = scene.proctor("retain", scene.id, "--tier", "long-term", "--approve", "kim", "--why", "mine")
    assert (
        later.returncode == 0 and ": already long-term since " in later.stdout and "by jo: case closed" in later.stdout
    )
    assert scene.status() == "partial" and not (scene.path / "workspace" / "final.patch").exists()
    public = (tmp_path / "jo.key.pub").read_text().split()[-1]
    told = scene.proctor("verify", scene.id).stdout
    assert f"(signed with key {public})" in told and "not removed yet" not in told

    log = scene.path / NAME
    log.write_bytes(log.read_bytes().replace(b"case closed", b"case dosed."))
    assert scene.proctor("verify", scene.id).returncode == 4


def test_everything_else_that_is_missing_or_changed_is_found(scene: Scene, tmp_path: Path) -> None:
    (scene.path / "workspace" / "final.patch").unlink()
    assert scene.proctor("verify", scene.id).returncode == 4
    refused = scene.retain()
    assert refused.returncode == 4 and "only a run that verifies" in refused.stderr
    (scene.path / "workspace" / "final.patch").write_bytes(scene.before[f"{scene.path}/workspace/final.patch"])
    assert scene.retain().returncode == 0
    kept = tmp_path / "kept"
    shutil.copytree(scene.path, kept)
    for path in sorted(path for path in kept.rglob("*") if path.is_file()):
        data = path.read_bytes()
        for harm in (
            None,
            data[:-1],
            data[:-1] + bytes([data[-1] ^ 1]),
            data.replace(b'"digest":"', b'"digest":"0', 1),
        ):
            if harm == data:
                continue
            path.unlink()
            if harm is not None:
                path.write_bytes(harm)
                path.chmod(0o644)
            status = verify(RunDirectory(kept)).status
            assert status in ("broken", "unsealed"), (path, harm and harm[:80])
            path.write_bytes(data)
            path.chmod(0o644)
    assert verify(RunDirectory(kept)).status == "partial"


def test_an_act_cannot_remove_what_its_tier_keeps_or_be_carried_to_another_run(scene: Scene) -> None:
    run = RunDirectory(scene.path)
    anchor = load_seal(run).digest.removeprefix("sha256:")
    assert scene.retain().returncode == 0
    record = parse_canonical((scene.path / NAME).read_bytes().strip())["record"]
    for change in (
        *({"files": ["report.json"]}, {"files": ["../x"]}, {"seal": "0" * 64}, {"tier": "none"}, {"log": 1}),
        *({"events": str(record["events"])}, {"events": True}, {"schema": 0}, {"more": 1}, {"at": "soon"}),
        *({"why": " "}, {"approved_by": ""}, {"approved_by": 7}, {"files": record["files"] * 2}),
        *({"signature": "00"}, {"signer": ""}, {"signer": "", "signature": ""}, {"log": {**record["log"], "x": 1}}),
    ):
        (scene.path / NAME).unlink()
        ChainedLog(scene.path / NAME, anchor=anchor).append({**record, **change})
        (scene.path / NAME).chmod(0o644)
        assert scene.status() == "broken", change
    (scene.path / NAME).unlink()
    ChainedLog(scene.path / NAME, anchor="0" * 64).append(record)
    assert scene.status() == "broken"
    assert canonical(record)


def test_an_act_that_somebody_else_signed_does_not_hold(scene: Scene) -> None:
    anchor = load_seal(RunDirectory(scene.path)).digest.removeprefix("sha256:")
    assert scene.retain().returncode == 0
    record = parse_canonical((scene.path / NAME).read_bytes().strip())["record"]
    for name, status in ((record["approved_by"], "partial"), ("eve", "broken")):
        signer = new_identity(name, b"k" * 32)
        signed = {**record, "signer": str(signer.person), "signature": signer.sign(PURPOSE, record)}
        (scene.path / NAME).unlink()
        ChainedLog(scene.path / NAME, anchor=anchor).append(signed)
        (scene.path / NAME).chmod(0o644)
        assert scene.status() == status, name


@pytest.mark.parametrize("why", ["", "x" * 501])
def test_an_act_needs_a_reason(scene: Scene, why: str) -> None:
    done = scene.proctor("retain", scene.id, "--tier", "long-term", "--approve", "jo", "--why", why)
    assert done.returncode == 2 and "--why" in done.stderr
    assert scene.status() == "intact"
