"""The image that an exported task runs in: a name with a digest, so that it cannot change."""

from __future__ import annotations

import re

from proctor.base.errors import UsageFault

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,400}@sha256:[0-9a-f]{64}\Z")


def require_digest(image: str) -> str:
    """``image``, if it is a name with a digest."""
    if not _IMAGE.fullmatch(image):
        raise UsageFault(
            f"not an image with a digest: {image!r}" if image else "an exported task needs an image",
            where="--image",
            hint="give NAME@sha256:DIGEST; docker image inspect --format '{{index .RepoDigests 0}}' NAME prints it",
        )
    return image


def env_line(name: str, value: str) -> str:
    """A line of a Dockerfile that sets a variable to exactly this value."""
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'ENV {name}="{quoted}"'
