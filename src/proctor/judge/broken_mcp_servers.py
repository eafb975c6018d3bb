"""MCP servers of an agent that did not work: never started, or ended by themselves while the agent worked. Pure.

The manifest has the command line of each server, and the guard recorded every program. How a server ends when its agent
is done says nothing, so only what ended before the model's last answer counts. A server that hangs is recognised only
if its agent ends it. Where records of the guard are missing, nothing is said.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from proctor.judge.run_evidence import Evidence
from proctor.record.trace.event import Event

_COMMAND = re.compile(r"mcp\.([^.]+)\.command")


def broken_servers(evidence: Evidence) -> Iterator[tuple[str, Event | None]]:
    """A sentence for each server that did not work, and the event that shows it."""
    if evidence.last("guard.exec") is None or evidence.last("guard.lost") is not None:
        return
    settings = evidence.manifest.get("agent", {}).get("settings", {})
    for key, text in sorted(settings.items()):
        found = _COMMAND.fullmatch(key)
        if found is None:
            continue
        command = shlex.split(text)
        starts = [event for event in evidence.of("guard.exec") if event.payload["argv"] == command]
        ends = [_end(evidence, start) for start in starts]
        last = ends[-1] if ends else None
        if not starts:
            yield f"the MCP server {found[1]} was not started", None
        elif last is not None and None not in ends:
            code = last.payload["exit_code"]
            yield f"the MCP server {found[1]} ended with exit code {code} while the agent worked", last


def _end(evidence: Evidence, start: Event) -> Event | None:
    """The failure of a program that was started, if it came before the model's last answer."""
    answer = evidence.last("model.response")
    for event in evidence.of("guard.exit"):
        if event.seq > start.seq and event.payload["pid"] == start.payload["pid"]:
            in_time = answer is not None and event.seq < answer.seq
            return event if in_time and event.payload["exit_code"] else None
    return None
