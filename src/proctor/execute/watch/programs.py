"""What a command line does, read from its words: installs, resolves, tests, builds, reads or searches. Pure.

Wrappers that only start another program (``env``, ``timeout``, ``uv run``) are looked through, and so is a shell's
``-c`` text where nothing better is known than the text. It is a reading of names, not a proof: a script of any other
name may do any of these things, and then only the programs that it starts tell of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from proctor.execute.watch.program_rules import (
    INTERPRETERS,
    LAUNCHERS,
    MODULE_KINDS,
    MODULES,
    PYTHON_SCRIPTS,
    RULES,
    RUNNERS,
    SCRIPTS,
    SENDERS,
    SHELLS,
    TEST,
    TOOLS,
    VALUED,
    Rule,
)

TEXT_CHARACTERS = 16_384
"""How much of a shell's text is read."""

_MOST_WORDS = 256
_MOST_COMMANDS = 64
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_DURATION = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?")
_QUIET = frozenset({"-q", "-qq", "--quiet", "-y", "--yes", "-v", "-vv", "--verbose", "-s", "--silent"})
_BY_PROGRAM: dict[str, tuple[Rule, ...]] = {
    name: tuple(rule for rule in RULES if name in rule.programs) for rule in RULES for name in rule.programs
}


def program_name(argv: Sequence[str]) -> str:
    """The name of the program that a command line starts, without its directory."""
    return argv[0].rpartition("/")[2] if argv else ""


def forms_of(argv: tuple[str, ...], path: str) -> tuple[tuple[str, ...], ...]:
    """A command line as it was given, and with the file that was started, whatever its name says."""
    found = (path, *argv[1:])
    return (argv, found) if argv and path and path != argv[0] else (argv or (path,),)


def unwrapped(argv: Sequence[str]) -> tuple[str, ...]:
    """The command line without the wrappers in front of it."""
    words = tuple(argv[:_MOST_WORDS])
    for _ in range(8):
        rest = _behind(words)
        if rest is None:
            return words
        words = rest
    return words


def kinds_of(argv: Sequence[str]) -> frozenset[str]:
    """What one command line does, as the ``KINDS`` of ``program_rules``; a shell's text is not read."""
    words = unwrapped(argv)
    name = program_name(words)
    if _PYTHON.fullmatch(name):
        return _python(words[1:])
    if name in PYTHON_SCRIPTS:
        return _script(name, words[1:])
    return _by_rules(name, words[1:])


def sends(argv: Sequence[str]) -> bool:
    """Whether a command line runs a program whose purpose is to send what it is given to another machine."""
    return program_name(unwrapped(argv)) in SENDERS


def is_tool(argv: Sequence[str]) -> bool:
    """Whether a command line runs a tool that repeats programs by itself: one of ``TOOLS``, or its script."""
    return program_name(unwrapped(argv)) in TOOLS or program_name((script_of(argv),)) in TOOLS


