"""Regular expressions that are compiled when they are first used.

A command uses few of the patterns in the modules that it loads, and compiling all of them would be a tenth of its
start.
"""

from __future__ import annotations

import re
from typing import Any, cast, overload

_METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")


class _Late:
    """A pattern in waiting; after its first use its methods are those of the compiled one."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags
        self.compiled: re.Pattern[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        made = self.compiled = re.compile(self._text, self._flags)
        self.__dict__.update({method: getattr(made, method) for method in _METHODS})
        return getattr(made, name)


@overload
def pattern(text: str, flags: int = 0) -> re.Pattern[str]: ...
@overload
def pattern(text: bytes, flags: int = 0) -> re.Pattern[bytes]: ...


def pattern(text: str | bytes, flags: int = 0) -> re.Pattern[str] | re.Pattern[bytes]:
    """What ``re.compile`` gives, later."""
    return cast("re.Pattern[str]", _Late(text, flags))


def compiled(value: object) -> object:
    """The compiled pattern behind ``value``, if there is one already; else what it is itself."""
    return value.compiled if isinstance(value, _Late) else value
