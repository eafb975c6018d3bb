"""A task of Harbor as typed fields, from a folder that a stranger wrote. Nothing in it is executed.

`task.toml` is read strictly: a wrong type is an error, and a key that the format does not have is listed as lost. Of a
Dockerfile only the base image, variables, the working directory and copies of files are understood; every other line
would build something, and is listed.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.author.import_.import_record import Losses, Refused, shown
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded

DATASET = "dataset.toml"
CONFIG, INSTRUCTION, DOCKERFILE = "task.toml", "instruction.md", "environment/Dockerfile"
TEST_SCRIPT, SOLUTION = "tests/test.sh", "solution/solve.sh"
MAX_TEXT_BYTES = 4 << 20
MAX_FILE_BYTES = 64 << 20
MAX_FILES = 5000
MAX_BYTES = 512 << 20
SIDECARS = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")


def _keys(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


TABLES: Mapping[str, frozenset[str]] = {
    "": _keys(
        "schema_version version task metadata verifier agent environment solution source steps artifacts",
        "multi_step_reward_strategy",
    ),
    "task": _keys("name version description authors keywords"),
    "agent": _keys("timeout_sec user network_mode allowed_hosts"),
    "verifier": _keys(
        "timeout_sec env user network_mode allowed_hosts environment_mode environment collect",
    ),
    "environment": _keys(
        "network_mode allowed_hosts build_timeout_sec docker_image os cpus memory_mb storage_mb gpus gpu_types tpu",
        "mcp_servers env skills_dir healthcheck workdir allow_internet",
    ),
    "solution": _keys("env"),
}
"""The keys of each table of task.toml."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class HarborTask:
    """A task with what a contract is made of."""

    name: str
    instruction: str
    workdir: str
    image: str
    copies: tuple[tuple[str, str], ...]
    """Sources in the folder of the environment, and where they go: below the target if it ends in a slash."""
    variables: Mapping[str, str]
    tests: Mapping[str, tuple[bytes, bool]]
    """The files of the tests by path, and whether each is a program."""
    agent_seconds: int
    check_seconds: int
    memory_bytes: int
    disk_bytes: int
    labels: Mapping[str, str] = field(default_factory=dict)


def harbor_task(folder: Path, losses: Losses) -> HarborTask:
    """The task in ``folder``; :class:`Refused` where it has none that a contract can be made of."""
    _refuse_links(folder)
    config = _config(folder)
    _check_keys(config, losses)
    _refuse_foreign(folder, config)
    environment = _table(config, "environment")
    dockerfile = _dockerfile(folder, losses)
    workdir = str(_value(environment, "environment.workdir", str) or dockerfile.workdir).rstrip("/")
    if not re.fullmatch(r"(?:/[A-Za-z0-9._-]+)+", workdir) or "/.." in workdir:
        raise Refused("outside-the-tree", f"the working directory is {workdir or '/'!r}")
    variables = {**dockerfile.variables, **_variables(environment, "environment.env")}
    variables |= _variables(_table(config, "verifier"), "verifier.env")
    _note(config, losses)
    tests = tree_files(folder / "tests")
    if "test.sh" not in tests:
        raise Refused("no-tests", TEST_SCRIPT)
    name = _value(_table(config, "task"), "task.name", str) or folder.name
    return HarborTask(
        name=name,
        instruction=_text(folder / INSTRUCTION),
        workdir=workdir,
        image=_value(environment, "environment.docker_image", str) or dockerfile.image,
        copies=dockerfile.copies,
        variables=variables,
        tests=tests,
        agent_seconds=_seconds(_table(config, "agent"), "agent.timeout_sec", 1800),
        check_seconds=_seconds(_table(config, "verifier"), "verifier.timeout_sec", 600),
        memory_bytes=_megabytes(environment, "environment.memory_mb"),
        disk_bytes=_megabytes(environment, "environment.storage_mb"),
        labels=_labels(config),
    )


def _refuse_links(folder: Path) -> None:
    """Refuse a task whose own folders are links: what they name is not part of the task."""
    for name in ("environment", "tests", "solution"):
        if (folder / name).is_symlink():
            raise Refused("bad-record", f"{name} is a link")


