"""Whole runs with a network: a cassette is kept and answers again, a leak is told, and the agent is briefed."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.execute.network.servers import Site, serving

Proctor = Callable[..., subprocess.CompletedProcess[str]]

FETCH = """\
import os, sys, urllib.request
for name in ("no_proxy", "NO_PROXY"):  # the server of the test is at the machine's own loopback
    os.environ.pop(name, None)
request = urllib.request.Request(sys.argv[1], headers={"X-Seen": eval(sys.argv[2])})
print(urllib.request.urlopen(request, timeout=20).read().decode())
text = open("calc.py").read()
open("calc.py", "w").write(text.replace("-", "+"))
"""


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as live:
        yield live


class Run:
    """What came of a run: its row, its report and its events."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.directory = Path(row["evidence"])
        self.id = row["run"]
        self.report = json.loads((self.directory / "report.json").read_bytes())
        self._events = [json.loads(line) for line in (self.directory / "events.jsonl").read_bytes().splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event["payload"] for event in self._events if event["type"] == kind]


@pytest.fixture
def run(proctor: Proctor, tmp_path: Path) -> Callable[..., Run]:
    """Runs an agent that fetches a page, with a header that a Python expression gives, and solves the task."""

    def go(contract: Path, url: str, header: str = "'nothing'") -> Run:
        files = tmp_path / "agent"
        files.mkdir(exist_ok=True)
        (files / "fetch.py").write_text(FETCH)
        agent = f'command:python3 /agent/fetch.py {url} "{header}"'
        done = proctor("run", contract, "--agent", agent, "--agent-files", files, "--json")
        (row,) = json.loads(done.stdout)["runs"]
        for check in ("verify", "rescore", "replay"):
            again = proctor(check, row["run"])
            assert again.returncode == 0, again.stdout + again.stderr
        return Run(row)

    return go


def test_a_recording_is_kept_with_the_run_and_answers_again(
    run: Callable[..., Run], make_contract: Any, site: Site
) -> None:
    address = f"localhost:{site.port}"
    recorded = run(
        make_contract("one", policy={"network": {"record": "tape", "allow": [address]}}), f"http://{address}/"
    )
    assert recorded.report["status"] == "success", recorded.report["problems"]
    (closed,) = recorded.of("network.closed")
    blob = recorded.directory / "blobs" / closed["blob"]
    assert hashlib.sha256(blob.read_bytes()).hexdigest() == closed["blob"] == closed["cassette"]
    assert recorded.report["replayable"]["replayable"] is True
    (printed,) = recorded.of("tool.invocation")

    again = make_contract("two", policy={"network": {"replay": "tape.json"}})
    (again / "tape.json").write_bytes(blob.read_bytes())
    site.shutdown()
    replayed = run(again, f"http://{address}/")
    assert replayed.report["status"] == "success", replayed.report["problems"]
    assert [payload["replayed"] for payload in replayed.of("network.exchange")] == [True]
    assert replayed.of("tool.invocation")[0]["stdout"]["sha256"] == printed["stdout"]["sha256"]


def test_an_open_network_makes_a_run_that_cannot_be_replayed_and_says_so(
    run: Callable[..., Run], make_contract: Any, site: Site, proctor: Proctor
) -> None:
    address = f"localhost:{site.port}"
    seen = run(make_contract(policy={"network": {"allow": [address]}}), f"http://{address}/")
    assert seen.report["status"] == "success"
    assert seen.report["replayable"]["replayable"] is False
    assert "no replay    network: the network was open and not recorded" in proctor("show", seen.id).stdout


@pytest.mark.parametrize(
    "sent",
    [
        "os.environ['DEPLOY_TOKEN']",
        "os.environ['DEPLOY_TOKEN'].encode().hex()",
        "open(os.path.expanduser('~/.ssh/id_ed25519')).read().split()[4]",
        "open(os.path.expanduser('~/.config/deploy/credentials.json')).read().split()[-2]",
    ],
)
def test_a_canary_in_a_request_is_a_leak(sent: str, run: Callable[..., Run], make_contract: Any, site: Site) -> None:
    address = f"localhost:{site.port}"
    contract = make_contract(policy={"network": {"allow": [address]}})
    seen = run(contract, f"http://{address}/", sent)
    leaks = [payload for payload in seen.of("guard.attempt") if payload["code"] == "canary-leak"]
    assert [payload["address"] for payload in leaks] == [address]
    assert any(payload["canaries"] for payload in seen.of("network.exchange"))
    assert seen.report["status"] in ("failure", "invalid")
    assert any("canary-leak" in code for code in seen.report["alerts"])


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("none", "There is no network."),
        ({"allow": ["example.org:443"]}, "The network leads to `example.org:443` only"),
        ({"record": "tape", "allow": ["example.org:443"]}, "The network leads to `example.org:443` only"),
    ],
)
def test_the_agent_is_told_what_of_the_network_is_open(
    proctor: Proctor, make_contract: Any, network: Any, words: str
) -> None:
    contract = make_contract(policy={"network": network})
    done = proctor("run", contract, "--agent", "command:sh -c 'cat > task.txt'", "--json")
    (row,) = json.loads(done.stdout)["runs"]
    seen = Run(row)
    assert words in seen.of("briefing")[0]["obligations"]
    assert words in (seen.directory / "workspace" / "final.patch").read_text(), "the agent read the same"
