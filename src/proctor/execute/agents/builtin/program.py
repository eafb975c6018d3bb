"""The reference agent: it gives a model a task and six tools, and does what the model asks until the task is done.

It runs inside the sandbox on a bare Python (3.9 or later), so it uses the standard library and nothing of Proctor. The
task is on standard input, everything else in variables named PROCTOR_*. In the order of this file: the tools, the four
dialects in which a model can be asked, the trimming of a conversation that becomes too long, and the loop. What the
model says is sent back as it came, so its reasoning is kept; and the beginning of a conversation changes only when it
is trimmed, so that providers can cache it.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from typing import Any, NamedTuple, NoReturn

READ_LINES, MATCHES, FILE_BYTES, OUTPUT_BYTES, RESULT_CHARACTERS = 400, 100, 4 << 20, 1 << 20, 16_000
COMMAND_SECONDS, DRAIN_SECONDS, ANSWER_SECONDS, WAIT_SECONDS = 300, 2, 600, 120
TRIES, OVERFLOWS, REMINDERS, RECENT_TURNS = 6, 4, 3, 4
OUTPUT_TOKENS, CHARACTERS_PER_TOKEN = 20_000, 3
STAGE_CLIENT = "/proctor/stage"
SKIPPED = {".git", "node_modules", "__pycache__", ".venv"}
SYSTEM = """\
You are a careful software engineer. You work in a checked-out source tree, your current directory, without a human to
ask. Find out what is wrong before you change anything, make the smallest change that does what the task says, keep to
the style of the code, and run the tests that concern it. Use relative paths. Start commands that do not end by
themselves in the background. When you are done, answer with a short summary and call no tool."""
LEFT_OUT = "(left out to save space; call the tool again if you need this)"
EARLIER = "\n\n(The first steps of your work are left out to save space. The files show what you changed.)"
CUT_OFF = "Your answer was cut off at its output limit. Go on in smaller steps."
NO_NAME = "no_name"
"""The tool of a call that names none: the result of each call needs a name, since a reply without one is a reminder."""
SILENT = "You called no tool and said nothing. Go on, or end with a short summary."
TOO_LONG = r"(?i)context.?(length|window|size|limit)|maximum context|(prompt|input).{0,20} too long|too many tokens"
TOO_LONG += r"|input token count|reduce the length"
ABOUT_REASONING = r"(?i)thinking|effort|reasoning|encrypted|output_config"

Body = dict[str, Any]


class Refusal(Exception):
    """A tool failed; the model gets the reason."""


def read(path: str, first_line: int = 1) -> str:
    """Show a file with line numbers, or the names in a directory."""
    if os.path.isdir(path):
        return "\n".join(name + "/" * os.path.isdir(os.path.join(path, name)) for name in sorted(os.listdir(path)))
    lines, first = _text(path).splitlines(), max(1, first_line)
    shown = [f"{number:6} {line}" for number, line in enumerate(lines, 1)][first - 1 :][:READ_LINES]
    left = len(lines) - (first - 1) - len(shown)
    return "\n".join(shown + ([f"... {left} more lines"] if left > 0 else []))


def search(pattern: str, files: str = "*") -> str:
    """Find lines by a regular expression in all files whose path or name matches a glob."""
    found: list[str] = []
    for directory, inner, names in os.walk("."):
        inner[:] = sorted(set(inner) - SKIPPED)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(directory, name))
            try:
                lines = _text(path).splitlines() if fnmatch(path, files) or fnmatch(name, files) else []
            except (Refusal, OSError):
                continue
            matches = [(number, line) for number, line in enumerate(lines, 1) if re.search(pattern, line)]
            found += [f"{path}:{number}: {line.strip()[:200]}" for number, line in matches]
            if len(found) > MATCHES:
                return "\n".join([*found[:MATCHES], "... and more; narrow the search"])
    return "\n".join(found) or "no matches"


def edit(path: str, old: str, new: str) -> str:
    """Replace the one place where a file holds the old text; an empty old text makes a new file."""
    if not old and os.path.exists(path):
        raise Refusal(f"{path} exists; give the text to replace")
    text = _text(path) if old else ""
    if old and text.count(old) != 1:
        raise Refusal(f"the old text occurs {text.count(old)} times in {path}; give a text that occurs once")
    data = (text.replace(old, new) if old else new).encode("utf-8", "surrogateescape")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return f"changed {path}" if old else f"made {path}"


class Job:
    """A shell command. A thread collects its output, so that no process which it leaves behind can block the agent."""

    def __init__(self, command: str) -> None:
        shell = ["/bin/sh", "-c", command]
        self.process = Popen(shell, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True)
        self.output, self.dropped = bytearray(), 0
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()

    def collect(self) -> None:
        assert self.process.stdout
        with self.process.stdout as pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                self.output += chunk
                excess = max(0, len(self.output) - OUTPUT_BYTES)
                del self.output[OUTPUT_BYTES // 2 : OUTPUT_BYTES // 2 + excess]
                self.dropped += excess

    def state(self, seconds: float) -> str:
        """The output, and the exit code if the command ends within so many seconds."""
        try:
            ending = f"exit code {self.process.wait(min(seconds, COMMAND_SECONDS))}"
            self.reader.join(DRAIN_SECONDS)
        except TimeoutExpired:
            ending = "still running"
        output = bytes(self.output).decode("utf-8", "replace")
        return shortened(f"{output}\n{ending}", dropped=self.dropped)

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(DRAIN_SECONDS)
            except (ProcessLookupError, TimeoutExpired):
                pass


JOBS: list[Job] = []


def run(command: str, background: bool = False, seconds: int = COMMAND_SECONDS) -> str:
    """Run a shell command and show its output and exit code. After so many seconds it goes on in the background."""
    JOBS.append(Job(command))
    if background:
        return f"started as job {len(JOBS)}"
    state = JOBS[-1].state(seconds)
    if JOBS[-1].process.returncode is None:
        return f"{state} in the background, as job {len(JOBS)}"
    JOBS.pop()
    return state


def job(number: int, seconds: int = 0, stop: bool = False) -> str:
    """Show what a command in the background has printed, after waiting for its end for some seconds; or stop it."""
    if not 1 <= number <= len(JOBS):
        raise Refusal(f"there is no job {number}")
    if stop:
        JOBS[number - 1].stop()
    return JOBS[number - 1].state(seconds)


def stage(name: str) -> str:
    """Ask for the next stage of the work, write or test, where the task says that one has to ask."""
    if not os.path.exists(STAGE_CLIENT):
        return "there is no need to ask: everything is open"
    with Popen([STAGE_CLIENT, name], stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True) as asking:
        said = asking.communicate()[0].strip()
    return said or f"exit code {asking.returncode}"


TOOLS: dict[str, Callable[..., str]] = {tool.__name__: tool for tool in (read, search, edit, run, job, stage)}
"""Name, docstring and parameters of a tool are what the model is told of it."""
TYPES = {"str": "string", "int": "integer", "bool": "boolean"}


def declared(schema: str = "parameters") -> list[Body]:
    """The tools as they are described to the model; their parameters are under the name ``schema``."""
    found = []
    for name, tool in TOOLS.items():
        properties = {one: {"type": TYPES[kind]} for one, kind in tool.__annotations__.items() if one != "return"}
        required = list(properties)[: len(properties) - len(getattr(tool, "__defaults__", None) or ())]
        described = {"type": "object", "properties": properties, "required": required}
        found.append({"name": name, "description": tool.__doc__, schema: described})
    return found


def use(name: str, arguments: str) -> str:
    """The result of one call of a tool; what is wrong with the call is a result too."""
    try:
        if name not in TOOLS:
            raise Refusal(f"there is no tool {name!r}; there are {', '.join(TOOLS)}")
        given, types = dict(json.loads(arguments or "{}")), TOOLS[name].__annotations__
        wrong = [field for field, value in given.items() if type(value).__name__ != types.get(field)]
        if wrong:
            raise Refusal(f"{name} has no parameter {wrong[0]!r}, or one of another type")
        result = TOOLS[name](**given)
    except (Refusal, OSError, ValueError, TypeError, RecursionError, re.error) as error:
        result = f"error: {error}"
    return shortened(result.encode("utf-8", "replace").decode() or "(empty)")


def shortened(text: str, most: int = RESULT_CHARACTERS, dropped: int = 0) -> str:
    """Head and tail of a text of more than ``most`` characters, or of one whose middle was dropped before.

    Some more than that are allowed, so that a text which was shortened stays as it is.
    """
    if len(text) <= most + 100 and not dropped:
        return text
    half = min(most, len(text)) // 2
    return f"{text[:half]}\n... {len(text) - 2 * half + dropped} characters left out ...\n{text[-half:]}"


def _text(path: str) -> str:
    if not os.path.isfile(path):
        raise Refusal(f"{path} is not a file")
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES or b"\0" in data:
        raise Refusal(f"{path} is not a text of less than {FILE_BYTES} bytes")
    return data.decode("utf-8", "surrogateescape")


class Reply(NamedTuple):
    """A message to the model: the result of a call of the tool ``name``, or a reminder, which has no name."""

    call: str
    name: str
    text: str


def as_json(arguments: Any) -> str:
    """The arguments of a call as JSON; some servers send an object, or nothing."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


