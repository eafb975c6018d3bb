"""Programs that people use, unchanged, through a network that is recorded, and again through the cassette."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from proctor.contract.policy import NamedFile, Network
from tests.execute.network.conftest import Town
from tests.execute.network.networked import Networked, networked
from tests.execute.sandbox.workplace import PYTHON

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHEEL = "thing-1.0-py3-none-any.whl"
NODE = """
const https = require("https");
https.get("https://safe.test/node", (answer) => {
  let text = "";
  answer.on("data", (part) => (text += part));
  answer.on("end", () => console.log(answer.statusCode, text));
}).on("error", (error) => { console.log(error.code); });
"""

PROGRAMS = {
    "git": (("git", "ls-remote", "https://safe.test/repository.git"), f"{COMMIT}\trefs/heads/main"),
    "pip": (
        (
            *(PYTHON, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check", "--no-cache-dir"),
            *("--index-url", "https://safe.test/simple/", "--dest", "/tmp/pip", "thing"),
        ),
        "",
    ),
    "npm": (("npm", "view", "--no-update-notifier", "--registry", "https://safe.test/", "thing", "version"), "1.2.3"),
    "node": (("node", "-e", NODE), "200 GET /node"),
}


def wheel() -> bytes:
    """The smallest wheel that pip takes."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("thing.py", "")
        archive.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        archive.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("thing-1.0.dist-info/RECORD", "")
    return data.getvalue()


@pytest.fixture(scope="module")
def shop(town: Town) -> Town:
    """A town whose secure site offers a repository and packages."""
    data = wheel()
    link = f'<a href="/files/{WHEEL}#sha256={hashlib.sha256(data).hexdigest()}">{WHEEL}</a>'
    package = {"name": "thing", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {"version": "1.2.3"}}}
    refs = f"{COMMIT}\trefs/heads/main\n".encode()
    town.secure.pages |= {
        "/repository.git/info/refs?service=git-upload-pack": ("text/plain", refs),
        "/repository.git/HEAD": ("text/plain", b"ref: refs/heads/main\n"),
        "/simple/thing/": ("text/html", link.encode()),
        f"/files/{WHEEL}": ("application/octet-stream", data),
        "/thing": ("application/json", json.dumps(package).encode()),
    }
    return town


def runs(inside: Networked, name: str) -> None:
    """A program does its work inside."""
    arguments, expected = PROGRAMS[name]
    finished = inside.run(*arguments)
    words = finished.stdout.prefix.decode() + finished.stderr.prefix.decode()
    assert finished.exit_code == 0, words
    assert expected in words.splitlines() if expected else True, words
    assert all(one.allowed for one in inside.seen.exchanges), inside.seen.exchanges


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_is_recorded_and_replayed(name: str, shop: Town, top: Path) -> None:
    with networked(top / "first", Network(("safe.test:443",), "shop"), shop.web) as inside:
        runs(inside, name)
        recorded = inside.summary()
        assert recorded.replayable and recorded.passed and recorded.cassette is not None, recorded
    policy = Network(replay=NamedFile(recorded.cassette.name, recorded.sha256))
    with networked(top / "again", policy, directory=recorded.cassette.parent) as inside:
        runs(inside, name)
        assert {one.replayed for one in inside.seen.exchanges} == {True}
        assert inside.summary().unplayed == 0
