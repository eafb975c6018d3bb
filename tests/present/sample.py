"""Findings to draw: invented numbers in the shape that an analysis writes, for few agents and for many."""

from __future__ import annotations

import random
from typing import Any

from tests.present.sample_parts import (
    STATUSES,
    STRATA,
    TAGS,
    cost_part,
    estimate,
    funnel_row,
    modes_part,
    plan_part,
    rate,
    survival_row,
    undefined,
)


def findings(agents: int = 4, tasks: int = 48, trials: int = 5, runs: int = 300, seed: int = 7) -> dict[str, Any]:
    """Findings on ``agents`` agents; the first four have names of their own."""
    draw = random.Random(seed)
    names = ["careful-coder", "quick-fix", "reference-agent \u00b7 small model", "no-op"]
    names = (names + [f"agent {place:02d} with a rather long name of its own" for place in range(5, agents + 1)])[
        :agents
    ]
    rates = [max(0.02, 0.72 - 0.7 * place / max(agents, 4) + draw.uniform(-0.02, 0.02)) for place in range(agents)]
    usd = [round(draw.uniform(0.05, 1.9), 4) for _ in names]
    listed = [run_row(place, names[place % agents], draw, tasks, trials) for place in range(runs)]
    best, second = names[0], names[1] if agents > 1 else names[0]
    attempted = tasks * trials
    return {
        "schema": 2,
        "kind": "proctor.findings",
        "source": {
            "kind": "pilot",
            "name": "spring pilot",
            "digest": "sha256:" + "4f" * 32,
            "rows": attempted * agents,
            "agents": agents,
            "tasks": tasks,
            "trials": {"min": trials, "max": trials},
            "notes": [{"code": "planned-runs-missing", "missing": 3, "planned": 963}],
        },
        "baselines": [
            {"method": "noop", "runs": tasks, "success": rate(0.0, 0.02), "expected": 0.0, "held": True},
            {"method": "reference", "runs": tasks, "success": rate(0.98, 0.02), "expected": 1.0, "held": False},
        ],
        "question": {
            "endpoint": "success",
            "alpha": 0.05,
            "minimum_effect": 0.1,
            "pilot": "sha256:" + "a1" * 32,
            "text": f"Should we adopt {best} rather than {second}?",
        },
        "headline": {
            "verdict": "adopt",
            "reason": {
                "code": "adopt",
                "candidate": best,
                "against": second,
                "difference": estimate(0.188, 0.074, "paired-t"),
            },
            "counting": None,
            "best": best,
            "against": second,
            "difference": estimate(0.188, 0.074, "paired-t"),
            "p": 0.0004,
            "cost": [
                {"code": "agent-cost", "agent": name, "per_run_usd": 0.61, "per_success_usd": 0.9, "unit": "USD"}
                for name in (best, second)
            ],
            "caveats": [
                {"code": "ranked-by", "endpoint": "success"},
                {"code": "runs-invalid", "runs": 12, "attempted": 960},
                {"code": "unequal-runs"},
                {"code": "runs-unknown", "runs": 4, "attempted": 960},
                {"code": "unknown-is-no-success-in-k"},
            ],
        },
        "agents": [
            agent_row(place, name, rates[place], usd[place], attempted, tasks, trials, agents, listed)
            for place, name in enumerate(names)
        ],
        "pairs": [
            pair_row(names[a], names[b], rates[a] - rates[b], tasks)
            for a in range(agents)
            for b in range(a + 1, agents)
        ],
        "strata": [
            {
                "stratum": stratum,
                "agent": name,
                "tasks": 10,
                "runs": 50,
                "success": rate(min(0.95, max(0.02, rates[place] + draw.uniform(-0.2, 0.2))), 0.14),
                "cost_usd": round(usd[place] * 50, 4),
            }
            for stratum in STRATA
            for place, name in enumerate(names)
        ],
        "weighted": [
            {"agent": name, "weights": None, "estimate": rate(rates[place] - 0.01)} for place, name in enumerate(names)
        ],
        "cost": cost_part(names, usd, attempted, draw),
        "survival": [survival_row(name, of, draw) for of in ("seconds", "cost_usd") for name in names],
        "modes": modes_part(names, attempted, draw),
        "funnel": [funnel_row(name, rates[place], attempted) for place, name in enumerate(names)],
        "tradeoff": {
            "agents": [
                {"agent": name, "usd_per_run": usd[place], "success": rates[place], **ends(rates[place])}
                for place, name in enumerate(names)
            ],
            "precision": [
                {
                    "runs_per_task": k,
                    "tasks": n,
                    "usd": n * k * 1.7,
                    "half_width": 0.62 / (n * (0.4 + 0.6 * min(k, 4) / 4)) ** 0.5,
                }
                for n in (10, 20, 48, 100, 200)
                for k in (1, 3, 5)
            ],
        },
        "agreement": {"cohen": 0.81, "krippendorff": 0.79, "reviewers": 3, "units": 60, "minutes": 412},
        "counterfactual": [
            {"of": "seconds", "cap": cap, "agent": name, "success": rate(max(0.01, rates[place] - lost))}
            for cap, lost in ((900, 0.03), (450, 0.11))
            for place, name in enumerate(names[:4])
        ],
        "deviations": [
            {
                "code": "task-removed",
                "task": "legacy-parser",
                "reason": "flaky",
                "found": {"code": "screen-deviates", "check": "unit", "deviating": 3, "of": 20, "pointer": "journal#4"},
                "why": "It depends on a random port.",
                "after_runs": 96,
            }
        ],
        "comparability": [
            {
                "class": "sha256:" + "c0" * 32,
                "runs": attempted * agents - 40,
                "agents": names,
                "counts": [attempted - 20 * (place < 2) for place in range(agents)],
                "differs": [],
            },
            {
                "class": "sha256:" + "c1" * 32,
                "runs": 40,
                "agents": names[:2],
                "counts": [20, 20],
                "differs": [
                    {"code": "task", "task": "task-001"},
                    {"code": "field-differs", "field": "limits.memory_bytes", "before": "1", "after": "2"},
                ],
            },
        ],
        "cannot": [
            {"code": "no-conditions"},
            {"code": "variation-unknown", "trials": True},
        ],
        "scope": {
            "window": ["2026-03-02T08:00:00Z", "2026-03-19T17:30:00Z"],
            "languages": ["javascript", "python"],
            "kinds": ["libraries", "command-line tools"],
            "strata": list(STRATA),
            "not_to_generalise": [{"code": "other-tasks"}, {"code": "other-agents"}],
        },
        "appendix": {
            "locks": [{"file": "uv.lock", "digest": "sha256:" + "77" * 32}],
            "digests": {"protocol": "sha256:" + "a1" * 32, "randomisation": "sha256:" + "b2" * 32},
            "agents": [
                {"agent": name, "temperature": "0.2", "tools": ["read", "edit", "test"], "image": "sha256:" + "d3" * 32}
                for name in names[:4]
            ],
            "seeds": {"planned": 20260307, "observed": 20260307},
            "amendments": [{"number": 1, "why": "a price list was published anew", "after_runs": 120}],
            "stages": [{"stage": stage, "verdict": "passed"} for stage in ("one", "two", "three")],
        },
        "plan": plan_part(),
        "runs": listed,
        "runs_left_out": attempted * agents - runs,
    }


