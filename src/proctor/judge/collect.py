"""Result files taken out of a sandbox that is gone: bounded, and with no link followed.

The directory was writable for code under test, so names, types and sizes in it mean nothing. Whatever is not a plain
file of a sane size becomes incomplete results with the reason; nothing here raises on what it finds.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.base.names import name_text
from proctor.contract.model import Check
from proctor.judge.results import exit_code, junit, pytest, tap
from proctor.judge.results.interface import RESULT_BYTES, TestResults, merged

MOST_FILES = 256


def collect(check: Check, directory: Path, key: bytes) -> TestResults:
    """What the result files of one attempt say. ``key`` is the one that the pytest plugin was given."""
    if check.results == "exit-code":
        return exit_code.parse()
    if check.results == "pytest":
        return _parsed(directory, "pytest-*.jsonl", lambda data: pytest.parse(data, key))
    if check.results == "junit":
        return _parsed(directory, check.results_file, junit.parse)
    return _parsed(directory, check.results_file, tap.parse)


def _parsed(directory: Path, pattern: str, parse: Callable[[bytes], TestResults]) -> TestResults:
    """All files of ``directory`` that ``pattern`` names, as one."""
    try:
        names = _names(directory, pattern)
    except OSError as error:
        return TestResults(problem=f"the results directory: {error.strerror}")
    if not names:
        return TestResults(problem=f"no result file {pattern}")
    if len(names) > MOST_FILES:
        return TestResults(problem=f"more than {MOST_FILES} result files")
    several = []
    left = RESULT_BYTES
    for name in names:
        try:
            data = read_bounded(directory / name, left)
        except InfrastructureFault as error:
            return TestResults(problem=f"{name_text(os.fsencode(name))}: {error.message}")
        except OSError as error:
            return TestResults(problem=f"{name_text(os.fsencode(name))}: {error.strerror}")
        left -= len(data)
        several.append(parse(data))
    return several[0] if len(several) == 1 else merged(several)


def _names(directory: Path, pattern: str) -> list[str]:
    """The names in ``directory`` itself that match; directories below it are not entered."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name == pattern or fnmatch.fnmatchcase(entry.name, pattern):
                found.append(entry.name)
                if len(found) > MOST_FILES:
                    break
    return sorted(found)
