"""The pytest plugin of exported tasks: one JSON line for each report, and a last one when the session is over.

It takes part in the first session only: sessions that tests start themselves have their own options again.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest


class Results:
    """Writes the lines of one session."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._process = os.getpid()

    def line(self, record: dict[str, Any]) -> None:
        """Append a line; a forked child of the session stays silent."""
        if os.getpid() == self._process:
            os.write(self._file, json.dumps(record).encode("ascii") + b"\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test."""
        self.line({"id": report.nodeid, "when": report.when, "outcome": report.outcome})

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        """The collection of a file."""
        if report.failed:
            self.line({"id": report.nodeid, "when": "collect", "outcome": "failed"})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """The end of the session."""
        self.line({"status": int(exitstatus)})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: Any) -> None:
    """Take part in a session whose environment names the directory of results."""
    directory = os.environ.pop("PROCTOR_EXPORT_RESULTS", "")
    if not directory or hasattr(config, "workerinput"):
        return
    options = os.environ.pop("PROCTOR_EXPORT_OPTIONS", "")
    config.option.maxfail = 0
    config.pluginmanager.register(Results(os.path.join(directory, "pytest.jsonl")), "proctor-export-results")
    if options:
        os.environ["PYTEST_ADDOPTS"] = options
    else:
        os.environ.pop("PYTEST_ADDOPTS", None)
