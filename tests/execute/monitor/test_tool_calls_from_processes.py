"""Tool calls out of what was seen to start and end."""

from __future__ import annotations

from typing import Any

from proctor.execute.monitor.tool_calls_from_processes import Calls


def fold(story: Any, depth: int = 1) -> tuple[Calls, dict[str, list[Any]]]:
    """The fold over a story and everything that it told on the way."""
    calls = Calls(depth)
    told: dict[str, list[Any]] = {"started": [], "ended": [], "began": [], "finished": []}
    first = int(story.events[0].t)
    for event in story.events:
        calls.see(event, int(event.t) - first)
        for name, found in told.items():
            found.extend(getattr(calls, name))
    return calls, told


def test_the_agents_own_process_is_no_call_and_its_children_are(new_story: Any) -> None:
    story = new_story().start().call("cat", "a").call("ls")
    calls, told = fold(story)
    assert [call.argv for call in told["started"]] == [("cat", "a"), ("ls",)]
    assert calls.count == 2 and calls.open == ()
    assert [call.kinds for call in told["ended"]] == [{"read"}, {"read"}]


def test_what_a_call_starts_belongs_to_it(new_story: Any) -> None:
    story = new_story().start()
    shell = story.exec(["bash", "-c", "pip install x && pytest"])
    pip = story.exec(["pip", "install", "x"], parent=shell)
    inner = story.exec(["python3", "-m", "pip", "install", "setuptools"], parent=pip)
    story.exit(inner).exit(pip)
    tests = story.exec(["pytest"], parent=shell)
    story.exit(tests, 1).exit(shell, 1)
    calls, told = fold(story)
    assert calls.count == 1
    assert calls.resolutions == 1, "the pip inside a pip is no second resolution"
    assert [(work.argv[0], work.outcome) for work in told["finished"]] == [("pip", "passed"), ("pytest", "failed")]
    assert told["ended"][0].kinds == {"install", "resolve", "test"}


def test_a_program_that_is_replaced_stays_the_same_call(new_story: Any) -> None:
    story = new_story().start()
    pid = story.exec(["sh", "-c", "pytest -q"])
    for place in ("/usr/local/bin", "/usr/bin"):
        story.exec([f"{place}/pytest", "-q"], pid=pid)
    story.exit(pid, 1)
    calls, told = fold(story)
    assert calls.count == 1
    assert [work.outcome for work in told["finished"]] == ["failed"]
    assert len(told["began"]) == 1, "a search along PATH is one start"


def test_a_fork_without_a_program_belongs_to_the_youngest_call(new_story: Any) -> None:
    story = new_story().start()
    shell = story.exec(["bash", "-c", "(cd x; make; make test)"])
    story.exec(["make"], pid=501, parent=500)
    story.exit(501)
    story.exec(["make", "test"], pid=502, parent=500)
    story.exit(502).exit(shell)
    story.exec(["ls"], pid=500, parent=10)
    story.exit(500)
    _, told = fold(story)
    assert [call.argv[0] for call in told["started"]] == ["bash", "ls"]
    assert [sorted(work.kinds) for work in told["began"]] == [["build"], ["test"], ["read"]]


def test_a_fork_of_the_agent_makes_calls_of_its_own(new_story: Any) -> None:
    story = new_story().start()
    story.exec(["ls"], pid=501, parent=500)
    story.exit(501)
    story.exec(["ls"], pid=502, parent=500)
    calls, _ = fold(story)
    assert calls.count == 2


def test_a_fork_of_the_agent_hides_behind_no_call(new_story: Any) -> None:
    story = new_story().start()
    story.exec(["sleep", "inf"], origin=10)
    for number in range(5):
        story.exec(["ls"], pid=501 + number, parent=500, origin=10)
    calls, _ = fold(story)
    assert calls.count == 6


def test_a_fork_belongs_where_it_comes_from_also_after_its_end(new_story: Any) -> None:
    story = new_story().start()
    shell = story.exec(["bash", "-c", "(make; make test) &"], origin=10)
    story.exec(["make"], pid=501, parent=500, origin=shell)
    story.exit(501).exit(shell)
    story.exec(["ls"], pid=600, origin=10)
    story.exec(["make", "test"], pid=502, parent=500, origin=shell)
    calls, told = fold(story)
    assert [call.argv[0] for call in told["started"]] == ["bash", "ls"]
    assert [work.call for work in told["began"]] == [0, 1, 0]
    assert calls.processes_of(0) == (502,)


