"""The extras that messages name are those of the package."""

from __future__ import annotations

import tomllib
from pathlib import Path

from proctor.base.errors import EXTRAS, missing_extra


def test_extras_are_those_of_the_package(project: Path) -> None:
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name: set(modules.values()) for name, modules in EXTRAS.items()} == {
        name: {one.partition(">=")[0] for one in packages} for name, packages in declared.items() if name != "all"
    }


def test_another_missing_module_is_no_extra() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'other'", name="other")) is None
    found = missing_extra(ModuleNotFoundError("No module named 'yarl'", name="yarl"))
    assert found is not None and found.exit_code == 2 and "'gateway'" in found.message
