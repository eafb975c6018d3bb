"""The text of a task, drafted from the changelog and the commit messages of a fix, without what gives it away. Pure.

The entry that the fix added to the changelog is the source, and messages where it says too little. Removed are commit
ids, numbers of issues and pull requests, addresses, trailers, and every sentence that quotes a line of the solution,
names a changed file or a private name that only the solution has. What is left is measured: which new names of the
solution it has.
"""

from __future__ import annotations

import difflib
import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from proctor.author.mine.issue_export import Issue, issue_of
from proctor.author.mine.known_fix import ChangedFile, KnownFix
from proctor.author.mine.path_kinds import CHANGELOG, SOURCE

LEAST_WORDS = 15
MOST_COMPARED = 4_000_000
"""Up to how many pairs of changed lines are aligned; longer changes are compared as sets, or they would take hours."""
TITLE_CHARACTERS = 100
BODY_CHARACTERS = 6000
PARAGRAPH_CHARACTERS = 2000
ISSUE_CHARACTERS = 12_000
MOST_PARAGRAPHS = 100
"""How much of a paragraph, and how many of them, are read: patterns take time that grows faster than their text."""
QUOTED_CHARACTERS = 16
"""A line of the solution of at least so many characters counts as quoted if the text has it."""

ISSUE_TEXT = "issue"
CHANGELOG_TEXT, MESSAGE_TEXT, OTHER_MESSAGES = "changelog", "commit message", "messages of merged commits"

_TRAILER = re.compile(
    r"\s*(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|change-id|cc|pr-url|"
    r"backport|\(cherry picked|git-svn-id|issue|fixes|closes|resolves|refs?|references|see)\b\s*:?\s*"
    r"(?:#|gh-|https?:|@|[0-9a-f]{7,40}\b|[A-Z][\w .'-]+<).*\Z",
    re.IGNORECASE,
)
_MERGE = re.compile(r"\s*merge(?:d)? (?:pull request|branch|remote-tracking|tag|pr|from)\b.*\Z", re.IGNORECASE)
_ROLE_NUMBER = re.compile(r"\(?:(?:issue|pr|pull|gh|bpo|user|ghuser|commit):`[^`]*`\)?[.,;]?", re.IGNORECASE)
_MYST_NUMBER = re.compile(r"\{(?:issue|pr|pull|gh|user|commit|ghuser|ghpr)\}`[^`]*`[.,;]?", re.IGNORECASE)
_MYST_ROLE = re.compile(r"\{[a-z]+(?::[a-z]+)*\}`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`")
_ROLE = re.compile(r":[a-z]+(?::[a-z]+)?:`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)|`([^`<]+?)\s*<https?://[^>]*>`_{0,2}")
_ADDRESS = re.compile(r"<?https?://[^\s>)\]]+>?")
_NUMBER = re.compile(
    r"\(\s*(?:(?:see|fixes|closes|refs?|issues?|pull requests?|PRs?|bugs?)[:\s]*)?(?:[\w.-]+/[\w.-]+)?"
    r"(?:#|GH-?|gh-?)\d+(?:[,\s]*(?:and\s+)?(?:[\w.-]+/[\w.-]+)?(?:#|GH-?|gh-?)\d+)*\s*\)|"
    r"\(\s*(?:issue|bug|pr|ticket)s?\s?[0-9]{1,6}(?:\s*,[^)]*)?\)|\b(?:issue|ticket)s?\s?[0-9]{2,6}\b|"
    r"(?:\b(?:see|fix|fixes|fixed|closes|close|closed|resolves|refs?|issues?|pull request|PR|bug)[:\s]*)?"
    r"(?:\b[\w.-]+/[\w.-]+)?(?<![\w&])(?:#|GH-|gh-)\d{1,6}\b",
    re.IGNORECASE,
)
_COMMIT = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_MENTION = re.compile(
    r"(?:[,(]?\s*(?:thanks to|by|via|reported by|contributed by|patch by|courtesy of)[,:]?\s+)?@[\w-]+(?:[,)]|\b)", re.I
)
_CREDIT = re.compile(
    r"\s*[(\[]?(?:thanks to|thanks,?|reported by|contributed by|patch by|courtesy of)\s[^.)\]]*[.)\]]?", re.I
)
_CONVENTIONAL = re.compile(
    r"\s*(?:fix|bugfix|feat|feature|refactor|chore|docs?|test|perf|build|ci|style)(?:\([^)]*\))?!?:\s+", re.I
)
_TAG = re.compile(r"\s*\[(?:fix|bug|bugfix|feature|changed|added|fixed)\]:?\s*", re.I)
_HEADING = re.compile(
    r"\s*(?:[-=~^*#\"'`+]{3,}|#{1,6}\s.*|(?:version|release|v)?\s*\[?v?[0-9]+\.[0-9][\w.\]]*(?:\s.*)?|(?:un)?released.*|"
    r"\.\.\s.*|(?:bug ?fixes|fixes|fixed|features|added|changed|changes|deprecated|removed|security|internal|"
    r"improvements|enhancements|bugs fixed|notable changes|in development|compatibility note[s]?|new features)\s*:?|"
    r"\[[^\]]*\]:\s.*|<[^>]*>|:[\w-]+:.*)\s*\Z",
    re.IGNORECASE,
)
_DATE = re.compile(r"\s*\(?\d{4}-\d{2}-\d{2}\)?\s*\Z")
_DANGLING = re.compile(r"[ ,;(]+(?:by|in|see|from|via|of|since|with|after)\s*([.)]?)\s*\Z")
"""What is left of a reference at the end of a sentence."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_SPACES = re.compile(r"\s{2,}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_ORDINARY_TEXT = """
    None True False self cls args kwargs the and for not with from import return def class if else elif try except
    raise yield assert while lambda pass print str int float bool list dict set tuple object type len isinstance
    value values name names key keys item items data result results error string text file line path code test tests
