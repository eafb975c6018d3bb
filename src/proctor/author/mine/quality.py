"""How good a task is, in numbers: hidden demands of its tests, and what makes them brittle. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from proctor.author.mine.known_fix import KnownFix
from proctor.author.mine.task_text import TaskText, added_lines, identifiers

MOST_NAMES = 50

_MESSAGE = re.compile(
    r"\bmatch\s*=|assertRaisesRegex|assertWarnsRegex|str\((?:e|exc|excinfo|exc_info|err|error|info)(?:\.value)?\)\s*==|"
    r"\.value\.args|\bmessage\s*==|\.message\s*=="
)
_SNAPSHOT = re.compile(r"\bsnapshot\b|syrupy|regtest|data_regression|file_regression|\.ambr\b|assert_matches_snapshot")
_NETWORK = re.compile(
    r"\burlopen\b|\brequests\.(?:get|post|put|head|request|Session)|\bhttpx\.|\bsocket\.(?:socket|create_connection)|"
    r"\baiohttp\.ClientSession|getaddrinfo|pytest\.mark\.(?:network|internet|online)"
)
_CLOCK = re.compile(r"\btime\.(?:time|sleep|monotonic)\(|\bdatetime\.(?:now|utcnow|today)\(|\bdate\.today\(")


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Numbers about a task; none of them is a verdict."""

    words: Annotated[int, "Words in the text."]
    new_names: Annotated[int, "Identifiers that the solution uses and no changed file had before."]
    leaked_names: Annotated[tuple[str, ...], "Those of them that the text has."]
    hidden_names: Annotated[tuple[str, ...], "Those that the added lines of tests use and the text does not have."]
    exact_messages: Annotated[int, "Added lines of tests that compare a message."]
    snapshots: Annotated[int, "Added lines of tests that compare with a stored snapshot, and stored ones that changed."]
    network: Annotated[int, "Added lines of tests that open connections."]
    clock: Annotated[int, "Added lines of tests that read the clock or wait."]
    source_files: Annotated[int, "Files of the solution, without documentation and tests."]
    source_lines: Annotated[int, "Lines that the solution adds to them."]

    @property
    def leak_score(self) -> float:
        """The share of new names that the text has; 0 if there are none."""
        return len(self.leaked_names) / self.new_names if self.new_names else 0.0


def measure(fix: KnownFix, text: TaskText) -> Quality:
    """The numbers of one task."""
    added = [
        (one, line)
        for one in fix.tests
        if one.after is not None
        for line in added_lines(one.before[1] if one.before else b"", one.after[1])
    ]
    code = [line for one, line in added if one.path.endswith(".py")]
    used = {
        name
        for one in fix.tests
        if one.after and one.path.endswith(".py")
        for name in identifiers(one.path, one.after[1])
    }
    hidden = [name for name in text.new_names if name in used and name not in text.leaked]
    stored = [one for one in fix.tests if re.search(r"snapshot|\.ambr\Z|\.golden\Z|expected", one.path)]
    sources = [one for one in fix.others if one.kind == "source"]
    lines = sum(
        len([line for line in added_lines(one.before[1] if one.before else b"", one.after[1]) if line.strip()])
        for one in sources
        if one.after is not None
    )
    return Quality(
        words=text.words,
        new_names=len(text.new_names),
        leaked_names=text.leaked[:MOST_NAMES],
        hidden_names=tuple(hidden[:MOST_NAMES]),
        exact_messages=sum(bool(_MESSAGE.search(line)) for line in code),
        snapshots=sum(bool(_SNAPSHOT.search(line)) for line in code) + len(stored),
        network=sum(bool(_NETWORK.search(line)) for line in code),
        clock=sum(bool(_CLOCK.search(line)) for line in code),
        source_files=len(sources),
        source_lines=lines,
    )
