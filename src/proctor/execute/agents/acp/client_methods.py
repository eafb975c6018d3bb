"""What an agent may ask of its client, done inside the sandbox and nowhere else: files and terminals.

Each request becomes a command that is run, bounded and recorded like any other of the agent's. The client itself opens
no file and starts no process. The output of a terminal is there once its command has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from proctor.base.errors import InfrastructureFault
from proctor.execute.agents.interface import AgentContext
from proctor.execute.sandbox.interface import WORKSPACE, Command, CommandResult

FILE_BYTES = 8 << 20
OUTPUT_BYTES = 1 << 20
PROGRAM_CHARACTERS = 1 << 17
"""The longest program with its arguments; the kernel takes no longer argument, and all of it is recorded."""

FILE_SECONDS = 60
PATH_CHARACTERS = 4096
TERMINALS = 64
PLACE = "/tmp/.proctor-acp"

WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
NUMBERED = f'mkdir -p {PLACE} && echo $$ > {PLACE}/"$1" && shift && exec "$@"'
END = f"""
tries=100
while [ ! -s {PLACE}/"$1" ] && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
kill -s "$2" "$(cat {PLACE}/"$1")"
"""
"""Ends what was started under a name; it may have been started this very moment and not noted itself yet."""


class Unable(Exception):
    """A request that cannot be carried out; the agent gets the reason."""


@dataclass(frozen=True)
class Ended:
    """A command that ended, or the reason why there was none."""

    finished: CommandResult | None
    problem: str = ""


class Terminal:
    """One command in a thread of its own."""

    def __init__(self, name: str, run: Callable[[], CommandResult]) -> None:
        self.name = name
        self.ended: Ended | None = None
        self._run = run
        self._thread = threading.Thread(target=self._work, name=f"terminal {name}", daemon=True)
        self._thread.start()

    def wait(self) -> Ended:
        self._thread.join()
        assert self.ended is not None
        return self.ended

    def _work(self) -> None:
        try:
            self.ended = Ended(self._run())
        except InfrastructureFault as fault:
            self.ended = Ended(None, fault.message)


class Services:
    """The methods that an agent calls, by name."""

    def __init__(self, scene: AgentContext) -> None:
        self._scene = scene
        self._terminals: dict[str, Terminal] = {}
        self._count = 0
        self.methods: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
        }

    def close(self) -> None:
        """End what still runs."""
        for terminal in self._terminals.values():
            if terminal.ended is None:
                self._end(terminal, "KILL")

    def _read(self, given: dict[str, Any]) -> dict[str, Any]:
        done = self._file(("/bin/cat", "--", _path(given)))
        lines = done.stdout.prefix.decode("utf-8", "replace").splitlines(keepends=True)
        first = max(1, _number(given, "line", 1))
        return {"content": "".join(lines[first - 1 : first - 1 + _number(given, "limit", len(lines))])}

    def _write(self, given: dict[str, Any]) -> dict[str, Any]:
        content = given.get("content")
        if not isinstance(content, str):
            raise Unable("content must be a text")
        self._file(("/bin/sh", "-c", WRITE, "sh", _path(given)), content.encode("utf-8", "replace"))
        return {}

    def _file(self, arguments: tuple[str, ...], stdin: bytes = b"") -> CommandResult:
        done = self._run(Command(arguments, stdin=stdin, timeout_seconds=FILE_SECONDS, output_bytes=FILE_BYTES))
        if not done.started or done.exit_code != 0:
            raise Unable((done.problem or done.stderr.prefix.decode("utf-8", "replace").strip() or "failed")[:500])
        if done.stdout.total_bytes > FILE_BYTES:
            raise Unable(f"larger than {FILE_BYTES} bytes")
        return done

    def _create(self, given: dict[str, Any]) -> dict[str, Any]:
        if len(self._terminals) >= TERMINALS:
            raise Unable(f"there are {TERMINALS} terminals already")
        program = _program(given)
        self._count += 1
        name = f"t{self._count}"
        command = Command(
            numbered(name, program),
            _variables(given),
            directory=_path(given, "cwd") if given.get("cwd") is not None else WORKSPACE,
            timeout_seconds=max(0.001, self._scene.seconds_left()),
            output_bytes=min(OUTPUT_BYTES, max(1, _number(given, "outputByteLimit", OUTPUT_BYTES))),
        )
        self._terminals[name] = Terminal(name, lambda: self._run(command))
        return {"terminalId": name}

    def _output(self, given: dict[str, Any]) -> dict[str, Any]:
        ended = self._terminal(given).ended
        if ended is None:
            return {"output": "", "truncated": False}
        if ended.finished is None:
            return {"output": ended.problem, "truncated": False, "exitStatus": _status(ended)}
        done = ended.finished
        text = done.problem or (done.stdout.prefix + done.stderr.prefix).decode("utf-8", "replace")
        kept = len(done.stdout.prefix) + len(done.stderr.prefix)
        return {
            "output": text,
            "truncated": done.stdout.total_bytes + done.stderr.total_bytes > kept,
            "exitStatus": _status(ended),
        }

    def _wait(self, given: dict[str, Any]) -> dict[str, Any]:
        return _status(self._terminal(given).wait())

    def _kill(self, given: dict[str, Any]) -> dict[str, Any]:
        terminal = self._terminal(given)
        if terminal.ended is None:
            self._end(terminal, "TERM")
        return {}

    def _release(self, given: dict[str, Any]) -> dict[str, Any]:
        terminal = self._terminal(given)
        if terminal.ended is None:
            self._end(terminal, "KILL")
        del self._terminals[terminal.name]
        return {}

    def _end(self, terminal: Terminal, signal: str) -> None:
        end_program(self._scene, terminal.name, signal)

    def _terminal(self, given: dict[str, Any]) -> Terminal:
        found = self._terminals.get(str(given.get("terminalId")))
        if found is None:
            raise Unable("there is no such terminal")
        return found

    def _run(self, command: Command) -> CommandResult:
        return self._scene.run(replace(command, environment={**self._scene.environment, **command.environment}))


def numbered(name: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """A command line that notes its process under ``name`` before it becomes ``arguments``."""
    return ("/bin/sh", "-c", NUMBERED, "sh", name, *arguments)


def end_program(scene: AgentContext, name: str, signal: str) -> None:
    """Send a signal to the process started under ``name``; it may already have ended."""
    if scene.look is not None:
        scene.look(Command(("/bin/sh", "-c", END, "sh", name, signal), {"PATH": "/usr/bin:/bin"}, timeout_seconds=10))


def _path(given: dict[str, Any], name: str = "path") -> str:
    path = given.get(name)
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path or len(path) > PATH_CHARACTERS:
        raise Unable(f"{name} must be an absolute path")
    return path


def _program(given: dict[str, Any]) -> tuple[str, ...]:
    arguments = [given.get("command"), *_list(given, "args")]
    texts = tuple(word for word in arguments if isinstance(word, str) and "\0" not in word)
    if len(texts) != len(arguments) or not texts[0]:
        raise Unable("command and args must be texts")
    if sum(map(len, texts)) > PROGRAM_CHARACTERS:
        raise Unable(f"command and args are longer than {PROGRAM_CHARACTERS} characters")
    if len(texts) == 1 and any(sign.isspace() for sign in texts[0]):
        return ("/bin/sh", "-c", texts[0])
    return texts


def _number(given: dict[str, Any], name: str, default: int) -> int:
    value = given.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _list(given: dict[str, Any], name: str) -> list[Any]:
    value = given.get(name)
    return value if isinstance(value, list) else []


def _variables(given: dict[str, Any]) -> dict[str, str]:
    pairs = [one for one in _list(given, "env") if isinstance(one, dict)]
    texts = [(one.get("name"), one.get("value")) for one in pairs]
    return {
        name: value
        for name, value in texts
        if isinstance(name, str) and isinstance(value, str) and name.isidentifier() and "\0" not in value
    }


def _status(ended: Ended) -> dict[str, Any]:
    code = ended.finished.exit_code if ended.finished is not None else -9
    return {"exitCode": code, "signal": None} if code >= 0 else {"exitCode": None, "signal": str(-code)}
