"""Does a rules file help? Does an MCP server? One pilot compares three variants of one real agent.

The model is a script. It knows the fix only if the rules say so, or if the server from PyPI answers a call of its tool;
so the three variants differ in what they reach, and the report names them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.execute.agents.test_real_agents import Proctor, agents_home, at_home  # noqa: F401
from tests.study.pilot.live import planned, run, runs_in, write_pilot

pytestmark = pytest.mark.agents

RULE = "Sums are made with a plus sign."
FIX = "python3 -c \"open('calc.py', 'w').write('def add(a, b):' + chr(10) + '    return a + b' + chr(10))\""
ASK = {"tool": "mcp__time__get_current_time", "arguments": {"timezone": "UTC"}}
TURNS = [
    {"when": {"tools": False}, "say": "A title"},
    {"when": {"text": RULE, "step": 0}, "shell": FIX},
    {"when": {"last": "day_of_week"}, "shell": FIX},
    {"call": ASK},
    {"say": "Done."},
]
SERVER = {"pypi": "mcp-server-time==2026.10.19", "run": ["mcp-server-time", "--local-timezone", "UTC"]}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "with-rules": {"rules": "AGENTS.md"},
    "with-time": {"mcp": {"time": SERVER}},
}


def test_a_pilot_compares_an_agent_with_rules_and_with_a_server(
    at_home: Proctor,  # noqa: F811
    agents_home: Path,  # noqa: F811
    make_contract: Any,
    tmp_path: Path,
) -> None:
    contract = make_contract()
    (tmp_path / "AGENTS.md").write_text(f"{RULE}\n")
    (tmp_path / "turns.yaml").write_text(json.dumps({"schema": 1, "turns": TURNS}))
    for name, options in VARIANTS.items():
        fields = {"schema": 1, "agent": "qwen-code", "model": "scripted/m", **options}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(fields))
        installed = at_home("agents", "install", tmp_path / f"{name}.yaml")
        assert installed.returncode == 0, installed.stderr
    methods = [{"name": name, "agent": f"{name}.yaml", "script": "turns.yaml"} for name in VARIANTS]
    # A home that serves several sessions must not see the same pilot twice.
    head = {"name": f"variants-{uuid4().hex}", "title": "Variants", "question": "Do rules or a server help?"}
    file = write_pilot(tmp_path, [contract], pilot=head, methods=methods, runs_per_task=1, flakes={"runs": 1})
    folder = planned(at_home, file)
    _, told = run(at_home, file)
    report = at_home("pilot", "report", file, "--out", tmp_path / "report")
    assert report.returncode in (0, 1), (report.stderr, told)
    mine = [one for one in runs_in(agents_home) if one["contract_path"] == str(contract)]
    reached = {one["method"]: one["report"]["status"] for one in mine if one["method"] in VARIANTS}
    assert reached == {"plain": "failure", "with-rules": "success", "with-time": "success"}
    findings = json.loads((tmp_path / "report" / "findings.json").read_bytes())
    assert VARIANTS.keys() <= {one["agent"] for one in findings["agents"]}
    protocol = json.loads((folder / "protocol.json").read_bytes())
    options = {one["name"]: one.get("options", {}) for one in protocol["methods"]}
    assert options["plain"] == {}
    assert options["with-rules"]["rules_bytes"] == str(len(RULE) + 1)
    assert options["with-time"]["mcp.time"] == "pypi mcp-server-time==2026.10.19"
    written = (tmp_path / "report" / "report.md").read_text()
    assert all(name in written for name in VARIANTS)
