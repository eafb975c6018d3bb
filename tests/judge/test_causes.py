"""Programs beside the tool calls that caused them, on traces made by hand: guards tell late, agents wrap commands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.judge.programs_by_tool_call import Program, asked_by_call, programs_of
from proctor.record.trace.event import Event

Found = list[tuple[str, str | None, str | None]]


class Talk:
    """A conversation of calls with programs in between; ``late`` is what the guard has seen and not yet told."""

    def __init__(self, now: int = 1_000) -> None:
        self.events: list[Event] = []
        self.now = now
        self.calls = 0
        self.pids = 2
        self.late: list[dict[str, Any]] = []
        self.program("agent", pid=2, parent=1).tell()
        self.request()

    def add(self, kind: str, /, **payload: Any) -> Talk:
        self.now += 10
        self.events.append(Event(len(self.events), str(self.now), kind, "agent", payload, "", ""))
        return self

    def request(self, *results: str) -> Talk:
        self.calls += 1
        self.add("model.request", call=self.calls)
        for result in results:
            self.add("tool.result", call=self.calls, index=0, id=result, name="", content={}, failed=False)
        return self

    def call(self, name: str, arguments: Any, tool: str = "run", *, shown: dict[str, Any] | None = None) -> Talk:
        content = shown if shown is not None else {"text": json.dumps(arguments)}
        return self.add("tool.call", call=self.calls, index=0, id=name, name=tool, arguments=content)

    def say(self, text: str, role: str = "assistant") -> Talk:
        return self.add("model.message", call=self.calls, index=0, role=role, content={"text": text}, tool_calls=0)

    def program(self, *argv: str, pid: int = 0, parent: int = 2) -> Talk:
        """A program starts now; the guard tells it with the next ``tell``."""
        self.now += 10
        self.pids += 1
        self.late.append({"pid": pid or self.pids, "parent": parent, "argv": list(argv), "at": str(self.now)})
        return self

    def tell(self) -> Talk:
        for one in self.late:
            self.add("guard.exec", **one)
        self.late.clear()
        return self

    def found(self) -> Found:
        """The last word of each program, the id of its call, and how they match."""
        return [_row(program) for program in programs_of(self.events)]


def _row(program: Program) -> tuple[str, str | None, str | None]:
    name = program.event.payload["argv"][-1]
    if program.cause is None:
        return name, None, None
    return name, program.cause.event.payload.get("id", "message"), program.cause.how


def test_what_started_before_the_model_was_asked_is_the_agents_own() -> None:
    assert Talk().found() == []


def test_a_guard_that_tells_late_confuses_nothing() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("/bin/sh", "-c", "make all").program("make", parent=4)
    talk.request("a").call("b", {"command": "make test"}).program("/bin/sh", "-c", "make test").request("b").tell()
    assert talk.found() == [("make all", "a", "words"), ("make", "a", "descent"), ("make test", "b", "words")]


def test_the_same_command_twice_is_two_calls() -> None:
    talk = Talk().call("a", {"command": "make"}).call("b", {"command": "make"})
    talk.program("sh", "-c", "make").program("sh", "-c", "make").request("a", "b").call("c", {"command": "make"})
    talk.program("sh", "-c", "make").tell()
    assert [row[1] for row in talk.found()] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "argv"),
    [
        ({"command": "ls -la"}, ["/bin/bash", "-c", "ls -la\n"]),
        ({"command": "ls -la"}, ["/usr/bin/ls", "-la"]),
        ({"command": "ls -la", "timeout": 10}, ["timeout", "10", "bash", "-c", "ls -la"]),
        ({"cmd": "ls -la src"}, ["bash", "-c", "cd /workspace && { ls -la src; }; echo $?"]),
        ({"command": ["bash", "-lc", "ls -la"]}, ["/usr/bin/bash", "-lc", "ls -la"]),
        ({"command": ["bash", "-lc", "ls -la"]}, ["bash", "-c", "source x; ls -la"]),
        ({"command": "cat a.txt | grep 'x y'; ls"}, ["grep", "x y"]),
        ({"commands": ["make all", "ls -la"]}, ["bash", "-c", "ls -la"]),
        ({"commands": [{"keystrokes": "ls -la\n"}]}, ["ls", "-la"]),
        ({"pattern": "def add", "path": "."}, ["rg", "--json", "def add", "."]),
        ("ls -la", ["ls", "-la"]),
    ],
)
def test_agents_run_commands_in_many_ways(arguments: Any, argv: list[str]) -> None:
    talk = Talk().call("a", {"command": "true"}).call("b", arguments).program(*argv).tell()
    assert talk.found() == [(argv[-1], "b", "words")]


@pytest.mark.parametrize(
    ("arguments", "argv"),
    [
        ({"command": "ls"}, ["which", "lsof"]),
        ({"command": "make"}, ["sh", "-c", "cmake ."]),
        ({"command": "echo a; echo b"}, ["echo", "c"]),
        ({"path": "a.py"}, ["cat", "aa.py"]),
    ],
)
def test_words_that_only_look_alike_are_no_evidence(arguments: Any, argv: list[str]) -> None:
    talk = Talk().call("a", arguments).program(*argv).tell()
    assert talk.found() == [(argv[-1], "a", "order")]


def test_hidden_arguments_leave_the_order_only() -> None:
    talk = Talk().call("a", None, shown={"hmac": "x", "bytes": 3, "characters": 3}).program("sh", "-c", "id")
    talk.program("id", parent=4).request("a").call("b", None, shown={"hmac": "y", "bytes": 3, "characters": 3})
    talk.program("sh", "-c", "ls").tell()
    assert talk.found() == [("id", "a", "order"), ("id", "a", "order"), ("ls", "b", "order")]


def test_a_shown_part_of_hidden_or_long_arguments_is_read() -> None:
    hidden = {"hmac": "x", "spans": [[20, 29]], "shown": {"text": '{"command":"curl -H [redacted 9] x"}'}}
    long = {"prefix": '{"command":"printf \'one\\ntwo\' > a-long-file-name', "blob": "0"}
    talk = Talk().call("a", None, shown=long).call("b", None, shown=hidden)
    talk.program("sh", "-c", "printf 'one\ntwo' > a-long-file-name && make").program("sh", "-c", "curl").tell()
    assert [row[1:] for row in talk.found()] == [("a", "words"), ("b", "order")]


def test_what_matches_nothing_stays_without_a_cause() -> None:
    talk = Talk().program("git", "status").call("a", {"path": "x.py"}, "read").request("a").program("git", "diff")
    assert talk.tell().found() == [("status", None, None), ("diff", None, None)]


def test_a_shell_that_stays_open_hands_down_no_cause() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("bash", pid=50).program("make", "all", parent=50)
    talk.request("a").call("b", {"command": "make test"}).program("make", "test", parent=50).request("b")
    talk.program("make", "clean", parent=50).tell()
    assert talk.found() == [
        ("bash", "a", "order"),
        ("all", "a", "words"),
        ("test", "b", "words"),
        ("clean", None, None),
    ]


def test_a_program_in_the_background_outlives_its_call_and_its_number_does_not() -> None:
    talk = Talk().call("a", {"command": "serve &"}).program("sh", "-c", "serve &", pid=50).tell().request("a")
    talk.program("worker", parent=50).tell().add("guard.exit", pid=50, exit_code=0, wall_seconds="1")
    talk.program("stranger", parent=50).tell()
    assert talk.found() == [("serve &", "a", "words"), ("worker", "a", "descent"), ("stranger", None, None)]


def test_a_process_that_replaces_its_program_keeps_its_cause() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("bash", "-c", "make all", pid=50).program("make", pid=50)
    assert [row[1:] for row in talk.tell().found()] == [("a", "words"), ("a", "descent")]


def test_a_call_without_a_program_may_get_it_after_its_result() -> None:
    talk = Talk().call("a", {"command": "make all"}).request("a").program("sh", "-c", "make all")
    talk.program("sh", "-c", "make all").tell()
    assert talk.found() == [("make all", "a", "words"), ("make all", None, None)]


def test_a_result_without_an_id_is_the_next_request() -> None:
    talk = Talk().call("", {"command": "make"}).program("x").request().program("y").tell()
    assert talk.found() == [("x", "", "order"), ("y", None, None)]


def test_another_conversation_closes_no_call() -> None:
    talk = Talk().call("a", {"command": "make"}).request().program("x").request("a").program("y").tell()
    assert talk.found() == [("x", "a", "order"), ("y", None, None)]


def test_commands_in_plain_messages_count_as_calls() -> None:
    talk = Talk().say("Look:\n```bash\nmake all\n```\n").program("sh", "-c", "make all").request()
    talk.say("```bash\nid\n```", role="user").program("sh", "-c", "id").tell()
    assert talk.found() == [("make all", "message", "words"), ("id", None, None)]


def test_a_block_of_code_is_no_reason_by_order_alone() -> None:
    assert Talk().say("```python\nx = 1\n```").program("flake8").tell().found() == [("flake8", None, None)]


def test_a_message_that_quotes_a_call_is_not_its_cause() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("ps").request()
    talk.say("They want this:\n```bash\nmake all\n```\n").program("sh", "-c", "make all").request("a").tell()
    assert talk.found() == [("ps", "a", "order"), ("make all", "a", "words")]


def test_what_the_harness_starts_is_matched_by_words_or_not_at_all() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("sh", "-c", "tar x", pid=50, parent=1)
    talk.program("tar", "x", parent=50).program("sh", "-c", "make all", parent=1).program("cc")
    talk.late[-1]["parent"] = talk.late[-2]["pid"]
    assert talk.tell().found() == [
        ("tar x", None, None),
        ("x", None, None),
        ("make all", "a", "words"),
        ("cc", "a", "descent"),
    ]


def test_what_a_call_left_behind_descends_from_it_although_its_parent_is_the_first_process() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("sh", "-c", "make all", pid=40)
    talk.program("setsid", "server", pid=41, parent=1)
    talk.late[-1]["origin"] = 40
    talk.tell().add("guard.exit", pid=40, exit_code=0, wall_seconds="1.0")
    talk.request("a").call("b", {"command": "make test"}).program("cc", pid=42, parent=1)
    talk.late[-1]["origin"] = 40
    talk.program("ld", pid=43, parent=42).tell()
    assert talk.found() == [
        ("make all", "a", "words"),
        ("server", "a", "descent"),
        ("cc", "a", "descent"),
        ("ld", "a", "descent"),
    ]


def test_what_the_agent_itself_left_behind_is_not_the_harness() -> None:
    talk = Talk().call("a", {"path": "x"}, tool="read").program("cat", "x", parent=1)
    talk.late[-1]["origin"] = 2
    talk.program("tar", "x", parent=1)
    talk.late[-1]["origin"] = 0
    assert talk.tell().found() == [("x", "a", "order"), ("x", None, None)]


def test_a_number_that_is_given_again_is_another_process() -> None:
    talk = Talk().call("a", {"command": "make all"}).program("sh", "-c", "make all", pid=40).tell()
    talk.add("guard.exit", pid=40, exit_code=0, wall_seconds="1.0").request("a")
    talk.program("tar", "x", pid=40, parent=1)
    talk.late[-1]["origin"] = 0
    talk.program("gzip", pid=41, parent=40)
    talk.late[-1]["origin"] = 40
    assert talk.tell().found()[1:] == [("x", None, None), ("gzip", None, None)]


def test_an_agent_that_acts_before_its_answer_is_recorded_is_matched_by_words() -> None:
    talk = Talk().program("sh", "-c", "make").program("git", "status")
    assert talk.call("a", {"command": "make"}).tell().found() == [("make", "a", "words"), ("status", None, None)]


@pytest.mark.parametrize("at", ["1", f"9{10**15}", "", "x"])
def test_a_clock_that_cannot_be_right_is_not_asked(at: str) -> None:
    talk = Talk(now=1_000 * 10**9).call("a", {"command": "make"}).program("sh", "-c", "make")
    talk.late[0]["at"] = at
    assert talk.tell().found() == [("make", "a", "words")]


def test_programs_of_the_judge_are_nobodys() -> None:
    talk = Talk().call("a", {"command": "make"}).add("agent.finished").program("sh", "-c", "make").tell()
    assert talk.found() == []


def test_an_open_call_takes_any_number_of_programs() -> None:
    talk = Talk()
    for number in range(300):
        talk.call(str(number), {"command": f"unused {number}; other"}).request(str(number))
    talk.call("a", {"command": "long " * 2000})
    for number in range(2_000):
        talk.program("x", str(number))
    assert {row[1:] for row in talk.tell().found()} == {("a", "order")}


def test_arguments_that_are_nested_deep_are_read_as_far_as_can_be() -> None:
    deep = "[" * 1010 + '"x"' + "]" * 1010
    asked = asked_by_call({"text": f'{{"command": [["make all"], {deep}]}}'})
    assert asked.texts == {"make all"}
