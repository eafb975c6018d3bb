"""What files declare: names as their ecosystem compares them, lines, and hosts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.patch_policy.dependency_policy import Unreadable, declares, read_declared

CASES: dict[str, tuple[str, list[tuple[str, int, str]]]] = {
    "requirements.txt": (
        "# of ours\nFlask_Login>=1  # why\n-r other.txt\n--index-url https://pypi.corp.example/simple\n\n"
        "numpy [extra] ; python_version>'3'\n-e git+https://git.corp.example/team/tool.git@main#egg=tool\n",
        [("flask-login", 2, ""), ("", 4, "pypi.corp.example"), ("numpy", 6, ""), ("tool", 7, "git.corp.example")],
    ),
    "requirements/dev.in": ("pytest\n", [("pytest", 1, "")]),
    "pyproject.toml": (
        '[project]\ndependencies = [\n  "requests[socks]>2",\n  "own @ https://files.corp.example/own.whl",\n]\n'
        '[project.optional-dependencies]\nx = ["PyYAML"]\n[tool.poetry.dependencies]\npython = "^3"\nrich = "*"\n'
        '[[tool.uv.index]]\nurl = "https://index.corp.example/simple"\n',
        [
            ("requests", 3, ""),
            ("own", 4, "files.corp.example"),
            ("pyyaml", 7, ""),
            ("rich", 10, ""),
            ("", 12, "index.corp.example"),
        ],
    ),
    "setup.cfg": (
        "[options]\ninstall_requires =\n    attrs\n    six>=1\n[options.extras_require]\nx = tox\n",
        [("attrs", 3, ""), ("six", 4, ""), ("tox", 6, "")],
    ),
    "setup.py": (
        "import setuptools\nsetup(\n install_requires=['click', more()],\n extras_require={'x': ['tqdm']})\n",
        [("click", 3, ""), ("tqdm", 4, "")],
    ),
    "web/package.json": (
        '{"name": "x",\n "dependencies": {\n  "@scope/pkg": "^1"},\n "devDependencies": {"left-pad":\n '
        '"git+https://git.corp.example/l.git"}}',
        [("@scope/pkg", 3, ""), ("left-pad", 4, "git.corp.example")],
    ),
    "Cargo.toml": (
        '[dependencies]\nserde = "1"\n[target."cfg(unix)".dependencies]\nlibc = {version = "0.2"}\n',
        [("serde", 2, ""), ("libc", 4, "")],
    ),
    "go.mod": (
        "module m\nrequire example.org/a v1\nrequire (\n\texample.org/b v2 // indirect\n)\n",
        [("example.org/a", 2, ""), ("example.org/b", 4, "")],
    ),
    "Gemfile": (
        'source "https://gems.corp.example"\ngem "rake"\n',
        [("", 1, "gems.corp.example"), ("rake", 2, "")],
    ),
    "composer.json": (
        '{"require": {"php": ">8", "ext-json": "*",\n "monolog/monolog": "3"}}',
        [("monolog/monolog", 2, "")],
    ),
    "Pipfile": (
        '[packages]\nflask = "*"\n[[source]]\nurl = "https://p.corp.example"\n',
        [("flask", 2, ""), ("", 4, "p.corp.example")],
    ),
}


@pytest.mark.parametrize("path", CASES)
def test_what_a_file_declares(path: str) -> None:
    text, expected = CASES[path]
    assert [(item.name, item.line, item.host) for item in read_declared(path, text.encode())] == expected


@pytest.mark.parametrize("path", ["uv.lock", "notes.txt", "requirements.py", "README.md", "poetry.lock"])
def test_other_files_declare_nothing(path: str) -> None:
    assert not declares(path)
    assert read_declared(path, b"flask\n") == ()


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("pyproject.toml", b"["),
        ("package.json", b"[]"),
        ("setup.py", b"def"),
        ("setup.py", b"x = " + b"-" * 20_000 + b"1"),
        ("setup.cfg", b"x"),
        ("Cargo.toml", b"\xff"),
    ],
)
def test_what_is_not_what_its_name_says_is_named(path: str, data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_declared(path, data)


@pytest.mark.parametrize("name", ["", "git+https://git.corp.example/@main"])
def test_a_name_of_nothing_is_none(name: str) -> None:
    (item,) = read_declared("package.json", f'{{"dependencies": {{"{name}": "1"}}}}'.encode())
    assert item.name == ""


@given(st.sampled_from(sorted(CASES)), st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(path: str, data: Any) -> None:
    try:
        read_declared(path, data)
    except Unreadable:
        pass