def test_programs_that_come_from_nobody_are_calls(new_story: Any) -> None:
    story = new_story().start()
    story.exec(["sleep", "inf"], origin=10)
    for number in range(3):
        story.exec(["ls"], pid=501 + number, parent=1, origin=0)
    assert fold(story)[0].count == 4


def test_deeper_agents_have_deeper_calls(new_story: Any) -> None:
    story = new_story().start()
    agent = story.exec(["node", "agent.js"])
    story.exit(story.exec(["ls"], parent=agent))
    _, told = fold(story, 2)
    assert [call.argv for call in told["started"]] == [("ls",)]


def test_without_a_guard_each_invocation_is_a_call(new_story: Any) -> None:
    story = new_story().start(root=False)
    story.invoke("sh", "-c", "cd x && pytest", code=1, seconds="2.5")
    story.invoke("sh", "-c", "pytest | tail", code=0)
    story.invoke("pip", "install", "x", purpose="setup")
    calls, told = fold(story)
    assert calls.count == 2
    assert [work.outcome for work in told["finished"] if "test" in work.kinds] == ["failed", "unknown"]
    assert told["ended"][0].wall_ns == 2_500_000_000


def test_commands_of_the_harness_get_their_exit_status_from_it(new_story: Any) -> None:
    story = new_story().start(root=False)
    for text, code in (("pytest -q", 1), ("cd x && pytest -q", 0), ("pytest -q | tail", 0)):
        shell = story.exec(["sh", "-c", text], parent=1)
        tests = story.exec(["pytest", "-q"], parent=shell)
        story.exit(tests, None).exit(shell, None)
        story.invoke("sh", "-c", text, code=code)
    calls, told = fold(story, 0)
    assert calls.count == 3
    assert [work.outcome for work in told["finished"]] == ["failed", "passed", "unknown"]


def test_what_still_runs_when_the_command_ends_is_ended_with_it(new_story: Any) -> None:
    story = new_story().start()
    story.exec(["sleep", "inf"])
    story.wait(3).invoke("agent")
    calls, told = fold(story)
    assert calls.open == () and [call.argv[0] for call in told["ended"]] == ["sleep"]


def test_a_refused_start_is_no_call(new_story: Any) -> None:
    story = new_story().start()
    story.add("guard.exec", pid=77, parent=10, path="/bin/x", argv=["x"], cwd="/", allowed=False)
    assert fold(story)[0].count == 0


def test_the_same_words_elsewhere_are_another_call(new_story: Any) -> None:
    story = new_story().start()
    for directory in ("/workspace", "/workspace", "/tmp"):
        story.exit(story.exec(["ls"], cwd=directory))
    keys = [call.key for call in fold(story)[1]["started"]]
    assert keys[0] == keys[1] != keys[2]


def test_tests_under_another_name_are_known_by_their_file(new_story: Any) -> None:
    story = new_story().start()
    story.add("guard.exec", pid=50, parent=10, path="/usr/bin/pytest", argv=["x", "-q"], cwd="/workspace", allowed=True)
    assert [work.kinds for work in fold(story)[1]["began"]] == [{"test"}]


def test_what_only_starts_the_agent_is_not_the_agent(new_story: Any) -> None:
    story = new_story().start(root=False)
    story.exec(["timeout", "3600", "agent"], pid=10, parent=1)
    story.exec(["agent"], pid=11, parent=10)
    story.exec(["cat", "a"], pid=12, parent=11)
    story.exec(["other"], pid=13, parent=10)
    assert [call.argv for call in fold(story)[1]["started"]] == [("cat", "a"), ("other",)]


def test_a_name_makes_nothing_a_launcher(new_story: Any) -> None:
    story = new_story().start(root=False)
    started = {"cwd": "/workspace", "allowed": True}
    story.add("guard.exec", pid=10, parent=1, path="/usr/bin/python3", argv=["timeout", "9", "x"], **started)
    story.exec(["cat", "a"], pid=11, parent=10)
    assert [call.argv for call in fold(story)[1]["started"]] == [("cat", "a")]
