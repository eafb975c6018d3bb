"""JUnit XML, as written by many runners.

An id is ``classname::name``, or the name alone where there is no class name. Document types and entities are refused
before anything is expanded; nesting, names and the number of cases are bounded; expat reads as a stream.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from proctor.judge.checks.results_readers.interface import (
    MAX_DEPTH,
    RESULT_BYTES,
    Collector,
    TestResults,
    TooMuch,
    clean_text,
)

_CHUNK = 1 << 16


def parse(data: bytes) -> TestResults:
    """The outcomes in a JUnit file; incomplete when it is cut, malformed or hostile."""
    if len(data) > RESULT_BYTES:
        return TestResults(problem=f"larger than {RESULT_BYTES} bytes")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.EntityDeclHandler = _refuse_doctype
    try:
        for start in range(0, len(data), _CHUNK):
            parser.Parse(data[start : start + _CHUNK], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        return reader.collector.results(f"not well-formed XML: {error}")
    except (TooMuch, UnicodeError, LookupError, ValueError) as error:
        return reader.collector.results(clean_text(str(error)) or "unreadable XML")
    if not reader.suites:
        return reader.collector.results("no <testsuite> in the file")
    return reader.collector.results()


def _refuse_doctype(*_: Any) -> None:
    raise TooMuch("a document type is declared, which is refused")


class _Reader:
    """Keeps the open elements, and the outcome of the case that is being read."""

    def __init__(self) -> None:
        self.collector = Collector()
        self.depth = 0
        self.suites = 0
        self._case = ""
        self._case_depth = 0
        self._outcome = "passed"

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooMuch(f"nested deeper than {MAX_DEPTH}")
        if name in ("testsuite", "testsuites"):
            self.suites += 1
        elif name == "testcase" and not self._case_depth:
            self._case_depth = self.depth
            group, own = attributes.get("classname", ""), attributes.get("name", "")
            self._case = clean_text(f"{group}::{own}" if group else own)
            self._outcome = {"failed": "failed", "fail": "failed", "error": "error"}.get(
                attributes.get("result", attributes.get("status", "")), "passed"
            )
        elif self._case_depth and self.depth == self._case_depth + 1:
            self._child(name)

    def _child(self, name: str) -> None:
        if name == "failure":
            self._outcome = "failed"
        elif name == "error" and self._outcome != "failed":
            self._outcome = "error"
        elif name == "skipped" and self._outcome == "passed":
            self._outcome = "skipped"

    def end(self, name: str) -> None:
        if self._case_depth and self.depth == self._case_depth:
            self.collector.add(self._case, self._outcome)
            self._case_depth = 0
        self.depth -= 1
