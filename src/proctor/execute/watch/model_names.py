"""When two names mean one model: providers answer under dated versions of the name that was asked for. Pure."""

from __future__ import annotations

import re

_VERSION = re.compile(r"([-@:](latest|\d{3,8}|\d{4}-\d{2}-\d{2}))+$")
"""How providers mark the version of a model at the end of its name."""


def is_same_model(asked: str, answered: str) -> bool:
    """Whether the name in an answer is the one that was asked for, or a dated version of it."""
    return undated(asked) == undated(answered)


def undated(name: str) -> str:
    """The name of a model without its provider and its version."""
    return _VERSION.sub("", name.lower().rpartition("/")[2])
