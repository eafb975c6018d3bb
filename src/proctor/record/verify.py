"""Whether a run directory is still what was sealed.

    intact     every file, mode, event and digest is as the seal says, the trace is complete (T7), and the records agree
    partial    the same, except for what an approved retention act removed; its digests prove what was removed
    unsealed   there is no seal: the run continues, was cut, or its seal was removed; the finished events are consistent
    broken     anything else, and the problems name the file or the event

Nothing in the directory is trusted: links are not followed, only regular files are opened, sizes
are compared before content is read, one line of the log is held at a time, and JSON is bounded. A gap in a run whose
report says ``invalid`` is not a problem: the status covers it. A copy may have any name that is not the id of
another run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from proctor.base.clock import RUN_ID
from proctor.base.errors import BrokenSeal, InfrastructureFault, UsageFault
from proctor.record import retain, reviews
from proctor.record.completeness import TraceContents, bounded_lines, check_manifest, patch_paths
from proctor.record.consistency import Records, Summary, inconsistencies
from proctor.record.run_directory import Problem, RunDirectory, is_held
from proctor.record.seal import DirectoryEntry, Seal, SealedFile, hash_file, load_seal, mode_text, open_regular, walk
from proctor.record.trace.chain import Chain
from proctor.record.trace.event import EVENT_BYTES, Event
from proctor.record.trace.reader import open_trace

MOST_PROBLEMS = 100
SEAL_MODE = "0644"
BESIDE = ("attestation.json", "attestation.tsr", reviews.NAME, retain.NAME)
"""Files that may be added to a sealed run; ``signing.attestation`` checks the first two with the signer's key."""


