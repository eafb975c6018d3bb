"""``proctor cost`` and ``proctor runs`` as a user calls them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def batch(proctor: Proctor, make_contract: Any, tmp_path: Path) -> str:
    """A batch of two runs without prices, in a home with a third run that has some."""
    contract = make_contract()
    answer = json.loads(proctor("run", contract, "--agent", "noop", "-n", "2", "--json").stdout)
    (tmp_path / "prices.csv").write_text("action_type,unit,unit_price\nrun,run,0.25\n")
    assert proctor("run", contract, "--agent", "noop", "--prices", "prices.csv").returncode == 1
    return str(answer["batch"])


def amounts(text: str) -> list[str]:
    """The numbers of a table for people."""
    return re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])", text)


def test_costs_are_shown_in_their_unit_with_few_digits(proctor: Proctor, batch: str) -> None:
    whole = proctor("cost", "--batch", batch).stdout
    assert re.search(r"^projected    [\d.]+ units in 2 runs by fallback-1$", whole, re.MULTILINE)
    assert [number for number in amounts(whole) if len(number.partition(".")[2]) > 6] == []
    exact = json.loads(proctor("cost", "--batch", batch, "--json").stdout)
    assert exact["currency"] == "unit"
    first = exact["runs"][0]
    one = proctor("cost", first["run"]).stdout
    assert f"projected    {round(float(first['projected']), 6):.6f}".rstrip("0") in one
    assert "cap          5000 units, set as 5.00 USD (a policy choice)" in one
    assert re.search(r"^projected    [\d.]+ units by fallback-1$", one, re.MULTILINE)
    priced = proctor("cost", "last").stdout
    assert re.search(r"^projected    0.25 USD by ", priced, re.MULTILINE)
    assert "cap          5.00 USD (a policy choice)" in priced


def test_units_and_dollars_are_not_added(proctor: Proctor, batch: str) -> None:
    runs = [run["run"] for run in json.loads(proctor("runs", "--json").stdout)["runs"]]
    done = proctor("cost", *runs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the costs of the runs are in units and in USD" in done.stderr


def test_a_price_far_behind_the_point_is_not_shown_as_nothing(proctor: Proctor, make_contract: Any) -> None:
    assert proctor("run", make_contract(), "--agent", "reference").returncode == 0
    rows = [line.split() for line in proctor("cost", "last").stdout.splitlines()]
    exact = json.loads(proctor("cost", "last", "--json").stdout)["items"]
    wanted = {item["price"] for item in exact if item["item"] == "artifact_storage"}
    assert {row[-2] for row in rows if "artifact_storage" in row} == wanted == {"0.0000001"}
