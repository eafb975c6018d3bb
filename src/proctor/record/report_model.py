"""The report of a run, ``report.json``: its fields, and how a recorded report is read.

The judge computes it from the other files of the run directory. Amounts of money, seconds and shares are decimal
strings; ``evidence`` names events (``events.jsonl#12``) or files of the run directory.

Reports of schemas 1 and 2 lack the fields that were added later. They are read with the default of those fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from proctor.base.errors import BrokenSeal
from proctor.base.json_records import Amount, Key, NotARecord, Since, from_json, json_schema
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import REPORT

Evidence = Annotated[tuple[str, ...], "The events and files that show it."]


@dataclass(frozen=True, kw_only=True)
class ContractName:
    """A contract."""

    id: Annotated[str, "The content id: the digest of the resolved contract."]
    name: Annotated[str, "The name that the contract gives itself."]
    version: Annotated[str, "The first twelve digits of the content id."]


@dataclass(frozen=True, kw_only=True)
class AgentName:
    """An agent."""

    name: Annotated[str, "The name of the agent."]
    kind: Annotated[str, "The kind of the agent, such as command or patch."]
    digest: Annotated[str, "The digest of what identifies the agent."]


@dataclass(frozen=True, kw_only=True)
class Termination:
    """How the agent's work ended."""

    reason: Annotated[str, "finished, or why the agent stopped; empty if it never started."]
    exit_code: Annotated[int | None, "The exit code of the agent, if it had one.", Since(1, nullable=True)] = None
    code: Annotated[str | None, "The rule that ended the run early; null if none did."]
    rationale: Annotated[str | None, "Why the rule ended the run."] = None
    evidence: Annotated[tuple[str, ...] | None, "The event that ended the run."] = None


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """What was done about an alert."""

    action: Annotated[str, "What was done, such as pause or terminate."]
    alert: Annotated[str, "The event of the alert."]
    evidence: Annotated[str, "The event of the intervention."]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """What a study counts."""

    success: Annotated[bool, "Whether every gate passed and the run is valid."]
    scorable: Annotated[bool, "Whether the run has a verdict; invalid runs have none."]


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The verdict of one of the four gates."""

    id: Annotated[str, "G1, G2, G3 or G4."]
    name: Annotated[str, "What the gate is about."]
    passed: Annotated[bool, "Whether the run passed the gate."]
    why: Annotated[str, "Why it passed or not."]
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class ScoreParts:
    """The parts of the graded score, each from 0 to 1."""

    minimality: Annotated[Amount, "How small the patch is."]
    trace: Annotated[Amount, "1 if everything is recorded that reproduces the result."]
    maintainability: Annotated[Amount, "The share of maintainability checks that passed."]


@dataclass(frozen=True, kw_only=True)
class ScoreRubric:
    """The weights that the contract gives to the parts of the graded score."""

    rate: Annotated[Amount, "How fast minimality falls with the distance.", Key("lambda")]
    distance: Annotated[int, "The size of the patch."]
    distance_unit: Annotated[str, "The unit of the distance."]
    weights: Annotated[ScoreParts, "The weight of each part."]
    maintainability_checks: Annotated[tuple[str, ...], "The checks that count for maintainability."]


@dataclass(frozen=True, kw_only=True)
class GradedScore:
    """The graded score of a success."""

    value: Annotated[Amount, "The weighted sum of the parts, from 0 to 1."]
    parts: ScoreParts
    rubric: ScoreRubric


@dataclass(frozen=True, kw_only=True)
class ContractScore:
    """The contract score: acceptance and validity, less a penalty for violations."""

    value: Annotated[Amount, "The score."]
    parts: Annotated[Mapping[str, Amount], "The weighted parts: ok, validity and violations."]
    validity: Annotated[Mapping[str, bool], "Each condition of validity, and whether it holds."]
    violations: Annotated[int, "The number of different violations of the policy, those of size excepted."]


@dataclass(frozen=True, kw_only=True)
class PilotScore:
    """The score by the rubric of pilots."""

    value: Annotated[Amount | None, "The weighted sum of the parts; null if no resource was measured."]
    parts: Annotated[Mapping[str, Amount], "correctness, validity, safety and, if measured, efficiency."]
    unused: Annotated[Mapping[str, Amount], "The share of each budget that was left."]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Two scores of a run with a verdict."""

    rubric: Annotated[str, "The digest of the weights."]
    contract: ContractScore
    pilot: PilotScore


