"""The house rules that a machine can read: who may import whom, and what no file may hold.

Every import below ``src/proctor`` is read, those inside functions too. Imports point down the stairs; inside one floor
a room (a sub-package) keeps to itself unless ``DOORS`` names the step; nothing goes round in circles.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "src" / "proctor"
DATA = PACKAGE / "author" / "demo" / "contract"
"""The bundled contract: files of another project, which are shipped and not imported."""

FLOORS = ("base", "contract", "record", "execute", "judge", "conduct", "author", "study", "present", "cli")

DOORS = {
    "execute.workspace": ("execute.sandbox.interface",),
    "execute.inputs": ("execute.sandbox.interface", "execute.workspace.archive"),
    "execute.agents": ("execute.sandbox.interface", "execute.workspace.tree"),
}
"""The steps from one room to another of the same floor."""

CLOSED = {"judge": ("execute.agents",)}
"""What a floor may not use although it lies below: what judges never imports what acts."""

STANDS_ALONE = ("judge.plugin",)
"""Rooms whose code runs inside the sandbox, where Proctor itself is not installed."""

HEAVY = frozenset(
    {
        "asyncio",
        "concurrent.futures",
        "dataclasses",
        "email",
        "http",
        "importlib.metadata",
        "inspect",
        "sqlite3",
        "ssl",
        "tarfile",
        "unittest",
        "urllib.request",
        "xml.etree",
        "zipfile",
        "yaml",
        "rich",
        "numpy",
        "scipy",
    }
)
        if FOREIGN[kind].search(line)
    ]
    assert found == []
