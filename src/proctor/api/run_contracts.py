"""Contracts: load them, validate them, and let agents attempt them, in one run or in a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from proctor.api.arguments import (
    MOST_JOBS,
    MOST_JUDGE_SLOTS,
    MOST_OUTPUT_TOKENS,
    MOST_REPEATS,
    MOST_RETRIES,
    MOST_TIMES,
    MOST_WAIT_SECONDS,
    AnyHome,
    machine_of,
    require_choice,
    require_count,
    require_dollars,
    require_several,
)
from proctor.api.recorded_runs import Run
from proctor.author.validation import Validation, validate_contracts
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.conduct.batch.batch_record import RETRIES
from proctor.conduct.batch.batch_runs import BatchResult, BatchWatcher
from proctor.conduct.session.agent_selection import kept_agent_options
from proctor.conduct.session.batch_plan import begin_batch, fill, matrix_of, reopen_batch
from proctor.conduct.session.model_options import REDACTIONS, kept_options
from proctor.contract.load import load_contract as load
from proctor.contract.model import Contract
from proctor.execute.agents.options import EFFORTS
from proctor.record.run_directory import RunDirectory
from proctor.record.run_store import RunStore

AnyContract = Contract | Path | str
"""A loaded contract, or the path of its directory or file."""


@dataclass(frozen=True)
class AgentOptions:
    """What agents are configured with; the same as the options of ``proctor run``. Empty values are not set."""

    name: str = ""
    """What manifests and reports call the agent."""
    effort: str = ""
    """minimal, low, medium or high."""
    temperature: Decimal | None = None
    small_model: str = ""
    rules: Sequence[str | Path] = ()
    """Files of instructions, such as an AGENTS.md."""
    skills: str | Path = ""
    """A directory of skills."""
    arguments: Sequence[str] = ()
    """More arguments of the agent's program."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelOptions:
    """How the models of a batch are reached; the same as the options of ``proctor run``. Empty values are not set."""

    endpoint: str = ""
    """The base URL of the provider, with any path and query."""
    key_env: str = ""
    """The variable that holds the key. The agent never gets it."""
    key_file: str | Path = ""
    dialect: str = ""
    """chat, responses, anthropic or gemini, if the agent must use this one."""
    script: str | Path = ""
    """The YAML of turns that answers for a model ``scripted/NAME``."""
    cassette: str = ""
    """A run whose recorded calls answer instead of a provider."""
    provider_tools: str = "strip"
    unknown_fields: str = "strip"
    output_tokens: int | None = None
    provider_wait: int | None = None
    redact: str = ""
    """spans or all."""
    secrets: str | Path = ""


@dataclass(frozen=True)
class BatchRuns:
    """The runs that a call made, one for each place of the batch that could be filled.

    ``errors`` are places without a run, each with the reason; ``skipped`` are places for which a spending limit left
    nothing. ``repeated`` are invalid runs in whose place another one was made.
    """

    id: str
    runs: tuple[Run, ...]
    repeated: tuple[Run, ...]
    errors: tuple[tuple[str, ProctorError], ...]
    skipped: tuple[tuple[str, ProctorError], ...]
    stopped: bool


def run(
    contract: AnyContract,
    agent: str,
    model: str = "",
    *,
    agent_files: str | Path = "",
    agent_options: AgentOptions | None = None,
    model_options: ModelOptions | None = None,
    prices: str | Path = "",
    home: AnyHome = None,
    watcher: BatchWatcher | None = None,
) -> Run:
    """Let ``agent`` attempt ``contract`` once. Whatever the verdict, the run is sealed and returned.

    ``agent`` is what ``proctor run --agent`` takes: ``reference``, ``command:PROGRAM``, the name of an installed agent
    or an agent file. A fault of the machine before the run begins is raised as :class:`~proctor.ProctorError`.
    """
    made = run_batch(
        [contract],
        [agent],
        [model] if model else (),
        agent_files=agent_files,
        agent_options=agent_options,
        model_options=model_options,
        prices=prices,
        home=home,
        watcher=watcher,
    )
    for _, error in (*made.errors, *made.skipped):
        raise error
    if not made.runs:
        raise InfrastructureFault("the watcher stopped the run before it began")
    return made.runs[0]


