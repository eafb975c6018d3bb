"""The figure of gates and weights: the rubric drawn as a small SVG, from its data alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

WIDTH, ROW, LEFT, BAR = 640, 22, 190, 360
_SHADES = {"graded": "#4c78a8", "contract": "#59a14f", "pilot": "#b07aa1"}


def figure(rubric: Mapping[str, Any]) -> str:
    """The gates in a row, then one bar for every weight of every score."""
    body = list(_gates(rubric["gates"]))
    y = 88
    for score, shade in _SHADES.items():
        body.append(f'<text x="10" y="{y}" font-weight="bold">{score} score</text>')
        for name, weight in rubric[score]["weights"].items():
            y += ROW
            body += _bar(name, Decimal(weight), y, shade)
        y += ROW + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, *body, "</svg>", ""])


def _gates(gates: list[Mapping[str, Any]]) -> Iterator[str]:
    width = (WIDTH - 20) // len(gates)
    for index, gate in enumerate(gates):
        x = 10 + index * width
        yield f'<rect x="{x}" y="10" width="{width - 8}" height="44" fill="#eeeeee" stroke="#555555"/>'
        yield f'<text x="{x + 8}" y="28" font-weight="bold">{gate["id"]}</text>'
        yield f'<text x="{x + 8}" y="45" font-size="11">{gate["name"]}</text>'


def _bar(name: str, weight: Decimal, y: int, shade: str) -> Iterator[str]:
    yield f'<text x="20" y="{y}">{name}</text>'
    yield f'<rect x="{LEFT}" y="{y - 12}" width="{int(BAR * weight)}" height="14" fill="{shade}"/>'
    yield f'<text x="{LEFT + int(BAR * weight) + 8}" y="{y}">{weight}</text>'
