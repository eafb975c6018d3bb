"""The larger parts of the sample findings: cost, survival, failure modes, gates and the plan."""

from __future__ import annotations

import random
from typing import Any

TAGS = (
    "test-failure/unit",
    "boundary-violation",
    "dependency-hallucination",
    "non-termination",
    "configuration-drift",
    "invariant-violation",
    "patch-conflict",
)
STRATA = ("python / small", "python / medium", "python / large", "javascript / small", "javascript / medium")
STATUSES = ("success", "failure", "acceptance-error", "invalid", "unknown")


def estimate(
    value: float, half: float, method: str = "korn-graubard", n: int = 240, clusters: int = 48
) -> dict[str, Any]:
    """An estimate with a made-up interval."""
    low, high = round(value - half, 6), round(value + half, 6)
    return {
        "value": round(value, 6),
        "low": low,
        "high": high,
        "level": 0.95,
        "method": method,
        "n": n,
        "clusters": clusters,
        "undefined": None,
    }


def undefined(why: dict[str, Any]) -> dict[str, Any]:
    """An estimate that could not be made."""
    return {**estimate(0, 0), "value": None, "low": None, "high": None, "undefined": why}


def rate(value: float, half: float = 0.06) -> dict[str, Any]:
    """A share between 0 and 1."""
    return {**estimate(value, half), "low": max(0.0, round(value - half, 6)), "high": min(1.0, round(value + half, 6))}


def cost_part(names: list[str], usd: list[float], attempted: int, draw: random.Random) -> dict[str, Any]:
    """What the runs cost."""
    shares = (
        ("model", "agent", 0.8),
        ("execution", "agent", 0.1),
        ("human", "approval", 0.06),
        ("overhead", "setup", 0.04),
    )
    return {
        "items": [
            {"agent": name, "item": item, "phase": phase, "usd": round(usd[place] * attempted * part, 4)}
            for place, name in enumerate(names)
            for item, phase, part in shares
        ],
        "by_outcome": [
            {
                "agent": name,
                "status": status,
                "runs": 60 - 11 * spot,
                "usd": round(usd[place] * (60 - 11 * spot), 4),
                "seconds": 41_000 - 6_000 * spot,
                "tokens_in": 7_000_000 - 900_000 * spot,
                "tokens_out": None,
                "usd_quartiles": [0.4, 0.9, 1.7],
                "seconds_quartiles": None if spot == 2 else [210.0, 640.5, 1201.0],
            }
            for place, name in enumerate(names)
            for spot, status in enumerate(STATUSES[:3])
        ],
        "by_task": [
            {
                "task": f"task-{task:03d}",
                "agent": name,
                "runs": 5,
                "usd": round(draw.uniform(0.5, 9), 4),
                "seconds": 900.0,
            }
            for task in range(48)
            for name in names
        ],
        "by_stratum": [
            {"stratum": stratum, "agent": name, "runs": 50, "usd": round(draw.uniform(5, 90), 4)}
            for stratum in STRATA
            for name in names
        ],
    }


def survival_row(name: str, of: str, draw: random.Random) -> dict[str, Any]:
    """A falling curve that is cut at a cap."""
    cap = 1800.0 if of == "seconds" else 5.0
    speed = draw.uniform(0.5, 2.2)
    steps = []
    for place in range(1, 81):
        x, left = cap * place / 80, max(0.0, 1 - (place / 100) ** speed)
        steps.append([round(x, 4), round(left, 6), round(max(0.0, left - 0.06), 6), round(min(1.0, left + 0.06), 6)])
    half = next((step[0] for step in steps if step[1] <= 0.5), None)
    mean = estimate(cap * 0.4, cap * 0.04, "restricted-mean")
    return {
        "agent": name,
        "of": of,
        "cap": cap,
        "events": 212,
        "censored": 28,
        "median": half,
        "mean": mean,
        "steps": steps,
    }


def modes_part(names: list[str], attempted: int, draw: random.Random) -> dict[str, Any]:
    """Failure tags and how quickly new ones appear."""
    rows = []
    for name in names:
        counts = {
            tag: int(attempted * max(0.0, draw.uniform(-0.05, 0.3)) / (place + 1)) for place, tag in enumerate(TAGS)
        }
        rows.append({"agent": name, "counts": counts, "runs": attempted})
    discovery = [
        {
            "agent": name,
            "found": 6,
            "unseen_estimate": 1.4,
            "marginal_usd": estimate(38.0, 20.0, "good-turing"),
            "curve": [
                [runs, runs * 0.9, round(7 * (1 - 0.97 ** (runs / 2)), 3)] for runs in range(0, attempted + 1, 10)
            ],
        }
        for name in names
    ]
    return {"tags": list(TAGS), "rows": rows, "discovery": discovery}


def funnel_row(name: str, success: float, attempted: int) -> dict[str, Any]:
    """Runs left after each gate."""
    shares = (
        ("attempted", 1.0),
        ("scorable", 0.99),
        ("gate-1", 0.97),
        ("gate-2", 0.93),
        ("gate-3", success + 0.01),
        ("gate-4", success),
    )
    return {"agent": name, "steps": [{"name": step, "count": int(attempted * part)} for step, part in shares]}


def plan_part() -> dict[str, Any]:
    """Power and projected cost as a pilot's plan has them."""
    sizes = (5, 10, 20, 30, 48, 60, 80, 100)
    return {
        "power": {
            "target": 0.8,
            "minimum_effect": 0.1,
            "supported": True,
            "tasks": 48,
            "answer": {
                "code": "power-reached",
                "removed": False,
                "tasks": 48,
                "effect": 0.1,
                "target": 0.8,
                "formula": [{"power": 0.84, "icc": 0.6, "correlation": 0.0}],
                "simulated": [],
            },
            "original": None,
            "curves": [
                {"icc": icc, "points": [[n, round(1 - 0.97 ** (n / (0.6 + icc)), 4)] for n in sizes]}
                for icc in (0.2, 0.4, 0.6)
            ],
        },
        "projection": {"budget_usd": 500.0, "points": [[n, n * 0.3, n * 0.43, n * 0.6] for n in range(0, 961, 96)]},
    }
