"""Walk the history of a repository and make a contract of every commit that proves to be a task.

Commits are taken in the order of first parents, newest first. Cheap rules come first, then the text, then the proof in
the judge's sandbox, and at the end ``validate``. What was proven with the same settings is not tried again, so an
interrupted walk continues where it was. Nothing here depends on a model or on a container engine.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from proctor.author.mine.candidate_rules import REASONS, Rules, by_message, by_paths
from proctor.author.mine.contract_of_fix import Made, make_contract
from proctor.author.mine.issue_export import Issue
from proctor.author.mine.known_fix import KnownFix, UnfitFix, fix_of_commits
from proctor.author.mine.mined_record import (
    FAULT,
    FILE_NAME,
    KIND,
    PROVEN,
    REJECTED,
    SCHEMA,
    VALID,
    MinedCommit,
    Status,
    append_mined,
    read_mined,
    write_mined,
)
from proctor.author.mine.python_resolution import Resolver
from proctor.author.mine.quality import measure
from proctor.author.mine.task_text import LEAST_WORDS, draft
from proctor.author.validation import validate_contracts
from proctor.base.canonical import digest
from proctor.base.errors import ContractError, InfrastructureFault, ProctorError, UsageFault
from proctor.base.files import read_bounded
from proctor.conduct.batch.batch_runs import BatchWatcher
from proctor.conduct.machine_setup import Machine
from proctor.conduct.session.batch_plan import Plan
from proctor.contract.lock import is_address
from proctor.execute.prepare import SetupFailed
from proctor.execute.workspace.git_history import CommitFacts, History

CONTRACTS = "contracts"
BY_HAND = "rejected.txt"
"""A file in the directory of the walk: a person's list of commits that are no tasks, one in each line."""
LEAST_DIGITS = 7
PROOF_VERSION = 1
"""Part of the settings digest: raise it when the way in which a commit is proven changes."""
SUBJECT_CHARACTERS = 120
LIST_BYTES = 1 << 20
DETAIL_CHARACTERS = 400
QUARTER_MONTHS = 3


@dataclass(frozen=True)
class Walk:
    """What to mine: ``limit`` is the most commits whose tests are run, ``since`` the earliest commit in seconds."""

    git: str
    tip: str = "HEAD"
    since: int = 0
    limit: int = 50
    times: int = 3
    jobs: int = 1
    rules: Rules = field(default_factory=Rules)
    least_words: int = LEAST_WORDS
    issues: Mapping[int, Issue] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        """The digest of what the result of a proof depends on, besides the commit."""
        return digest({"version": PROOF_VERSION, "times": self.times, "issues": sorted(self.issues)})


@dataclass(frozen=True)
class Mined:
    """The result: a record for each commit in the order of the walk, and how many environments were resolved."""

    records: tuple[MinedCommit, ...]
    environments: int
    seconds: float
    stopped: bool = False

    def counted(self) -> list[tuple[str, int, str]]:
        """Each reason with the number of commits and the newest example, most frequent first."""
        found: dict[str, list[str]] = {}
        for one in self.records:
            if one.status in (REJECTED, FAULT):
                found.setdefault(one.reason, []).append(one.commit)
        rows = [(reason, len(commits), commits[0]) for reason, commits in found.items()]
        return sorted(rows, key=lambda row: (-row[1], list(REASONS).index(row[0])))

    @property
    def valid(self) -> tuple[MinedCommit, ...]:
        return tuple(one for one in self.records if one.status == VALID)

    @property
    def tried(self) -> tuple[MinedCommit, ...]:
        return tuple(one for one in self.records if one.tried)


