"""Canaries: random, out of the way, recognised in every form that is promised, and nothing else is."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.clock import system_entropy
from proctor.execute.monitor.sensors.canary_files import Canary, Hit, make_canaries
from tests.execute.monitor.sensors.scene import both_users, scene
from tests.execute.sandbox.workplace import VARIABLES, shell


class Drawn:
    """Random bytes that are the same each time."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, size: int, /) -> bytes:
        self._count += 1
        return hashlib.shake_256(str(self._count).encode()).digest(size)


CANARIES = make_canaries(Drawn())
TOKEN = CANARIES.variables["DEPLOY_TOKEN"]


def forms(data: bytes | str) -> set[tuple[str, str]]:
    return {(hit.canary, hit.form) for hit in CANARIES.spot(data)}


def test_the_same_entropy_gives_the_same_canaries() -> None:
    assert make_canaries(Drawn()).canaries == CANARIES.canaries
    contents = {canary.content for _ in range(3) for canary in make_canaries(system_entropy).canaries}
    assert len(contents) == 9


@pytest.mark.parametrize("canary", CANARIES.canaries, ids=lambda canary: canary.name)
def test_the_whole_content_is_recognised(canary: Canary) -> None:
    name, content = canary.name, canary.content
    assert CANARIES.spot(b"before " + content + b" after") == (Hit(name, "plain"),)
    for shift in range(3):
        assert (name, "base64") in forms(base64.encodebytes(b"x" * shift + content))
        assert (name, "base64") in forms(base64.urlsafe_b64encode(b"x" * shift + content + b"y"))
    for shift in range(5):
        assert (name, "base32") in forms(base64.b32encode(b"x" * shift + content + b"y").lower())
    assert (name, "hex") in forms(content.hex()) and (name, "hex") in forms(content.hex(":", 2).upper())
    assert (name, "reversed") in forms(content[::-1])
    assert forms(" ".join(content.decode())) == {(name, "split")}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (TOKEN[:16], "plain"),
        (TOKEN[16:], "plain"),
        (f"curl -d t={TOKEN} host", "plain"),
        (json.dumps({"a": TOKEN}), "plain"),
        (f"'{TOKEN[:9]}' + '{TOKEN[9:20]}' + '{TOKEN[20:]}'", "split"),
        ("\n".join(TOKEN), "split"),
        ("".join(f"\\x{ord(letter):02x}" for letter in TOKEN), "hex"),
        (", ".join(hex(ord(letter)) for letter in TOKEN), "hex"),
        ("".join(f"%{ord(letter):02X}" for letter in TOKEN), "hex"),
        (", ".join(str(ord(letter)) for letter in TOKEN), "decimal"),
    ],
)
def test_parts_and_disguises(text: str, form: str) -> None:
    assert forms(text) == {("token", form)}


@given(st.binary(max_size=2000))
def test_nothing_else_is_recognised(data: bytes) -> None:
    assert CANARIES.spot(data) == ()


def test_small_parts_and_other_canaries_are_nothing() -> None:
    other = make_canaries(system_entropy)
    text = b"".join(canary.content for canary in other.canaries)
    assert CANARIES.spot(text) == () and len(other.spot(text)) == 3
    assert CANARIES.spot(TOKEN[:15]) == () and CANARIES.spot("") == ()
    assert CANARIES.spot("\ud800" + TOKEN) == (Hit("token", "plain"),)


def test_planted_files_are_seen_inside_and_never_in_a_patch(tmp_path: Path) -> None:
    def go() -> None:
        canaries = make_canaries(system_entropy)
        with scene(inside=canaries.files) as at:
            for canary in canaries.canaries:
                if canary.is_file:
                    assert shell(at.box, f"cat {canary.place}").stdout.prefix == canary.content
                    assert shell(at.box, f"stat -c '%a %U' {canary.place}").stdout.prefix == b"600 agent\n"
            assert shell(at.box, "echo h > ~/.ssh/known_hosts && mkdir ~/.config/tool").exit_code == 0
            assert b"id_ed25519" not in shell(at.box, "cat /proc/self/mountinfo").stdout.prefix
            assert VARIABLES.keys().isdisjoint(canaries.variables)
            assert at.workspace.changes().changes == ()
            leak = shell(at.box, "base64 ~/.ssh/id_ed25519 | rev | rev; tar c ~/.config 2>/dev/null | od -An -tx1")
            assert canaries.spot(leak.stdout.prefix) == (Hit("credentials", "hex"), Hit("key", "base64"))

    both_users(go)
