"""A scripted model that has to find the place itself: it searches, reads, and derives its edit from what it read.

It knows no path. It asks for a search through the shell tool that the agent offers, takes file and line from the
result, reads the file, applies a pattern to the text that it got, makes the edit, reads it back, and ends. Where an
agent has tools for reading and editing whose parameters are known, these are used first. If the output of a tool
lacks what it needs, the model says so and gives up, so an agent that sees no files fails.

An agent without tools gets the commands as blocks of code. One whose prompt asks for SEARCH/REPLACE blocks or
for whole files is asked for the files of its repository map, and gets a block that is derived from their text.

It keeps no state between requests: it goes through the conversation of each request again. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import orjson

from proctor.execute.gateway.dialects.interface import Message, ModelRequest
from proctor.execute.gateway.scripted.offered_tools import Named, edit_call, end_call, read_call, shell_call


@dataclass(frozen=True)
class Wanted:
    """A call of a named tool, with its arguments as JSON."""

    tool: str
    arguments: str


@dataclass(frozen=True)
class Trouble:
    """An error that a provider would answer with."""

    status: int
    message: str
    retry_after: int | None = None


@dataclass(frozen=True)
class Turn:
    """One answer; ``usage`` is None for counts of our own, and empty to leave them out.

    With ``is_cut`` it ends as if it had reached the output limit of its request.
    """

    conditions: tuple[tuple[str, Any], ...] = ()
    say: str = ""
    think: str = ""
    shell: str = ""
    calls: tuple[Wanted, ...] = ()
    usage: tuple[int, ...] | None = None
    error: Trouble | None = None
    pause_seconds: float = 0
    fault: str = ""
    is_cut: bool = False


BEFORE, AFTER = 15, 25
"""How many lines around a hit are read."""
MOST_HITS = 20
MOST_FILES = 10

WHOLE = "return the entire content of the updated file"
"""How an agent asks for complete files instead of SEARCH/REPLACE blocks."""

SIDE = Turn(say="Find and edit")
"""The answer to a request for text alone, such as a title."""

_HIT = re.compile(r"(/[^\s:<>\"'`]+):([0-9]{1,7}):(.*)")
_FENCE = re.compile(r"```(\w*bash\w*|shell|sh)\b")
_MARKER = re.compile(r"\becho (COMPLETE_TASK\w*)")
_MAP_FILE = re.compile(r"([\w./-]*\w):?")
_BLOCK = re.compile(r"^([^\s`]+)\n(`{3,})[^\n]*\n(.*?)^\2", re.MULTILINE | re.DOTALL)

Steps = Generator[Turn, str, Turn]
"""Yields answers, is sent what came back for each, and returns the last answer."""


@dataclass(frozen=True)
class Find:
    """What to look for, and how the edit follows from the lines that were read.

    ``search`` is found in single lines by ``grep -E``; ``edit`` is found in the text of the file, around such a line,
    and is replaced by ``replacement``. ``files`` limits the search to file names.
    """

    search: re.Pattern[str]
    edit: re.Pattern[str]
    replacement: str
    files: str = ""


@dataclass(frozen=True)
class Place:
    """A line of a file that the search found."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Change:
    """Whole lines of a file, from line ``first`` on, and those to put in their place."""

    path: str
    first: int
    old: str
    new: str


def find_turn(find: Find, asked: ModelRequest) -> Turn:
    """The turn that answers ``asked``."""
    if asked.tools:
        run = _tool_runner(asked)
        if run is None:
            return SIDE
        return _advance(_work(find, asked, run), _results(find, asked.messages))
    prompt = _prompt(asked.messages)
    if "SEARCH/REPLACE" in prompt or WHOLE in prompt:
        return _advance_blocks(find, asked.messages, whole=WHOLE in prompt)
    fence = _FENCE.search(prompt)
    if fence is None:
        return SIDE

    def block(command: str) -> Turn:
        return Turn(say=f"```{fence[1]}\n{command}\n```\n")

    return _advance(_work(find, asked, block), _replies(find, asked.messages))


def search_command(find: Find) -> str:
    """The command that looks for the place; it prints full paths with line numbers, in one order."""
    include = f" --include={shlex.quote(find.files)}" if find.files else ""
    searched = shlex.quote(find.search.pattern)
    return f'grep -rnEI --exclude-dir=.git{include} -e {searched} "$PWD" | sort | head -n {MOST_HITS}'


def _work(find: Find, asked: ModelRequest, run: Callable[[str], Turn]) -> Steps:
    """The whole task; every ``yield`` is one answer and what came back for it."""
    place = _hit(find, (yield run(search_command(find))))
    if place is None:
        return Turn(say=f"I give up: the search found no line that matches {find.search.pattern}.")
    first, last = max(1, place.line - BEFORE), place.line + AFTER
    show = f"grep -n '' {shlex.quote(place.path)} | sed -n '{first},{last}p'"
    change = None
    read = read_call(place.path, first, last, asked.tools)
    if read is not None:
        change = _derive(find, place, (yield _call(read)))
    if change is None:
        change = _derive(find, place, (yield run(show)))
    if change is None:
        return Turn(say=f"I give up: what I read of {place.path} does not hold the line that the search found.")
    edit = edit_call(change.path, change.old, change.new, asked.tools)
    if edit is not None:
        yield _call(edit)
    if edit is None or not _shown(change, (yield run(show))):
        yield run(_replace_command(change))
        if not _shown(change, (yield run(show))):
            return Turn(say=f"I give up: {place.path} does not hold my edit.")
    said = f"I changed {place.path}, line {place.line}."
    marker = _MARKER.search(_prompt(asked.messages))
    if marker is not None:
        yield run(f"echo {marker[1]}")
    end = end_call(said, asked.tools)
    if end is not None:
        yield _call(end)
    return Turn(say=said)


