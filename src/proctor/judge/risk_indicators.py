"""Risk indicators: reasons to review a run, whatever its verdict. Pure.

    harness          an added line outside of tests that could deceive a test runner, by the rules of the same file;
                     listed first
    regression       a test that the contract lists as passing before does not pass now
    security         an added line that a rule on security knows, by the rules of ``data/risks.jsonl``
    secret           an added line that holds a key, a token or a password by the rules on secrets; it is not repeated
    path             a changed file that builds, ships or guards the project
    dependency       a file that declares dependencies changed, or there is a finding about one
    mode             a file became executable
    churn            a change outside the modules that the task names, tests apart
    unread           a patch too large to be read whole

An indicator is a reason to look and proves nothing. It changes neither a gate nor a score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse
from proctor.judge.patch_policy.dependency_policy import declares
from proctor.judge.patch_policy.paths_of_tests import is_test
from proctor.judge.run_evidence import Evidence, pointer
from proctor.record.report_model import Indicator
from proctor.record.secrets import usual_rules

PATCH_BYTES = 4 << 20
LINE_CHARACTERS = 1000
"""How much of a patch, and of one of its lines, is read; a policy choice."""

_HUNK = rb"@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@"


@dataclass(frozen=True)
class Line:
    """One added line."""

    path: str
    number: int
    text: str


def added_lines(patch: bytes) -> Iterator[Line]:
    """Every added line within the bound."""
    head = re.compile(_HUNK)
    path, number, before, after = "", 0, 0, 0
    for line in patch[:PATCH_BYTES].split(b"\n"):
        if before <= 0 and after <= 0:
            found = head.match(line)
            if found:
                before, number, after = int(found[1] or 1), int(found[2]), int(found[3] or 1)
            elif line.startswith(b"+++ "):
                path = _path(line[4:])
        elif line.startswith(b"+"):
            yield Line(path, number, line[1 : LINE_CHARACTERS + 1].decode("utf-8", "replace"))
            number, after = number + 1, after - 1
        elif line.startswith(b"-"):
            before -= 1
        elif not line.startswith(b"\\"):
            number, before, after = number + 1, before - 1, after - 1


def _path(name: bytes) -> str:
    return name.split(b"\t")[0].strip(b'"').removeprefix(b"b/").decode("utf-8", "replace")


RULES = Path(__file__).parent / "data" / "risks.jsonl"
HARNESS = "harness"
TEXTS = (".md", ".rst", ".txt", ".adoc")
PASSAGE_LINES = 3
"""How many lines a ``harness`` rule reads together."""
MOST_PLACES = 20
PATCH, CHANGES = "workspace/final.patch", "workspace/changes.json"
DEPENDENCY_CODES = ("new-dependency", "undeclared-dependency", "foreign-registry", "unreadable-declarations")


@dataclass(frozen=True)
class Rule:
    """One rule: ``needs`` are lower-case words of which one must be there before ``pattern`` is tried at all."""

    id: str
    kind: str
    about: str
    needs: tuple[str, ...]
    pattern: str

    def wanted(self, lower: str) -> bool:
        """Whether the pattern may apply anywhere in a text, which is given in lower case."""
        return any(word in lower for word in self.needs)


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the file."""
    return tuple(
        Rule(one["id"], one["kind"], one["about"], tuple(one["needs"]), one["pattern"])
        for one in map(parse, RULES.read_bytes().splitlines())
    )


def indicators(evidence: Evidence) -> tuple[Indicator, ...]:
    """Every indicator with how often it was found and the first places, as a report holds them."""
    found: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for kind, name, about, where in _all(evidence):
        found.setdefault((kind, name), (about, []))[1].append(where)
    return tuple(
        Indicator(kind=kind, id=name, about=about, count=len(places), evidence=tuple(places[:MOST_PLACES]))
        for (kind, name), (about, places) in sorted(found.items(), key=lambda item: (item[0][0] != HARNESS, item[0]))
    )


def outside_targets(evidence: Evidence) -> tuple[str, ...]:
    """Changed paths outside the modules that the task names, tests apart; nothing where it names none."""
    modules = evidence.contract.task.targets.modules
    if not modules:
        return ()
    return tuple(path for path, _ in _changed(evidence) if not is_test(path) and not _within(path, modules))