"""
_ORDINARY = frozenset(_ORDINARY_TEXT.split())


@dataclass(frozen=True)
class TaskText:
    """A drafted text. ``leaked`` are the new names of the solution that it has, out of ``new_names``."""

    title: str
    body: str
    sources: tuple[str, ...]
    removed: tuple[str, ...]
    new_names: tuple[str, ...]
    leaked: tuple[str, ...]

    @property
    def words(self) -> int:
        """How many words the text has, title included if the body does not repeat it."""
        return len(re.findall(r"[A-Za-z][A-Za-z'-]*", self.whole))

    @property
    def whole(self) -> str:
        """The text as it is written to a file."""
        return f"# {self.title}\n\n{self.body}\n" if self.body else f"# {self.title}\n"

    @property
    def sufficient(self) -> bool:
        """Whether the text has enough words to state a behaviour."""
        return self.words >= LEAST_WORDS


def draft(fix: KnownFix, issues: Mapping[int, Issue] | None = None) -> TaskText:
    """The text of the task of ``fix``; the issue that it closes comes before every other source."""
    secrets = _Secrets(fix)
    entries = _cleaned(changelog_entries(fix.changes), secrets)
    subject, body = _message(fix.messages[0] if fix.messages else "")
    issue = issue_of((*fix.messages[:1], *changelog_entries(fix.changes)), issues or {})
    if issue is not None:
        return _of_issue(issue, secrets)
    if sum(len(entry.split()) for entry in entries) >= LEAST_WORDS:
        subject, body = "", []  # a message is for developers, and often says how the fault was repaired
    subjects, bodies = _cleaned([subject], secrets), _cleaned(body, secrets)
    others: list[str] = []
    if not entries and len(subjects + bodies) < 2:
        for message in fix.messages[1:]:
            first, rest = _message(message)
            others += _cleaned([first, *rest], secrets)
    title, more = _title([*subjects, *entries, *bodies, *others])
    parts = {CHANGELOG_TEXT: entries, MESSAGE_TEXT: [*subjects, *bodies], OTHER_MESSAGES: others}
    lines: list[str] = []
    for paragraph in (more, *entries, *bodies, *others):
        if paragraph and not any(_covers(known, paragraph) for known in (title, *lines)):
            lines.append(paragraph)
    text = "\n\n".join(lines)[:BODY_CHARACTERS]
    shown = f"{title}\n{text}"
    leaked = tuple(name for name in secrets.new_names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", shown))
    used = tuple(source for source, found in parts.items() if found)
    return TaskText(title, text, used, tuple(dict.fromkeys(secrets.removed)), secrets.new_names, leaked)


def _of_issue(issue: Issue, secrets: _Secrets) -> TaskText:
    """The text of an issue, with its paragraphs and code as they are where they do not give the solution away."""
    (title, *_) = _cleaned([issue.title], secrets) or [""]
    kept = []
    for line in _COMMENT.sub("", issue.body[:ISSUE_CHARACTERS]).splitlines():
        line = line[:PARAGRAPH_CHARACTERS].rstrip()
        why = secrets.reveals(line)
        if why:
            secrets.removed.append(why)
        else:
            margin = line[: len(line) - len(line.lstrip())]
            kept.append(margin + _without_references(line, secrets) if line.strip() and not margin else line)
    body = "\n".join(kept).strip()[:BODY_CHARACTERS]
    names = secrets.new_names
    leaked = tuple(name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", f"{title}\n{body}"))
    return TaskText(title or "Untitled", body, (ISSUE_TEXT,), tuple(dict.fromkeys(secrets.removed)), names, leaked)


def changelog_entries(changes: Iterable[ChangedFile]) -> list[str]:
    """The entries that a fix adds to changelogs, each on one line."""
    found: list[str] = []
    for one in changes:
        if one.kind == CHANGELOG and one.after is not None:
            before = one.before[1] if one.before else b""
            found += _entries(added_lines(before, one.after[1]))
    return found


def added_lines(before: bytes, after: bytes) -> list[str]:
    """The lines of ``after`` that are not in ``before``, with an empty line between blocks."""
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    first, last = _shared(old, new), _shared(old[::-1], new[::-1])
    last = min(last, len(old) - first, len(new) - first)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if len(old) * len(new) > MOST_COMPARED:
        left = Counter(old)
        left.subtract(new)
        return ["", *(line for line in new if left[line] < 0)]
    found: list[str] = []
    for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            found += ["", *new[start:end]]
    return found


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines two texts share at their beginning."""
    return next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _entries(lines: Sequence[str]) -> list[str]:
    """Join the lines of each paragraph or list item."""
    entries: list[str] = []
    is_open = False
    for line in lines:
        if not line.strip() or _HEADING.match(line) or _DATE.match(line):
            is_open = False
            continue
        bullet = _BULLET.match(line)
        if bullet or not is_open:
            entries.append(line[bullet.end() :].strip() if bullet else line.strip())
            is_open = True
        else:
            entries[-1] += f" {line.strip()}"
    return entries


