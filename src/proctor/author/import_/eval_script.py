"""What an evaluation script of SWE-bench would do, read as text: the runner, its options, variables and preambles.

Nothing is executed. A contract runs pytest itself, on the files that the ids name, so a line of the script matters only
if it changes what the tests see. Each such line is used or listed as lost; a runner whose results cannot be read makes
the task one that cannot be imported.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from proctor.author.import_.import_record import Losses, Refused

MARKS = (">>>>> Start Test Output", ">>>>> End Test Output")
HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z0-9_]+)\1")
EXPORT = re.compile(r"export ([A-Za-z_][A-Za-z0-9_]*)=(?:'([^']*)'|\"([^\"$`\\]*)\"|([^\s'\"$`\\;&|]*))\s*")
ROUTINE = re.compile(
    r"(?:#.*|set [-+].*|source .*|conda activate .*|cd (?:/testbed|/app|\.)/?|git (?:-c \S+ )?"
    r"(?:config|status|show|diff|checkout|apply|log|reset|stash)\b.*|: .*|export PATH=.*)?"
)
"""Lines that prepare the peer's container and have no effect on the tests."""
BUILD = re.compile(r"(?:python3? -m )?pip3? install .*|python3? setup\.py .*|.*\b(?:make|tox|nox)\b.*")
LOCALE = re.compile(r".*\blocale-gen\b.*|.*/etc/locale\.gen.*")
TAKEN = frozenset({"PATH", "HOME", "PWD", "USER", "SHELL", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"})
QUIET = re.compile(r"-r\w*|-v+|-q+|--verbose|--quiet|--tb=\S+|--color=\S+|--no-header|--durations=\S+|-x")
WITH_VALUE = frozenset({"-p", "-W", "-o", "-c", "-k", "-m", "-n"})
KEPT = frozenset({"-p", "-W", "-o"})
BY_REPOSITORY = {"django/django": "django", "sympy/sympy": "sympy"}
"""Repositories whose tests run by a program of their own; every other one has pytest."""


@dataclass(frozen=True)
class Evaluation:
    """How a script runs the tests."""

    runner: str
    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def evaluation(script: str, repo: str, losses: Losses) -> Evaluation:
    """What ``script`` says; without one, what the repository is known to use."""
    before, tests = _parts(script)
    variables: dict[str, str] = {}
    for line in before:
        match = EXPORT.fullmatch(line)
        if match and match[1] not in TAKEN:
            variables[match[1]] = next(group for group in match.groups()[1:] if group is not None)
        elif ROUTINE.fullmatch(line):
            continue
        elif LOCALE.fullmatch(line):
            variables.setdefault("LC_ALL", "C.UTF-8")
        elif BUILD.fullmatch(line):
            losses.add("build", line)
        else:
            losses.add("preamble", line)
    commands = [line for line in tests if not ROUTINE.fullmatch(line)]
    if not commands:
        return Evaluation(_known(BY_REPOSITORY.get(repo, "pytest"), losses), (), variables)
    own = _runner(commands)
    runner = _known(own, losses)
    return Evaluation(runner, _options(commands, losses) if own == runner else (), variables)


def _parts(script: str) -> tuple[list[str], list[str]]:
    """The commands before the tests and those of the tests; texts in here-documents are left out."""
    before: list[str] = []
    tests: list[str] = []
    into, end = before, ""
    if MARKS[0] not in script:
        into = tests
    for raw in script.splitlines():
        line = raw.strip()
        if end:
            end = "" if line == end else end
            continue
        if MARKS[0] in line:
            into = tests
            continue
        if MARKS[1] in line:
            break
        if match := HEREDOC.search(line):
            end = match[2]
        if line:
            into.append(line)
    return before, tests


def _runner(commands: list[str]) -> str:
    text = "\n".join(commands)
    for mark, runner in (("runtests.py", "django"), ("bin/test", "sympy"), ("pytest", "pytest"), ("tox", "pytest")):
        if mark in text:
            return runner
    raise Refused("runner", commands[-1])


def _known(runner: str, losses: Losses) -> str:
    """The runner that the contract uses."""
    if runner == "django":
        raise Refused("runner", "tests/runtests.py of django")
    if runner == "sympy":
        losses.add("runner-replaced", "bin/test")
    return "pytest" if runner == "sympy" else runner


def _options(commands: list[str], losses: Losses) -> tuple[str, ...]:
    """The options of pytest that change what tests see; files are named by the ids."""
    command = next((one for one in reversed(commands) if "pytest" in one or "tox" in one), "")
    try:
        words = shlex.split(command.split("|")[0].split(">")[0])
    except ValueError:
        losses.add("test-option", command)
        return ()
    program = next((place for place, word in enumerate(words) if word.endswith("pytest")), None)
    if program is None:
        losses.add("runner-replaced", command)
        return ()
    if any(word != "-m" and not word.startswith("python") for word in words[:program]):
        losses.add("preamble", " ".join(words[:program]))
    found: list[str] = []
    rest = iter(words[program + 1 :])
    for word in rest:
        if word in WITH_VALUE:
            value = next(rest, "")
            if word in KEPT:
                found += [word, value]
            else:
                losses.add("test-option", f"{word} {value}")
        elif word.startswith("-") and not QUIET.fullmatch(word):
            losses.add("test-option", word)
    return tuple(found)
