"""The cache: what is in it is what was pinned, whatever happens to the cache, the network or a second process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import ProctorError, UsageFault
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache, input_source
from proctor.execute.inputs.interface import DigestMismatch, NoSuchInput, NotPinned, Unreachable

DATA = b"some bytes" * 1000
DIGEST = hashlib.sha256(DATA).hexdigest()


def pinned(spec: str, name: str = "x.tar.gz", digest: str = DIGEST) -> Source:
    return Source("archive", spec, (InputFile(name, digest),))


@pytest.fixture
def cache(tmp_path: Path) -> InputCache:
    return InputCache(tmp_path / "inputs")


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    directory = tmp_path / "contract"
    directory.mkdir()
    (directory / "x.tar.gz").write_bytes(DATA)
    return directory


def test_a_local_archive_is_kept_under_its_digest(cache: InputCache, contract: Path) -> None:
    assert cache.path(InputFile("x.tar.gz", DIGEST)) is None
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    assert path == cache.root / DIGEST / "x.tar.gz"
    assert path.read_bytes() == DATA
    assert cache.path(InputFile("x.tar.gz", DIGEST)) == path
    assert not path.stat().st_mode & 0o222


def test_what_is_in_the_cache_needs_no_source(cache: InputCache, contract: Path) -> None:
    cache.ensure(pinned("x.tar.gz"), contract)
    (contract / "x.tar.gz").unlink()
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    assert path.read_bytes() == DATA


def test_other_bytes_than_the_pinned_ones_are_refused(cache: InputCache, contract: Path) -> None:
    wrong = "0" * 64
    with pytest.raises(DigestMismatch) as caught:
        cache.ensure(pinned("x.tar.gz", digest=wrong), contract)
    assert caught.value.exit_code == 2
    assert DIGEST in str(caught.value)
    assert wrong in str(caught.value)
    assert not list(cache.root.rglob("x.tar.gz"))


def test_a_missing_archive_is_named(cache: InputCache, contract: Path) -> None:
    with pytest.raises(NoSuchInput, match=r"gone\.tar"):
        cache.ensure(pinned("gone.tar"), contract)


@pytest.mark.parametrize("spec", ["../outside", "link", "/etc/passwd"])
def test_an_archive_outside_the_contract_is_refused(cache: InputCache, contract: Path, spec: str) -> None:
    (contract.parent / "outside").write_bytes(DATA)
    (contract / "link").symlink_to(contract.parent / "outside")
    with pytest.raises(NoSuchInput, match="outside"):
        cache.ensure(pinned(spec), contract)


def test_an_archive_that_is_a_pipe_is_refused(cache: InputCache, contract: Path) -> None:
    os.mkfifo(contract / "pipe")
    with pytest.raises(NoSuchInput, match="regular file"):
        cache.ensure(pinned("pipe"), contract)


def test_an_unpinned_source_asks_for_a_lock(cache: InputCache, contract: Path) -> None:
    with pytest.raises(NotPinned, match="proctor lock"):
        cache.ensure(Source("pypi", "parse==1.22.2"), contract)


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "a\0b"])
def test_names_never_lead_out_of_the_cache(cache: InputCache, contract: Path, name: str) -> None:
    with pytest.raises(NoSuchInput):
        cache.ensure(pinned("x.tar.gz", name=name), contract)


@pytest.mark.parametrize("digest", ["", "abc", "../" + "0" * 61, "A" * 64, DIGEST + "0"])
def test_only_digests_name_entries(cache: InputCache, contract: Path, digest: str) -> None:
    with pytest.raises(ProctorError):
        cache.ensure(pinned("x.tar.gz", digest=digest), contract)


def test_changed_bytes_in_the_cache_are_noticed_and_replaced(cache: InputCache, contract: Path) -> None:
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.chmod(0o644)
    path.write_bytes(b"Some bytes" * 1000)
    os.utime(path, ns=times)
    assert cache.path(InputFile("x.tar.gz", DIGEST)) is None
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    assert path.read_bytes() == DATA


def test_a_truncated_cache_entry_is_replaced(cache: InputCache, contract: Path) -> None:
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    os.truncate(path, 10)
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    assert path.read_bytes() == DATA


def test_a_link_in_place_of_a_cache_entry_is_not_followed(cache: InputCache, contract: Path) -> None:
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    path.unlink()
    path.symlink_to(contract / "x.tar.gz")
    assert cache.path(InputFile("x.tar.gz", DIGEST)) is None
    (path,) = cache.ensure(pinned("x.tar.gz"), contract)
    assert not path.is_symlink()


def test_an_unchanged_entry_is_hashed_once(cache: InputCache, contract: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.ensure(pinned("x.tar.gz"), contract)

    def refuse(path: Path) -> str:
        raise AssertionError(f"hashed {path} again")

    monkeypatch.setattr("proctor.execute.inputs.input_cache.hash_file", refuse)
    assert cache.path(InputFile("x.tar.gz", DIGEST)) is not None
    cache.ensure(pinned("x.tar.gz"), contract)


def test_one_content_may_have_two_names(cache: InputCache, contract: Path) -> None:
    (contract / "y.tar.gz").write_bytes(DATA)
    cache.ensure(pinned("x.tar.gz"), contract)
    cache.ensure(pinned("y.tar.gz", name="y.tar.gz"), contract)
    for name in ("x.tar.gz", "y.tar.gz"):
        found = cache.path(InputFile(name, DIGEST))
        assert found is not None
        assert found.name == name


def test_nothing_half_fetched_stays_behind(cache: InputCache, contract: Path) -> None:
    with pytest.raises(DigestMismatch):
        cache.ensure(pinned("x.tar.gz", digest="1" * 64), contract)
    cache.ensure(pinned("x.tar.gz"), contract)
    assert [path for path in cache.root.iterdir() if path.is_dir()] == [cache.root / DIGEST]


def test_leftovers_of_a_killed_fetch_are_swept(cache: InputCache, contract: Path) -> None:
    with cache.fetching(pinned("x.tar.gz")) as directory:
        stale = directory.with_name(directory.name + "-stale")
        stale.mkdir()
        (stale / "part").write_bytes(b"half")
    cache.ensure(pinned("x.tar.gz"), contract)
    assert not stale.exists()


def test_an_address_is_fetched(cache: InputCache, contract: Path, server: Any) -> None:
    server.files["/d/x.tar.gz"] = DATA
    (path,) = cache.ensure(pinned(f"{server.address}/d/x.tar.gz?token=1"), contract)
    assert path.read_bytes() == DATA


def test_a_truncated_download_is_tried_again_and_then_unreachable(
    cache: InputCache, contract: Path, server: Any
) -> None:
    server.files["/x.tar.gz"] = DATA
    server.broken.add("/x.tar.gz")
    with pytest.raises(Unreachable) as caught:
        cache.ensure(pinned(f"{server.address}/x.tar.gz"), contract)
    assert caught.value.exit_code == 3
    assert server.asked == ["/x.tar.gz"] * 3
    server.broken.clear()
    cache.ensure(pinned(f"{server.address}/x.tar.gz"), contract)


def test_a_passing_fault_of_a_server_is_survived(cache: InputCache, contract: Path, server: Any) -> None:
    server.files["/x.tar.gz"] = DATA
    server.statuses["/x.tar.gz"] = [503, 502]
    (path,) = cache.ensure(pinned(f"{server.address}/x.tar.gz"), contract)
    assert path.read_bytes() == DATA


def test_an_address_without_a_file_is_asked_twice(cache: InputCache, contract: Path, server: Any) -> None:
    with pytest.raises(NoSuchInput, match="404"):
        cache.ensure(pinned(f"{server.address}/x.tar.gz"), contract)
    assert server.asked == ["/x.tar.gz"] * 2


def test_no_server_at_all_is_an_infrastructure_fault(cache: InputCache, contract: Path, server: Any) -> None:
    server.close()
    with pytest.raises(Unreachable) as caught:
        cache.ensure(pinned(f"{server.address}/x.tar.gz"), contract)
    assert caught.value.exit_code == 3
    assert len(str(caught.value).splitlines()) <= 2


def test_a_download_is_bounded(cache: InputCache, contract: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.execute.inputs.archive.MAX_FILE_BYTES", 100)
    server.files["/x.tar.gz"] = DATA
    with pytest.raises(NoSuchInput, match="larger than 100 bytes"):
        cache.ensure(pinned(f"{server.address}/x.tar.gz"), contract)


SECOND_PROCESS = """
import sys
from pathlib import Path
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache
root, address, digest = sys.argv[1:]
print(InputCache(Path(root)).ensure(Source("archive", address, (InputFile("x.tar.gz", digest),)), Path(root))[0])
"""


def test_processes_that_want_the_same_fetch_it_once(cache: InputCache, server: Any) -> None:
    server.files["/x.tar.gz"] = DATA
    command = [sys.executable, "-c", SECOND_PROCESS, str(cache.root), f"{server.address}/x.tar.gz", DIGEST]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) for _ in range(4)]
    for child in started:
        out, _ = child.communicate(timeout=120)
        assert child.returncode == 0
        assert Path(out.decode().strip()) == cache.root / DIGEST / "x.tar.gz"
    assert server.asked == ["/x.tar.gz"]


def test_an_unknown_kind_has_no_source() -> None:
    with pytest.raises(UsageFault, match="no installed package provides the input source 'gopher'"):
        input_source("gopher")
