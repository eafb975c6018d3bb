"""A real browser that opens pages, keeps count of what they ask for and say, and lets axe look at them."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
AXE = "axe-core@4.14.0"
AXE_DIGEST = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
"""The sha256 of the release, so that nobody else's code judges."""


@dataclass(frozen=True)
class Opened:
    """An open page, the addresses that it asked for and what it complained of."""

    page: Page
    asked: list[str]
    said: list[str]


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's chromium with a fresh profile."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


@contextmanager
def opened(browser: Browser, file: Path, width: int = 1280, place: str = "", **options: Any) -> Iterator[Opened]:
    """A page in a context of its own."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    try:
        seen = Opened(context.new_page(), [], [])
        seen.page.set_default_timeout(120_000)
        seen.page.on("request", lambda request: seen.asked.append(request.url))
        seen.page.on("console", lambda message: seen.said.append(message.text))
        seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
        seen.page.on("dialog", lambda dialog: seen.said.append(dialog.message))
        seen.page.goto(file.as_uri() + place)
        yield seen
    finally:
        context.close()


def fetched_axe(into: Path) -> str:
    """The source of axe, from the registry by name and checked by digest."""
    command = ["npm", "pack", AXE, "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(command, cwd=into, check=True, capture_output=True, timeout=300)
    (file,) = into.glob("axe-core-*.tgz")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == AXE_DIGEST
    with tarfile.open(file) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def violations(page: Page, axe: str) -> list[str]:
    """What axe holds against a page, all rules taken; that it looked at all is checked too."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 10
    return [
        f"{rule['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found["violations"]
        for node in rule["nodes"][:3]
    ]


def overhang(page: Page) -> int:
    """By how many pixels a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
