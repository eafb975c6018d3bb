"""Which commits of a history may be a task, by cheap rules, and the codes of all reasons to reject one. Pure.

Every rejected commit has one reason. Reasons that are a matter of taste can be admitted by name; the others say that no
contract can be made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.author.mine.path_kinds import LOCK, SOURCE, TEST, VENDORED, kind_of, usable_path
from proctor.execute.workspace.git_history import LINK, SUBMODULE, CommitFacts, PathChange

MOST_SOURCE_FILES = 10
MOST_SOURCE_LINES = 1000
MOST_MERGED = 30
"""The most commits that a merge may bring: more are a bundle."""

REASONS: dict[str, str] = {
    "first-commit": "the first commit has no base",
    "no-tests": "changes no tests",
    "no-source": "changes no source files of the project",
    "bot": "written by a bot",
    "revert": "reverts another commit",
    "release": "prepares a release",
    "merge-bundle": "a merge of many commits",
    "dependencies": "updates dependencies",
    "vendored": "changes vendored code",
    "style": "says that it changes style, types, or documentation",
    "too-large": "changes too many files or lines",
    "file-names": "has file names that a contract cannot carry",
    "submodule": "has submodules",
    "link-in-tests": "makes a link of a test file",
    "no-test-module": "changes no file with tests that can be run",
    "language": "is in a language without inferred environments",
    "short-text": "says too little about itself",
    "interpreter": "needs another interpreter",
    "environment": "needs packages for which there are no wheels",
    "setup": "its set-up fails",
    "contract": "its contract would be refused",
    "imports": "its modules cannot be imported from the tree",
    "gold-passes-no-test": "with the fix no test passes",
    "gold-fails": "with the fix the tests do not end normally",
    "reference-does-not-apply": "the patch does not apply",
    "no-fail-to-pass": "no test fails before and passes after",
    "base-hangs": "the base gives no results",
    "order-dependent": "its tests fail only after other tests",
    "hidden-interface": "its tests need names that the text does not have",
    "collection-error": "its tests cannot be collected on the base",
    "by-hand": "a person rejected it in rejected.txt",
    "invalid": "validate refused its contract",
    "machine": "this machine could not judge it",
}
"""Every reason with its description."""

ADMITTABLE = frozenset(
    ("bot", "revert", "release", "merge-bundle", "dependencies", "vendored", "style", "too-large", "short-text")
)
"""Reasons that ``--admit`` sets aside."""

_BOT = re.compile(
    r"\[bot\]|\b(?:dependabot|renovate|pre-commit-ci|github-actions|greenkeeper|snyk|pyup)\b", re.IGNORECASE
)
_REVERT = re.compile(r"\s*(?:this )?reverts?\b", re.IGNORECASE)
_RELEASE = re.compile(
    r"\s*(?:release(?: version| of)? v?[0-9]|"
    r"v?[0-9]+\.[0-9][\w.]*\s*\Z|bump(?:ed)? version|"
    r"prepare(?: for)?(?: the)? release|"
    r"version (?:bump|[0-9])|start (?:version )?[0-9.]+|set version|preparing release|"
    r"merge (?:branch )?'?(?:stable|release|main))",
    re.IGNORECASE,
)
_DEPENDENCIES = re.compile(
    r"\s*(?:bump|update|upgrade) (?:the )?(?:[\w.@/-]+ (?:from|to|requirement)\b|dependenc|requirements|lock)", re.I
)
_STYLE = re.compile(
    r"\s*(?:(?:style|chore|docs?|ci|build|test|typing)(?:\([^)]*\))?!?: |"
    r"(?:run |apply |use )?(?:black|isort|ruff|pyupgrade)\b|"
    r"(?:fix |improve |add |update )?(?:typos?|"
    r"type (?:hints?|annotations?)|typing|formatting|linting|lint|docstrings?|mypy)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Rules:
    """What the caller admits and how large a fix may be."""

    admitted: frozenset[str] = frozenset()
    source_files: int = MOST_SOURCE_FILES


def by_message(facts: CommitFacts, merged: int) -> str:
    """The reason to reject a commit for its message, author or kind; empty if there is none."""
    subject = next((line for line in facts.message.splitlines() if line.strip()), "")
    if not facts.parents:
        return "first-commit"
    if _BOT.search(facts.author):
        return "bot"
    if _REVERT.match(subject) or re.search(r"^This reverts commit ", facts.message, re.MULTILINE):
        return "revert"
    if _RELEASE.match(subject):
        return "release"
    if _DEPENDENCIES.match(subject):
        return "dependencies"
    if merged > MOST_MERGED:
        return "merge-bundle"
    return "style" if _STYLE.match(subject) else ""


def by_paths(changes: Sequence[PathChange], rules: Rules) -> str:
    """The reason to reject a commit for the files that it changes; empty if there is none."""
    paths = [usable_path(one.path) for one in changes]
    kinds = [kind_of(path) for path in paths if path]
    tests = [one for one, path in zip(changes, paths, strict=True) if path and kind_of(path) == TEST and one.after]
    sources = kinds.count(SOURCE)
    if not sources:
        only = set(kinds) <= {VENDORED, LOCK, TEST}
        return "vendored" if VENDORED in kinds and only else "no-source"
    if not tests:
        return "no-tests"
    if not all(paths):
        return "file-names"
    if any(SUBMODULE in (one.before, one.after) for one in changes):
        return "submodule"
    if any(one.after == LINK for one in tests):
        return "link-in-tests"
    if VENDORED in kinds and "vendored" not in rules.admitted:
        return "vendored"
    if sources > rules.source_files and "too-large" not in rules.admitted:
        return "too-large"
    return ""