@dataclass(frozen=True)
class Verification:
    """The finding, how many events are consistent, and the digest of the seal to compare with one noted elsewhere.

    ``run_id`` is the id in a sealed manifest, empty where that was not read; ``retained`` the retention act, if any,
    and ``not_removed`` what it removes and is still there, as after a crash.
    """

    status: str
    problems: tuple[Problem, ...]
    events: int
    digest: str = ""
    run_id: str = ""
    retained: retain.RemovedEvidence | None = None
    not_removed: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong: everything is there, or everything except what was removed with approval."""
        return self.status in ("intact", "partial")


def verify(run: RunDirectory) -> Verification:
    """Check everything in ``run``."""
    if not run.path.is_dir():
        raise UsageFault("there is no run directory", where=str(run.path))
    if not os.path.lexists(run.seal):
        return _unsealed(run)
    examination = _Examination(run)
    try:
        seal = load_seal(run)
    except BrokenSeal as error:
        examination.add(error.where, error.message)
        examination.check_chain()
        return examination.finding("broken", "")
    examination.check_retention(seal)
    examination.check_files(seal)
    examination.check_log(seal)
    examination.check_reviews(seal)
    if not examination.problems:
        examination.check_meaning(seal)
    whole = "partial" if examination.retained else "intact"
    return examination.finding("broken" if examination.problems else whole, seal.digest)


def _unsealed(run: RunDirectory) -> Verification:
    examination = _Examination(run)
    torn = examination.check_chain() if os.path.lexists(run.events) else 0
    broken = bool(examination.problems)
    if torn:
        examination.add(
            f"events.jsonl#{examination.chain.count}", f"{torn} bytes of an unfinished event, as a crash leaves them"
        )
    if is_held(run):
        examination.add("seal.json", "missing: the run is still running")
    elif os.path.lexists(run.report):
        examination.add("seal.json", "missing: the run was cut before it was sealed, or its seal was removed")
    else:
        examination.add("seal.json", "missing: the run was cut")
    return examination.finding("broken" if broken else "unsealed", "")


class _Examination:
    """The state of one verification."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self.chain = Chain()
        self.contents = TraceContents()
        self.summary = Summary()
        self.problems: list[Problem] = []
        self.retained: retain.RemovedEvidence | None = None
        self._still: list[str] = []
        self._without = 0
        self._wrong: int | None = None
        self._unlisted = 0
        self._run_id = ""

    def add(self, where: str, message: str, code: str = "") -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(where, message, code))
        else:
            self._unlisted += 1

    def finding(self, status: str, digest: str) -> Verification:
        problems = self.problems
        if self._unlisted:
            problems = [*problems, Problem(".", f"and {self._unlisted} more problems")]
        still = tuple(self._still)
        return Verification(status, tuple(problems), self.chain.count, digest, self._run_id, self.retained, still)

    def check_retention(self, seal: Seal) -> None:
        """Read what was removed with approval, before missing files are reported."""
        try:
            self.retained = retain.read_retention(self.run, seal)
        except BrokenSeal as error:
            self.add(error.where, error.message)
        except (InfrastructureFault, OSError) as error:
            self.add(retain.NAME, f"cannot be read: {error}")
        self.chain = Chain(removed=self.retained is not None)

    def check_files(self, seal: Seal) -> None:
        """Compare the files in the directory with the seal, in both directions."""
        missing = {**seal.files, **seal.directories}
        for found in walk(self.run.path, seal.directories.__contains__):
            missing.pop(found.path, None)
            information = found.information
            if information is None:
                self.add(found.path, found.problem)
            elif found.path == "seal.json":
                self._check_mode(found.path, information, SEAL_MODE)
            elif found.path in seal.directories:
                if stat.S_ISDIR(information.st_mode):
                    self._check_mode(found.path, information, seal.directories[found.path])
                else:
                    self.add(found.path, f"was a directory when it was sealed, and is {_kind(information)}")
            elif found.path in seal.files:
                self._check_file(found, information, seal.files[found.path])
            elif found.path in BESIDE and stat.S_ISREG(information.st_mode):
                self._check_mode(found.path, information, SEAL_MODE)
            else:
                self.add(found.path, f"{_kind(information)} that is not in the seal: added or renamed")
        removed = self.retained.files if self.retained else frozenset[str]()
        self._still = sorted(removed - missing.keys())
        for path in (path for path in missing if path not in removed):
            self.add(path, "is in the seal and not in the directory: removed or renamed")

    def _check_mode(self, path: str, information: os.stat_result, expected: str) -> None:
        mode = mode_text(information.st_mode)
        if mode != expected:
            self.add(path, f"its mode is {mode} and was {expected}")

    def _check_file(self, found: DirectoryEntry, information: os.stat_result, sealed: SealedFile) -> None:
        if not stat.S_ISREG(information.st_mode):
            self.add(found.path, f"was a file when it was sealed, and is {_kind(information)}")
            return
        self._check_mode(found.path, information, sealed.mode)
        if found.path == "events.jsonl" and self.retained and information.st_size == self.retained.log_bytes:
            return
        if information.st_size != sealed.bytes:
            self.add(found.path, f"holds {information.st_size} bytes and held {sealed.bytes}")
            return
        if found.path == "events.jsonl":
            return
        try:
            handle = open_regular(found)
        except OSError as error:
            self.add(found.path, f"cannot be read: {error.strerror}")
            return
        try:
            size, digest = hash_file(handle, sealed.bytes)
        finally:
            os.close(handle)
        if size != sealed.bytes or digest != sealed.sha256:
            self.add(found.path, "its content was changed")
        elif found.path.startswith("blobs/") and found.path != f"blobs/{digest}":
            self.add(found.path, "its name is not the digest of its content")

    def check_chain(self, most: int | None = None, digest: Any = None) -> int:
        """Follow the log to its end or first break; how many bytes follow the last newline."""
        try:
            with open_trace(self.run.events) as file:
                while line := file.readline(EVENT_BYTES + 1):
                    if most is not None and self.chain.count == most:
                        raise BrokenSeal("is after the last event of the seal", where=f"events.jsonl#{most}")
                    if most is None and not line.endswith(b"\n") and len(line) <= EVENT_BYTES:
                        return len(line)
                    self._see(self.chain.take(line))
                    if digest is not None:
                        digest.update(line)
        except BrokenSeal as error:
            self.add("events.jsonl" if "#" not in error.where else error.where, error.message)
        return 0

    def _see(self, event: Event) -> None:
        """Add one event, and check whether its payload is present or removed as the retention act requires."""
        self.contents.add(event)
        self.summary.add(event)
        removed = not event.salt
        self._without += removed
        if self._wrong is None and removed == (event.type in retain.KEPT_EVENTS):
            self._wrong = event.seq

    def check_log(self, seal: Seal) -> None:
        """Compare the events with each other and with the seal."""
        if "events.jsonl" not in seal.files:
            self.add("events.jsonl", "is not in the seal")
            return
        before = len(self.problems)
        digest = sha256()
        self.check_chain(seal.count, digest)
        if len(self.problems) > before:
            return
        if self.chain.count < seal.count:
            self.add(f"events.jsonl#{self.chain.count}", f"is missing, with all up to the last of {seal.count} events")
        elif self.chain.head != seal.head or self.chain.root() != seal.root:
            self.add(f"events.jsonl#{self.chain.count - 1}", "the events are consistent but are not those of the seal")
        elif digest.hexdigest() not in self._logs(seal):
            self.add("events.jsonl", "its content was changed")
        elif self.retained and digest.hexdigest() == self.retained.log_sha256:
            self._check_removed(self.retained)
        elif self.retained:
            self._still.append("events.jsonl")

    def _check_removed(self, act: retain.RemovedEvidence) -> None:
        """Whether the log lacks those payloads that its tier removes, and no others, and as many as the act says."""
        if self._wrong is not None:
            self.add(f"events.jsonl#{self._wrong}", "its payload was removed or kept against the rule of the tier")
        if self._without != act.events:
            message = f"says that {act.events} payloads were removed, and {self._without} are missing in events.jsonl"
            self.add(f"{retain.NAME}#0", message)

    def _logs(self, seal: Seal) -> tuple[str, ...]:
        """The allowed digests of the log: the sealed one, or the one after a retention act."""
        sealed = seal.files["events.jsonl"].sha256
        return (sealed, self.retained.log_sha256) if self.retained else (sealed,)

    def check_reviews(self, seal: Seal) -> None:
        """Check the reviews, which were added after the seal, against their chain and the notes in the home."""
        try:
            reviews.read_reviews(self.run, seal.digest, reviews.noted_heads(self.run))
        except BrokenSeal as error:
            self.add(error.where, error.message)
        except (InfrastructureFault, OSError) as error:
            self.add(reviews.NAME, f"cannot be read: {error}")

    def check_meaning(self, seal: Seal) -> None:
        """Whether the files, which match the seal, contain what a finished run requires."""
        run, values, gaps = self.run, dict[str, Any](), list[Problem]()
        for path in (run.manifest, run.contract, run.report, run.changes, run.results):
            name = run.name(path)
            values[name] = None
            if name in seal.files:
                try:
                    values[name] = run.read_json(path)
                except BrokenSeal as error:
                    self.add(error.where, error.message)
            elif path in (run.manifest, run.contract, run.report):
                gaps.append(Problem(name, "is not part of the run"))
        if values["manifest.json"] is not None:
            gaps.extend(Problem("manifest.json", text) for text in check_manifest(values["manifest.json"]))
            self._check_name(values["manifest.json"])
        changes, results = values["workspace/changes.json"], values["acceptance/results.json"]
        if self.retained is None:
            gaps.extend(
                Problem("events.jsonl", text) for text in self.contents.gaps(changes, results, self._patch_paths(seal))
            )
        report = values["report.json"]
        if not isinstance(report, dict) or report.get("status") != "invalid":
            for gap in gaps:
                self.add(gap.where, gap.message)
        if not self.problems:
            self._check_consistency(seal, values)

    def _check_consistency(self, seal: Seal, values: Mapping[str, Any]) -> None:
        """Whether the files and the trace agree with each other."""
        files = {name: value if isinstance(value, dict) else {} for name, value in values.items()}
        records = Records(
            manifest=files["manifest.json"],
            contract=files["contract.json"],
            report=files["report.json"],
            changes=files["workspace/changes.json"],
            patch=seal.files.get("workspace/final.patch"),
            summary=self.summary,
        )
        for problem in inconsistencies(records):
            self.add(problem.where, problem.message, problem.code)

    def _check_name(self, manifest: Any) -> None:
        """Whether the directory has the id of another run as its name."""
        self._run_id = str(manifest.get("run", "")) if isinstance(manifest, dict) else ""
        name = os.path.basename(os.path.abspath(self.run.path))
        if RUN_ID.fullmatch(name) and name != self._run_id:
            self.add(
                "manifest.json",
                f"is of run {self._run_id}, but the directory has the id of another run, {name}: rename the copy",
            )

    def _patch_paths(self, seal: Seal) -> set[bytes] | None:
        """The paths that the patch touches; none for a handwritten patch in another form."""
        if "workspace/final.patch" not in seal.files:
            return None
        try:
            with open_trace(self.run.patch) as file:
                return patch_paths(bounded_lines(file))
        except ValueError:
            return None


def _kind(information: os.stat_result) -> str:
    for test, word in (
        (stat.S_ISREG, "a file"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(information.st_mode):
            return word
    return "a device"
