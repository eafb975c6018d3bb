"""Checks that are decided by an exit code alone.

There are no test ids. Code under test can end its process with any code, so such checks are marked as forgeable.
"""

from __future__ import annotations

from proctor.judge.checks.results_readers.interface import TestResults


def parse(data: bytes = b"") -> TestResults:
    """The results of a check without a result file: none, and complete."""
    return TestResults(complete=True)