@dataclass(frozen=True, kw_only=True)
class CheckAttempt:
    """One attempt of a check."""

    tree: Annotated[str, "patched, or base for a repetition without the patch."]
    attempt: Annotated[int, "The number of the attempt on this tree, from 1."]
    outcome: Annotated[str, "pass, fail or error."]
    reason: Annotated[str, "What decided the outcome, such as exit-code or tests."]
    sentinels: Annotated[str, "What the sentinels showed about the results: genuine, forged or none."]
    tests: Annotated[Mapping[str, int], "The number of tests for each result."]
    failing: Annotated[tuple[str, ...], "The first test ids that did not pass."]
    observed_seconds: Annotated[Amount, "How long the attempt took."]
    evidence: Annotated[str, "The event of the attempt."]


@dataclass(frozen=True, kw_only=True)
class InvertedTests:
    """What runs with inverted tests showed about a check."""

    rounds: Annotated[int, "The number of runs with altered tests."]
    variants: Annotated[int, "The number of altered tests that must fail."]
    controls: Annotated[int, "The number of altered tests that must still pass."]
    tests: Annotated[int, "The number of tests that have variants."]
    without: Annotated[tuple[str, ...], "The first tests without a variant."]
    without_count: Annotated[int, "The number of tests without a variant."]
    problem: Annotated[str, "Why there are too few variants; empty if there are enough."]
    evidence: Annotated[tuple[str, ...], "The events of the rounds."]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a check of the contract decided."""

    id: Annotated[str, "The id of the check."]
    gate: Annotated[str, "build, static or acceptance."]
    layer: Annotated[str, "The layer of tests, such as unit; empty if the contract names none."]
    mandatory: Annotated[bool, "Whether the gate depends on the check."]
    outcome: Annotated[str, "pass, fail, error, blocked or undecided."]
    reason: Annotated[str, "What decided the outcome, such as exit-code or tests."]
    detail: Annotated[str, "More about the reason."]
    attribution: Annotated[str, "Who caused an error: `agent`, `harness` or `nobody`."]
    rule: Annotated[str, "How the attempts decide: all, majority or any."]
    flagged: Annotated[bool, "Whether not all attempts have to agree."]
    forgeable: Annotated[bool, "Whether code under test could write the results itself."]
    attempts: Annotated[tuple[CheckAttempt, ...], "Every attempt that counts, in order."]
    evidence: Evidence
    inverted: Annotated[
        InvertedTests | None, "What inverted tests showed; null if none ran.", Since(3, nullable=True)
    ] = None

    @property
    def failing(self) -> tuple[str, ...]:
        """The test ids that did not pass in the last attempt on the patched tree."""
        patched = [one for one in self.attempts if one.tree == "patched"]
        return patched[-1].failing if patched else ()


@dataclass(frozen=True, kw_only=True)
class PatchSize:
    """The patch in numbers."""

    sha256: Annotated[str, "The digest of workspace/final.patch."]
    bytes: Annotated[int, "The size of the patch."]
    files: Annotated[int, "The number of changed files."]
    added_lines: Annotated[int, "The number of added lines."]
    deleted_lines: Annotated[int, "The number of deleted lines."]
    counted_lines: Annotated[int, "The number of changed lines without those of added tests."]
    dropped: Annotated[int, "The number of changes that are not part of the patch."]
    final_tree: Annotated[str, "The digest of the patched tree."]


@dataclass(frozen=True, kw_only=True)
class RestoredFile:
    """A file that the judge restored before the checks."""

    path: Annotated[str, "The path of the file."]
    why: Annotated[str, "Why it was restored."]
    check: Annotated[str | None, "The check whose hidden file replaced it."] = None


@dataclass(frozen=True, kw_only=True)
class TagRecord:
    """What kind of thing went wrong, by the taxonomy."""

    id: Annotated[str, "The tag."]
    gate: Annotated[str, "The gate that it explains; empty if none."]
    evidence: Evidence
    format: Annotated[str | None, "The format in which the cause was given; empty if unknown."] = None
    segments: Annotated[tuple[str, ...] | None, "The events with the exact text of the cause."] = None


@dataclass(frozen=True, kw_only=True)
class Indicator:
    """Something about the run that a human should look at."""

    kind: Annotated[str, "The kind, such as security, secret or churn."]
    id: Annotated[str, "The rule."]
    about: Annotated[str, "What the rule is about."]
    count: Annotated[int, "How often it was found."]
    evidence: Annotated[tuple[str, ...], "The first places."]


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One sentence about a failure."""

    text: Annotated[str, "The sentence."]
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Interpretation:
    """A short account of a failure, derived by fixed rules."""

    label: Annotated[str, "That it is an interpretation."]
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """Where the run departs from the planned protocol."""

    id: Annotated[str, "What departs, such as seed, model or isolation."]
    message: Annotated[str, "How it departs."]
    evidence: Annotated[str | None, "The event that shows it."] = None


