"""Write an export into a new folder: its files, and ``export.json`` beside them as the last one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from proctor import __version__
from proctor.author.export.export_record import (
    KIND,
    NAME,
    SCHEMA,
    ExportFile,
    ExportLoss,
    ExportRecord,
    ExportSubject,
)
from proctor.author.export.interface import ContractFormat, Exported, ExportedFile, Format, RunFormat
from proctor.author.export.recorded_run import RecordedRun
from proctor.author.export.task_material import TaskMaterial
from proctor.base.canonical import canonical
from proctor.base.errors import UsageFault
from proctor.base.files import write_whole
from proctor.base.json_records import to_json

README = "README.md"
_CHUNK = 1 << 20

Readme = Callable[[Exported, TaskMaterial], str]
"""Writes the README of a task, with the sentences of its losses."""


def require_new_folder(folder: Path) -> None:
    """Refuse a folder that holds something, before any work is done."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageFault("this is a file", where=str(folder), hint="give a new folder for --out")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageFault("this folder is not empty", where=str(folder), hint="give a new folder for --out")


def export_contracts(
    form: ContractFormat, image: str, tasks: Iterable[TaskMaterial], folder: Path, readme: Readme
) -> ExportRecord:
    """Write tasks one after the other, so that only one of them is in memory."""
    require_new_folder(folder)
    done: list[Exported] = []
    subjects: list[ExportSubject] = []
    files: list[ExportFile] = []
    for task in tasks:
        name = task.contract.name
        if any(one.name == name for one in subjects):
            message = f"two contracts have the name {name!r}"
            raise UsageFault(message, where=str(task.contract.directory), hint="export them into two folders")
        exported = form.export(task, image)
        files += _write(folder, exported.files)
        if form.readme:
            text = ExportedFile(f"{exported.folder}/{README}", readme(exported, task).encode())
            files += _write(folder, (text,))
        subjects.append(ExportSubject(kind="contract", name=name, id=task.content_id))
        done.append(replace(exported, files=()))
    files += _write(folder, form.index(done))
    return _finish(folder, form, form.contains, subjects, done, files)


def export_runs(form: RunFormat, runs: Sequence[RecordedRun], folder: Path) -> ExportRecord:
    """Write runs, each once, in the order of their ids."""
    require_new_folder(folder)
    ordered = sorted({run.id: run for run in runs}.values(), key=lambda run: run.id)
    done = form.export(ordered)
    files = [file for exported in done for file in _write(folder, exported.files)]
    files += _write(folder, form.index(ordered))
    subjects = [ExportSubject(kind="run", name=run.id, id=run.seal) for run in ordered]
    return _finish(folder, form, (), subjects, done, files)


def _finish(
    folder: Path,
    form: Format,
    contains: tuple[str, ...],
    subjects: Sequence[ExportSubject],
    done: Iterable[Exported],
    files: Iterable[ExportFile],
) -> ExportRecord:
    record = ExportRecord(
        schema=SCHEMA,
        kind=KIND,
        format=form.name,
        format_version=form.version,
        proctor=__version__,
        contains=contains,
        subjects=tuple(subjects),
        files=tuple(sorted(files, key=lambda file: file.path)),
        losses=tuple(
            ExportLoss(subject=exported.subject, code=loss.code, values=dict(loss.values))
            for exported in done
            for loss in exported.losses
        ),
    )
    write_whole(folder / NAME, canonical(to_json(record)), sync=False)
    return record


def _write(folder: Path, files: Iterable[ExportedFile]) -> Iterator[ExportFile]:
    for file in files:
        parts = PurePosixPath(file.path).parts
        if not parts or ".." in parts or file.path.startswith("/"):
            raise UsageFault(f"not a name for a file of an export: {file.path!r}")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as out:
            if isinstance(file.content, bytes):
                out.write(file.content)
            else:
                file.content(out)
        path.chmod(0o755 if file.executable else 0o644)
        yield _described(path, file.path)


def _described(path: Path, name: str) -> ExportFile:
    state, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while part := file.read(_CHUNK):
            state.update(part)
            size += len(part)
    return ExportFile(path=name, sha256=state.hexdigest(), bytes=size)