def _config(folder: Path) -> dict[str, Any]:
    text = _text(folder / CONFIG)
    try:
        config = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise Refused("bad-record", f"{CONFIG}: {str(error)[:200] or 'nested too deeply'}") from None
    version = config.get("schema_version", config.get("version", VERSIONS[0]))
    if version not in VERSIONS:
        raise Refused("bad-record", f"schema_version is {version!r}; up to {VERSIONS[-1]} is read")
    return config


def _check_keys(config: dict[str, Any], losses: Losses) -> None:
    for table, keys in TABLES.items():
        found = _table(config, table) if table else config
        for key in sorted(set(found) - keys):
            losses.add("field", f"{table}.{key}" if table else key)


def _refuse_foreign(folder: Path, config: dict[str, Any]) -> None:
    """Refuse what no contract can hold."""
    if config.get("steps") or (folder / "steps").is_dir():
        raise Refused("steps")
    environment = _table(config, "environment")
    for name in SIDECARS:
        if (folder / "environment" / name).exists():
            raise Refused("sidecars", f"environment/{name}")
    if environment.get("mcp_servers"):
        raise Refused("sidecars", "environment.mcp_servers")
    system = environment.get("os", "linux")
    if system != "linux":
        raise Refused("language", f"environment.os is {system!r}")


def _note(config: dict[str, Any], losses: Losses) -> None:
    environment, verifier, agent = (_table(config, name) for name in ("environment", "verifier", "agent"))
    for key in ("cpus", "gpus", "gpu_types", "tpu", "skills_dir"):
        if environment.get(key):
            losses.add("resources", f"environment.{key}")
    if environment.get("healthcheck"):
        losses.add("healthcheck")
    if config.get("artifacts") or verifier.get("collect"):
        losses.add("artifacts")
    for table, name in ((agent, "agent"), (verifier, "verifier")):
        if table.get("user") is not None:
            losses.add("user", f"{name}.user")
    if environment.get("network_mode", "public") != "no-network":
        losses.add("network")


def _labels(config: dict[str, Any]) -> dict[str, str]:
    """The difficulty and the category, which many tasks have under metadata."""
    found = _table(config, "metadata")
    return {
        key: shown(found[key]) for key in ("difficulty", "category") if isinstance(found.get(key), str) and found[key]
    }


@dataclass(frozen=True)
class _Dockerfile:
    image: str = ""
    workdir: str = ""
    copies: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def _dockerfile(folder: Path, losses: Losses) -> _Dockerfile:
    if not (folder / DOCKERFILE).is_file():
        return _Dockerfile()
    image, workdir = "", ""
    copies: list[tuple[str, str]] = []
    variables: dict[str, str] = {}
    for line in re.sub(r"\\[ \t]*\n", " ", _text(folder / DOCKERFILE)).splitlines():
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        match word.upper():
            case "":
                continue
            case "FROM" if not image and " " not in rest and not rest.startswith("-"):
                image = rest
            case "WORKDIR":
                workdir = rest if rest.startswith("/") else f"{workdir}/{rest}"
            case "COPY" | "ADD" if _sources(rest):
                *sources, target = _sources(rest)
                place = target if target.startswith("/") else f"{workdir}/{target}"
                copies += [(source, _target(place, len(sources))) for source in sources]
            case "ENV" if _pairs(rest):
                variables |= _pairs(rest)
            case _ if not line.strip().startswith("#"):
                losses.add("build", line)
    return _Dockerfile(image, workdir, tuple(copies), variables)


def _sources(rest: str) -> list[str]:
    """The words of a COPY without options; nothing if it copies from elsewhere or by a pattern."""
    try:
        words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    except (ValueError, RecursionError):
        return []
    plain = isinstance(words, list) and len(words) > 1 and all(isinstance(word, str) for word in words)
    if not plain or any(word.startswith("-") or "://" in word or set(word) & set("*?[$") for word in words):
        return []
    return list(words)


def _target(place: str, sources: int) -> str:
    """Where a copy goes: a directory, with a slash at its end, if it says so or there are several sources."""
    is_directory = place.endswith(("/", "/.")) or sources > 1
    return posixpath.normpath(place) + ("/" if is_directory else "")


def _pairs(rest: str) -> dict[str, str]:
    try:
        pairs = [word.partition("=") for word in shlex.split(rest)]
    except ValueError:
        return {}
    found = {name: value for name, equals, value in pairs if equals and VARIABLE.fullmatch(name) and "$" not in value}
    return found if len(found) == len(pairs) else {}


