"""``proctor image``: base images for containers, made from packages and named by the digests of their layers."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import click

from proctor.base.errors import UsageFault
from proctor.base.untrusted_directories import owned_directory
from proctor.cli import wiring
from proctor.cli.options import Renamed
from proctor.cli.output import Group, as_json, print_json, print_table, printable
from proctor.execute.sandbox.container import debian_image_build as building
from proctor.execute.sandbox.container import images
from proctor.execute.sandbox.container.engine import EngineFault
from proctor.execute.sandbox.container.images import Image


@click.group(cls=Group, epilog="Example: proctor image build base --packages python3,git,gcc")
def command() -> None:
    """Build, load and list container images.

    DOCKER_HOST names the socket of the engine; without it, Docker and podman are found at their usual places.
    """


@command.command(epilog="Example: proctor image build base --packages python3,git,gcc")
@click.argument("name")
@click.option("--packages", default="", help="Debian packages in addition to the minimal base, separated by commas.")
@click.option("--suite", default="", help="The Debian release.  [default: that of this machine]")
@click.option("--mirror", default="", help="The mirror of the packages.  [default: that of this machine]")
@click.option(
    "--out",
    "archive",
    cls=Renamed,
    former=["--archive"],
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the image to this file for `proctor image load`, instead of into the engine.",
)
@as_json
def build(name: str, packages: str, suite: str, mirror: str, archive: Path | None, json_: bool) -> None:
    """Build an image from Debian packages.

    The same packages give the same digest. Building needs root and debootstrap.
    """
    wanted = tuple(package.strip() for package in packages.split(",") if package.strip())
    if archive is not None:
        layers = building.build(name, wanted, archive, suite, mirror)
    else:
        engine = wiring.engine()
        engine.identity()  # before half an hour of work rather than after it
        place = wiring.home()
        place.create()
        with owned_directory(place.scratch / f"image.{secrets.token_hex(4)}") as directory:
            layers = building.build(name, wanted, directory / "image.tar", suite, mirror)
            images.load(engine, directory / "image.tar")
    if json_:
        print_json({"name": name, "layers": list(layers)})
    else:
        click.echo("\n".join(layers))


@command.command(epilog="Example: proctor image load base.tar")
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@as_json
def load(archive: Path, json_: bool) -> None:
    """Load an image from an archive.

    The engine checks the digests of its layers.
    """
    images.load(wiring.engine(), archive)
    if json_:
        print_json({"loaded": str(archive)})
    else:
        click.echo(f"loaded {archive}")


@command.command("list", epilog="Example: proctor image list")
@as_json
def list_(json_: bool) -> None:
    """List images with the digests of their layers."""
    found = images.list_images(wiring.engine())
    if json_:
        print_json({"images": [_fields(image) for image in found]})
        return
    rows = [
        [printable(", ".join(image.names) or "-"), f"{image.size_bytes >> 20} MiB", " ".join(image.layers)]
        for image in found
    ]
    print_table(["NAME", "SIZE", "LAYERS"], rows)


@command.command(epilog="Example: proctor image inspect base")
@click.argument("name")
@as_json
def inspect(name: str, json_: bool) -> None:
    """Print the digests of the layers of an image.

    The lowest layer comes first. A contract pins an image by this list.
    """
    try:
        image = images.inspect(wiring.engine(), name)
    except EngineFault as fault:
        if fault.status != 404:
            raise
        raise UsageFault(
            f"the engine has no image {name!r}", hint="proctor image list shows the images of the engine"
        ) from None
    if json_:
        print_json(_fields(image))
    else:
        click.echo("\n".join(image.layers))


def _fields(image: Image) -> dict[str, Any]:
    return {
        "id": image.id,
        "names": list(image.names),
        "layers": list(image.layers),
        "size_bytes": image.size_bytes,
    }