def commands_of(argv: Sequence[str]) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The simple commands of a command line, each with whether its exit status is that of the whole line."""
    words = unwrapped(argv)
    script = _shell_text(words)
    if script is None:
        return ((words, True),) if words else ()
    parts: list[tuple[list[str], str, str]] = [([], "", "")]
    for word in _split(script):
        if word and set(word) <= set(";&|()<>\n"):
            if set(word) <= set("<>&") and word not in ("&", "&&"):
                continue
            command, before, _ = parts[-1]
            parts[-1] = (command, before, word)
            parts.append(([], word, ""))
        else:
            parts[-1][0].append(word)
    filled = [part for part in parts if part[0]][:_MOST_COMMANDS]
    return tuple(
        (unwrapped(command), place == len(filled) - 1 and before not in ("|", "||", "|&") and after in ("", ";", ")"))
        for place, (command, before, after) in enumerate(filled)
    )


def dependency_key(argv: Sequence[str]) -> str:
    """What two installations of the same dependencies have in common: manager and arguments, in any order."""
    words = unwrapped(argv)
    if _PYTHON.fullmatch(program_name(words)) and words[1:2] == ("-m",):
        words = words[2:]
    name = re.sub(r"[0-9.]+$", "", program_name(words))
    return " ".join([name, *sorted(set(words[1:]) - _QUIET)])


def script_of(argv: Sequence[str]) -> str:
    """The file that a shell or an interpreter is given to run; empty for text on the command line or for a module."""
    words = unwrapped(argv)
    name = program_name(words)
    inline = "cs" if name in SHELLS else "cm" if _PYTHON.fullmatch(name) else "e" if name in INTERPRETERS else None
    if inline is None:
        return ""
    for word in words[1:]:
        if not word.startswith("-"):
            return word
        if word == "-" or (not word.startswith("--") and set(word) & set(inline)):
            return ""
    return ""


def _behind(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """What a wrapper starts, or ``None`` when the first word is no wrapper."""
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
        if words:
            return words
    name = program_name(words)
    rest = words[1:]
    if name in RUNNERS and rest[:1] == (RUNNERS[name],):
        rest = rest[1:]
    elif name not in LAUNCHERS:
        return None
    place = 0
    while place < len(rest):
        word = rest[place]
        if word == "--":
            place += 1
            break
        if word.startswith("-"):
            place += 2 if word in VALUED else 1
        elif _ASSIGNMENT.match(word) or (name == "timeout" and _DURATION.fullmatch(word)):
            place += 1
        else:
            break
    if name == "coverage" and "-m" in rest[:place]:
        return ("python", "-m", *rest[place:])
    return rest[place:] or None


def _plain(words: Sequence[str]) -> list[str]:
    """The words that are no options and no options' values."""
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-") and len(word) > 1:
            skip = word in VALUED
        else:
            found.append(word)
    return found


def _by_rules(name: str, words: Sequence[str]) -> frozenset[str]:
    plain = _plain(words)
    if name in ("npm", "pnpm", "yarn", "bun") and plain[:1] and plain[0] in SCRIPTS.split():
        plain = plain[1:]
        if plain[:1] and plain[0] not in ("test", "t") and not plain[0].startswith("test:"):
            return kinds_of(plain)
    if name == "uv" and plain[:1] in (["pip"], ["tool"]):
        plain = plain[1:]
    if name == "yarn" and not plain:
        plain = ["install"]
    found: set[str] = set()
    for rule in _BY_PROGRAM.get(name, ()):
        if _applies(rule, plain, words):
            found.update(rule.kinds)
    if TEST in found:
        found.discard("build")
    return frozenset(found)


def _applies(rule: Rule, plain: list[str], words: Sequence[str]) -> bool:
    if not rule.words and not rule.starts:
        return True
    if any(start.startswith("-") for start in rule.starts):
        return any(word.startswith(rule.starts) for word in words)
    looked = plain[:1] if rule.first else plain
    return any(word in rule.words or (rule.starts and word.startswith(rule.starts)) for word in looked)


def _python(words: Sequence[str]) -> frozenset[str]:
    for place, word in enumerate(words):
        if word == "-m":
            module = words[place + 1] if place + 1 < len(words) else ""
            if module in MODULE_KINDS:
                return frozenset(MODULE_KINDS[module])
            return kinds_of(tuple(words[place + 1 :])) if module in MODULES or module == "coverage" else frozenset()
        if word == "-c":
            return frozenset()
        if not word.startswith("-"):
            name = program_name((word,))
            if name in PYTHON_SCRIPTS:
                return _script(name, words[place + 1 :])
            return _by_rules(name, words[place + 1 :])
    return frozenset()


def _script(name: str, words: Sequence[str]) -> frozenset[str]:
    meanings = PYTHON_SCRIPTS[name]
    plain = _plain(words)
    return frozenset(meanings.get("", ()) or (meanings.get(plain[0], ()) if plain else ()))


def _shell_text(words: Sequence[str]) -> str | None:
    """The text that a shell is given with ``-c``."""
    if program_name(words) not in SHELLS:
        return None
    for place, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            follows = [other for other in words[place + 1 :] if not other.startswith(("-", "+"))]
            return follows[0][:TEXT_CHARACTERS] if follows else None
        if not word.startswith(("-", "+")) and word not in SHELLS:
            return None
    return None


def _split(script: str) -> list[str]:
    lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)[: _MOST_WORDS * 8]
    except ValueError:
        return script.split()[: _MOST_WORDS * 8]
