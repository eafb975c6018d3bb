"""Interim looks at a comparison before it is complete, without more false alarms.

Lan and DeMets (1983): a function says how much of alpha may be spent by each share of the planned information; here the
one that mimics O'Brien and Fleming, which spends almost nothing early. Limits follow from the looks that were really
taken, by the recursion of Armitage, McPherson and Rowe (1969). A look's p value, from any test, is compared
with that look's nominal level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from proctor.study.stats.arrays import Floats

FARTHEST = 8.0
"""The largest limit: what is left to spend beyond it is less than rounding."""
NODES = 200


@dataclass(frozen=True)
class Boundaries:
    """For each look: the share of information, the limit for z, the nominal two-sided level, and alpha spent so far."""

    looks: tuple[float, ...]
    limits: tuple[float, ...]
    nominal: tuple[float, ...]
    spent: tuple[float, ...]
    alpha: float
    method: str = "Lan-DeMets, O'Brien-Fleming spending, two-sided"


def spending(share: float, alpha: float = 0.05) -> float:
    """How much of a two-sided ``alpha`` may be spent by a ``share`` of the information; each side has its half."""
    if share <= 0:
        return 0.0
    return 4 * float(ndtr(float(ndtri(alpha / 4)) / math.sqrt(min(1.0, share))))


def boundaries(looks: Sequence[float], alpha: float = 0.05) -> Boundaries:
    """The limits of looks at these shares of the planned information, rising, the last at most 1."""
    shares = tuple(float(look) for look in looks)
    if not shares or shares[0] <= 0 or shares[-1] > 1 or any(a >= b for a, b in pairwise(shares)):
        raise ValueError(f"looks are rising shares above 0 and up to 1, not {shares}")
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    limits: list[float] = []
    place, mass, before, spent = np.zeros(1), np.ones(1), 0.0, 0.0
    for share in shares:
        step = math.sqrt(share - before)
        allowed = spending(share, alpha) - spent
        spent += allowed
        limit = _limit(place, mass, step, math.sqrt(share), allowed)
        limits.append(limit)
        # The density of the sum for studies that are still inside the limits, for the next look.
        edge = limit * math.sqrt(share)
        moved = (edge * nodes[:, None] - place[None, :]) / step
        density = np.exp(-(moved**2) / 2) / (step * math.sqrt(2 * math.pi)) @ mass
        place, mass, before = edge * nodes, edge * weights * density, share
    nominal = tuple(2 * float(ndtr(-limit)) for limit in limits)
    return Boundaries(shares, tuple(limits), nominal, tuple(spending(share, alpha) for share in shares), alpha)


def _limit(place: Floats, mass: Floats, step: float, scale: float, allowed: float) -> float:
    """The limit for z that the share ``allowed`` of studies crosses at this look, on either side."""

    def excess(limit: float) -> float:
        edge = limit * scale
        return float(mass @ (ndtr((place - edge) / step) + ndtr((-edge - place) / step))) - allowed

    return FARTHEST if excess(FARTHEST) >= 0 else float(brentq(excess, 0.0, FARTHEST, xtol=1e-12))
