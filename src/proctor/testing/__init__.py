"""Conformance suites for the parts that packages provide: classes of tests to subclass in a package's own tests.

    from proctor.testing import ResultsReaderSuite

    class TestLines(ResultsReaderSuite):
        name = "acme-lines"
        examples = ((b"ok one\\nend\\n", {"one": "passed"}),)

``name`` is the name of an entry point, so the package has to be installed. The suites need pytest and nothing else.
Proctor's own tests run the same suites on the built-in parts.
"""

from __future__ import annotations

from proctor.testing.adapter_suite import AdapterSuite
from proctor.testing.agent_suite import AgentSuite
from proctor.testing.breaker_suite import BreakerSuite
from proctor.testing.dialect_suite import DialectSuite
from proctor.testing.input_source_suite import InputSourceSuite
from proctor.testing.report_section_suite import ReportSectionSuite
from proctor.testing.results_reader_suite import ResultsReaderSuite
from proctor.testing.sandbox_suite import SandboxSuite

__all__ = [
    "AdapterSuite",
    "AgentSuite",
    "BreakerSuite",
    "DialectSuite",
    "InputSourceSuite",
    "ReportSectionSuite",
    "ResultsReaderSuite",
    "SandboxSuite",
]
