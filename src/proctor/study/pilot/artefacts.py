"""Everything that is made from a protocol, as bytes by file name: the same protocol and prices give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.study.pilot.plan import RANDOMISATION
from proctor.study.pilot.protocol import design_of
from proctor.study.pilot.randomise import randomise, to_csv


def make_artefacts(protocol: Mapping[str, Any]) -> dict[str, bytes]:
    """The artefacts of a plan."""
    slots = randomise(design_of(protocol))
    return {RANDOMISATION: to_csv(slots)}
