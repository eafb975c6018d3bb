"""The same small agents on bubblewrap, Docker and podman: the same results, decisions, clocks and kinds of events."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Proctor
from tests.execute.sandbox.conformance import AGENTS, DIFFERENCES, SmallAgent, observed
from tests.execute.sandbox.container.engines import KINDS, layers, running_engine

pytestmark = pytest.mark.container

TOLERANCE_SECONDS = 1.0
"""How much an agent's time may differ between backends on a loaded machine."""


def ran(proctor: Proctor, contract: Path, agent: SmallAgent, **variables: str) -> tuple[dict[str, Any], float]:
    """What one run shows, and the agent's seconds."""
    files = contract.parent / f"{contract.name}-files"
    files.mkdir()
    script = files / "agent.sh"
    script.write_text(agent.script)
    done: subprocess.CompletedProcess[str] = proctor(
        "run", contract, "--agent", "command:sh /agent/agent.sh", "--agent-files", files, "--json", **variables
    )
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    directory = Path(row["evidence"])
    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    (ended,) = [event["payload"] for event in events if event["type"] == "agent.finished"]
    return observed(directory), float(ended["wall_seconds"])


@pytest.mark.parametrize("name", AGENTS)
def test_runs_come_out_alike(
    name: str, proctor: Proctor, make_contract: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    agent = AGENTS[name]
    shown, seconds = {}, {}
    shown["bubblewrap"], seconds["bubblewrap"] = ran(proctor, make_contract("host", **agent.parts), agent)
    for kind in KINDS:
        engine = running_engine(kind, tmp_path_factory.getbasetemp().parent)
        environment = {"sandbox": "image", "image": layers(engine)[0]}
        contract = make_contract(kind, environment=environment, **agent.parts)
        shown[kind], seconds[kind] = ran(proctor, contract, agent, DOCKER_HOST=f"unix://{engine}")
    named = {field for owner, field in DIFFERENCES if owner == name}
    certain = {field for field in named if field.startswith("says ")}
    gone = {field for field in certain if all(one[field] == shown["bubblewrap"][field] for one in shown.values())}
    assert gone == set(), "what no longer differs is taken out of the table"
    for backend, one in shown.items():
        result = one["status"], one["attribution"], one["reason"]
        assert result == (agent.status, agent.attribution, agent.reason), (backend, one)
        assert agent.seconds[0] <= seconds[backend] <= agent.seconds[1], (backend, seconds)
        differing = {
            field: (one[field], value)
            for field, value in shown["bubblewrap"].items()
            if one[field] != value and field not in named
        }
        assert differing == {}, json.dumps({backend: differing}, indent=1)
    quickest, slowest = min(seconds.values()), max(seconds.values())
    assert slowest - quickest <= TOLERANCE_SECONDS or agent.seconds[1] - agent.seconds[0] > 10, seconds
