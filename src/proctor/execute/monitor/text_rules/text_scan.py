"""Policy on text: the same rules for shell commands, code, configuration and plain text; each hit says its format.

A text is normalised into intents, and a rule applies to the intents that it lists. A reading is bounded: the first
:data:`TEXT_CHARACTERS` of a text, and no more than :data:`MOST_HITS` hits of each rule, so that many hits of one hide
none of another. Text that was not read is reported: it is a hit of the rule ``unread``. Spans are
positions in the text that was given. Nothing is judged here: a hit has the grade of its rule, and a contract may switch
rules off or weigh them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proctor.execute.monitor.text_rules.intent_extraction import CODE, CONFIG, FORMATS, NATURAL, SHELL, Intent, intents
from proctor.execute.monitor.text_rules.intent_rules import TEXT_RULES, VERSION, TextRule

__all__ = ["CODE", "CONFIG", "FORMATS", "NATURAL", "SHELL"]

TEXT_CHARACTERS = 1 << 18
PATCH_CHARACTERS = 4 << 20
"""How much of a text, and of a patch, is read; a policy choice."""
UNREAD = "unread"
MOST_HITS = 20
SHOWN_CHARACTERS = 200

_ENDINGS = {
    SHELL: (".sh", ".bash", ".zsh", ".ksh", ".fish", ".bat", ".ps1", "makefile", "dockerfile", "justfile"),
    CONFIG: (
        *(".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".json", ".json5", ".properties", ".env", ".lock"),
        *(".xml", ".service", ".editorconfig", ".gitattributes", ".gitignore", ".npmrc"),
    ),
    NATURAL: (".md", ".markdown", ".rst", ".txt", ".adoc", ".org", "readme", "license", "changelog", "notice"),
}
_FENCES = {
    **dict.fromkeys(("sh", "bash", "shell", "zsh", "console", "terminal", "shell-session", "powershell"), SHELL),
    **dict.fromkeys(("yaml", "yml", "toml", "ini", "json", "cfg", "conf", "properties", "env"), CONFIG),
    **dict.fromkeys(("text", "txt", "markdown", "md"), NATURAL),
}
_RULES = {(pair.action, pair.object): rule.id for rule in TEXT_RULES for pair in rule.intents}
_FENCE = re.compile(r"[ \t]{0,8}(`{3,8}|~{3,8})[ \t]{0,4}([A-Za-z0-9+_.-]{0,20})[^\n]{0,200}\n?")
_PROMPT = re.compile(r"[ \t]{0,8}[$#%] \S")


@dataclass(frozen=True)
class Hit:
    """One place where a rule applies: ``start`` and ``end`` are positions in the text that was read."""

    rule: str
    format: str
    start: int
    end: int
    text: str
    grade: str
    where: str = ""


@dataclass(frozen=True)
class Reading:
    """What a text says, and how much of it was read."""

    hits: tuple[Hit, ...]
    characters_read: int
    characters: int
    more_hits: bool = False

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return self.characters_read == self.characters and not self.more_hits


@dataclass(frozen=True)
class Segment:
    """A part of a text that has one format."""

    format: str
    start: int
    end: int
    where: str = ""


def scan_text(text: str, format: str, *, off: Iterable[str] = (), where: str = "") -> Reading:  # noqa: A002
    """What a text of one format says."""
    return _read(text, (Segment(format, 0, len(text), where),), frozenset(off))


def scan_document(text: str, *, off: Iterable[str] = (), where: str = "") -> Reading:
    """The hits in a plain text; marked code, commands and configuration in it are read as such."""
    return _read(text, tuple(_document(text[:TEXT_CHARACTERS], where)), frozenset(off))


def scan_command(argv: Sequence[str], *, off: Iterable[str] = (), cut: bool = False) -> Reading:
    """The hits in a command line; its arguments are joined by blanks, and a shell's text is part of it.

    ``cut``: only its beginning is given here.
    """
    reading = scan_text(" ".join(argv), SHELL, off=off, where="command")
    return with_unread(reading, "command") if cut else reading


def with_unread(reading: Reading, where: str) -> Reading:
    """The same, with the hit that says that there was more of the text than what was read."""
    if any(hit.rule == UNREAD for hit in reading.hits):
        return reading
    end = reading.characters
    return replace(reading, hits=(*reading.hits, Hit(UNREAD, NATURAL, end, end, "", "notice", where)), more_hits=True)


def scan_patch(patch: str, *, off: Iterable[str] = ()) -> Reading:
    """What the lines say that a patch adds, each with the format of its file."""
    segments = tuple(_added(patch[:PATCH_CHARACTERS]))
    return _read(patch, segments, frozenset(off), PATCH_CHARACTERS)


def format_of(path: str, start: str = "") -> str:
    """The format of a file by its name, or by the first line that its text starts with; code when in doubt."""
    name = path.rpartition("/")[2].lower()
    for known, endings in _ENDINGS.items():
        if name.endswith(endings):
            return known
    if start.startswith("#!"):
        first = start.partition("\n")[0]
        return SHELL if re.search(r"\b(?:ba|da|z|k)?sh\b", first[:200]) else CODE
    return CODE


def hit_payload(hit: Hit) -> dict[str, Any]:
    """The payload of the ``words.hit`` event for ``hit``."""
    return {
        "rule": hit.rule,
        "format": hit.format,
        "where": hit.where,
        "text": hit.text,
        "grade": hit.grade,
        "start": hit.start,
        "end": hit.end,
        "rules": VERSION,
    }


def _read(text: str, segments: tuple[Segment, ...], off: frozenset[str], most: int = TEXT_CHARACTERS) -> Reading:
    found: list[Hit] = []
    read = min(len(text), most)
    left = {rule.id: MOST_HITS for rule in TEXT_RULES if rule.id not in off}
    rules = {rule.id: rule for rule in TEXT_RULES if rule.id in left}
    wanted = [pair for rule in rules.values() for pair in rule.intents]
    for segment in segments:
        part = text[segment.start : min(segment.end, read)]
        by_rule: dict[str, list[Intent]] = {}
        for intent in intents(part, segment.format, wanted, MOST_HITS + 1):
            by_rule.setdefault(_RULES[intent.action, intent.object], []).append(intent)
        for name, seen in by_rule.items():
            if left[name] > 0:
                hits = tuple(_hits(rules[name], seen, part, segment))
                found.extend(hits[: left[name]])
                left[name] -= len(hits)
    if read < len(text):
        where = segments[-1].where if segments else ""
        found.append(Hit(UNREAD, NATURAL, read, len(text), "", "notice", where))
    found.sort(key=lambda hit: (hit.start, hit.end, hit.rule))
    return Reading(tuple(found), read, len(text), any(count < 0 for count in left.values()))


def _hits(rule: TextRule, seen: list[Intent], part: str, segment: Segment) -> Iterator[Hit]:
    """The hits of one rule, none inside or across another; one more than are kept, to know that there were more."""
    last = -1
    count = 0
    for intent in sorted(seen, key=lambda one: (one.start, one.end)):
        if intent.start < last or count > MOST_HITS:
            continue
        last, count = intent.end, count + 1
        start, end = intent.start, intent.end
        shown = part[start : min(end, start + SHOWN_CHARACTERS)]
        yield Hit(rule.id, segment.format, segment.start + start, segment.start + end, shown, rule.grade, segment.where)


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends; nothing but a newline ends one."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _document(text: str, where: str) -> Iterator[Segment]:
    """Fenced blocks by their label, lines after a prompt as shell, everything else as plain text."""
    place, fence, inside = 0, "", NATURAL
    run_start, run_format = 0, NATURAL
    for line in _lines(text):
        here, place = place, place + len(line)
        match = _FENCE.match(line)
        now = inside
        if match and not fence:
            fence, inside = match[1], _FENCES.get(match[2].lower(), CODE)
            now = NATURAL
        elif match and match[1][0] == fence[0] and len(match[1]) >= len(fence):
            fence, inside, now = "", NATURAL, NATURAL
        elif not fence and _PROMPT.match(line):
            now = SHELL
        if now != run_format:
            if here > run_start:
                yield Segment(run_format, run_start, here, where)
            run_start, run_format = here, now
    if place > run_start:
        yield Segment(run_format, run_start, place, where)


def _added(patch: str) -> Iterator[Segment]:
    """The runs of added lines of a patch, with their file and line after the patch."""
    path, line_number, place, in_hunk = "", 0, 0, False
    start, first = -1, 0
    for line in _lines(patch):
        here, place = place, place + len(line)
        if in_hunk and line.startswith("+"):
            if start < 0:
                start, first = here, line_number
            line_number += 1
            continue
        if start >= 0:
            yield Segment(format_of(path), start, here, f"{path}:{first}")
            start = -1
        if line.startswith("diff --git "):
            in_hunk = False
        elif not in_hunk and line.startswith("+++ "):
            path = line[4:].strip().removeprefix('"').removesuffix('"').removeprefix("b/")
        elif line.startswith("@@ "):
            in_hunk = True
            match = re.match(r"@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})", line)
            line_number = int(match[1]) if match else 0
        elif in_hunk and line.startswith(" "):
            line_number += 1
    if start >= 0:
        yield Segment(format_of(path), start, place, f"{path}:{first}")
