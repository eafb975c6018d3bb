"""A server of the Agent Client Protocol for tests: it runs inside the sandbox and does what its argument says."""

from __future__ import annotations

import json
import sys
from typing import Any

COUNT = 0


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    found: dict[str, Any] = json.loads(line)
    return found


def ask(method: str, **parameters: Any) -> Any:
    """The result of a request to the client, or its error."""
    global COUNT
    COUNT += 1
    send(id=COUNT, method=method, params=parameters)
    answer = receive()
    assert answer["id"] == COUNT, answer
    return answer.get("result", answer.get("error"))


def tell(found: Any) -> None:
    """Leave what was found where the test looks."""
    with open("/workspace/found.json", "a") as file:
        file.write(json.dumps(found) + "\n")


def files() -> None:
    text = ask("fs/read_text_file", path="/workspace/calc.py")["content"]
    ask("fs/write_text_file", path="/workspace/new/calc.py", content=text.replace("-", "+"))
    tell(ask("fs/read_text_file", path="/workspace/calc.py", line=2, limit=1))
    tell(ask("fs/read_text_file", path="/nowhere"))
    tell(ask("fs/read_text_file", path="calc.py"))
    tell(ask("fs/write_text_file", path="/usr/x", content="x"))
    tell(ask("fs/write_text_file", path="/workspace/y", content=7))


def terminals() -> None:
    one = ask(
        "terminal/create", command="/bin/sh", args=["-c", "echo $WORD; exit 3"], env=[{"name": "WORD", "value": "hi"}]
    )
    tell(ask("terminal/wait_for_exit", **one))
    tell(ask("terminal/output", **one))
    endless = ask("terminal/create", command="sleep 1000")
    ask("terminal/kill", **endless)
    tell(ask("terminal/wait_for_exit", **endless))
    tell(ask("terminal/release", **endless))
    tell(ask("terminal/output", **endless))
    tell(ask("terminal/create", command="", args=[]))
    tell(ask("craft/more"))


def strange() -> None:
    tell(ask("terminal/create", command="ls", cwd="/work\0space"))
    tell(ask("terminal/create", command="echo", args=["x" * (1 << 18)]))
    tell(ask("fs/read_text_file", path="/" + "x" * (1 << 18)))


def waits() -> None:
    """Ask more often for the end of a terminal than anybody can wait for it."""
    endless = ask("terminal/create", command="sleep 1000")
    for number in range(300):
        send(id=f"wait {number}", method="terminal/wait_for_exit", params=endless)
    answers = [receive() for _ in range(300 - 256)]
    tell([{answer["error"]["message"] for answer in answers} == {"256 requests wait for terminals already"}])
    send(id="kill", method="terminal/kill", params=endless)
    tell([sum("result" in receive() for _ in range(257))])


def permissions() -> None:
    options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    for call in (
        {"kind": "execute", "rawInput": {"command": "make"}},
        {"kind": "execute", "rawInput": {"command": "git push"}},
    ):
        tell(ask("session/request_permission", toolCall={"title": "run", **call}, options=options))


def main() -> None:
    mode = sys.argv[1]
    while True:
        request = receive()
        method = request.get("method")
        if method == "initialize":
            if mode == "garbage":
                print("not a message", flush=True)
            elif mode == "endless-line":
                while True:
                    sys.stdout.write("x" * 65536)
            elif mode == "gone":
                sys.exit(7)
            send(id=request["id"], result={"protocolVersion": 1, "authMethods": [{"id": "openai"}]})
        elif method == "authenticate":
            tell(request["params"])
            send(id=request["id"], result={})
        elif method == "session/new":
            if mode == "refuses":
                send(id=request["id"], error={"code": -32000, "message": "no key"})
                continue
            send(id=request["id"], result={"sessionId": "s1"})
        elif method == "session/prompt":
            send(method="session/update", params={"sessionId": "s1", "update": {"sessionUpdate": "plan"}})
            modes = {"files": files, "terminals": terminals, "permissions": permissions}
            {**modes, "strange": strange, "waits": waits}.get(mode, lambda: None)()
            send(id=request["id"], result={"stopReason": "end_turn"})
            if mode == "stays":
                while True:
                    sys.stdin.read()


main()
