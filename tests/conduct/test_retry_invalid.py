"""``--retry-invalid``: runs that an outage spoilt are made again, and the spoilt ones stay as evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from proctor.judge.run_verdict import is_repeatable
from tests.conduct.live import Proctor, check
from tests.conduct.talking import asking
from tests.execute.gateway.answering import Quiet, serving
from tests.sample_reports import sample_report

ANSWER = json.dumps(
    {
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }
).encode()
MEND = "import os\nif not os.system('sed -i s/-/+/ calc.py'): pass"


@contextmanager
def failing_provider(times: int) -> Iterator[str]:
    """A provider that is down for so many requests, and then answers."""
    left = [times]

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            left[0] -= 1
            self.send_response(503 if left[0] >= 0 else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(ANSWER)))
            self.end_headers()
            self.wfile.write(ANSWER)

    with serving(Handler) as url:
        yield url


def model(url: str) -> tuple[str, ...]:
    return ("--model", "mine/m", "--endpoint", url, "--dialect", "chat", "--json")


def test_an_outage_is_repeated_and_linked(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    with failing_provider(2) as url:
        done = proctor("run", make_contract(), *asking(after=MEND), *model(url), "--retry-invalid", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    (last,), repeated = said["runs"], said["repeated"]
    assert (last["status"], last["attempt"]) == ("success", 3)
    assert [(row["status"], row["attribution"] != "agent") for row in repeated] == [("invalid", True)] * 2
    assert (last["retry_of"], repeated[1]["retry_of"], repeated[0]["retry_of"]) == (
        *(repeated[1]["run"], repeated[0]["run"]),
        "",
    )
    for row in (*repeated, last):
        check(proctor, row["run"])
    listed = {row["run"]: row["retry_of"] for row in json.loads(proctor("runs", "--json").stdout)["runs"]}
    assert listed[last["run"]] == repeated[1]["run"] and listed[repeated[0]["run"]] == ""
    assert "RETRY OF" in proctor("runs").stdout and repeated[1]["run"] in proctor("show", last["run"]).stdout
    report = json.loads((Path(last["evidence"]) / "report.json").read_text())
    assert (report["retry_of"], report["attempt"]) == (repeated[1]["run"], 3)
    cost = json.loads(proctor("cost", "--batch", said["batch"], "--json").stdout)
    assert len(cost["runs"]) == 3
    assert sum(Decimal(one["projected"]) for one in cost["runs"]) == Decimal(cost["projected"])
    rows = json.loads(proctor("query", "--sql", "select run, retry_of from runs order by run", "--json").stdout)["rows"]
    assert len(rows if isinstance(rows, list) else rows["rows"]) == 3
    again = proctor("run", "--resume", "--retry-invalid", "9", "--json")
    assert json.loads(again.stdout)["runs"] == [], "a place that is filled is not run again"


def test_repeats_are_bounded_and_go_on_with_resume(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    with failing_provider(3) as url:
        first = proctor("run", make_contract(), *asking(after=MEND), *model(url), "--retry-invalid", "1")
        said = json.loads(first.stdout)
        assert first.returncode == 3 and len(said["repeated"]) == 1 and said["runs"][0]["status"] == "invalid"
        same = json.loads(proctor("run", "--resume", "--json").stdout)
        assert same["runs"] == [] and [row["status"] for row in same["earlier"]] == ["invalid"]
        more = proctor("run", "--resume", "--retry-invalid", "3", "--json")
    (row,) = json.loads(more.stdout)["runs"]
    assert (more.returncode, row["status"], row["attempt"]) == (0, "success", 4)
    assert len(list((tmp_path / "home" / "runs").iterdir())) == 4


def test_resume_means_a_batch_with_a_repetition_left(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    with failing_provider(2) as url:
        first = json.loads(proctor("run", contract, *asking(after=MEND), *model(url), "--retry-invalid", "1").stdout)
        (Path(first["runs"][0]["evidence"]) / "seal.json").unlink()
        proctor("run", contract, "--agent", "reference")
        again = json.loads(proctor("run", "--resume", "--json").stdout)
    assert again["batch"] == first["batch"]
    assert [(row["status"], row["attempt"]) for row in again["runs"]] == [("success", 2)]


def test_a_failure_of_the_agent_is_not_repeated(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    done = proctor("run", make_contract(), "--agent", "command:true", "--retry-invalid", "3", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, len(said["runs"]), said["repeated"]) == (1, 1, [])


@pytest.mark.parametrize(
    ("status", "attribution", "repeatable"),
    [
        ("invalid", "harness", True),
        ("invalid", "agent", False),
        ("invalid", "nobody", False),
        ("acceptance-error", "harness", False),
        ("failure", "agent", False),
        ("success", "nobody", False),
    ],
)
def test_what_is_repeated(status: str, attribution: str, repeatable: bool) -> None:
    assert is_repeatable(sample_report(status=status, attribution=attribution)) is repeatable
