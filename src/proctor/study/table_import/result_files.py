"""Which tool wrote the files that are given as results, and the attempts in all of them.

Files of Harbor, Inspect, SWE-bench and mini-swe-agent are known by their content, not by their names. A folder stands
for the results in it. Files of different tools are refused, except trajectories beside their reports: rates of
different evaluations say nothing about each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from proctor.base.canonical import digest, sha256
from proctor.base.errors import UsageFault
from proctor.study.statements import Statement, statement
from proctor.study.table_import import harbor_results, inspect_results, mini_results, swebench_results
from proctor.study.table_import.result_sheet import MAX_ATTEMPTS, Attempt, Sheet, document, file_bytes

ZIP = b"PK"
FORMS = "a report of SWE-bench, a result of Harbor, a log of Inspect or a trajectory of mini-swe-agent"
FOUND_IN_FOLDERS = ("*.eval", "*/*.eval", f"*{mini_results.SUFFIX}", f"*/*{mini_results.SUFFIX}")


def is_result_file(start: bytes) -> bool:
    """Whether a file that begins with ``start`` is JSON or a zip archive; a table of results is neither."""
    return start.startswith(ZIP) or start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"


def read_sheet(paths: Sequence[Path], data: bytes | None = None) -> Sheet:
    """The attempts in all of ``paths``. ``data`` are the bytes of the only one, if they have been read."""
    reader = _Reader()
    for path in paths:
        reader.take(path, data)
    return reader.sheet()


def digest_of(sheet: Sheet) -> str:
    """The digest of the file that was read; of several, over their names and digests in their order by name."""
    files = sheet.files
    if len(files) == 1:
        return sha256(files[0][1])
    return digest(sorted([name, sha256(data)] for name, data in files))


class _Reader:
    """Collects attempts by tool."""

    def __init__(self) -> None:
        self.attempts: dict[str, list[Attempt]] = {}
        self.files: list[tuple[str, bytes]] = []
        self.notes: list[Statement] = []

    def take(self, path: Path, data: bytes | None = None) -> None:
        """Add the attempts of a file, or of the results in a folder."""
        if path.is_dir():
            for inner in _results_in(path):
                self.take(inner)
            return
        data = file_bytes(path) if data is None else data
        if data.startswith(ZIP):
            self.files.append((path.name, data))
            self._add(inspect_results.FORMAT, *inspect_results.from_archive(data, path.name))
            return
        if not is_result_file(data[:100]):
            hint = "several files must be results of other tools; join tables into one file"
            raise UsageFault("this is not JSON", where=str(path), hint=hint)
        record = document(data, path.name, missing_numbers=True)
        if harbor_results.is_job(record):
            self.files.append((f"{path.parent.name}/{path.name}", data))
            self._add(harbor_results.FORMAT, *harbor_results.job(record, path.parent, self.files))
            return
        self.files.append((path.name, data))
        if harbor_results.is_trial(record):
            self._add(harbor_results.FORMAT, [harbor_results.trial(record, f"{path.parent.name}/{path.name}")])
        elif inspect_results.is_log(record):
            self._add(inspect_results.FORMAT, *inspect_results.from_document(data, path.name))
        elif mini_results.is_trajectory(record):
            self._add(mini_results.FORMAT, [mini_results.attempt(record, path)])
        elif swebench_results.is_report(record):
            self._add(swebench_results.FORMAT, list(swebench_results.attempts(record, path)))
        else:
            hint = f"give {FORMS}, or a CSV file with a line for each attempt"
            raise UsageFault("this JSON is of no known tool", where=str(path), hint=hint)

    def _add(self, form: str, attempts: Sequence[Attempt], notes: tuple[Statement, ...] = ()) -> None:
        self.attempts.setdefault(form, []).extend(attempts)
        self.notes += notes
        if sum(map(len, self.attempts.values())) > MAX_ATTEMPTS:
            raise UsageFault(f"more than {MAX_ATTEMPTS:,} attempts", hint="analyse parts of them")

    def sheet(self) -> Sheet:
        """What was collected, from one tool."""
        run = self.attempts.pop(mini_results.FORMAT, [])
        if len(self.attempts) > 1 or (run and self.attempts.keys() - {swebench_results.FORMAT}):
            names = sorted([*self.attempts, *([mini_results.FORMAT] if run else [])])
            raise UsageFault(
                f"the files are of {' and '.join(names)}", hint="analyse the results of one tool at a time"
            )
        reported = self.attempts.get(swebench_results.FORMAT, [])
        if run or reported:
            attempts, notes = mini_results.joined(reported, run)
            form = swebench_results.FORMAT if reported else mini_results.FORMAT
            needed, outcome = swebench_results.NEEDED, swebench_results.OUTCOME
        else:
            ((form, attempts),) = self.attempts.items()
            source = harbor_results if form == harbor_results.FORMAT else inspect_results
            needed, outcome, notes = source.NEEDED, source.OUTCOME, ()
        read = statement("results-read", format=form, files=len(self.files), rows=len(attempts))
        return Sheet(form, tuple(attempts), tuple(self.files), needed, outcome, (read, *self.notes, *notes))


def _results_in(folder: Path) -> Iterator[Path]:
    """The results in a folder: of Harbor, else logs and trajectories, by name."""
    own = folder / harbor_results.RESULT
    if own.is_file() and not own.is_symlink():
        return iter((own,))
    found = {path for pattern in FOUND_IN_FOLDERS for path in folder.glob(pattern) if path.is_file()}
    paths = sorted(found) or list(harbor_results.trial_files(folder))
    if not paths:
        raise UsageFault("this folder has no results", where=str(folder), hint=f"give a folder or file with {FORMS}")
    return iter(paths)
