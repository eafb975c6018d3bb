"""The payload of each type of event: its keys, their types, and what they mean.

Keys that only some events have are ``NotRequired``. Durations are decimal strings of seconds, times are decimal strings
of nanoseconds. Text that comes from a sandbox is printable and bounded. An alert or an event is named by its number in
the trace, or as ``events.jsonl#NUMBER``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from proctor.base.json_records import Amount

Seconds = Annotated[Amount, "The duration."]
Nanoseconds = Annotated[str, "Nanoseconds since 1970."]
CheckId = Annotated[str, "The id of the check."]
ExitCode = Annotated[int, "The exit code."]
Command = Annotated[list[str], "The command line."]
Pid = Annotated[int, "The process id in the sandbox; 0 if unknown."]
Count = Annotated[int, "How often it happened since the event before."]
Call = Annotated[int, "The number of the call to a model."]
Index = Annotated[int, "The place of the message in the conversation."]
AlertNumber = Annotated[int, "The number of the event of the alert."]
Problem = Annotated[str, "Why it was not done; empty if it was."]
Code = Annotated[str, "The code of the finding."]
Phase = Annotated[str, "The part of the run, if it is not the agent's time."]
Signature = Annotated[str, "The signature of the operator; empty if there is none."]
Signer = Annotated[str, "The id of the operator's key; empty if there is none."]


class Stream(TypedDict):
    """What a program printed on one stream."""

    sha256: Annotated[str, "The digest of all of it."]
    bytes: Annotated[int, "The size of all of it."]
    prefix: Annotated[str, "The beginning."]


class ShownText(TypedDict):
    """A recorded text."""

    sha256: Annotated[str, "The digest of the text."]
    bytes: Annotated[int, "The size of the text."]
    text: NotRequired[Annotated[str, "The text, if it is short."]]
    prefix: NotRequired[Annotated[str, "The beginning of a longer text."]]
    blob: NotRequired[Annotated[str, "The file in blobs/ with a longer text."]]


class StoredText(TypedDict):
    """A text of a conversation, or the bytes of a request or an answer. Hidden texts have a keyed digest."""

    bytes: Annotated[int, "The size."]
    sha256: NotRequired[Annotated[str, "The digest."]]
    text: NotRequired[Annotated[str, "The text, if it is short."]]
    prefix: NotRequired[Annotated[str, "The beginning of a longer text."]]
    blob: NotRequired[Annotated[str, "The file in blobs/ with a longer text."]]
    hmac: NotRequired[Annotated[str, "The keyed digest of a hidden text."]]
    characters: NotRequired[Annotated[int, "The length of a hidden text."]]
    spans: NotRequired[Annotated[list[list[int]], "Where secrets were in the text."]]
    shown: NotRequired[Annotated[ShownText, "The text without the secrets."]]
    difference: NotRequired[Annotated["StoredDifference", "How a forwarded request differs from the original."]]


class StoredDifference(TypedDict):
    """The difference of two requests, as text."""

    bytes: Annotated[int, "The size."]
    sha256: NotRequired[Annotated[str, "The digest."]]
    text: NotRequired[Annotated[str, "The text, if it is short."]]
    prefix: NotRequired[Annotated[str, "The beginning of a longer text."]]
    blob: NotRequired[Annotated[str, "The file in blobs/ with a longer text."]]
    hmac: NotRequired[Annotated[str, "The keyed digest of a hidden text."]]
    characters: NotRequired[Annotated[int, "The length of a hidden text."]]
    spans: NotRequired[Annotated[list[list[int]], "Where secrets were in the text."]]
    shown: NotRequired[Annotated[ShownText, "The text without the secrets."]]


class RunStarted(TypedDict):
    schema: NotRequired[Annotated[int, "The version of the trace's form."]]
    kind: NotRequired[Annotated[str, "What the record is: proctor.trace."]]
    run: Annotated[str, "The id of the run."]
    contract: Annotated[str, "The content id of the contract."]
    agent: Annotated[str, "The name of the agent."]
    wall_ns: Nanoseconds
    boot_id: Annotated[str, "The id that the kernel drew at boot."]


class RunIdentity(TypedDict):
    expected: Annotated[Mapping[str, str], "The fingerprint of each layer in the manifest."]
    observed: Annotated[Mapping[str, str], "The fingerprint of each layer that was found."]
    match: Annotated[bool, "Whether they are equal."]


class SetupStep(TypedDict):
    index: Annotated[int, "The number of the step, from 0."]
    command: Command
    cached: Annotated[bool, "Whether the layer was made before this run."]
    exit_code: ExitCode
    wall_seconds: Seconds
    after_patch: NotRequired[Annotated[bool, "Whether setup was repeated on the patched tree."]]
    waited_seconds: NotRequired[Annotated[Amount, "The wait for a free processor."]]
    stalled_seconds: NotRequired[Annotated[Amount, "The time in which the machine was stalled."]]
    set_aside: NotRequired[Annotated[bool, "Whether the machine disturbed the step, so that it is repeated."]]


class Briefing(TypedDict):
    text: Annotated[str, "The task."]
    obligations: Annotated[str, "What the agent must observe."]


class AgentStarted(TypedDict):
    name: Annotated[str, "The name of the agent."]
    kind: Annotated[str, "The kind of the agent."]
    command: Command


class AgentRested(TypedDict):
    wall_seconds: Seconds


class AgentFinished(TypedDict):
    reason: Annotated[str, "finished, failed, timed-out, killed or not-started."]
    exit_code: Annotated[int | None, "The exit code, if the agent is a program."]
    wall_seconds: Seconds


class AgentPermission(TypedDict):
    title: Annotated[str, "The agent's description of what it wants."]
    kind: Annotated[str, "The kind of the action."]
    command: Annotated[str, "The command, if it is one."]
    paths: Annotated[list[str], "The paths that it concerns."]
    allowed: Annotated[bool, "Whether the policy allows it."]
    reason: Annotated[str, "Why not; empty if it is allowed."]


class AgentTrajectory(TypedDict):
    sha256: Annotated[str, "The digest of all of it."]
    bytes: Annotated[int, "The size of all of it."]
    kept_bytes: Annotated[int, "The size of what is stored."]
    blob: Annotated[str, "The file in blobs/ with it."]


class ToolInvocation(TypedDict):
    purpose: Annotated[str, "What the command is for: agent."]
    command: Command
    directory: Annotated[str, "The working directory."]
    exit_code: ExitCode
    started: Annotated[bool, "Whether the program could be started."]
    timed_out: Annotated[bool, "Whether it used up its time."]
    wall_seconds: Seconds
    cpu_seconds: Annotated[Amount, "The processor time."]
    stdout: Stream
    stderr: Stream


class FileSide(TypedDict):
    """A file before or after a change."""

    sha256: Annotated[str, "The digest of the content."]
    bytes: Annotated[int, "The size."]
    mode: Annotated[str, "The mode, in octal."]


class Hunk(TypedDict):
    """A part of a difference."""

    old_start: Annotated[int, "The first line in the old text."]
    old_lines: Annotated[int, "The number of lines in the old text."]
    new_start: Annotated[int, "The first line in the new text."]
    new_lines: Annotated[int, "The number of lines in the new text."]
    lines: Annotated[list[str], "The lines, each with a space, minus or plus before it."]


class FileDifference(TypedDict):
    """How a file changed."""

    kind: Annotated[str, "text, binary or large; the last two have no hunks."]
    added: NotRequired[Annotated[int, "The number of added lines."]]
    removed: NotRequired[Annotated[int, "The number of removed lines."]]
    hunks: NotRequired[list[Hunk]]
    truncated: NotRequired[Annotated[bool, "Whether hunks are missing."]]
    pointer: NotRequired[Annotated[str, "The file in blobs/ with the new content; empty if it is not stored."]]


class WorkspaceMutation(TypedDict):
    path: Annotated[str, "The path of the file."]
    change: Annotated[str, "added, modified or deleted."]
    before: Annotated[FileSide | None, "The file before; null if there was none."]
    after: Annotated[FileSide | None, "The file after; null if there is none."]
    diff: NotRequired[FileDifference]


class DroppedChange(TypedDict):
    """A change that is not part of the patch."""

    path: Annotated[str, "The path of the file."]
    why: Annotated[str, "Why it is not part of the patch."]


class PatchExtracted(TypedDict):
    sha256: Annotated[str, "The digest of the patch."]
    bytes: Annotated[int, "The size of the patch."]
    files: Annotated[int, "The number of changed files."]
    dropped: list[DroppedChange]


class PatchApplied(TypedDict):
    outcome: Annotated[str, "pass or fail."]
    problem: Annotated[str, "Why it does not apply; empty if it does."]
    start: Nanoseconds
    end: Nanoseconds
    command: Command
    exit_status: ExitCode
    log: Annotated[str, "What applying it printed."]


class VariantResult(TypedDict):
    """An altered test of a round."""

    path: Annotated[str, "The file of the test."]
    line: Annotated[int, "The altered line."]
    kind: Annotated[str, "How it was altered."]
    tests: Annotated[list[str], "The ids of the tests that must fail."]
    outcome: Annotated[str, "The result of the first of them."]
    diff: Annotated[str, "The alteration."]


class CheckInverted(TypedDict):
    check: CheckId
    round: Annotated[int, "The number of the round, from 1."]
    command: Command
    exit_code: ExitCode
    start: Nanoseconds
    end: Nanoseconds
    verdict: Annotated[str, "as expected, or what the round showed."]
    variants: Annotated[list[VariantResult], "The first altered tests that must fail."]
    failed_controls: Annotated[list[str], "The first altered tests that should have passed and did not."]
    log: Annotated[Mapping[str, str], "The files with the output of a round that showed something."]
    set: NotRequired[Annotated[int, "The set of altered tests."]]
    tries: NotRequired[Annotated[int, "How often the round was run."]]
    selected: NotRequired[Annotated[bool, "Whether only some tests were run."]]
    observed_seconds: NotRequired[Annotated[Amount, "How long the round took."]]
    cpu_seconds: NotRequired[Annotated[Amount, "The processor time."]]
    waited_seconds: NotRequired[Annotated[Amount, "The wait for a free processor."]]
    stalled_seconds: NotRequired[Annotated[Amount, "The time in which the machine was stalled."]]
    variant_count: NotRequired[Annotated[int, "The number of altered tests that must fail."]]
    passed_count: NotRequired[Annotated[int, "The number of those that passed."]]
    control_count: NotRequired[Annotated[int, "The number of altered tests that must pass."]]
    suspicious: NotRequired[Annotated[list[str], "Tests whose results are suspicious."]]
    sentinels: NotRequired[Annotated[str, "What the sentinels showed: genuine, forged or none."]]
    tampered: NotRequired[Annotated[bool, "Whether the results were tampered with."]]
    stdout: NotRequired[Stream]
    stderr: NotRequired[Stream]


class CheckBlocked(TypedDict):
    check: CheckId
    reason: Annotated[str, "Why it could not be reached."]


class CheckFinished(TypedDict):
    check: CheckId
    gate: Annotated[str, "build, static or acceptance."]
    attempt: Annotated[int, "The number of the attempt on this tree, from 1."]
    tree: Annotated[str, "patched or base."]
    command: Command
    exit_code: ExitCode
    start: Nanoseconds
    end: Nanoseconds
    outcome: Annotated[str, "pass, fail or error."]
    reason: Annotated[str, "What decided the outcome."]
    stdout: Stream
    stderr: Stream
    failing: Annotated[list[str], "The first tests that did not pass."]
    diagnostics: Annotated[str, "More about the reason."]
    ceiling_seconds: Annotated[Amount, "The time that the check may take."]
    observed_seconds: Annotated[Amount, "How long the attempt took."]
    layer: NotRequired[Annotated[str, "The layer of tests; empty if none."]]
    failing_count: NotRequired[Annotated[int, "The number of tests that did not pass."]]
    cpu_seconds: NotRequired[Annotated[Amount, "The processor time."]]
    waited_seconds: NotRequired[Annotated[Amount, "The wait for a free processor."]]
    stalled_seconds: NotRequired[Annotated[Amount, "The time in which the machine was stalled."]]
    stall_source: NotRequired[Annotated[str, "How the stall was measured."]]
    machine_oom_kills: NotRequired[Annotated[int, "Processes that the kernel ended because the machine had no memory."]]
    set_aside: NotRequired[Annotated[str, "Why the attempt does not count; empty if it does."]]
    sentinels: NotRequired[Annotated[str, "What the sentinels showed: genuine, forged or none."]]
    tests: NotRequired[Annotated[Mapping[str, int], "The number of tests for each result."]]
    log: NotRequired[Annotated[Mapping[str, str], "The files with the output."]]


class CheckDecided(TypedDict):
    check: CheckId
    outcome: Annotated[str, "pass, fail or error."]
    rule: Annotated[str, "How the attempts decide."]
    attempts: Annotated[int, "The number of attempts on the patched tree that count."]
    attribution: Annotated[str, "Whose doing an error is; empty if there is none."]
    gate: NotRequired[Annotated[str, "build, static or acceptance."]]
    layer: NotRequired[Annotated[str, "The layer of tests; empty if none."]]
    mandatory: NotRequired[Annotated[bool, "Whether the gate depends on the check."]]
    reason: NotRequired[Annotated[str, "What decided the outcome."]]
    detail: NotRequired[Annotated[str, "More about the reason."]]
    flagged: NotRequired[Annotated[bool, "Whether not all attempts have to agree."]]
    forgeable: NotRequired[Annotated[bool, "Whether code under test could write the results itself."]]
    set_aside: NotRequired[Annotated[int, "The number of attempts that do not count."]]


class SafetyFinding(TypedDict):
    code: Code
    grade: Annotated[str, "notice, alert or violation."]
    message: Annotated[str, "What was found."]
    evidence: Annotated[str, "The event or file that shows it."]


class SafetyChecked(TypedDict):
    start: Nanoseconds
    end: Nanoseconds
    violations: Annotated[int, "The number of violations."]


class RunTerminated(TypedDict):
    code: Annotated[str, "The rule that ended the run."]
    rationale: Annotated[str, "Why."]
    evidence: Annotated[str, "The event that shows it; empty if none does."]


class RunFault(TypedDict):
    message: Annotated[str, "What failed."]
    phase: Annotated[str, "What was done at that time."]


class SecretsRedacted(TypedDict):
    rules: Annotated[str, "The digest of the rules."]
    kinds: Annotated[Mapping[str, int], "The number of different secrets of each kind."]
    secrets: Annotated[int, "The number of different secrets."]
    unkept: Annotated[int, "The number of secrets that are not in the vault."]
    spellings: NotRequired[Annotated[list[str], "The encodings in which secrets were searched."]]


class RunFinished(TypedDict):
    status: Annotated[str, "success, failure, acceptance-error or invalid."]


class GuardExec(TypedDict):
    pid: Pid
    parent: Annotated[int, "The process id of the parent."]
    path: Annotated[str, "The path of the program."]
    argv: Command
    cwd: Annotated[str, "The working directory."]
    allowed: Annotated[bool, "Whether it was allowed to start."]
    origin: NotRequired[Annotated[int, "The process that it comes from."]]
    at: NotRequired[Annotated[str, "When the kernel saw it, in nanoseconds."]]
    phase: NotRequired[Phase]


class GuardExit(TypedDict):
    pid: Pid
    exit_code: Annotated[int | None, "The exit code; null if it is not known."]
    wall_seconds: Seconds
    phase: NotRequired[Phase]


class GuardAttempt(TypedDict):
    code: Code
    syscall: Annotated[str, "The system call; empty if there is none."]
    pid: Pid
    argv: Command
    detail: Annotated[str, "What was tried."]
    path: Annotated[str, "The path that it concerns; empty if none."]
    address: Annotated[str, "The address that it concerns; empty if none."]
    allowed: Annotated[bool, "Whether it was allowed."]
    errno: Annotated[str, "The error that the process got; empty if none."]
    count: Count
    kind: NotRequired[Annotated[str, "The type of a name that was asked for."]]
    phase: NotRequired[Phase]


class GuardSignal(TypedDict):
    pid: Pid
    syscall: Annotated[str, "The system call."]
    target: Annotated[int, "The process that gets the signal; 0 may be any."]
    signal: Annotated[int, "The number of the signal."]
    count: Count
    phase: NotRequired[Phase]


class GuardRead(TypedDict):
    pid: Pid
    path: Annotated[str, "The path of the file."]
    count: Count
    phase: NotRequired[Phase]


class GuardHeld(TypedDict):
    pid: Pid
    syscall: Annotated[str, "The system call."]
    path: Annotated[str, "The path of the file."]
    count: Count
    phase: NotRequired[Phase]


class GuardMore(TypedDict):
    code: Code
    count: Annotated[int, "The number of further attempts."]
    phase: NotRequired[Phase]


class GuardLost(TypedDict):
    count: Annotated[int, "The number of lost records."]
    phase: NotRequired[Phase]


class MonitorSample(TypedDict):
    wall_seconds: Annotated[Amount, "The time since the sandbox was opened."]
    cpu_seconds: Annotated[Amount | None, "The processor time; null if it cannot be measured."]
    memory_bytes: Annotated[int | None, "The memory; null if it cannot be measured."]
    disk_bytes: Annotated[int | None, "The size of changed files; null if it cannot be measured."]
    inodes: Annotated[int | None, "The number of changed files; null if it cannot be measured."]
    processes: Annotated[int | None, "The number of processes; null if it cannot be measured."]
    oom_kills: Annotated[int | None, "Processes that the kernel ended for want of memory; null if not measured."]
    phase: Annotated[str, "agent or acceptance."]


class MonitorAlert(TypedDict):
    code: Code
    grade: Annotated[str, "notice, alert or violation."]
    signals: Annotated[Mapping[str, Any], "What was measured; each code has its own names."]
    stage: Annotated[str, "The stage of the run."]
    message: Annotated[str, "What it means."]
    evidence: Annotated[list[int], "The numbers of the events that show it."]
    breaker: NotRequired[Annotated[str, "The breaker that decided."]]
    action: NotRequired[Annotated[str, "What the breaker asks for."]]


class Intervention(TypedDict):
    action: Annotated[str, "What was done."]
    alert: AlertNumber
    detail: Annotated[Mapping[str, Any], "What was measured; each code has its own names."]


class SandboxPaused(TypedDict):
    reason: Annotated[str, "Why."]


class SandboxResumed(TypedDict):
    seconds: Seconds


StageChanged = TypedDict(
    "StageChanged",
    {
        "from": Annotated[str, "The stage before; empty at the start."],
        "to": Annotated[str, "The stage from now on."],
        "reason": Annotated[str, "Why."],
        "skipped": NotRequired[Annotated[list[str], "Stages that were left out."]],
    },
)


class StageRefused(TypedDict):
    asked: Annotated[str, "The stage that the agent asked for."]
    stage: Annotated[str, "The stage of the run."]
    reason: Annotated[str, "Why it was refused."]
    count: Count


class WorkspaceCheckpoint(TypedDict):
    id: Annotated[str, "The id of the checkpoint; empty if none was taken."]
    entries_digest: Annotated[str, "The digest of the state."]
    files: Annotated[int, "The number of files."]
    bytes: Annotated[int, "The size."]
    reason: Annotated[str, "Why it was taken."]
    dropped: Annotated[list[str], "Older checkpoints that were removed."]
    problem: Problem


class WorkspaceRestored(TypedDict):
    checkpoint: Annotated[str, "The checkpoint."]
    alert: AlertNumber
    names: Annotated[int, "The number of names that changed."]
    ended: Annotated[bool, "Whether the agent was ended."]
    problem: Problem


class OperatorAsked(TypedDict):
    code: Code
    question: Annotated[str, "The question."]
    deadline_seconds: Annotated[int, "How long the run waits for an answer."]
    alert: AlertNumber


class OperatorDecided(TypedDict):
    decision: Annotated[str, "approve, deny, rollback or withdrawn."]
    why: Annotated[str, "Why."]
    code: Code
    by: Annotated[str, "The operator, or what decided in the place of one."]
    to: NotRequired[Annotated[str, "The checkpoint that the operator chose; empty if none."]]
    checkpoint: NotRequired[Annotated[str, "The checkpoint that the workspace goes back to; empty if none."]]
    signer: NotRequired[Signer]
    signature: NotRequired[Signature]


class OperatorActed(TypedDict):
    action: Annotated[str, "stop, pause or resume."]
    why: Annotated[str, "Why."]
    code: Annotated[str, "The code of a question that was open; empty if none."]
    by: Annotated[str, "The operator."]
    request: Annotated[int, "The number of the request."]
    done: Annotated[bool, "Whether it was done."]
    problem: Problem
    signer: NotRequired[Signer]
    signature: NotRequired[Signature]


class ModelUsage(TypedDict):
    model: Annotated[str, "The model."]
    input_tokens: Annotated[int, "Tokens given to the model."]
    output_tokens: Annotated[int, "Tokens that the model gave."]
    usd: Annotated[Amount | None, "The cost that the provider reported, if it did."]
    call: NotRequired[Call]
    tier: NotRequired[Annotated[str, "The provider's service tier."]]
    cached_tokens: NotRequired[Annotated[int, "Input tokens from the provider's cache."]]
    reasoning_tokens: NotRequired[Annotated[int, "Output tokens of reasoning."]]
    cache_write_tokens: NotRequired[Annotated[int, "Input tokens written to the cache."]]
    cache_write_1h_tokens: NotRequired[Annotated[int, "Those of them that are cached for an hour."]]
    estimated: NotRequired[Annotated[bool, "Whether the numbers were estimated."]]


class CostParts(TypedDict):
    """The cost of one phase."""

    model: Annotated[Amount, "Calls of language models."]
    execution: Annotated[Amount, "Use of the machine."]
    human: Annotated[Amount, "Work of people."]
    overhead: Annotated[Amount, "Fixed costs."]


class CostItem(TypedDict):
    """One item of the cost."""

    phase: Annotated[str, "setup, agent or acceptance."]
    part: Annotated[str, "model, execution, human or overhead."]
    action: Annotated[str, "What is paid for."]
    unit: Annotated[str, "The unit of the quantity."]
    model: Annotated[str, "The model; empty if none."]
    tier: NotRequired[Annotated[str, "The provider's service tier."]]
    quantity: Annotated[Amount, "The quantity."]
    price: Annotated[Amount, "The price of a unit."]
    amount: Annotated[Amount, "The cost."]


class CostProjected(TypedDict):
    method: Annotated[str, "The price table or schedule."]
    usd: Annotated[Amount | None, "The cost in dollars; null if the method has other units."]
    units: Annotated[Amount | None, "The cost in the units of the schedule; null if it is in dollars."]
    observed_usd: Annotated[Amount | None, "The cost that the provider reported, if it did."]
    phase: Annotated[str, "The present phase."]
    phases: Annotated[Mapping[str, CostParts], "The cost of each phase."]
    items: list[CostItem]


class ExchangeContent(TypedDict):
    """The body of a request or an answer."""

    sha256: Annotated[str, "The digest."]
    bytes: Annotated[int, "The size."]


class NetworkExchange(TypedDict):
    host: Annotated[str, "The host."]
    port: Annotated[int, "The port."]
    method: Annotated[str, "The method of the request."]
    path: Annotated[str, "The path of the request."]
    status: Annotated[int, "The status of the answer; 0 if there was none."]
    request: Annotated[ExchangeContent | None, "The body of the request, if there is one."]
    response: Annotated[ExchangeContent | None, "The body of the answer, if there is one."]
    replayed: Annotated[bool, "Whether the answer comes from a cassette."]
    allowed: Annotated[bool, "Whether the policy allows the request."]
    reason: Annotated[str, "Why it was refused; empty if it was not."]
    canaries: NotRequired[Annotated[list[str], "The planted secrets that the request carried."]]


class NetworkClosed(TypedDict):
    mode: Annotated[str, "The mode of the network."]
    passed: Annotated[int, "The number of requests that passed."]
    refused: Annotated[int, "The number of refused requests."]
    lookups: Annotated[int, "The number of names that were asked for."]
    replayable: Annotated[bool, "Whether the answers can be given again."]
    why: Annotated[list[str], "Why not."]
    cassette: Annotated[str, "The digest of the cassette; empty if there is none."]
    unplayed: NotRequired[Annotated[int, "Answers of a replayed cassette that were not asked for."]]
    blob: NotRequired[Annotated[str, "The file in blobs/ with the cassette; empty if there is none."]]


class WordsHit(TypedDict):
    rule: Annotated[str, "The rule."]
    format: Annotated[str, "The format of the text."]
    where: Annotated[str, "Where the text was found."]
    text: Annotated[str, "The text; empty if texts are hidden."]
    grade: Annotated[str, "notice, alert or violation."]
    start: NotRequired[Annotated[int, "The first character."]]
    end: NotRequired[Annotated[int, "The character after the last."]]
    rules: NotRequired[Annotated[str, "The version of the rules."]]
    call: NotRequired[Call]
    index: NotRequired[Index]
    role: NotRequired[Annotated[str, "The role of the message."]]


class Reserved(TypedDict):
    """What was reserved of the budget for a call."""

    input_tokens: Annotated[int, "Tokens given to the model."]
    output_tokens: Annotated[int, "Tokens that the model may give."]
    amount: Annotated[Amount, "The cost."]


class ModelRequest(TypedDict):
    call: Call
    dialect: Annotated[str, "The protocol."]
    model: Annotated[str, "The model that is asked for."]
    path: Annotated[str, "The path of the request."]
    stream: Annotated[bool, "Whether the answer comes in parts."]
    original: Annotated[StoredText, "The request as the agent made it."]
    forwarded: Annotated[StoredText, "The request as it was forwarded."]
    changes: Annotated[list[str], "What was changed in it."]
    reserved: Annotated[Reserved | None, "What was reserved of the budget, if it has a limit."]
    retry_of: Annotated[int | None, "The call that this one repeats, if it does."]
    kind: NotRequired[Annotated[str, "The kind of the request."]]
    budget_limit: NotRequired[Annotated[int | None, "The most tokens that the budget allows, if it is less."]]
    tools: NotRequired[Annotated[list[str], "The names of the tools."]]
    canaries: NotRequired[Annotated[list[str], "The planted secrets in the request."]]


class ModelMessage(TypedDict):
    call: Call
    index: Index
    role: Annotated[str, "The role of the message."]
    content: StoredText
    tool_calls: Annotated[int, "The number of tool calls."]
    lineage: Annotated[str, "The id of the conversation up to this message."]
    parent: Annotated[str, "The id of the conversation before it."]
    reasoning: NotRequired[Annotated[StoredText | None, "The reasoning, if it is shown."]]
    tool_results: NotRequired[Annotated[int, "The number of tool results."]]


class ModelRefusal(TypedDict):
    """How an answer refuses."""

    by: Annotated[str, "provider or phrase."]
    words: Annotated[str, "The beginning of the refusal."]
    rules: Annotated[str, "The version of the rules."]


class ModelResponse(TypedDict):
    call: Call
    status: Annotated[int, "The status of the answer."]
    finish: Annotated[str, "Why the model stopped."]
    body: StoredText
    tool_calls: Annotated[int, "The number of tool calls."]
    whole: Annotated[bool, "Whether the answer is complete."]
    refusal: Annotated[ModelRefusal | None, "How the answer refuses, if it does."]
    first_byte_seconds: Annotated[Amount | None, "The time to the first byte; null if none came."]
    wall_seconds: Seconds
    model: NotRequired[Annotated[str, "The model that answered."]]
    cut_by_budget: NotRequired[Annotated[bool, "Whether the budget left no room for the whole answer."]]


ModelError = TypedDict(
    "ModelError",
    {
        "call": Call,
        "class": Annotated[str, "The class of the error."],
        "status": Annotated[int, "The status of the answer; 0 if there was none."],
        "detail": Annotated[str, "What the provider said, or what failed."],
        "infrastructure": Annotated[bool, "Whether neither the agent nor the model is to blame."],
        "retry_after": NotRequired[Annotated[str, "When the provider wants to be asked again."]],
        "body": NotRequired[Annotated[StoredText | None, "The answer, if there was one."]],
    },
)


class ModelRefused(TypedDict):
    call: Call
    dialect: Annotated[str, "The protocol."]
    path: Annotated[str, "The path of the request."]
    code: Annotated[str, "Why it was refused."]
    detail: Annotated[str, "More about the reason."]
    status: Annotated[int, "The status that the agent got."]
    original: NotRequired[Annotated[StoredText | None, "The request, if it has a body."]]


class ModelSilent(TypedDict):
    calls: Annotated[int, "The number of calls without an answer."]
    grace_seconds: Annotated[Amount, "How long they had been silent."]


class ModelHeard(TypedDict):
    seconds: Seconds


class ModelUnavailable(TypedDict):
    seconds: Seconds
    most_seconds: Annotated[Amount, "How long a run waits."]


class ModelDiverged(TypedDict):
    call: Call
    pointer: Annotated[str, "The place in the request."]
    expected: Annotated[str, "The recorded text."]
    got: Annotated[str, "The text now."]
    nearest: Annotated[int | None, "The recorded call that is most alike, if there is one."]
    part: NotRequired[Annotated[str, "The part of the conversation."]]
    before: NotRequired[Annotated[str, "The text before the difference."]]
    after: NotRequired[Annotated[str, "The text after the difference."]]
    places: NotRequired[Annotated[int, "The number of places that differ."]]
    others: NotRequired[Annotated[int, "The number of other parts that differ."]]


class ReorderedPart(TypedDict):
    """A list whose order differs."""

    pointer: Annotated[str, "The place in the request."]
    part: Annotated[str, "The part of the conversation."]
    lines: Annotated[int, "The number of lines that moved."]


class ModelReordered(TypedDict):
    call: Call
    parts: list[ReorderedPart]


class ModelClosed(TypedDict):
    calls: Annotated[int, "The number of calls."]
    refused: Annotated[int, "The number of refused requests."]
    errors: Annotated[int, "The number of failed calls."]
    unplayed: Annotated[int, "Answers of a replayed cassette that were not asked for."]
    replayable: Annotated[bool, "Whether the answers can be given again."]
    why: Annotated[list[str], "Why not."]
    diverged: Annotated[list[str], "The calls that are not on the cassette."]
    outage: Annotated[str | None, "How the provider or the set-up failed; null if it did not."]
    cassette: Annotated[str, "The digest of the cassette; empty if there is none."]
    blob: Annotated[str, "The file in blobs/ with the cassette; empty if there is none."]
    first_unplayed: NotRequired[Annotated[int, "The first of the answers that were not asked for."]]
    never_called: NotRequired[Annotated[bool, "Whether the agent never called its model."]]
    outage_class: NotRequired[Annotated[str, "The class of the outage."]]


class ToolCall(TypedDict):
    call: Call
    index: Index
    id: Annotated[str, "The id of the tool call."]
    name: Annotated[str, "The name of the tool."]
    arguments: StoredText


class ToolResult(TypedDict):
    call: Call
    index: Index
    id: Annotated[str, "The id of the tool call."]
    name: Annotated[str, "The name of the tool; empty if unknown."]
    content: StoredText
    failed: Annotated[bool, "Whether the tool failed."]
