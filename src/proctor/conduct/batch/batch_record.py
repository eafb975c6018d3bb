"""Batches: contracts times agents times models times repeats, in parallel, resumable.

A batch is recorded before its first run. Each run carries its batch and its place in it, so the run directories alone
show what is left to do: a place is done when it has a sealed run. Runs that were cut off or stopped stay unchanged, and
their places are filled under new ids. Places that were skipped because a spending limit was reached are recorded with
the batch; they do not count as failures.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.clock import Clock, Entropy, new_run_id
from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import ProctorError, UsageFault
from proctor.base.files import write_whole
from proctor.conduct.run.lifecycle import STOPPED
from proctor.conduct.run.model_connection import ModelPlan
from proctor.execute.agents.interface import Agent
from proctor.execute.proctor_home import Home
from proctor.judge.run_verdict import is_repeatable
from proctor.record.redact import Redactor
from proctor.record.report_model import read_report
from proctor.record.run_directory import RunDirectory
from proctor.record.vault import Vault

Attempt = tuple[Agent, ModelPlan | None]

SCHEMA = 1
RETRIES = "retry_invalid"
"""The setting that says how often a run is repeated that is invalid and not because of the agent."""
METHOD_FILES = "agent_files"
"""What the path of a method's files is called among its settings."""


@dataclass(frozen=True)
class Place:
    """One run of a batch: the contract's path and id, the number of the repeat, from 1, and the agent and model.

    Agent and model are stored as in the request, so that they can be made again; no model is an empty text.
    A pilot names its methods too: two of them may be the same agent with other files.
    """

    contract: str
    content_id: str
    repeat: int
    agent: str
    model: str = ""
    method: str = ""


@dataclass(frozen=True)
class Batch:
    """The request. ``digests`` are those of the agents, by agent and model, when the batch began.

    ``begun`` is the time in nanoseconds; ids contain only seconds. ``methods`` are the files and the settings of the
    methods of a pilot, by their names, where they have any.
    """

    id: str
    agent_files: str
    places: tuple[Place, ...]
    settings: Mapping[str, str]
    digests: Mapping[tuple[str, str], str]
    begun: int
    methods: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def retries(self) -> int:
        """How often a run of one place is repeated that is invalid and not because of the agent."""
        return int(self.settings.get(RETRIES, "0"))

    def files_of(self, method: str) -> str:
        """The directory that the agent of a method finds at /agent; empty for none."""
        own: Mapping[str, str] = self.methods.get(method, EMPTY)
        return own.get(METHOD_FILES, self.agent_files)

    def settings_of(self, method: str) -> dict[str, str]:
        """The settings of the batch with those of a method."""
        own = self.methods.get(method, EMPTY)
        return {**self.settings, **{name: text for name, text in own.items() if name != METHOD_FILES}}


def new_batch(
    clock: Clock,
    entropy: Entropy,
    agents: Mapping[tuple[str, str], str],
    agent_files: str,
    contracts: Sequence[tuple[str, str]],
    repeats: int,
    settings: Mapping[str, str] = EMPTY,
) -> Batch:
    """A batch of ``agents`` (agent and model, with a digest) over ``contracts`` (path and id), repeat by repeat."""
    places = tuple(
        Place(path, content_id, repeat, agent, model)
        for repeat in range(1, repeats + 1)
        for path, content_id in contracts
        for agent, model in agents
    )
    return Batch(new_run_id(clock, entropy), agent_files, places, settings, agents, clock.wall_ns())


def save_batch(home: Home, batch: Batch, refused: Iterable[tuple[Place, ProctorError]] = ()) -> None:
    """Record a batch, and which of its places were ``refused`` for lack of resources.

    If secrets are removed from its runs, they are removed here too: see :class:`RedactedTexts`.
    """
    texts = RedactedTexts(home, batch.settings)
    value = {
        "schema": SCHEMA,
        "kind": "proctor.batch",
        "id": batch.id,
        "begun": str(batch.begun),
        "agent_files": texts.shown(batch.agent_files),
        "settings": texts.each(batch.settings),
        **({"methods": {name: texts.each(own) for name, own in batch.methods.items()}} if batch.methods else {}),
        "digests": [
            [texts.shown(agent), texts.shown(model), texts.digest(agent, digest)]
            for (agent, model), digest in batch.digests.items()
        ],
        "places": [_row(place, texts) for place in batch.places],
        "refused": [[*_row(place, texts), texts.shown(error.message)] for place, error in refused],
    }
    write_whole(home.batches / f"{batch.id}.json", canonical(value))