def _message(message: str) -> tuple[str, list[str]]:
    """The subject and the paragraphs of a commit message; a merge takes the first line that says something."""
    lines = [line.rstrip() for line in _COMMENT.sub("", message[:ISSUE_CHARACTERS]).splitlines()]
    lines = [line for line in lines if not _TRAILER.match(line) and not _MERGE.match(line)]
    while lines and not lines[0].strip():
        lines.pop(0)
    if not lines:
        return "", []
    return lines[0].strip(), _entries(lines[1:])


class _Secrets:
    """What a text must not say, and what was removed for it."""

    def __init__(self, fix: KnownFix) -> None:
        self.new_names = new_names(fix.others)
        self.removed: list[str] = []
        self._private = frozenset(name for name in self.new_names if name.startswith("_"))
        self._files = frozenset(
            part for one in fix.others if one.kind == SOURCE for part in (one.path, _file_name(one.path))
        )
        self._lines = frozenset(
            re.sub(r"\s+", "", line)
            for one in fix.others
            if one.kind not in (CHANGELOG, "documentation")
            for line in added_lines(one.before[1] if one.before else b"", one.after[1] if one.after else b"")
            if len(re.sub(r"\s+", "", line)) >= QUOTED_CHARACTERS and re.search(r"[=()\[\]{}]", line)
        )

    def reveals(self, sentence: str) -> str:
        """Why a sentence gives the solution away; empty if it does not."""
        packed = re.sub(r"[\s`]+", "", sentence)
        if any(line in packed for line in self._lines):
            return "a quoted line of the solution"
        if any(re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", sentence) for name in self._files):
            return "a changed file"
        if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence) for name in self._private):
            return "a private name of the solution"
        return ""