class Miner:
    """One walk: reads and writes the directory ``out``."""

    def __init__(
        self,
        machine: Machine,
        history: History,
        walk: Walk,
        out: Path,
        resolver: Resolver,
        print_line: Callable[[str], None],
    ) -> None:
        self._machine = machine
        self._history = history
        self._walk = walk
        self._out = out
        self._resolver = resolver
        self._print_line = print_line
        self._tried = 0
        self._by_hand = _listed_by_hand(out / BY_HAND)

    def run(self, watching: Callable[[Plan], AbstractContextManager[BatchWatcher]]) -> Mined:
        """Walk, prove and validate; ``watching`` gives the watcher of the batches of ``validate``."""
        start = time.monotonic()
        (self._out / CONTRACTS).mkdir(parents=True, exist_ok=True)
        path = self._out / FILE_NAME
        earlier = read_mined(path)
        records: list[MinedCommit] | None = None
        with suppress(KeyboardInterrupt), ThreadPoolExecutor(self._walk.jobs) as pool:
            records = self._walked(pool, earlier, path)
        if records is None:
            return Mined(tuple(read_mined(path).values()), self._resolver.resolved, time.monotonic() - start, True)
        walked = {one.commit for one in records}
        others = [one for one in earlier.values() if one.commit not in walked]
        write_mined(path, [*records, *others])
        records = _with_shares(self._validated(records, watching))
        write_mined(path, [*records, *others])
        return Mined(tuple(records), self._resolver.resolved, time.monotonic() - start)

    def _walked(self, pool: ThreadPoolExecutor, earlier: dict[str, MinedCommit], path: Path) -> list[MinedCommit]:
        """A record for each commit, until as many were tried as the limit allows."""
        done: dict[str, MinedCommit] = {}
        order: list[str] = []
        running: dict[Future[MinedCommit], str] = {}
        try:
            for facts in self._history.first_parents(self._history.resolve(self._walk.tip), self._walk.since):
                if self._tried >= self._walk.limit:
                    break
                order.append(facts.id)
                reason, fix = self._judged_cheaply(facts)
                if fix is None:
                    done[facts.id] = reason
                    continue
                known = earlier.get(facts.id)
                if facts.id.startswith(self._by_hand):
                    done[facts.id] = self._dismissed(facts, known)
                    continue
                self._tried += 1
                if known is not None and self._reusable(known):
                    done[facts.id] = known
                    continue
                while len(running) >= self._walk.jobs:
                    self._finish(running, done, path)
                running[pool.submit(self._proven, facts, fix)] = facts.id
            while running:
                self._finish(running, done, path)
        except KeyboardInterrupt:
            for future in running:
                future.cancel()
            raise
        return [done[commit] for commit in order]

    def _finish(self, running: dict[Future[MinedCommit], str], done: dict[str, MinedCommit], path: Path) -> None:
        """Wait for one proof and keep what it shows."""
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            commit = running.pop(future)
            record = done[commit] = future.result()
            append_mined(path, record)
            what = f"{len(record.must_pass)} must_pass" if record.status == PROVEN else record.reason
            self._print_line(f"{commit[:10]} {record.status}: {what}: {record.subject}")

    def _reusable(self, known: MinedCommit) -> bool:
        """Whether an earlier result holds: the same settings, a verdict, and the contract still in its place."""
        if known.settings != self._walk.settings or not known.tried or known.status == FAULT:
            return False
        return known.status == REJECTED or (self._out / known.contract / "contract.yaml").is_file()

    def _dismissed(self, facts: CommitFacts, known: MinedCommit | None) -> MinedCommit:
        """The record of a commit that a person rejected; its contract is removed."""
        if known is not None and known.contract:
            shutil.rmtree(self._out / CONTRACTS / Path(known.contract).name, ignore_errors=True)
        record = self._record(facts, REJECTED, "by-hand")
        return replace(record, title=known.title, quality=known.quality) if known is not None else record

    def _judged_cheaply(self, facts: CommitFacts) -> tuple[MinedCommit, KnownFix | None]:
        """The record of a commit that is rejected without a proof, or the fix to prove."""
        rules = self._walk.rules
        base = facts.parents[0] if facts.parents else ""
        merged = len(self._history.between(base, facts.id)) if len(facts.parents) > 1 else 0
        reason = by_message(facts, merged)
        if not reason or reason in rules.admitted:
            reason = by_paths(self._history.changes(base, facts.id), rules)
        if reason and reason not in rules.admitted:
            return self._record(facts, REJECTED, reason), None
        try:
            fix = fix_of_commits(self._history, base, facts.id, self._named())
        except UnfitFix as unfit:
            return self._record(facts, REJECTED, unfit.reason, unfit.message), None
        text = draft(fix, self._walk.issues)
        if text.words < self._walk.least_words and "short-text" not in rules.admitted:
            found = self._record(facts, REJECTED, "short-text", f"{text.words} words: {text.title}")
            return replace(found, title=text.title, sources=text.sources, quality=measure(fix, text)), None
        return self._record(facts, REJECTED, ""), fix

    def _named(self) -> str:
        """The repository as contracts name it, two levels below ``out``."""
        git = self._walk.git
        return git if is_address(git) else os.path.relpath(git, self._out / CONTRACTS / "one")

    def _record(self, facts: CommitFacts, status: Status, reason: str, detail: str = "") -> MinedCommit:
        subject = next((line.strip() for line in facts.message.splitlines() if line.strip()), "")
        return MinedCommit(
            kind=KIND,
            schema=SCHEMA,
            commit=facts.id,
            base=facts.parents[0] if facts.parents else "",
            committed=facts.committed,
            subject=_plain(subject)[:SUBJECT_CHARACTERS],
            status=status,
            reason=reason,
            detail=_plain(detail)[:DETAIL_CHARACTERS],
        )

    def _proven(self, facts: CommitFacts, fix: KnownFix) -> MinedCommit:
        """Make and prove the contract of one commit; a contract that does not hold is removed."""
        start = time.monotonic()
        name = contract_name(fix)
        place = self._out / CONTRACTS / name
        shutil.rmtree(place, ignore_errors=True)
        record = replace(self._record(facts, REJECTED, ""), settings=self._walk.settings, tried=True)
        try:
            made = make_contract(
                *(self._machine, fix, place, name, self._resolver, quarter_end(fix.time), self._walk.times),
                issues=self._walk.issues,
            )
            record = _with_proof(record, made, f"{CONTRACTS}/{name}")
        except UnfitFix as unfit:
            record = replace(record, reason=unfit.reason, detail=_plain(unfit.message)[:DETAIL_CHARACTERS])
        except SetupFailed as failed:
            record = replace(record, reason="setup", detail=_plain(str(failed))[:DETAIL_CHARACTERS])
        except ContractError as error:
            record = replace(record, reason="contract", detail=_plain(str(error))[:DETAIL_CHARACTERS])
        except InfrastructureFault as fault:
            record = replace(record, status=FAULT, reason="machine", detail=_plain(str(fault))[:DETAIL_CHARACTERS])
        except (ProctorError, OSError) as error:  # a tree that has a name both as file and as directory
            record = replace(record, reason="contract", detail=_plain(str(error))[:DETAIL_CHARACTERS])
        if record.status != PROVEN:
            shutil.rmtree(place, ignore_errors=True)
        return replace(record, seconds=f"{time.monotonic() - start:.1f}")

    def _validated(
        self, records: Sequence[MinedCommit], watching: Callable[[Plan], AbstractContextManager[BatchWatcher]]
    ) -> list[MinedCommit]:
        """The records after ``validate`` of all contracts that were not validated before."""
        waiting = {str(self._out / one.contract): one for one in records if one.status == PROVEN}
        if not waiting:
            return list(records)
        places = [Path(place) for place in waiting]
        found = validate_contracts(self._machine, places, 1, self._walk.jobs, watching)
        if found.stopped:
            return list(records)
        bad = {run.report.contract.name for run in found.wrong} | {Path(place).name for place in found.vacuous}
        unknown = {run.report.contract.name for run in found.undecided} | {Path(place).name for place in found.errors}
        decided = []
        for one in records:
            name = Path(one.contract).name
            if one.status != PROVEN:
                decided.append(one)
            elif name in bad:
                shutil.rmtree(self._out / one.contract, ignore_errors=True)
                detail = "the no-op did not fail or the reference did not pass"
                decided.append(replace(one, status=REJECTED, reason="invalid", detail=detail, contract=""))
            elif name in unknown:
                decided.append(replace(one, status=FAULT, reason="machine", detail="validate gave no verdict"))
            else:
                decided.append(replace(one, status=VALID))
        return decided


