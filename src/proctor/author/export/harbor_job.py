"""Harbor jobs: the runs as the trials of one job, in the folders that Harbor's viewer reads.

A trial has the trajectory of the run, its reward (1 or 0), its tokens and its times. A run without a verdict has an
exception and no reward, so that it does not count as a failure. Ids follow from the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from proctor.author.export.atif import trajectory, trajectory_losses
from proctor.author.export.interface import Exported, ExportedFile
from proctor.author.export.recorded_run import RecordedRun, iso
from proctor.author.export.run_losses import common_losses, conversation_losses, derived_id, json_text
from proctor.author.export.swebench_ids import OWNER

JOB = "proctor"
"""The name of the job, which is the folder with its trials."""


def trial_config(run: RecordedRun) -> dict[str, Any]:
    """What the trial was: the task, and the agent with its model."""
    agent: dict[str, Any] = {"name": run.manifest.agent.name}
    if run.model:
        agent["model_name"] = run.model
    return {"task": {"path": run.contract}, "trial_name": run.id, "trials_dir": JOB, "agent": agent}


def trial_result(run: RecordedRun) -> dict[str, Any]:
    """What became of the trial."""
    found: dict[str, Any] = {
        "id": _uuid(run.id),
        "task_name": f"{OWNER}/{run.contract}",
        "trial_name": run.id,
        "trial_uri": f"proctor:{run.id}",
        "task_id": {"path": run.contract},
        "task_checksum": run.manifest.contract.id.removeprefix("sha256:"),
        "config": trial_config(run),
        "agent_info": _agent_info(run),
        "agent_result": {**_tokens([run]), "metadata": {"proctor": {**run.identity(), "verdict": run.verdict()}}},
        "started_at": iso(run.started),
        "finished_at": iso(run.ended),
        "agent_execution": {"started_at": iso(run.agent_started), "finished_at": iso(run.agent_ended)},
    }
    if run.valid:
        found["verifier_result"] = {"rewards": {"reward": int(run.report.success)}}
        return found
    message = "; ".join(run.report.problems) or run.report.status
    found["exception_info"] = {
        "exception_type": run.report.status,
        "exception_message": message,
        "exception_traceback": message,
        "occurred_at": iso(run.ended),
    }
    return found


def job_result(runs: Sequence[RecordedRun]) -> dict[str, Any]:
    """The numbers of the job."""
    groups: dict[str, list[RecordedRun]] = {}
    for run in runs:
        groups.setdefault("__".join((run.manifest.agent.name, run.model or "none", "adhoc")), []).append(run)
    errors = sum(not run.valid for run in runs)
    return {
        "id": _uuid(JOB, *(run.id for run in runs)),
        "started_at": iso(min(run.started for run in runs)),
        "finished_at": iso(max(run.ended for run in runs)),
        "n_total_trials": len(runs),
        "stats": {
            "n_completed_trials": len(runs),
            "n_errored_trials": errors,
            "evals": {name: _evaluation(members) for name, members in sorted(groups.items())},
            **_tokens(runs),
        },
    }


def _evaluation(runs: Sequence[RecordedRun]) -> dict[str, Any]:
    rewards: dict[str, list[str]] = {}
    exceptions: dict[str, list[str]] = {}
    for run in runs:
        places, key = (rewards, str(int(run.report.success))) if run.valid else (exceptions, run.report.status)
        places.setdefault(key, []).append(run.id)
    return {
        "n_trials": len(runs),
        "n_errors": sum(map(len, exceptions.values())),
        "reward_stats": {"reward": rewards},
        "exception_stats": exceptions,
    }


def _agent_info(run: RecordedRun) -> dict[str, Any]:
    found: dict[str, Any] = {"name": run.manifest.agent.name, "version": run.manifest.agent.digest[:19] or "unknown"}
    if run.model:
        provider, slash, name = run.model.partition("/")
        found["model_info"] = {"name": name, "provider": provider} if slash else {"name": run.model}
    return found


def _tokens(runs: Sequence[RecordedRun]) -> dict[str, Any]:
    """The tokens and the dollars of all runs, as far as they are known."""
    used = [call.usage for run in runs for call in run.calls if call.usage]
    costs = [run.report.cost_usd for run in runs]
    found: dict[str, Any] = {}
    if used:
        found["n_input_tokens"] = sum(one.input_tokens for one in used)
        found["n_cache_tokens"] = sum(one.cached_tokens for one in used)
        found["n_output_tokens"] = sum(one.output_tokens for one in used)
    known = [cost for cost in costs if cost is not None]
    if known and len(known) == len(costs):
        found["cost_usd"] = float(sum(known))
    return found


def _uuid(*parts: str) -> str:
    return str(UUID(derived_id("harbor", *parts)))


class HarborJob:
    """Writes ``proctor/RUN/`` for each run, and the description of the job."""

    name, version = "harbor", "job with ATIF-v1.8"

    def export(self, runs: Sequence[RecordedRun]) -> tuple[Exported, ...]:
        """The runs, each with its losses."""
        return tuple(
            Exported(
                run.id,
                tuple(_files(run)),
                (*common_losses(run), *conversation_losses(run), *trajectory_losses(run)),
            )
            for run in runs
        )

    def index(self, runs: Sequence[RecordedRun]) -> tuple[ExportedFile, ...]:
        """The description and the numbers of the job."""
        agents = {run.manifest.agent.name: {"name": run.manifest.agent.name} for run in runs}
        config = {"job_name": JOB, "jobs_dir": ".", "agents": [agents[name] for name in sorted(agents)]}
        return (
            ExportedFile(f"{JOB}/config.json", json_text(config, indent=1)),
            ExportedFile(f"{JOB}/result.json", json_text(job_result(runs), indent=1)),
        )


def _files(run: RecordedRun) -> Iterator[ExportedFile]:
    folder = f"{JOB}/{run.id}"
    yield ExportedFile(f"{folder}/config.json", json_text(trial_config(run), indent=1))
    yield ExportedFile(f"{folder}/result.json", json_text(trial_result(run), indent=1))
    yield ExportedFile(f"{folder}/agent/trajectory.json", json_text(trajectory(run), indent=1))
    yield ExportedFile(f"{folder}/artifacts/model.patch", run.patch)
    if run.valid:
        reward = {"reward": int(run.report.success)}
        yield ExportedFile(f"{folder}/verifier/reward.json", json_text(reward))


FORMAT = HarborJob()
