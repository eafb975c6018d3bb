"""Secrets that need their context: arguments of a program, and texts that hold only a part of a secret. Pure.

A secret among arguments is known by the option before it. Rules for texts see one argument after the other, too; but
where an argument ends is known here alone: a password may hold spaces and quotes.

A text that was cut off may end in the middle of a secret, and a secret may be split over two texts that follow each
other. A token is known by how it begins, and a value by its name: where the text ends there, the rest is missing. In a
text that was not cut, only a beginning that looks random counts, because words begin like tokens, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from proctor.record.encoded_secrets import views_after, views_of
from proctor.record.secrets import Hit, Rules, SecretSpan, joined_hits, placed

SHORTEST = 4
MOST_BEFORE = 64
"""The number of arguments that are searched for a program that another one starts."""

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
"""An HTTP header with credentials, up to the secret."""


@dataclass(frozen=True)
class Asks:
    """How a program takes a secret: the options before it, and the prefixes that it directly follows."""

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
"""Programs whose arguments contain another program with its arguments."""


@dataclass(frozen=True)
class Argument:
    """A secret: the number of the argument, and where in it the secret begins and ends."""

    number: int
    start: int
    end: int


def find_arguments(arguments: Sequence[str]) -> Iterator[Argument]:
    """The secrets in ``arguments``; the first argument may be a program, or one that starts another."""
    begin, asks = _program(arguments)
    for number, argument in enumerate(arguments):
        following = arguments[number + 1] if number + 1 < len(arguments) else ""
        own = asks if number > begin else Asks()
        if valued := _VALUED.match(argument):
            yield from _whole(number, argument, valued.end())
        elif _OPTION.fullmatch(argument) or argument in own.options:
            yield from _whole(number + 1, following, 0)
        elif argument in _USER:
            yield from _after_name(number + 1, following)
        elif argument.startswith(own.glued):
            yield from _whole(number, argument, max(len(one) for one in own.glued if argument.startswith(one)))
        elif (argument.startswith(_HEADED) or (number and arguments[number - 1] in _HEADED)) and (
            header := _HEADER.match(argument)
        ):
            yield from _whole(number, argument, header.end())
    if arguments and arguments[begin].rpartition("/")[2] == _NAMES_FILE:
        yield from _third(arguments, begin)


def _program(arguments: Sequence[str]) -> tuple[int, Asks]:
    """The position of the program that may take a secret, and how it takes it."""
    for number, argument in enumerate(arguments[:MOST_BEFORE]):
        name = argument.rpartition("/")[2]
        asks = _asks(name, arguments)
        if asks or name == _NAMES_FILE:
            return number, asks or Asks()
        if number == 0 and name not in _STARTS_OTHERS:
            break
    return 0, Asks()


def _asks(name: str, arguments: Sequence[str]) -> Asks | None:
    if _DATABASE.fullmatch(name):
        return Asks((), ("-p",))
    if name in _LOGS_IN:
        return _P if "login" in arguments else None
    if name == "gh":
        return _BODY if ("secret", "set") in pairwise(arguments) else None
    return _ASKS.get(name)


def _third(arguments: Sequence[str], begin: int) -> Iterator[Argument]:
    """The password after a file and a user, or after a user alone if the result is printed."""
    flags = [argument for argument in arguments[begin + 1 :] if argument.startswith("-")]
    plain = [
        number
        for number in range(begin + 1, len(arguments))
        if not arguments[number].startswith("-") and not _VALUED_FLAG.fullmatch(arguments[number - 1])
    ]
    before = 1 if any("n" in flag for flag in flags) else 2
    if any("b" in flag for flag in flags) and len(plain) > before:
        yield from _whole(plain[before], arguments[plain[before]], 0)


def _whole(number: int, argument: str, start: int) -> Iterator[Argument]:
    """All of ``argument`` from ``start`` on; for openssl a prefix names the source of the password."""
    if argument.startswith(_FROM_HERE, start):
        start += len(_FROM_HERE)
    elif argument.startswith(_FROM_ELSEWHERE, start):
        return
    if len(argument) - start >= SHORTEST and not _PLAIN.fullmatch(argument, start):
        yield Argument(number, start, len(argument))


def _after_name(number: int, argument: str) -> Iterator[Argument]:
    """The part after the name of a user; two numbers are those of a user and a group."""
    name, colon, rest = argument.partition(":")
    if colon and name and not (name.isdigit() and rest.isdigit()) and len(rest) >= SHORTEST:
        yield Argument(number, len(name) + 1, len(argument))


TAIL_BYTES = 600
LEAST_REST = 4
"""How many characters after the literal of a token make it one; after a literal of three or fewer, twice as many."""

_LAST_RUN = re.compile(rb"[A-Za-z0-9_.+/=~$:-]{1,600}\Z")
_FIRST_RUN = re.compile(rb"[A-Za-z0-9_.+/=~$:-]{1,600}")
_CLOSINGS = (b'"', b"'", b"0", b"@x")
"""What may follow where a text is cut off: with it, patterns hold that want the end of a value."""

_BY_CHANCE = re.compile(rb"[0-9]|[a-z][A-Z]")


def find_cut(rules: Rules, data: bytes) -> list[SecretSpan]:
    """The secrets in ``data``, which was cut off, with the one that it ends in the middle of."""
    tail = data[-4 * TAIL_BYTES :]
    before = len(data) - len(tail)
    hits = _unfinished(rules, tail)
    for view in (*views_of(tail), *views_after(tail, tail.lower())):
        if view.end == len(tail):
            hits += [hit for one in _unfinished(rules, view.text) for hit in placed(view, one)]
    return joined_hits(
        [
            *((one.start, 0, one.end, one.kind) for one in rules.find(data)),
            *((start + before, order, end + before, kind) for start, order, end, kind in hits),
        ]
    )


def unfinished_token(rules: Rules, data: bytes, found: list[SecretSpan]) -> SecretSpan | None:
    """The token that ``data`` ends with, complete or not: what follows may belong to it."""
    run = _LAST_RUN.search(data, max(0, len(data) - TAIL_BYTES))
    if run is None or not _BY_CHANCE.search(run[0]):
        return None
    if found and found[-1].end == len(data):
        return found[-1]
    for literal, where in _literals(rules, run[0]):
        rest = run[0][where + len(literal) :]
        if len(literal) > 3 and len(rest) >= LEAST_REST and _BY_CHANCE.search(rest):
            return SecretSpan(run.start() + where, len(data), rules.near[literal][0].kind)
    return None


def rest_of(rules: Rules, before: bytes, data: bytes) -> list[SecretSpan]:
    """What at the beginning of ``data`` belongs to the token ``before`` that the last text ended with."""
    run = _FIRST_RUN.match(data)
    if run is None or len(run[0]) < LEAST_REST or not _BY_CHANCE.search(run[0]):
        return []
    size = len(before)
    whole = joined_hits(list(rules.plain(before + run[0])))
    return [SecretSpan(0, one.end - size, one.kind) for one in whole if one.start < size < one.end]


def _unfinished(rules: Rules, data: bytes) -> list[Hit]:
    """The secret that ``data`` ends in the middle of."""
    tail = data[-TAIL_BYTES:]
    before = len(data) - len(tail)
    found: list[Hit] = []
    run = _LAST_RUN.search(tail)
    for literal, where in _literals(rules, run[0]) if run is not None else ():
        rest = len(run[0]) - where - len(literal) if run is not None else 0
        if run is not None and rest >= (LEAST_REST if len(literal) > 3 else 2 * LEAST_REST):
            rule = rules.near[literal][0]
            begin = run.start() + (where if literal[:1].isalnum() and not rule.back else 0)
            found.append((before + begin, rule.order, len(data), rule.kind))
    for closing in _CLOSINGS:
        for start, order, end, kind in rules.plain(tail + closing):
            if end >= len(tail) > start:
                found.append((before + start, order, len(data), kind))
    return found


def _literals(rules: Rules, run: bytes) -> list[tuple[bytes, int]]:
    """The literals in ``run`` with which tokens begin, or which are in tokens, with their positions."""
    low = run.lower()
    places = [(literal, low.find(literal), rule[0].back) for literal, rule in rules.near.items()]
    return [
        (literal, where)
        for literal, where, back in places
        if where >= 0 and (back or where == 0 or not literal[:1].isalnum() or not run[where - 1 : where].isalnum())
    ]