@dataclass(frozen=True, kw_only=True)
class ReplayReason:
    """Why a run cannot be replayed."""

    why: Annotated[str, "The reason."]
    evidence: Annotated[str, "The event or file that shows it."]


@dataclass(frozen=True, kw_only=True)
class Replayability:
    """Whether the run can be repeated from its records."""

    replayable: Annotated[bool, "Whether it can."]
    reasons: Annotated[tuple[ReplayReason, ...], "Every reason why not."]
    assumed: Annotated[tuple[str, ...], "What is assumed."]


@dataclass(frozen=True, kw_only=True)
class Comparability:
    """What must be equal before two runs are compared."""

    repository: Annotated[str, "The digest of the repository's identity."]
    contract: Annotated[str, "The content id of the contract."]
    configuration: Annotated[str, "The digest of sandbox, environment, limits, seeds, harness and configuration."]
    group: Annotated[str, "The digest of the three: comparable runs have the same one.", Key("class")]


@dataclass(frozen=True, kw_only=True)
class EventCounts:
    """The trace in numbers."""

    count: Annotated[int, "The number of events."]
    head: Annotated[str, "The hash of the last event."]
    by_type: Annotated[Mapping[str, int], "The number of events of each type."]


@dataclass(frozen=True, kw_only=True)
class Durations:
    """How long the parts of a run took, in seconds."""

    wall_seconds: Annotated[Amount, "From the first event to the last."]
    agent_seconds: Annotated[Amount, "The time of the agent, without the time it was paused."]
    tool_seconds: Annotated[Amount, "The time of commands in the sandbox."]
    tool_cpu_seconds: Annotated[Amount, "The processor time of commands in the sandbox."]
    check_seconds: Annotated[Amount, "The time of checks."]
    waited_for_provider_seconds: Annotated[Amount | None, "The time in which the model's provider was silent."] = None
    inverted_seconds: Annotated[Amount, "The time of checks with inverted tests.", Since(3)] = "0.000"


