"""What import reports say, in English: why a task was refused, and what its contract does not have."""

from __future__ import annotations

from collections.abc import Mapping

REFUSALS: Mapping[str, str] = {
    "ambiguous-id": "a test that must pass has several candidates",
    "bad-contract": "its contract would not load",
    "bad-patch": "a patch of the record cannot be used",
    "bad-record": "the record is not as it must be",
    "cut-id": "every test that must pass has an id that was cut off",
    "exists": "the contract is there already; remove it to import it again",
    "language": "tests in this language cannot be read here",
    "needs-network": "its checks need the network",
    "no-commit": "the clone does not have the base commit",
    "no-environment": "no environment: declare one with --environments",
    "no-image": "its image is not in the engine: load it, or declare an environment with --environments",
    "no-repository": "there is no clone of its repository",
    "no-tests": "its test files are neither in the base nor in the test patch",
    "no-tests-that-fail": "no test is listed that fails before and passes after",
    "not-here": "the data set names it, and its folder is not there",
    "outside-the-tree": "its result is outside the tree that a patch can change",
    "reversed": "the gold patch makes the bug instead of fixing it",
    "runner": "the results of its test runner cannot be read",
    "sidecars": "it needs services beside the sandbox",
    "steps": "it has several steps, and a contract has one",
    "unknown-id": "a test that must pass is not in the test files",
    "unproven": "its checks do not hold in this environment",
}
LOSSES: Mapping[str, str] = {
    "artifacts": "artefacts that the verifier collects",
    "assets": "images of the issue",
    "build": "a build before the tests",
    "build-products": "what the image built in its own copy of the tree, which is hidden",
    "cut-ids": "tests whose ids were cut off",
    "field": "a field without a counterpart",
    "free-steering": "protection of files that steer tests, because the gold patch changes them",
    "healthcheck": "the health check",
    "hints": "hints, which the agent does not get",
    "image-tag": "the tag of the image: the contract pins the layers that it has now",
    "log-parser": "the log parser, which is source and is never executed: pytest reports the results itself",
    "needs-lock": "pins of inputs: run `proctor lock` on the contract",
    "network": "the network: tests run offline",
    "no-reference": "a reference: the solution is a program, which was not run",
    "preamble": "a command before the tests",
    "removed-tests": "the removal of test files by the test patch",
    "resources": "resources without a counterpart",
    "runner-replaced": "the test runner: pytest runs the tests",
    "test-option": "an option of the test command",
    "unknown-ids": "tests that the files do not name",
    "user": "the user",
    "weak-check": "confirmation of the results: they are those of the task's own test script",
}


def sentence(code: str, detail: str) -> str:
    """A refusal or a loss in English, with its detail."""
    text = REFUSALS.get(code) or LOSSES.get(code) or code
    return f"{text} ({detail})" if detail else text
