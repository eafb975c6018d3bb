"""From one fix to one proven contract: environment, text, files, proof, lists, and what a person should look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.author.contract_edit import with_field
from proctor.author.mine import python_environment
from proctor.author.mine.contract_files import Remark, is_generated_only, line_of, write_contract
from proctor.author.mine.environment import Environment
from proctor.author.mine.issue_export import Issue
from proctor.author.mine.known_fix import KnownFix, UnfitFix
from proctor.author.mine.proof import Proof, prove, write_lists
from proctor.author.mine.python_resolution import Resolver
from proctor.author.mine.quality import Quality, measure
from proctor.author.mine.task_text import TaskText, draft
from proctor.base.files import read_bounded, write_whole
from proctor.conduct.machine_setup import Machine
from proctor.contract.load import CONTRACT_BYTES, CONTRACT_NAME

MOST_PLACES = 5
"""The most lines that are listed for one remark about test files."""


@dataclass(frozen=True)
class Made:
    """A contract in ``directory``, with all that was learnt about it."""

    directory: Path
    environment: Environment
    text: TaskText
    quality: Quality
    proof: Proof
    remarks: tuple[Remark, ...]


def infer_environment(fix: KnownFix, resolver: Resolver, seconds: int) -> Environment:
    """The environment of ``fix``, of the language that its tests are in."""
    if python_environment.is_python(fix):
        return python_environment.for_fix(fix, resolver, seconds)
    hint = "the fix must change Python source files and Python test files; write other contracts by hand"
    raise UnfitFix("language", "no environment can be inferred for this fix", hint=hint)


def make_contract(
    machine: Machine,
    fix: KnownFix,
    directory: Path,
    name: str,
    resolver: Resolver,
    seconds: int,
    times: int,
    jobs: int = 1,
    after_attempt: Callable[[], None] = lambda: None,
    issues: Mapping[int, Issue] | None = None,
) -> Made:
    """Write and prove the contract ``name``. It stays where the proof fails, so that a person can repair it."""
    if is_generated_only(fix):
        hint = "choose a commit that changes source files and their tests; proctor mine finds such commits"
        raise UnfitFix("no-source", "the fix changes no source file of the project", hint=hint)
    text = draft(fix, issues)
    environment = infer_environment(fix, resolver, seconds)
    with machine.scratch("reference") as scratch:
        write_contract(directory, name, fix, environment, text, "bug-fix", scratch)
    names = frozenset(text.new_names)
    proof = prove(machine, directory, names, lambda one: mentions(text, one), times, jobs, after_attempt)
    if not proof.reason:
        write_lists(directory, proof)
        _write_kind(directory, proof.kind)
    quality = measure(fix, text)
    return Made(
        directory, environment, text, quality, proof, tuple(_remarks(directory, fix, environment, text, quality, proof))
    )


def mentions(text: TaskText, name: str) -> bool:
    """Whether the text has a name, as a word of its own."""
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.whole))


def _write_kind(directory: Path, kind: str) -> None:
    path = directory / CONTRACT_NAME
    text = read_bounded(path, CONTRACT_BYTES).decode()
    changed = with_field(text, ("contract",), "kind", kind)
    if changed is not None:
        write_whole(path, changed.encode())


def _remarks(
    directory: Path, fix: KnownFix, environment: Environment, text: TaskText, quality: Quality, proof: Proof
) -> Iterator[Remark]:
    """What a person should look at, with places."""
    form, issue = directory / CONTRACT_NAME, "issue.md"
    source = ", ".join(text.sources) or "nothing: the fix has neither a changelog entry nor a message"
    yield Remark(issue, 1, "draft", f"drafted from {source}; check that it states the behaviour that the tests want")
    if not text.sufficient:
        yield Remark(issue, 1, "short-text", f"only {text.words} words: describe what happens and what should happen")
    for name in text.leaked[:MOST_PLACES]:
        line = next((n for n, one in enumerate(text.whole.splitlines(), 1) if name in one), 1)
        yield Remark(issue, line, "leak", f"{name} is a name that the solution brings; does the task need it?")
    if text.removed:
        yield Remark(issue, 1, "removed", f"left out of the text: {', '.join(text.removed)}")
    for code, names, what in (
        ("hidden-name", quality.hidden_names, "which the solution brings and the issue does not have"),
    ):
        for name in names[:MOST_PLACES]:
            for file, line in _places(fix, re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), 1):
                yield Remark(file, line, code, f"the test uses {name}, {what}")
    for code, pattern, what in (
        (
            "message",
            r"\bmatch\s*=|assertRaisesRegex|str\(e\w*(?:\.value)?\)\s*==",
            "compares a message: does the issue have it?",
        ),
        ("network", r"\burlopen\b|\brequests\.(?:get|post)|\bsocket\.", "opens a connection: checks have no network"),
        ("snapshot", r"\bsnapshot\b", "compares with a snapshot: other right solutions may differ"),
    ):
        for file, line in _places(fix, re.compile(pattern), MOST_PLACES):
            yield Remark(file, line, code, f"the test {what}")
    lists = line_of(form, "must_pass")
    for code, tests, what in (
        ("unsteady", proof.unsteady, "do not always have the same outcome and are in no list"),
        ("order", proof.dependent, "depend on the order of the tests and are not in must_pass"),
        ("hidden-interface", proof.hidden, "need a name that the issue does not have and are not in must_pass"),
    ):
        if tests:
            shown = ", ".join(tests[:3]) + (", ..." if len(tests) > 3 else "")
            yield Remark(
                CONTRACT_NAME, lists or line_of(form, "- id: tests"), code, f"{len(tests)} tests {what}: {shown}"
            )
    for note in environment.notes[:MOST_PLACES]:
        yield Remark(CONTRACT_NAME, line_of(form, "inputs:"), "environment", note)
    hints = [one for one in environment.evidence if one.file.startswith((".github/", ".travis", ".gitlab"))]
    for one in hints[:1]:
        yield Remark(CONTRACT_NAME, line_of(form, "run: [") or 1, "ci", f"CI runs {one.what!r} ({one.file}:{one.line})")
    for changed in fix.others:
        if changed.kind == "build":
            line = line_of(directory / "reference.patch", f"diff --git a/{changed.path} ")
            what = f"the solution changes {changed.path}; the judge restores what steers the test runner in it"
            yield Remark("reference.patch", line, "build-file", what)
    removed = [one.path for one in fix.tests if one.after is None]
    if removed:
        what = f"the fix removes test files, which stay in the tree: {', '.join(removed[:3])}"
        yield Remark(CONTRACT_NAME, line_of(form, "hidden:"), "removed-tests", what)


def _places(fix: KnownFix, pattern: re.Pattern[str], most: int) -> Iterator[tuple[str, int]]:
    """The first new lines of hidden tests that have a pattern."""
    count = 0
    for one in fix.tests:
        if one.after is None or not one.path.endswith(".py"):
            continue
        before = set((one.before[1] if one.before else b"").decode("utf-8", "replace").splitlines())
        for number, line in enumerate(one.after[1].decode("utf-8", "replace").splitlines(), 1):
            if count < most and line not in before and pattern.search(line):
                count += 1
                yield f"hidden/{one.path}", number
