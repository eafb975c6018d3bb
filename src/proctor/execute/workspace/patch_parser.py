"""The text of a patch in git's format, read without git: which files it touches and how many lines.

The reader counts the lines of each hunk as its header promises, so nothing inside a file can pass for a header. It
checks form only; whether a patch fits a tree is for ``patch.apply_patch`` to find out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HUNK = re.compile(rb"@@ -[0-9]+(?:,([0-9]+))? \+[0-9]+(?:,([0-9]+))? @@")
_DATE = re.compile(
    rb"[ \t](?:[0-9]{2})?[0-9]{2}-[0-9]{2}-[0-9]{2}"
    rb"(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?(?: [+-][0-9]{2}:?[0-9]{2})?\Z"
)
"""What git treats as a date after a name if no ``diff --git`` line names the file."""
_OCTAL = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_EXTENDED = (b"old mode ", b"new mode ", b"similarity index ", b"dissimilarity index ", b"index ")
_NOTHING = b"/dev/null"


class NotAPatch(ValueError):
    """Text that does not have the form of a patch."""


@dataclass(frozen=True)
class FilePatch:
    """The header of one file in a patch; a path is ``None`` if there is no file on that side."""

    old: bytes | None
    new: bytes | None
    added_lines: int
    deleted_lines: int
    binary: bool

    @property
    def path(self) -> bytes:
        """The file's path after the patch, or before it where the patch deletes the file."""
        path = self.new if self.new is not None else self.old
        assert path is not None
        return path


@dataclass(frozen=True)
class FileStat:
    """How much a patch changes in one file."""

    path: bytes
    added_lines: int
    deleted_lines: int
    binary: bool


def parse_stat(patch: bytes) -> tuple[FileStat, ...]:
    """The size of the change of every file in ``patch``; a file that changes its type counts once."""
    totals: dict[bytes, FileStat] = {}
    for file in parse_patch(patch):
        before = totals.get(file.path, FileStat(file.path, 0, 0, False))
        totals[file.path] = FileStat(
            file.path,
            before.added_lines + file.added_lines,
            before.deleted_lines + file.deleted_lines,
            before.binary or file.binary,
        )
    return tuple(totals.values())


def parse_patch(patch: bytes) -> tuple[FilePatch, ...]:
    """The files in ``patch``, in its order; :class:`NotAPatch` if it is not a patch."""
    return tuple(_Reader(patch).files())


def clarify(patch: bytes) -> bytes:
    """``patch`` with quotes around names that have spaces, in the one line where git leaves them out.

    git itself cannot know where a name such as ``trail /a`` ends when it reads such a line.
    """
    reader = _Reader(patch)
    reader.files()
    return reader.clarified()


def quote(path: bytes) -> bytes:
    """``path`` in double quotes, with everything unusual escaped, as git reads it."""
    body = b"".join(b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else b"%c" % byte for byte in path)
    return b'"' + body + b'"'


def unquote(text: bytes) -> tuple[bytes, bytes]:
    """The path at the start of ``text``, which begins with a double quote, and what follows it."""
    end = 1
    while end < len(text) and text[end : end + 1] != b'"':
        end += 2 if text[end : end + 1] == b"\\" else 1
    if end >= len(text):
        raise NotAPatch("a quoted name without an end")
    return _OCTAL.sub(_unescaped, text[1:end]), text[end + 1 :]


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return _LETTERS.get(code, code)