class Turn(NamedTuple):
    """An answer of the model, and the replies to it. A call is an id, the name of a tool and its arguments as JSON.

    ``said`` is what later requests hold of the answer: all of it, with its reasoning and the signatures of that.
    """

    said: list[Body]
    text: str
    calls: list[tuple[str, str, str]]
    tokens: int
    is_cut: bool
    replies: tuple[Reply, ...] = ()

    def size(self) -> int:
        return len(json.dumps(self.said)) + sum(len(reply.text) for reply in self.replies)


def chat_request(agent: Agent) -> Body:
    """OpenAI Chat Completions and the many servers that speak it. They cache equal beginnings by themselves."""
    messages: list[Body] = [{"role": "system", "content": agent.system}, {"role": "user", "content": agent.task}]
    for turn in agent.turns:
        messages += turn.said
        for call, name, text in turn.replies:
            role = {"role": "tool", "tool_call_id": call} if name else {"role": "user"}
            messages.append({**role, "content": text})
    tools = [{"type": "function", "function": tool} for tool in declared()]
    return {"model": agent.model, "messages": messages, "tools": tools, **agent.fields[0]}


def chat_answer(body: Body) -> Turn:
    choice, message = body["choices"][0], body["choices"][0]["message"]
    said = {"role": "assistant", "content": "", **{name: value for name, value in message.items() if value}}
    called = [(call["id"], call["function"]) for call in said.get("tool_calls", ())]
    calls = [(id_, function["name"], as_json(function.get("arguments"))) for id_, function in called]
    tokens = (body.get("usage") or {}).get("total_tokens") or 0
    return Turn([said], said["content"], calls, tokens, choice.get("finish_reason") == "length")


