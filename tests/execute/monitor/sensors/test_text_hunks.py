"""Differences of texts as data: right, small, and cheap for hostile texts too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.monitor.sensors.text_hunks import HunkLimits, structured_diff, text_after

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=14)


def applied(before: bytes, diff: dict[str, object], context: int = 3) -> list[str]:
    """What the hunks make of the lines of ``before``."""
    old = before.decode().split("\n")[:-1]
    made: list[str] = []
    at = 0
    for hunk in diff["hunks"]:  # type: ignore[attr-defined]
        start = hunk["old_start"] - 1
        made += old[at:start]
        assert hunk["new_start"] == len(made) + 1
        body = hunk["lines"]
        assert [line[1:] for line in body if line[0] != "+"] == old[start : start + hunk["old_lines"]]
        made += [line[1:] for line in body if line[0] != "-"]
        assert hunk["new_lines"] == sum(line[0] != "-" for line in body)
        at = start + hunk["old_lines"]
    return made + old[at:]


@given(LINES, LINES, st.integers(0, 3), st.integers(0, 40))
def test_hunks_lead_from_one_text_to_the_other(old: list[str], new: list[str], context: int, edits: int) -> None:
    before, after = ("".join(line + "\n" for line in lines).encode() for lines in (old, new))
    diff = structured_diff(before, after, HunkLimits(context_lines=context, edits=edits))
    assert applied(before, diff) == new and diff["truncated"] is False
    assert diff["added"] - diff["removed"] == len(new) - len(old)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_whole_difference_gives_the_text_back(old: list[str], new: list[str], cut: bool, open_end: bool) -> None:
    before, after = "\n".join(old).encode(), "\n".join(new).encode()
    before, after = before if cut else before + b"\n", after if open_end else after + b"\n"
    assert text_after(before, structured_diff(before, after)) == after
    assert text_after(None, structured_diff(None, after)) == after


def test_what_a_difference_does_not_hold_is_not_given_back() -> None:
    many = b"".join(b"%d\n" % number for number in range(2000))
    assert text_after(b"", structured_diff(b"", many)) is None
    assert text_after(b"", structured_diff(b"", b"\0")) is None
    assert text_after(b"\0", structured_diff(b"", b"a\n")) is None


def test_a_small_change_is_a_small_hunk() -> None:
    before = b"".join(b"%d\n" % number for number in range(100))
    after = before.replace(b"50\n", b"fifty\n").replace(b"90\n", b"")
    diff = structured_diff(before, after)
    assert (diff["kind"], diff["added"], diff["removed"]) == ("text", 1, 2)
    assert diff["hunks"] == [
        {
            "old_start": 48,
            "old_lines": 7,
            "new_start": 48,
            "new_lines": 7,
            "lines": [" 47", " 48", " 49", "-50", "+fifty", " 51", " 52", " 53"],
        },
        {
            "old_start": 88,
            "old_lines": 7,
            "new_start": 88,
            "new_lines": 6,
            "lines": [" 87", " 88", " 89", "-90", " 91", " 92", " 93"],
        },
    ]


def test_a_new_and_a_removed_file() -> None:
    new = structured_diff(None, b"a\nb\n")
    assert new["hunks"] == [{"old_start": 1, "old_lines": 0, "new_start": 1, "new_lines": 2, "lines": ["+a", "+b"]}]
    assert structured_diff(b"a\n", None)["hunks"][0]["lines"] == ["-a"]
    assert structured_diff(None, b"")["hunks"] == []


def test_an_end_without_a_newline_is_a_difference() -> None:
    lines = structured_diff(b"a\n", b"a")["hunks"][0]["lines"]
    assert lines == ["-a", "+a\n\\ no newline at the end"]


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b"])
def test_what_is_not_text_has_no_hunks(data: bytes) -> None:
    assert structured_diff(b"a\n", data) == {"kind": "binary"}
    assert structured_diff(data, None) == {"kind": "binary"}


def test_long_texts_have_no_hunks() -> None:
    limits = HunkLimits(text_bytes=100, text_lines=10)
    assert structured_diff(b"x" * 101, b"", limits) == {"kind": "large"}
    assert structured_diff(b"\n" * 11, b"", limits) == {"kind": "large"}


def test_what_is_shown_is_bounded() -> None:
    limits = HunkLimits(shown_lines=5, shown_characters=10)
    diff = structured_diff(None, b"y" * 50 + b"\n" + b"x\n" * 50, limits)
    assert len(diff["hunks"][0]["lines"]) == 5 and diff["hunks"][0]["lines"][0] == "+" + "y" * 9
    assert diff["truncated"] is True and diff["added"] == 51


def test_hostile_texts_are_compared_cheaply() -> None:
    """Nothing in common but the same few lines over and over: too many edits, so all goes and all comes."""
    before = b"".join(b"%d\na\n" % (number % 7) for number in range(2400))
    after = b"".join(b"a\nx%d\n" % (number % 5) for number in range(2400))
    diff = structured_diff(before, after)
    assert diff["kind"] == "text" and diff["truncated"] is True
