"""Classify a command line.

Does it install, resolve, test, build, read or search? Rules as data, then the functions. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

INSTALL, RESOLVE, TEST, BUILD, READ, SEARCH = "install", "resolve", "test", "build", "read", "search"
KINDS = (INSTALL, RESOLVE, TEST, BUILD, READ, SEARCH)


@dataclass(frozen=True)
class Rule:
    """A rule that recognises what a command line does."""

    programs: frozenset[str]
    kinds: tuple[str, ...]
    arguments: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    first: bool = True


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _rule(programs: str, kinds: str, arguments: str = "", starts: str = "", *, first: bool = True) -> Rule:
    return Rule(_names(programs), tuple(kinds.split()), _names(arguments), tuple(starts.split()), first)


RULES = (
    _rule("pip pip3 pipx", "install resolve", "install download wheel sync inject upgrade"),
    _rule("pip pip3", "resolve", "lock"),
    _rule("pip-compile pip-sync", "resolve"),
    _rule("easy_install", "install resolve"),
    _rule("uv", "install resolve", "sync add remove install"),
    _rule("uv", "resolve", "lock compile"),
    _rule("poetry pdm pipenv hatch", "install resolve", "install add update sync remove"),
    _rule("poetry pdm pipenv", "resolve", "lock"),
    _rule("conda mamba micromamba", "install resolve", "install create update env"),
    _rule("npm", "install resolve", "install i ci add update up install-test it install-ci-test cit isntall"),
    _rule("pnpm bun", "install resolve", "install i add update up"),
    _rule("yarn", "install resolve", "install add up upgrade"),
    _rule("apt apt-get aptitude", "install resolve", "install upgrade dist-upgrade full-upgrade build-dep"),
    _rule("dnf yum microdnf zypper brew port snap", "install resolve", "install upgrade update"),
    _rule("apk", "install resolve", "add upgrade"),
    _rule("pacman", "install resolve", "", "-S -U"),
    _rule("dpkg", "install", "", "-i --install"),
    _rule("cargo", "install resolve", "install add update fetch generate-lockfile"),
    _rule("go", "install resolve", "get install"),
    _rule("go", "resolve", "tidy download", first=False),
    _rule("gem", "install resolve", "install update"),
    _rule("bundle bundler", "install resolve", "install update add lock"),
    _rule("composer", "install resolve", "install update require"),
    _rule("dotnet", "install resolve", "restore add"),
    _rule("mvn mvnw", "resolve", "", "dependency:", first=False),
    _rule("cpan cpanm luarocks opam stack cabal", "install resolve", "install"),
    _rule("pytest py.test pytest-3 nosetests nose2 tox nox trial stestr testr green ward", "test"),
    _rule("jest vitest mocha ava tap tape karma cypress jasmine qunit nyc c8", "test"),
    _rule("phpunit rspec minitest bats prove busted ctest gotestsum bun-test doctest", "test"),
    _rule("npm pnpm yarn bun", "test", "test t tst install-test it install-ci-test cit", "test:"),
    _rule("deno go cargo zig swift mix sbt dotnet bazel meson flutter dart", "test", "test nextest testOnly"),
    _rule("cargo go dotnet bazel swift", "build", "build check clippy vet publish"),
    _rule("make gmake ninja rake gradle gradlew mvn mvnw ant just invoke", "test", "verify", "test check", first=False),
    _rule("make gmake ninja gradle gradlew mvn mvnw ant", "build"),
    _rule("tsc gcc g++ cc c++ clang clang++ javac rustc msbuild xcodebuild", "build"),
    _rule("cmake", "build", "", "--build"),
    _rule("cat head tail less more nl bat wc file stat ls tree od hexdump xxd strings diff cmp du realpath", "read"),
    _rule("grep egrep fgrep zgrep rg ag ack find fd fdfind locate", "search"),
    _rule("git", "search", "grep"),
    _rule("git", "read", "show log diff status blame cat-file ls-files"),
)

SCRIPTS = "run run-script exec"
"""Sub-commands of package managers after which the next word names a script or a program."""

MODULES = frozenset({"pip", "pytest", "unittest", "tox", "nox", "nose2", "poetry", "build", "doctest", "ensurepip"})
"""Python modules that are programs of their own under ``-m``."""

MODULE_KINDS = {"unittest": (TEST,), "doctest": (TEST,), "build": (BUILD,), "ensurepip": (INSTALL,)}
"""What ``python -m`` does where no program of that name has a rule."""

PYTHON_SCRIPTS: dict[str, dict[str, tuple[str, ...]]] = {
    "manage.py": {"test": (TEST,)},
    "setup.py": {"test": (TEST,), "install": (INSTALL, RESOLVE), "develop": (INSTALL, RESOLVE), "build": (BUILD,)},
    "runtests.py": {"": (TEST,)},
    "run_tests.py": {"": (TEST,)},
}
"""Python files with a meaning of their own: by their first word, or for every use under the empty one."""

TOOLS = _names(
    """configure config.status config.guess config.sub libtool autoreconf autoconf automake aclocal cmake meson scons
    git dpkg-buildpackage rpmbuild"""
)
"""Programs and scripts that start the same programs again and again, in addition to those with a kind."""

LAUNCHERS = _names(
    """env timeout nice ionice nohup setsid stdbuf time chrt taskset unbuffer xargs sudo doas catchsegv script
    npx bunx pnpx uvx command exec builtin coverage dumb-init tini"""
)
"""Programs that do nothing but start another: what follows them is the command."""

RUNNERS = {
    "uv": "run",
    "poetry": "run",
    "pdm": "run",
    "pipenv": "run",
    "hatch": "run",
    "coverage": "run",
    "conda": "run",
}
"""Programs with a sub-command that does nothing but start another."""

SENDERS = _names(
    """curl wget nc ncat netcat socat telnet ssh scp sftp rsync ftp tftp lftp mail mailx sendmail msmtp http https xh
    aria2c dig nslookup host ping"""
)
"""Programs that send to another machine what they are given."""

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"})

INTERPRETERS = _names("node nodejs deno bun perl ruby php lua")
"""Programs other than shells and Python that run a given file."""

VALUED = _names(
    """-C -f -j -k -n -u -p -w --prefix --cwd --directory --manifest-path --python --project --package --workspace
    --filter --timeout --signal --file --chdir --unset --adjustment --group --extra --with --name --root"""
)
"""Options that are followed by a word of their own."""


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
    arguments = tuple(argv[:_MOST_WORDS])
    for _ in range(8):
        rest = _behind(arguments)
        if rest is None:
            return arguments
        arguments = rest
    return arguments


def kinds_of(argv: Sequence[str]) -> frozenset[str]:
    """What one command line does, as the ``KINDS`` of ``program_rules``; a shell's text is not read."""
    arguments = unwrapped(argv)
    name = program_name(arguments)
    if _PYTHON.fullmatch(name):
        return _python(arguments[1:])
    if name in PYTHON_SCRIPTS:
        return _script(name, arguments[1:])
    return _by_rules(name, arguments[1:])


