"""From a contract's directory to a :class:`Contract`, or to every mistake in it at once.

The steps: find and read ``contract.yaml`` within bounds, parse it strictly, read it by the table of fields, then build
the parts, which reads the named files and checks what only the parts together can tell. A mistake never ends a step,
it leaves a blank that the later steps pass over in silence; a contract comes out only when there was no mistake.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.fields import EMPTY
from proctor.base.files import read_bounded
from proctor.contract.fields import CONTRACT
from proctor.contract.kinds import quoted
from proctor.contract.lock import LOCK_NAME, Lock, read_lock
from proctor.contract.model import Contract, Environment, PlacedFile, SetupStep, Targets, Task
from proctor.contract.named import PLACED_BYTES, NamedFiles
from proctor.contract.oracle import Oracle, command
from proctor.contract.remembered import parse_remembered
from proctor.contract.shapes import Part
from proctor.contract.sources import Sources
from proctor.contract.strict_yaml import Report, TooManyMistakes
from proctor.contract.terms import Terms

CONTRACT_NAME = "contract.yaml"
CONTRACT_BYTES = 1 << 20


def load_contract(path: Path, *, allow_unpinned: bool = False, memory: Path | None = None) -> Contract:
    """The contract at ``path``, a directory or the file in it; :class:`ContractError` with all mistakes otherwise.

    With ``allow_unpinned`` sources that nothing pins have no files, which is what ``proctor lock`` starts from.
    ``memory`` is a directory for what was parsed before.
    """
    file = path / CONTRACT_NAME if os.path.isdir(path) else path
    data = _read(file, path)
    report = Report(str(file))
    contract = None
    try:
        node = parse_remembered(data, report, memory)
        if node is not None:
            part = CONTRACT.read(node, report)
            contract = _build(part, file.parent, report, allow_unpinned)
    except TooManyMistakes:
        pass
    report.raise_any()
    assert contract is not None
    return contract


def _read(file: Path, asked: Path) -> bytes:
    """The bytes of the contract's file."""
    try:
        return read_bounded(Path(os.path.realpath(file)), CONTRACT_BYTES)
    except FileNotFoundError:
        words = f"there is no {CONTRACT_NAME} in this directory" if file != asked else "does not exist"
        mistake = Mistake(str(asked), 0, 0, words, "proctor init writes one to start from")
    except InfrastructureFault as fault:
        mistake = Mistake(str(file), 0, 0, f"is {fault.message}, so it is no contract")
    except OSError as error:
        mistake = Mistake(str(file), 0, 0, f"cannot be read: {error.strerror}")
    raise ContractError([mistake])


def _build(part: Part, directory: Path, report: Report, allow_unpinned: bool) -> Contract:
    files = NamedFiles(str(directory), report)
    lock = _lock(directory / LOCK_NAME, report, allow_unpinned)
    sources = Sources(files, lock, report, allow_unpinned)
    head: Part = part["contract"]
    task = _task(part["task"], files)
    repository = sources.repository(part["repository"])
    environment = _environment(part["environment"], files, report)
    inputs = sources.inputs(part["inputs"])
    oracle = Oracle(files, inputs, report)
    checks = oracle.checks(part["checks"])
    terms = Terms(files, report)
    return Contract(
        directory=Path(os.path.abspath(directory)),
        name=head["name"],
        title=head["title"],
        kind=head["kind"],
        task=task,
        repository=repository,
        checks=checks,
        strata=_mapping(head["strata"]),
        assumptions=head["assumptions"],
        environment=environment,
        inputs=inputs,
        setup=tuple(_step(step, terms) for step in part["setup"]),
        policy=terms.policy(part["policy"]),
        budget=terms.budget(part["budget"]),
        reference=oracle.reference(part["reference"]),
        score=oracle.score(part["score"], checks),
    )


def _lock(path: Path, report: Report, allow_unpinned: bool) -> Lock:
    """The lock beside the contract; a broken one does not matter when it is about to be written anew."""
    try:
        return read_lock(path)
    except ContractError as error:
        if not allow_unpinned:
            report.mistakes.extend(error.mistakes)
        return Lock()


def _task(part: Part, files: NamedFiles) -> Task:
    issue, text = files.text(part.place("issue"), part["issue"])
    targets = part["targets"]
    return Task(
        issue=issue,
        issue_text=text,
        hints=part["hints"],
        targets=Targets(targets["modules"], targets["entry_points"], targets["behaviour"]),
        ambiguities=part["ambiguities"],
    )


def _step(part: Part, terms: Terms) -> SetupStep:
    network = terms.setup_network(part)
    return SetupStep(command(part["run"]), part["directory"], part["timeout_seconds"], part["repeat"], network)


def _environment(part: Part, files: NamedFiles, report: Report) -> Environment:
    placed: list[PlacedFile] = []
    for inner in part["files"]:
        file, _ = files.file(inner.place("from"), inner["from"], PLACED_BYTES)
        to = inner["to"]
        for other in placed:
            if (to and f"{to}/".startswith(f"{other.to}/")) or f"{other.to}/".startswith(f"{to}/"):
                report.add(inner.place("to"), f"{quoted(to)} and {quoted(other.to)} are in each other's way")
        if to:
            placed.append(PlacedFile(file, to))
    return Environment(
        sandbox=part["sandbox"],
        image=_layers(part["image"]),
        root=part["root"],
        variables=_mapping(part["variables"]),
        files=tuple(placed),
        require=part["require"],
        seed=part["seed"],
        hide=part["hide"],
    )


def _layers(image: str | tuple[str, ...]) -> tuple[str, ...]:
    """The layers of an image; text names an only layer, or none where nothing was given."""
    if isinstance(image, str):
        return (image,) if image else ()
    return image


def _mapping(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(dict(values)) if values else EMPTY