def tree_files(top: Path) -> dict[str, tuple[bytes, bool]]:
    """Every ordinary file below ``top`` by path, and whether it is a program; links and devices are refused."""
    found: dict[str, tuple[bytes, bool]] = {}
    total = 0
    for directory, folders, names in os.walk(top):
        for name in sorted([*names, *(one for one in folders if os.path.islink(os.path.join(directory, one)))]):
            path = Path(directory, name)
            if path.is_symlink() or not path.is_file():
                raise Refused("bad-record", f"{shown(name)} is a link or a device")
            data = _bytes(path, MAX_FILE_BYTES)
            total += len(data)
            if len(found) >= MAX_FILES or total > MAX_BYTES:
                raise Refused("bad-record", f"more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB")
            try:
                text = str(path.relative_to(top)).encode().decode()
            except UnicodeError:
                raise Refused("bad-record", "a file name is not UTF-8") from None
            found[text] = (data, bool(path.stat().st_mode & 0o111))
    return found


def _table(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = config.get(name, {})
    if not isinstance(found, dict):
        raise Refused("bad-record", f"{name} is not a table")
    return found


def _value(table: Mapping[str, Any], path: str, kind: type) -> Any:
    found = table.get(path.rpartition(".")[2])
    if found is not None and (not isinstance(found, kind) or isinstance(found, bool)):
        raise Refused("bad-record", f"{path} has the wrong type")
    return found


def _variables(table: Mapping[str, Any], path: str) -> dict[str, str]:
    found = _value(table, path, dict) or {}
    for name, value in found.items():
        if not VARIABLE.fullmatch(name) or not isinstance(value, str):
            raise Refused("bad-record", f"{path}.{shown(name)} is no variable")
    return {name: value for name, value in found.items() if "${" not in value}


def _number(table: Mapping[str, Any], path: str, most: float) -> float:
    value = table.get(path.rpartition(".")[2])
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise Refused("bad-record", f"{path} is not a number above 0 and up to {most:g}")
    return float(value)


def _seconds(table: Mapping[str, Any], path: str, default: int) -> int:
    return max(1, round(_number(table, path, 604_800))) if table.get(path.rpartition(".")[2]) is not None else default


def _megabytes(table: Mapping[str, Any], path: str) -> int:
    return round(_number(table, path, 1 << 24)) << 20


def _text(path: Path) -> str:
    try:
        text = _bytes(path, MAX_TEXT_BYTES).decode()
    except UnicodeDecodeError:
        raise Refused("bad-record", f"{path.name} is not UTF-8") from None
    if "\0" in text:
        raise Refused("bad-record", f"{path.name} has a NUL")
    return text


def _bytes(path: Path, limit: int) -> bytes:
    try:
        return read_bounded(path, limit)
    except InfrastructureFault as error:
        raise Refused("bad-record", f"{path.name}: {error.message}") from None
    except OSError as error:
        raise Refused("bad-record", f"{path.name}: {error.strerror}") from None


def absent_tasks(path: Path) -> list[str]:
    """The tasks that a data set names and that have no folder beside its manifest."""
    if not (path / DATASET).is_file():
        return []
    try:
        found = tomllib.loads(_text(path / DATASET)).get("tasks", [])
        names = [str(one["name"]) for one in found]
    except (tomllib.TOMLDecodeError, RecursionError, KeyError, TypeError, Refused) as error:
        said = error.detail if isinstance(error, Refused) else str(error)[:200]
        raise UsageFault(f"this is no manifest: {said}", where=str(path / DATASET), hint="correct it") from None
    there = {one.name for one in path.iterdir()}
    return [name for name in names if name.rpartition("/")[2] not in there]


def task_folders(path: Path) -> list[Path]:
    """The tasks in a folder: itself, or the folders in it that have a task.toml."""
    if (path / CONFIG).is_file():
        return [path]
    if not path.is_dir():
        raise UsageFault("this is not a folder", where=str(path), hint="give a task of Harbor, or a folder of tasks")
    found = sorted(one for one in path.iterdir() if one.is_dir() and not one.is_symlink() and (one / CONFIG).is_file())
    if not found and not (path / DATASET).is_file():
        hint = f"a task has {CONFIG}, {INSTRUCTION} and {TEST_SCRIPT}"
        raise UsageFault("this folder has no tasks of Harbor", where=str(path), hint=hint)
    return found
