"""Policy: observations of the guard and of the text rules, by their grades, and what the contract forbids.

A notice only stays in the record, unless an operator is asked about its code or it is to be undone. An alert or a
violation is reported once for each kind of observation. Violations that the thresholds name, and a number of any
violations, quarantine the run; such a termination is about safety and says nothing about the task. Trying many places
outside the writable scope suspends writing.
"""

from __future__ import annotations

from dataclasses import replace

from proctor.contract.policy import matches_command
from proctor.execute.monitor.breakers.breaker_settings import Settings
from proctor.execute.monitor.breakers.interface import (
    ALERT,
    NONE,
    NOTICE,
    QUARANTINE,
    SAFETY,
    SUSPEND_WRITE,
    VIOLATION,
    Trip,
    evidence_of,
)
from proctor.execute.monitor.payload_values import text, text_list
from proctor.execute.monitor.program_kinds import TEST, forms_of, program_name
from proctor.execute.monitor.run_state import RunState
from proctor.execute.monitor.severity_grades import Observation, harmless, observation_of
from proctor.record.trace.event import Event

MOST_REPORTED = 1000
"""How many different alerts are reported; after them only violations are."""

_LINE_CHARACTERS = 4096


def forbidden_form(argv: tuple[str, ...], path: str, commands: tuple[str, ...]) -> tuple[str, ...] | None:
    """The command line that one of the patterns ``commands`` means, by the name or by the file that was started."""
    forms = forms_of(argv, path)
    return next((form for form in forms if any(matches_command(pattern, form) for pattern in commands)), None)


def observe(event: Event, commands: tuple[str, ...], calls: tuple[str, ...]) -> Observation | None:
    """The observation in an event, for a policy that forbids ``commands`` and classes of system ``calls``."""
    if event.type == "guard.exec" or text(event.payload, "code") == "absent-program":
        argv = forbidden_form(text_list(event.payload, "argv"), text(event.payload, "path"), commands)
        if argv is not None:
            return Observation("forbidden-command", " ".join(argv)[:_LINE_CHARACTERS], program_name(argv), event.seq)
    observation = observation_of(event)
    if observation is not None and observation.code in [f"syscall-{name}" for name in calls]:
        return replace(observation, code="forbidden-syscall")
    return observation


class PolicyBreaker:
    """Alerts on observations about policy, and quarantines a run that violates it."""

    name = "policy"

    def __init__(self, facts: RunState, settings: Settings) -> None:
        self._facts = facts
        self._thresholds = settings.thresholds
        self._rules = settings.rules
        self._commands = settings.forbid_commands
        self._calls = settings.forbid_syscalls
        self._baseline = settings.baseline
        self._acted_on = frozenset({*settings.ask, *settings.rollback})
        self._reported: set[tuple[str, str, str]] = set()
        self._violations: list[int] = []

    def see(self, event: Event) -> tuple[Trip, ...]:
        if not self._facts.running:
            return ()
        observation = observe(event, self._commands, self._calls)
        if observation is None or observation.key in self._baseline or harmless(observation):
            return ()
        grade = self._grade(event, observation)
        if grade == NOTICE and observation.code not in self._acted_on:
            return ()
        if grade == VIOLATION and not (observation.code == "dns" and observation.key in self._reported):
            self._violations.append(event.seq)  # the guard and the name server both report each part of one look-up
        ending = self._ends(observation, grade)
        full = len(self._reported) >= MOST_REPORTED and grade != VIOLATION
        if not ending and (observation.key in self._reported or full):
            return ()
        self._reported.add(observation.key)
        signals = {
            "code": observation.code,
            "subject": observation.subject[:500],
            "program": observation.program[:200],
            "violations": len(self._violations),
        }
        about = f"{observation.code}: {observation.subject[:200]}"
        if ending:
            evidence = evidence_of(self._violations, event.seq)
            rationale = f"{about}; {len(self._violations)} violations of policy"
            return (Trip(self.name, SAFETY + observation.code, QUARANTINE, grade, rationale, evidence, signals),)
        return (Trip(self.name, observation.code, NONE, grade, about, (event.seq,), signals),)

    def _grade(self, event: Event, observation: Observation) -> str:
        if event.type == "words.hit" and observation.code not in self._rules:
            grade = text(event.payload, "grade")
            if grade in (NOTICE, ALERT, VIOLATION):
                return grade
        return observation.grade(self._rules)

    def _ends(self, observation: Observation, grade: str) -> bool:
        if grade != VIOLATION:
            return False
        return (
            observation.code in self._thresholds.quarantine_codes
            or len(self._violations) >= self._thresholds.violations
        )


class DeniedWrites:
    """Suspends writing after writes were tried at many places outside the writable scope."""

    name = "denied-writes"

    def __init__(self, facts: RunState, places: int, baseline: frozenset[tuple[str, str, str]]) -> None:
        self._facts = facts
        self._places = places
        self._baseline = baseline
        self._seen: dict[str, int] = {}
        self._unreported = 0
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running or event.type not in ("guard.attempt", "guard.more"):
            return ()
        observation = observation_of(event)
        if observation is None or observation.code != "write-outside" or event.payload.get("allowed") is True:
            return ()
        if harmless(observation) or observation.key in self._baseline:
            return ()
        if event.type == "guard.more":
            self._unreported += observation.count
        else:
            self._seen.setdefault(observation.subject, event.seq)
        places = len(self._seen) + self._unreported
        if places < self._places:
            return ()
        self._done = True
        rationale = f"writes were tried at {places} places outside the writable scope"
        signals = {"places": places, "threshold": self._places}
        evidence = evidence_of(list(self._seen.values()), event.seq)
        return (Trip(self.name, "denied-writes", SUSPEND_WRITE, ALERT, rationale, evidence, signals),)


class EarlyTests:
    """Reports a run of tests before the test stage, if the contract has stages."""

    name = "early-tests"

    def __init__(self, facts: RunState) -> None:
        self._facts = facts
        self._reported: set[str] = set()

    def see(self, event: Event) -> tuple[Trip, ...]:
        facts = self._facts
        if not facts.running or facts.stage in ("", "test") or facts.stage in self._reported:
            return ()
        for work in facts.calls.began:
            if TEST in work.kinds:
                self._reported.add(facts.stage)
                rationale = f"tests were run in the stage {facts.stage!r}, before the test stage"
                signals = {"stage": facts.stage, "program": program_name(work.argv)[:200]}
                return (Trip(self.name, "early-tests", NONE, ALERT, rationale, (event.seq,), signals),)
        return ()
