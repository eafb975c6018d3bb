"""Runs that record no secret: planted ones in prompts, outputs, diffs and file names, and the whole home searched."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.test_network_runs import FETCH
from tests.conftest import ContractMaker
from tests.execute.network.servers import serving
from tests.record.planted import SHAPES, planted

Proctor = Callable[..., subprocess.CompletedProcess[str]]

AGENT = """
import json, os, pathlib, sys
secrets = json.load(open("/agent/secrets.json"))
for number, (kind, secret, text) in enumerate(secrets):
    print(text, file=sys.stdout if number % 2 else sys.stderr)
pathlib.Path("leaked.txt").write_text("\\n".join(text for _, _, text in secrets) + "\\n")
for _, secret, _ in secrets[:20]:
    pathlib.Path("names").mkdir(exist_ok=True)
    pathlib.Path("names", secret.replace("/", "_") + ".txt").write_text("x\\n")
calc = pathlib.Path("calc.py")
calc.write_text(calc.read_text().replace("a - b", "a + b"))
"""

SPELLING_AGENT = """
import base64, json, pathlib
secrets = json.load(open("/agent/secrets.json"))
for number, (kind, secret, text) in enumerate(secrets):
    print("data:", base64.b64encode(text.encode()).decode())
    print(json.dumps({"inner": json.dumps({"log": text})}).replace("/", chr(92) + "/"))
    print(base64.encodebytes((f"some words {number} " + text).encode()).decode())
