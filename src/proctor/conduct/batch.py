"""Many runs: contracts times agents times models times repeats, side by side, resumable.

A batch is written down before its first run. Each run carries its batch and its place in it, so that what is left
to do can always be told from the run directories alone: a place is done when a sealed run holds it. Runs that were
cut off or stopped stay where they are, as what they are, and their places are filled under new ids. Places that were
not run because an envelope was used up are written down with the batch; they are no failures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.clock import Clock, Entropy
from proctor.base.errors import ProctorError, UsageFault
from proctor.base.fields import EMPTY
from proctor.base.files import write_whole
from proctor.base.ids import new_run_id
from proctor.conduct.batch_words import Words
from proctor.conduct.model import ModelPlan
from proctor.conduct.run import STOPPED
from proctor.execute.agents.interface import Agent
from proctor.execute.home import Home
from proctor.judge.status import is_repeatable
from proctor.record.rundir import RunDirectory

Attempt = tuple[Agent, ModelPlan | None]

SCHEMA = 1
RETRIES = "retry_invalid"
"""The setting that says how often a run is repeated that is invalid and not because of the agent."""
METHOD_FILES = "agent_files"
"""What the path of a method's files is called among its settings."""


@dataclass(frozen=True)
class Place:
    """One run that a batch wants: the contract's path and id, the number of the repeat, from 1, and who attempts it.

    Agent and model are kept in the words of the request, so that they can be made again; no model is an empty word.
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
    """What was asked for. ``digests`` are those of the agents, by agent and model, when the batch began.

    ``begun`` is when that was, in nanoseconds: ids tell seconds only. ``methods`` are the files and the settings of the
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
    """Write a batch down, and which of its places were ``refused`` for want of resources.

    Where secrets are taken out of its runs, none of them stands here either: see ``batch_words``.
    """
    words = Words(home, batch.settings)
    value = {
        "schema": SCHEMA,
        "kind": "proctor.batch",
        "id": batch.id,
        "begun": str(batch.begun),
        "agent_files": words.shown(batch.agent_files),
        "settings": words.each(batch.settings),
        **({"methods": {name: words.each(own) for name, own in batch.methods.items()}} if batch.methods else {}),
        "digests": [
            [words.shown(agent), words.shown(model), words.digest(agent, digest)]
            for (agent, model), digest in batch.digests.items()
        ],
        "places": [_row(place, words) for place in batch.places],
        "refused": [[*_row(place, words), words.shown(error.message)] for place, error in refused],
    }
    write_whole(home.batches / f"{batch.id}.json", canonical(value))


def _row(place: Place, words: Words) -> list[Any]:
    asked = [words.shown(place.agent), words.shown(place.model)]
    return [words.shown(place.contract), place.content_id, place.repeat, *asked, *filter(None, [place.method])]


def load_batch(home: Home, batch_id: str) -> Batch:
    """The batch with this id, or the beginning of it."""
    found = [name for name in _names(home) if name.startswith(batch_id)]
    if not found:
        raise UsageFault(f"there is no batch {batch_id!r}", hint="a batch is named by the command that began it")
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
    """The newest batch of ``proctor run`` that has runs left, or the newest of all where none has.

    Batches that other commands made for themselves name those in their settings; nobody wants to resume them.
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
        raise UsageFault("there is no batch to resume", hint="proctor run CONTRACT... --agent AGENT begins one")
    return newest


def _names(home: Home) -> list[str]:
    return sorted(path.stem for path in home.batches.glob("*.json"))


def _load(home: Home, name: str) -> Batch:
    path = home.batches / f"{name}.json"
    try:
        return _batch(parse(path.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "put it back from a copy, or move it away: the runs that were made of it stay as they are"
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
class Try:
    """A run to be made: its place, the run that it repeats, if any, and which attempt at the place it is, from 1."""

    place: Place
    retry_of: str = ""
    number: int = 1


def tries_left(home: Home, batch: Batch) -> list[Try]:
    """What is left to run of a batch: the places that no run holds, and those whose run is to be repeated."""
    made: dict[Place, list[Path]] = {}
    for place, path in _runs_of(home, batch):
        made.setdefault(place, []).append(path)
    found = []
    for place in batch.places:
        runs = made.get(place, [])
        last = RunDirectory(runs[-1]) if runs else None
        if last is None:
            found.append(Try(place))
        elif len(runs) <= batch.retries and is_repeatable(last.read_json(last.report)):
            found.append(Try(place, last.path.name, len(runs) + 1))
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
            ended = run.read_json(run.report)["termination"]["code"]
            if ended != STOPPED and manifest["run"] == path.name:
                yield str(configuration["batch"]), _place(configuration), int(configuration.get("attempt", 1)), path
        except (ProctorError, KeyError, TypeError):
            continue


def _place(configuration: Mapping[str, Any]) -> Place:
    names = ("contract_path", "contract", "repeat", "agent", "model")
    return Place(*(configuration[name] for name in names), *filter(None, [configuration.get("method")]))