def responses_request(agent: Agent) -> Body:
    """OpenAI Responses. Nothing is stored at the provider, so reasoning comes encrypted and goes back like that."""
    items: list[Body] = [{"role": "user", "content": agent.task}]
    for turn in agent.turns:
        items += turn.said
        for call, name, text in turn.replies:
            result = {"type": "function_call_output", "call_id": call, "output": text}
            items.append(result if name else {"role": "user", "content": text})
    tools = [{"type": "function", "strict": False, **tool} for tool in declared()]
    body = {"model": agent.model, "instructions": agent.system, "input": items, "tools": tools, "store": False}
    return {**body, "prompt_cache_key": hashlib.sha256(agent.task.encode()).hexdigest()[:32], **agent.fields[0]}


def responses_answer(body: Body) -> Turn:
    said = body["output"]
    parts = [part for item in said if item["type"] == "message" for part in item["content"]]
    text = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    called = [one for one in said if one["type"] == "function_call"]
    calls = [(one["call_id"], one["name"], as_json(one.get("arguments"))) for one in called]
    tokens = (body.get("usage") or {}).get("total_tokens") or 0
    return Turn(said, text, calls, tokens, body.get("status") == "incomplete")


def anthropic_request(agent: Agent) -> Body:
    """Anthropic Messages. Two marks say what to cache: tools and system prompt, and the conversation up to here."""
    mark = {"cache_control": {"type": "ephemeral"}}
    messages: list[Body] = [{"role": "user", "content": [{"type": "text", "text": agent.task}]}]
    for turn in agent.turns:
        content: list[Body] = [
            {"type": "tool_result", "tool_use_id": call, "content": text} if name else {"type": "text", "text": text}
            for call, name, text in turn.replies
        ]
        messages += [*turn.said, {"role": "user", "content": content}]
    messages[-1]["content"][-1].update(mark)
    system = [{"type": "text", "text": agent.system, **mark}]
    body = {"model": agent.model, "max_tokens": OUTPUT_TOKENS, "system": system, "messages": messages}
    return {**body, "tools": declared("input_schema"), **agent.fields[0]}


def anthropic_answer(body: Body) -> Turn:
    blocks = [block for block in body["content"] if block != {"type": "text", "text": ""}]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [(one["id"], one["name"], json.dumps(one["input"])) for one in blocks if one["type"] == "tool_use"]
    counts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    tokens = sum((body.get("usage") or {}).get(name) or 0 for name in counts)
    said = [{"role": "assistant", "content": blocks}] if blocks else []
    return Turn(said, text, calls, tokens, body.get("stop_reason") == "max_tokens")


