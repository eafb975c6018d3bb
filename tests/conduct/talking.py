"""Whole runs of agents that talk to models: scripts for the models, small agents of one request, and what is kept."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.conduct.live import Proctor, Seen, check

KEY = "sk-conduct-0123456789abcdefghij"

FIX = """\
schema: 1
turns:
  - say: "I look first."
    call: {tool: read, arguments: {path: calc.py}}
  - shell: "cat calc.py | head -n 2; ls"
  - calls:
    - {tool: run, arguments: {command: "sed -i s/-/+/ calc.py"}}
    - {tool: run, arguments: {command: "python3 -c 'import calc'"}}
  - say: "Done: add() adds."
"""

ASK = """\
import json, os, sys, urllib.error, urllib.request
url = os.environ["PROCTOR_MODEL_URL"] + os.environ.get("ASK_PATH", "/v1/chat/completions")
body = {"model": os.environ["PROCTOR_MODEL"], "messages": [{"role": "user", "content": TEXT}], **MORE}
request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
try:
    print(urllib.request.urlopen(request).read().decode())
except (urllib.error.HTTPError, OSError) as error:
    print("no:", error, getattr(error, "code", ""))
"""


def script(directory: Path, turns: str = FIX, name: str = "turns.yaml") -> Path:
    """A file of turns."""
    path = directory / name
    path.write_text(turns if turns.startswith("schema") else f"schema: 1\nturns:\n{turns}")
    return path


def asking(text: str = "'hello'", more: str = "{}", before: str = "", after: str = "") -> tuple[str, str]:
    """The option for an agent that asks its model once; all arguments are Python, the last two what it does as well."""
    asked = ASK.replace("TEXT", text).replace("MORE", more)
    return "--agent", "endpoint:python3 -c " + shlex.quote(f"import os, subprocess\n{before}\n{asked}\n{after}\n")


def talk(proctor: Proctor, contract: Path, *options: str | Path, code: int = 0, **variables: str) -> Seen:
    """One run; its evidence verifies, whatever came of it."""
    done = proctor("run", contract, *options, "--json", **variables)
    assert done.returncode == code, done.stdout + done.stderr
    return only(proctor, done)


def only(proctor: Proctor, done: subprocess.CompletedProcess[str]) -> Seen:
    """The one run of a command."""
    (row,) = json.loads(done.stdout)["runs"]
    check(proctor, row["run"])
    return Seen(Path(row["evidence"]))


def kept_bytes(home: Path) -> Iterator[tuple[Path, bytes]]:
    """Everything below ``home``: each file as it is, and what stands packed in the cassettes of models."""
    for path in sorted(home.rglob("*")):
        yield path, str(path).encode()
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        yield path, data
        if data.startswith(b'{"kind":"proctor.model-cassette"'):
            for line in data.splitlines()[1:-1]:
                call = json.loads(line)["call"]
                yield path, zlib.decompress(base64.b64decode(call["body"]))
                yield path, b"".join(base64.b64decode(chunk) for _, chunk in call["chunks"])
