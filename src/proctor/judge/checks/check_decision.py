"""The outcome of one attempt of a check, and the decision from several attempts. Pure.

    error   the check could not be started, ran out of time or memory, or its runner did not end normally;
            also when the machine kept it from running or had no memory left
    fail    it ended normally and a requirement is not met
    pass    it ended normally and every requirement is met

How the command ended and its result file decide, never its printed output. Forged results are always a failure: no
rule for several attempts overrides them.

An attempt that the machine may have disturbed is repeated before it counts: see ``set_aside``.

Which changes to the test runner count against a patch:

Projects that are, contain or extend a test runner change it on purpose: pytest-mock replaces methods of mocks, pytest
replaces methods of its own classes. What the base does never counts against a patch. So a change is left out when

    - the attempt was on the base itself,
    - the base changes the same part of the runner,
    - the code that made it is in a file that changes the runner on the base as well, or
    - it is in a file that the contract lists under ``policy.free_steering``.

The patch caused the remaining changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from proctor.base.clock import seconds_text
from proctor.contract.model import Check
from proctor.execute.sandbox.interface import CommandResult
from proctor.execute.workspace.path_patterns import matches
from proctor.judge.checks.results_readers.interface import RunnerChange, TestResults
from proctor.judge.checks.sentinels import FORGED, NONE

PASS, FAIL, ERROR = "pass", "fail", "error"

NOT_STARTED = "could-not-start"
TIMEOUT = "timeout"
OUT_OF_MEMORY = "out-of-memory"
MACHINE_PRESSURE = "machine-pressure"
MACHINE_MEMORY = "machine-out-of-memory"
CRASH = "runner-crash"
FORGED_RESULTS = "forged"
SENTINELS = "sentinels"
TAMPERED = "tampered-results"
TESTS = "tests"
EXIT_CODE = "exit-code"
NO_TESTS = "no-tests"

OF_THE_MACHINE = (MACHINE_PRESSURE, MACHINE_MEMORY)
"""Errors that are attributed to the harness, whatever the base does."""

KILLED = "killed"
"""The reason for setting an attempt aside if a signal ended its command or a part of it, or its runner broke off."""

SENTINELS_WRONG = "the sentinels did not pass or fail as they must"

MOST_NAMED = 3
MOST_NAME_CHARACTERS = 100
"""How many tests a sentence names, and how much of each name; the record has all of them."""

SHELL_COULD_NOT_START = (126, 127)
"""What a shell exits with when the program that it was asked for is missing or cannot be executed."""

FATAL_SIGNALS = tuple(128 + number for number in (4, 6, 7, 8, 9, 11, 31))
"""How a shell reports a program that a fatal signal ended."""

HARMLESS_SIGNALS = (17, 18, 19, 20, 21, 22, 23, 28)
"""Signals up to 31 that do not end a program: SIGCHLD, those that stop and continue, SIGURG, SIGWINCH."""


@dataclass(frozen=True)
class Judgement:
    """One attempt's outcome, the reason in one word, the details in a sentence, and the ids that count against it."""

    outcome: str
    reason: str
    detail: str = ""
    failing: tuple[str, ...] = ()


def judge_attempt(
    check: Check,
    finished: CommandResult,
    results: TestResults,
    sentinels: str,
    oom_kills: int = 0,
    machine_oom_kills: int = 0,
) -> Judgement:
    """The outcome of one attempt. ``results`` are without the sentinels, whose verdict is ``sentinels``.

    ``oom_kills`` counts processes that were killed because the sandbox reached its own memory limit,
    ``machine_oom_kills`` those that were killed although it did not.
    """
    stopped = _stopped(check, finished, oom_kills, machine_oom_kills)
    if results.tampered:
        return Judgement(FAIL, FORGED_RESULTS, results.problem)
    if results.changed:
        return Judgement(FAIL, FORGED_RESULTS, _changed(results))
    if check.results == "exit-code":
        return stopped or _by_exit_code(finished)
    if stopped and not (stopped.reason == NOT_STARTED and results.complete):
        return stopped
    if not results.complete:
        return Judgement(ERROR, CRASH, results.problem)
    if sentinels == FORGED:
        return Judgement(FAIL, FORGED_RESULTS, SENTINELS_WRONG)
    return _by_tests(check, finished, results, sentinels)


