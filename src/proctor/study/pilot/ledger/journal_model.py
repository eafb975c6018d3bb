"""The journal of a pilot, ``journal.jsonl``: the keys of a line and of each kind of record, and what they mean.

A line has a record and is chained to the line before it by hashes.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from proctor.base.json_records import DIALECT, Amount, schema_of

Schema = Annotated[int, "The version of this form."]
Task = Annotated[str, "The name of the task."]
ContractId = Annotated[str, "The content id of the contract."]
Why = Annotated[str, "Why."]
By = Annotated[str, "The person who decided it."]
At = Annotated[str, "When, in UTC."]
AfterRuns = Annotated[int, "How many runs there were."]


class ScreenedCheck(TypedDict):
    """How stable a check of a task was."""

    check: Annotated[str, "The id of the check."]
    primary: Annotated[bool, "Whether the verdict depends on it."]
    tree: Annotated[str, "The tree on which it was tried."]
    deviating: Annotated[int, "The number of attempts that deviate."]
    attempts: Annotated[int, "The number of attempts."]
    bound: Annotated[Amount, "The upper bound of the share that deviates."]
    order_varied: Annotated[bool, "Whether tests ran in different orders."]
    tests: Annotated[list[str], "The tests that deviate."]


class JournalScreen(TypedDict):
    """The checks of a task were tried several times."""

    schema: Schema
    kind: Annotated[str, "proctor.pilot-screen."]
    task: Task
    contract: ContractId
    attempts: Annotated[int, "The attempts of each check."]
    seconds: NotRequired[Annotated[Amount, "The time that they took."]]
    usd: NotRequired[Annotated[Amount, "What that cost."]]
    checks: list[ScreenedCheck]


class SealedRun(TypedDict):
    """A run and its seal."""

    run: Annotated[str, "The id of the run."]
    seal: Annotated[str, "The digest of its seal."]


class JournalRuns(TypedDict):
    """Runs were sealed."""

    schema: Schema
    kind: Annotated[str, "proctor.pilot-runs."]
    runs: list[SealedRun]


class JournalRemoval(TypedDict):
    """A task was removed."""

    schema: Schema
    kind: Annotated[str, "proctor.pilot-removal."]
    task: Task
    contract: ContractId
    reason: Annotated[str, "flaky, broken-oracle or broken-environment."]
    evidence: Annotated[list[SealedRun], "The runs that show it."]
    found: Annotated[str | Mapping[str, Any], "What the evidence shows: a sentence or, from schema 2 on, a statement."]
    why: Why
    by: By
    at: At
    after_runs: AfterRuns


class JournalLook(TypedDict):
    """The comparison was tested before the pilot was complete."""

    schema: Schema
    kind: Annotated[str, "proctor.pilot-look."]
    blocks: Annotated[int, "The number of complete blocks."]
    share: Annotated[str, "The share of the plan."]
    wanted: Annotated[str, "The share at which the protocol planned the look."]
    pairs: Annotated[list[list[str]], "Each pair of methods with the difference and the p value."]
    nominal: Annotated[str, "The level of the test."]
    crossed: Annotated[bool, "Whether the difference is significant."]
    tasks: Annotated[list[str], "The tasks that were compared."]
    runs: Annotated[list[str], "The runs that were compared."]


class MachineChange(TypedDict):
    """A difference of two machines."""

    field: Annotated[str, "What differs."]
    before: Annotated[str, "The value before."]
    after: Annotated[str, "The value after."]
    run: Annotated[str, "The run that was made before."]


class JournalMachine(TypedDict):
    """A person accepted that the machine changed."""

    schema: Schema
    kind: Annotated[str, "proctor.pilot-machine."]
    changed: list[MachineChange]
    identities: Annotated[list[str], "The digests of the machines that may make runs."]
    why: Why
    by: By
    at: At
    after_runs: AfterRuns


class JournalAmendment(TypedDict):
    """The protocol was amended."""

    schema: Schema
    kind: Annotated[str, "proctor.pilot-amendment."]
    number: Annotated[int, "The number of the amendment, from 1."]
    digest: Annotated[str, "The digest of the record of the amendment."]


RECORDS: Mapping[str, Any] = {
    "proctor.pilot-amendment": JournalAmendment,
    "proctor.pilot-look": JournalLook,
    "proctor.pilot-machine": JournalMachine,
    "proctor.pilot-removal": JournalRemoval,
    "proctor.pilot-runs": JournalRuns,
    "proctor.pilot-screen": JournalScreen,
}
"""The kinds of records."""


class JournalLine(TypedDict):
    """A line of the journal of a pilot."""

    hash: Annotated[str, "The digest of the other three."]
    prev: Annotated[str, "The hash of the line before; that of the first follows from the pilot's digest."]
    seq: Annotated[int, "The number of the line, from 0."]
    record: Annotated[Mapping[str, Any], "What happened; each kind has its own keys."]


def journal_schema(schema: int = 1) -> dict[str, Any]:
    """The JSON Schema of a line of a journal."""
    line = schema_of(JournalLine, schema)
    line["properties"]["record"] = {"anyOf": [_record(kind, record, schema) for kind, record in RECORDS.items()]}
    title = "A line of journal.jsonl"
    return {"$schema": DIALECT, "$id": f"urn:proctor:journal:{schema}", "title": title, **line}


def _record(kind: str, record: Any, schema: int) -> dict[str, Any]:
    found = schema_of(record, schema)
    found["properties"]["kind"] = {"const": kind}
    return found
