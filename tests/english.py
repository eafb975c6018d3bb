"""Findings in English, for tests that check what readers see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.sentences import SENTENCES, joined, sentence
from proctor.study.analysis.plain_data import plain_data


def english(value: Any) -> Any:
    """``value`` with every statement replaced by its sentence; the cost of a headline is one text."""
    return _written(plain_data(value))


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.get("code") in SENTENCES:
            return sentence(value)
        cost = {"cost": joined(value["cost"])} if "verdict" in value and "cost" in value else {}
        return {name: _written(inner) for name, inner in value.items()} | cost
    return [_written(inner) for inner in value] if isinstance(value, list) else value
