"""Where inputs go: setup's into one directory, the judge's into the tree, and nothing anywhere else."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.contract.model import (
    Check,
    Contract,
    GitRepository,
    Hidden,
    Input,
    InputFile,
    NamedFile,
    Reference,
    Source,
    Task,
)
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.input_files import CannotPlace, hidden_files, inputs_directory, reference_files, selected
from proctor.execute.inputs.interface import DigestMismatch, NoSuchInput


@pytest.fixture
def cache(tmp_path: Path) -> InputCache:
    return InputCache(tmp_path / "inputs")


def pinned(path: Path) -> Source:
    return Source("archive", path.name, (InputFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest()),))


def contract(directory: Path, *inputs: Input) -> Contract:
    issue = NamedFile("issue.md", "0" * 64)
    return Contract(
        directory=directory,
        name="small",
        title="Small",
        kind="bug-fix",
        task=Task(issue, ""),
        repository=GitRepository(".", "0" * 40),
        checks=(),
        inputs=inputs,
    )


@pytest.fixture
def fixed(tmp_path: Path) -> Contract:
    """A contract whose judge input is a release with code, tests, a program and a link."""
    path = tmp_path / "fixed.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, mode in (
            ("code.py", 0o644),
            ("tests/test_a.py", 0o644),
            ("tests/run.sh", 0o755),
            ("testsuite", 0o644),
        ):
            data = name.encode()
            member = tarfile.TarInfo(f"plant-2.0/{name}")
            member.size, member.mode = len(data), mode
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("plant-2.0/tests/link")
        link.type, link.linkname = tarfile.SYMTYPE, "test_a.py"
        tar.addfile(link)
    return contract(tmp_path, Input("fixed", pinned(path), "judge"))


def test_hidden_files_come_out_of_a_release(fixed: Contract, cache: InputCache) -> None:
    hidden = Hidden(input="fixed", paths=("plant-2.0/tests",), strip=1)
    assert hidden_files(hidden, fixed, cache) == [
        (b"tests/link", 0o120000, b"test_a.py"),
        (b"tests/run.sh", 0o100755, b"tests/run.sh"),
        (b"tests/test_a.py", 0o100644, b"tests/test_a.py"),
    ]


def test_hidden_files_land_below_their_place(fixed: Contract, cache: InputCache) -> None:
    hidden = Hidden(input="fixed", paths=("*/tests/*.py",), strip=2, to="./deep//down/")
    assert [path for path, _, _ in hidden_files(hidden, fixed, cache)] == [b"deep/down/test_a.py"]


def test_a_reference_comes_out_of_a_release(fixed: Contract, cache: InputCache) -> None:
    reference = Reference(input="fixed", paths=("plant-2.0/code.py",), strip=1)
    assert reference_files(reference, fixed, cache) == [(b"code.py", 0o100644, b"code.py")]


def test_a_reference_that_is_a_patch_has_no_files(fixed: Contract, cache: InputCache) -> None:
    assert reference_files(Reference(patch=NamedFile("fix.patch", "0" * 64)), fixed, cache) == []


def test_paths_that_match_nothing_are_a_mistake(fixed: Contract, cache: InputCache) -> None:
    hidden = Hidden(input="fixed", paths=("tests",), strip=1)
    reference = Reference(input="fixed", paths=("code",))
    text = "reference:\n  from: fixed\n  paths: [code]\nchecks:\n- id: a\n  hidden: [{from: fixed, paths: [tests]}]\n"
    (fixed.directory / "contract.yaml").write_text(text)
    checks = (Check(id="a", gate="acceptance", run=("true",), hidden=(hidden,)),)
    with pytest.raises(CannotPlace, match="nothing in it matches the field paths") as caught:
        hidden_files(hidden, replace(fixed, checks=checks), cache)
    assert str(caught.value).startswith("contract.yaml:6:26: hidden files from 'fixed': ")
    with pytest.raises(CannotPlace) as caught:
        reference_files(reference, fixed, cache)
    assert str(caught.value).startswith("contract.yaml:3:3: the reference from 'fixed': ")


def test_an_input_that_is_not_there_is_a_mistake(fixed: Contract, cache: InputCache) -> None:
    with pytest.raises(CannotPlace, match="no input other"):
        hidden_files(Hidden(input="other"), fixed, cache)


def test_what_setup_may_see_cannot_be_hidden(tmp_path: Path, cache: InputCache) -> None:
    (tmp_path / "seen.txt").write_bytes(b"seen")
    shown = contract(tmp_path, Input("seen", pinned(tmp_path / "seen.txt"), "setup"))
    with pytest.raises(CannotPlace, match="for: judge"):
        hidden_files(Hidden(input="seen"), shown, cache)


def test_a_plain_file_can_be_hidden_as_it_is(tmp_path: Path, cache: InputCache) -> None:
    (tmp_path / "test_b.py").write_bytes(b"assert 1")
    whole = contract(tmp_path, Input("more", pinned(tmp_path / "test_b.py"), "judge"))
    assert hidden_files(Hidden(input="more", to="tests"), whole, cache) == [(b"tests/test_b.py", 0o100644, b"assert 1")]


def named(path: Path, root: Path, executable: bool = False) -> NamedFile:
    return NamedFile(str(path.relative_to(root)), hashlib.sha256(path.read_bytes()).hexdigest(), executable)


@pytest.fixture
def beside(tmp_path: Path) -> Hidden:
    """Hidden files in a directory of the contract."""
    place = tmp_path / "hidden/tests"
    place.mkdir(parents=True)
    (place / "test_a.py").write_bytes(b"a")
    (place / "run.sh").write_bytes(b"run")
    files = (named(place / "test_a.py", tmp_path), named(place / "run.sh", tmp_path, executable=True))
    return Hidden(directory="hidden", files=files)


def test_hidden_files_come_from_the_contract(tmp_path: Path, beside: Hidden, cache: InputCache) -> None:
    assert hidden_files(beside, contract(tmp_path), cache) == [
        (b"tests/run.sh", 0o100755, b"run"),
        (b"tests/test_a.py", 0o100644, b"a"),
    ]


def test_a_hidden_file_that_changed_after_loading_is_noticed(tmp_path: Path, beside: Hidden, cache: InputCache) -> None:
    (tmp_path / "hidden/tests/test_a.py").write_bytes(b"b")
    with pytest.raises(DigestMismatch, match="changed after it was loaded"):
        hidden_files(beside, contract(tmp_path), cache)


def test_a_hidden_file_that_went_away_is_named(tmp_path: Path, beside: Hidden, cache: InputCache) -> None:
    (tmp_path / "hidden/tests/test_a.py").unlink()
    with pytest.raises(NoSuchInput, match=r"test_a\.py"):
        hidden_files(beside, contract(tmp_path), cache)


@pytest.mark.parametrize("to", ["../up", "a/../../b", ".git/hooks", "sub/.GIT"])
def test_hidden_files_stay_in_the_tree(tmp_path: Path, beside: Hidden, cache: InputCache, to: str) -> None:
    climbing = Hidden(directory="hidden", files=beside.files, to=to)
    with pytest.raises(CannotPlace, match="cannot be placed"):
        hidden_files(climbing, contract(tmp_path), cache)


def test_setup_sees_its_inputs_and_no_others(tmp_path: Path, cache: InputCache) -> None:
    for name in ("tool.whl", "secret.whl"):
        (tmp_path / name).write_bytes(name.encode())
    whole = contract(
        tmp_path,
        Input("tool", pinned(tmp_path / "tool.whl"), "setup"),
        Input("secret", pinned(tmp_path / "secret.whl"), "judge"),
    )
    shown = inputs_directory(whole, cache, tmp_path / "scratch/inputs")
    assert [path.name for path in shown.iterdir()] == ["tool.whl"]
    assert (shown / "tool.whl").read_bytes() == b"tool.whl"
    assert (shown / "tool.whl").stat().st_mode & 0o777 == 0o444
    assert shown.stat().st_mode & 0o777 == 0o755


def test_two_inputs_may_share_a_file_but_not_a_name(tmp_path: Path, cache: InputCache) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.whl").write_bytes(place.encode())
    same = Source("archive", "a/x.whl", pinned(tmp_path / "a/x.whl").files)
    other = Source("archive", "b/x.whl", pinned(tmp_path / "b/x.whl").files)
    twice = contract(tmp_path, Input("one", same), Input("two", same))
    assert len(list(inputs_directory(twice, cache, tmp_path / "twice").iterdir())) == 1
    with pytest.raises(CannotPlace, match=r"different files named x\.whl"):
        inputs_directory(contract(tmp_path, Input("one", same), Input("two", other)), cache, tmp_path / "clash")


@pytest.mark.parametrize(
    ("path", "wanted", "expected"),
    [
        ("a/b", (), True),
        ("a/b", ("a",), True),
        ("a/b", ("a/",), True),
        ("ab/c", ("a",), False),
        ("a/b/c.py", ("a/**/*.py",), True),
        ("a/b/c.py", ("a/*.py",), False),
        ("a/b", ("x", "a/b"), True),
    ],
)
def test_paths_are_prefixes_or_globs(path: str, wanted: tuple[str, ...], expected: bool) -> None:
    assert selected(path, wanted) is expected