def ends(value: float) -> dict[str, float]:
    """The ends of an agent's interval, as in its row."""
    return {part: rate(value)[part] for part in ("low", "high")}


def agent_row(
    place: int,
    name: str,
    success: float,
    usd: float,
    attempted: int,
    tasks: int,
    trials: int,
    agents: int,
    listed: list[Any],
) -> dict[str, Any]:
    """One agent; the second one has outcomes that nobody knows."""
    scorable = attempted - 3
    return {
        "agent": name,
        "attempted": attempted,
        "scorable": scorable,
        "tasks": tasks,
        "success": rate(success),
        "intention_to_treat": rate(success * 0.985),
        "error": rate(0.01, 0.009),
        "invalid": rate(3 / attempted, 0.008),
        "rank": {
            "position": place + 1,
            "best": max(1, place + 1 - (agents > 6) * 2),
            "worst": min(agents, place + 1 + (agents > 6) * 2),
        },
        "pass_at": [{"k": k, "estimate": rate(1 - (1 - success) ** (1 + 0.3 * (k - 1)))} for k in range(1, trials + 1)],
        "all_of": [{"k": k, "estimate": rate(success ** (1 + 0.3 * (k - 1)))} for k in range(1, trials + 1)],
        "bounds": {"low": success - 0.01, "high": success + 0.012, "unknown": 4 if place == 1 else 0},
        "imputed": rate(success) if place == 1 else None,
        "corrected": [
            {"sensitivity": 0.95, "specificity": 0.97, "estimate": rate(max(0.0, success - 0.02))},
            {
                "sensitivity": 0.9,
                "specificity": 0.9,
                "estimate": undefined({"code": "checks-too-unreliable"}),
            },
        ],
        "cost": {
            "total_usd": usd * attempted,
            "per_run_usd": usd,
            "per_run": {**estimate(usd, usd * 0.1, "t-over-tasks")},
            "per_success_usd": usd / success,
            "tokens_in": 120_000 * attempted,
            "tokens_out": 9_000 * attempted,
            "billed_usd": None,
            "human_minutes": 35.0,
        },
        "runs": [row["run"] for row in listed if row["agent"] == name][:200],
        "query": "SELECT * FROM runs WHERE method = '" + name.replace("'", "''") + "'",
    }