def killed_by(exit_code: int) -> int:
    """The signal that ended a command, or that ended a program according to a shell; 0 for none."""
    if exit_code < 0:
        return -exit_code
    reported = exit_code - 128
    return reported if 0 < reported < 32 and reported not in HARMLESS_SIGNALS else 0


def set_aside(finished: CommandResult, judgement: Judgement, machine_oom_kills: int = 0) -> str:
    """Why the machine may have caused the outcome of an attempt, which must then be repeated; empty if it counts.

    A signal may have come from outside, so the death must repeat in a fresh sandbox. What a command did by itself
    counts at once: a pass, a failure, a timeout, or reaching its own memory limit.
    """
    if judgement.outcome == PASS or not finished.started:
        return ""
    if judgement.reason == MACHINE_PRESSURE:
        return MACHINE_PRESSURE
    if machine_oom_kills:
        return MACHINE_MEMORY
    if finished.timed_out or judgement.reason == OUT_OF_MEMORY:
        return ""
    return KILLED if judgement.reason == CRASH or killed_by(finished.exit_code) else ""


def _changed(results: TestResults) -> str:
    """Which parts of the test runner were changed by code of the tree, and where that code is."""
    names = ", ".join(change.text() for change in results.changed[:MOST_NAMED])
    more = f" and {len(results.changed) - MOST_NAMED} more" if len(results.changed) > MOST_NAMED else ""
    return f"code of the tree changed the test runner: {names}{more}"


def _stopped(check: Check, finished: CommandResult, oom_kills: int, machine_oom_kills: int) -> Judgement | None:
    """The error of a command that did not end by itself."""
    if not finished.started:
        return Judgement(ERROR, NOT_STARTED, finished.problem)
    if finished.starved(check.timeout_seconds):
        ran = seconds_text(finished.wall_ns - finished.stalled_ns)
        return Judgement(ERROR, MACHINE_PRESSURE, f"could run for {ran} s of its {check.timeout_seconds} s")
    if finished.timed_out:
        return Judgement(ERROR, TIMEOUT, f"took more than {check.timeout_seconds} s")
    if oom_kills and finished.exit_code:
        return Judgement(ERROR, OUT_OF_MEMORY, f"{oom_kills} processes were ended for want of memory")
    if machine_oom_kills and finished.exit_code:
        return Judgement(ERROR, MACHINE_MEMORY, f"{machine_oom_kills} processes were killed: the machine had no memory")
    if finished.exit_code < 0:
        return Judgement(ERROR, CRASH, f"ended by signal {-finished.exit_code}")
    if finished.exit_code in FATAL_SIGNALS and check.results == "exit-code":
        return Judgement(ERROR, CRASH, f"ended by signal {finished.exit_code - 128}")
    if finished.exit_code in SHELL_COULD_NOT_START:
        return Judgement(ERROR, NOT_STARTED, f"exit code {finished.exit_code}: the program is missing or no program")
    return None


def _by_exit_code(finished: CommandResult) -> Judgement:
    if finished.exit_code == 0:
        return Judgement(PASS, EXIT_CODE)
    return Judgement(FAIL, EXIT_CODE, f"exited with {finished.exit_code}")


