"""Container images.

Named by the digests of their layers, identified by their packages and tools, exported with their hidden paths.
"""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import InfrastructureFault, MissingIsolation, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.untrusted_directories import erase
from proctor.execute.sandbox import sandbox_records
from proctor.execute.sandbox.container import container_cleanup
from proctor.execute.sandbox.container.create_request import SESSION_LABEL, HiddenPath
from proctor.execute.sandbox.container.engine import Engine, EngineFault
from proctor.execute.sandbox.host_facts import TOOLS, VERSION
from proctor.execute.sandbox.interface import (
    HOME,
    SETUP,
    WORKSPACE,
    Command,
    Limits,
    Sandbox,
    SandboxBackend,
    SandboxPlan,
    Tree,
    owner,
)
from proctor.execute.workspace.path_patterns import matches

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
NAME = re.compile(
    r"[a-z0-9]+(?:[._-][a-z0-9]+)*(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?"
)


@dataclass(frozen=True)
class Image:
    """One image of an engine. ``layers`` run from the lowest to the highest."""

    id: str
    names: tuple[str, ...]
    layers: tuple[str, ...]
    size_bytes: int
    volumes: tuple[str, ...] = ()


def check_name(name: str) -> str:
    """``name`` if an image may have it."""
    if not NAME.fullmatch(name) or len(name) > 200:
        raise UsageFault(f"not a name for an image: {name!r}", hint="use lower-case letters, digits, . _ - and /")
    return name


def check_layers(layers: tuple[str, ...]) -> tuple[str, ...]:
    """``layers`` if they are digests."""
    if not layers or not all(DIGEST.fullmatch(layer) for layer in layers):
        raise UsageFault(
            "an image is pinned by the digests of its layers", hint="proctor image list prints them: sha256:…"
        )
    return layers


def list_images(engine: Engine) -> tuple[Image, ...]:
    """Every image that has a name or is not the parent of another image."""
    found = engine.call("GET", "/images/json") or ()
    return tuple(inspect(engine, str(one["Id"])) for one in found)


def inspect(engine: Engine, name: str) -> Image:
    """The image that ``name``, an id or a tag, refers to at this moment."""
    found: Any = engine.call("GET", f"/images/{quote(name, safe='')}/json")
    return Image(
        id=str(found["Id"]),
        names=tuple(str(tag) for tag in found.get("RepoTags") or ()),
        layers=tuple(str(layer) for layer in (found.get("RootFS") or {}).get("Layers") or ()),
        size_bytes=int(found.get("Size") or 0),
        volumes=tuple((found.get("Config") or {}).get("Volumes") or ()),
    )


def pinned(engine: Engine, layers: tuple[str, ...], known: str = "") -> Image:
    """An image that consists of exactly ``layers``.

    ``known`` is the id that it had before. If the engine still has that image, the others are not inspected.
    """
    check_layers(layers)
    if known:
        try:
            image = inspect(engine, known)
        except EngineFault as fault:
            if fault.status != 404:
                raise
        else:
            if image.layers == layers and not image.volumes:
                return image
    images = [image for image in list_images(engine) if image.layers == layers]
    fit = [image for image in images if not image.volumes]
    if fit:
        return min(fit, key=lambda image: image.id)
    if images:
        raise MissingIsolation(
            f"the image declares volumes, which would be writable: {', '.join(images[0].volumes)}",
            hint="import it again without VOLUME",
        )
    raise MissingIsolation(
        f"the engine has no image with the layers {' '.join(layers)}",
        where=engine.path,
        hint="proctor image list shows the images of the engine; `proctor image build NAME --packages ...` makes"
        " one (the same packages give the same digest), and `proctor image load FILE` loads one from another machine",
    )


def load(engine: Engine, archive: Path) -> None:
    """Import an archive as ``proctor image build --archive`` writes it; the engine checks the digests of its layers."""
    engine.send_file("/images/load", archive, "application/x-tar")


FILE = "images.json"
FILE_BYTES = 1 << 20
PACKAGES_BYTES = 64 << 20
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


def of_image(home: Path, layers: tuple[str, ...], hide: tuple[str, ...], backend: SandboxBackend) -> Mapping[str, str]:
    """Kind, layers, operating system, digest of the packages and versions of the tools of the image ``layers``.

    What ``hide`` names in the image is not looked at.
    """
    path = home / FILE
    kept: dict[str, dict[str, str]] = {}
    try:
        found = parse(read_bounded(path, FILE_BYTES))
        if isinstance(found, dict) and isinstance(found.get("images"), dict):
            kept = found["images"]
    except (OSError, ValueError, InfrastructureFault):
        pass
    key = digest({"layers": list(layers), "hide": list(hide)} if hide else list(layers))
    if key not in kept:
        kept[key] = {"kind": "image", "layers": " ".join(layers), **_find(home, backend)}
        write_whole(path, canonical({"kind": "image-facts", "schema": 1, "images": kept}), sync=False)
    return kept[key]


def _find(home: Path, backend: SandboxBackend) -> dict[str, str]:
    top = Path(tempfile.mkdtemp(dir=home, prefix=".image-"))
    try:
        for directory in (top / "workspace", top / "setup"):
            directory.mkdir()
            os.chown(directory, *owner())
        with backend.open(SandboxPlan(Tree(top), Limits())) as sandbox:
            return _look(sandbox)
    finally:
        erase(top)


def _look(sandbox: Sandbox) -> dict[str, str]:
    release = _said(sandbox, ("cat", "/usr/lib/os-release"))
    fields = dict(line.split("=", 1) for line in release.decode("utf-8", "replace").splitlines() if "=" in line)
    found = {
        "os": " ".join(fields[key].strip('"') for key in ("ID", "VERSION_ID") if key in fields) or "unknown",
        "packages": "sha256:" + hashlib.sha256(_said(sandbox, ("cat", "/var/lib/dpkg/status"))).hexdigest(),
    }
    for tool in TOOLS:
        option = "-dumpfullversion" if tool == "gcc" else "--version"
        match = VERSION.search(_said(sandbox, (tool, option)))
        if match:
            found[tool] = match[0].decode()
    return found


def _said(sandbox: Sandbox, arguments: tuple[str, ...]) -> bytes:
    """The output of a program; nothing if the image does not have the program or file."""
    command = Command(arguments, ENVIRONMENT, directory="/", timeout_seconds=120, output_bytes=PACKAGES_BYTES)
    finished = sandbox.run(command)
    return finished.stdout.prefix if finished.started and finished.exit_code == 0 else b""


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
    own = sandbox_records.Session(
        name,
        os.getpid(),
        sandbox_records.start_time(os.getpid()),
        sandbox_records.boot_id(),
        engine=engine.path,
        place=place,
    )
    record = sandbox_records.write(records, own)
    body = {"Image": image, "Cmd": ["/nonexistent"], "Labels": {SESSION_LABEL: name}, "NetworkDisabled": True}
    try:
        engine.call("POST", "/containers/create", {"name": name}, body)
        engine.receive_file(f"/containers/{name}/export", target, EXPORT_BYTES)
    finally:
        container_cleanup.remove_container(engine, name)
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
