"""Contracts that choose an image: whole runs in containers, with Docker and with podman, seen as any other run is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Proctor, Seen, watch
from tests.conduct.test_stages_live import ASKED, CLIMB, changes

pytestmark = pytest.mark.container

SNOOP = (
    "cat calc.py ~/.ssh/*; echo x > /etc/mine; sed -i s/-/+/ calc.py; "
    'python3 -c "import socket; socket.socket().connect((\\"10.1.2.3\\", 80))"; true'
)
SETUP = [{"run": "mkdir /setup/site && echo made > /setup/site/made && cat /etc/debian_version"}]


@pytest.fixture
def environment(engine: str, image: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a contract says to choose the test image, whose engine is the one that the environment names."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    return {"sandbox": "image", "image": image[0]}


def attempts(seen: Seen) -> set[tuple[str, str, str, str]]:
    """What was tried, less the numbers that differ between any two runs."""
    return {(one["code"], one["path"], one["address"], one["errno"]) for one in seen.of("guard.attempt")}


def test_patches_are_judged_in_containers_and_the_evidence_names_them(
    proctor: Proctor, make_contract: Any, environment: dict[str, Any], tmp_path: Path
) -> None:
    contract = make_contract(environment=environment, setup=SETUP)
    valid = proctor("validate", contract)
    assert valid.returncode == 0, valid.stdout + valid.stderr
    fix = tmp_path / "fix.patch"
    fix.write_text(make_contract.FIX)
    (row,) = json.loads(proctor("run", contract, "--agent", f"patch:{fix}", "--json").stdout)["runs"]
    assert row["status"] == "success" and proctor("rescore", row["run"]).returncode == 0
    sandbox = json.loads((Path(row["evidence"]) / "manifest.json").read_bytes())["sandbox"]
    assert sandbox["backend"] == "container" and sandbox["identity"]["layers"] == environment["image"]
    assert sandbox["isolation"]["engine"].split()[0] in ("docker", "podman")
    assert sandbox["isolation"]["memory"] == "cgroup" and sandbox["identity"]["kind"] == "image"


def test_an_agent_is_seen_as_on_the_host(proctor: Proctor, make_contract: Any, environment: dict[str, Any]) -> None:
    contained = watch(proctor, make_contract("contained", environment=environment), SNOOP)
    host = watch(proctor, make_contract("host"), SNOOP)
    assert contained.report["status"] == host.report["status"]
    assert attempts(contained) == attempts(host)
    assert {"write-outside", "network", "read-canary"} <= {code for code, _, _, _ in attempts(contained)}
    programs = [[one["argv"] for one in seen.of("guard.exec")] for seen in (contained, host)]
    assert programs[0] == programs[1] and programs[0]
    assert {event["type"] for event in contained.events} == {event["type"] for event in host.events}


def test_stages_and_the_end_of_a_call_work_where_the_image_is_the_root(
    proctor: Proctor, make_contract: Any, environment: dict[str, Any], project: Path
) -> None:
    contract = make_contract(
        environment=environment,
        policy={"stages": {"ladder": "automatic"}},
        budget={"wall_seconds": 120, "command_seconds": 2, "memory_bytes": 1 << 30},
    )
    fix = f"test -e /usr/sbin/dockerd || test -e {project} || sed -i s/-/+/ calc.py"
    seen = watch(proctor, contract, f"cat calc.py; sleep 1000; {fix}")
    assert [one["to"] for one in seen.of("stage.changed")] == ["inspect", "write", "test"]
    assert [one["action"] for one in seen.of("intervention")] == ["kill-call"]
    assert seen.report["status"] == "success"


def test_an_agent_in_a_container_asks_for_its_stages(
    proctor: Proctor, make_contract: Any, environment: dict[str, Any]
) -> None:
    seen = watch(proctor, make_contract(environment=environment, policy=ASKED), f"echo x > new.txt; {CLIMB}")
    assert changes(seen) == [("", "inspect"), ("inspect", "write"), ("write", "test")]
    assert [one["path"] for one in seen.of("workspace.mutation")] == ["calc.py"], "the mount kept new.txt out"
    assert seen.report["status"] == "success"


def test_an_image_that_the_engine_lacks_is_refused(
    proctor: Proctor, make_contract: Any, environment: dict[str, Any]
) -> None:
    absent = "sha256:" + "0" * 64
    for image in (absent, [environment["image"], absent]):
        name = f"lacking-{len(image)}"
        done = proctor("run", make_contract(name, environment={**environment, "image": image}), "--agent", "noop")
        assert done.returncode == 3 and absent in done.stderr and "proctor image build" in done.stderr
        assert "Traceback" not in done.stderr
