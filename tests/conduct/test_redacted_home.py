"""No file of the home holds a secret after a redacted run, wherever it was planted, and a batch goes on without it."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.test_redaction_live import Proctor, everywhere, found_in, started, vaulted
from tests.conftest import ContractMaker

__all__ = ["vaulted"]

KEY = "sk-proj-" + "Zq7Wm2" * 8
SPACED = "correct horse 9 staple"
USERS = "x0Pa:ss/word9"
OTHER = "plainpasswordwithoutdigits"
VARIABLE = "wJalrXUtnFEMIK7MDENGbPxRfiCYzEXAMPLEKEY1"
ISSUE = "glpat-" + "Kd93" * 6
PRINTED = "xoxb-" + "123456789012-" * 2 + "aBcDeF123456aBcDeF123456"
NAMED = "npm_" + "Ab12" * 9
WORDS = ["python3", "/agent/fix.py", "--api-key", KEY, "--db-password", SPACED, "-u", f"jo:{USERS}", f"--pwd={OTHER}"]
AGENT = f"command:{shlex.join(WORDS)}"

FIX = f"""
import os, pathlib, sys
print(os.environ["AWS_SECRET_ACCESS_KEY"] and "env", dict(os.environ), sys.argv)
print("PRIVATE {PRINTED}", file=sys.stderr)
pathlib.Path("{NAMED}.txt").write_text("token {PRINTED}\\n")
pathlib.Path("settings.py").write_text("API_KEY = '" + sys.argv[2] + "'\\n")
calc = pathlib.Path("calc.py")
calc.write_text(calc.read_text().replace("a - b", "a + b"))
"""
SECRETS = [KEY, SPACED, USERS, OTHER, VARIABLE, ISSUE, PRINTED, NAMED]


@pytest.fixture
def asked(make_contract: ContractMaker, tmp_path: Path) -> tuple[Any, ...]:
    """What a run is asked for, with a secret in everything that can hold one."""
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "fix.py").write_text(FIX)
    contract = make_contract(environment={"variables": {"AWS_SECRET_ACCESS_KEY": VARIABLE}})
    (contract / "issue.md").write_text(f"add() subtracts. Use {ISSUE} for the mirror.\n")
    return contract, "--agent", AGENT, "--agent-files", tmp_path / "agent"


def test_no_file_of_the_home_holds_a_planted_secret(vaulted: Proctor, asked: tuple[Any, ...], tmp_path: Path) -> None:
    row = started(vaulted, *asked, "--redact-secrets")
    assert row["status"] == "success", row
    home = tmp_path / "home"
    assert found_in(home, SECRETS) == []
    names = {Path(name).relative_to(home).parts[0] for name in everywhere(home)}
    assert {"batches", "runs", "vault"} <= names
    (batch,) = (home / "batches").glob("*.json")
    assert batch.read_text().count("[secret:") == 2 * 4, "once with the digest and once in the place"
    manifest = json.loads((home / "runs" / row["run"] / "manifest.json").read_bytes())
    kept = json.loads(batch.read_bytes())
    assert kept["digests"][0][2] == manifest["agent"]["digest"]
    assert manifest["configuration"]["agent"] == kept["places"][0][3] == kept["digests"][0][0]
    for command in (("verify",), ("rescore",), ("trace",), ("show",), ("replay", "--acceptance")):
        done = vaulted(command[0], row["run"], *command[1:])
        assert done.returncode == 0, done.stdout + done.stderr
        assert not [secret for secret in SECRETS if secret in done.stdout]
    assert found_in(home, SECRETS) == []


def test_an_agent_whose_words_held_a_secret_cannot_act_again(vaulted: Proctor, asked: tuple[Any, ...]) -> None:
    row = started(vaulted, *asked, "--redact-secrets")
    refused = vaulted("replay", row["run"], "--tools")
    assert refused.returncode == 2 and "contained a secret, which is not recorded" in refused.stderr
    assert "--acceptance" in refused.stderr


def test_the_digest_of_an_agent_whose_words_held_a_secret_is_a_keyed_one(
    vaulted: Proctor, asked: tuple[Any, ...], tmp_path: Path
) -> None:
    plain = started(vaulted, *asked)
    hidden = started(vaulted, *asked, "--redact-secrets")
    runs = tmp_path / "home" / "runs"
    digests = [
        json.loads((runs / row["run"] / "manifest.json").read_bytes())["agent"]["digest"] for row in (plain, hidden)
    ]
    assert digests[0] != digests[1] and len(digests[0]) == len(digests[1])


def test_a_batch_whose_agent_held_a_secret_goes_on_when_its_words_are_given_again(
    vaulted: Proctor, asked: tuple[Any, ...], tmp_path: Path
) -> None:
    started(vaulted, *asked, "--redact-secrets", "-n", "2")
    home = tmp_path / "home"
    assert "nothing is left to do" in vaulted("run", "--resume").stdout
    shutil.rmtree(sorted((home / "runs").iterdir())[-1])

    refused = vaulted("run", "--resume")
    assert refused.returncode == 2 and "contained a secret, which the batch does not store" in refused.stderr
    assert "--resume --agent" in refused.stderr
    other = vaulted("run", "--resume", "--agent", AGENT.replace(KEY, KEY[:-1] + "X"))
    assert other.returncode == 2 and "was started without this agent" in other.stderr
    assert len(list((home / "runs").iterdir())) == 1

    done = vaulted("run", "--resume", "--agent", AGENT)
    assert done.returncode == 0, done.stderr
    assert len(list((home / "runs").iterdir())) == 2
    assert "nothing is left to do" in vaulted("run", "--resume").stdout
    assert found_in(home, SECRETS) == []


def test_a_batch_that_cannot_be_made_again_is_not_taken_up(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    files = tmp_path / NAMED
    files.mkdir()
    asked = (make_contract(), "--agent", "command:true", "--agent-files", files)
    started(vaulted, *asked, "--redact-secrets")
    shutil.rmtree(next((tmp_path / "home" / "runs").iterdir()))
    refused = vaulted("run", "--resume")
    assert refused.returncode == 2
    assert "--agent-files contained a secret, which the batch does not store" in refused.stderr


def test_agents_are_not_changed_when_a_batch_goes_on(
    proctor: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    started(proctor, make_contract(), "--agent", "noop")
    shutil.rmtree(next((tmp_path / "home" / "runs").iterdir()))
    refused = proctor("run", "--resume", "--agent", "reference")
    assert refused.returncode == 2 and "was started without this agent" in refused.stderr
