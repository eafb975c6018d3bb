"""What tables of results look like: the usual names of columns, and the words that stand for outcomes and ends.

A *role* is what a column means here (agent, task, outcome ...). Three kinds of tables are known by their columns:
those of SWE-bench, of Terminal-Bench and Harbor, and of Inspect; their names are tried before the usual ones. Names
are compared in lower case with everything but letters and digits as ``_``. Nothing is guessed from values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROLES = (
    "agent",
    "model",
    "task",
    "suite",
    "trial",
    "outcome",
    "status",
    "cost",
    "tokens_in",
    "tokens_out",
    "seconds",
    "stratum",
    "calls",
    "tags",
    "begun",
    "cost_method",
    "cost_unit",
)
NEEDED = ("agent", "task", "outcome")

USUAL: Mapping[str, tuple[str, ...]] = {
    "agent": ("agent", "method", "agent_name", "submission", "system", "scaffold", "agent_info_name", "solver"),
    "model": ("model", "model_name", "model_name_or_path", "agent_info_model_info_name", "llm"),
    "task": ("task", "task_id", "task_name", "instance_id", "instance", "problem", "problem_id", "sample_id", "sample"),
    "suite": (),
    "trial": ("trial", "trial_name", "trial_id", "attempt", "epoch", "repeat", "run", "run_id", "replicate", "seed"),
    "outcome": (
        "outcome",
        "success",
        "resolved",
        "is_resolved",
        "passed",
        "solved",
        "correct",
        "result",
        "reward",
        "verifier_result_reward",
        "verifier_result_rewards_reward",
        "score",
        "status",
    ),
    "status": ("failure_mode", "termination", "ended", "end", "exit_status", "exception_info_exception_type", "limit"),
    "cost": ("cost_usd", "cost", "usd", "total_cost_usd", "total_cost", "price", "agent_result_cost_usd", "spend_usd"),
    "tokens_in": (
        "tokens_in",
        "input_tokens",
        "total_input_tokens",
        "prompt_tokens",
        "n_input_tokens",
        "agent_result_n_input_tokens",
        "tokens",
        "total_tokens",
    ),
    "tokens_out": (
        "tokens_out",
        "output_tokens",
        "total_output_tokens",
        "completion_tokens",
        "n_output_tokens",
        "agent_result_n_output_tokens",
    ),
    "seconds": (
        "seconds",
        "agent_seconds",
        "duration_seconds",
        "duration_sec",
        "wall_seconds",
        "elapsed_seconds",
        "duration",
        "total_time",
        "time",
    ),
    "stratum": ("stratum", "strata", "category", "difficulty", "language", "repo", "repository"),
    "calls": ("tool_calls", "api_calls", "calls", "n_calls", "steps", "n_steps", "turns"),
    "tags": ("tags", "tag", "failure_tags"),
    "cost_method": ("cost_method",),
    "cost_unit": ("cost_unit",),
    "begun": ("begun", "started_at", "started", "start_time", "created", "timestamp", "date"),
}


@dataclass(frozen=True)
class Shape:
    """A known kind of table: columns that give it away, and what its columns mean."""

    name: str
    marks: tuple[tuple[str, ...], ...]
    """Each group needs one column; a name that ends in ``*`` is a beginning."""
    names: Mapping[str, tuple[str, ...]]


SHAPES = (
    Shape(
        "Inspect",
        (("epoch",), ("id", "sample_id"), ("score_*",)),
        {
            "agent": ("agent", "solver", "model"),
            "task": ("id", "sample_id"),
            "suite": ("task_name",),
            "trial": ("epoch",),
            "outcome": ("score_*",),
            "status": ("limit",),
            "seconds": ("working_time", "total_time"),
        },
    ),
    Shape(
        "Terminal-Bench or Harbor",
        (("trial_name",), ("is_resolved", "reward", "verifier_result_reward", "verifier_result_rewards_reward")),
        {
            "agent": ("submission", "agent_name", "agent_info_name", "agent"),
            "task": ("task_id", "task_name"),
            "trial": ("trial_name",),
            "outcome": ("is_resolved", "reward", "verifier_result_reward", "verifier_result_rewards_reward"),
            "status": ("failure_mode", "exception_type", "exception_info_exception_type"),
        },
    ),
    Shape(
        "SWE-bench",
        (("instance_id",), ("resolved", "resolved_status", "outcome")),
        {
            "agent": ("agent", "submission", "model_name_or_path", "name", "folder", "model"),
            "task": ("instance_id",),
            "outcome": ("resolved", "resolved_status", "outcome"),
        },
    ),
)

SUCCESS, FAILURE, ERROR, INVALID, UNKNOWN = "success", "failure", "acceptance-error", "invalid", "unknown"

OUTCOMES: Mapping[str, str] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "pass", "passed", "success", "succeeded", "solved"), SUCCESS),
    **dict.fromkeys(("resolved", "correct", "c", "resolved_full", "accepted", "ok"), SUCCESS),
    **dict.fromkeys(("0", "0.0", "false", "no", "fail", "failed", "failure", "unsolved", "unresolved"), FAILURE),
    **dict.fromkeys(("incorrect", "i", "n", "wrong", "resolved_no", "resolved_partial", "rejected"), FAILURE),
    **dict.fromkeys(("acceptance-error", "acceptance_error", "error", "errored"), ERROR),
    **dict.fromkeys(("invalid", "void", "infrastructure"), INVALID),
    **dict.fromkeys(("", "none", "null", "nan", "na", "n/a", "unknown", "indeterminate", "?"), UNKNOWN),
}
"""What a word in the column of outcomes means, in lower case."""

FINISHED = frozenset(
    {"", "unset", "none", "null", "nan", "finished", "completed", "complete", "ok", "done", "submitted"}
)
"""Words of the column of ends that say nothing special."""
CAPPED = frozenset(
    {
        "agent_timeout",
        "timeout",
        "timed_out",
        "time_limit",
        "agenttimeouterror",
        "time",
        "working",
        "token",
        "message",
        "cost",
        "resource",
        "context_length_exceeded",
        "limits_exceeded",
        "limitsexceeded",
        "budget",
        "exit_cost",
    }
)
"""Words of the column of ends that say that a cap cut the agent short."""
BROKEN = frozenset({"agent_installation_failed", "environmentstarttimeouterror", "infrastructure", "setup_failed"})
"""Words of the column of ends that say that the machine failed before the agent could act."""

INSTANCE = re.compile(r"^([A-Za-z0-9_.-]+)__([A-Za-z0-9_.-]+)-\d+$")
"""A task of SWE-bench: owner, repository and a number."""


def plain(name: str) -> str:
    """A column's name as it is compared."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def shape_of(header: Sequence[str]) -> Shape | None:
    """The known kind of table that has this header."""
    names = [plain(name) for name in header]
    for shape in SHAPES:
        if all(any(_find(names, mark) for mark in group) for group in shape.marks):
            return shape
    return None


def usual_columns(header: Sequence[str], shape: Shape | None) -> dict[str, list[str]]:
    """For each role the columns that it may be: several where one name stands for many."""
    names = [plain(name) for name in header]
    found: dict[str, list[str]] = {}
    for role in ROLES:
        for name in (*(shape.names.get(role, ()) if shape else ()), *USUAL[role]):
            places = _find(names, name)
            if places:
                found[role] = [header[place] for place in places]
                break
    return found


def repository_of(task: str) -> str:
    """The repository that a task of SWE-bench is about; empty for any other task."""
    match = INSTANCE.match(task)
    return f"{match[1]}/{match[2]}" if match else ""


def _find(names: Sequence[str], name: str) -> list[int]:
    if name.endswith("*"):
        return [place for place, have in enumerate(names) if have.startswith(name[:-1])]
    return [place for place, have in enumerate(names) if have == name]
