"""A run that was moved to long-term retention: what is left, what still verifies, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.canonical import canonical, parse_canonical
from proctor.record.chained import ChainedLog
from proctor.record.identity import new_identity
from proctor.record.retain import NAME, PURPOSE
from proctor.record.rundir import RunDirectory
from proctor.record.seal import load_seal
from proctor.record.verify import verify
from tests.conftest import ContractMaker

Proctor = Callable[..., subprocess.CompletedProcess[str]]


class Scene:
    """A run, and the command line."""

    def __init__(self, proctor: Proctor, contract: Path, home: Path) -> None:
        self.proctor = proctor
        done = proctor("run", contract, "--agent", "reference", "--json")
        self.id = json.loads(done.stdout)["runs"][0]["run"]
        self.path = home / "runs" / self.id
        self.before = {str(path): path.read_bytes() for path in self.path.rglob("*") if path.is_file()}

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


def test_an_act_can_be_signed_and_finished_after_a_crash(scene: Scene, tmp_path: Path) -> None:
    scene.proctor("vault", "identity", "jo", tmp_path / "jo.key")
    assert scene.retain("--identity", tmp_path / "jo.key").returncode == 0
    for name in ("events.jsonl", "workspace/final.patch"):
        (scene.path / name).write_bytes(scene.before[f"{scene.path}/{name}"])
    assert scene.status() == "partial"
    assert scene.retain().returncode == 0
    assert scene.status() == "partial" and not (scene.path / "workspace" / "final.patch").exists()
    public = (tmp_path / "jo.key.pub").read_text().split()[-1]
    assert f"(signed with key {public})" in scene.proctor("verify", scene.id).stdout

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
    for change in ({"files": ["report.json"]}, {"files": ["../x"]}, {"seal": "0" * 64}, {"tier": "none"}, {"log": 1}):
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
