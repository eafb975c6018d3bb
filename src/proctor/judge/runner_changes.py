"""Which changes to the test runner count against a patch. Pure.

Projects that are, contain or extend a test runner change it on purpose: pytest-mock replaces methods of mocks, pytest
replaces methods of its own classes. What the base does never counts against a patch. So a change is left out when

    - the attempt was on the base itself,
    - the base changes the same part of the runner,
    - the code that made it is in a file that changes the runner on the base as well, or
    - it is in a file that the contract lists under ``policy.free_steering``.

The patch caused the remaining changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from proctor.execute.workspace.glob import matches
from proctor.judge.results.interface import RunnerChange, TestResults

Changes = tuple[RunnerChange, ...]


def that_count(results: TestResults, free_steering: Iterable[str], on_base: Callable[[], Changes]) -> TestResults:
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
