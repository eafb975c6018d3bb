"""What is run again of a trace: what the model asked for, and nothing that its agent starts besides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.conduct.replay.tool_call_commands import AskedCommand, asked_commands
from proctor.record.trace.event import Event

TEXT = "grep -rn minus . | sort"


class Trace:
    """Events of one agent, whose process has the number 2."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.program(2, "node", "/opt/agent/cli.js", parent=1)
        self.add("model.request", call=1)

    def add(self, kind: str, /, **payload: Any) -> Trace:
        seq = len(self.events)
        self.events.append(Event(seq, str(1_000 + 10 * seq), kind, "agent", payload, "", ""))
        return self

    def call(self, arguments: Any, name: str = "call_1") -> Trace:
        content = {"text": json.dumps(arguments)}
        return self.add("tool.call", call=1, index=0, id=name, name="run", arguments=content)

    def result(self, text: str, name: str = "call_1", tool: str = "") -> Trace:
        self.add("model.request", call=2)
        return self.add("tool.result", call=2, index=0, id=name, name=tool, content={"text": text}, failed=False)

    def program(self, pid: int, *argv: str, parent: int = 2, cwd: str = "/workspace") -> Trace:
        at = str(1_000 + 10 * len(self.events))
        return self.add("guard.exec", pid=pid, parent=parent, origin=parent, argv=list(argv), cwd=cwd, at=at)

    def exit(self, pid: int, code: int) -> Trace:
        return self.add("guard.exit", pid=pid, exit_code=code, wall_seconds="0.5")

    @property
    def commands(self) -> tuple[AskedCommand, ...]:
        return asked_commands(self.events, lambda content: content)

    @property
    def rows(self) -> list[tuple[tuple[str, ...], int | None]]:
        return [(one.argv, one.exit_code) for one in self.commands]


@pytest.mark.parametrize("flags", [("-c",), ("-lc",), ("-o", "pipefail", "-c"), ("-c", "--")])
def test_a_shell_that_supervises_another_one_is_not_run_again(flags: tuple[str, ...]) -> None:
    trace = Trace().call({"command": TEXT})
    trace.program(5, "bash", "-c", 'kill -0 "$1" && "$2" -c "$3"', "supervisor", "2", "bash", TEXT)
    trace.program(6, "bash", *flags, TEXT, parent=5).program(7, "sort", parent=6).exit(6, 1).exit(5, 1).result("none")
    assert trace.rows == [(("bash", *flags, TEXT), 1)]


def test_the_agent_itself_its_start_and_its_snapshots_are_not_run_again() -> None:
    trace = Trace()
    trace.program(3, "node", "--max-old-space-size=9", "/opt/agent/cli.js", "-p", "task").program(4, "git", "status")
    trace.call({"command": TEXT}).program(5, "systemd-inhibit", "--why=a tool runs").exit(5, 1)
    trace.program(6, "/bin/sh", "-c", ". /home/agent/snapshots/01a1ed80.tmp").exit(6, 0)
    trace.program(7, "bash", "-c", TEXT).program(8, "sort", parent=7).exit(8, 0).exit(7, 0).result("none")
    trace.program(9, "git", "--git-dir", "/home/agent/snapshot", "add", ".").exit(9, 0)
    (command,) = trace.commands
    assert (command.argv, command.exit_code, command.directory) == (("bash", "-c", TEXT), 0, "/workspace")
    assert command.result == {"text": "none"}
    assert command.wall_ns == 500_000_000


WRAPPED = f"shopt -u nullglob; pids=/tmp/shell-KwXkHk/pids.tmp\n( {TEXT} )\ncode=$?; exit $code"
FORMS = [
    ((TEXT,), ("bash", "-lc"), ("bash", "-lc", TEXT)),
    ((WRAPPED,), ("/usr/bin/bash", "-c"), ("/usr/bin/bash", "-c", TEXT)),
]


@pytest.mark.parametrize(("script", "shell", "again"), FORMS, ids=["as it is", "with a text around it"])
def test_a_shell_runs_what_was_asked_for(script: tuple[str], shell: tuple[str, ...], again: tuple[str, ...]) -> None:
    trace = Trace().call({"command": TEXT}).program(3, *shell, *script).exit(3, 1)
    assert trace.rows == [(again, 1)]


def test_the_shell_below_a_wrapper_is_run_again() -> None:
    trace = Trace().call({"command": TEXT}).program(3, "/opt/agent/sandbox", "--", "bash", "-c", TEXT)
    trace.program(4, "bash", "-c", TEXT, parent=3).exit(4, 2).exit(3, 0)
    assert trace.rows == [(("bash", "-c", TEXT), 2)]


def test_words_are_run_as_words() -> None:
    trace = Trace().call({"command": ["ls", "-la", "src"]}).program(3, "/usr/bin/ls", "-la", "src").exit(3, 0)
    assert trace.rows == [(("/usr/bin/ls", "-la", "src"), 0)]


def test_what_an_open_shell_ran_is_run_again_as_a_whole() -> None:
    trace = Trace().program(3, "/bin/bash").call({"command": TEXT})
    trace.program(4, "grep", "-rn", "minus", ".", parent=3, cwd="/workspace/src").program(5, "sort", parent=3)
    trace.exit(4, 0).exit(5, 0)
    (command,) = trace.commands
    assert (command.argv, command.exit_code, command.directory) == (
        ("/bin/bash", "-c", TEXT),
        None,
        "/workspace/src",
    )


def test_what_a_terminal_was_told_to_type_is_run_again_without_it() -> None:
    trace = Trace().program(3, "/bin/bash").call({"command": TEXT})
    trace.program(4, "/usr/bin/tmux", "-Lown", "send-keys", "-t", "%1", "-l", TEXT).exit(4, 0)
    assert trace.rows == [(("/bin/sh", "-c", TEXT), None)]
    trace.program(5, "grep", "-rn", "minus", ".", parent=3).exit(5, 0)
    assert trace.rows == [(("/bin/bash", "-c", TEXT), None)]


def test_the_agents_way_to_search_is_not_what_was_asked_for() -> None:
    trace = Trace().call({"pattern": "minus", "path": "calc.py"}).program(3, "rg", "--json", "minus", "calc.py")
    assert trace.rows == []


def test_the_end_of_what_outlives_its_agent_is_not_known() -> None:
    trace = Trace().call({"command": TEXT}).program(3, "bash", "-c", TEXT).add("agent.rested", wall_seconds="1")
    assert trace.exit(3, -9).rows == [(("bash", "-c", TEXT), None)]


def test_results_without_the_ids_of_their_calls_belong_to_them_in_order() -> None:
    trace = Trace()
    for number, text in enumerate(("echo one", "echo two"), 3):
        trace.call({"command": text}, name="run").program(number, "bash", "-c", text).exit(number, 0)
        trace.result(text.removeprefix("echo "), name=f"run_{number}_0")
    assert [(one.argv[-1], one.result) for one in trace.commands] == [
        ("echo one", {"text": "one"}),
        ("echo two", {"text": "two"}),
    ]
