"""What the columns of a table of results mean, and the values in them: as the caller says, else by the usual names.

A *role* is what a column means here (agent, task, outcome ...). Tables of SWE-bench, of Terminal-Bench and Harbor,
and of Inspect are recognised by their columns. A column that the caller names must exist, and takes one role only.
The caller's values for outcomes, ends and tags are tried before the usual ones. Ambiguous columns are an error, never
a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import unescape_cell
from proctor.study.statements import Statement, statement

ROLES = (
    "agent",
    "model",
    "task",
    "suite",
    "trial",
    "outcome",
    "status",
    "cost",
    "tokens_in",
    "tokens_out",
    "seconds",
    "stratum",
    "calls",
    "tags",
    "begun",
    "cost_method",
    "cost_unit",
)
NEEDED = ("agent", "task", "outcome")

USUAL: Mapping[str, tuple[str, ...]] = {
    "agent": ("agent", "method", "agent_name", "submission", "system", "scaffold", "agent_info_name", "solver"),
    "model": ("model", "model_name", "model_name_or_path", "agent_info_model_info_name", "llm"),
    "task": ("task", "task_id", "task_name", "instance_id", "instance", "problem", "problem_id", "sample_id", "sample"),
    "suite": (),
    "trial": ("trial", "trial_name", "trial_id", "attempt", "epoch", "repeat", "run", "run_id", "replicate", "seed"),
    "outcome": (
        "outcome",
        "success",
        "resolved",
        "is_resolved",
        "passed",
        "solved",
        "correct",
        "result",
        "reward",
        "verifier_result_reward",
        "verifier_result_rewards_reward",
        "score",
        "status",
    ),
    "status": ("failure_mode", "termination", "ended", "end", "exit_status", "exception_info_exception_type", "limit"),
    "cost": ("cost_usd", "cost", "usd", "total_cost_usd", "total_cost", "price", "agent_result_cost_usd", "spend_usd"),
    "tokens_in": (
        "tokens_in",
        "input_tokens",
        "total_input_tokens",
        "prompt_tokens",
        "n_input_tokens",
        "agent_result_n_input_tokens",
        "tokens",
        "total_tokens",
    ),
    "tokens_out": (
        "tokens_out",
        "output_tokens",
        "total_output_tokens",
        "completion_tokens",
        "n_output_tokens",
        "agent_result_n_output_tokens",
    ),
    "seconds": (
        "seconds",
        "agent_seconds",
        "duration_seconds",
        "duration_sec",
        "wall_seconds",
        "elapsed_seconds",
        "duration",
        "total_time",
        "time",
    ),
    "stratum": ("stratum", "strata", "category", "difficulty", "language", "repo", "repository"),
    "calls": ("tool_calls", "api_calls", "calls", "n_calls", "steps", "n_steps", "turns"),
    "tags": ("tags", "tag", "failure_tags"),
    "cost_method": ("cost_method",),
    "cost_unit": ("cost_unit",),
    "begun": ("begun", "started_at", "started", "start_time", "created", "timestamp", "date"),
}


@dataclass(frozen=True)
class Shape:
    """A known kind of table: columns that identify it, and what its columns mean."""

    name: str
    marks: tuple[tuple[str, ...], ...]
    """Each group needs one column; a name that ends in ``*`` is a beginning."""
    names: Mapping[str, tuple[str, ...]]


SHAPES = (
    Shape(
        "Inspect",
        (("epoch",), ("id", "sample_id"), ("score_*",)),
        {
            "agent": ("agent", "solver", "model"),
            "task": ("id", "sample_id"),
            "suite": ("task_name",),
            "trial": ("epoch",),
            "outcome": ("score_*",),
            "status": ("limit",),
            "seconds": ("working_time", "total_time"),
        },
    ),
    Shape(
        "Terminal-Bench or Harbor",
        (("trial_name",), ("is_resolved", "reward", "verifier_result_reward", "verifier_result_rewards_reward")),
        {
            "agent": ("submission", "agent_name", "agent_info_name", "agent"),
            "task": ("task_id", "task_name"),
            "trial": ("trial_name",),
            "outcome": ("is_resolved", "reward", "verifier_result_reward", "verifier_result_rewards_reward"),
            "status": ("failure_mode", "exception_type", "exception_info_exception_type"),
        },
    ),
    Shape(
        "SWE-bench",
        (("instance_id",), ("resolved", "resolved_status", "outcome")),
        {
            "agent": ("agent", "submission", "model_name_or_path", "name", "folder", "model"),
            "task": ("instance_id",),
            "outcome": ("resolved", "resolved_status", "outcome"),
        },
    ),
)

SUCCESS, FAILURE, ERROR, INVALID, UNKNOWN = "success", "failure", "acceptance-error", "invalid", "unknown"

OUTCOMES: Mapping[str, str] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "pass", "passed", "success", "succeeded", "solved"), SUCCESS),
    **dict.fromkeys(("resolved", "correct", "c", "resolved_full", "accepted", "ok"), SUCCESS),
    **dict.fromkeys(("0", "0.0", "false", "no", "fail", "failed", "failure", "unsolved", "unresolved"), FAILURE),
    **dict.fromkeys(("incorrect", "i", "n", "wrong", "resolved_no", "resolved_partial", "rejected"), FAILURE),
    **dict.fromkeys(("acceptance-error", "acceptance_error", "error", "errored"), ERROR),
    **dict.fromkeys(("invalid", "void", "infrastructure"), INVALID),
    **dict.fromkeys(("", "none", "null", "nan", "na", "n/a", "unknown", "indeterminate", "?"), UNKNOWN),
}
"""What a word in the column of outcomes means, in lower case."""

FINISHED = frozenset(
    {"", "unset", "none", "null", "nan", "finished", "completed", "complete", "ok", "done", "submitted"}
)
"""Words of the column of ends that say nothing special."""
CAPPED = frozenset(
    {
        "agent_timeout",
        "timeout",
        "timed_out",
        "time_limit",
        "agenttimeouterror",
        "time",
        "working",
        "token",
        "message",
        "cost",
        "resource",
        "context_length_exceeded",
        "limits_exceeded",
        "limitsexceeded",
        "timeexceeded",
        "budget",
        "exit_cost",
    }
)
"""Words of the column of ends that say that a cap cut the agent short."""
BROKEN = frozenset({"agent_installation_failed", "environmentstarttimeouterror", "infrastructure", "setup_failed"})
"""Words of the column of ends that say that the machine failed before the agent could act."""

INSTANCE = re.compile(r"^([A-Za-z0-9_.-]+)__([A-Za-z0-9_.-]+)-\d+$")
"""A task of SWE-bench: owner, repository and a number."""


def plain(name: str) -> str:
    """A column's name as it is compared."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def shape_of(header: Sequence[str]) -> Shape | None:
    """The known kind of table that has this header."""
    names = [plain(name) for name in header]
    for shape in SHAPES:
        if all(any(_find(names, mark) for mark in group) for group in shape.marks):
            return shape
    return None


