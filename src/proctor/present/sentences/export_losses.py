"""What an export could not carry over, in English, and the README of an exported task.

The codes are those of ``proctor.author.export.interface``. They are no statements of a study, so ``sentence`` does not
know them.
"""

from __future__ import annotations

from collections.abc import Iterable

from proctor.author.export.interface import HIDDEN_TESTS, SOLUTION
from proctor.present.sentences.phrases import Said, Sentences, names, number_of

FIELDS = {
    "ambiguities": "ambiguities",
    "assumptions": "assumptions",
    "strata": "strata",
}

SENTENCES: Sentences = {
    "alternatives": lambda said: (
        f"{number_of(said['alternatives'], 'alternative solution')} of the contract: the format has one solution."
    ),
    "check-attempts": lambda said: (
        f"The single attempts of checks ({said['attempts']}) with their tests and logs: only the decision on each "
        "check is exported."
    ),
    "conversation": lambda said: f"The conversation ({number_of(said['messages'], 'message')}).",
    "cost-units": lambda said: (
        f"The cost: it is {said['units']} units of {said['method']}, and the format has dollars only."
    ),
    "cut-texts": lambda said: (
        f"{number_of(said['texts'], 'text')} of the conversation that the record has only in part."
    ),
    "escaped-ids": lambda said: (
        f"{number_of(said['tests'], 'test id')} with blanks: SWE-bench cuts ids at a blank, so they have percent "
        "escapes."
    ),
    "events": lambda said: (
        f"{number_of(sum(said['types'].values()), 'event')} of the trace: {names(list(said['types']), 6)}."
    ),
    "evidence-chain": lambda said: (
        "The chain of digests and the seal: an exported run cannot be verified. Keep the run directory."
    ),
    "gates": lambda said: f"The gates {names(said['gates'], 4)} with their reasons: only resolved or not is exported.",
    "inputs": lambda said: (
        f"The origin of {number_of(said['inputs'], 'input')} with digests: the files are in the archives as they are."
    ),
    "limits": lambda said: f"Limits that the format does not have: {names(said['fields'], 20)}.",
    "network": lambda said: (
        f"The network mode {said['mode']!r}: the exported task has no network, and may not be solvable or judged alike."
    ),
    "no-commit": lambda said: (
        f"A commit: the repository is an archive ({said['kind']}), and its digest is in the place of a commit."
    ),
    "no-inverted-tests": lambda said: (
        f"Inverted tests (checks: {names(said['checks'])}): a success is not confirmed, so forged results can pass."
    ),
    "no-sentinels": lambda said: (
        f"Sentinels (checks: {names(said['checks'])}): nothing shows whether code under test wrote the results itself."
    ),
    "notes": lambda said: f"Notes of the contract: {names([FIELDS.get(one, one) for one in said['fields']])}.",
    "notices": lambda said: (
        "1 alert, intervention or act of an operator."
        if said["notices"] == 1
        else f"{said['notices']:,} alerts, interventions and acts of operators."
    ),
    "obligations": lambda said: "The rules for the agent: the problem statement has the task only.",
    "one-attempt": lambda said: f"Repeated attempts (checks: {names(said['checks'])}): each check runs once.",
    "one-tree": lambda said: (
        f"A fresh copy for each check: the checks {names(said['checks'], 6)} run one after the other in one tree."
    ),
    "optional-checks": lambda said: f"Checks that do not decide: {names(said['checks'])}.",
    "other-history": lambda said: (
        f"The history of the repository: the image has one commit of the base in the place of {said['commit'][:12]}."
    ),
    "patch": lambda said: f"The patch ({said['bytes']} bytes): it is in the run directory.",
    "patch-is-tree": lambda said: (
        "The patch as the unit of judging: Harbor judges the whole tree that the agent leaves, files that the project "
        "ignores included."
    ),
    "patch-not-text": lambda said: (
        f"A patch that is no text in UTF-8 ({said['bytes']} bytes): the prediction has escapes and does not apply. The "
        "file patch.diff has its bytes."
    ),
    "policy": lambda said: f"Parts of the policy that nothing enforces: {names(said['fields'], 20)}.",
    "products": lambda said: (
        f"{number_of(said['files'], 'file')} that installing leaves and that can steer a runner: changes to them are "
        "not undone."
    ),
    "repeated-messages": lambda said: (
        f"The whole conversation in each of {number_of(said['calls'], 'call')}: each one has only the messages that "
        "were new."
    ),
    "results-without-call": lambda said: f"{number_of(said['results'], 'result')} of tools without a recorded call.",
    "root": lambda said: (
        f"The root file system that the contract was validated with: the task runs in {said['image']}. Run the "
        "solution and an empty patch there before you use it."
    ),
    "run-as-root": lambda said: (
        "An ordinary user for agent and checks: both run as the user of the image, and the checks can change the "
        "verifier while it runs."
    ),
    "shared-image": lambda said: (
        "The separation of agent and judge: SWE-bench judges in the image of the agent, and the task folder contains "
        "the hidden tests."
    ),
    "status": lambda said: f"The status {said['status']}: the run has no verdict and is reported as an error.",
    "steering": lambda said: (
        "The repair of steering tables in pyproject.toml, setup.cfg, tox.ini and package.json, and of files that hide "
        f"a module of the standard library. Whole files are restored ({said['restored']} in the base)."
    ),
    "test-patch-without": lambda said: (
        f"Hidden files that are no text, in test.patch: {names(said['files'])}. The evaluation has them."
    ),
    "threads": lambda said: (
        f"The separation of {number_of(said['threads'], 'conversation')}: they are one sequence in the order of time."
    ),
    "token-kinds": lambda said: f"Cached and reasoning tokens ({said['tokens']}).",
    "tool-schemas": lambda said: (
        f"The parameters of {number_of(said['tools'], 'tool')}: the record has their names, and the requests."
    ),
    "total-cost": lambda said: f"The cost as a total ({said['usd']} USD): the format has it for each call.",
    "unwatched": lambda said: (
        "Everything that Proctor observes and enforces while an agent works: the trace, the guard, breakers, stages "
        "and budgets."
    ),
}

