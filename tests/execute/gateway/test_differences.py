"""Requests that differ: the place is shown, order alone is no difference, and no real change passes for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proctor.execute.gateway.request_comparison import AROUND, difference, mask, reordered

WORD = st.text("ghijklmnopqrtuvwxyz", min_size=1, max_size=12)
"""Letters that no rule of the mask is about: no digits, none of hexadecimal numbers, no units of time alone."""
VOLATILE = st.sampled_from(
    [
        *("/tmp/tmpab12cd", "2026-11-16T05:43:41Z", "12.5 seconds", "pid: 4711", "0x7f5f7f5a9800"),
        *("550e8400-e29b-41d4-a716-446655440000", "call_abc123def", "9639447abc"),
    ]
)
LINE = st.lists(st.one_of(WORD, VOLATILE), min_size=1, max_size=6).map(" ".join)
LINES = st.lists(LINE, min_size=1, max_size=12)


def asked(text: str, role: str = "user") -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": role, "content": text}]}


@given(LINES, WORD, st.data())
def test_one_changed_character_is_always_a_difference(lines: list[str], word: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(lines)))
    at = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("ghijklmnopqrtuvwxyz"))
    assume(letter != word[at])
    other = word[:at] + letter + word[at + 1 :]
    then, now = (mask(asked("\n".join([*lines[:place], one, *lines[place:]]))) for one in (word, other))
    assert reordered(then, now) is None
    found = difference(then, now, now)
    assert found is not None
    assert (found.pointer, found.others) == ("/messages/1/content", 0)
    assert found.recorded != found.now


@given(LINES, st.randoms(use_true_random=False))
def test_order_alone_is_no_difference_in_a_prompt(lines: list[str], random: Any) -> None:
    moved = random.sample(lines, len(lines))
    order = reordered(asked("\n".join(lines)), asked("\n".join(moved)))
    assert order is not None
    assert sum(one.lines for one in order) <= len(lines)
    assert bool(order) == (moved != lines)


@given(LINES, LINE, st.randoms(use_true_random=False), st.booleans())
def test_order_hides_no_line_that_is_new_or_gone(lines: list[str], extra: str, random: Any, gone: bool) -> None:
    more = random.sample([*lines, extra], len(lines) + 1)
    one, other = asked("\n".join(lines)), asked("\n".join(more))
    assert (reordered(other, one) if gone else reordered(one, other)) is None


def test_a_line_that_is_there_twice_does_not_stand_for_another() -> None:
    assert reordered(asked("a\na\nb"), asked("a\nb\nb")) is None


RESULTS = [
    ("./src/a.py\n./b/c.py", "./b/c.py\n./src/a.py", True),
    ("- one thing\n- two things", "- two things\n- one thing", True),
    ("x = 1\ny = x + 2", "y = x + 2\nx = 1", False),
    ("2 failed in all\n3 passed in all", "3 passed in all\n2 failed in all", False),
]


@pytest.mark.parametrize(("then", "now", "same"), RESULTS)
@pytest.mark.parametrize("role", ["tool", "assistant"])
def test_in_results_only_entries_of_lists_may_move(then: str, now: str, same: bool, role: str) -> None:
    assert (reordered(asked(then, role), asked(now, role)) is not None) is same
    assert reordered(asked(then), asked(now)) is not None, "but in a prompt any line may"


def skill_tool(description: str, *names: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"name": {"type": "string", "enum": list(names)}}}
    return {"model": "m", "tools": [{"name": "activate", "description": description, "parameters": schema}]}


def test_m11_names_in_another_order_are_the_same_tool() -> None:
    then = skill_tool("Use a skill (Available: 'maker', 'support'). Returns text.", "maker", "support")
    now = skill_tool("Use a skill (Available: 'support', 'maker'). Returns text.", "support", "maker")
    moved = reordered(then, now)
    assert moved is not None
    assert [one.pointer for one in moved] == ["/tools/0/description", "/tools/0/parameters/properties/name/enum"]


@pytest.mark.parametrize(
    "other",
    [
        skill_tool("Use a skill (Available: 'support', 'other').", "maker", "support"),
        skill_tool("Use a skill (Available: 'maker', 'support', 'maker').", "maker", "support"),
        skill_tool("Use a skill (Available: 'maker support').", "maker", "support"),
        skill_tool("Use a skill (Available: 'maker', 'support').", "maker", "other"),
        skill_tool("Use a skill (Available: 'maker', 'support').", "maker", "support", "support"),
    ],
)
def test_other_names_are_a_difference(other: dict[str, Any]) -> None:
    then = skill_tool("Use a skill (Available: 'maker', 'support').", "maker", "support")
    assert reordered(then, other) is None


def test_names_in_the_result_of_a_tool_must_keep_their_order() -> None:
    then, now = asked("found 'a', 'b'", "tool"), asked("found 'b', 'a'", "tool")
    assert reordered(then, now) is None


def test_a_difference_is_shown_before_another_order() -> None:
    then = {"system": "a\nb\nc", "messages": [{"role": "user", "content": "five"}]}
    now = {"system": "c\nb\na", "messages": [{"role": "user", "content": "six"}]}
    found = difference(then, now, now)
    assert found is not None
    assert (found.pointer, found.others) == ("/messages/0/content", 1)


def test_tools_may_move_and_not_change() -> None:
    tools = [{"name": "read", "parameters": {"a": 1}}, {"name": "write", "parameters": {}}]
    (order,) = reordered({"tools": tools}, {"tools": tools[::-1]}) or ()
    assert (order.part, order.lines) == ("list of tools", 2)
    assert reordered({"tools": tools}, {"tools": [tools[1], {"name": "read", "parameters": {"a": 2}}]}) is None


PLACES: list[tuple[dict[str, Any], str]] = [
    (
        {
            "messages": [
                {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "run"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "TEXT"},
            ]
        },
        "message 2, result of tool call call_1 (run)",
    ),
    (
        {
            "messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "TEXT"}]}
                    ],
                },
            ]
        },
        "message 2, result of tool call toolu_1 (run)",
    ),
    (
        {
            "input": [
                {"type": "function_call", "call_id": "call_9", "name": "shell", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_9", "output": "TEXT"},
            ]
        },
        "message 2, result of tool call call_9 (shell)",
    ),
    (
        {
            "contents": [
                {"role": "user", "parts": [{"functionResponse": {"name": "run", "response": {"output": "TEXT"}}}]}
            ]
        },
        "message 1, result of tool call run",
    ),
    ({"system": "TEXT"}, "system prompt"),
    ({"tools": [{"type": "function", "function": {"name": "run", "description": "TEXT"}}]}, "tool 1 (run)"),
    ({"temperature": "TEXT"}, "field temperature"),
]


@pytest.mark.parametrize(("body", "part"), PLACES, ids=[part for _, part in PLACES])
def test_the_part_is_named_in_every_dialect(body: dict[str, Any], part: str) -> None:
    found = difference(_with(body, "left"), _with(body, "right"), _with(body, "right"))
    assert found is not None
    assert found.part == part


def test_the_differing_text_is_shown_and_not_the_equal_text_before_it() -> None:
    long = "the same words again\n" * 50
    then, now = asked(f"{long}value = 12\n{long}end"), asked(f"{long}value = 13\n{long}END")
    now["temperature"] = 1
    found = difference(then, now, now)
    assert found is not None
    assert (found.before[-9:], found.recorded, found.now) == ("value = 1", "2", "3")
    assert len(found.before) == len(found.after) == AROUND
    assert (found.places, found.others) == (2, 1)


def test_a_long_difference_is_cut() -> None:
    found = difference(asked("x" * 5000), asked("y" * 5000), asked(""))
    assert found is not None
    assert found.recorded == "x" * 200 + "... and 4800 more characters"


def _with(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {key: _with(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_with(item, text) for item in value]
    return text if value == "TEXT" else value
