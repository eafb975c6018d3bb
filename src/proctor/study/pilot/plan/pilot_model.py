"""The content of a pilot file, as frozen data.

Paths stay as they were written; :func:`located` turns one into a path on this machine. Amounts and shares are decimal
texts. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PLANNED_SEED = 20260307
"""The seed of the protocol; any other one is a deviation that every report shows."""

BASELINES = ("noop", "reference", "human")
PRIMARY = ("success",)
SECONDARY = ("score", "contract_score", "cost_usd", "seconds", "tokens", "error", "invalid", "pass_at_k", "all_of_k")
RULES = ("majority", "all")
STAGES = ("one", "two", "three")
PREFACE_BYTES = 16 << 10


@dataclass(frozen=True)
class Method:
    """One thing that is compared: an agent as ``proctor run --agent`` names it, its model and its settings.

    ``configuration`` describes settings of the agent itself (temperature, tools); it is declared and shown, and has no
    effect by itself. ``agent_file`` is the path of the agent file, if the method names one; then ``agent`` and
    the model are those of that file. ``line`` and ``column`` are the place of the agent in the pilot file.
    """

    name: str
    agent: str
    model: str = ""
    endpoint: str = ""
    key_env: str = ""
    key_file: str = ""
    dialect: str = ""
    script: str = ""
    provider_tools: str = "strip"
    unknown_fields: str = "strip"
    output_tokens: int = 0
    files: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    baseline: bool = False
    line: int = 0
    column: int = 0
    agent_file: str = ""


@dataclass(frozen=True)
class Comparison:
    """The two methods that the question is about."""

    candidate: str
    against: str


@dataclass(frozen=True)
class Baselines:
    """The baselines on every task: no change, the known solution, a patch that a person made.

    ``human_minutes`` is what a person spent on one task; it is budgeted as human cost.
    """

    noop: bool = True
    reference: bool = True
    human: bool = False
    human_minutes: str = "0"


@dataclass(frozen=True)
class Task:
    """One contract of the suite, by its path; ``strata`` add to the contract's own labels, or replace them.

    ``line`` and ``column`` are its place in the pilot file.
    """

    contract: str
    strata: Mapping[str, str] = field(default_factory=dict)
    human_patch: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class Budgets:
    """Envelopes in dollars; ``None`` is only the contract's own."""

    pilot_usd: str
    task_usd: str | None = None
    run_usd: str | None = None


@dataclass(frozen=True)
class Endpoints:
    """The endpoint that decides, and the others that are reported."""

    primary: str = "success"
    secondary: tuple[str, ...] = ("score", "cost_usd", "seconds")


@dataclass(frozen=True)
class Usage:
    """What one run of an agent is assumed to use; people's minutes are an average over all runs.

    ``tokens_cached`` are those of ``tokens_in`` that are read from a cache.
    """

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tool_calls: int = 0
    seconds: int = 0
    judge_seconds: int = 0
    review_minutes: str = "0"
    tokens_cached: int = 0


@dataclass(frozen=True)
class Assumed:
    """The assumptions of the plan. ``low`` and ``high`` multiply the usage for the ends of the projection.

    ``icc`` correlates two runs of one method on one task, ``correlation`` the rates of two methods over tasks; a plan
    must have enough power under the worst of each.
    """

    rate: str = "0.5"
    icc: tuple[str, ...] = ("0.2", "0.4", "0.6")
    correlation: tuple[str, ...] = ("0", "0.5")
    invalid: str = "0"
    usage: Usage | None = None
    low: str = "0.5"
    high: str = "2"


@dataclass(frozen=True)
class Flakes:
    """The share of attempts at a check that may deviate on one tree, and the number of attempts."""

    tolerance: str = "0"
    runs: int = 5


@dataclass(frozen=True)
class Adjudication:
    """How repeated judgements of one run decide; the same for every method."""

    rule: str = "all"
    reruns: int = 1


@dataclass(frozen=True)
class Stages:
    """How far each stage goes: stage one has ``one_tasks`` tasks, the others all of them.

    Runs are counted from the beginning: a task has ``two_runs`` runs of each method when stage two is over, those of
    stage one included. Stage three brings all of them to ``runs_per_task``. No tasks is one from every stratum.
    """

    one_tasks: int = 0
    one_runs: int = 1
    two_runs: int = 1


@dataclass(frozen=True)
class Variation:
    """How a repeat differs from the others, for every method alike: another seed, or a text before the task.

    Repeats take the variations in turn. Fields that are left out are those of the contract.
    """

    name: str
    seed: int | None = None
    preface: str = ""


@dataclass(frozen=True)
class Stopping:
    """When a pilot ends early.

    ``violations`` of one kind, or by one method, are a systematic safety issue. ``looks`` are the shares of the plan
    after which efficacy is looked at, by alpha spending, symmetric; without shares there is no such rule.
    """

    violations: int = 3
    looks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pilot:
    """A whole pilot file."""

    file: Path
    name: str
    title: str
    question: str
    methods: tuple[Method, ...]
    tasks: tuple[Task, ...]
    budgets: Budgets
    minimum_effect: str
    comparison: Comparison | None = None
    baselines: Baselines = Baselines()
    strata: tuple[str, ...] = ()
    runs_per_task: int = 3
    seed: int = PLANNED_SEED
    prices: str = ""
    endpoints: Endpoints = Endpoints()
    alpha: str = "0.05"
    power: str = "0.8"
    assumed: Assumed = Assumed()
    flakes: Flakes = Flakes()
    adjudication: Adjudication = Adjudication()
    stages: Stages = Stages()
    stopping: Stopping = Stopping()
    retries: int = 1
    variations: tuple[Variation, ...] = ()

    @property
    def arms(self) -> tuple[Method, ...]:
        """Every method that runs: those that are compared, then the baselines."""
        wanted = self.baselines
        given = {"noop": wanted.noop, "reference": wanted.reference, "human": wanted.human}
        made = (Method(name, "" if name == "human" else name, baseline=True) for name in BASELINES if given[name])
        return (*self.methods, *made)

    def method(self, name: str) -> Method:
        """The arm of this name."""
        return next(arm for arm in self.arms if arm.name == name)


def located(pilot: Pilot, path: str) -> Path:
    """A path of the pilot file, on this machine."""
    return Path(pilot.file.parent, path)


def agent_words(pilot: Pilot, method: Method, task: Task) -> str:
    """The value of ``--agent`` for one task; a patch or an agent file is named by its full path."""
    if method.agent_file:
        return str(located(pilot, method.agent_file).absolute())
    if method.name == "human" and method.baseline:
        return f"patch:{located(pilot, task.human_patch).absolute()}"
    kind, _, argument = method.agent.partition(":")
    return f"patch:{located(pilot, argument).absolute()}" if kind == "patch" and argument else method.agent


def agent_files(pilot: Pilot, method: Method) -> str:
    """The directory that the agent finds at /agent, by its full path; empty for none."""
    return str(located(pilot, method.files).absolute()) if method.files else ""


def model_settings(pilot: Pilot, method: Method) -> dict[str, str]:
    """The options of the method's model as a batch keeps them, with full paths; nothing without a model."""
    if not method.model:
        return {}
    names = "endpoint", "key_env", "dialect", "provider_tools", "unknown_fields"
    kept = {name: getattr(method, name) for name in names}
    paths = {name: getattr(method, name) for name in ("key_file", "script")}
    kept |= {name: str(located(pilot, path).absolute()) for name, path in paths.items() if path}
    kept |= {"output_tokens": str(method.output_tokens or "")}
    return {name: text for name, text in kept.items() if text}