def _advance(steps: Steps, results: Sequence[str]) -> Turn:
    """The answer that is due after ``results``."""
    try:
        turn = next(steps)
        for result in results:
            turn = steps.send(_plain(result))
    except StopIteration as ended:
        last: Turn = ended.value
        return last
    return turn


def _tool_runner(asked: ModelRequest) -> Callable[[str], Turn] | None:
    """How a command is run with the tools of a request; None where no tool runs commands."""
    if shell_call("", asked.tools) is None:
        return None
    return lambda command: Turn(shell=command)


def _call(named: Named) -> Turn:
    return Turn(calls=(Wanted(*named),))


def _results(find: Find, messages: Sequence[Message]) -> list[str]:
    """What came back for each call, from the search on; calls and results come in the same order."""
    calls = [call for message in messages for call in message.calls]
    results = [result.text for message in messages for result in message.results]
    command = search_command(find)
    for number, call in enumerate(calls):
        if any(command in text for text in _strings(_json(call.arguments))):
            return results[number:]
    return []


def _replies(find: Find, messages: Sequence[Message]) -> list[str]:
    """What followed each answer, from the search on, for agents that take commands from text."""
    found: list[str] = []
    for message in messages:
        if message.role != "assistant" and found:
            found[-1] += message.text
        elif message.role == "assistant" and (found or search_command(find) in message.text):
            found.append("")
    return found


def _hit(find: Find, output: str) -> Place | None:
    """The first line that the search found."""
    for line in output.splitlines():
        hit = _HIT.search(line.removesuffix("`"))  # some agents quote an output of one line
        if hit is not None and find.search.search(hit[3]):
            return Place(hit[1], int(hit[2]), hit[3])
    return None


def _derive(find: Find, place: Place, output: str) -> Change | None:
    """The edit that follows from what was read; None where the line that was found is not in it."""
    text = _unnumbered(place, output)
    for match in find.edit.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        old = text[start:end]
        if place.text in old.split("\n"):
            new = text[start : match.start()] + match.expand(find.replacement) + text[match.end() : end]
            return Change(place.path, place.line - old.split("\n").index(place.text), old, new)
    return None


def _unnumbered(place: Place, output: str) -> str:
    """What was read without the line numbers that many tools put before each line."""
    for line in output.split("\n"):
        if not line.endswith(place.text):
            continue
        number = re.fullmatch(rf"\s*0*{place.line}(\D\s?)", line.removesuffix(place.text)[:16])
        if number is not None:
            bare, full = re.escape(number[1].rstrip()), re.escape(number[1])
            return re.sub(rf"^[^\S\n]*\d+(?:{full}|{bare}$)", "", output, flags=re.MULTILINE)
    return output


def _shown(change: Change, output: str) -> bool:
    return change.new in re.sub(r"^\s*\d+:", "", output, flags=re.MULTILINE)


def _replace_command(change: Change) -> str:
    """A shell command that replaces the lines, and keeps the file and its mode."""
    path, copy = shlex.quote(change.path), shlex.quote(f"{change.path}.new")
    after = change.first + change.old.count("\n") + 1
    lines = f"head -n {change.first - 1} {path}; printf '%s\\n' {shlex.quote(change.new)}; tail -n +{after} {path}"
    return f"{{ {lines}; }} > {copy} && cat {copy} > {path} && rm {copy}"


def _advance_blocks(find: Find, messages: Sequence[Message], *, whole: bool) -> Turn:
    """For agents that edit by blocks of text: the files of the map first, then a block derived from their text."""
    shown = dict[str, str]()
    for message in messages:
        if message.role != "assistant":
            shown |= {match[1]: match[3] for match in _BLOCK.finditer(message.text)}
    for path, text in shown.items():
        for number, line in enumerate(text.split("\n"), 1):
            change = _derive(find, Place(path, number, line), text) if find.search.search(line) else None
            if change is not None:
                block = f"<<<<<<< SEARCH\n{change.old}\n=======\n{change.new}\n>>>>>>> REPLACE\n"
                if whole:
                    block = text.replace(change.old, change.new, 1)
                return Turn(say=f"I change line {number}.\n\n{path}\n```\n{block}```\n")
    wanted = [path for path in _mapped(find, messages) if path not in shown][:MOST_FILES]
    if wanted and "I added these files" not in messages[-1].text:
        return Turn(say="I need to see these files:\n\n" + "\n".join(wanted) + "\n")
    return Turn(say=f"I give up: no file that I was shown matches {find.search.pattern}.")


def _mapped(find: Find, messages: Sequence[Message]) -> Iterator[str]:
    """The files that a repository map names."""
    for message in messages:
        _, found, text = message.text.partition("Here are summaries of some files")
        for line in text.split("\n") if found else ():
            name = _MAP_FILE.fullmatch(line)
            if name is not None and fnmatch(name[1].rpartition("/")[2], find.files or "*"):
                yield name[1]


def _prompt(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages if message.role != "assistant")


def _plain(output: str) -> str:
    """The text of a tool's output; where that is JSON, all text in it."""
    data = _json(output)
    return output if data is None else "\n".join(_strings(data))


def _json(text: str) -> Any:
    try:
        return orjson.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except orjson.JSONDecodeError:
        return None


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _strings(item)
    elif isinstance(data, dict):
        for item in data.values():
            yield from _strings(item)
