"""Secrets among the arguments of a program, which are known by the option before them or in front. Pure.

Rules for texts see one argument after the other, too; but where an argument ends is known here alone: a password may
hold spaces and quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SHORTEST = 4
MOST_BEFORE = 64
"""Among so many arguments the program is looked for that another one starts."""

KIND = "command-password"

_WORD = (
    r"pass(?:word|wd|phrase)?|pwd|secret|(?:access|auth|api|bearer|private|refresh|session)[_-]?token|token"
    r"|(?:access|account|api|auth|encryption|master|secret|signing)[_-]?key|credentials?"
)
_OPTION = re.compile(rf"(?i)--?(?:[a-z0-9]{{1,30}}[_-]){{0,4}}(?:{_WORD}|pass(?:in|out)|(?:key|store)pass)")
_VALUED = re.compile(rf"(?i)--?(?:[a-z0-9]{{1,30}}[_-]){{0,4}}(?:{_WORD})=")
_USER = frozenset(("-u", "--user", "--proxy-user", "-U"))
_PLAIN = re.compile(
    r"[0-9]{1,9}|[/~.$<{-].*|(?:[0-9.]{1,20}:){1,2}[0-9]{1,5}(?:/[a-z]{1,4})?"
    r"|(?i:file|text|string|none|null|true|false)"
)
"""Numbers, paths, other options, ports and names of variables follow options of such names, too."""

_FROM_HERE = "pass:"
_FROM_ELSEWHERE = ("env:", "file:", "fd:", "stdin")

_SCHEME = "(?:bearer|basic|token|digest|negotiate)"
_HEADED = ("-H", "--header")
_HEADER = re.compile(
    rf"(?i)(?:-H|--header=)?(?:(?:proxy-)?authorization:\s*+(?!{_SCHEME}\s*\Z)(?:[a-z][a-z0-9-]{{0,20}}\s+)?"
    rf"|(?:[a-z0-9]{{1,30}}[_-]){{0,4}}(?:{_WORD}|subscription-key):\s*)"
)
"""The head of a request that says who asks, up to what nobody else may know."""


@dataclass(frozen=True)
class Asks:
    """How a program is given a secret: by the options before it, and by what it is written right behind."""

    options: tuple[str, ...] = ()
    glued: tuple[str, ...] = ()


_P = Asks(("-p",), ("-p",))
_DATABASE = re.compile(r"(?:mysql|mariadb)[a-z_-]{0,20}")
_ASKS = dict.fromkeys(
    ("sshpass", "7z", "7za", "twine", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"),
    _P,
)
_ASKS |= dict.fromkeys(("ldapsearch", "ldapmodify"), Asks(("-w",), ("-w",)))
_ASKS |= dict.fromkeys(("sqlcmd", "zip", "unzip"), Asks(("-P",), ("-P",)))
_ASKS |= {"redis-cli": Asks(("-a",), ("-a",)), "ssh-keygen": Asks(("-N",), ("-N",)), "openssl": Asks(("-k", "-K"))}
_BODY = Asks(("-b", "--body"), ("-b", "--body="))
_LOGS_IN = frozenset(("docker", "podman", "buildah", "skopeo", "nerdctl", "helm", "az", "oc"))
"""Programs with a command ``login`` that takes a password by ``-p``, which is something else before other commands."""

_NAMES_FILE = "htpasswd"
_VALUED_FLAG = re.compile(r"-[A-Za-z0-9]{0,8}[Cr]")
_STARTS_OTHERS = frozenset(
    (
        *("sudo", "doas", "env", "nice", "ionice", "nohup", "time", "timeout", "setsid", "stdbuf", "xargs", "strace"),
        *("docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "ssh", "chroot", "gosu", "busybox"),
    )
)
"""Programs among whose arguments another one stands with its own."""


@dataclass(frozen=True)
class Argument:
    """A secret: the number of the argument, and where in it the secret begins and ends."""

    number: int
    start: int
    end: int


def find_arguments(words: Sequence[str]) -> Iterator[Argument]:
    """The secrets among ``words``, of which the first is perhaps a program, or one that starts another."""
    begin, asks = _program(words)
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        own = asks if number > begin else Asks()
        if valued := _VALUED.match(word):
            yield from _whole(number, word, valued.end())
        elif _OPTION.fullmatch(word) or word in own.options:
            yield from _whole(number + 1, following, 0)
        elif word in _USER:
            yield from _after_name(number + 1, following)
        elif word.startswith(own.glued):
            yield from _whole(number, word, max(len(one) for one in own.glued if word.startswith(one)))
        elif (word.startswith(_HEADED) or (number and words[number - 1] in _HEADED)) and (
            header := _HEADER.match(word)
        ):
            yield from _whole(number, word, header.end())
    if words and words[begin].rpartition("/")[2] == _NAMES_FILE:
        yield from _third(words, begin)


def _program(words: Sequence[str]) -> tuple[int, Asks]:
    """Where the program stands that may be given a secret, and how it is."""
    for number, word in enumerate(words[:MOST_BEFORE]):
        name = word.rpartition("/")[2]
        asks = _asks(name, words)
        if asks or name == _NAMES_FILE:
            return number, asks or Asks()
        if number == 0 and name not in _STARTS_OTHERS:
            break
    return 0, Asks()


def _asks(name: str, words: Sequence[str]) -> Asks | None:
    if _DATABASE.fullmatch(name):
        return Asks((), ("-p",))
    if name in _LOGS_IN:
        return _P if "login" in words else None
    if name == "gh":
        return _BODY if ("secret", "set") in pairwise(words) else None
    return _ASKS.get(name)


def _third(words: Sequence[str], begin: int) -> Iterator[Argument]:
    """The password behind a file and a user, or behind a user alone where the result is printed."""
    flags = [word for word in words[begin + 1 :] if word.startswith("-")]
    plain = [
        number
        for number in range(begin + 1, len(words))
        if not words[number].startswith("-") and not _VALUED_FLAG.fullmatch(words[number - 1])
    ]
    before = 1 if any("n" in flag for flag in flags) else 2
    if any("b" in flag for flag in flags) and len(plain) > before:
        yield from _whole(plain[before], words[plain[before]], 0)


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
