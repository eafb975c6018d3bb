"""Forged run directories that hold together: one value is changed, then every hash, the chain and the seal are new.

The forger knows everything that Proctor does. With ``scored`` the report is computed again from the forged evidence, so
that it gives nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, digest, parse
from proctor.judge.run_report import build_report
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import load_seal
from proctor.record.trace.event import GENESIS, assemble_line, header_bytes, payload_digest
from proctor.record.trace.merkle import Frontier

Steps = tuple[str | int, ...]
FILES = ("manifest.json", "contract.json", "report.json", "workspace/changes.json", "acceptance/results.json")


class Forger:
    """The contents of one sealed run, to be written with one value changed; ``restore`` writes the original."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self.original = {
            path.relative_to(run.path).as_posix(): path.read_bytes() for path in run.path.rglob("*") if path.is_file()
        }
        self.events = [parse(line) for line in self.original["events.jsonl"].splitlines()]

    def leaves(self) -> Iterator[tuple[str, Steps, Any]]:
        """Every value of every JSON file and of every event: the file (or ``type#seq``), the way to it, the value."""
        for name in FILES:
            if name in self.original:
                yield from ((name, steps, value) for steps, value in leaves(parse(self.original[name])))
        for event in self.events:
            name = f"{event['type']}#{event['seq']}"
            yield from ((name, ("payload", *steps), value) for steps, value in leaves(event["payload"]))
            yield name, ("actor",), event["actor"]

    def restore(self) -> None:
        """Write the original files."""
        for name, data in self.original.items():
            (self.run.path / name).write_bytes(data)

    def forge(self, place: str, steps: Steps, value: Any, *, scored: bool) -> None:
        """Write the run with ``value`` at one place, and everything that covers it made to fit."""
        self.restore()
        if "#" in place:
            events = [parse(canonical(event)) for event in self.events]
            put(events[int(place.partition("#")[2])], steps, value)
            self._write_events(events)
        else:
            content = parse(self.original[place])
            put(content, steps, value)
            (self.run.path / place).write_bytes(canonical(content))
        if scored and place != "report.json":
            self._score()
        self.seal()

    def _write_events(self, events: list[dict[str, Any]]) -> None:
        head, lines = GENESIS, []
        for event in events:
            body, salt = canonical(event["payload"]), event["salt"]
            covered = payload_digest(bytes.fromhex(salt), body)
            header = header_bytes(event["actor"], covered, head, event["seq"], event["t"], event["type"])
            head = sha256(header).hexdigest()
            lines.append(assemble_line(event["actor"], head, body, salt, event["seq"], event["t"], event["type"]))
        self.run.events.write_bytes(b"".join(lines))
        report = parse(self.run.report.read_bytes())
        report["events"]["head"] = head
        self.run.report.write_bytes(canonical(report))

    def _score(self) -> None:
        """The report that the forged evidence gives, with the status that the last event says then."""
        try:
            data = build_report(self.run)
        except Exception:  # such a forgery cannot be scored, which verify must notice
            return
        self.run.report.write_bytes(data)

    def seal(self) -> None:
        """A seal over what the directory holds now."""
        value = parse(self.original["seal.json"])
        for entry in value["files"]:
            data = (self.run.path / entry["path"]).read_bytes()
            entry.update(bytes=len(data), sha256=sha256(data).hexdigest())
        tree, head = Frontier(), GENESIS
        lines = [parse(line) for line in self.run.events.read_bytes().splitlines()]
        for event in lines:
            covered = payload_digest(bytes.fromhex(event["salt"]), canonical(event["payload"]))
            tree.add(header_bytes(event["actor"], covered, head, event["seq"], event["t"], event["type"]))
            head = event["hash"]
        value["events"] = {"count": len(lines), "head": head, "root": tree.root().hex()}
        del value["digest"]
        self.run.seal.write_bytes(canonical({**value, "digest": digest(value)}))
        load_seal(self.run)


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every value that holds no other, and the way to it."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*steps, name))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*steps, index))
    else:
        yield steps, value


def put(value: Any, steps: Steps, new: Any) -> None:
    """Set what is at the end of ``steps``."""
    for step in steps[:-1]:
        value = value[step]
    value[steps[-1]] = new


def another(value: Any) -> Any:
    """A value of the same kind that is not ``value``."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value in ("agent", "harness", "monitor", "operator"):
        return "harness" if value != "harness" else "agent"
    if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return ("1" if value[0] != "1" else "2") + value[1:]
    if isinstance(value, str) and re.fullmatch(r"(sha256:)?[0-9a-f]{40,}", value):
        return value[:-1] + ("0" if value[-1] != "0" else "1")
    if isinstance(value, str):
        return value + "x"
    return {None: "x"}.get(value) if value is None else [*value, "x"] if isinstance(value, list) else {"x": 1}


def shape(place: str, steps: Steps) -> str:
    """The place of a value without numbers: the class of values that it belongs to."""
    path = "".join("[]" if isinstance(step, int) else f".{step}" for step in steps)
    return f"{place.partition('#')[0]}{path.removeprefix('.payload')}"


def copy_of(run: Path, to: Path) -> RunDirectory:
    """A run directory with the same files and modes."""
    import shutil

    shutil.copytree(run, to)
    return RunDirectory(to)
