"""Other versions of an agent than the one that its adapter names."""

from __future__ import annotations

import re
from dataclasses import replace

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.interface import Adapter

_VERSION = re.compile(r"[0-9][A-Za-z0-9.+!_-]{0,100}")


def of_version(adapter: Adapter, version: str) -> Adapter:
    """``adapter`` with ``version`` of its agent; unchanged if that is its own version or empty."""
    recipe = adapter.recipe
    if version in ("", recipe.version):
        return adapter
    if not _VERSION.fullmatch(version):
        raise UsageFault(
            f"not a version: {version[:100]!r}",
            where=f"{adapter.name}@{version[:100]}",
            hint=f"name one release, such as {adapter.name}@{recipe.version}",
        )
    first = f"{recipe.packages[0].removesuffix(recipe.version)}{version}"
    return replace(adapter, recipe=replace(recipe, packages=(first, *recipe.packages[1:])))
