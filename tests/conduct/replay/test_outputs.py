"""Outputs of commands against their record: what decides, what is only told, and the exact place."""

from __future__ import annotations

from hashlib import sha256

import pytest

from proctor.base.reversible_escapes import name_text
from proctor.conduct.replay.command_divergence import CommandReplay, other_ending, other_program, settled
from proctor.conduct.replay.output_comparison import (
    HIDDEN,
    IN_PART,
    LEFT_OUT,
    NO_TEXT,
    RENDERED,
    SILENT,
    UNSTEADY,
    VOLATILE,
    Stream,
    masked,
)
from proctor.conduct.replay.output_comparison import result_difference as told
from proctor.conduct.replay.output_comparison import stream_difference as compared
from proctor.conduct.replay.recorded_commands import RecordedCommand
from proctor.execute.sandbox.interface import CommandResult, Output


def output(text: str) -> Output:
    return Output(text.encode(), len(text.encode()), sha256(text.encode()).hexdigest())


def stream(text: str, kept: int = 1000, *, redacted: bool = False) -> Stream:
    data = text.encode()
    return Stream(sha256(data).hexdigest(), len(data), name_text(data[:kept]), redacted)


def finished(stdout: str, stderr: str = "", code: int = 0) -> CommandResult:
    return CommandResult(code, True, False, "", output(stdout), output(stderr), 0, 0, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed in 0.03s", "3 passed in 1.20s"),
        ("started 2026-03-07T10:00:00.123Z", "started 2026-03-08T11:22:33Z"),
        ("Sat Mar  7 10:00:00 UTC 2026", "Sun Mar  8 23:59:59 UTC 2026"),
        ("at 10:21:36 sharp", "at 09:00:01 sharp"),
        ("<object at 0x7f3a2b10c040>", "<object at 0x55d0aa12ffe0>"),
        ("pid 41", "pid 3977"),
        ("PID=41 ready", "PID=3977 ready"),
        ("==12== ERROR", "==34== ERROR"),
        ("/tmp/tmp8f3k2_ab/x", "/tmp/tmpq0q0q0q0/x"),
        ("/tmp/ccAb12Cd.o", "/tmp/ccZZ99zz.o"),
        ("now 1772877600", "now 1772964000.25"),
        ("id 0f8fad5b-d9cb-469f-a165-70867728950e", "id 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_what_no_two_runs_share_is_told_and_decides_nothing(one: str, other: str) -> None:
    found = compared("stdout", stream(one), output(other))
    assert found is not None and found.why == VOLATILE
    assert masked(one) == masked(other) != one


@pytest.mark.parametrize(
    ("one", "other"),
    [("3 passed", "4 passed"), ("version 3.11.2", "version 3.12.1"), ("0x1f", "0x2f"), ("exit 1", "exit 2"), ("", "x")],
)
def test_anything_else_may_decide_and_is_named_by_line(one: str, other: str) -> None:
    found = compared("stderr", stream(f"same\n{one}\n"), output(f"same\n{other}\n"))
    assert found is not None and found.why == ""
    assert f"stderr has {other!r} in line 2" in found.message and f"recorded: {one!r} in line 2" in found.message


def test_the_number_of_a_process_alone_in_a_line_is_told_and_decides_nothing() -> None:
    numbers = {12: 3}
    found = compared("stdout", stream("12\nx\n"), output("3\nx\n"), numbers)
    assert found is not None and found.why == VOLATILE
    found = compared("stdout", stream("12\nx\n"), output("4\nx\n"), numbers)
    assert found is not None and found.why == ""
    assert told("12\n\nexit code 0", finished("3\n"), exact=True, numbers=numbers) is None


def test_the_same_digest_is_the_same() -> None:
    assert compared("stdout", stream("x" * 50, kept=3), output("x" * 50)) is None


def test_a_difference_behind_what_was_kept_is_named_by_digest() -> None:
    found = compared("stdout", stream("x" * 50 + "a", kept=20), output("x" * 50 + "b"))
    assert found is not None and found.why == "" and "digest" in found.message


def test_a_redacted_record_cannot_be_compared() -> None:
    found = compared("stdout", stream("[secret:named:8:00]", redacted=True), output("hunter22"))
    assert found is not None and found.why == HIDDEN
    assert (found.recorded, found.seen) == ("19 bytes", "8 bytes"), "no digest of a secret"


def test_the_text_of_the_built_in_agent_holds_both_streams_in_any_order() -> None:
    assert told("b\na\n\nexit code 0", finished("a\n", "b\n"), exact=True) is None
    found = told("a\nexit code 0", finished("a\nb\n"), exact=True)
    assert found is not None and (found.recorded, found.seen, found.why) == ("no such line", "'b'", "")
    assert told("took 2 s\n\nexit code 1", finished("took 9 s\n", code=1), exact=True) is None


def test_the_text_of_another_agent_may_hold_more_and_never_decides() -> None:
    assert told('{"output": "a\\tb\\nc"}', finished("a\tb\nc\n"), exact=False) is None
    found = told("nothing of it", finished("a line\n"), exact=False)
    assert found is not None and found.why == RENDERED


def test_a_stream_that_was_cut_is_never_said_to_differ_in_times_alone() -> None:
    then, now = "at 10:00:00\n" + "x\n" * 20 + "good\n", "at 11:00:00\n" + "x\n" * 20 + "evil\n"
    found = compared("stdout", stream(then, kept=31), output(now))
    assert found is not None and found.why == IN_PART.format(30, len(then) - 30)
    assert f"{len(then)} bytes" in found.recorded and "'at 10:00:00' in line 1" in found.recorded
    found = compared("stdout", stream(then), output(now))
    assert found is not None and found.why == ""


def test_times_of_another_width_do_not_move_what_is_compared() -> None:
    then, now = "took 9 s\n" + "abc\n" * 9, "took 1234 s\n" + "abc\n" * 9
    found = compared("stdout", stream(then, kept=20), output(now))
    assert found is not None and found.why == IN_PART.format(17, len(then) - 17)
    found = compared("stdout", stream(then, kept=20), output(now.replace("abc", "abd", 1)))
    assert found is not None and found.why == ""


@pytest.mark.parametrize("shorter", ["", "took 9", "took 9 s\nab"])
def test_a_stream_that_ends_before_what_was_kept_is_named_by_its_line(shorter: str) -> None:
    found = compared("stdout", stream("took 9 s\n" + "abc\n" * 9, kept=20), output(shorter))
    assert found is not None and found.why == "" and " in line " in found.message


@pytest.mark.parametrize(("then", "now"), [("", "something\n"), ("something\n", "")])
def test_nothing_and_something_differ(then: str, now: str) -> None:
    found = compared("stderr", stream(then), output(now))
    assert found is not None and found.why == ""
    assert ("stderr has nothing" in found.message) == (not now) and ("recorded: nothing" in found.message) == (not then)


def test_bytes_that_are_no_text_stay_apart_and_are_shown_as_bytes() -> None:
    then, now = b"at 10:00:00 \xff\n", b"at 11:00:00 \xfe\n"
    found = compared(
        "stdout",
        Stream(sha256(then).hexdigest(), len(then), name_text(then)),
        Output(now, len(now), sha256(now).hexdigest()),
    )
    assert found is not None and found.why == ""
    assert "b'at 11:00:00 \\xfe' in line 1" in found.message and "b'at 10:00:00 \\xff' in line 1" in found.message


def test_the_place_in_a_long_line_is_shown() -> None:
    found = compared("stdout", stream("x" * 500 + "a"), output("x" * 500 + "b"))
    assert found is not None and f"'{'x' * 20}b' from character 481 on in line 1" in found.message


def test_the_order_of_lines_in_a_stream_counts_and_that_of_streams_does_not() -> None:
    assert told("1\na\n2\nexit code 0", finished("1\n2\n", "a\n"), exact=True) is None
    found = told("2\na\n1\nexit code 0", finished("1\n2\n", "a\n"), exact=True)
    assert found is not None and (found.stream, found.why) == ("stdout", "") and "'2'" in found.message


def test_of_a_text_whose_middle_was_left_out_the_rest_and_the_length_are_compared() -> None:
    def told_of(text: str) -> str:
        whole = f"{text}\nexit code 0"
        return f"{whole[:8000]}\n... {len(whole) - 16000} characters left out ...\n{whole[-8000:]}"

    lines = "".join(f"line {number}\n" for number in range(4000))
    missing = len(lines) + len("\nexit code 0") - 16000
    found = told(told_of(lines), finished(lines), exact=True)
    assert found is not None and found.why == LEFT_OUT.format(missing)
    found = told(told_of(lines), finished(lines.replace("line 2000\n", "line 2000!\n")), exact=True)
    assert found is not None and found.why == "" and f"{len(lines) + 1} characters" in found.message
    found = told(told_of(lines), finished(lines.replace("line 3999", "line 4000")), exact=True)
    assert found is not None and (found.recorded, found.seen, found.why) == ("'line 3999'", "no such line", "")


def test_a_text_without_the_bytes_that_are_no_text_says_so() -> None:
    data = b"\xff\n"
    printed = CommandResult(0, True, False, "", Output(data, 2, sha256(data).hexdigest()), output(""), 0, 0, 0)
    found = told("\N{REPLACEMENT CHARACTER}\nexit code 0", printed, exact=True)
    assert found is not None and found.why == NO_TEXT


def test_a_call_of_another_agent_that_prints_nothing_any_more_is_told() -> None:
    found = told("a line", finished(""), exact=False)
    assert found is not None and (found.recorded, found.seen, found.why) == ("'a line'", "nothing", SILENT)
    assert told("", finished(""), exact=False) is None


def command(number: int) -> RecordedCommand:
    return RecordedCommand(10 + number, ("prog", str(number)), "/workspace", 0, 0)


def test_only_a_steady_difference_decides_and_the_first_is_named() -> None:
    commands = tuple(command(number) for number in range(3))
    unsteady, steady = compared("stdout", stream("a"), output("b")), compared("stderr", stream("c"), output("d"))
    other = compared("stdout", stream("a"), output("e"))
    assert unsteady and steady and other
    found = settled(CommandReplay(3, ()), commands, {0: (unsteady,), 2: (steady,)}, {0: (other,), 2: (steady,)})
    assert (found.commands, found.where) == (2, "events.jsonl#12")
    assert found.divergence.startswith("call 3, prog 2: stderr has 'd' in line 1")
    assert [(one.call, one.stream, one.why) for one in found.notices] == [(1, "stdout", UNSTEADY)]


def test_a_later_ending_still_decides_beside_notices() -> None:
    volatile = compared("stdout", stream("1 s"), output("2 s"))
    assert volatile
    ended = CommandReplay(1, (), "events.jsonl#11", "prog 1: exit code 2; recorded: 0")
    found = settled(ended, (command(0), command(1)), {0: (volatile,)}, {})
    assert found.divergence == ended.divergence and len(found.notices) == 1


def test_a_command_that_had_to_be_ended_must_have_to_be_ended_again() -> None:
    cut_off = RecordedCommand(1, ("prog",), "/workspace", None, 0, timed_out=True)
    assert other_ending(cut_off, finished("")) == "prog: exit code 0; recorded: it had to be ended"
    ended = CommandResult(-9, True, True, "", output(""), output(""), 0, 0, 0)
    assert other_ending(cut_off, ended) == "" and "had to be ended" in other_ending(command(0), ended)


def test_programs_with_temporary_names_are_the_same_programs() -> None:
    then = [(("as", "-o", "/tmp/ccAb12Cd.o"), "/workspace", 0)]
    now = [(("as", "-o", "/tmp/ccZZ99zz.o"), "/workspace", 0)]
    assert other_program(list(then), list(now)) == ""
    assert "was not started now" in other_program(list(then), [(("as", "-o", "x.o"), "/workspace", 0)])


def test_another_ending_in_a_second_replay_is_a_divergence() -> None:
    one, other = compared("stdout", stream("a"), output("b")), compared("stdout", stream("a"), output("c"))
    assert one and other
    second = CommandReplay(1, (), "events.jsonl#11", "prog 1: exit code 2; recorded: 0")
    found = settled(CommandReplay(2, ()), (command(0), command(1)), {0: (one,)}, {0: (other,)}, second)
    assert (found.commands, found.where) == (1, "events.jsonl#11")
    assert found.divergence == "in a second replay: prog 1: exit code 2; recorded: 0"
    assert [notice.why for notice in found.notices] == [UNSTEADY] and found.unheard == 1
