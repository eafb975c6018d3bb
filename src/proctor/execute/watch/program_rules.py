"""Which programs install or resolve dependencies, run tests, build, read and search: data for ``programs``.

A rule names programs and the words that make it apply: some word of the command line, after its options, must be one
of ``words`` or start with one of ``starts``; a rule without either applies whenever the program runs. ``first`` looks
at the first such word only, as sub-commands are told.
"""

from __future__ import annotations

from dataclasses import dataclass

INSTALL, RESOLVE, TEST, BUILD, READ, SEARCH = "install", "resolve", "test", "build", "read", "search"
KINDS = (INSTALL, RESOLVE, TEST, BUILD, READ, SEARCH)


@dataclass(frozen=True)
class Rule:
    """One way to tell what a command line does."""

    programs: frozenset[str]
    kinds: tuple[str, ...]
    words: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    first: bool = True


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _rule(programs: str, kinds: str, words: str = "", starts: str = "", *, first: bool = True) -> Rule:
    return Rule(_names(programs), tuple(kinds.split()), _names(words), tuple(starts.split()), first)


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
"""Programs and scripts that start the same programs again and again by themselves, besides those with a kind."""

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
"""Programs besides shells and Python that run the file they are given."""

VALUED = _names(
    """-C -f -j -k -n -u -p -w --prefix --cwd --directory --manifest-path --python --project --package --workspace
    --filter --timeout --signal --file --chdir --unset --adjustment --group --extra --with --name --root"""
)
"""Options that are followed by a word of their own."""
