"""The protocol of a pilot, ``protocol.json``: its keys, their types, and what they mean.

The protocol is fixed before the first run and never changed; an amendment writes another one. Shares and amounts of
money are decimal text. Paths are not in it: contracts, patches and scripts are named by their digests.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from proctor.base.json_records import Amount, json_schema


class ProtocolName(TypedDict):
    """What the pilot is called."""

    name: Annotated[str, "The name of the pilot."]
    title: Annotated[str, "The title of its report."]
    question: Annotated[str, "The question that it answers."]


class ProtocolMethod(TypedDict):
    """A method: an agent with its model and settings."""

    name: Annotated[str, "The name of the method."]
    agent: Annotated[str, "The agent."]
    model: Annotated[str, "The model; empty for none."]
    endpoint: Annotated[str, "The endpoint of the model; empty for the provider's."]
    dialect: Annotated[str, "The protocol of the endpoint; empty for the provider's."]
    script: Annotated[str, "The digest of the script of a scripted model; empty for none."]
    provider_tools: Annotated[str, "strip, refuse or allow tools that the provider runs."]
    unknown_fields: Annotated[str, "strip, refuse or pass fields that the gateway does not know."]
    output_tokens: Annotated[int, "The most tokens of an answer; 0 for no limit."]
    configuration: Annotated[Mapping[str, str], "Declared parts of the configuration."]
    baseline: Annotated[bool, "Whether it is one of Proctor's own baselines."]
    digest: Annotated[str, "The digest of the agent; empty if it is not known before the run."]
    options: NotRequired[Annotated[Mapping[str, str], "The options of the agent."]]


class ProtocolComparison(TypedDict):
    """The main comparison."""

    candidate: Annotated[str, "The method that may be adopted."]
    against: Annotated[str, "The method that it is compared with."]


class ProtocolBaselines(TypedDict):
    """The baselines."""

    noop: Annotated[bool, "Whether tasks are run without a change."]
    reference: Annotated[bool, "Whether tasks are run with the known solution."]
    human: Annotated[bool, "Whether tasks are run with a person's solution."]
    human_minutes: Annotated[Amount, "The minutes that a person needs for a task."]


class ProtocolTask(TypedDict):
    """A task."""

    name: Annotated[str, "The name of the contract."]
    contract: Annotated[str, "The content id of the contract."]
    kind: Annotated[str, "The kind of task."]
    strata: Annotated[Mapping[str, str], "The labels by which tasks are stratified."]
    labels: Annotated[Mapping[str, str], "All labels of the task."]
    stratum: Annotated[str, "The stratum of the task."]
    human_patch: Annotated[str, "The digest of a person's patch; empty for none."]
    caps: Annotated[Mapping[str, int | str | None], "The limits of a run; null for none."]


class ProtocolSeeds(TypedDict):
    """The seeds of the randomised order."""

    planned: Annotated[int, "The usual seed."]
    observed: Annotated[int, "The seed of this pilot."]
    framework: Annotated[str, "The generator of random numbers."]


class ProtocolBudgets(TypedDict):
    """Spending limits in dollars."""

    pilot_usd: Annotated[Amount, "The limit of the pilot."]
    task_usd: Annotated[Amount | None, "The limit of a task; null for none."]
    run_usd: Annotated[Amount | None, "The limit of a run; null for that of the contract."]


class ProtocolPrices(TypedDict):
    """The price table."""

    id: Annotated[str, "The id of the table or schedule."]
    currency: Annotated[str, "usd or unit."]
    digest: Annotated[str, "The digest of the table or schedule."]


class ProtocolEndpoints(TypedDict):
    """What is measured."""

    primary: Annotated[str, "The primary endpoint."]
    secondary: Annotated[list[str], "The secondary endpoints."]


class ProtocolUsage(TypedDict):
    """The assumed usage of a run."""

    requests: Annotated[int, "Requests to the model."]
    tokens_in: Annotated[int, "Tokens given to the model."]
    tokens_out: Annotated[int, "Tokens that the model gives."]
    tokens_cached: NotRequired[Annotated[int, "Those of the given tokens that are read from a cache."]]
    tool_calls: Annotated[int, "Tool calls."]
    seconds: Annotated[int, "The time of the agent."]
    judge_seconds: Annotated[int, "The time of the checks."]
    review_minutes: Annotated[Amount, "The minutes of a review."]


class ProtocolAssumptions(TypedDict):
    """What the plan assumes."""

    rate: Annotated[Amount, "The success rate of the weaker method."]
    icc: Annotated[list[Amount], "Correlations of two runs of a method on a task."]
    correlation: Annotated[list[Amount], "Correlations of the rates of two methods over tasks."]
    invalid: Annotated[Amount, "The share of invalid runs."]
    usage: Annotated[ProtocolUsage | None, "The usage of a run; null if none is assumed."]
    low: Annotated[Amount, "The usage at least, as a factor."]
    high: Annotated[Amount, "The usage at most, as a factor."]


class ProtocolFlakes(TypedDict):
    """How tasks are screened for flaky checks."""

    tolerance: Annotated[Amount, "The share of attempts that may deviate."]
    runs: Annotated[int, "The attempts of each check."]


class ProtocolAdjudication(TypedDict):
    """How repeated runs are judged together."""

    rule: Annotated[str, "The rule."]
    reruns: Annotated[int, "The number of repetitions."]


class ProtocolStage(TypedDict):
    """One stage."""

    tasks: Annotated[int, "The number of tasks."]
    runs: Annotated[int, "The runs of each method on each task, counted from the beginning."]


class ProtocolStages(TypedDict):
    """The three stages."""

    one: ProtocolStage
    two: ProtocolStage
    three: ProtocolStage


class ProtocolStopping(TypedDict):
    """When the pilot ends early."""

    violations: Annotated[int, "The number of violations that is a systematic safety issue."]
    looks: Annotated[list[Amount], "The shares of the plan at which efficacy is tested."]


class ProtocolVariation(TypedDict):
    """How a repeat differs from the others."""

    name: Annotated[str, "The name of the variation."]
    seed: Annotated[int | None, "A seed for the agent; null for the contract's."]
    preface: Annotated[str, "The digest of a text before the task; empty for none."]


class Protocol(TypedDict):
    """The protocol of a pilot: everything that is fixed before the first run."""

    schema: Annotated[int, "The version of this form."]
    kind: Annotated[str, "What the record is."]
    pilot: ProtocolName
    methods: Annotated[list[ProtocolMethod], "The methods, baselines included."]
    comparison: Annotated[ProtocolComparison | None, "The main comparison; null if there is one method."]
    baselines: ProtocolBaselines
    tasks: Annotated[list[ProtocolTask], "The tasks."]
    strata: Annotated[list[str], "The names of the labels by which tasks are stratified."]
    runs_per_task: Annotated[int, "The runs of each method on each task."]
    seeds: ProtocolSeeds
    budgets: ProtocolBudgets
    prices: ProtocolPrices
    endpoints: ProtocolEndpoints
    minimum_effect: Annotated[Amount, "The smallest difference that matters."]
    alpha: Annotated[Amount, "The level of the tests."]
    power: Annotated[Amount, "The wanted power."]
    assumed: ProtocolAssumptions
    flakes: ProtocolFlakes
    adjudication: ProtocolAdjudication
    stages: ProtocolStages
    stopping: ProtocolStopping
    retries: Annotated[int, "How often an invalid run is repeated."]
    variations: NotRequired[Annotated[list[ProtocolVariation], "How repeats differ."]]
    deviations: NotRequired[Annotated[list[str], "Departures from the usual design, as sentences."]]
    artefacts: Annotated[Mapping[str, str], "The digest of each file that follows from the protocol."]


def protocol_schema(schema: int = 1) -> dict[str, Any]:
    """The JSON Schema of a protocol in the form of ``schema``."""
    return json_schema(Protocol, "protocol", "protocol.json", schema, kind="proctor.pilot")