CONTAINS = {HIDDEN_TESTS: "the hidden tests", SOLUTION: "the reference solution"}


def loss_sentence(code: str, values: Said) -> str:
    """A loss in English; its code if this version does not know it or values are missing."""
    try:
        return SENTENCES[code](values)
    except (LookupError, TypeError, ValueError):
        return code


def contents_sentence(contains: Iterable[str]) -> str:
    """What an exported task contains that no agent may see."""
    listed = [CONTAINS.get(one, one) for one in contains]
    return f"The export contains {names(listed)}: do not publish it, and do not let an agent read it." if listed else ""


def task_readme(title: str, contract: str, contains: Iterable[str], losses: Iterable[tuple[str, Said]]) -> str:
    """The README of a Harbor task: what it is, what it contains, and what is weaker than in Proctor."""
    lines = [
        *(f"# {' '.join(title.split())}", ""),
        f"A task that Proctor exported from the contract {contract}. {contents_sentence(contains)}",
        "",
        "- The agent works at `/workspace`, in an image that is named by its digest, without network.",
        "- The verifier is an image of its own, without network. Harbor uploads the declared artefact `/workspace`.",
        "- `tests/test.sh` writes `reward.json` with 1 if every mandatory check passes, and 0 if not.",
        "- The image needs `sh`, `tar` and `python3` (3.9 or newer) besides what the checks of the contract use.",
        "- An agent that reaches its model from inside the container needs a network: set `allowlist` for the agent.",
        *("", "## What is weaker than in Proctor", ""),
        *(f"- {loss_sentence(code, values)}" for code, values in losses),
        "",
    ]
    return "\n".join(lines)