def pair_row(first: str, second: str, difference: float, tasks: int) -> dict[str, Any]:
    """Two agents; what lies within eight points is not separable."""
    p = 0.5 if abs(difference) < 0.08 else 0.0004
    return {
        "a": first,
        "b": second,
        "tasks": tasks,
        "difference": estimate(difference, 0.08, "paired-t"),
        "p": p,
        "p_adjusted": min(1.0, p * 6),
        "p_sign_flip": p,
        "separable": abs(difference) >= 0.08,
    }


def run_row(place: int, agent: str, draw: random.Random, tasks: int, trials: int) -> dict[str, Any]:
    """One run."""
    status = draw.choices(STATUSES, (50, 40, 2, 1, 2))[0]
    return {
        "run": f"20260302T08{place // 60 % 60:02d}{place % 60:02d}-{place:010x}",
        "source": f"runs/20260302T08{place:06d}",
        "agent": agent,
        "task": f"task-{draw.randrange(tasks):03d}",
        "trial": draw.randrange(trials) + 1,
        "status": status,
        "cost_usd": round(draw.uniform(0.01, 3), 4),
        "seconds": round(draw.uniform(20, 1800), 1),
        "tags": "" if status == "success" else ";".join(sorted(draw.sample(TAGS, 2))),
    }


def ranking(agents: int = 25) -> dict[str, Any]:
    """Findings without a question asked beforehand: many agents, one try of each task, no plan."""
    found = findings(agents, tasks=500, trials=1, runs=1000, seed=11)
    found["source"].update(kind="results", name="public leaderboard")
    found["question"].update(minimum_effect=None, pilot=None, text="")
    best = found["headline"]["best"]
    alike = sum(best in (pair["a"], pair["b"]) and not pair["separable"] for pair in found["pairs"])
    found["headline"].update(
        verdict="ranking",
        reason={
            "code": "ranked",
            "agent": best,
            "endpoint": "success",
            "rate": found["agents"][0]["success"],
            "first": [best],
            "better": [],
            "not_separable": [f"agent {place}" for place in range(alike)],
            "not_comparable": [],
            "others": [row["agent"] for row in found["agents"][1:]],
            "separable_pairs": sum(pair["separable"] for pair in found["pairs"]),
            "pairs": len(found["pairs"]),
        },
        against=None,
        difference=None,
        p=None,
        cost=[{"code": "agent-cost", "agent": best, "per_run_usd": 0.3, "per_success_usd": None, "unit": "USD"}],
        caveats=[
            {"code": "one-trial-per-task"},
            {"code": "ranked-by", "endpoint": "success"},
        ],
    )
    for row in found["agents"]:
        row.update(pass_at=[], all_of=[], imputed=None, corrected=[])
    for key in ("plan", "baselines", "counterfactual", "deviations", "comparability", "funnel", "modes", "agreement"):
        found.pop(key)
    return found
