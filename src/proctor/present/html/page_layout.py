"""The page around its sections: head, contents, style, font and script, all inside the one file.

A policy in the head forbids every request and every script but the page's own, by digest: should a text ever get past
the escaping, it could neither run nor tell anyone. The page reads in full without the script, which only sorts.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.present.figures.svg_shapes import look
from proctor.present.html.html_table import Section
from proctor.present.html_markup import Markup, Piece, join, tag, trusted
from proctor.present.readable_numbers import count, counted, finite_number

HERE = Path(__file__).parent
FONT = HERE / "fonts" / "inter-latin.woff2"
UNDERLINED = "Underlined numbers link to the runs behind them."


def document(findings: Mapping[str, Any], first: Markup, sections: Sequence[Section], every: str) -> str:
    """The whole file; ``every`` is the link to the query for all runs."""
    style = _font() + look() + (HERE / "look.css").read_text("utf-8")
    script = (HERE / "sort.js").read_text("utf-8")
    name = str((findings.get("source") or {}).get("name") or "report")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=trusted(_policy(style, script))),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{name} \u2013 findings"),
        tag("style", trusted(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the decision", href="#main", class_="skip"),
        _banner(findings, name, every),
        tag(
            "div",
            _contents(sections),
            tag("main", first, (_section(section) for section in sections), id="main", tabindex="-1"),
            class_="sheet",
        ),
        tag("footer", tag("p", f"Made by Proctor from findings as data. {UNDERLINED}")),
        tag("script", trusted(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    rules = ("default-src 'none'", f"style-src '{_digest(style)}'", f"script-src '{_digest(script)}'")
    return "; ".join((*rules, "font-src data:", "img-src data:", "base-uri 'none'", "form-action 'none'"))


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _font() -> str:
    data = b64encode(FONT.read_bytes()).decode()
    source = f"url(data:font/woff2;base64,{data}) format('woff2')"
    return f'@font-face{{font-family:"Inter Report";font-weight:100 900;font-display:swap;src:{source}}}\n'


def _banner(findings: Mapping[str, Any], name: str, every: str) -> Markup:
    source = findings.get("source") or {}
    trials = source.get("trials") or {}
    low, high = finite_number(trials.get("min")), finite_number(trials.get("max"))
    kept = (("agents", "agent"), ("tasks", "task"), ("rows", "run"))
    parts: list[Piece] = [
        counted(source.get(key), noun) for key, noun in kept if finite_number(source.get(key)) is not None
    ]
    if finite_number(source.get("rows")) is not None:
        parts[-1] = tag("a", parts[-1], href=every, class_="n")
    if low is not None and high is not None:
        some = count(low) if low == high else f"{count(low)} to {count(high)}"
        parts.append(f"{some} {'try' if some == '1' else 'tries'} of each task")
    kind = {"pilot": "Pilot", "results": "Results", "runs": "Runs"}.get(str(source.get("kind")), "Findings")
    return tag(
        "header",
        tag("p", tag("span", kind, class_="kicker"), " ", tag("strong", name)),
        tag("p", join(parts, " \u00b7 "), class_="quiet"),
    )


def _contents(sections: Sequence[Section]) -> Markup:
    entries = [tag("li", tag("a", "Decision", href="#decision"))]
    entries += [tag("li", tag("a", section.title, href=f"#{section.key}")) for section in sections]
    return tag("nav", tag("ol", entries), aria_label="Contents")


def _section(section: Section) -> Markup:
    heading = tag("h2", section.title, id=f"{section.key}-heading")
    return tag("section", heading, section.body, id=section.key, aria_labelledby=f"{section.key}-heading")
