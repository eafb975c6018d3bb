"""Secrets among the arguments of a program, which are known by the option before them or in front. Pure.

Rules for texts see one argument after the other, too; but where an argument ends is known here alone: a password may
hold spaces and quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.base.frozen import frozen
from proctor.base.pattern import pattern

SHORTEST = 4
KIND = "command-password"

_WORD = (
    r"pass(?:word|wd|phrase)?|pwd|secret|(?:access|auth|api|bearer|private|refresh|session)[_-]?token|token"
    r"|(?:access|account|api|auth|encryption|master|secret|signing)[_-]?key|credentials?"
)
_OPTION = pattern(rf"(?i)--?(?:[a-z0-9]{{1,30}}[_-]){{0,4}}(?:{_WORD}|pass(?:in|out)|(?:key|store)pass)")
_VALUED = pattern(rf"(?i)--?(?:[a-z0-9]{{1,30}}[_-]){{0,4}}(?:{_WORD})=")
_USER = frozenset(("-u", "--user", "--proxy-user", "-U"))
_PLAIN = pattern(r"[0-9]{1,9}|[/~.$<{-].*|(?i:file|text|string|none|null|true|false)")
"""Numbers, paths, other options and names of variables follow options of such names, too."""

_FROM_HERE = "pass:"
_FROM_ELSEWHERE = ("env:", "file:", "fd:", "stdin")
_DATABASE = pattern(r"(?:mysql|mariadb)[a-z_-]{0,20}")
_ASKS_SHORT = dict.fromkeys(
    ("sshpass", "7z", "7za", "twine", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"),
    "-p",
)
_ASKS_SHORT |= {"redis-cli": "-a", "ldapsearch": "-w", "ldapmodify": "-w", "ssh-keygen": "-N"}
_ASKS_SHORT |= dict.fromkeys(("sqlcmd", "zip", "unzip"), "-P")
_LOGS_IN = frozenset(("docker", "podman", "buildah", "skopeo", "nerdctl", "helm", "az", "oc"))
"""Programs with a command ``login`` that takes a password by ``-p``, which is something else before other commands."""


@frozen
class Argument:
    """A secret: the number of the argument, and where in it the secret begins and ends."""

    number: int
    start: int
    end: int


def find_arguments(words: Sequence[str]) -> Iterator[Argument]:
    """The secrets among ``words``, of which the first is perhaps a program."""
    program = words[0].rpartition("/")[2] if words else ""
    short = "-p" if program in _LOGS_IN and "login" in words else _ASKS_SHORT.get(program, "")
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        if valued := _VALUED.match(word):
            yield from _whole(number, word, valued.end())
        elif _OPTION.fullmatch(word) or (short and word == short):
            yield from _whole(number + 1, following, 0)
        elif word in _USER:
            yield from _after_name(number + 1, following)
        elif short and word.startswith(short):
            yield from _whole(number, word, len(short))
        elif _DATABASE.fullmatch(program) and word.startswith("-p"):
            yield from _whole(number, word, 2)


def _whole(number: int, word: str, start: int) -> Iterator[Argument]:
    """All of ``word`` from ``start`` on; openssl says in front where its password comes from."""
    if word.startswith(_FROM_HERE, start):
        start += len(_FROM_HERE)
    elif word.startswith(_FROM_ELSEWHERE, start):
        return
    if len(word) - start >= SHORTEST and not _PLAIN.fullmatch(word, start):
        yield Argument(number, start, len(word))


def _after_name(number: int, word: str) -> Iterator[Argument]:
    """What stands behind the name of a user; two numbers are those of a user and a group."""
    name, colon, rest = word.partition(":")
    if colon and name and not (name.isdigit() and rest.isdigit()) and len(rest) >= SHORTEST:
        yield Argument(number, len(name) + 1, len(word))
