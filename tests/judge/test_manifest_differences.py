"""What makes two runs incomparable."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.judge.manifest_differences import GROUPS, differences
from proctor.judge.run_report import comparability
from tests.conduct.forging import forge

MANIFEST: dict[str, Any] = {
    "schema": 1,
    "kind": "proctor.manifest",
    "run": "20260307T120000-0123456789",
    "contract": {"id": "sha256:1", "name": "adding", "version": "1"},
    "repository": {"kind": "archive", "identity": "a", "submodules": [], "tree_digest": "sha256:1"},
    "inputs": [{"name": "pytest", "file": "pytest.whl", "sha256": "b"}],
    "setup": {"commands": [["true"]], "layer": "c", "layer_digest": "d"},
    "sandbox": {"backend": "bubblewrap", "identity": {"python3": "3.11.2"}, "isolation": {"memory": "cgroup"}},
    "toolchain": {"python3": "3.11.2"},
    "harness": {"version": "0.1.0", "python": "3.11.7", "digest": "sha256:2"},
    "agent": {"name": "noop", "kind": "noop", "command": [], "digest": "sha256:3", "settings": {}},
    "checks": [{"id": "unit", "command": ["true"]}],
    "environment": {"variables": {"LANG": "C.UTF-8"}, "absent": True},
    "seeds": {"observed": 20260307},
    "os": {"kernel": "6.1"},
    "locale": "C.UTF-8",
    "machine": {"cpus": 2, "memory_bytes": 1024},
    "limits": {"wall_seconds": 1800},
    "started": {"wall_ns": "1", "text": "then", "boot_id": "b"},
    "configuration": {
        "agent": "noop",
        "baseline_runs": [],
        "batch": "one",
        "contract": "sha256:1",
        "contract_path": "/here",
        "model": "",
        "repeat": 1,
        "watch": {
            "baseline": [],
            "batch_spent_usd": "0",
            "task_spent_usd": "0",
            "task_usd": None,
            "batch_usd": None,
            "caps": {"tokens": 1},
            "thresholds": {"burst_calls": 40},
            "prices": None,
        },
        "gateway": {"name": "m", "script": ""},
    },
    "price_table": None,
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value that is no container with something in it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = False
    for key, item in inner:
        found = True
        yield from leaves(item, (*path, key))
    if not found:
        yield path


def changed(path: tuple[Any, ...]) -> dict[str, Any]:
    other = copy.deepcopy(MANIFEST)
    place = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "something else"
    return other


@pytest.mark.parametrize(
    ("path", "group"),
    [
        (("contract", "id"), "contract"),
        (("repository", "tree_digest"), "repository"),
        (("inputs", 0, "sha256"), "environment"),
        (("sandbox", "identity", "python3"), "environment"),
        (("environment", "variables", "LANG"), "environment"),
        (("toolchain", "python3"), "toolchain"),
        (("limits", "wall_seconds"), "budget"),
        (("configuration", "watch", "caps", "tokens"), "budget"),
        (("configuration", "watch", "thresholds", "burst_calls"), "policy"),
        (("configuration", "watch", "prices"), "prices"),
        (("price_table",), "prices"),
        (("harness", "version"), "harness"),
        (("seeds", "observed"), "seeds"),
        (("configuration", "model"), "model"),
        (("configuration", "gateway", "script"), "model"),
        (("schema",), "other"),
        (("configuration", "grown"), "other"),
        (("agent", "digest"), "agent"),
        (("configuration", "agent"), "agent"),
        (("harness", "digest"), "machine"),
        (("os", "kernel"), "machine"),
    ],
)
def test_a_difference_is_named_by_its_field(path: tuple[Any, ...], group: str) -> None:
    (found,) = differences(MANIFEST, changed(path))
    assert found.group == group
    assert found.decides == (group not in ("agent", "machine"))
    assert found.path == ".".join(map(str, path)).replace(".0.", "[0].")
    assert found.other == "something else"


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (True, 1, ("true", "1")),
        (False, 0, ("false", "0")),
        ("1", 1, ('"1"', "1")),
        (None, "null", ("null", '"null"')),
        (True, "true", ("true", '"true"')),
        ([], {}, ("[]", "{}")),
        ([1], [True], ("1", "true")),
        ("", None, ("", "null")),
        (..., "absent", ("absent", '"absent"')),
        ("absent", ..., ('"absent"', "absent")),
        (..., None, ("absent", "null")),
        ("absent", "other", ('"absent"', "other")),
    ],
)
def test_values_that_only_look_alike_differ_and_are_shown_apart(one: Any, other: Any, shown: tuple[str, str]) -> None:
    sides = []
    for value in (one, other):
        manifest = copy.deepcopy(MANIFEST)
        if value is not ...:
            manifest["limits"]["odd"] = value
        sides.append(manifest)
    (found,) = differences(sides[0], sides[1])
    assert (found.group, found.one, found.other) == ("budget", *shown) and found.decides
    assert differences(sides[0], copy.deepcopy(sides[0])) == ()


def test_a_name_with_a_dot_is_not_a_way_into_another_field() -> None:
    (found,) = differences(MANIFEST, {**MANIFEST, "contract.name": "x"})
    assert (found.group, found.path, found.decides) == ("other", "contract.name", True)


def test_repeats_that_a_study_varies_differ_in_their_seeds() -> None:
    other = copy.deepcopy(MANIFEST)
    other["configuration"]["variation"] = {"name": "b", "seed": 2, "preface": ""}
    assert [(item.group, item.decides) for item in differences(MANIFEST, other)] == [("seeds", True)]


def test_what_is_a_runs_own_is_no_difference() -> None:
    for path in (("run",), ("started", "text"), ("configuration", "batch"), ("configuration", "watch", "baseline")):
        assert differences(MANIFEST, changed(path)) == ()
    assert differences(MANIFEST, copy.deepcopy(MANIFEST)) == ()


def test_runs_of_different_classes_always_differ_in_something_that_decides() -> None:
    for path in leaves(MANIFEST):
        other = changed(path)
        if comparability(other).group != comparability(MANIFEST).group and path[:1] != ("contract",):
            assert any(item.decides for item in differences(MANIFEST, other)), path


def test_fields_of_the_contract_are_named_only_where_its_id_differs() -> None:
    contracts = ({"policy": {"network": "none"}, "checks": []}, {"policy": {"network": "allow"}, "checks": [1]})
    assert differences(MANIFEST, copy.deepcopy(MANIFEST), contracts) == ()
    found = differences(MANIFEST, changed(("contract", "id")), contracts)
    assert [(item.group, item.path) for item in found] == [
        ("contract", "contract.id"),
        ("contract", "contract.json: checks"),
        ("policy", "contract.json: policy.network"),
    ]
    assert [GROUPS.index(item.group) for item in found] == sorted(GROUPS.index(item.group) for item in found)


def test_two_runs_on_the_command_line(
    proctor: Callable[..., subprocess.CompletedProcess[str]], make_contract: Any, tmp_path: Path
) -> None:
    contract = make_contract()

    def run(agent: str) -> str:
        done = proctor("run", contract, "--agent", agent, "--json")
        return str(json.loads(done.stdout)["runs"][0]["run"])

    nothing, fixed = run("noop"), run("reference")
    done = proctor("compare", nothing, fixed)
    assert done.returncode == 0 and "comparable: 1 failure, 1 success" in done.stdout
    digests = [line.split()[3:] for line in done.stdout.splitlines() if " agent.digest " in line]
    assert digests and all(word.endswith("...") for word in digests[0]), "a cut value looks like a whole one"
    whole = json.loads((contract / "contract.yaml").read_text())
    whole["budget"]["wall_seconds"] = 61
    (contract / "contract.yaml").write_text(json.dumps(whole))
    other = run("noop")

    refused = proctor("compare", nothing, other, "--json")
    told = json.loads(refused.stdout)
    assert (refused.returncode, told["comparable"], told["counts"]) == (1, False, None)
    paths = {item["path"]: (item["first"], item["this"]) for item in told["runs"][1]["differences"] if item["decides"]}
    assert paths["limits.wall_seconds"] == paths["contract.json: budget.wall_seconds"] == ("60", "61")
    assert [row["status"] for row in told["runs"]] == ["failure", "failure"]
    assert "NOT comparable" in proctor("compare", nothing, other).stdout
    varied = proctor("compare", nothing, other, "--vary", "contract", "--vary", "budget")
    assert varied.returncode == 0, varied.stdout

    assert proctor("compare", nothing).returncode == 2
    home = tmp_path / "home" / "runs"
    shutil.copytree(home / nothing, tmp_path / "copy")
    same = proctor("compare", nothing, fixed, nothing, tmp_path / "copy")
    assert same.returncode == 0 and "comparable: 1 failure, 1 success" in same.stdout
    assert f"the same run: {nothing} is given more than once" in same.stdout
    assert "the same run" not in proctor("compare", nothing, fixed).stdout
    assert json.loads(proctor("compare", nothing, nothing, "--json").stdout)["repeated"] == [nothing]
    forge(
        tmp_path / "copy", event=lambda event: event["payload"].update(more=1) if event["type"] == "briefing" else None
    )
    resealed = json.loads(proctor("compare", nothing, tmp_path / "copy", "--json").stdout)
    assert (resealed["comparable"], resealed["repeated"]) == (False, [])
    assert [item["path"] for item in resealed["runs"][1]["differences"]] == ["seal.json: digest"]

    report = tmp_path / "home" / "runs" / other / "report.json"
    report.write_bytes(report.read_bytes().replace(b"failure", b"success"))
    broken = proctor("compare", nothing, other)
    assert broken.returncode == 4 and "report.json: the run is broken" in broken.stderr