def usual_columns(header: Sequence[str], shape: Shape | None) -> dict[str, list[str]]:
    """For each role the columns that it may be: several if one name has several meanings."""
    names = [plain(name) for name in header]
    found: dict[str, list[str]] = {}
    for role in ROLES:
        for name in (*(shape.names.get(role, ()) if shape else ()), *USUAL[role]):
            places = _find(names, name)
            if places:
                found[role] = [header[place] for place in places]
                break
    return found


def repository_of(task: str) -> str:
    """The repository that a task of SWE-bench is about; empty for any other task."""
    match = INSTANCE.match(task)
    return f"{match[1]}/{match[2]}" if match else ""


def _find(names: Sequence[str], name: str) -> list[int]:
    if name.endswith("*"):
        return [place for place, have in enumerate(names) if have.startswith(name[:-1])]
    return [place for place, have in enumerate(names) if have == name]


MISSING = frozenset({"", "none", "null", "nan", "na", "n/a"})
"""Words that mean a missing value."""
THRESHOLD = re.compile(r"^>=\s*(-?\d+(?:\.\d+)?)$")


class Words:
    """The meaning of words, with the ``success``, ``unknown`` and ``timeout`` words that the caller gave.

    Once it is said what a success is, every other outcome that is known to mean success, or nothing, is a failure.
    """

    def __init__(
        self, success: tuple[str, ...] = (), unknown: tuple[str, ...] = (), timeout: tuple[str, ...] = ()
    ) -> None:
        for word in success:
            if word.strip().startswith((">", "<", "=")) and not THRESHOLD.match(word.strip()):
                raise UsageFault(f"{word!r} is not a threshold", hint="write it like --success '>=0.9'")
        self._success = frozenset(word.strip().lower() for word in success)
        thresholds = [float(match[1]) for word in success if (match := THRESHOLD.match(word.strip()))]
        self._threshold = min(thresholds) if thresholds else None
        self._unknown = frozenset(word.strip().lower() for word in unknown)
        self._timeout = frozenset(plain(word) for word in timeout)
        exact = [word for word in success if not THRESHOLD.match(word.strip())]
        self._unmet = {
            "outcome": {word.strip().lower(): word for word in (*exact, *unknown)},
            "status": {plain(word): word for word in timeout},
        }

    def unmet(self, role: str) -> tuple[str, ...]:
        """The words given for the column of a role that none of its cells was so far; a threshold need not be met."""
        return tuple(self._unmet[role].values())

    def outcome(self, cell: str) -> str:
        """The status that an outcome means; empty if its meaning is unknown."""
        word = cell.strip().lower()
        self._unmet["outcome"].pop(word, None)
        if word in self._unknown:
            return UNKNOWN
        if not self._success:
            return OUTCOMES.get(word, "")
        if word in self._success:
            return SUCCESS
        if self._threshold is not None and word not in MISSING:
            try:
                return SUCCESS if float(word) >= self._threshold else FAILURE
            except ValueError:
                return ""
        usual = OUTCOMES.get(word, FAILURE)
        return FAILURE if usual == SUCCESS else usual

    def end(self, cell: str) -> str:
        """What ended an attempt."""
        word = plain(cell)
        self._unmet["status"].pop(word, None)
        if word in self._timeout or word in CAPPED:
            return "resource"
        if word in BROKEN:
            return "infrastructure"
        return "finished" if word in FINISHED else "unknown"

    def tags(self, own: str, end: str) -> str:
        """The tags of an attempt: its own, and how it ended if that is known; sorted and joined."""
        found = {part.strip() for part in own.split(";")}
        if plain(end) not in FINISHED:
            found.add(end.strip().replace(";", ","))
        return ";".join(sorted(found - {""}))


