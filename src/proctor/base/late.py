"""Modules that others import and hardly ever use, loaded at their first use.

``inspect`` is the one that counts: the library of the command line and ``dataclasses`` import it, with the compiler's
modules behind it, to tidy up indented text and to name signatures. That text is tidied up here; whoever asks the
stand-in for anything else gets it from the real module, which takes the stand-in's place.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LateModule(ModuleType):
    """Stands in for the module ``name`` until an attribute is asked for that it has not got."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)  # what lists modules asks for such, and that is no use of one
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)
        real = import_module(self.__name__)
        vars(self).update({name: value for name, value in vars(real).items() if not name.startswith("__")})
        return getattr(real, attribute)


def inspect_later() -> None:
    """Let ``inspect`` be loaded when it is used, unless it is here already."""
    if "inspect" not in sys.modules:
        stand_in = LateModule("inspect")
        vars(stand_in)["cleandoc"] = cleandoc
        sys.modules["inspect"] = stand_in


def cleandoc(doc: str) -> str:
    """``doc`` without the indentation that its lines have in common, and without empty lines around it."""
    first, *rest = doc.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=None)
    lines = [first.lstrip(), *(line[margin:] if margin is not None else line for line in rest)]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return "\n".join(lines)