def _by_tests(check: Check, finished: CommandResult, results: TestResults, sentinels: str) -> Judgement:
    wanted = (*check.must_pass, *check.keep_passing)
    if wanted:
        missing = tuple(sorted({test for test in wanted if results.outcomes.get(test) != "passed"}))
        if missing:
            return Judgement(FAIL, TESTS, _missed(missing, len(set(wanted)), results), missing)
        return Judgement(PASS, TESTS)
    failing = tuple(results.failing())
    if failing:
        return Judgement(FAIL, TESTS, _count(len(failing), len(results.outcomes), "tests failed"), failing)
    if "passed" not in results.outcomes.values():
        return Judgement(FAIL, NO_TESTS, "no test was run and passed")
    if finished.exit_code and (sentinels == NONE or check.results == "pytest"):
        return Judgement(FAIL, EXIT_CODE, f"exited with {finished.exit_code} although no test failed")
    return Judgement(PASS, TESTS)


def _missed(missing: Sequence[str], whole: int, results: TestResults) -> str:
    """How many listed tests failed, and apart from those which never turned up: mostly a wrong id."""
    absent = [test for test in missing if test not in results.outcomes]
    failed = len(missing) - len(absent)
    messages = [_count(failed, whole, "listed tests did not pass")] if failed else []
    if absent:
        names = ", ".join(test[:MOST_NAME_CHARACTERS] for test in absent[:MOST_NAMED])
        more = ", ..." if len(absent) > MOST_NAMED else ""
        messages.append(_count(len(absent), whole, f"listed tests not found: {names}{more}"))
    return "; ".join(messages)


def _count(some: int, whole: int, text: str) -> str:
    return f"{some} of {whole} {text}"


def decide(rule: str, attempts: Sequence[Judgement]) -> Judgement:
    """The decision from the attempts under ``all``, ``majority`` or ``any``; the attempt that represents them.

    Forged results in one attempt are decisive. Without a pass, a failure has priority over an error, because it shows
    that a requirement is not met.
    """
    forged = [one for one in attempts if one.reason == FORGED_RESULTS]
    if forged:
        return forged[0]
    passed = [one for one in attempts if one.outcome == PASS]
    enough = {"all": len(passed) == len(attempts), "majority": 2 * len(passed) > len(attempts), "any": bool(passed)}
    if passed and enough[rule]:
        return passed[0]
    failed = [one for one in attempts if one.outcome == FAIL]
    return (failed or [one for one in attempts if one.outcome == ERROR])[0]


def attribute(patched: Judgement, base: Judgement) -> tuple[Judgement, str]:
    """The cause of an error or a forgery, after the check was repeated on the base; and the final judgement.

    If the base completes, the patch is the cause. If it does not, a check that cannot start is attributed to the
    harness, and other errors to ``nobody``. Results that cannot be trusted on the base either are an error and not a
    forgery, with the reason that was found on the base. If the machine kept the base from its end, nothing shows
    whether a forgery is the patch's.
    """
    if base.outcome != ERROR and base.reason != FORGED_RESULTS:
        return patched, "agent"
    if patched.reason == FORGED_RESULTS:
        if base.reason in OF_THE_MACHINE:
            return Judgement(ERROR, base.reason, f"the base could not be judged: {base.detail}"), "harness"
        if base.reason == FORGED_RESULTS:
            reason = SENTINELS if base.detail == SENTINELS_WRONG else TAMPERED
            return Judgement(ERROR, reason, f"on the base as well: {base.detail}"), "harness"
        return patched, "agent"
    return patched, "harness" if base.reason == NOT_STARTED else "nobody"


RunnerChanges = tuple[RunnerChange, ...]


def without_allowed_changes(
    results: TestResults, free_steering: Iterable[str], on_base: Callable[[], RunnerChanges]
) -> TestResults:
    """``results`` with only the changes that count against the patch. ``on_base`` is called only if it can matter."""
    patterns = tuple(free_steering)
    left = tuple(change for change in results.changed if not _is_free(change, patterns))
    if left:
        known = on_base()
        parts, files = {change.what for change in known}, {change.file for change in known} - {""}
        left = tuple(change for change in left if change.what not in parts and change.file not in files)
    return replace(results, changed=left)


def _is_free(change: RunnerChange, patterns: tuple[str, ...]) -> bool:
    file = change.file.encode("utf-8", "replace")
    return bool(file) and any(matches(file, pattern) for pattern in patterns)
