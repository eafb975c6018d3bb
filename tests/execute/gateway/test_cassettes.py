"""Cassettes: what was recorded is played again without a network, and a difference is told at its first field."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from proctor.execute.gateway import request_comparison
from proctor.execute.gateway.model_cassette import BadModelCassette, load
from proctor.execute.gateway.request_comparison import difference, mask
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, Rig, body_of

TURNS = """
  - {when: {last: fails}, error: {status: 500, message: it broke}}
  - {when: {last: uncounted}, say: nothing counted, usage: null}
  - {say: 'I will look into it now.', call: {tool: read, arguments: {path: a.py}}}
"""


def talk(rig: Rig, dialect: str, text: str = "look at run 2026-11-16T05:43:41Z in /tmp/abc123") -> tuple[int, bytes]:
    path = "/v1beta/models/m:streamGenerateContent?alt=sse" if dialect == "gemini" else PATHS[dialect]
    return rig.post(path, body_of(dialect, text) if dialect == "gemini" else body_of(dialect, text, stream=True))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_recorded_call_is_played_again(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig(TURNS, cassette="record")
    recorded = [talk(rig, dialect), talk(rig, dialect, "fails"), talk(rig, dialect, "uncounted")]
    summary = rig.stop()
    assert summary.cassette is not None
    assert summary.replayable
    again = make_rig(cassette="replay", tape=summary.cassette)
    others = "look at run 2027-01-02T11:22:33Z in /tmp/zzz999"
    assert [talk(again, dialect, others), talk(again, dialect, "fails"), talk(again, dialect, "uncounted")] == recorded
    for kind in ("tool.call", "model.usage"):
        assert again.of(kind) == rig.of(kind)
    assert again.of("model.usage")[-1]["estimated"] is True
    assert again.meter.amount == rig.meter.amount > 0
    played = again.stop()
    assert (played.unplayed, played.diverged, played.replayable) == ((), (), True)
    assert played.sha256 == summary.sha256


def test_m11_lines_in_another_order_are_the_same_request(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS, cassette="record")
    recorded = talk(rig, "chat", "skills:\n- read\n- write")
    again = make_rig(cassette="replay", tape=rig.stop().cassette)
    assert talk(again, "chat", "skills:\n- write\n- read\n- run")[0] == 400
    assert talk(again, "anthropic", "skills:\n- write\n- read")[0] == 400
    assert talk(again, "chat", "skills:\n- write\n- read") == recorded
    (moved,) = again.of("model.reordered")
    assert moved["parts"] == [{"pointer": "/messages/0/content", "part": "message 1 (user)", "lines": 2}]
    assert talk(again, "chat", "skills:\n- write\n- read")[0] == 400, "each call is played once"


def test_the_first_difference_is_told(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS, cassette="record")
    talk(rig, "chat", "one")
    talk(rig, "anthropic", "other")
    tape = rig.stop().cassette
    again = make_rig(cassette="replay", tape=tape)
    status, data = talk(again, "chat", "two")
    assert status == 400
    assert "/messages/0/content" in json.loads(data)["error"]["message"]
    (diverged,) = again.of("model.diverged")
    assert (diverged["pointer"], diverged["part"]) == ("/messages/0/content", "message 1 (user)")
    assert (diverged["expected"], diverged["got"], diverged["others"]) == ("one", "two", 0)
    summary = again.stop()
    assert len(summary.unplayed) == summary.payload()["unplayed"] == 2
    assert summary.payload()["first_unplayed"] == summary.unplayed[0]
    assert summary.diverged == ("call 1 at /messages/0/content",)
    assert not summary.replayable


def test_the_nearest_conversation_is_compared(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS, cassette="record")
    first = {"role": "user", "content": "one"}
    rig.post(PATHS["chat"], body_of("chat", messages=[{"role": "user", "content": "title"}]))
    rig.post(PATHS["chat"], body_of("chat", messages=[first, {"role": "user", "content": "two"}]))
    again = make_rig(cassette="replay", tape=rig.stop().cassette)
    again.post(PATHS["chat"], body_of("chat", messages=[first, {"role": "user", "content": "three"}]))
    (diverged,) = again.of("model.diverged")
    assert (diverged["nearest"], diverged["pointer"]) == (1, "/messages/1/content")


def test_equal_requests_are_answered_each_once(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS, cassette="record")
    talk(rig, "chat")
    again = make_rig(cassette="replay", tape=rig.stop().cassette)
    assert talk(again, "chat")[0] == 200
    assert talk(again, "chat")[0] == 400
    assert again.of("model.diverged")[0]["expected"] == "no further call"


def test_a_broken_stream_breaks_again(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: 'some words that break off in the middle of it', fault: cut}\n", cassette="record")
    with pytest.raises(Exception, match=r"IncompleteRead|Connection|reset"):
        talk(rig, "chat")
    rig.wait("model.error")
    again = make_rig(cassette="replay", tape=rig.stop().cassette)
    with pytest.raises(Exception, match=r"IncompleteRead|Connection|reset"):
        talk(again, "chat")
    (error,) = again.wait("model.error")
    assert error["class"] == "network"
    assert again.of("model.usage") == rig.of("model.usage")


def test_timing_is_kept(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: 'one part and another part and a third', pause_seconds: 0.1}\n", cassette="record")
    talk(rig, "chat")
    tape = rig.stop().cassette
    assert tape is not None
    taped = load(tape).calls[0]
    moments = [at for at, _ in taped.chunks]
    assert moments == sorted(moments)
    assert moments[-1] > 150_000_000, "pauses are part of the moments, which count from the request"
    again = make_rig(cassette="replay", tape=tape, paced=True)
    started = time.monotonic()
    talk(again, "chat")
    assert time.monotonic() - started > moments[-1] / 1e9 - 0.01, "no chunk comes earlier than it came"


def test_a_cassette_that_is_none(make_rig: MakeRig) -> None:
    rig = make_rig(TURNS, cassette="record")
    talk(rig, "chat")
    tape = rig.stop().cassette
    assert tape is not None
    lines = tape.split(b"\n")
    newer = tape.replace(
        f'"mask":{request_comparison.VERSION}'.encode(), f'"mask":{request_comparison.VERSION + 1}'.encode()
    )
    for bad in (b"", b"x", tape[:-5], b"\n".join([lines[0], *lines[2:]]), newer):
        with pytest.raises(BadModelCassette):
            load(bad)


SAME = [
    ("id 550e8400-e29b-41d4-a716-446655440000", "id 123e4567-e89b-12d3-a456-426614174000"),
    ("at 2026-11-16 05:43", "at 2025-01-02 11:22"),
    ("Monday, November 16, 2026 at 05:43 PM UTC", "Tuesday, December 1, 2026 at 11:02 AM UTC"),
    ("Mon Nov 16 05:43:41 2026", "Tue Dec  1 15:00:00 2026"),
    ("3 passed in 0.12s", "3 passed in 1.07s"),
    ("/tmp/pytest-of-x/a", "/tmp/other"),
    ("<f at 0x7f5f7f5a9800>", "<f at 0x7f0000000000>"),
    ("commit 9639447abc", "commit 7133c8a001"),
    ("call_abc123def", "call_xyz987uvw"),
    ("Background PIDs: 41, 42\nProcess Group PGID: 57", "Background PIDs: 51, 53\nProcess Group PGID: 61"),
]


@pytest.mark.parametrize(("left", "right"), SAME, ids=[left for left, _ in SAME])
def test_what_the_mask_hides(left: str, right: str) -> None:
    assert mask(left) == mask(right) != left


@pytest.mark.parametrize(
    ("left", "right"), [("x = 1", "x = 2"), ("a.py", "b.py"), ("/src/a", "/src/b"), ("ab", "abc"), ("12:30", "12:31")]
)
def test_what_the_mask_leaves(left: str, right: str) -> None:
    assert mask(left) != mask(right)


DIFFERENT: list[tuple[Any, Any, str]] = [
    ({"a": [1, 2]}, {"a": [1, 3]}, "/a/1"),
    ({"a": [1]}, {"a": [1, 3]}, "/a/1"),
    ({"a": 1}, {"b": 1}, "/a"),
    ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, "/a~1b/~0"),
    ({"a": 1}, {"a": True}, "/a"),
    ([], {}, ""),
]


@pytest.mark.parametrize(("left", "right", "pointer"), DIFFERENT)
def test_the_first_differing_field(left: Any, right: Any, pointer: str) -> None:
    found = difference(left, right, right)
    assert found is not None
    assert found.pointer == pointer
    assert difference(left, left, left) is None


def test_the_mask_has_a_version() -> None:
    assert request_comparison.VERSION == 3