def gemini_request(agent: Agent) -> Body:
    """Gemini generateContent. It caches equal beginnings by itself; its parts carry the signatures of thoughts."""
    contents: list[Body] = [{"role": "user", "parts": [{"text": agent.task}]}]
    for turn in agent.turns:
        parts: list[Body] = []
        for call, name, text in turn.replies:
            result = {"id": call, "name": name, "response": {"output": text}}
            parts.append({"functionResponse": result} if name else {"text": text})
        contents += [*turn.said, {"role": "user", "parts": parts}]
    body = {"systemInstruction": {"parts": [{"text": agent.system}]}, "contents": contents}
    return {**body, "tools": [{"functionDeclarations": declared()}], "generationConfig": agent.fields[0]}


def gemini_answer(body: Body) -> Turn:
    candidate = body["candidates"][0]
    parts = [part for part in (candidate.get("content") or {}).get("parts") or [] if part != {"text": ""}]
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    called = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = [(call.get("id") or "", call["name"], json.dumps(call.get("args") or {})) for call in called]
    tokens = (body.get("usageMetadata") or {}).get("totalTokenCount") or 0
    said = [{"role": "model", "parts": parts}] if parts else []
    return Turn(said, text, calls, tokens, candidate.get("finishReason") == "MAX_TOKENS")


DIALECTS: dict[str, tuple[str, Callable[[Agent], Body], Callable[[Body], Turn]]] = {
    "chat": ("/v1/chat/completions", chat_request, chat_answer),
    "responses": ("/v1/responses", responses_request, responses_answer),
    "anthropic": ("/v1/messages", anthropic_request, anthropic_answer),
    "gemini": ("/v1beta/models/{model}:generateContent", gemini_request, gemini_answer),
}


def efforts(dialect: str, effort: str) -> list[Body]:
    """The fields that request this effort of reasoning; a model that refuses the first ones may accept the next."""
    encrypted = {"include": ["reasoning.encrypted_content"]}
    if not effort:
        return [encrypted, {}] if dialect == "responses" else [{}]
    tokens = {"minimal": 1024, "low": 2048, "medium": 6000, "high": 12_000}[effort]
    adaptive = {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort.replace("minimal", "low")}}
    found: dict[str, list[Body]] = {
        "chat": [{"reasoning_effort": effort}],
        "responses": [{"reasoning": {"effort": effort}, **encrypted}],
        "anthropic": [adaptive, {"thinking": {"type": "enabled", "budget_tokens": tokens}}],
        "gemini": [{"thinkingConfig": {"thinkingLevel": effort}}, {"thinkingConfig": {"thinkingBudget": tokens}}],
    }
    return found[dialect]


