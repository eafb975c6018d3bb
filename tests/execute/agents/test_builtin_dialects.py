"""The reference agent in all four dialects: against the gateway and a stub provider, in process, and by properties."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.agents.builtin import program
from proctor.execute.agents.builtin.builtin_agent import PROGRAM
from proctor.execute.agents.interface import DIALECTS
from proctor.execute.gateway.dialects.dialect_routes import DIALECTS as READERS
from proctor.execute.gateway.dialects.interface import Call, Message, Result, Route
from proctor.execute.gateway.scripted.scripted_replies import DIALECT_WRITERS, Reply
from tests.execute.agents.stub import OVERFLOWS, Body, Said, calling, saying, stub_provider
from tests.execute.gateway.conftest import MakeRig, make_rig

__all__ = ["make_rig"]

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """How long the agent would have waited before each request."""
    found: list[float] = []
    monkeypatch.setattr("proctor.execute.agents.builtin.program.time.sleep", found.append)
    yield found


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path / "tree")
    return tmp_path / "tree"


def agent(url: str, dialect: str, task: str = "Mend it.", **settings: str) -> program.Agent:
    variables = {"DIALECT": dialect, "MODEL": "m", "MODEL_URL": url, "MODEL_KEY": "k", **settings}
    return program.Agent(task, {f"PROCTOR_{name}": value for name, value in variables.items()})


def items_of(dialect: str, body: Body) -> list[Body]:
    """The conversation in a request, without the system prompt and without marks for caches."""
    name = {"responses": "input", "gemini": "contents"}.get(dialect, "messages")
    plain = json.loads(json.dumps(body[name]).replace(', "cache_control": {"type": "ephemeral"}', ""))
    return [item for item in plain if item.get("role") != "system"]


def read(dialect: str, body: Body) -> tuple[Message, ...]:
    """The conversation in a request as the gateway reads it."""
    return READERS[dialect].asked(body, Route(dialect, "generate", "", "m")).messages


@every_dialect
def test_reasoning_goes_back_as_it_came_and_nothing_is_stripped(dialect: str, make_rig: MakeRig, tree: Path) -> None:
    first, said = calling(dialect, "run", {"command": "echo one"}, 1)
    second, more = calling(dialect, "run", {"command": "echo two"}, 2)
    with stub_provider([first, second, saying(dialect, "Done.")]) as (url, seen):
        rig = make_rig(url=url)
        worker = agent(rig.url, dialect, EFFORT="high", TEMPERATURE="1")
        worker.work()
    assert worker.spent == 30
    for request in rig.of("model.request"):
        assert request["changes"] == []
    items = items_of(dialect, seen[-1])
    held = [item for item in items if item in said + more]
    assert held == said + more
    told = [result.text for message in read(dialect, seen[-1]) for result in message.results]
    assert told == ["one\n\nexit code 0", "two\n\nexit code 0"]


@every_dialect
def test_each_request_begins_with_the_one_before(dialect: str, tree: Path) -> None:
    """So that a provider which caches by equal beginnings can use what it has."""
    answers = [calling(dialect, "run", {"command": f"echo {number}"}, number)[0] for number in range(3)]
    with stub_provider([*answers, saying(dialect, "Done.")]) as (url, seen):
        agent(url, dialect).work()
    for before, after in itertools.pairwise(seen):
        assert items_of(dialect, after)[: len(items_of(dialect, before))] == items_of(dialect, before)
        fixed = {name: value for name, value in before.items() if name not in ("messages", "input", "contents")}
        assert {name: after[name] for name in fixed} == fixed


def test_marks_say_what_to_cache(tree: Path) -> None:
    first, _ = calling("anthropic", "run", {"command": "echo one"})
    with stub_provider([first, saying("anthropic", "Done.")]) as (url, seen):
        agent(url, "anthropic").work()
    for body in seen:
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        marked = [
            (place, block)
            for place, message in enumerate(body["messages"])
            for block in message["content"]
            if "cache_control" in block
        ]
        assert [place for place, _ in marked] == [len(body["messages"]) - 1]
    with stub_provider([saying("responses", "Done.")]) as (url, seen):
        agent(url, "responses").work()
        agent(url, "responses").work()
        agent(url, "responses", "Another task.").work()
    keys = [body["prompt_cache_key"] for body in seen]
    assert keys[0] == keys[1] != keys[2]


@every_dialect
def test_a_conversation_that_is_too_long_is_trimmed_and_asked_again(
    dialect: str, make_rig: MakeRig, tree: Path
) -> None:
    (tree / "long.txt").write_text("a line of some text\n" * 300)
    reading = [calling(dialect, "read", {"path": "long.txt"}, number)[0] for number in range(8)]
    too_long = OVERFLOWS[dialect]
    with stub_provider([*reading, too_long, too_long, saying(dialect, "Done.")]) as (url, seen):
        rig = make_rig(url=url)
        worker = agent(rig.url, dialect)
        worker.work()
    sizes = [len(json.dumps(body)) for body in seen[-3:]]
    assert sizes[0] > sizes[1] > sizes[2]
    for body in seen:
        messages = read(dialect, body)
        assert messages[1].text.startswith("Mend it.")
        calls = [call.id for message in messages for call in message.calls]
        assert calls == [result.id for message in messages for result in message.results]
    left = [result.text for message in read(dialect, seen[-2]) for result in message.results]
    assert left[0] == program.LEFT_OUT and left[-1].startswith("     1 a line")
    assert [error["class"] for error in rig.of("model.error")] == ["context-overflow"] * 2


@every_dialect
def test_a_task_that_is_too_long_ends_the_work(dialect: str, tree: Path) -> None:
    with stub_provider([OVERFLOWS[dialect]]) as (url, seen), pytest.raises(program.Stopped, match="too long"):
        agent(url, dialect).work()
    assert len(seen) == program.OVERFLOWS


@every_dialect
def test_a_long_conversation_is_trimmed_before_it_is_sent(dialect: str, tree: Path) -> None:
    (tree / "long.txt").write_text("a line of some text\n" * 300)
    reading = [calling(dialect, "read", {"path": "long.txt"}, number)[0] for number in range(12)]
    with stub_provider([*reading, saying(dialect, "Done.")]) as (url, seen):
        agent(url, dialect, CONTEXT_TOKENS="24000").work()
    conversations = [len(json.dumps(items_of(dialect, body))) for body in seen]
    assert max(conversations) < 1.3 * 24000 * program.CHARACTERS_PER_TOKEN
    shrunk = [place for place in range(1, 13) if conversations[place] < conversations[place - 1]]
    assert 1 <= len(shrunk) <= 6, "it is trimmed now and then, not at every step"
    results = [result.text for message in read(dialect, seen[-1]) for result in message.results]
    assert len(results) == 12 and results[0] == program.LEFT_OUT
    assert all(text.startswith("     1 a line") for text in results[-program.RECENT_TURNS :])


TROUBLE = {"error": {"message": "Try again later."}}


@every_dialect
@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_what_may_pass_is_tried_again(dialect: str, status: int, waits: list[float]) -> None:
    answers = [Said(TROUBLE, status, {"Retry-After": "7"}), Said(TROUBLE, status), saying(dialect, "Done.")]
    with stub_provider(answers) as (url, seen):
        agent(url, dialect).work()
    assert len(seen) == 3 and waits == [0, 7, 2]


def test_an_answer_that_cannot_be_read_is_tried_again(waits: list[float]) -> None:
    with stub_provider([Said({}), Said({"choices": []}), saying("chat", "Done.")]) as (url, _):
        agent(url, "chat").work()
    broken = Said({"choices": [{"message": None}]})
    with stub_provider([broken]) as (url, seen), pytest.raises(program.Stopped, match="does not answer"):
        agent(url, "chat").work()
    assert len(seen) == program.TRIES


def test_trouble_that_does_not_pass_ends_the_work(waits: list[float]) -> None:
    with stub_provider([Said(TROUBLE, 503)]) as (url, seen), pytest.raises(program.Stopped, match=r"503.*Try again"):
        agent(url, "chat").work()
    assert len(seen) == program.TRIES and waits == [0, 1, 2, 4, 8, 16]
    with stub_provider([Said(TROUBLE, 401)]) as (url, seen), pytest.raises(program.Stopped, match="refused: 401"):
        agent(url, "chat").work()
    assert len(seen) == 1


def test_waiting_is_bounded(waits: list[float]) -> None:
    with stub_provider([Said(TROUBLE, 429, {"Retry-After": "86400"}), saying("chat", "Done.")]) as (url, _):
        agent(url, "chat").work()
    assert waits == [0, program.WAIT_SECONDS]


EFFORT: dict[str, list[Body]] = {
    "chat": [{"reasoning_effort": "low"}],
    "responses": [{"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}],
    "anthropic": [
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    ],
    "gemini": [
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}, "temperature": 0.5}},
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}, "temperature": 0.5}},
    ],
}


@every_dialect
def test_effort_temperature_and_rules_reach_the_model(dialect: str, make_rig: MakeRig, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("Write tests first.")
    refused = Said({"error": {"message": "This thinking mode is not supported by this model."}}, 400)
    wanted = EFFORT[dialect]
    with stub_provider([*[refused] * (len(wanted) - 1), saying(dialect, "Done.")]) as (url, seen):
        rig = make_rig(url=url)
        agent(rig.url, dialect, EFFORT="low", TEMPERATURE="0.5", RULES=str(tmp_path / "rules.md")).work()
    assert len(seen) == len(wanted)
    for body, fields in zip(seen, wanted, strict=True):
        assert {name: body.get(name) for name in fields} == fields
        assert dialect == "gemini" or body["temperature"] == 0.5
        assert "Write tests first." in read(dialect, body)[0].text
    assert all(request["changes"] == [] for request in rig.of("model.request"))


def test_a_model_without_reasoning_is_asked_for_none() -> None:
    refused = Said({"error": {"message": "Encrypted content is not supported with this model."}}, 400)
    with stub_provider([refused, saying("responses", "Done.")]) as (url, seen):
        agent(url, "responses").work()
    assert "include" in seen[0] and "include" not in seen[1]


@every_dialect
def test_an_answer_that_is_cut_off_or_empty_is_not_the_end(dialect: str, make_rig: MakeRig) -> None:
    answers = [saying(dialect, "I begin", is_cut=True), saying(dialect, ""), saying(dialect, "Done.")]
    with stub_provider(answers) as (url, seen):
        rig = make_rig(url=url)
        agent(rig.url, dialect).work()
    said = [message.text for message in read(dialect, seen[-1]) if message.role == "user"]
    assert said == ["Mend it.", program.CUT_OFF, program.SILENT] or said == [
        "Mend it.",
        program.CUT_OFF + program.SILENT,
    ]
    with stub_provider([saying(dialect, "")]) as (url, seen), pytest.raises(program.Stopped, match="neither calls"):
        agent(url, dialect).work()
    assert len(seen) == program.REMINDERS + 1


@every_dialect
def test_each_call_gets_a_result_even_if_it_names_no_tool(dialect: str, tree: Path) -> None:
    first, _ = calling(dialect, "", {}, 1)
    with stub_provider([first, saying(dialect, "Done.")]) as (url, seen):
        agent(url, dialect).work()
    messages = read(dialect, seen[1])
    assert len([call for message in messages for call in message.calls]) == 1
    (result,) = [result for message in messages for result in message.results]
    assert "there is no tool ''" in result.text


@pytest.mark.parametrize("given", [None, {}, {"path": "."}])
@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_arguments_that_are_no_text_are_read(dialect: str, given: Body | None, tree: Path) -> None:
    first, _ = calling(dialect, "read", {}, 1)
    called = first.body["output"][1] if dialect == "responses" else first.body["choices"][0]["message"]["tool_calls"][0]
    called.get("function", called)["arguments"] = given
    (tree / "a.py").write_text("")
    with stub_provider([first, saying(dialect, "Done.")]) as (url, seen):
        agent(url, dialect).work()
    assert ("a.py" if given else "missing 1 required positional argument") in json.dumps(seen[1])


def test_text_that_is_not_valid_unicode_is_printed(tree: Path) -> None:
    with stub_provider([saying("chat", "Done \ud83d.")]) as (url, _):
        variables = {"PROCTOR_MODEL": "m", "PROCTOR_MODEL_URL": url, "PROCTOR_MODEL_KEY": "k", "LC_ALL": "C.UTF-8"}
        done = subprocess.run([sys.executable, "-I", PROGRAM], input=b"Mend it.", env=variables, capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith(b"Done ?.\n"), done


@every_dialect
def test_steps_and_tokens_are_limits(dialect: str, tree: Path) -> None:
    call, _ = calling(dialect, "run", {"command": "true"})
    with stub_provider([call]) as (url, seen), pytest.raises(program.Stopped, match="limit of 3 steps"):
        agent(url, dialect, STEPS="3").work()
    assert len(seen) == 3
    with stub_provider([call]) as (url, seen), pytest.raises(program.Stopped, match="limit of 40 tokens"):
        agent(url, dialect, TOKENS="40").work()
    assert len(seen) == 3, "each answer counts 15 tokens"


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
names = st.sampled_from(sorted(program.TOOLS))
replies = st.tuples(texts, st.lists(st.tuples(names, st.dictionaries(texts, texts, max_size=2)), max_size=3))


@given(st.lists(replies, min_size=1, max_size=4), texts)
def test_the_same_conversation_is_read_from_the_requests_of_all_dialects(
    conversation: list[tuple[str, list[tuple[str, Mapping[str, Any]]]]], task: str
) -> None:
    """What the scripted model says in a dialect, sent back with results, is read by the gateway as it was said."""
    for dialect in DIALECTS:
        worker = agent("", dialect, f"Task: {task}")
        wanted = [Message("system", program.SYSTEM), Message("user", f"Task: {task}")]
        for number, (text, called) in enumerate(conversation):
            calls = tuple(
                Call(f"call_{number}_{place}", name, json.dumps(given)) for place, (name, given) in enumerate(called)
            )
            body = DIALECT_WRITERS[dialect].whole(Reply(str(number), "m", text, "I think.", calls, (10, 5)))
            turn = DIALECT_ANSWERS[dialect](json.loads(json.dumps(body)))
            assert (turn.text, turn.tokens, turn.is_cut) == (text, 15, False)
            assert [(name, json.loads(given)) for _, name, given in turn.calls] == called
            answers = [program.Reply(id_, name, f"result of {name}") for id_, name, _ in turn.calls]
            worker.turns.append(turn._replace(replies=tuple(answers or [program.Reply("", "", "Go on.")])))
            wanted.append(Message("assistant", text, "", calls))
            wanted += [Message("tool", results=(Result(one.call, one.text),)) for one in answers]
            wanted += [] if answers else [Message("user", "Go on.")]
        request = json.loads(json.dumps(worker.request(worker)))
        assert flat(read(dialect, request)) == flat(wanted)


DIALECT_ANSWERS = {name: answer for name, (_, _, answer) in program.DIALECTS.items()}


def flat(messages: Any) -> list[tuple[Any, ...]]:
    """What is in a conversation, without ids, reasoning, empty messages and the borders between messages."""
    found: list[tuple[Any, ...]] = []
    for message in messages:
        if message.text:
            found.append((message.role, message.text))
        found += [("call", call.name, json.loads(call.arguments)) for call in message.calls]
        found += [("result", result.text) for result in message.results]
    return found


turns = st.lists(
    st.builds(
        lambda said, results: program.Turn(
            [{"said": said}], said, [], 0, False, tuple(program.Reply(f"c{n}", "run", r) for n, r in enumerate(results))
        ),
        st.text(max_size=50),
        st.lists(st.text("abc\n", max_size=3000), min_size=1, max_size=3),
    ),
    max_size=12,
)


@given(turns, st.integers(0, 20_000), st.integers(0, 5))
def test_trimming_keeps_pairs_order_and_the_latest_turns(before: list[program.Turn], most: int, recent: int) -> None:
    after = program.trim(before, most, recent)
    size, was = sum(turn.size() for turn in after), sum(turn.size() for turn in before)
    if was <= most:
        assert after == before
        return
    assert size <= was + 60 * sum(len(turn.replies) for turn in after)
    assert len(after) >= min(len(before), recent)
    for turn, original in zip(reversed(after), reversed(before), strict=False):
        assert turn.said == original.said
        assert [reply[:2] for reply in turn.replies] == [reply[:2] for reply in original.replies]
    places = range(1, min(recent, len(before)) + 1)
    if sum(before[-place].size() for place in places) <= most:
        assert size <= most
        assert all(after[-place] == before[-place] for place in places)
    elif len(after) > recent:
        raise AssertionError("older turns are kept although the recent ones are too long")
    for turn in after[: max(0, len(after) - recent)]:
        changed = turn not in before
        assert not changed or all(len(reply.text) <= len(program.LEFT_OUT) for reply in turn.replies)
