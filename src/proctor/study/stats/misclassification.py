"""What a rate would be if the oracle's known errors were taken out: a sensitivity analysis, not a result.

Rogan and Gladen (1978). ``sensitivity`` is the share of correct patches that the oracle accepts, ``specificity`` the
share of defective ones that it rejects. With the number of patches that each was measured on, their own uncertainty
goes into the interval by the delta method; without, they are assumptions. The variance of a measured share is that of
one success and one failure more (Lang and Reiczigel 2014): an oracle that was right ten times of ten may still err.
"""

from __future__ import annotations

import math

from proctor.study.stats.estimate import Estimate, defined, undefined
from proctor.study.stats.limits import normal_quantile

ROGAN_GLADEN = "Rogan-Gladen"


def rogan_gladen(
    rate: Estimate,
    sensitivity: float,
    specificity: float,
    sensitivity_n: int | None = None,
    specificity_n: int | None = None,
) -> Estimate:
    """The ``rate`` of accepted runs as a rate of correct ones, held between 0 and 1."""
    for name, share in (("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= share <= 1:
            raise ValueError(f"a {name} lies between 0 and 1, not at {share}")
    told = f"{ROGAN_GLADEN} at sensitivity {sensitivity:g} and specificity {specificity:g}"
    worth = sensitivity + specificity - 1
    if rate.undefined is not None or rate.value is None or rate.low is None or rate.high is None:
        return Estimate(None, None, None, rate.level, told, rate.n, rate.clusters, rate.undefined)
    if worth <= 1e-9:
        why = "an oracle that errs so often says nothing"
        return undefined(why, level=rate.level, method=told, n=rate.n, clusters=rate.clusters)
    value, low, high = ((end + specificity - 1) / worth for end in (rate.value, rate.low, rate.high))
    z = -normal_quantile((1 - rate.level) / 2)
    doubt = 0.0
    if sensitivity_n:
        doubt += _variance(sensitivity, sensitivity_n) * value**2
    if specificity_n:
        doubt += _variance(specificity, specificity_n) * (1 - value) ** 2
    # Both parts are independent: each side's distance and the oracle's own doubt add up as squares.
    extra = z * math.sqrt(doubt) / worth
    low, high = value - math.hypot(value - low, extra), value + math.hypot(high - value, extra)
    value, low, high = (min(1.0, max(0.0, end)) for end in (value, low, high))
    return defined(value, low, high, level=rate.level, method=told, n=rate.n, clusters=rate.clusters)


def _variance(share: float, n: int) -> float:
    """The variance of a share that was measured ``n`` times, never 0."""
    drawn = (share * n + 1) / (n + 2)
    return drawn * (1 - drawn) / (n + 2)
