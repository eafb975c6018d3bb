"""A small pilot for tests of plans: its file, its protocol without a disk, and its artefacts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.study.pilot.plan.pilot_model import PLANNED_SEED

WHOLE: Mapping[str, Any] = {
    "schema": 1,
    "pilot": {"name": "small", "title": "A small pilot", "question": "Is x better than y?"},
    "methods": [{"name": "x", "agent": "command:true"}, {"name": "y", "agent": "command:false"}],
    "tasks": [{"contract": "contracts/one"}, {"contract": "contracts/two"}],
    "budgets": {"pilot_usd": "10.00"},
    "minimum_effect": "0.3",
}


def write_pilot(folder: Path, **parts: Any) -> Path:
    """A pilot file in ``folder``; ``parts`` replace whole top-level parts, ``None`` leaves one out."""
    whole = {**WHOLE, **parts}
    file = folder / "pilot.yaml"
    file.write_text(json.dumps({key: value for key, value in whole.items() if value is not None}, indent=1))
    return file


def method(name: str, **fields: Any) -> dict[str, Any]:
    """A method as protocols have it."""
    made = {"name": name, "agent": "command:true", "model": "", "endpoint": "", "dialect": "", "script": ""}
    rest = {"provider_tools": "strip", "output_tokens": 8192, "configuration": {}, "baseline": False, "digest": "d"}
    return {**made, **rest, **fields}


def task(name: str, stratum: str = "all", **caps: Any) -> dict[str, Any]:
    """A task as protocols have it."""
    usual = {"usd": "5.00", "wall_seconds": 900, "tokens": 1_000_000, "tool_calls": 500, "judge_seconds": 600}
    return {"name": name, "contract": f"sha256:{name}", "stratum": stratum, "strata": {}, "caps": {**usual, **caps}}


def protocol(**parts: Any) -> dict[str, Any]:
    """A protocol of two methods, a baseline and four tasks in two strata."""
    made: dict[str, Any] = {
        "schema": 1,
        "kind": "proctor.pilot",
        "pilot": {"name": "small", "title": "A small pilot", "question": "Is x better than y?"},
        "methods": [method("x"), method("y", model="openai/large"), method("noop", baseline=True, digest="")],
        "comparison": {"candidate": "x", "against": "y"},
        "baselines": {"noop": True, "reference": True, "human": False, "human_minutes": "0"},
        "tasks": [task("a", "c"), task("b", "c"), task("d", "python"), task("e", "python")],
        "strata": ["language"],
        "runs_per_task": 3,
        "seeds": {"planned": PLANNED_SEED, "observed": PLANNED_SEED, "framework": "numpy.random.PCG64"},
        "budgets": {"pilot_usd": "100.00", "task_usd": None, "run_usd": None},
        "prices": {"id": "fallback-1", "currency": "unit", "digest": "sha256:0"},
        "endpoints": {"primary": "success", "secondary": []},
        "minimum_effect": "0.3",
        "alpha": "0.05",
        "power": "0.8",
        "assumed": {
            "rate": "0.5",
            "icc": ["0.2", "0.6"],
            "correlation": ["0", "0.5"],
            "invalid": "0",
            "usage": None,
            "low": "0.5",
            "high": "2",
        },
        "flakes": {"tolerance": "0", "runs": 5},
        "adjudication": {"rule": "all", "reruns": 1},
        "stages": {"one": {"tasks": 2, "runs": 1}, "two": {"tasks": 4, "runs": 2}, "three": {"tasks": 4, "runs": 3}},
        "stopping": {"violations": 3, "looks": []},
        "retries": 1,
        "deviations": [],
    }
    return {**made, **parts}
