"""The conditions of a run without envelopes that never bound it. Pure.

An envelope is shared by runs: all of a task, or the whole pilot. One that leaves room for everything that a run may
cost by its own cap changes nothing in it: the run is slowed down and ended where its own cap says. So an amendment that
gives a pilot more money is no other condition. Where less is left than the cap of the run, the envelope binds it, and
counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from proctor.judge.report import comparability

ENVELOPES = {"task_usd": "task_spent_usd", "batch_usd": "batch_spent_usd"}
"""The settings of a run that are envelopes, each with what others had spent of it."""


def conditions_of(manifest: Mapping[str, Any], recorded: str) -> str:
    """The class of a run without its envelopes, where none of them bound it; ``recorded`` is the class in its report.

    Empty where one did, or where the class was made in another way.
    """
    configuration: Mapping[str, Any] = manifest.get("configuration") or {}
    watch: Mapping[str, Any] = configuration.get("watch") or {}
    if comparability(manifest)["class"] != recorded or _bound(watch):
        return ""
    free = {name: value for name, value in watch.items() if name not in ENVELOPES}
    return comparability({**manifest, "configuration": {**configuration, "watch": free}})["class"]


def _bound(watch: Mapping[str, Any]) -> bool:
    """Whether less was left of an envelope than the run might cost."""
    cap = (watch.get("caps") or {}).get("usd")
    for name, spent in ENVELOPES.items():
        whole = watch.get(name)
        if whole is not None and (cap is None or Decimal(whole) - Decimal(watch.get(spent) or 0) < Decimal(cap)):
            return True
    return False