class _Reader:
    """One pass over a patch."""

    def __init__(self, patch: bytes) -> None:
        self._lines = patch.split(b"\n")
        self._at = 0
        self._unclear: dict[int, bytes] = {}

    def clarified(self) -> bytes:
        """The patch with the lines that :meth:`files` found unclear rewritten."""
        for place, name in self._unclear.items():
            self._lines[place] = b"diff --git %s %s" % (quote(b"a/" + name), quote(b"b/" + name))
        return b"\n".join(self._lines)

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(b"diff --git "):
                found.append(self._git_file())
            elif line.startswith(b"--- ") and self._peek(1).startswith(b"+++ ") and _HUNK.match(self._peek(2)):
                found.append(self._plain_file())
            else:
                self._at += 1
        return found

    def _peek(self, ahead: int = 0) -> bytes:
        place = self._at + ahead
        return self._lines[place] if place < len(self._lines) else b""

    def _git_file(self) -> FilePatch:
        """A file that begins with ``diff --git``."""
        old: bytes | None
        new: bytes | None
        start = self._at
        old = new = _same_name(self._lines[start][len(b"diff --git ") :])
        if new is not None and b" " in new:
            self._unclear[start] = new
        created = deleted = False
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(b"new file mode "):
                created = True
            elif line.startswith(b"deleted file mode "):
                deleted = True
            elif line.startswith((b"rename from ", b"copy from ")):
                self._unclear.pop(start, None)
                old = _name(line.split(b" ", 2)[2])
            elif line.startswith((b"rename to ", b"copy to ")):
                new = _name(line.split(b" ", 2)[2])
            elif not line.startswith(_EXTENDED):
                break
            self._at += 1
        if self._peek().startswith(b"--- ") and self._peek(1).startswith(b"+++ "):
            return self._plain_file(dated=False)
        if old is None or new is None:
            raise NotAPatch("a file without a name")
        binary = self._peek() == b"GIT binary patch"
        if binary:
            self._binary()
        return FilePatch(None if created else old, None if deleted else new, 0, 0, binary)

    def _plain_file(self, *, dated: bool = True) -> FilePatch:
        """The ``---`` and ``+++`` lines, where names may be ``dated``, and the hunks after them."""
        old = _side(self._lines[self._at][4:], dated)
        new = _side(self._lines[self._at + 1][4:], dated)
        if old is None and new is None:
            raise NotAPatch("a file without a name")
        self._at += 2
        added = deleted = 0
        while match := _HUNK.match(self._peek()):
            self._at += 1
            more, fewer = self._hunk(*(1 if count is None else int(count) for count in match.groups()))
            added, deleted = added + more, deleted + fewer
        return FilePatch(old, new, added, deleted, False)

    def _hunk(self, old: int, new: int) -> tuple[int, int]:
        """One hunk of ``old`` lines that become ``new``; how many are added and deleted."""
        added = deleted = 0
        while old > 0 or new > 0:
            if self._at >= len(self._lines):
                raise NotAPatch("a hunk is cut short")
            sign = self._lines[self._at][:1]
            if sign == b"+":
                new, added = new - 1, added + 1
            elif sign == b"-":
                old, deleted = old - 1, deleted + 1
            elif sign in (b" ", b""):
                old, new = old - 1, new - 1
            elif sign != b"\\":
                raise NotAPatch("a line inside a hunk has no sign")
            self._at += 1
        if self._peek().startswith(b"\\"):
            self._at += 1
        return added, deleted

    def _binary(self) -> None:
        """Skip the encoded blocks of a binary file, each of which ends with an empty line."""
        self._at += 1
        while self._peek().startswith((b"literal ", b"delta ")):
            while self._peek():
                self._at += 1
            self._at += 1


def _same_name(text: bytes) -> bytes | None:
    """The name on a ``diff --git`` line when it is the same on both sides, else ``None``."""
    if text.startswith(b'"'):
        first, rest = unquote(text)
        second = unquote(rest[1:])[0] if rest.startswith(b' "') else rest[1:]
    else:
        half = len(text) // 2
        first, second = text[:half], text[half + 1 :]
        if text[half : half + 1] != b" ":
            return None
    first, second = first.partition(b"/")[2], second.partition(b"/")[2]
    return first if first and first == second else None


def _name(text: bytes) -> bytes:
    return unquote(text)[0] if text.startswith(b'"') else text


def _side(text: bytes, dated: bool) -> bytes | None:
    """The name on a ``---`` or ``+++`` line without its first directory; ``None`` for no file."""
    date = _DATE.search(text) if dated else None
    plain = text[: date.start()].rstrip(b" \t") if date else text
    name = unquote(text)[0] if text.startswith(b'"') else plain.partition(b"\t")[0]
    if name == _NOTHING:
        return None
    path = name.partition(b"/")[2]
    if not path:
        raise NotAPatch("a file without a name")
    return path