def _row(place: Place, texts: RedactedTexts) -> list[Any]:
    asked = [texts.shown(place.agent), texts.shown(place.model)]
    return [texts.shown(place.contract), place.content_id, place.repeat, *asked, *filter(None, [place.method])]


def load_batch(home: Home, batch_id: str) -> Batch:
    """The batch with this id, or the beginning of it."""
    found = [name for name in _names(home) if name.startswith(batch_id)]
    if not found:
        raise UsageFault(f"there is no batch {batch_id!r}", hint="the command that starts a batch prints its id")
    if len(found) > 1:
        raise UsageFault(f"{len(found)} batches begin with {batch_id}", hint=", ".join(found[:5]))
    return _load(home, found[0])


def batches_of(home: Home, pilot: str) -> Iterator[Batch]:
    """The batches of the pilot with this digest, in no order."""
    for name in _names(home):
        batch = _load(home, name)
        if batch.settings.get("pilot") == pilot:
            yield batch


def newest_batch(home: Home) -> Batch:
    """The newest batch of ``proctor run`` that has runs left, or the newest of all if none has.

    Batches of other commands name the command in their settings; they are not resumed.
    """
    filled: dict[str, set[Place]] = {}
    for batch_id, place, *_ in _sealed(home):
        filled.setdefault(batch_id, set()).add(place)
    newest: Batch | None = None
    batches = sorted((_load(home, name) for name in _names(home)), key=lambda batch: batch.begun, reverse=True)
    for batch in batches:
        if batch.settings.get("command"):
            continue
        is_filled = filled.get(batch.id, set()).issuperset(batch.places)
        if not is_filled or (batch.retries and tries_left(home, batch)):
            return batch
        newest = newest or batch
    if newest is None:
        raise UsageFault("there is no batch to resume", hint="proctor run CONTRACT... --agent AGENT starts one")
    return newest


def _names(home: Home) -> list[str]:
    return sorted(path.stem for path in home.batches.glob("*.json"))


