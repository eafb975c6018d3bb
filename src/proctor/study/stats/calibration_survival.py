"""Do the bands of survival curves and the restricted means hold the truth? Simulated times that a cap cuts short.

The logarithm of a time is normal, a part of it shared by the runs of a task. Runs are cut at a cap, and some of them
earlier, at a time of their own. Nothing here is part of an analysis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from proctor.study.stats.arrays import Floats
from proctor.study.stats.survival import Curve, kaplan_meier, restricted_mean

ENDED = (0.1, 0.3, 0.6)
"""Where bands are looked at: when so many of all runs would have ended."""
CAPPED = 0.75
"""By the cap so many would have."""


@dataclass(frozen=True)
class Times:
    """How times come about: ``icc`` is the part of the logarithm's variance that the runs of a task share."""

    icc: float
    tasks: int
    runs: int
    early: bool = False
    """Whether some runs are cut before the cap too."""


SETTINGS = tuple(
    Times(icc, tasks, 5, early) for tasks, icc, early in product((5, 10, 20, 50), (0.2, 0.6), (False, True))
)


@dataclass(frozen=True)
class Held:
    """The share of studies that held the truth: bands at each of ENDED, those of independent runs, and the means."""

    bands: tuple[float, ...]
    plain: tuple[float, ...]
    mean: float


def curve_coverage(times: Times, draws: int, rng: np.random.Generator) -> Held:
    """Let bands and restricted means judge ``draws`` studies; means that are undefined are left out."""
    tasks = np.repeat(np.arange(times.tasks), times.runs)
    cap = float(ndtri(CAPPED))
    truth = float(np.exp(np.minimum(ndtri((np.arange(100_000) + 0.5) / 100_000), cap)).mean())
    bands, plain, means, defined = np.zeros(len(ENDED)), np.zeros(len(ENDED)), 0, 0
    for _ in range(draws):
        logs = math.sqrt(times.icc) * rng.standard_normal(times.tasks)[tasks]
        logs = logs + math.sqrt(1 - times.icc) * rng.standard_normal(len(tasks))
        cut = np.full(len(tasks), cap)
        if times.early:
            # One run of each task at most, so that as a rule somebody is still watched at the cap.
            cut[:: times.runs] = np.minimum(cap, rng.standard_normal(times.tasks) + 0.8)
        seen, ended = np.exp(np.minimum(logs, cut)), logs <= cut
        bands += _held(kaplan_meier(seen, ended, clusters=tasks))
        plain += _held(kaplan_meier(seen, ended))
        found = restricted_mean(seen, ended, math.exp(cap), clusters=tasks)
        if found.low is not None and found.high is not None:
            defined, means = defined + 1, means + (found.low <= truth <= found.high)
    return Held(tuple((bands / draws).tolist()), tuple((plain / draws).tolist()), means / max(1, defined))


def _held(curve: Curve) -> Floats:
    """At which of ENDED the band holds the truth; where nothing has ended yet or nobody is left nothing is claimed."""
    held = np.ones(len(ENDED))
    for place, ended in enumerate(ENDED):
        step = int(np.searchsorted(curve.times, math.exp(float(ndtri(ended))), side="right")) - 1
        if step >= 0 and curve.survival[step] > 0:
            held[place] = curve.low[step] <= 1 - ended <= curve.high[step]
    return held