def _listed_by_hand(path: Path) -> tuple[str, ...]:
    """The beginnings of commit ids in a file; the rest of a line is a remark."""
    try:
        text = read_bounded(path, LIST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    words = [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for word in words:
        if not re.fullmatch(r"[0-9a-f]{7,40}", word):
            hint = f"write at least {LEAST_DIGITS} digits of a commit id in each line"
            raise UsageFault(f"{word[:60]!r} does not begin a commit id", where=str(path), hint=hint)
    return tuple(words)


def _with_proof(record: MinedCommit, made: Made, contract: str) -> MinedCommit:
    proof = made.proof
    return replace(
        record,
        status=REJECTED if proof.reason else PROVEN,
        reason=proof.reason,
        detail=_plain(proof.detail)[:DETAIL_CHARACTERS],
        contract="" if proof.reason else contract,
        task="" if proof.reason else proof.kind,
        title=_plain(made.text.title),
        sources=made.text.sources,
        must_pass=proof.must_pass,
        keep_passing=len(proof.keep_passing),
        failures=proof.counted(),
        unsteady=proof.unsteady[:100],
        dependent=proof.dependent[:100],
        hidden=proof.hidden[:100],
        quality=made.quality,
        as_of=made.environment.as_of,
        inputs=len(made.environment.inputs),
    )


def _with_shares(records: Sequence[MinedCommit]) -> list[MinedCommit]:
    """Mark valid commits that share the id of a must_pass test: together they count for less than two tasks."""
    users: dict[str, list[str]] = {}
    for one in records:
        for test in one.must_pass if one.status == VALID else ():
            users.setdefault(test, []).append(one.commit)
    found = []
    for one in records:
        others = {commit for test in one.must_pass for commit in users.get(test, ()) if commit != one.commit}
        found.append(replace(one, shares=tuple(sorted(others))) if one.status == VALID else one)
    return found


def contract_name(fix: KnownFix) -> str:
    """The name of the contract of a commit: words of its subject, and the beginning of its id."""
    words = re.findall(r"[a-z0-9]+", draft(fix).title.lower())
    head = "-".join(words)[:40].strip("-")
    return f"{head}-{fix.fix[:10]}" if head and head[0].isalpha() else f"fix-{fix.fix[:10]}"


def quarter_end(seconds: int) -> int:
    """The last second of the quarter of a time, but not later than now: commits of a quarter share environments."""
    now = int(time.time())
    moment = time.gmtime(min(seconds, now))
    month = (moment.tm_mon - 1) // QUARTER_MONTHS * QUARTER_MONTHS + QUARTER_MONTHS + 1
    year, month = (moment.tm_year + 1, 1) if month > 12 else (moment.tm_year, month)
    end = int(datetime(year, month, 1, tzinfo=UTC).timestamp()) - 1
    return min(end, now)


def _plain(text: str) -> str:
    """One printable line."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
