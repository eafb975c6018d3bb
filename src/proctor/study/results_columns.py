"""Which column of a table of results means what: as the caller says, else by the usual names.

A column that the caller names must be there. A column takes one role only. What could be meant in two ways is asked
back instead of guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.base.errors import UsageFault
from proctor.base.sheets import unguarded
from proctor.study.results_shapes import NEEDED, ROLES, USUAL, plain, shape_of, usual_columns

OPTIONS = {"tokens_in": "--tokens", "tokens_out": "--tokens"}
"""The options whose name is not that of the role."""


@dataclass(frozen=True)
class Columns:
    """The columns of a file: the header, the column of each role, and what was noted while choosing."""

    header: tuple[str, ...]
    taken: Mapping[str, str]
    shape: str
    notes: tuple[str, ...]

    def place(self, role: str) -> int:
        """Where the column of ``role`` stands; -1 when there is none."""
        name = self.taken.get(role)
        return -1 if name is None else self.header.index(name)

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns that were taken for nothing."""
        taken = set(self.taken.values())
        return tuple(name for name in self.header if name and name not in taken)

    def others(self, role: str) -> list[str]:
        """Columns with a usual name for ``role`` that were taken for nothing."""
        taken = self.taken.values()
        return [name for name in self.header if plain(name) in USUAL[role] and name not in taken]


def choose(file: str, header: Sequence[str], given: Mapping[str, str]) -> Columns:
    """The columns to read from a file with this header; :class:`UsageFault` says everything that is wrong with it."""
    header = [unguarded(name).strip() for name in header]
    shape = shape_of(header)
    usual = usual_columns(header, shape)
    wrong = [f"two columns are called {name!r}" for name in sorted({n for n in header if n and header.count(n) > 1})]
    wrong += [f"there is no column {name!r} for {_option(role)}" for role, name in given.items() if name not in header]
    taken = dict(given)
    notes: list[str] = []
    for role in ROLES:
        if role in taken:
            continue
        names = [name for name in usual.get(role, ()) if name not in taken.values()]
        if len(set(names)) > 1:
            either = " and ".join(map(repr, names[:3]))
            wrong.append(f"{either} could each be the {role}: say which by {_option(role)} COLUMN")
        if names:
            taken[role] = names[0]
    if "agent" not in taken and "model" in taken:
        taken["agent"] = taken.pop("model")
        notes.append(f"no column names an agent: {taken['agent']!r} is what is compared")
    if missing := [role for role in NEEDED if role not in taken]:
        asked = ", ".join(f"{_option(role)} COLUMN" for role in missing)
        wrong.append(f"no column looks like the {' or the '.join(missing)}: say which by {asked}")
    if wrong:
        raise UsageFault("\n".join(wrong), where=f"{file}:1", hint=f"the columns are: {', '.join(header)}")
    ordered = {role: taken[role] for role in ROLES if role in taken}
    return Columns(tuple(header), ordered, shape.name if shape else "", tuple(notes))


def _option(role: str) -> str:
    return OPTIONS.get(role, f"--{role}")