def _all(evidence: Evidence) -> Iterator[tuple[str, str, str, str]]:
    for where in _regressions(evidence):
        yield "regression", "regression", "a test that passed before does not pass now", where
    yield from line_indicators(evidence.patch or b"")
    changed = list(_changed(evidence))
    by_path = [(rule, re.compile(rule.pattern)) for rule in rules() if rule.kind == "path"] if changed else []
    for path, executable in changed:
        where = f"{CHANGES}#{path}"
        for rule, expression in by_path:
            if rule.wanted(path.lower()) and expression.search(path):
                yield rule.kind, rule.id, rule.about, where
        if declares(path):
            yield "dependency", "declarations", "a file that declares dependencies changed", where
        if executable:
            yield "mode", "executable", "a file became executable", where
    for event in evidence.of("safety.finding"):
        if event.payload["code"] in DEPENDENCY_CODES:
            code = str(event.payload["code"])
            yield "dependency", code, "the policy has something to say about a dependency", pointer(event)
    for path in outside_targets(evidence):
        yield "churn", "outside-targets", "a change outside the modules that the task names", f"{CHANGES}#{path}"
    if len(evidence.patch or b"") > PATCH_BYTES:
        yield "unread", "unread", f"only {PATCH_BYTES} bytes of the patch were read", PATCH


def _regressions(evidence: Evidence) -> Iterator[str]:
    for check in evidence.contract.checks:
        kept = set(check.keep_passing)
        for event in evidence.attempts(check) if kept else ():
            if event.payload["tree"] == "patched" and kept.intersection(event.payload["failing"]):
                yield pointer(event)


def line_indicators(patch: bytes) -> Iterator[tuple[str, str, str, str]]:
    """The findings of rules on added lines in a patch: kind, id, sentence and place of each."""
    lines = list(added_lines(patch))
    if not lines:
        return
    whole = "\n".join(line.text for line in lines)
    for rule in rules():
        if rule.kind != "path" and rule.wanted(whole.lower()):
            expression = re.compile(rule.pattern)
            for index, line in enumerate(lines):
                if rule.kind == HARNESS and not _is_source(line.path):
                    continue
                match = expression.search(_passage(lines, index) if rule.kind == HARNESS else line.text)
                if match and match.start() <= len(line.text):
                    yield rule.kind, rule.id, rule.about, _place(line)
    data = whole.encode()
    for found in usual_rules().find(data):
        line = lines[data.count(b"\n", 0, found.start)]
        yield "secret", found.kind, "something that looks like a secret was added", _place(line)


def _is_source(path: str) -> bool:
    """Whether a file may be code that tests run, and is neither a test nor documentation."""
    return not is_test(path) and not path.lower().endswith(TEXTS)


def _passage(lines: list[Line], index: int) -> str:
    """An added line with the added lines that directly follow it, up to ``PASSAGE_LINES``."""
    first = lines[index]
    joined = [first.text]
    for line in lines[index + 1 : index + PASSAGE_LINES]:
        if (line.path, line.number) != (first.path, first.number + len(joined)):
            break
        joined.append(line.text)
    return "\n".join(joined)


def _place(line: Line) -> str:
    return f"{PATCH}#{line.path}:{line.number}"


def _changed(evidence: Evidence) -> Iterator[tuple[str, bool]]:
    """Every changed path, also if removed, and whether it has become executable."""
    for item in (evidence.changes or {}).get("changes", ()):
        before, after = item.get("before"), item.get("after")
        yield str(item["path"]), _executable(after) and not _executable(before)


def _executable(side: Any) -> bool:
    return bool(side) and str(side.get("mode", "")).endswith("755")


def _within(path: str, modules: Iterable[str]) -> bool:
    """Whether ``path`` belongs to a module: a file, a directory, or a dotted name at any depth."""
    for module in modules:
        plain = module.rstrip("/")
        if path == plain or path.startswith(plain + "/"):
            return True
        dotted = plain.replace(".", "/")
        stem = "/" + path.rpartition(".")[0]
        if "/" not in plain and (stem.endswith("/" + dotted) or f"/{dotted}/" in stem):
            return True
    return False
