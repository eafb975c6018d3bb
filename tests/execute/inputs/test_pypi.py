"""Python releases: a real pip against a loopback index."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache, resolve
from proctor.execute.inputs.interface import DigestMismatch, InputRequest, NoSuchInput, Unreachable
from proctor.execute.inputs.pypi import PypiSupplier, project_of


@pytest.fixture
def cache(tmp_path: Path) -> InputCache:
    return InputCache(tmp_path / "inputs")


def wish(spec: str, built: bool = False, with_dependencies: bool = False) -> InputRequest:
    return InputRequest(Source("pypi", spec), built, with_dependencies)


def test_sources_are_fetched_and_their_build_never_runs(cache: InputCache, index: Any, tmp_path: Path) -> None:
    digest = index.add_sources("plant", "1.0")
    file = InputFile("plant-1.0.tar.gz", digest)
    (path,) = cache.ensure(Source("pypi", "plant==1.0", (file,)), tmp_path)
    assert path == cache.root / digest / "plant-1.0.tar.gz"
    assert list(index.marks.iterdir()) == []


def test_a_lock_takes_the_sources_of_the_exact_release(cache: InputCache, index: Any, tmp_path: Path) -> None:
    index.add_sources("plant", "1.0")
    digest = index.add_sources("plant", "1.0.1")
    index.add_wheel("plant", "1.0.1")
    index.add_sources("plant", "1.0.1.post1")
    assert resolve(wish("plant==1.0.1"), tmp_path, cache) == (InputFile("plant-1.0.1.tar.gz", digest),)
    assert list(index.marks.iterdir()) == []


def test_a_lock_for_setup_takes_the_wheel_that_fits(cache: InputCache, index: Any, tmp_path: Path) -> None:
    index.add_sources("plant", "1.0")
    index.add_wheel("plant", "1.0", tag="cp27-cp27m-win32")
    digest = index.add_wheel("plant", "1.0")
    assert resolve(wish("plant==1.0", built=True), tmp_path, cache) == (
        InputFile("plant-1.0-py3-none-any.whl", digest),
    )


def test_a_closure_is_made_of_wheels(cache: InputCache, index: Any, tmp_path: Path) -> None:
    index.add_wheel("plant", "1.0", requires="soil>=2")
    index.add_wheel("soil", "1.0")
    index.add_wheel("soil", "2.5")
    index.add_sources("soil", "2.6")
    files = resolve(wish("plant==1.0", built=True, with_dependencies=True), tmp_path, cache)
    assert [file.name for file in files] == ["plant-1.0-py3-none-any.whl", "soil-2.5-py3-none-any.whl"]
    assert list(index.marks.iterdir()) == []


def test_a_pinned_closure_is_fetched_again_file_by_file(cache: InputCache, index: Any, tmp_path: Path) -> None:
    index.add_wheel("plant", "1.0", requires="soil_type>=2")
    index.add_wheel("soil_type", "2.5")
    index.links["soil-type"] = index.links.pop("soil_type")
    index.server.files["/simple/soil-type/"] = index.server.files.pop("/simple/soil_type/")
    files = resolve(wish("plant==1.0", built=True, with_dependencies=True), tmp_path, cache)
    other = InputCache(tmp_path / "other")
    assert len(other.ensure(Source("pypi", "plant==1.0", files), tmp_path)) == 2


def test_an_index_that_now_serves_other_bytes_is_noticed(cache: InputCache, index: Any, tmp_path: Path) -> None:
    digest = index.add_sources("plant", "1.0")
    index.server.files["/files/plant-1.0.tar.gz"] += b"more"
    with pytest.raises(DigestMismatch, match=digest):
        cache.ensure(Source("pypi", "plant==1.0", (InputFile("plant-1.0.tar.gz", digest),)), tmp_path)


@pytest.mark.parametrize("spec", ["plant==2.0", "weed==1.0"])
def test_a_release_that_does_not_exist_is_the_contracts_mistake(
    cache: InputCache, index: Any, tmp_path: Path, spec: str
) -> None:
    index.add_sources("plant", "1.0")
    with pytest.raises(NoSuchInput, match=spec):
        resolve(wish(spec), tmp_path, cache)
    with pytest.raises(NoSuchInput):
        resolve(wish(spec, built=True, with_dependencies=True), tmp_path, cache)


def test_a_file_that_is_not_in_the_index_is_named(cache: InputCache, index: Any, tmp_path: Path) -> None:
    index.add_sources("plant", "1.0")
    source = Source("pypi", "plant==1.0", (InputFile("plant-1.0.zip", "0" * 64),))
    with pytest.raises(NoSuchInput, match=r"plant-1\.0\.zip"):
        cache.ensure(source, tmp_path)


def test_a_truncated_release_is_unreachable(cache: InputCache, index: Any, tmp_path: Path) -> None:
    digest = index.add_sources("plant", "1.0")
    index.server.broken.add("/files/plant-1.0.tar.gz")
    with pytest.raises(Unreachable) as caught:
        cache.ensure(Source("pypi", "plant==1.0", (InputFile("plant-1.0.tar.gz", digest),)), tmp_path)
    assert caught.value.exit_code == 3


def test_an_index_out_of_reach_is_not_an_index_without_the_release(
    cache: InputCache, index: Any, tmp_path: Path
) -> None:
    index.server.close()
    with pytest.raises(Unreachable, match=r"could not fetch plant==.* with pip"):
        resolve(wish("plant==1.0"), tmp_path, cache)
    with pytest.raises(Unreachable, match=r"could not fetch plant==.* with pip"):
        resolve(wish("plant==1.0", built=True, with_dependencies=True), tmp_path, cache)


@pytest.mark.parametrize("spec", ["plant", "==1.0", "--index-url==x", "plant==1.0 --pre"])
def test_a_spec_is_a_release_and_never_an_option(cache: InputCache, tmp_path: Path, spec: str) -> None:
    with pytest.raises(NoSuchInput):
        resolve(wish(spec), tmp_path, cache)


def test_files_belong_to_projects() -> None:
    assert project_of("typing_extensions-4.1.0-py3-none-any.whl", "other") == "typing-extensions"
    assert project_of("parse-1.0.tar.gz", "parse") == "parse"
    assert project_of("coverage-1.0.tar.gz", "coverage[toml]") == "coverage"


@pytest.mark.corpus
def test_a_real_release_has_the_pinned_digest(tmp_path: Path) -> None:
    digest = "8ff0b98202798b8cefa4f8fac06b670d6d00e5ec6ecbbacaf97ac0d0e93a54e6"
    into = tmp_path / "into"
    into.mkdir()
    names = PypiSupplier().resolve(wish("parse==1.22.2"), tmp_path, into)
    assert names == ("parse-1.22.2.tar.gz",)
    assert hashlib.sha256((into / names[0]).read_bytes()).hexdigest() == digest