def sends(argv: Sequence[str]) -> bool:
    """Whether a command line runs a program whose purpose is to send what it is given to another machine."""
    return program_name(unwrapped(argv)) in SENDERS


def is_tool(argv: Sequence[str]) -> bool:
    """Whether a command line runs a tool that repeats programs by itself: one of ``TOOLS``, or its script."""
    return program_name(unwrapped(argv)) in TOOLS or program_name((script_of(argv),)) in TOOLS


def commands_of(argv: Sequence[str]) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The simple commands of a command line, each with whether its exit status is that of the whole line."""
    arguments = unwrapped(argv)
    script = _shell_text(arguments)
    if script is None:
        return ((arguments, True),) if arguments else ()
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
    arguments = unwrapped(argv)
    if _PYTHON.fullmatch(program_name(arguments)) and arguments[1:2] == ("-m",):
        arguments = arguments[2:]
    name = re.sub(r"[0-9.]+$", "", program_name(arguments))
    return " ".join([name, *sorted(set(arguments[1:]) - _QUIET)])


def script_of(argv: Sequence[str]) -> str:
    """The file that a shell or an interpreter is given to run; empty for text on the command line or for a module."""
    arguments = unwrapped(argv)
    name = program_name(arguments)
    inline = "cs" if name in SHELLS else "cm" if _PYTHON.fullmatch(name) else "e" if name in INTERPRETERS else None
    if inline is None:
        return ""
    for word in arguments[1:]:
        if not word.startswith("-"):
            return word
        if word == "-" or (not word.startswith("--") and set(word) & set(inline)):
            return ""
    return ""


def _behind(arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    """The command that a wrapper starts, or ``None`` if the program is not a wrapper."""
    while arguments and _ASSIGNMENT.match(arguments[0]):
        arguments = arguments[1:]
        if arguments:
            return arguments
    name = program_name(arguments)
    rest = arguments[1:]
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


def _plain(arguments: Sequence[str]) -> list[str]:
    """The arguments that are not options or their values."""
    found: list[str] = []
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word.startswith("-") and len(word) > 1:
            skip = word in VALUED
        else:
            found.append(word)
    return found


def _by_rules(name: str, arguments: Sequence[str]) -> frozenset[str]:
    plain = _plain(arguments)
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
        if _applies(rule, plain, arguments):
            found.update(rule.kinds)
    if TEST in found:
        found.discard("build")
    return frozenset(found)


def _applies(rule: Rule, plain: list[str], arguments: Sequence[str]) -> bool:
    if not rule.arguments and not rule.starts:
        return True
    if any(start.startswith("-") for start in rule.starts):
        return any(word.startswith(rule.starts) for word in arguments)
    looked = plain[:1] if rule.first else plain
    return any(word in rule.arguments or (rule.starts and word.startswith(rule.starts)) for word in looked)


def _python(arguments: Sequence[str]) -> frozenset[str]:
    for place, word in enumerate(arguments):
        if word == "-m":
            module = arguments[place + 1] if place + 1 < len(arguments) else ""
            if module in MODULE_KINDS:
                return frozenset(MODULE_KINDS[module])
            return kinds_of(tuple(arguments[place + 1 :])) if module in MODULES or module == "coverage" else frozenset()
        if word == "-c":
            return frozenset()
        if not word.startswith("-"):
            name = program_name((word,))
            if name in PYTHON_SCRIPTS:
                return _script(name, arguments[place + 1 :])
            return _by_rules(name, arguments[place + 1 :])
    return frozenset()


def _script(name: str, arguments: Sequence[str]) -> frozenset[str]:
    meanings = PYTHON_SCRIPTS[name]
    plain = _plain(arguments)
    return frozenset(meanings.get("", ()) or (meanings.get(plain[0], ()) if plain else ()))


def _shell_text(arguments: Sequence[str]) -> str | None:
    """The text that a shell is given with ``-c``."""
    if program_name(arguments) not in SHELLS:
        return None
    for place, word in enumerate(arguments[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            follows = [other for other in arguments[place + 1 :] if not other.startswith(("-", "+"))]
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