def trim(turns: list[Turn], most: int, recent: int) -> list[Turn]:
    """The conversation in at most ``most`` characters, if that can be done.

    Results of tools are left out, the oldest first. If that is not enough, the oldest turns go, calls and results
    together; and then results are shortened in the last ``recent`` turns, which are whole until then.
    """
    kept, size = list(turns), sum(turn.size() for turn in turns)
    for place, turn in enumerate(turns[: max(0, len(turns) - recent)]):
        if size > most:
            kept[place] = _with_texts(turn, lambda text: min(text, LEFT_OUT, key=len))
            size -= turn.size() - kept[place].size()
    while size > most and len(kept) > recent:
        size -= kept.pop(0).size()
    if size > most:
        share = max(500, most // max(1, sum(len(turn.replies) for turn in kept)))
        kept = [_with_texts(turn, lambda text: shortened(text, share)) for turn in kept]
    return kept


def _with_texts(turn: Turn, change: Callable[[str], str]) -> Turn:
    return turn._replace(replies=tuple(reply._replace(text=change(reply.text)) for reply in turn.replies))


class Stopped(Exception):
    """The work ends before the model says so; the message is the reason."""


class Agent:
    """One task: its conversation with the model, and its limits. A limit of 0 is no limit."""

    def __init__(self, task: str, variables: Mapping[str, str]) -> None:
        self.model, self.key = variables["PROCTOR_MODEL"], variables["PROCTOR_MODEL_KEY"]
        dialect = variables.get("PROCTOR_DIALECT", "chat")
        path, self.request, self.answer = DIALECTS[dialect]
        self.url = variables["PROCTOR_MODEL_URL"] + path.format(model=self.model)
        self.steps = int(variables.get("PROCTOR_STEPS", "200"))
        self.tokens = int(variables.get("PROCTOR_TOKENS", "0"))
        self.seconds = int(variables.get("PROCTOR_SECONDS", "0"))
        self.most = int(variables.get("PROCTOR_CONTEXT_TOKENS", "120000")) * CHARACTERS_PER_TOKEN
        rules, temperature = variables.get("PROCTOR_RULES"), variables.get("PROCTOR_TEMPERATURE")
        self.system = f"{SYSTEM}\n\nRules for this work:\n\n{_text(rules)}" if rules else SYSTEM
        self.fields = efforts(dialect, variables.get("PROCTOR_EFFORT", ""))
        if temperature:
            self.fields = [{**fields, "temperature": float(temperature)} for fields in self.fields]
        self.task, self.turns, self.spent = task, list[Turn](), 0

    def work(self) -> None:
        """Let the model use the tools until it calls none and says what it did."""
        reminders = 0
        for _ in range(self.steps):
            if 0 < self.tokens <= self.spent:
                raise Stopped(f"the limit of {self.tokens} tokens is reached")
            turn = self.ask()
            self.spent += turn.tokens
            print(turn.text, flush=True)
            replies = []
            for call, name, arguments in turn.calls:
                print(f"> {name} {arguments[:300]}", flush=True)
                replies.append(Reply(call, name or NO_NAME, use(name, arguments)))
            if not replies:
                if turn.text and not turn.is_cut:
                    return
                reminders += 1
                replies.append(Reply("", "", CUT_OFF if turn.is_cut else SILENT))
            if reminders > REMINDERS:
                raise Stopped("the model neither calls a tool nor says that it is done")
            self.turns.append(turn._replace(replies=tuple(replies)))
        raise Stopped(f"the limit of {self.steps} steps is reached")

    def ask(self) -> Turn:
        """The model's answer. The conversation is trimmed before it becomes too long, and when the model says so."""
        if self.size() > self.most:
            self.trim(RECENT_TURNS)
        for _ in range(OVERFLOWS):
            turn = self.post()
            if turn is not None:
                return turn
            self.most = self.size() * 2 // 3
            self.trim(recent=1)
        raise Stopped("the task is too long for the model")

    def size(self) -> int:
        return len(self.system) + len(self.task) + sum(turn.size() for turn in self.turns)

    def trim(self, recent: int) -> None:
        """Trim to two thirds of the limit, because each time makes what providers have cached useless."""
        kept = trim(self.turns, self.most * 2 // 3 - len(self.system) - len(self.task), recent)
        if len(kept) < len(self.turns) and not self.task.endswith(EARLIER):
            self.task += EARLIER
        self.turns = kept

    def post(self) -> Turn | None:
        """One answer, or None if the conversation is too long. What may pass by itself is tried again."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}", "x-api-key": self.key}
        headers.update({"x-goog-api-key": self.key, "anthropic-version": "2023-06-01"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        why, wait = "", 0.0
        for tried in range(TRIES):
            time.sleep(wait)
            wait = 2.0**tried
            body = json.dumps(self.request(self)).encode()
            request = urllib.request.Request(self.url, body, headers)
            try:
                with opener.open(request, timeout=ANSWER_SECONDS) as answer:
                    return self.answer(json.loads(answer.read()))
            except urllib.error.HTTPError as error:
                said = error.read(2000).decode("utf-8", "replace")
                why = f"{error.code} {said}"
                if error.code == 413 or (error.code != 429 and re.search(TOO_LONG, said)):
                    return None
                if error.code == 400 and len(self.fields) > 1 and re.search(ABOUT_REASONING, said):
                    self.fields, wait = self.fields[1:], 0
                elif error.code < 500 and error.code not in (408, 409, 425, 429):
                    raise Stopped(f"the model refused: {why}") from None
                elif error.headers.get("Retry-After", "").isdigit():
                    wait = min(int(error.headers["Retry-After"]), WAIT_SECONDS)
            except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, AttributeError) as error:
                why = f"{type(error).__name__}: {error}"
        raise Stopped(f"the model does not answer: {why}")

    def out_of_time(self, *_: object) -> NoReturn:
        raise Stopped(f"the limit of {self.seconds} seconds is reached")


def main() -> int:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    agent = Agent(sys.stdin.read(), os.environ)
    why, code = "the model says that it is done", 0
    signal.signal(signal.SIGALRM, agent.out_of_time)
    try:
        signal.alarm(agent.seconds)
        agent.work()
    except Stopped as stopped:
        why, code = str(stopped), 1
    finally:
        signal.alarm(0)
    for started in JOBS:
        started.stop()
    print(f"ended after {agent.spent} tokens: {why}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
