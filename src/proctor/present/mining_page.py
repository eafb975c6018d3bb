"""A page to look through the candidates of a mined history: the yield by reason, and each task with its numbers.

The page is one file without scripts and without requests. All texts come from the repository and are escaped.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from proctor.author.mine.candidate_rules import REASONS
from proctor.author.mine.mine_history import Mined
from proctor.author.mine.mined_record import VALID, MinedCommit
from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.present.html_markup import Markup, Piece, clean, tag, trusted

ISSUE_BYTES = 64 << 10
MOST_LINES = 200
MOST_TESTS = 30
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ccc}"
    "details{border:1px solid #ccc;border-radius:6px;margin:.6rem 0;padding:.4rem .8rem}summary{cursor:pointer}"
    "pre{white-space:pre-wrap;background:#f5f5f5;padding:.6rem}.quiet{color:#555}code{overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#242424}.quiet{color:#aaa}}"
)


def mining_page(repository: str, mined: Mined, out: Path) -> str:
    """The whole page."""
    policy = f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=trusted(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Candidates"),
        tag("style", trusted(STYLE)),
    )
    tried = [one for one in mined.tried if one.status != VALID]
    body = tag(
        "body",
        tag("h1", "Candidates of ", tag("code", repository)),
        tag(
            "p",
            f"{len(mined.records)} commits were looked at, the tests of {len(mined.tried)} were run, "
            f"and {len(mined.valid)} gave a valid contract. To reject a task, write its commit into rejected.txt "
            "beside this page, and run the command again.",
        ),
        _reasons(mined),
        tag("h2", "Valid tasks"),
        [_candidate(one, out) for one in mined.valid] or tag("p", "None."),
        tag("h2", "Tried and rejected"),
        [_candidate(one, out) for one in tried] or tag("p", "None."),
        tag("h2", "Rejected without a trial"),
        _short(mined),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _reasons(mined: Mined) -> Markup:
    rows = [
        tag("tr", tag("td", reason), tag("td", count), tag("td", REASONS[reason]))
        for reason, count, _ in mined.counted()
    ]
    head = tag("tr", tag("th", "Reason"), tag("th", "Commits"), tag("th", "What it means"))
    return tag("table", tag("thead", head), tag("tbody", rows))


def _candidate(one: MinedCommit, out: Path) -> Markup:
    title = one.title or one.subject
    day = time.strftime("%Y-%m-%d", time.gmtime(one.committed))
    what = one.task if one.status == VALID else f"{one.reason}: {one.detail}"
    return tag(
        "details",
        tag("summary", tag("strong", title), " ", tag("span", f"{one.commit[:10]}, {day}, {what}", class_="quiet")),
        *_issue(one, out),
        tag("table", tag("tbody", [tag("tr", tag("th", name), tag("td", value)) for name, value in _numbers(one)])),
        tag("p", "Tests that must pass:") if one.must_pass else None,
        tag("ul", [tag("li", tag("code", test)) for test in one.must_pass[:MOST_TESTS]]) if one.must_pass else None,
    )


def _issue(one: MinedCommit, out: Path) -> Iterator[Markup]:
    if one.contract:
        with suppress(OSError, InfrastructureFault):
            text = read_bounded(out / one.contract / "issue.md", ISSUE_BYTES).decode("utf-8", "replace")
            lines: list[Piece] = []
            for line in text.splitlines()[:MOST_LINES]:
                lines += [clean(line, 2000), trusted("\n")]
            yield tag("pre", lines)
        yield tag("p", "Contract: ", tag("a", one.contract, href=f"{one.contract}/contract.yaml"))


def _numbers(one: MinedCommit) -> Iterator[tuple[str, str]]:
    yield "subject", one.subject
    if one.sources:
        yield "text drafted from", ", ".join(one.sources)
    if one.failures:
        yield "failures on the base", ", ".join(f"{count} by {kind}" for kind, count in one.failures.items())
    yield "tests", f"{len(one.must_pass)} must pass, {one.keep_passing} keep passing"
    for name, tests in (("unsteady", one.unsteady), ("dependent", one.dependent), ("hidden interface", one.hidden)):
        if tests:
            yield name, f"{len(tests)} tests: {', '.join(tests[:5])}"
    if one.shares:
        yield "shares tests with", ", ".join(commit[:10] for commit in one.shares)
    quality = one.quality
    if quality is not None:
        yield "words", str(quality.words)
        yield "new names in the text", f"{len(quality.leaked_names)} of {quality.new_names}"
        yield "names only in tests", ", ".join(quality.hidden_names) or "none"
        yield "exact messages, snapshots", f"{quality.exact_messages}, {quality.snapshots}"
        yield "network, clock", f"{quality.network}, {quality.clock}"
        yield "solution", f"{quality.source_files} files, {quality.source_lines} lines"
    yield "seconds", one.seconds


def _short(mined: Mined) -> Markup:
    rows = [
        tag("tr", tag("td", tag("code", one.commit[:10])), tag("td", one.reason), tag("td", one.subject))
        for one in mined.records
        if not one.tried
    ]
    return tag("table", tag("tbody", rows))