lines = "".join(base64.encodebytes(text.encode()).decode() for _, _, text in secrets)
pathlib.Path("packed.txt").write_text(lines)
packed = [base64.urlsafe_b64encode(text.encode()).decode() for _, _, text in secrets]
pathlib.Path("packed.json").write_text(json.dumps(packed))
calc = pathlib.Path("calc.py")
calc.write_text(calc.read_text().replace("a - b", "a + b"))
"""


@pytest.fixture
def vaulted(proctor: Proctor, tmp_path: Path) -> Proctor:
    """The command line with a vault that jo can read."""
    assert proctor("vault", "identity", "jo", tmp_path / "jo.key").returncode == 0
    made = proctor("vault", "init", "--identity", tmp_path / "jo.key")
    assert made.returncode == 0, made.stderr
    return proctor


def everywhere(home: Path) -> dict[str, bytes]:
    """The content of every file of a home, with its name in front."""
    return {str(path): str(path).encode() + b"\n" + path.read_bytes() for path in home.rglob("*") if path.is_file()}


def found_in(home: Path, secrets: list[str]) -> list[tuple[str, str]]:
    files = everywhere(home)
    return [(secret, name) for secret in secrets for name, data in files.items() if secret.encode() in data]


def started(proctor: Proctor, *arguments: Any) -> dict[str, Any]:
    done = proctor("run", *arguments, "--json")
    assert done.stdout, done.stderr
    row: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    return row


def test_no_planted_secret_is_left_outside_the_vault(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    secrets = planted(3)
    assert len(secrets) >= 200 and len({kind for kind, _, _ in secrets}) >= 40
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "secrets.json").write_text(json.dumps(secrets))
    (tmp_path / "agent" / "fix.py").write_text(AGENT)
    show = "import pathlib, calc; print(pathlib.Path('leaked.txt').read_text()); assert calc.add(2, 2) == 4"
    contract = make_contract(checks=[{**ContractMaker.CHECK, "run": ["/usr/bin/python3", "-c", show]}])
    agent = ("--agent", "command:python3 /agent/fix.py", "--agent-files", tmp_path / "agent")
    row = started(vaulted, contract, *agent, "--redact-secrets")
    assert row["status"] == "success", row

    home = tmp_path / "home"
    assert found_in(home, [secret for _, secret, _ in secrets]) == []
    run = home / "runs" / row["run"]
    patch = (run / "workspace" / "final.patch").read_text()
    missing = [kind for kind in (*SHAPES, "jwt", "password") if f"[secret:{kind}:" not in patch]
    assert missing == []
    for command in ("verify", "rescore", "replay"):
        done = vaulted(command, row["run"])
        assert done.returncode == 0, done.stdout + done.stderr
    kept = len(list((home / "vault" / "entries").iterdir()))
    assert kept >= len({secret for _, secret, _ in secrets})

    name = patch.partition("[secret:github-token:40:")[2][:24]
    got = vaulted("vault", "get", name, "--identity", tmp_path / "jo.key", "--why", "case 12")
    assert got.stdout.strip() in [secret for kind, secret, _ in secrets if kind == "github-token"]


def test_prompts_and_answers_of_a_model_are_redacted_too(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    secrets = planted(1)
    said = "\n".join(text for _, _, text in secrets)
    turns = {"schema": 1, "turns": [{"call": {"tool": "shell", "arguments": {"command": "cat issue"}}}, {"say": said}]}
    (tmp_path / "turns.yaml").write_text(json.dumps(turns))
    contract = make_contract()
    (contract / "issue.md").write_text("add() subtracts. " + secrets[7][2] + "\n")
    row = started(
        vaulted, contract, "--agent", "builtin", "--model", "scripted/m", "--script", "turns.yaml", "--redact-secrets"
    )
    home = tmp_path / "home"
    assert found_in(home / "runs", [secret for _, secret, _ in secrets]) == []
    assert found_in(home / "batches", [secret for _, secret, _ in secrets]) == []
    trace = (home / "runs" / row["run"] / "events.jsonl").read_text()
    blobs = "".join(path.read_text() for path in (home / "runs" / row["run"] / "blobs").iterdir())
    assert [kind for kind in SHAPES if f"[secret:{kind}:" not in trace + blobs] == []
    assert vaulted("verify", row["run"]).returncode == 0


def letters_of(secret: str) -> list[str]:
    """Letters of base64 that spell the middle of a secret, for each place where a group can begin."""
    whole = [base64.b64encode(b"x" * shift + secret.encode()).decode() for shift in range(3)]
    return [text[8:-8][:24] for text in whole if len(text) >= 40]


def test_no_other_spelling_of_a_secret_is_left_outside_the_vault(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    secrets = [one for one in planted(1) if len(one[1]) >= 24 and "\n" not in one[1]]
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "secrets.json").write_text(json.dumps(secrets))
    (tmp_path / "agent" / "fix.py").write_text(SPELLING_AGENT)
    agent = ("--agent", "command:python3 /agent/fix.py", "--agent-files", tmp_path / "agent")
    row = started(vaulted, make_contract(), *agent, "--redact-secrets")
    assert row["status"] == "success", row
    home = tmp_path / "home"
    spelled = [letters for _, secret, _ in secrets for letters in letters_of(secret)]
    assert len(spelled) > 150
    assert found_in(home / "runs", [*spelled, *(secret for _, secret, _ in secrets)]) == []
    for_urls = [text.replace("+", "-").replace("/", "_") for text in spelled]
    assert found_in(home / "runs", for_urls) == []
    for command in ("verify", "rescore", "replay"):
        done = vaulted(command, row["run"])
        assert done.returncode == 0, done.stdout + done.stderr


STARTING_AGENT = """
import pathlib, subprocess
token = "ghp_" + "Ab3" * 12
subprocess.run(["sh", "-c", "echo " + token + " > /dev/null; exit 3"])
subprocess.run(["true", "--db-password", "correct horse"])
pathlib.Path("kept-" + token + ".txt").write_text("x")
subprocess.run(["sh", "-c", pathlib.Path("/agent/more.sh").read_text()])
"""


def test_a_program_that_is_given_a_secret_is_known_again_and_another_one_is_named(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "start.py").write_text(STARTING_AGENT)
    (tmp_path / "agent" / "more.sh").write_text(": one")
    agent = ("--agent", "command:python3 /agent/start.py", "--agent-files", tmp_path / "agent")
    row = started(vaulted, make_contract(), *agent, "--redact-secrets")
    done = vaulted("replay", row["run"], "--tools")
    assert (done.returncode, "as recorded" in done.stdout) == (0, True), done.stdout + done.stderr
    other = "ghp_" + "Cd4" * 12
    (tmp_path / "agent" / "more.sh").write_text(f": {other}")
    done = vaulted("replay", row["run"], "--tools")
    assert (done.returncode, "sh -c : one: was not started now" in done.stdout) == (1, True), done.stdout
    assert other not in done.stdout


def test_a_patch_that_does_not_apply_without_its_secret_is_not_called_different(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    token = "ghp_" + "Ab3" * 12
    contract = make_contract(files={"calc.py": f"KEY = '{token}'\n\ndef add(a, b):\n    return a - b\n"})
    row = started(vaulted, contract, "--agent", "command:sed -i s/-/+/ calc.py", "--redact-secrets")
    done = vaulted("replay", row["run"], "--acceptance")
    assert done.returncode == 2 and "does not apply without" in done.stderr, done.stdout
    assert token not in done.stdout + done.stderr


def test_checks_that_miss_a_secret_of_the_patch_are_told_with_the_reason(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    check = {**make_contract.CHECK, "run": ["/bin/sh", "-c", "test $(wc -c < key.txt) -eq 40"]}
    contract = make_contract(checks=[check], reference=None)
    agent = "command:python3 -c \"open('key.txt', 'w').write('ghp_' + 'Ab3' * 12)\""
    row = started(vaulted, contract, "--agent", agent, "--redact-secrets")
    done = vaulted("replay", row["run"], "--acceptance")
    assert done.returncode == 1 and "which may cause a difference" in done.stdout, done.stdout + done.stderr


def test_tool_calls_that_held_a_secret_are_not_made_again_without_it(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    token = "ghp_" + "Ab3" * 12
    turns = [{"call": {"tool": "run", "arguments": {"command": f"echo {token} | wc -c"}}}, {"say": "Done."}]
    (tmp_path / "turns.yaml").write_text(json.dumps({"schema": 1, "turns": turns}))
    model = ("--agent", "builtin", "--model", "scripted/m", "--script", "turns.yaml")
    row = started(vaulted, make_contract(), *model, "--redact-secrets")
    done = vaulted("replay", row["run"], "--tools")
    assert done.returncode == 2 and "contained a secret, which is not recorded" in done.stderr, done.stdout
    assert "[secret:github-token:40:" in done.stderr and token not in done.stderr


def test_a_log_that_is_cut_in_the_middle_of_a_secret_does_not_show_its_beginning(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    token = "ghp_" + "Ab3" * 12
    words = "'x' * (16 * 1024 - 20) + ' ' + 'ghp_' + 'Ab3' * 12 + ' y' * 100"
    agent = f'command:python3 -c "print({words})"'
    row = started(vaulted, make_contract(), "--agent", agent, "--redact-secrets")
    events = (tmp_path / "home" / "runs" / row["run"] / "events.jsonl").read_text()
    printed = next(json.loads(line) for line in events.splitlines() if '"tool.invocation"' in line)
    prefix = printed["payload"]["stdout"]["prefix"]
    assert token[:12] not in prefix and "[secret:github-token:19:" in prefix


def test_a_network_that_is_recorded_leaves_no_cassette(
    vaulted: Proctor, make_contract: ContractMaker, tmp_path: Path
) -> None:
    with serving() as site:
        address = f"localhost:{site.port}"
        token = "glpat-" + "Zx9" * 7
        contract = make_contract(policy={"network": {"record": "tape", "allow": [address]}})
        (tmp_path / "agent").mkdir()
        (tmp_path / "agent" / "fetch.py").write_text(FETCH)
        agent = f"command:python3 /agent/fetch.py http://{address}/echo?private_token={token} \"'{token}'\""
        row = started(vaulted, contract, "--agent", agent, "--agent-files", tmp_path / "agent", "--redact-secrets")
    home = tmp_path / "home"
    run = home / "runs" / row["run"]
    assert found_in(home / "runs", [token, *letters_of(token)]) == []
    events = [json.loads(line) for line in (run / "events.jsonl").read_bytes().splitlines()]
    (closed,) = [event["payload"] for event in events if event["type"] == "network.closed"]
    assert (closed["blob"], closed["cassette"], closed["replayable"]) == ("", "", False)
    report = json.loads((run / "report.json").read_bytes())
    assert "network: no cassette is stored if secrets are redacted" in [
        one["why"] for one in report["replayable"]["reasons"]
    ]
    assert vaulted("verify", row["run"]).returncode == 0


def test_redaction_without_a_vault_is_refused(proctor: Proctor, make_contract: ContractMaker) -> None:
    done = proctor("run", make_contract(), "--agent", "noop", "--redact-secrets")
    assert done.returncode == 2 and "there is no vault" in done.stderr and "vault init" in done.stderr


def test_without_the_option_nothing_is_replaced(proctor: Proctor, make_contract: ContractMaker, tmp_path: Path) -> None:
    contract = make_contract()
    (contract / "issue.md").write_text("token ghp_" + "Ab3" * 12)
    row = started(proctor, contract, "--agent", "noop")
    assert "[secret:" not in (tmp_path / "home" / "runs" / row["run"] / "events.jsonl").read_text()