OPTIONS = {"tokens_in": "--tokens", "tokens_out": "--tokens"}
"""The options whose name is not that of the role."""


@dataclass(frozen=True)
class Columns:
    """The columns of a file: the header, the column of each role, and what was noted while choosing."""

    header: tuple[str, ...]
    taken: Mapping[str, str]
    shape: str
    notes: tuple[Statement, ...]

    def place(self, role: str) -> int:
        """The position of the column of ``role``; -1 if there is none."""
        name = self.taken.get(role)
        return -1 if name is None else self.header.index(name)

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns that are not used."""
        taken = set(self.taken.values())
        return tuple(name for name in self.header if name and name not in taken)

    def others(self, role: str) -> list[str]:
        """Columns with a usual name for ``role`` that are not used."""
        taken = self.taken.values()
        return [name for name in self.header if plain(name) in USUAL[role] and name not in taken]


def choose(where: str, header: Sequence[str], given: Mapping[str, str]) -> Columns:
    """The columns to read from a file with this header; :class:`UsageFault` says everything that is wrong with it."""
    header = [unescape_cell(name).strip() for name in header]
    shape = shape_of(header)
    usual = usual_columns(header, shape)
    wrong = [f"two columns are called {name!r}" for name in sorted({n for n in header if n and header.count(n) > 1})]
    wrong += [f"there is no column {name!r} for {_option(role)}" for role, name in given.items() if name not in header]
    taken = dict(given)
    notes: list[Statement] = []
    for role in ROLES:
        if role in taken:
            continue
        names = [name for name in usual.get(role, ()) if name not in taken.values()]
        if len(set(names)) > 1:
            either = " and ".join(map(repr, names[:3]))
            wrong.append(f"{either} could each be the {role}; name it with {_option(role)} COLUMN")
        if names:
            taken[role] = names[0]
    if "agent" not in taken and "model" in taken:
        taken["agent"] = taken.pop("model")
        notes.append(statement("no-column-of-agents", column=taken["agent"]))
    if missing := [role for role in NEEDED if role not in taken]:
        asked = ", ".join(f"{_option(role)} COLUMN" for role in missing)
        wrong.append(f"no column looks like the {' or the '.join(missing)}; name it with {asked}")
    if wrong:
        raise UsageFault("\n".join(wrong), where=where, hint=f"the columns are: {', '.join(header)}")
    ordered = {role: taken[role] for role in ROLES if role in taken}
    return Columns(tuple(header), ordered, shape.name if shape else "", tuple(notes))


def _option(role: str) -> str:
    return OPTIONS.get(role, f"--{role}")
