"""Modules that others import and hardly ever use, loaded at their first use.

The library of the command line and a few modules of the standard library import whole families of modules for one small
thing each: ``inspect`` to tidy up indented text, ``gettext`` for translations that there are none of, ``urllib.parse``
to write paths as addresses; and ``hashlib`` brings a whole library of cryptography along. A stand-in does the small
thing itself. Whoever asks it for more gets that from the real module, which then takes the stand-in's place.
"""

from __future__ import annotations

import _thread
import os
import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


LITTLE = 1 << 15
"""Bytes up to which Python's own SHA-256 takes less time than loading a faster one."""

_turn = _thread.allocate_lock()


class LateModule(ModuleType):
    """Stands in for the module ``name`` until an attribute is asked for that it has not got."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)  # what lists modules asks for such, and that is no use of one
        return getattr(load(self.__name__), attribute)


def load(name: str) -> ModuleType:
    """The real module ``name``; a stand-in that others still hold has all of it from here on."""
    with _turn:
        stand_in = sys.modules.get(name)
        if isinstance(stand_in, LateModule):
            del sys.modules[name]
    real = import_module(name)
    if isinstance(stand_in, LateModule):
        vars(stand_in).update({name: value for name, value in vars(real).items() if not name.startswith("__")})
    return real


def load_later() -> None:
    """Let the modules that have a stand-in be loaded when they are used, unless they are here already."""
    for name, abilities in _ABILITIES.items():
        if name not in sys.modules:
            stand_in = LateModule(name)
            vars(stand_in).update(abilities())
            sys.modules[name] = stand_in
            package, _, last = name.rpartition(".")
            if package:
                setattr(import_module(package), last, stand_in)


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


def _untranslated(message: str) -> str:
    return message


def _counted(singular: str, plural: str, number: int) -> str:
    return singular if number == 1 else plural


def _quote_from_bytes(*arguments: Any, **options: Any) -> str:
    quoted: str = load("urllib.parse").quote_from_bytes(*arguments, **options)
    return quoted


def _clock_classes() -> Mapping[str, Any]:
    """All that the module ``datetime`` holds; up to 3.11 it first defines every bit of it in Python, too."""
    return _public("_datetime")


def _public(name: str) -> Mapping[str, Any]:
    return {key: value for key, value in vars(import_module(name)).items() if not key.startswith("_")}


def _digests() -> Mapping[str, Any]:
    """SHA-256 of a little data that is at hand as a whole."""
    try:
        make, late = import_module("_sha256" if sys.version_info < (3, 12) else "_sha2").sha256, True
    except ImportError:
        return {}

    def sha256(data: Any = None, **options: Any) -> Any:
        nonlocal make, late
        # While another thread loads the real module there is none under its name.
        waits = late and isinstance(sys.modules.get("hashlib"), LateModule)
        if late and (not waits or data is None or options or len(data) > LITTLE):
            make = load("hashlib").sha256
            late = False
        return make(b"" if data is None else data, **options)

    return {"sha256": sha256}


_ABILITIES: dict[str, Callable[[], Mapping[str, Any]]] = {
    "inspect": lambda: {"cleandoc": cleandoc},
    "gettext": lambda: {"gettext": _untranslated, "ngettext": _counted},
    "platform": lambda: {"system": lambda: os.uname().sysname},
    "urllib.parse": lambda: {"quote_from_bytes": _quote_from_bytes},
    "datetime": _clock_classes,
    "queue": lambda: _public("_queue"),
    "locale": dict,
    "hashlib": _digests,
}