@dataclass(frozen=True, kw_only=True)
class PhaseCost:
    """The cost of one phase, in the currency of the method."""

    model: Annotated[Amount, "Calls of language models."]
    execution: Annotated[Amount, "Use of the machine."]
    overhead: Annotated[Amount, "Fixed costs."]
    human: Annotated[Amount, "Work of people."]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the run cost."""

    method: Annotated[str, "The price table or schedule."]
    usd: Annotated[Amount | None, "The cost in dollars; null if the method has other units."]
    units: Annotated[Amount | None, "The cost in the units of the schedule; null if it is in dollars."]
    observed_usd: Annotated[Amount | None, "The cost that the provider reported, if it did."]
    phases: Annotated[Mapping[str, PhaseCost], "The cost of each phase."]
    evidence: Annotated[str, "The event with all items."]


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the run used."""

    tool_calls: Annotated[int, "Commands that the harness ran in the sandbox."]
    agent_calls: Annotated[int | None, "Calls that the agent made.", Since(1)] = None
    test_cycles: Annotated[int | None, "Runs of tests while the agent acted.", Since(1)] = None
    programs: Annotated[int | None, "Programs that started.", Since(1)] = None
    check_attempts: Annotated[int, "Attempts of checks."]
    tokens: Annotated[int | None, "Tokens in and out; null without a model."]
    cost: Annotated[Cost | None, "The cost; null if it was not computed."]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The tokens of a conversation."""

    input: Annotated[int, "Tokens given to models."]
    output: Annotated[int, "Tokens that models gave."]
    estimated_calls: Annotated[int, "Calls whose tokens were estimated."]


@dataclass(frozen=True, kw_only=True)
class RefusalText:
    """The text by which a refusal was noticed."""

    by: Annotated[str, "provider if the provider marks it, or phrase."]
    words: Annotated[str, "The beginning of the refusal."]
    rules: Annotated[str, "The version of the rules."]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An answer in which the model refused."""

    why: RefusalText
    evidence: Annotated[str, "The event of the answer."]


@dataclass(frozen=True, kw_only=True)
class ProgramMatch:
    """A program and the tool call that it comes from."""

    tool_call: Annotated[str, "The event of the call."]
    program: Annotated[str, "The event of the program."]
    how: Annotated[str, "What the match is based on."]


@dataclass(frozen=True, kw_only=True)
class UnmatchedProgram:
    """A program without a tool call."""

    argv: Annotated[tuple[str, ...], "Its command line, shortened."]
    evidence: Annotated[str, "The event of the program."]


