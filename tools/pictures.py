"""Take the pictures of the report for the documentation, from invented findings, with a real browser.

    tools/bootstrap browser && .venv/bin/python -m tools.pictures

The pictures are ``docs/figures/report-*.png``. They are looked at before they are kept.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from proctor.present.html import page
from tests.present.html.opened import browser, opened
from tests.present.sample import findings, ranking

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
PICTURES: tuple[tuple[str, bool, str, int, str], ...] = (
    ("decision-light", False, "light", 1280, ""),
    ("decision-dark", False, "dark", 1280, ""),
    ("phone", False, "light", 360, ""),
    ("agents", False, "light", 1280, "#agents"),
    ("cost", False, "dark", 1280, "#cost"),
    ("matrix", True, "light", 1280, "#comparisons"),
)
"""Name, whether there are many agents, scheme, width and part of the page; without a part, the first screen."""


def main() -> None:
    """Take all of them."""
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        files: dict[bool, Path] = {}
        samples: dict[bool, dict[str, Any]] = {False: findings(), True: ranking()}
        for many, found in samples.items():
            files[many] = Path(folder, f"{many}.html")
            files[many].write_bytes(page(found))
        for name, many, scheme, width, part in PICTURES:
            with opened(running, files[many], width, color_scheme=scheme) as seen:
                where = FIGURES / f"report-{name}.png"
                if part:
                    seen.page.locator(part).screenshot(path=where)
                else:
                    seen.page.screenshot(path=where)


if __name__ == "__main__":
    main()
