"""What a report says of MCP servers that never worked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judge.report.test_models import REQUEST, RESPONSE

COMMAND = ["/opt/mcp/time/bin/python", "-I", "-c", "import sys; sys.exit(3)"]


def start(pid: int, argv: list[str]) -> tuple[str, dict[str, Any]]:
    return "guard.exec", {
        "pid": pid,
        "argv": argv,
        "allowed": True,
        "path": "/usr/bin/python3",
        "cwd": "/workspace",
        "at": "1",
        "parent": 1,
        "origin": 1,
    }


def end(pid: int, code: int) -> tuple[str, dict[str, Any]]:
    return "guard.exit", {"pid": pid, "exit_code": code, "wall_seconds": "0.1"}


REQUESTED, ANSWERED = ("model.request", REQUEST), ("model.response", RESPONSE)
OTHER = start(3, ["/bin/ls"])
SERVER = start(5, COMMAND)
CRASHED = ["the MCP server time ended with exit code 3 while the agent worked"]
LOST = ("guard.lost", {"count": 1})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([OTHER, ANSWERED], ["the MCP server time was not started"]),
        ([SERVER, end(5, 3), ANSWERED], CRASHED),
        ([SERVER, end(5, 3), start(6, COMMAND), end(6, 3), ANSWERED], CRASHED),
        ([SERVER, end(5, 3), start(6, COMMAND), ANSWERED], []),
        ([SERVER, ANSWERED, end(5, 3)], []),
        ([SERVER, end(5, 0), ANSWERED], []),
        ([SERVER, end(7, 3), ANSWERED], []),
        ([OTHER, ANSWERED, LOST], []),
        ([ANSWERED], []),
    ],
)
def test_a_server_that_never_worked_is_a_deviation(story: Any, events: list[Any], expected: list[str]) -> None:
    command = "/opt/mcp/time/bin/python -I -c 'import sys; sys.exit(3)'"
    story.manifest["agent"]["settings"] = {"mcp.time": "pypi time==1", "mcp.time.command": command}
    story.before_judging = [REQUESTED, *events]
    assert [one["message"] for one in story.tell()["deviations"] if one["id"] == "mcp"] == expected
