"""Exports are accepted by the validators of the other tools, each in a virtual environment of its own (``make peers``).

Everything comes from PyPI. Harbor needs Python 3.12. ``PROCTOR_PEERS`` names a folder in which the environments stay.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.author.export.conftest import Command
from tests.author.export.exported_tasks import judge_harbor_task, swebench_log
from tests.author.export.test_export_tasks import IMAGE
from tests.install.test_pythons import python_of

pytestmark = pytest.mark.peers

PACKAGES = {
    "others": (
        *("swebench>=5,<6", "inspect_ai>=0.3.285", "opentelemetry-proto>=1.45"),
        "opentelemetry-semantic-conventions>=0.60b0",
    ),
    "harbor": ("harbor>=0.24",),
}

SWEBENCH = """
import json, sys
from swebench.harness.grading import get_eval_report
from swebench.harness.utils import get_predictions_from_file, load_swebench_dataset, make_test_spec
from swebench.task.checks import check_task_repo
from swebench.task.repo import load_task_repo, published_tasks

folder, logs = sys.argv[1:]
assert check_task_repo(folder) == [], [str(one) for one in check_task_repo(folder)]
rows = {row["instance_id"]: row for row in load_task_repo(folder)}
lines = load_swebench_dataset(folder + "/instances.jsonl")
assert {line["instance_id"] for line in lines} == rows.keys()
assert sum(map(len, published_tasks(folder)["proctor/contracts"].values())) == len(rows)
for line in lines:
    assert make_test_spec(line) == make_test_spec(rows[line["instance_id"]])
for name, wanted in json.load(open(logs)).items():
    spec = make_test_spec(rows[name.partition(":")[0]])
    prediction = {"instance_id": spec.instance_id, "model_patch": "x", "model_name_or_path": "x"}
    report = get_eval_report(spec, prediction, wanted["log"], include_tests_status=True)[spec.instance_id]
    assert report["resolved"] is wanted["resolved"], (name, report)
print(len(rows))
"""

PREDICTIONS = """
import sys
from swebench.harness.utils import get_predictions_from_file

print(sum(len(get_predictions_from_file(path, "none", "test")) for path in sys.argv[1:]))
"""

INSPECT = """
import sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

for path in sys.argv[1:]:
    log = read_eval_log(path)
    (sample,), (summary,) = log.samples, read_eval_log_sample_summaries(path)
    assert sample.messages and sample.events and summary.id == sample.id
    assert (log.status == "error") == bool(sample.error) == (not sample.scores)
print(len(sys.argv) - 1)
"""

OTEL = """
import base64, json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}

def coded(value):
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in ids else coded(v) for k, v in value.items()}
    return [coded(one) for one in value] if isinstance(value, list) else value

for path in sys.argv[1:]:
    request = json_format.ParseDict(coded(json.load(open(path))), ExportTraceServiceRequest())
    for span in request.resource_spans[0].scope_spans[0].spans:
        names = {one.key for one in span.attributes if one.key.startswith("gen_ai.")}
        assert len(span.trace_id) == 16 and len(span.span_id) == 8 and names <= known, names - known
print(len(sys.argv) - 1)
"""

HARBOR = """
import sys
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

for path in sys.argv[1:]:
    task = Task(path)
    verifier = resolve_verifier_environment_definition(task.config, task.paths)
    assert Task.is_valid_dir(path) and verifier.bundled_tests and verifier.directory == task.paths.tests_dir
    assert verifier.config.network_mode.value == task.config.environment.network_mode.value == "no-network"
    assert task.config.artifacts == ["/workspace"]
print(len(sys.argv) - 1)
"""

ATIF = """
import sys
from harbor.utils.trajectory_validator import TrajectoryValidator

for path in sys.argv[1:]:
    validator = TrajectoryValidator()
    assert validator.validate(path), validator.get_errors()
print(len(sys.argv) - 1)
"""

JOB = """
import pathlib, sys
from harbor.viewer.scanner import JobScanner

scanner = JobScanner(pathlib.Path(sys.argv[1]))
assert scanner.list_jobs() == ["proctor"]
assert scanner.get_job_config("proctor") and scanner.get_job_result("proctor")
trials = scanner.list_trials("proctor")
for trial in trials:
    assert scanner.get_trial_config("proctor", trial) and scanner.get_trial_result("proctor", trial), trial
print(len(trials))
"""

Ask = Callable[..., str]


@pytest.fixture(scope="session")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Runs a script with the packages of one environment; what it prints last."""
    top = Path(os.environ.get("PROCTOR_PEERS") or tmp_path_factory.mktemp("peers"))
    python = python_of("3.12") or python_of("3.13")
    assert python, "the validators need Python 3.12 or later"

    def run(environment: str, script: str, *arguments: str | Path) -> str:
        place = top / environment
        if not (place / "installed").exists():
            subprocess.run([python, "-m", "venv", place], check=True)
            subprocess.run([place / "bin" / "pip", "install", "-q", *PACKAGES[environment]], check=True)
            (place / "installed").touch()
        variables = {"PATH": os.environ["PATH"], "HOME": str(top), "LANG": "C.UTF-8"}
        command = [str(place / "bin" / "python"), "-c", script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=top, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()[-1]

    return run


EXAMPLES = sorted(path.parent.name for path in Path(__file__).parents[3].glob("examples/*/contract.yaml"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_harbor_accepts_every_example_and_its_rewards_are_right(
    name: str, proctor_at: Command, project: Path, ask: Ask, tmp_path: Path
) -> None:
    done = proctor_at("export", "harbor", project / "examples" / name, "--image", IMAGE, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    task = tmp_path / "out" / name
    assert ask("harbor", HARBOR, task) == "1"
    assert judge_harbor_task(task, tmp_path / "base", solved=False) == 0
    assert judge_harbor_task(task, tmp_path / "solved", solved=True) == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_swebench_accepts_every_example_and_grades_its_logs(
    name: str, proctor_at: Command, project: Path, ask: Ask, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = proctor_at("export", "swebench", project / "examples" / name, "--image", IMAGE, "--out", out)
    assert done.returncode == 0, done.stderr
    logs = {}
    for task in sorted((out / "tasks").iterdir()):
        for kind, patch in (("base", b""), ("gold", (task / "gold.patch").read_bytes())):
            log = tmp_path / f"{task.name}.{kind}.log"
            log.write_text(swebench_log(task, tmp_path / f"{task.name}.{kind}", patch=patch))
            logs[f"{task.name}:{kind}"] = {"log": str(log), "resolved": kind == "gold"}
    (tmp_path / "logs.json").write_text(json.dumps(logs))
    assert ask("others", SWEBENCH, out, tmp_path / "logs.json") == "1"


VALIDATORS = {
    "atif": ("harbor", ATIF, "*-*.json"),
    "harbor": ("harbor", JOB, "."),
    "inspect": ("others", INSPECT, "*.eval"),
    "otel": ("others", OTEL, "*.otlp.json"),
    "swebench": ("others", PREDICTIONS, "*.jsonl"),
}


@pytest.mark.parametrize("form", sorted(VALIDATORS))
def test_peers_accept_every_run(form: str, proctor_at: Command, runs: dict[str, str], ask: Ask, tmp_path: Path) -> None:
    done = proctor_at("export", form, *runs.values(), "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    environment, script, pattern = VALIDATORS[form]
    files = [tmp_path / "out"] if pattern == "." else sorted((tmp_path / "out").glob(pattern))
    assert ask(environment, script, *files) == str(len(runs))