def _file_name(path: str) -> str:
    name = path.rpartition("/")[2]
    return path if name in ("__init__.py", "__main__.py") else name


def new_names(changes: Iterable[ChangedFile]) -> tuple[str, ...]:
    """The identifiers that the changed source files use after the fix and none of them had before."""
    files = [one for one in changes if one.kind == SOURCE]
    old = {name for one in files if one.before for name in identifiers(one.path, one.before[1])}
    found = {name for one in files if one.after for name in identifiers(one.path, one.after[1])}
    return tuple(sorted(name for name in found - old - _ORDINARY if len(name) > 2 and not keyword.iskeyword(name)))


def identifiers(path: str, data: bytes) -> set[str]:
    """The names in a source file, comments and texts left out where the language is Python."""
    if path.endswith((".py", ".pyi")):
        try:
            tokens = list(tokenize.tokenize(io.BytesIO(data).readline))
        except (tokenize.TokenError, SyntaxError, ValueError):
            tokens = []
        if tokens:
            return {one.string for one in tokens if one.type == tokenize.NAME}
    return set(_IDENTIFIER.findall(data.decode("utf-8", "replace")))


def _cleaned(paragraphs: Iterable[str], secrets: _Secrets) -> list[str]:
    """The paragraphs without references and without sentences that give the solution away."""
    found = []
    for paragraph in islice(paragraphs, MOST_PARAGRAPHS):
        kept = []
        for sentence in _SENTENCE.split(_SPACES.sub(" ", paragraph)[:PARAGRAPH_CHARACTERS]):
            why = secrets.reveals(sentence)
            if why:
                secrets.removed.append(why)
                continue
            rest = _without_references(sentence, secrets)
            if re.search(r"[A-Za-z]", rest):
                kept.append(rest)
        text = " ".join(kept).strip()
        if re.search(r"[A-Za-z]{2}", text) and not _HEADING.fullmatch(text):
            found.append(text)
    return found


def _without_references(text: str, secrets: _Secrets) -> str:
    text = _TAG.sub("", _CONVENTIONAL.sub("", text))
    for pattern, why in (
        (_MYST_NUMBER, "a number of an issue"),
        (_ROLE_NUMBER, "a number of an issue"),
        (_NUMBER, "a number of an issue"),
    ):
        if pattern.search(text):
            secrets.removed.append(why)
            text = pattern.sub("", text)
    for role in (_MYST_ROLE, _ROLE):
        text = role.sub(lambda match: f"`{match[1]}`", text)
    text = _LINK.sub(lambda match: match[1] or match[2] or "", text)
    for pattern, why in (
        (_ADDRESS, "an address"),
        (_COMMIT, "a commit id"),
        (_MENTION, "a person"),
        (_CREDIT, "a person"),
    ):
        if pattern.search(text):
            secrets.removed.append(why)
            text = pattern.sub("", text)
    text = _DANGLING.sub(lambda match: match[1], text) if secrets.removed else text
    text = text.replace("``", "`")
    text = re.sub(r"\s+(?:\(\s*[,;]*\s*\)|\[\s*\])", "", text)
    text = re.sub(r"\s+([.,;:])", r"\1", re.sub(r"[ \t]+", " ", text))
    text = re.sub(r"([.,;:])(?:\s*[,;:])+", r"\1", text)
    text = re.sub(r"(?<=[.!?])\s+[)\]]+\Z|\A[(\[]+\Z", "", text)
    return text.strip(" \t-\u2013\u2014:,;|")


def _title(candidates: Sequence[str]) -> tuple[str, str]:
    """The first candidate that says something as a title, and what of it did not fit."""
    for one in candidates:
        if len(one.split()) >= 2:
            first = _SENTENCE.split(one)[0].rstrip(".")
            if len(first) <= TITLE_CHARACTERS:
                return first, one if len(one) > len(first) + 1 else ""
            cut = first[:TITLE_CHARACTERS].rpartition(" ")[0]
            return f"{cut} ...", one
    return (candidates[0] if candidates else "Untitled"), ""


def _covers(known: str, text: str) -> bool:
    """Whether ``known`` says all that ``text`` does, word for word."""
    short, long = (" ".join(re.findall(r"[a-z0-9_]+", one.lower())) for one in (text, known))
    return bool(short) and short in long
