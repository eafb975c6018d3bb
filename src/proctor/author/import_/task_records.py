"""Records of SWE-bench tasks from files that a stranger wrote: JSON, JSON lines, Parquet, or a task repository.

Records come one at a time, so a file of any length is read in bounded memory. A file that cannot be read as a whole is
an error of the call; a record with wrong content is for the reader of records to refuse. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from proctor.base.canonical import NotJson, parse
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded

MAX_DOCUMENT_BYTES = 256 * 2**20
MAX_LINE_BYTES = 32 * 2**20
MAX_YAML_BYTES = 1 << 20
MAX_TEXT_BYTES = 16 * 2**20
PARQUET = b"PAR1"
TASKS, MARK, METADATA, IDS = "tasks", "sweb.yaml", "task.yaml", "tests.json"
TEXTS = {
    "problem_statement": "problem_statement.md",
    "hints_text": "hints.md",
    "patch": "gold.patch",
    "test_patch": "test.patch",
    "eval_script": "eval.sh",
    "dockerfile": "Dockerfile",
}
"""The files of a task in a task repository, by the field that their text is."""

Record = tuple[str, Mapping[str, Any]]
"""Where a record is, and its fields."""


def records(path: Path) -> Iterator[Record]:
    """The records in a file, or in a folder with a task repository or one of its tasks."""
    if path.is_dir():
        yield from _folder(path)
        return
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise UsageFault(
            f"it cannot be read: {error.strerror}", where=str(path), hint="give a file or a folder of tasks"
        ) from None
    if start.startswith(PARQUET):
        yield from _parquet(path)
    elif _is_lines(path, start):
        yield from _lines(path)
    else:
        yield from _document(path)


def _is_lines(path: Path, start: bytes) -> bool:
    """Whether a file has one object in each line: by its name, or by a whole object in the first line."""
    if path.suffix in (".jsonl", ".ndjson"):
        return True
    first, ended, rest = start.partition(b"\n")
    if not start.lstrip().startswith(b"{") or not ended or not rest.strip():
        return len(start) == 4096 and start.startswith(b"{") and b"\n" not in start
    try:
        return isinstance(parse(first), dict)
    except NotJson:
        return False


def _lines(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path.name}:{number}"
            if len(line) > MAX_LINE_BYTES:
                raise UsageFault(
                    f"a line is longer than {MAX_LINE_BYTES:,} bytes", where=where, hint="is it JSON lines?"
                )
            if line.strip():
                yield where, _object(line, where)


def _document(path: Path) -> Iterator[Record]:
    """A record, a list of records, or records by their id."""
    data = _bytes(path, MAX_DOCUMENT_BYTES)
    try:
        found = parse(data)
    except NotJson as error:
        hint = "give JSON, JSON lines, Parquet or a task repository"
        raise UsageFault(f"this is not JSON: {error}", where=str(path), hint=hint) from None
    if isinstance(found, dict) and "instance_id" not in found and found:
        found = [row if isinstance(row, dict) else {} for row in found.values()]
    rows = found if isinstance(found, list) else [found]
    for number, row in enumerate(rows, 1):
        where = f"{path.name}: record {number}"
        if not isinstance(row, dict):
            raise UsageFault("this is not an object", where=where, hint="a record is an object with the task's fields")
        yield where, row


def _parquet(path: Path) -> Iterator[Record]:
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]]
    settings = {"memory_limit": "1GB", "temp_directory": "", "threads": 1, "autoinstall_known_extensions": False}
    if any(sign in str(path) for sign in "*?[]{}"):
        raise UsageFault("the name has signs of a pattern", where=str(path), hint="rename the file without * ? [ ] { }")
    with duckdb.connect(":memory:", config=settings) as database:
        try:
            rows = database.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [column[0] for column in rows.description or ()]
            number = 0
            while part := rows.fetchmany(64):
                for row in part:
                    number += 1
                    yield f"{path.name}: row {number}", dict(zip(names, row, strict=True))
        except duckdb.Error as error:
            said = str(error).splitlines()[0][:200]
            raise UsageFault(f"this is not whole Parquet: {said}", where=str(path), hint="copy it again") from None


def _folder(path: Path) -> Iterator[Record]:
    if (path / METADATA).is_file():
        yield str(path.name), _task(path)
        return
    tasks = path / TASKS
    if not tasks.is_dir():
        hint = f"a task repository has {TASKS}/ID/{METADATA}; else give files"
        raise UsageFault("this folder has no tasks of SWE-bench", where=str(path), hint=hint)
    for folder in sorted(tasks.iterdir()):
        if folder.is_dir() and not folder.is_symlink() and (folder / METADATA).is_file():
            yield f"{TASKS}/{folder.name}", _task(folder)


def _task(folder: Path) -> Mapping[str, Any]:
    """The fields of a task in a task repository, as a record has them."""
    found: dict[str, Any] = dict(simple_yaml(folder / METADATA))
    if (folder / IDS).is_file():
        found |= _object(_bytes(folder / IDS, MAX_TEXT_BYTES), f"{folder.name}/{IDS}")
    for field, name in TEXTS.items():
        if (folder / name).is_file():
            try:
                found[field] = _bytes(folder / name, MAX_TEXT_BYTES).decode()
            except UnicodeDecodeError:
                raise UsageFault(
                    "this is not UTF-8 text", where=f"{folder.name}/{name}", hint="save it in UTF-8"
                ) from None
    return found


def simple_yaml(path: Path) -> dict[str, Any]:
    """The map in a YAML file of a stranger, without anchors, tags and deep nesting."""
    data = _bytes(path, MAX_YAML_BYTES)
    try:
        for event in yaml.parse(data, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise UsageFault("anchors and tags are not read", where=str(path), hint="write the values out")
        found = yaml.safe_load(data)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        said = str(error).splitlines()[0][:200] if str(error) else "it is nested too deeply"
        raise UsageFault(f"this is not YAML: {said}", where=str(path), hint="correct the file") from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise UsageFault("this is not a map of names", where=str(path), hint="correct the file")
    return found


def _object(data: bytes, where: str) -> Mapping[str, Any]:
    try:
        found = parse(data)
    except NotJson as error:
        raise UsageFault(f"this is not JSON: {error}", where=where, hint="is the file whole?") from None
    if not isinstance(found, dict):
        raise UsageFault("this is not an object", where=where, hint="a record is an object with the task's fields")
    return found


def _bytes(path: Path, limit: int) -> bytes:
    try:
        return read_bounded(path, limit)
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(path), hint="give an ordinary, smaller file") from None
    except OSError as error:
        raise UsageFault(f"it cannot be read: {error.strerror}", where=str(path), hint="give another file") from None