@dataclass(frozen=True, kw_only=True)
class Programs:
    """The programs that started, by what their cause is based on."""

    words: Annotated[int, "Matched by the text of a tool call."]
    descent: Annotated[int, "Started by a matched program."]
    order: Annotated[int, "Matched by their order."]
    unmatched: Annotated[int, "Without a match."]
    tool_calls_without: Annotated[int, "Tool calls without a program."]
    matches: Annotated[tuple[ProgramMatch, ...], "The first matches."]
    without_cause: Annotated[tuple[UnmatchedProgram, ...], "The first programs without a match."]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The conversation with language models in numbers."""

    calls: Annotated[int, "Calls of models."]
    retries: Annotated[int, "Calls that repeat a failed one."]
    messages: Annotated[Mapping[str, int], "Messages by role."]
    models: Annotated[Mapping[str, int], "Calls by the model that was asked for."]
    dialects: Annotated[Mapping[str, int], "Calls by protocol."]
    tokens: Tokens
    tools: Annotated[Mapping[str, int], "Tool calls by the name of the tool."]
    tool_calls: Annotated[int, "Tool calls that models asked for."]
    refusals: Annotated[tuple[Refusal, ...], "The first answers in which a model refused."]
    refused: Annotated[Mapping[str, int], "Requests that the gateway refused, by code."]
    errors: Annotated[Mapping[str, int], "Failed calls by class."]
    words: Annotated[Mapping[str, int], "Hits of rules on words, by format."]
    outage: Annotated[str | None, "How the provider or the set-up failed; null if it did not."]
    outage_class: Annotated[str | None, "The class of the outage."] = None
    programs: Programs
    evidence: Annotated[tuple[str, ...], "The event that closed the gateway."]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The report of a run: status, gates, checks and scores, computed from the other files of the run directory."""

    schema: Annotated[int, "The version of this form."]
    kind: Annotated[str, "What the record is."]
    run: Annotated[str, "The id of the run."]
    contract: Annotated[ContractName, "The contract."]
    agent: Annotated[AgentName, "The agent."]
    model: Annotated[str, "The model that was asked for; empty if none.", Since(1)] = ""
    replay_of: Annotated[str | None, "The run whose recorded answers this one repeats."] = None
    retry_of: Annotated[str | None, "The invalid run that this one repeats."] = None
    attempt: Annotated[int | None, "Which attempt this is, if it repeats an invalid run."] = None
    status: Annotated[str, "success, failure, acceptance-error or invalid."]
    attribution: Annotated[str, "Who caused the status: `agent`, `harness` or `nobody`."]
    problems: Annotated[tuple[str, ...], "Why the run is invalid."]
    termination: Termination
    interventions: Annotated[tuple[Intervention, ...], "What was done about alerts, in order.", Since(1)] = ()
    alerts: Annotated[Mapping[str, int], "The number of alerts by code.", Since(1)] = field(default_factory=dict)
    endpoint: Endpoint
    gates: Annotated[tuple[Gate, ...], "The four gates in order."]
    score: Annotated[GradedScore | None, "The graded score of a success; null for other runs."]
    scores: Annotated[
        Scores | None, "Two scores of a run with a verdict; null if it has none.", Since(1, nullable=True)
    ] = None
    checks: Annotated[tuple[CheckResult, ...], "The checks of the contract."]
    patch: PatchSize
    restored: Annotated[tuple[RestoredFile, ...], "Files that the judge restored before the checks."]
    tags: Annotated[tuple[TagRecord, ...], "What kinds of things went wrong."]
    taxonomy: Annotated[str, "The digest of the taxonomy of tags.", Since(1)] = ""
    rules: Annotated[str, "The digest of the rules that the report was computed by.", Since(3)] = ""
    indicators: Annotated[tuple[Indicator, ...], "What a human should look at.", Since(1)] = ()
    interpretation: Annotated[
        Interpretation | None, "An account of a failure; null if no check failed.", Since(1, nullable=True)
    ] = None
    deviations: Annotated[tuple[Deviation, ...], "Where the run departs from the planned protocol."]
    replayable: Annotated[Replayability | None, "Whether the run can be repeated from its records.", Since(1)] = None
    comparability: Comparability
    events: EventCounts
    durations: Durations
    usage: Usage
    conversation: Annotated[Conversation | None, "The conversation; null without a model.", Since(1, nullable=True)] = (
        None
    )
    evidence: Annotated[tuple[str, ...], "The files that the report is computed from."]

    @property
    def success(self) -> bool:
        """Whether every gate passed and nothing put the verdict in doubt."""
        return self.status == "success"

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost in dollars; ``None`` if the run was not metered in dollars."""
        return _decimal(self.usage.cost.usd) if self.usage.cost else None

    @property
    def cost_units(self) -> Decimal | None:
        """The cost in units of the fallback schedule; ``None`` if it was metered in dollars."""
        return _decimal(self.usage.cost.units) if self.usage.cost else None

    @property
    def agent_seconds(self) -> Decimal:
        """How long the agent acted."""
        return Decimal(self.durations.agent_seconds)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def read_report(run: RunDirectory) -> Report:
    """The report of ``run``; :class:`BrokenSeal` if the file is not a report."""
    return report_from(run.read_json(run.report), run.name(run.report))


def report_from(data: Any, where: str = "report.json") -> Report:
    """The report that parsed JSON holds; :class:`BrokenSeal` names ``where`` otherwise."""
    try:
        return from_json(Report, data)
    except NotARecord as error:
        raise BrokenSeal(f"is not a report as Proctor writes it: {error}", where=where) from None


def report_schema(schema: int = REPORT.schema) -> dict[str, Any]:
    """The JSON Schema of a report in the form of ``schema``."""
    return json_schema(Report, "report", "report.json", schema, kind=REPORT.kind)