def _load(home: Home, name: str) -> Batch:
    path = home.batches / f"{name}.json"
    try:
        return _batch(parse(path.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "restore it from a copy, or move it away: its runs are not affected"
        raise UsageFault("the record of a batch is damaged", where=str(path), hint=hint) from None


def _batch(data: Mapping[str, Any]) -> Batch:
    return Batch(
        id=data["id"],
        agent_files=data["agent_files"],
        places=tuple(Place(*row) for row in data["places"]),
        settings=data["settings"],
        digests={(agent, model): digest for agent, model, digest in data.get("digests", ())},
        begun=int(data.get("begun", "0")),
        methods=data.get("methods", {}),
    )


def finished_places(home: Home, batch: Batch) -> dict[Place, Path]:
    """The places of a batch that a sealed run holds; of several the last one does."""
    return dict(_runs_of(home, batch))


def _runs_of(home: Home, batch: Batch) -> list[tuple[Place, Path]]:
    """Every place with a run that may hold it, first attempts first."""
    found = [(attempt, place, path) for batch_id, place, attempt, path in _sealed(home) if batch_id == batch.id]
    return [(place, path) for _, place, path in sorted(found, key=lambda one: one[0])]


@dataclass(frozen=True)
class RunAttempt:
    """A run to be made: its place, the run that it repeats, if any, and which attempt at the place it is, from 1."""

    place: Place
    retry_of: str = ""
    number: int = 1


def tries_left(home: Home, batch: Batch) -> list[RunAttempt]:
    """What is left to run of a batch: the places that no run holds, and those whose run is to be repeated."""
    made: dict[Place, list[Path]] = {}
    for place, path in _runs_of(home, batch):
        made.setdefault(place, []).append(path)
    found = []
    for place in batch.places:
        runs = made.get(place, [])
        last = RunDirectory(runs[-1]) if runs else None
        if last is None:
            found.append(RunAttempt(place))
        elif len(runs) <= batch.retries and is_repeatable(read_report(last)):
            found.append(RunAttempt(place, last.path.name, len(runs) + 1))
    return found


def _sealed(home: Home) -> Iterator[tuple[str, Place, int, Path]]:
    """Batch, place, attempt and directory of every run that may hold its place; one that was stopped holds none."""
    for path in sorted(home.runs.iterdir()) if home.runs.is_dir() else ():
        run = RunDirectory(path)
        if not run.seal.is_file():
            continue
        try:
            manifest = run.read_json(run.manifest)
            configuration = manifest["configuration"]
            ended = read_report(run).termination.code
            if ended != STOPPED and manifest["run"] == path.name:
                yield str(configuration["batch"]), _place(configuration), int(configuration.get("attempt", 1)), path
        except (ProctorError, KeyError, TypeError):
            continue


def _place(configuration: Mapping[str, Any]) -> Place:
    names = ("contract_path", "contract", "repeat", "agent", "model")
    return Place(*(configuration[name] for name in names), *filter(None, [configuration.get("method")]))


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PID_BYTES = 20


@contextmanager
def batch_lock(home: Home, batch: str) -> Iterator[None]:
    """Hold a batch for the time of a ``with`` block; :class:`UsageFault` names the process that holds it already."""
    path = home.batches / f"{batch}.lock"
    handle = _take(path, batch)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def is_at_work(home: Home, batch: str) -> bool:
    """Whether a living process holds a batch."""
    try:
        handle = os.open(home.batches / f"{batch}.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _take(path: Path, batch: str) -> int:
    """Lock the file at ``path``; a file that its last holder has removed locks nothing."""
    while True:
        handle = os.open(path, _FLAGS, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _lies_at(handle, path):
                return handle
        except BlockingIOError:
            pid = os.pread(handle, _PID_BYTES, 0).decode("ascii", "replace")
            os.close(handle)
            raise UsageFault(
                f"batch {batch} is still running (pid {pid or 'unknown'})",
                hint="wait for it, or stop it with Ctrl-C, then resume it",
            ) from None
        os.close(handle)


def _lies_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def redactor_of(home: Home, settings: Mapping[str, str]) -> Redactor | None:
    """The redactor of a batch's records, if the batch has redaction."""
    if not settings.get("redact_secrets"):
        return None
    vault = Vault(home.vault)
    return Redactor(vault.key, vault.keeper())


class RedactedTexts:
    """The texts of one batch. Without redaction they are recorded unchanged."""

    def __init__(self, home: Home, settings: Mapping[str, str]) -> None:
        self._redactor = redactor_of(home, settings)

    def shown(self, text: str) -> str:
        """``text`` as it may be written down; what was written down before stays the same."""
        if self._redactor is None:
            return text
        self._redactor.take_over(text)
        return self._redactor.text(text)

    def each(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The same of texts with names."""
        return {name: self.shown(text) for name, text in texts.items()}

    def digest(self, text: str, digest: str) -> str:
        """The digest of the agent ``text``; a keyed one if it could confirm a guess at a secret."""
        return digest if self._redactor is None or self.shown(text) == text else self._redactor.keyed(digest)

    def hidden(self, text: str) -> bool:
        """Whether the recorded ``text`` differs from the request because of redaction."""
        return self._redactor is not None and self._redactor.take_over(text)

    def again(self, texts: Iterable[str], given: Iterable[str]) -> dict[str, str]:
        """The original of each of the recorded ``texts``: itself, or the ``given`` text that it comes from."""
        known = {self.shown(text): text for text in given}
        for text in texts:
            if self.hidden(text) and text not in known:
                raise UsageFault(
                    "the value of --agent contained a secret, which the batch does not store",
                    where=f"--agent {text[:200]}",
                    hint="give the value again: proctor run --resume --agent 'AGENT'",
                )
        return {text: known.get(text, text) for text in texts}
