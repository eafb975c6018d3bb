"""Images, named by what is in them: the digests of their layers (diffIDs), which no import or registry changes.

A tag can be moved and an image id changes with each import, so neither pins anything. What an image's configuration
says (entry point, user, variables) is no part of its layers, and sandboxes take nothing from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proctor.base.errors import MissingIsolation, UsageFault
from proctor.execute.sandbox.container.engine import Engine, EngineFault

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
    """Every image that has a name or is nobody's parent."""
    found = engine.call("GET", "/images/json") or ()
    return tuple(inspect(engine, str(one["Id"])) for one in found)


def inspect(engine: Engine, name: str) -> Image:
    """The image that ``name`` stands for at this moment: an id or a tag."""
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
        hint="proctor image list shows what there is; `proctor image build NAME --packages ...` makes one,"
        " the same from the same packages, and `proctor image load FILE` brings one from elsewhere",
    )


def load(engine: Engine, archive: Path) -> None:
    """Import an archive as ``proctor image build --archive`` writes it; the engine checks the digests of its layers."""
    engine.send_file("/images/load", archive, "application/x-tar")