def run_batch(
    contracts: Sequence[AnyContract],
    agents: Sequence[str],
    models: Sequence[str] = (),
    *,
    repeats: int = 1,
    jobs: int = 1,
    judge_slots: int | None = None,
    agent_files: str | Path = "",
    agent_options: AgentOptions | None = None,
    model_options: ModelOptions | None = None,
    prices: str | Path = "",
    task_usd: Decimal | None = None,
    batch_usd: Decimal | None = None,
    retry_invalid: int = 0,
    home: AnyHome = None,
    watcher: BatchWatcher | None = None,
) -> BatchRuns:
    """Let every agent attempt every contract with every model, ``repeats`` times, ``jobs`` runs at a time.

    ``watcher`` gets reports during the runs and can stop them; see :class:`~proctor.BatchWatcher`.
    """
    require_several("contracts", contracts)
    require_several("agents", agents)
    if isinstance(models, str) or models:
        require_several("models", models)
    require_count("repeats", repeats, 1, MOST_REPEATS)
    require_count("jobs", jobs, 1, MOST_JOBS)
    require_count("retry_invalid", retry_invalid, 0, MOST_RETRIES)
    if judge_slots is not None:
        require_count("judge_slots", judge_slots, 1, MOST_JUDGE_SLOTS)
    require_dollars("task_usd", task_usd)
    require_dollars("batch_usd", batch_usd)
    machine = machine_of(home, judge_slots)
    matrix = matrix_of(agents, models, lambda text: None)
    settings = {
        **{name: text for name, text in (("prices", str(prices)), *_limits(task_usd, batch_usd)) if text},
        **kept_agent_options(_agent_values(agent_options or AgentOptions()), agents),
        **kept_options(_model_values(model_options or ModelOptions()), matrix, RunStore(machine.home.runs).find),
        **({RETRIES: str(retry_invalid)} if retry_invalid else {}),
    }
    paths = [contract.directory if isinstance(contract, Contract) else Path(contract) for contract in contracts]
    plan = begin_batch(machine, paths, agents, str(agent_files), repeats, jobs, models, settings)
    result = fill(machine, plan, jobs, watcher or BatchWatcher())
    return _made(plan.batch.id, result)


def resume_batch(batch: str = "", *, home: AnyHome = None, watcher: BatchWatcher | None = None) -> BatchRuns:
    """Make the runs that are left of a batch, by its id or the beginning of it; the newest batch without one."""
    machine = machine_of(home)
    plan = reopen_batch(machine, batch)
    result = fill(machine, plan, plan.jobs, watcher or BatchWatcher())
    return _made(plan.batch.id, result)


def _made(batch: str, result: BatchResult) -> BatchRuns:
    made = [Run(RunDirectory(outcome.directory)) for _, outcome in result.outcomes]
    again = {one.report.retry_of for one in made}
    return BatchRuns(
        batch,
        tuple(one for one in made if one.id not in again),
        tuple(one for one in made if one.id in again),
        tuple((place.contract, error) for place, error in result.errors),
        tuple((place.contract, error) for place, error in result.refused),
        result.stopped,
    )


def _limits(task_usd: Decimal | None, batch_usd: Decimal | None) -> tuple[tuple[str, str], ...]:
    amounts = (("task_usd", task_usd), ("batch_usd", batch_usd))
    return tuple((name, f"{usd:f}") for name, usd in amounts if usd is not None)


def _agent_values(options: AgentOptions) -> dict[str, object]:
    """The options as the command line has them."""
    require_choice("effort", options.effort, EFFORTS)
    return {
        "agent_name": options.name or None,
        "effort": options.effort or None,
        "temperature": "" if options.temperature is None else f"{options.temperature:f}",
        "small_model": options.small_model,
        "rules": tuple(map(str, options.rules)),
        "skills": str(options.skills),
        "agent_arg": tuple(options.arguments),
        "agent_env": tuple(f"{name}={value}" for name, value in options.environment.items()),
    }


def _model_values(options: ModelOptions) -> dict[str, object]:
    """The options as the command line has them."""
    require_choice("redact", options.redact, REDACTIONS)
    if options.output_tokens is not None:
        require_count("output_tokens", options.output_tokens, 1, MOST_OUTPUT_TOKENS)
    if options.provider_wait is not None:
        require_count("provider_wait", options.provider_wait, 1, MOST_WAIT_SECONDS)
    given = {
        name: (value,) if (value := str(getattr(options, name))) else ()
        for name in ("endpoint", "key_env", "key_file", "dialect")
    }
    return {
        **given,
        "script": str(options.script),
        "cassette": options.cassette,
        "provider_tools": options.provider_tools,
        "unknown_fields": options.unknown_fields,
        "output_tokens": options.output_tokens,
        "provider_wait": options.provider_wait,
        "redact": options.redact or None,
        "secrets": str(options.secrets),
    }


def load_contract(path: str | Path) -> Contract:
    """The contract at ``path``, a directory or the file in it.

    :class:`~proctor.ContractError` has every mistake in it, each with file, line and column.
    """
    return load(Path(path))


def validate(
    contracts: AnyContract | Sequence[AnyContract],
    *,
    times: int = 2,
    jobs: int = 1,
    home: AnyHome = None,
    watcher: BatchWatcher | None = None,
) -> Validation:
    """Run the no-op and the reference ``times`` each: the first must fail, the second must succeed."""
    several = [contracts] if isinstance(contracts, Contract | Path | str) else contracts
    require_several("contracts", several)
    require_count("times", times, 1, MOST_TIMES)
    require_count("jobs", jobs, 1, MOST_JOBS)
    paths = [one.directory if isinstance(one, Contract) else Path(one) for one in several]
    seen = watcher or BatchWatcher()
    return validate_contracts(machine_of(home), paths, times, jobs, lambda plan: nullcontext(seen))
