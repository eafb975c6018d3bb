"""What every reader of test results must do."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from proctor.judge.checks.results_readers.interface import OUTCOMES, TestResults
from proctor.judge.checks.results_readers.reader_registry import ResultsReader, find_reader, results_problems

ROUNDS = 300
LONG = 1 << 20


class ResultsReaderSuite:
    """Subclass with the ``name`` of a reader and ``examples``: complete files, each with the outcome of every test."""

    name: str
    examples: tuple[tuple[bytes, Mapping[str, str]], ...]

    def read(self, data: bytes) -> TestResults:
        """The valid answer of the reader to ``data``."""
        reader: ResultsReader = find_reader(self.name)
        results = reader(data)
        problems = list(results_problems(results))
        assert not problems, problems
        return results

    def test_complete_files_are_read(self) -> None:
        assert self.examples, "the suite needs an example"
        for data, outcomes in self.examples:
            results = self.read(data)
            assert results.complete, results.problem
            assert dict(results.outcomes) == dict(outcomes), results

    def test_an_empty_file_is_incomplete(self) -> None:
        results = self.read(b"")
        assert not results.complete and not results.outcomes, results

    def test_the_same_bytes_give_the_same_results(self) -> None:
        for data, _ in self.examples:
            one, other = self.read(data), self.read(data)
            assert one == other, (one, other)

    def test_a_file_that_lacks_lines_is_incomplete(self) -> None:
        for data, outcomes in self.examples:
            lines = data.splitlines(keepends=True)
            for count in range(len(lines)):
                results = self.read(b"".join(lines[:count]))
                assert not results.complete or dict(results.outcomes) == dict(outcomes), lines[:count]

    def test_a_cut_never_makes_a_test_pass(self) -> None:
        rank = {outcome: place for place, outcome in enumerate(OUTCOMES)}
        for data, outcomes in self.examples:
            for end in range(len(data)):
                for test, outcome in self.read(data[:end]).outcomes.items():
                    if test in outcomes:
                        assert not (outcome == "passed" and rank[outcomes[test]] > rank["skipped"]), (end, test)

    def test_bytes_that_are_no_results_never_raise(self) -> None:
        random = Random(20260307)
        for size in (1, 10, 1000):
            for _ in range(ROUNDS):
                data = random.randbytes(size)
                assert not self.read(data).outcomes or size > 1, data
        for data in (b"\0", b"\xff\xfe", b"a" * LONG, b"\n" * LONG, b"<" * LONG, b"[" * LONG, b"ok " * LONG):
            self.read(data)

    def test_changed_files_never_raise(self) -> None:
        random = Random(20260308)
        for data, _ in self.examples:
            for _ in range(ROUNDS):
                changed = bytearray(data)
                for _ in range(random.randint(1, 4)):
                    changed[random.randrange(len(changed))] = random.randrange(256)
                self.read(bytes(changed))
