"""The documentation builds as a site, strictly, and the site needs no other host.

The build fails on a link or an anchor that leads nowhere, and on a page that is not in the navigation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that make a browser load something, and the attribute with its address."""


class Page(HTMLParser):
    """What a page loads, and its text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.text = ""
        self._silent = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in ("script", "style")
        given = dict(attrs)
        if tag in LOADED and given.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(given.get(LOADED[tag]) or "")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else data


def build(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=project,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "site"
    done = build(PROJECT, made)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_every_page_is_built(site: Path) -> None:
    for source in PROJECT.glob("docs/**/*.md"):
        name = str(source.relative_to(PROJECT / "docs")).removesuffix(".md")
        folder = name.removesuffix("README").removesuffix("index")
        assert (site / folder / "index.html").is_file(), name
    for name in ROOT_PAGES:
        heading = (PROJECT / name).read_text("utf-8").splitlines()[0].removeprefix("# ")
        assert heading in Page((site / name.removesuffix(".md").lower() / "index.html").read_text("utf-8")).text


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = list(site.glob("**/*.html"))
    assert len(pages) > 40
    for path in pages:
        loads = Page(path.read_text("utf-8")).loads
        assert loads and [address for address in loads if re.match(r"(https?:)?//", address)] == [], path
    for style in site.glob("**/*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text("utf-8")), style


def test_code_and_tables_are_shown_as_such(site: Path) -> None:
    for path in site.glob("**/*.html"):
        text = Page(path.read_text("utf-8")).text
        assert "```" not in text and not re.search(r"^\|---", text, re.MULTILINE), path


BROKEN = ("nowhere.md", "../src/nowhere.py", "#nowhere", "contributing.md#nowhere-else")


def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "tools").mkdir()
    shutil.copy(PROJECT / "tools/site_hooks.py", project / "tools")
    settings = (PROJECT / "mkdocs.yml").read_text("utf-8")
    (project / "mkdocs.yml").write_text(settings[: settings.index("\nnot_in_nav:")])
    (project / "docs/index.md").write_text("# Home\n\n[The same](../CONTRIBUTING.md#part)\n")
    (project / "CONTRIBUTING.md").write_text("# Contributing\n\n## Part\n\n[Home](docs/index.md)\n")
    assert build(project, tmp_path / "good").returncode == 0
    (project / "docs/index.md").write_text("# Home\n\n" + " ".join(f"[away]({link})" for link in BROKEN))
    done = build(project, tmp_path / "bad")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert [link for link in BROKEN if f"'{link}'" not in said] == []
