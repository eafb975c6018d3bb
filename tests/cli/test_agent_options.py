"""Options of agents on the command line and in agent files, as a user gives them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proctor.conduct.session.model_options import settings_of_model
from proctor.execute.agents.agent_file import AgentFile
from proctor.execute.gateway.scripted.scripted_model import scripted_server
from tests.conduct.live import Proctor, Seen
from tests.conduct.talking import FIX
from tests.study.pilot.live import planned, write_pilot

SHOWS = (
    "import os; print(open(os.environ['PROCTOR_RULES']).read(), os.environ.get('MINE'), os.environ['PROCTOR_EFFORT'])"
)
COMMAND = f'command:/usr/bin/python3 -c "{SHOWS}"'
TESTED = "Run the tests before you stop. Never use sudo."


def agent_file(folder: Path, file: str, **fields: Any) -> Path:
    path = folder / file
    path.write_text(json.dumps({"schema": 1, "agent": COMMAND, **fields}))
    return path


def runs_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return found


def manifest_of(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(run["evidence"]) / "manifest.json").read_bytes())
    return found


def test_the_command_line_replaces_the_file_and_reports_show_it(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text(TESTED)
    file = agent_file(tmp_path, "first.yaml", effort="low", rules="AGENTS.md", environment={"MINE": "of the file"})
    contract = make_contract()
    (run,) = runs_of(proctor("run", contract, "--agent", file, "--effort", "high", "--json"))
    assert run["agent"] == "first"
    seen = Seen(Path(run["evidence"]))
    assert seen.output == f"{TESTED}\n of the file high\n"
    assert not [hit for hit in seen.of("words.hit") if "sudo" in hit["rule"]], "rules are not the agent's own text"
    settings = manifest_of(run)["agent"]["settings"]
    assert settings["effort"] == "high" and settings["environment"] == "MINE"
    assert "of the file" not in json.dumps(manifest_of(run))
    shown = proctor("show", run["run"]).stdout
    assert "by first" in shown and "option       effort high" in shown and "option       rules sha256:" in shown
    assert proctor("verify", run["run"]).returncode == 0
    again = proctor("replay", run["run"], "--tools")
    assert again.returncode == 0, again.stdout + again.stderr


def test_two_variants_are_told_apart_and_a_batch_goes_on_with_its_options(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text(TESTED)
    one = agent_file(tmp_path, "one.yaml", effort="low", rules="AGENTS.md")
    two = agent_file(tmp_path, "two.yaml", effort="high", rules="AGENTS.md", name="second")
    runs = runs_of(proctor("run", make_contract(), "--agent", one, "--agent", two, "--json"))
    assert [run["agent"] for run in runs] == ["one", "second"]
    digests = [manifest_of(run)["agent"]["digest"] for run in runs]
    assert digests[0] != digests[1]
    batch = manifest_of(runs[0])["configuration"]["batch"]
    record = tmp_path / "home" / "runs" / runs[1]["run"]
    (record / "seal.json").unlink()
    two.write_text(two.read_text().replace("high", "medium"))
    changed = proctor("run", "--resume", "--batch", batch)
    assert changed.returncode == 2 and "the agent has changed since the batch began" in changed.stderr
    two.write_text(two.read_text().replace("medium", "high"))
    (again,) = runs_of(proctor("run", "--resume", "--batch", batch, "--json"))
    assert manifest_of(again)["agent"]["digest"] == digests[1]


def test_options_of_the_command_line_are_kept_with_the_batch(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text(TESTED)
    options = ["--rules", "AGENTS.md", "--effort", "low", "--agent-env", "MINE=mine", "--name", "careful"]
    (run,) = runs_of(proctor("run", make_contract(), "--agent", COMMAND, *options, "--json"))
    assert run["agent"] == "careful"
    batch = manifest_of(run)["configuration"]["batch"]
    (tmp_path / "home" / "runs" / run["run"] / "seal.json").unlink()
    assert proctor("run", "--resume", "--batch", batch, "--effort", "high").returncode == 2
    (again,) = runs_of(proctor("run", "--resume", "--batch", batch, "--json"))
    assert manifest_of(again)["agent"] == manifest_of(run)["agent"]


WRONG: list[tuple[list[str], str]] = [
    (["--agent", "noop", "--agent", "reference", "--name", "x"], "--name is the name of one agent"),
    (["--agent", "noop", "--name", "A B"], "expected a name of lower-case letters"),
    (["--agent", "noop", "--effort", "high"], "the agent noop does not have the option --effort"),
    (["--agent", "command:x", "--skills", "skills"], "there is no skill in this directory"),
    (["--agent", "command:x", "--skills", "nodir"], "/nodir: the directory of skills does not exist"),
    (["--agent", "builtin", "--model", "openai/m", "--agent-arg", "x"], "does not have the option --agent-arg\n"),
    (["--agent", "pi", "--model", "openai/m", "--small-model", "x"], "does not have the option --small-model\n"),
    (["--agent", "served.yaml", "--model", "openai/m"], "served.yaml: the agent builtin does not have the option mcp"),
    (["--agent", "pi@", "--model", "openai/m"], "--agent 'pi@': the version after the '@' is missing"),
    (["--agent", "acp:pi@", "--model", "openai/m"], "--agent 'acp:pi@': the version after the '@' is missing"),
    (["--agent", "builtin:", "--model", "openai/m"], "--agent 'builtin:': what follows the ':' is missing"),
    (["--agent", "noop", "--name", ""], "--name '': expected a name"),
    (["--agent", "nameless.yaml"], "nameless.yaml:3:7: expected a name"),
    (["--agent", "half.yaml"], "half.yaml:2:8: the version after the '@' is missing"),
    (["--agent", "command:x", "--rules", "skills"], "/skills: the rules file is a directory"),
    (["--agent", "command:x", "--rules", ""], "--rules '': the path is empty"),
    (["--agent", "ruled.yaml"], "/ruled.yaml:3:8: "),
    (["--agent", "command:x", "--agent-env", "PROCTOR_X=1"], "--agent-env takes NAME=VALUE"),
    (["--agent", "command:x", "--agent-env", "sk-secret"], "--agent-env takes NAME=VALUE"),
    (["--agent", "command:x", "--agent-env", "A=1", "--agent-env", "A=2"], "--agent-env A: given twice"),
    (["--agent", "command:x", "--agent-env", "A=\udcff"], "--agent-env: not text in UTF-8"),
    (["--agent", "command:x", "--agent-arg", "\udcff"], "--agent-arg: not text in UTF-8"),
    (["--agent", "endpoint:x", "--small-model", "\udcff"], "--small-model: not text in UTF-8"),
    (["--agent", "command:x", "--temperature", "warm"], "not a decimal number"),
    (["--agent", "command:x", "--rules", "none.md"], "the rules file cannot be read: No such file"),
    (["--agent", "command:x", "--model", "openai/m"], "the agent command uses no model"),
    (["--agent", "builtin@1.0", "--model", "openai/m"], "the agent builtin has no versions"),
    (["--agent", "codex@latest", "--model", "openai/m"], "not a version: 'latest'"),
    (["--agent", "codex@0.1.0", "--model", "openai/m"], "codex@0.1.0 is not installed"),
    (["--agent", "none.yaml"], "none.yaml: does not exist"),
    (["--agent", "bad.yaml"], "bad.yaml:3:1: unknown key 'efort'"),
    (["--agent", "a/x.yaml", "--agent", "b/x.yaml"], "two agents have the name x"),
    (["--agent", "command:x", "--rules", "CONTRACT/issue.md"], "the agent's files and the contract overlap"),
    (
        ["--agent", "builtin", "--model", "openai/m", "--endpoint", "openai/n=http://127.0.0.1:1"],
        "there is no model 'openai/n' in this command",
    ),
    (
        [
            "--agent",
            "builtin",
            "--model",
            "openai/m",
            "--endpoint",
            "openai/m=http://a",
            "--endpoint",
            "openai/m=http://b",
        ],
        "--endpoint: given twice for openai/m",
    ),
    (["--agent", "builtin", "--model", "openai/m", "--dialect", "openai/m=x"], "not a dialect: 'x'"),
    (["--agent", "aimed.yaml", "--script", "turns.yaml"], "--endpoint: a scripted model has no endpoint and no key"),
    (
        ["--agent", "builtin", "--model", "scripted/m", "--script", "turns.yaml", "--key-env", "A"],
        "--key-env: a scripted model has no endpoint and no key",
    ),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_wrong_is_said_before_anything_runs(
    proctor: Proctor, make_contract: Any, tmp_path: Path, options: list[str], words: str
) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "bad.yaml").write_text("schema: 1\nagent: noop\nefort: high\n")
    (tmp_path / "nameless.yaml").write_text('schema: 1\nagent: noop\nname: ""\n')
    (tmp_path / "half.yaml").write_text("schema: 1\nagent: pi@\n")
    (tmp_path / "ruled.yaml").write_text("schema: 1\nagent: command:x\nrules: NOPE.md\n")
    agent_file(tmp_path, "served.yaml", agent="builtin", mcp={"time": {"pypi": "mcp-server-time==2026.10.19"}})
    (tmp_path / "turns.yaml").write_text("schema: 1\nturns:\n  - {say: Done.}\n")
    agent_file(tmp_path, "aimed.yaml", agent="builtin", model="scripted/m", endpoint="http://127.0.0.1:1")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.yaml").write_text(f"schema: 1\nagent: 'command:{folder}'\n")
    contract = make_contract()
    (contract / "issue.md").touch()
    options = [one.replace("CONTRACT", str(contract)) for one in options]
    done = proctor("run", contract, *options, OPENAI_API_KEY="sk-0123456789")
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr and "sk-" not in done.stderr
    assert not list((tmp_path / "home").glob("runs/*")), "nothing has begun"


def test_endpoints_and_keys_can_be_given_for_one_model(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    models = ["--model", "mine/a", "--model", "mine/b"]
    with scripted_server(FIX.encode()) as url:
        endpoint = f"{url}?v=1"
        own = ["--dialect", "mine/a=chat", "--key-env", "mine/b=KEY", "--endpoint", endpoint]
        done = proctor("run", make_contract(), "--agent", "builtin", *models, *own, "--json", KEY="sk-0123456789")
    assert [run["status"] for run in runs_of(done)] == ["success", "success"]
    (batch,) = (tmp_path / "home" / "batches").glob("*.json")
    settings = json.loads(batch.read_bytes())["settings"]
    assert settings["endpoint"] == endpoint
    of_a, of_b = (settings_of_model(model, settings, AgentFile("builtin")) for model in ("mine/a", "mine/b"))
    assert of_a["dialect"] == "chat" and "key_env" not in of_a
    assert of_b["key_env"] == "KEY" and "dialect" not in of_b


def test_the_model_of_an_agent_file_is_not_replaced_in_silence(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "turns.yaml").write_text(FIX)
    agent_file(tmp_path, "own.yaml", agent="builtin", model="scripted/own")
    common = ["run", make_contract(), "--agent", "own.yaml", "--script", "turns.yaml"]
    refused = proctor(*common, "--model", "scripted/other")
    assert refused.returncode == 2, refused.stdout
    assert "--model scripted/other: no agent uses it: own.yaml has the model scripted/own" in refused.stderr
    assert "leave out --model scripted/other, or remove 'model' from own.yaml" in refused.stderr
    both = proctor(*common, "--model", "scripted/own", "--model", "scripted/other")
    assert both.returncode == 2 and "--model scripted/other: no agent uses it" in both.stderr
    assert not list((tmp_path / "home").glob("runs/*")), "nothing has begun"
    same = proctor(*common, "--model", "scripted/own", "--json")
    assert [run["model"] for run in runs_of(same)] == ["scripted/own"] and "own model" not in same.stderr
    mixed = proctor(*common, "--agent", "builtin", "--model", "scripted/other", "--json")
    assert {(run["agent"], run["model"]) for run in runs_of(mixed)} == {
        ("own", "scripted/own"),
        ("builtin", "scripted/other"),
    }
    assert "own.yaml is run with its own model scripted/own; --model is for the other agents" in mixed.stderr


def test_an_agent_file_has_its_own_model_and_key() -> None:
    asked = AgentFile("builtin", model="mine/m", endpoint="http://own", key_env="OWN")
    found = settings_of_model("mine/m", {"endpoint": "http://all", "key_file": "/all", "script": "s"}, asked)
    assert found == {"endpoint": "http://own", "key_env": "OWN", "script": "s"}
    other = settings_of_model("x/y", {"endpoint": "http://all", "key_file": "/all"}, AgentFile("builtin"))
    assert other == {"endpoint": "http://all", "key_file": "/all"}


def test_a_pilot_names_agent_files_and_freezes_what_they_say(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text(TESTED)
    agent_file(tmp_path, "plain.yaml", effort="low")
    agent_file(tmp_path, "ruled.yaml", effort="low", rules="AGENTS.md")
    methods = [{"name": "plain", "agent": "plain.yaml"}, {"name": "ruled", "agent": "ruled.yaml"}]
    file = write_pilot(tmp_path, [make_contract(name) for name in ("one", "two", "three")], methods=methods)
    folder = planned(proctor, file)
    protocol = json.loads((folder / "protocol.json").read_bytes())
    plain, ruled = (one for one in protocol["methods"] if not one["baseline"])
    assert plain["agent"] == ruled["agent"] == COMMAND and plain["digest"] != ruled["digest"]
    assert plain["options"] == {"effort": "low"}
    assert ruled["options"]["rules_bytes"] == str(len(TESTED) + 1)
    (tmp_path / "AGENTS.md").write_text("Other rules.")
    refused = proctor("pilot", "run", file)
    assert refused.returncode == 2 and "methods[ruled]" in refused.stdout + refused.stderr
    (tmp_path / "ruled.yaml").write_text("schema: 1\nagent: noop\nefort: high\n")
    wrong = proctor("pilot", "plan", file)
    assert wrong.returncode == 2 and "ruled.yaml:3:1: unknown key 'efort'" in wrong.stderr


def test_what_an_agent_file_cannot_have_is_said_before_anything_is_installed(proctor: Proctor, tmp_path: Path) -> None:
    agent_file(tmp_path, "served.yaml", agent="builtin", mcp={"time": {"pypi": "mcp-server-time==2026.10.19"}})
    refused = proctor("agents", "install", "served.yaml")
    assert refused.returncode == 2, refused.stdout
    assert refused.stderr.startswith("proctor: served.yaml: the agent builtin does not have the option mcp")
    half = proctor("agents", "install", "pi@")
    assert half.returncode == 2 and "pi@: the version after the '@' is missing" in half.stderr
    agent_file(tmp_path, "plain.yaml", agent="builtin")
    nothing = proctor("agents", "install", "plain.yaml")
    assert nothing.returncode == 0 and nothing.stdout.startswith("nothing to install: plain.yaml is part of")
    assert nothing.stdout.count("\n") == 1
    assert json.loads(proctor("agents", "install", "plain.yaml", "--json").stdout)["installed"] == []


def test_agents_that_are_part_of_proctor_are_shown(proctor: Proctor) -> None:
    shown = proctor("agents", "show", "builtin")
    assert shown.returncode == 0, shown.stderr
    assert "options:     effort, environment, rules, temperature\n" in shown.stdout
    assert "limits:      steps, seconds, tokens, context_tokens\n" in shown.stdout
    noop = json.loads(proctor("agents", "show", "noop", "--json").stdout)
    assert noop["options"] == [] and noop["package"] == "proctor"
    locked = proctor("agents", "show", "builtin", "--lock")
    assert locked.returncode == 2 and "it has no lock" in locked.stderr
