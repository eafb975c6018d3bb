"""What no format of runs carries, and texts as JSON: shared by the formats of runs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from proctor.author.export.interface import Loss
from proctor.author.export.recorded_run import RecordedRun


def common_losses(run: RecordedRun) -> list[Loss]:
    """What every format of runs loses of ``run``."""
    losses = [Loss("evidence-chain", {"seal": run.seal})]
    if run.left_out:
        losses.append(Loss("events", {"types": dict(run.left_out)}))
    attempts = sum(len(check.attempts) for check in run.report.checks)
    if attempts:
        losses.append(Loss("check-attempts", {"attempts": attempts}))
    cost = run.report.usage.cost
    if cost is not None and cost.units is not None:
        losses.append(Loss("cost-units", {"units": cost.units, "method": cost.method}))
    return losses


def conversation_losses(run: RecordedRun) -> list[Loss]:
    """What a conversation loses when it becomes one sequence of messages."""
    losses = []
    if run.threads > 1:
        losses.append(Loss("threads", {"threads": run.threads}))
    if run.cut_texts:
        losses.append(Loss("cut-texts", {"texts": run.cut_texts}))
    if run.unmatched_results:
        losses.append(Loss("results-without-call", {"results": run.unmatched_results}))
    return losses


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a tool call as an object; text that is no JSON object becomes the field ``text``."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return value if isinstance(value, dict) else {"value": value}


def clean(text: str) -> str:
    """``text`` without what JSON readers refuse: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def json_text(value: Any, *, indent: int | None = None) -> bytes:
    """JSON with sorted keys and a newline at its end."""
    return clean(json.dumps(value, sort_keys=True, ensure_ascii=False, indent=indent)).encode() + b"\n"


def derived_id(*parts: object, length: int = 32) -> str:
    """Hexadecimal digits that follow from ``parts``, for formats that want ids of their own."""
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:length]
