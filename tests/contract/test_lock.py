"""The lock keeps what names resolved to, byte for byte, and notices when it no longer fits."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.base.errors import ContractError
from proctor.contract.load import load_contract
from proctor.contract.lock import Lock, Locked, read_lock, spec_text, write_lock
from proctor.contract.model import InputFile, Source

DIGESTS = st.integers(0, 10**6).map(lambda number: hashlib.sha256(str(number).encode()).hexdigest())
FILE_NAMES = st.from_regex(r"[A-Za-z0-9_+~][A-Za-z0-9 '\"#:_.+~\\-]{0,20}", fullmatch=True)
FILES = st.lists(st.builds(InputFile, FILE_NAMES, DIGESTS), min_size=1, max_size=4, unique_by=lambda file: file.name)
LOCKED = st.builds(Locked, st.from_regex(r"[a-z]{3,5} [a-z@/]{1,9}==[0-9.]{1,5}", fullmatch=True), FILES.map(tuple))
LOCKS = st.builds(
    Lock,
    st.dictionaries(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,9}", fullmatch=True), LOCKED, max_size=3),
    st.none() | LOCKED,
)


def in_order(locked: Locked) -> Locked:
    return Locked(locked.spec, tuple(sorted(locked.files, key=lambda file: file.name)))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lock=LOCKS)
def test_what_is_written_is_read(tmp_path: Path, lock: Lock) -> None:
    write_and_read(tmp_path, lock)


@pytest.mark.soak
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lock=LOCKS)
def test_what_is_written_is_read_many_times(tmp_path: Path, lock: Lock) -> None:
    write_and_read(tmp_path, lock)


def write_and_read(tmp_path: Path, lock: Lock) -> None:
    """A lock that is written, read and written again has the same content and the same bytes."""
    path = tmp_path / "contract.lock"
    write_lock(path, lock)
    first = path.read_bytes()
    found = read_lock(path)
    assert found.inputs == {name: in_order(locked) for name, locked in lock.inputs.items()}
    assert found.repository == (in_order(lock.repository) if lock.repository else None)
    write_lock(path, found)
    assert path.read_bytes() == first


def test_names_that_yaml_would_take_for_something_else(tmp_path: Path) -> None:
    locked = Locked("pypi 1==1", (InputFile("null", "1" * 64), InputFile("true", "0" * 64)))
    lock = Lock({"1": locked, "no": locked, "null": locked, "1.5": locked})
    write_lock(tmp_path / "contract.lock", lock)
    assert read_lock(tmp_path / "contract.lock") == lock


def test_an_absent_lock_is_empty(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "contract.lock") == Lock()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"[]", "expected a map"),
        (b"schema: 2\n", "expected 1, not 2"),
        (b"schema: 1\ninput: {}\n", "did you mean 'inputs'?"),
        (b"schema: 1\ninputs: {a: {files: []}}\n", "the key 'spec' is missing"),
        (b"schema: 1\ninputs: {a: {spec: x, files: []}}\n", "must not be empty"),
        (b"schema: 1\ninputs: {a: {spec: x, files: [{name: ../x, sha256: abc}]}}\n", "a file name without slashes"),
        (b"schema: 1\ninputs: {a: {spec: x, files: [{name: x, sha256: abc}]}}\n", "a SHA-256 digest"),
        (
            b"schema: 1\nrepository: {spec: x, files: [{name: x, sha256: %b}, {name: x, sha256: %b}]}"
            % (b"a" * 64, b"b" * 64),
            "a second file called 'x'",
        ),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_broken_lock(full: Path, data: bytes, words: str) -> None:
    (full / "contract.lock").write_bytes(data)
    with pytest.raises(ContractError) as caught:
        read_lock(full / "contract.lock")
    assert words in str(caught.value) and str(caught.value).startswith(f"{full}/contract.lock:")
    with pytest.raises(ContractError) as loaded:
        load_contract(full)
    assert words in str(loaded.value)


def test_a_lock_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "contract.lock")
    with pytest.raises(ContractError, match="not a regular file"):
        read_lock(tmp_path / "contract.lock")


@pytest.mark.parametrize(
    ("old", "new"), [("pytest==8.4.2", "pytest==8.4.3"), (", with_dependencies: true", ""), ("name: tools, ", "")]
)
def test_a_lock_that_no_longer_fits(full: Path, old: str, new: str) -> None:
    text = (full / "contract.yaml").read_text()
    (full / "contract.yaml").write_text(text.replace(old, new))
    with pytest.raises(ContractError, match="run proctor lock"):
        load_contract(full)


def test_the_contract_comes_before_the_lock(full: Path) -> None:
    """What the contract pins itself, no lock can change."""
    lock = read_lock(full / "contract.lock")
    other = Locked("pypi parse==1.22.3", (InputFile("other.tar.gz", "d" * 64),))
    write_lock(full / "contract.lock", Lock({**lock.inputs, "fixed": other, "gone": other}, other))
    contract = load_contract(full)
    assert contract.inputs[0].source.files == (InputFile("parse-1.22.3.tar.gz", "b" * 64),)


def test_a_repository_from_the_lock(full: Path) -> None:
    text = (full / "contract.yaml").read_text()
    (full / "contract.yaml").write_text(text.replace(f"file: parse-1.22.2.tar.gz, sha256: {'a' * 64}, ", ""))
    with pytest.raises(ContractError, match="is not pinned"):
        load_contract(full)
    locked = Locked(spec_text(Source("pypi", "parse==1.22.2")), (InputFile("parse-1.22.2.tar.gz", "d" * 64),))
    write_lock(full / "contract.lock", Lock(read_lock(full / "contract.lock").inputs, locked))
    repository = load_contract(full).repository
    assert getattr(repository, "source").files == locked.files  # noqa: B009
