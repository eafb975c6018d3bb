"""Small histories: repositories that tests write commit by commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHEN = 1_717_200_000
"""1 June 2024."""


class Repository:
    """A repository with a clock that moves a minute with each commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = WHEN
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        stamp = f"{self.now} +0000"
        who = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": stamp}
        variables = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env={**os.environ, **variables, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, files: dict[str, str | None], seconds: int = 60) -> str:
        """Write or remove files and commit them; returns the id."""
        self.now += seconds
        for name, text in files.items():
            place = self.path / name
            if text is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


PROJECT = """\
[project]
name = "slugs"
version = "1.0"
requires-python = ">=3.8"

[dependency-groups]
test = ["pytest"]
"""
SLUG = '''"""Short names for addresses of pages."""


def slug(title):
    """``title`` in lower case, with dashes instead of spaces."""
    return title.lower().replace(" ", "-")
'''
FIXED = SLUG.replace('title.lower().replace(" ", "-")', '"-".join(title.lower().split())')
TESTS = """\
from slugs import slug


def test_one_space():
    assert slug("Hello World") == "hello-world"
"""
MORE_TESTS = (
    TESTS
    + """

def test_several_spaces():
    assert slug("Hello   World") == "hello-world"
"""
)
CHANGES = """\
Changes
=======

1.1 (unreleased)
----------------

- Titles with several spaces in a row get one dash between two words. Before, each space became a dash. (#12)

1.0
---

- First release.
"""
FIX = {"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": MORE_TESTS, "CHANGES.rst": CHANGES}


def slugs(
    path: Path, fix: dict[str, str | None] | None = None, message: str = "Fix several spaces (#12)"
) -> Repository:
    """A history of two commits: a project with a fault, and its fix."""
    made = Repository(path)
    first: dict[str, str | None] = {
        "pyproject.toml": PROJECT,
        "src/slugs/__init__.py": SLUG,
        "tests/test_slugs.py": TESTS,
        "CHANGES.rst": "Changes\n=======\n\n1.0\n---\n\n- First release.\n",
    }
    made.commit("Add slugs", first)
    made.commit(message, dict(FIX) if fix is None else fix)
    return made
