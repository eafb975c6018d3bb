"""The files of an image: exported as one archive, and the paths in it that a contract hides.

The engine is asked for the merged file system of a container that is created from the image and never started, which
Docker and podman offer to all of their users. The container is recorded like that of a sandbox, so that the next sweep
removes it if this process is killed. The paths that a list of globs means are stored in the home by the digests of the
layers, because the content of an image never changes.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.execute.sandbox import sessions
from proctor.execute.sandbox.container import leftover
from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.container.specification import SESSION_LABEL, HiddenPath
from proctor.execute.sandbox.interface import HOME, SETUP, WORKSPACE
from proctor.execute.workspace.glob import matches

OWN = (WORKSPACE, SETUP, HOME, "/proc", "/dev", "/sys", "/run", "/tmp", "/var/tmp")
"""What every sandbox mounts over the image: nothing of the image shows there."""

EXPORT_BYTES = 64 << 30
MOST_HIDDEN = 2000
"""The most paths that are hidden: each one is a mount in every sandbox."""

RECORD_BYTES = 4 << 20


def export(engine: Engine, image: str, records: Path, target: Path) -> None:
    """Write the files of ``image`` to ``target``, a tar archive."""
    name = f"proctor-{os.getpid()}-{os.urandom(6).hex()}"
    records.mkdir(parents=True, exist_ok=True)
    place = str(records / name)
    own = sessions.Session(
        name, os.getpid(), sessions.start_time(os.getpid()), sessions.boot_id(), engine=engine.path, place=place
    )
    record = sessions.write(records, own)
    body = {"Image": image, "Cmd": ["/nonexistent"], "Labels": {SESSION_LABEL: name}, "NetworkDisabled": True}
    try:
        engine.call("POST", "/containers/create", {"name": name}, body)
        engine.receive_file(f"/containers/{name}/export", target, EXPORT_BYTES)
    finally:
        leftover.remove_container(engine, name)
        record.unlink(missing_ok=True)


def hidden_paths(
    engine: Engine, image: str, layers: tuple[str, ...], hide: tuple[str, ...], records: Path
) -> tuple[HiddenPath, ...]:
    """The paths of ``image`` that ``hide`` means, none of them below another one."""
    if not hide:
        return ()
    key = digest({"kind": "hidden-paths", "format": 1, "layers": list(layers), "hide": list(hide)})
    kept = records.parent / "searches" / key.removeprefix("sha256:")
    known = _recalled(kept)
    if known is None:
        archive = records.parent / f".export-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            export(engine, image, records, archive)
            known = tuple(expand(members_of(archive), hide))
        finally:
            archive.unlink(missing_ok=True)
        rows = [[one.path, one.is_directory] for one in known]
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, canonical({"digest": digest(rows), "paths": rows}), sync=False)
    return known


def _recalled(kept: Path) -> tuple[HiddenPath, ...] | None:
    try:
        found = parse(read_bounded(kept, RECORD_BYTES))
        if found["digest"] != digest(found["paths"]):
            return None
        return tuple(HiddenPath(str(path), bool(is_directory)) for path, is_directory in found["paths"])
    except (OSError, InfrastructureFault, ValueError, KeyError, TypeError):
        return None


def members_of(archive: Path) -> Iterator[tuple[str, bool]]:
    """Every path in an exported image, absolute, and whether it is a directory."""
    try:
        with tarfile.open(archive, encoding="utf-8", errors="surrogateescape") as tar:
            while (member := tar.next()) is not None:
                path = "/" + "/".join(part for part in member.name.split("/") if part not in ("", "."))
                if path != "/":
                    yield path, member.isdir()
                tar.members.clear()  # type: ignore[attr-defined]
    except (tarfile.TarError, EOFError) as error:
        raise InfrastructureFault(f"the engine's export of the image cannot be read: {error}") from None


def expand(members: Iterable[tuple[str, bool]], hide: tuple[str, ...]) -> Iterator[HiddenPath]:
    """The outermost of ``members`` that match one of ``hide``."""
    found = {path: is_directory for path, is_directory in members if is_hidden_itself(path, hide)}
    outermost = [path for path in sorted(found) if not any(above in found for above in _above(path))]
    for path in outermost:
        if path in OWN or any(own.startswith(f"{path}/") for own in OWN):
            raise UsageFault(
                f"environment.hide matches {path}, which the sandbox itself needs", hint="hide something more precise"
            )
    shown = [path for path in outermost if not any(path.startswith(f"{own}/") for own in OWN)]
    if len(shown) > MOST_HIDDEN:
        raise UsageFault(
            f"environment.hide matches {len(shown)} paths of the image, and at most {MOST_HIDDEN} can be hidden",
            hint="hide the directories that hold them",
        )
    yield from (HiddenPath(path, found[path]) for path in shown)


def is_hidden_itself(path: str, hide: tuple[str, ...]) -> bool:
    """Whether a pattern of ``hide`` matches the absolute ``path``, not just a directory above it."""
    return any(matches(path[1:], pattern[1:].rstrip("/")) for pattern in hide)


def _above(path: str) -> Iterator[str]:
    """The directories above the absolute ``path``, but the root."""
    while path := path.rpartition("/")[0]:
        yield path
