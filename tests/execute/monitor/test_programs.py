"""What command lines do, by their words."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.monitor.program_kinds import (
    KINDS,
    commands_of,
    dependency_key,
    forms_of,
    kinds_of,
    script_of,
    unwrapped,
)

INSTALL = {"install", "resolve"}


def test_a_program_is_known_by_its_name_and_by_its_file() -> None:
    assert forms_of(("x", "log"), "/usr/bin/git") == (("x", "log"), ("/usr/bin/git", "log"))
    assert forms_of(("/bin/git", "log"), "/bin/git") == (("/bin/git", "log"),)
    assert forms_of((), "/bin/git") == (("/bin/git",),)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("pip install requests", INSTALL),
        ("/usr/bin/pip3 --quiet install -r requirements.txt", INSTALL),
        ("python3 -m pip install .", INSTALL),
        ("python3.11 -u -m pip download x", INSTALL),
        ("pip list", set()),
        ("pip-compile requirements.in", {"resolve"}),
        ("uv sync", INSTALL),
        ("uv pip install x", INSTALL),
        ("uv lock", {"resolve"}),
        ("uv run pytest -q", {"test"}),
        ("uv run --group dev python -m pytest", {"test"}),
        ("poetry add x", INSTALL),
        ("poetry run pytest", {"test"}),
        ("conda install -y numpy", INSTALL),
        ("npm ci", INSTALL),
        ("npm --prefix web install", INSTALL),
        ("npm test", {"test"}),
        ("npm run test", {"test"}),
        ("npm run test:unit -- --watch=false", {"test"}),
        ("npm run lint", set()),
        ("npm run build", set()),
        ("npx jest src", {"test"}),
        ("npx --yes vitest run", {"test"}),
        ("yarn", INSTALL),
        ("yarn test", {"test"}),
        ("pnpm add left-pad", INSTALL),
        ("apt-get -y install gcc", INSTALL),
        ("sudo apt install gcc", INSTALL),
        ("apk add curl", INSTALL),
        ("dpkg -i x.deb", {"install"}),
        ("cargo add serde", INSTALL),
        ("cargo test --all", {"test"}),
        ("cargo build", {"build"}),
        ("go get x/y", INSTALL),
        ("go mod tidy", {"resolve"}),
        ("go test ./...", {"test"}),
        ("gem install rails", INSTALL),
        ("bundle install", INSTALL),
        ("composer require x/y", INSTALL),
        ("mvn -q test", {"test"}),
        ("mvn dependency:resolve", {"resolve", "build"}),
        ("./gradlew check", {"test"}),
        ("pytest", {"test"}),
        ("py.test -x tests", {"test"}),
        ("python -m pytest", {"test"}),
        ("python -m unittest discover", {"test"}),
        ("python manage.py test", {"test"}),
        ("python manage.py migrate", set()),
        ("python setup.py develop", INSTALL),
        ("python tests/runtests.py -v", {"test"}),
        ("coverage run -m pytest", {"test"}),
        ("timeout 60 pytest", {"test"}),
        ("env A=1 B=2 nice -n 5 pytest", {"test"}),
        ("A=1 pytest", {"test"}),
        ("make", {"build"}),
        ("make -C sub -j4 test", {"test"}),
        ("make check", {"test"}),
        ("ctest --output-on-failure", {"test"}),
        ("cmake --build build", {"build"}),
        ("cmake -S .", set()),
        ("gcc -c x.c", {"build"}),
        ("cat a.py", {"read"}),
        ("sed -i s/a/b/ x", set()),
        ("grep -rn foo .", {"search"}),
        ("rg foo", {"search"}),
        ("git grep foo", {"search"}),
        ("git log --oneline", {"read"}),
        ("git commit -m pip", set()),
        ("python -c 'import pytest'", set()),
        ("echo pytest", set()),
        ("python app.py install", set()),
        ("", set()),
    ],
)
def test_what_a_command_line_does(line: str, kinds: set[str]) -> None:
    assert kinds_of(shlex.split(line)) == kinds


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("pytest -q", [(("pytest", "-q"), True)]),
        ("cd x && pytest -q", [(("cd", "x"), False), (("pytest", "-q"), True)]),
        ("pytest | tail -5", [(("pytest",), False), (("tail", "-5"), False)]),
        ("pytest || true", [(("pytest",), False), (("true",), False)]),
        ("pytest; echo done", [(("pytest",), False), (("echo", "done"), True)]),
        ("pytest > out.txt 2>&1", [(("pytest", "out.txt", "2", "1"), True)]),
        ("pip install x\npytest", [(("pip", "install", "x"), False), (("pytest",), True)]),
        ("pytest &", [(("pytest",), False)]),
        ("(cd x; make test)", [(("cd", "x"), False), (("make", "test"), True)]),
        ("echo 'a; b' && make", [(("echo", "a; b"), False), (("make",), True)]),
        ("echo 'unclosed; pytest", [(("echo", "'unclosed;", "pytest"), True)]),
        ("timeout 5 pytest", [(("pytest",), True)]),
        ("", []),
    ],
)
@pytest.mark.parametrize("shell", [["sh", "-c"], ["/bin/bash", "-lc"], ["bash", "-e", "-u", "-c"], ["sh", "-eu", "-c"]])
def test_the_commands_of_a_shell_text(
    shell: list[str], text: str, commands: list[tuple[tuple[str, ...], bool]]
) -> None:
    assert list(commands_of([*shell, text])) == commands


def test_a_plain_command_is_its_own_only_command() -> None:
    assert commands_of(["timeout", "5", "make", "test"]) == ((("make", "test"), True),)
    assert commands_of([]) == ()
    assert commands_of(["bash", "script.sh", "-c", "x"]) == ((("bash", "script.sh", "-c", "x"), True),)


def test_the_same_dependencies_have_one_key() -> None:
    same = (
        ["pip", "install", "a", "b"],
        ["/usr/bin/pip3", "install", "-q", "b", "a"],
        ["python3", "-m", "pip", "install", "a", "b"],
    )
    assert len({dependency_key(argv) for argv in same}) == 1
    assert dependency_key(["pip", "install", "a"]) != dependency_key(["pip", "install", "b"])


@given(st.lists(st.text(max_size=20), max_size=12))
def test_any_words_are_read_without_failing(argv: list[str]) -> None:
    assert kinds_of(argv) <= set(KINDS)
    commands_of(argv)
    commands_of(["sh", "-c", *argv])
    dependency_key(argv)
    assert len(unwrapped(argv)) <= len(argv) + 2


@pytest.mark.parametrize("word", ["env", "A=1", "uv", "(", "'", "|", "-m", "python", "timeout"])
def test_hostile_repetition_ends(word: str) -> None:
    argv = [word] * 5000
    kinds_of(argv)
    commands_of(["sh", "-c", " ".join(argv)])


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("sh work.sh x", "work.sh"),
        ("bash -eu ./run", "./run"),
        ("bash -c work.sh", ""),
        ("timeout 5 python3.11 -u tool.py", "tool.py"),
        ("python3 -m pytest", ""),
        ("perl -e print", ""),
        ("node app.js", "app.js"),
        ("cat work.sh", ""),
        ("sh", ""),
    ],
)
def test_the_file_that_an_interpreter_runs(line: str, script: str) -> None:
    assert script_of(line.split()) == script
