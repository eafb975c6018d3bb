"""Run the tests and write TAP: one line for each test, named ``module.Class.method``."""

import os
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class TapResult(unittest.TestResult):
    """Collects one outcome for each test."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}
        self.notes = {}

    def _note(self, test, outcome, error=None):
        if self.outcomes.get(test.id()) != "not ok":
            self.outcomes[test.id()] = outcome
        if error is not None:
            self.notes[test.id()] = self._exc_info_to_string(error, test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "ok")

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "not ok", err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "not ok", err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "not ok", err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skip", None)


def tap(result):
    """The results as TAP, with the trace back of each failure behind ``#``."""
    lines = ["TAP version 13", f"1..{len(result.outcomes)}"]
    for number, (name, outcome) in enumerate(result.outcomes.items(), 1):
        status = "not ok" if outcome == "not ok" else "ok"
        lines.append(f"{status} {number} - {name}{' # SKIP' if outcome == 'skip' else ''}")
        lines += [f"# {line}" for line in result.notes.get(name, "").splitlines()]
    return "\n".join(lines) + "\n"


def main():
    sys.path[:0] = [str(HERE.parent), str(HERE)]
    suite = unittest.TestLoader().discover(str(HERE), top_level_dir=str(HERE))
    result = TapResult()
    suite.run(result)
    directory = os.environ.get("PROCTOR_RESULTS")
    if directory:
        Path(directory, "tests.tap").write_text(tap(result), encoding="utf-8")
    else:
        sys.stdout.write(tap(result))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
