"""Signing, proving and checking from the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_sign_verify_prove_and_check(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (row,) = json.loads(proctor("run", make_contract(), "--agent", "noop", "--json").stdout)["runs"]
    run, home = row["run"], tmp_path / "home"

    unsigned = proctor("verify", run, "--key", "lab")
    assert unsigned.returncode == 2 and "the key cannot be read" in unsigned.stderr
    made = json.loads(proctor("keys", "new", "lab", "--json").stdout)
    again = proctor("keys", "new", "lab")
    assert again.returncode == 2 and "never overwritten" in again.stderr
    assert json.loads(proctor("keys", "list", "--json").stdout)["keys"][0]["keyid"] == made["keyid"]
    unsigned = proctor("verify", run, "--key", "lab")
    assert unsigned.returncode == 4 and "this run is not signed" in unsigned.stdout

    assert json.loads(proctor("attest", run, "--key", "lab", "--json").stdout)["keyid"] == made["keyid"]
    unchecked = proctor("verify", run)
    assert unchecked.returncode == 0 and "give --key" in unchecked.stdout
    checked = proctor("verify", run, "--key", made["public"], "--json")
    assert (checked.returncode, json.loads(checked.stdout)["attestation"]["checked"]) == (0, True)
    assert proctor("rescore", run).returncode == 0
    assert proctor("attest", run).returncode == 2

    proof = tmp_path / "proof.json"
    assert proctor("prove", run, "--event", "2", "--out", proof).returncode == 0
    shown = proctor("prove", "--check", proof, "--key", "lab", "--json")
    assert json.loads(shown.stdout)["run"] == run
    assert "compare the seal" in proctor("prove", "--check", proof).stdout
    proof.write_bytes(proof.read_bytes().replace(b"add() subtracts", b"add() multiplies"))
    forged = proctor("prove", "--check", proof)
    assert forged.returncode == 4 and "do not belong together" in forged.stderr
    assert proctor("prove", run).returncode == proctor("prove", "--check", proof, "--event", "1").returncode == 2

    report = home / "runs" / run / "report.json"
    report.write_bytes(report.read_bytes().replace(b"failure", b"success"))
    changed = proctor("verify", run, "--key", "lab")
    assert changed.returncode == 4 and "report.json: its content was changed" in changed.stdout
