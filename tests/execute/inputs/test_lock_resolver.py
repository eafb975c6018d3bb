"""What ``proctor lock`` writes down: every source by name, and only those that the contract does not pin itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.load import load_contract
from proctor.contract.lock import LOCK_NAME, read_lock, write_lock
from proctor.contract.model import ArchiveRepository, Input, InputFile
from proctor.execute.inputs.input_cache import InputCache, resolve_contract
from proctor.execute.inputs.interface import NoSuchInput


def test_a_locked_contract_loads_and_needs_no_network(make_contract: Any, index: Any, tmp_path: Path) -> None:
    old = index.add_sources("plant", "1.0")
    new = index.add_sources("plant", "1.1")
    pinned = index.add_sources("soil", "1.0")
    wheel = index.add_wheel("tester", "2.0", requires="part")
    part = index.add_wheel("part", "0.1")
    place = make_contract(
        repository={"pypi": "plant==1.0", "strip": 1},
        inputs=[
            {"name": "fixed", "pypi": "plant==1.1", "for": "judge"},
            {"name": "tools", "pypi": "tester==2.0", "with_dependencies": True},
            {"pypi": "soil==1.0", "file": "soil-1.0.tar.gz", "sha256": pinned},
        ],
    )
    cache = InputCache(tmp_path / "inputs")
    write_lock(place / LOCK_NAME, resolve_contract(load_contract(place, allow_unpinned=True), cache))
    assert sorted(read_lock(place / LOCK_NAME).inputs) == ["fixed", "tools"]
    contract = load_contract(place)
    assert isinstance(contract.repository, ArchiveRepository)
    assert contract.repository.source.files == (InputFile("plant-1.0.tar.gz", old),)
    files = {one.name: one.source.files for one in contract.inputs}
    assert files["fixed"] == (InputFile("plant-1.1.tar.gz", new),)
    assert files["tools"] == (
        InputFile("part-0.1-py3-none-any.whl", part),
        InputFile("tester-2.0-py3-none-any.whl", wheel),
    )
    index.server.files.clear()
    for source in (contract.repository.source, *(one.source for one in contract.inputs[:2])):
        cache.ensure(source, place)


def test_locking_twice_gives_the_same(make_contract: Any, index: Any, tmp_path: Path) -> None:
    index.add_sources("plant", "1.0")
    place = make_contract(repository={"pypi": "plant==1.0", "strip": 1})
    contract = load_contract(place, allow_unpinned=True)
    locks = []
    for name in ("one", "two"):
        write_lock(tmp_path / name, resolve_contract(contract, InputCache(tmp_path / f"{name}-inputs")))
        locks.append((tmp_path / name).read_bytes())
    assert locks[0] == locks[1]


APT = """
[ "$1" = update ] && exit 0
printf dsc > tree_1.0-1.dsc; printf orig > tree_1.0.orig.tar.gz; printf sig > tree_1.0.orig.tar.gz.asc
printf rules > tree_1.0-1.debian.tar.xz
"""


def test_the_repository_of_a_source_package_is_what_its_authors_released(
    make_contract: Any, program: Callable[[str, str], Path], tmp_path: Path
) -> None:
    program("apt-get", APT)
    place = make_contract(repository={"deb": "tree==1.0-1", "strip": 1}, inputs=[{"deb": "tree==1.0-1"}])
    lock = resolve_contract(load_contract(place, allow_unpinned=True), InputCache(tmp_path / "inputs"))
    assert lock.repository is not None
    assert [file.name for file in lock.repository.files] == ["tree_1.0.orig.tar.gz"]
    assert len(lock.inputs["tree"].files) == 4


def test_a_source_package_without_one_such_archive_is_refused(
    make_contract: Any, program: Callable[[str, str], Path], tmp_path: Path
) -> None:
    program("apt-get", APT.replace("tree_1.0.orig.tar.gz;", "tree_1.0.tar.gz;"))
    place = make_contract(repository={"deb": "tree==1.0-1", "strip": 1})
    contract = load_contract(place, allow_unpinned=True)
    with pytest.raises(NoSuchInput, match="one archive"):
        resolve_contract(contract, InputCache(tmp_path / "inputs"))


def test_an_input_for_setup_is_something_that_can_be_installed(make_contract: Any, index: Any, tmp_path: Path) -> None:
    index.add_sources("plant", "1.0")
    index.add_wheel("plant", "1.0")
    wheel, sources = ({"name": name, "pypi": "plant==1.0", "for": name} for name in ("setup", "judge"))
    contract = load_contract(make_contract(inputs=[wheel, sources]), allow_unpinned=True)
    assert all(isinstance(one, Input) for one in contract.inputs)
    lock = resolve_contract(contract, InputCache(tmp_path / "inputs"))
    assert lock.inputs["setup"].files[0].name == "plant-1.0-py3-none-any.whl"
    assert lock.inputs["judge"].files[0].name == "plant-1.0.tar.gz"


def test_locking_a_locked_contract_keeps_what_is_pinned(make_contract: Any, index: Any, tmp_path: Path) -> None:
    index.add_sources("plant", "1.0")
    index.add_sources("plant", "1.1")
    place = make_contract(
        repository={"pypi": "plant==1.0", "strip": 1}, inputs=[{"name": "fixed", "pypi": "plant==1.1", "for": "judge"}]
    )
    cache, path = InputCache(tmp_path / "inputs"), place / LOCK_NAME
    write_lock(path, resolve_contract(load_contract(place, allow_unpinned=True), cache))
    first = path.read_bytes()
    write_lock(path, resolve_contract(load_contract(place, allow_unpinned=True), cache, read_lock(path)))
    assert path.read_bytes() == first
