"""From a contract's directory to a :class:`Contract`, or to every mistake in it at once.

The steps: find and read ``contract.yaml`` within bounds, parse it strictly, read it by the table of fields, then build
the parts, which reads the named files and checks the parts against each other. A mistake never ends a step: it leaves a
blank that the later steps skip. The result is a contract only if there was no mistake.

A file that was parsed without a mistake is cached as JSON with every position, by the digest of its bytes, because
loading the YAML library takes longer than everything else about a small contract. A cache entry that is missing,
damaged or of another version is ignored.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.contract.checks_section import ChecksReader, command
from proctor.contract.composite_types import Part
from proctor.contract.lock import LOCK_NAME, Lock, SourcesReader, read_lock
from proctor.contract.model import Contract, Environment, PlacedFile, SetupStep, Targets, Task
from proctor.contract.named_files import CASSETTE_BYTES, PLACED_BYTES, NamedFiles
from proctor.contract.policy import (
    BREAKER_CODES,
    DECIDED,
    GRADED,
    TEXT_RULES,
    Ask,
    Budget,
    Checkpoints,
    Dependencies,
    Network,
    Policy,
    Rollback,
    Stages,
    TextRules,
    is_graded,
    is_own_code,
)
from proctor.contract.scalar_types import did_you_mean, quoted
from proctor.contract.schema import CONTRACT
from proctor.contract.strict_yaml import Node, Report, TooManyMistakes, parse_yaml
from proctor.contract.text_types import CODES

VERSION = "1"
"""Changes with the meaning of YAML here, or of what is kept."""
MOST_KEPT = 1000


def parse_yaml_cached(data: bytes, report: Report, memory: Path | None) -> Node | None:
    """The result of :func:`parse_yaml`, from ``memory`` if the same bytes were parsed before."""
    if memory is None:
        return parse_yaml(data, report)
    file = memory / hashlib.sha256(VERSION.encode() + b"\0" + data).hexdigest()
    known = _recall(file)
    if known is not None:
        return known
    mistakes = len(report.mistakes)
    node = parse_yaml(data, report)
    if node is not None and len(report.mistakes) == mistakes:
        _remember(file, node)
    return node


def _recall(file: Path) -> Node | None:
    try:
        kept = parse(file.read_bytes())
        if kept["digest"] != _digest(kept["node"]):
            return None
        return _node(kept["node"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(file: Path, node: Node) -> None:
    """Cache ``node``; nothing happens if the directory is full or cannot be written to."""
    try:
        file.parent.mkdir(exist_ok=True)
        if sum(1 for _ in file.parent.iterdir()) < MOST_KEPT:
            plain = _plain(node)
            write_whole(file, canonical({"digest": _digest(plain), "node": plain}), sync=False)
    except OSError:
        return


def _digest(plain: list[Any]) -> str:
    return hashlib.sha256(canonical(plain)).hexdigest()


def _plain(node: Node) -> list[Any]:
    value: Any = node.value
    if node.kind == "list":
        value = [_plain(item) for item in node.value]
    elif node.kind == "map":
        assert node.keys is not None
        value = [[key, *node.keys[key], _plain(item)] for key, item in node.value.items()]
    return [node.kind, value, node.line, node.column]


def _node(plain: list[Any]) -> Node:
    kind, value, line, column = plain
    if kind == "list":
        return Node(kind, tuple(_node(item) for item in value), line, column)
    if kind == "map":
        values = {key: _node(item) for key, _, _, item in value}
        return Node(kind, values, line, column, {key: (at, beside) for key, at, beside, _ in value})
    return Node(kind, value, line, column)


class PolicyReader:
    """Reads the policy and the budget of one contract."""

    def __init__(self, files: NamedFiles, report: Report) -> None:
        self.files = files
        self.report = report

    def policy(self, part: Part) -> Policy:
        """The policy; a cassette is read and digested, and codes are known ones."""
        self._known_rules(part)
        breakers: tuple[str, ...] = part["breakers"]
        return Policy(
            **{
                **part,
                "network": self._network(part["network"]),
                "stages": Stages(**part["stages"]),
                "dependencies": Dependencies(**part["dependencies"]),
                "words": TextRules(**part["words"]),
                "ask": tuple(Ask(**one) for one in self._once(part["ask"], "is listed twice under ask", breakers)),
                "checkpoints": None if part["checkpoints"] is None else Checkpoints(**part["checkpoints"]),
                "rollback": tuple(
                    Rollback(**one) for one in self._once(part["rollback"], "is listed twice under rollback", breakers)
                ),
                "rules": MappingProxyType(dict(part["rules"])) if part["rules"] else EMPTY,
            }
        )

    def budget(self, part: Part) -> Budget:
        """The budget."""
        return Budget(**part)

    def setup_network(self, step: Part) -> Network:
        """The network of a setup step, which is closed: other ways are refused until they are carried out."""
        value = step["network"]
        if isinstance(value, Part) and value.variant:
            message = f"setup cannot use the network, so {quoted(value.variant)} is not supported"
            self.report.add(step.place("network"), message, "write none, and declare under inputs what it needs")
        return Network()

    def _network(self, value: Part | str) -> Network:
        """The network access; closed after a mistake."""
        if isinstance(value, str) or not value.variant:
            return Network()
        if value.variant == "replay":
            return Network(replay=self.files.file(value.place("replay"), value["replay"], CASSETTE_BYTES)[0])
        return Network(value["allow"], value["record"] if value.variant == "record" else "")

    def _known_rules(self, part: Part) -> None:
        """Report codes and rules that do not exist."""
        for code in part["rules"]:
            if not CODES.matches(code) or is_graded(code):
                continue
            if code in BREAKER_CODES:
                message, hint = f"the grade of {quoted(code)} is set by its breaker", "leave it out"
            else:
                message = f"there is no code {quoted(code)}"
                hint = did_you_mean(code, (*GRADED, "syscall-*", "words-*"))
            self.report.add((part.place("rules").keys or {})[code], message, hint)
        off: Part = part["words"]
        for index, rule in enumerate(off["off"]):
            if rule and rule not in TEXT_RULES:
                message = f"there is no text rule {quoted(rule)}"
                self.report.add(off.place("off").value[index], message, did_you_mean(rule, TEXT_RULES))

    def _once(self, parts: tuple[Part, ...], message: str, breakers: tuple[str, ...]) -> tuple[Part, ...]:
        """The parts; unknown and repeated codes in their ``on`` are reported."""
        seen: set[str] = set()
        for part in parts:
            for index, code in enumerate(part["on"]):
                place = part.place("on").value[index]
                if code and code in seen:
                    self.report.add(place, f"{quoted(code)} {message}")
                elif code and code not in DECIDED and not any(is_own_code(code, one) for one in breakers):
                    self.report.add(place, f"there is no alert {quoted(code)}", did_you_mean(code, DECIDED))
            seen.update(part["on"])
        return parts


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
        node = parse_yaml_cached(data, report, memory)
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
        message = f"there is no {CONTRACT_NAME} in this directory" if file != asked else "does not exist"
        mistake = Mistake(str(asked), 0, 0, message, "proctor init writes a first contract")
    except InfrastructureFault as fault:
        mistake = Mistake(str(file), 0, 0, f"is {fault.message}, so it is not a contract")
    except OSError as error:
        mistake = Mistake(str(file), 0, 0, f"cannot be read: {error.strerror}")
    raise ContractError([mistake])


def _build(part: Part, directory: Path, report: Report, allow_unpinned: bool) -> Contract:
    files = NamedFiles(str(directory), report)
    lock = _lock(directory / LOCK_NAME, report, allow_unpinned)
    sources = SourcesReader(files, lock, report, allow_unpinned)
    head: Part = part["contract"]
    task = _task(part["task"], files)
    repository = sources.repository(part["repository"])
    environment = _environment(part["environment"], files, report)
    inputs = sources.inputs(part["inputs"])
    oracle = ChecksReader(files, inputs, report)
    checks = oracle.checks(part["checks"])
    terms = PolicyReader(files, report)
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
    """The lock of the contract; a broken one is ignored when it is about to be written again."""
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


def _step(part: Part, terms: PolicyReader) -> SetupStep:
    network = terms.setup_network(part)
    return SetupStep(command(part["run"]), part["directory"], part["timeout_seconds"], part["repeat"], network)


def _environment(part: Part, files: NamedFiles, report: Report) -> Environment:
    placed: list[PlacedFile] = []
    for inner in part["files"]:
        file, _ = files.file(inner.place("from"), inner["from"], PLACED_BYTES)
        to = inner["to"]
        for other in placed:
            if (to and f"{to}/".startswith(f"{other.to}/")) or f"{other.to}/".startswith(f"{to}/"):
                report.add(inner.place("to"), f"{quoted(to)} and {quoted(other.to)} overlap")
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
    """The layers of an image; text is the digest of a single layer, and no value means no layers."""
    if isinstance(image, str):
        return (image,) if image else ()
    return image


def _mapping(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(dict(values)) if values else EMPTY
