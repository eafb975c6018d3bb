"""Price against performance: a mark with a whisker for each agent, and the line of those that none beats on both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.present.amounts import DOLLARS, Currency, share
from proctor.present.figures.canvas import Point, across, dot, fit, frame, line, path, scale, upward, words
from proctor.present.markup import Markup, Piece

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 740, 34, 346
NAMED = 8
"""Up to so many agents are named in the figure; more are numbered by their rank."""


@dataclass(frozen=True)
class Offer:
    """One agent: its cost per run, its success rate, and the ends of the rate's interval if there is one."""

    name: str
    rank: int
    usd: float
    success: float
    low: float | None = None
    high: float | None = None


def tradeoff(key: str, offers: Sequence[Offer], *, title: str, paid: Currency = DOLLARS) -> Markup:
    """Cost of a run across, success upward."""
    seen = [end for offer in offers for end in (offer.low, offer.success, offer.high) if end is not None]
    x = scale(0, max((offer.usd for offer in offers), default=1) * 1.08, LEFT, RIGHT, 6)
    y = scale(min(seen, default=0), max(seen, default=1), BOTTOM, TOP, form=share)
    shapes: list[Piece] = [
        across(x, TOP, BOTTOM, paid.tick, f"{paid.title} for one run"),
        upward(y, LEFT, RIGHT, share, "success"),
    ]
    best = frontier(offers)
    if len(best) > 1:
        shapes.append(path([(x(offer.usd), y(offer.success)) for offer in best], "front"))
    for offer in offers:
        if offer.low is not None and offer.high is not None:
            shapes.append(line((x(offer.usd), y(offer.low)), (x(offer.usd), y(offer.high)), "whisker"))
    for offer in sorted(offers, key=lambda offer: offer in best):
        lead = " lead" if offer in best else ""
        place: Point = (x(offer.usd), y(offer.success))
        if len(offers) > NAMED:
            shapes += [
                dot(*place, 9, "point halo" + lead),
                words(place[0], place[1] + 4, offer.rank, "onmark", "middle"),
            ]
        else:
            shapes += [dot(*place, 6, "point halo" + lead), _name(offer.name, place)]
    describe = f"{len(offers)} agents by the cost of one run and by success, with intervals. On the dashed line, from "
    describe += (
        "cheap to dear: " + ", ".join(offer.name for offer in best) + "; no other agent is both cheaper and better."
    )
    return frame(key, (WIDTH, HEIGHT), title, describe, *shapes)


def frontier(offers: Sequence[Offer]) -> list[Offer]:
    """The agents that no other one beats in both cost and success, cheapest first."""
    best: list[Offer] = []
    for offer in sorted(offers, key=lambda offer: (offer.usd, -offer.success, offer.name)):
        if not best or offer.success > best[-1].success:
            best.append(offer)
    return best


def _name(name: str, place: Point) -> Markup:
    """The name above and left of a mark, or below and right: where the dashed line does not run."""
    x, y = place
    if x > (LEFT + RIGHT) * 0.6:
        return words(x - 11, y - 9, fit(name, x - LEFT - 20), "t small label", "end")
    return words(x + 11, y + 16, fit(name, RIGHT - x - 20), "t small label")
