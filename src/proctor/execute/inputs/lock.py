"""What ``proctor lock`` does: find out what every source of a contract means today, and write down the digests.

A source that the contract pins itself (``file`` and ``sha256``) is not part of the lock. What an earlier lock pinned
stays as it is while the contract asks for the same. Everything that is fetched on the way is kept in the cache, so that
the first run after locking needs no network. Two locks of the same contract agree as long as the registries do.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from proctor.contract.lock import Lock, Locked, spec_text
from proctor.contract.model import ArchiveRepository, Contract, InputFile, Source
from proctor.execute.inputs.fetch import InputCache, supplier
from proctor.execute.inputs.interface import NoSuchInput, Wish


def resolve_contract(contract: Contract, cache: InputCache, earlier: Lock | None = None) -> Lock:
    """The lock of ``contract``, loaded with ``allow_unpinned``; what ``earlier`` pinned and still fits is kept."""
    earlier = earlier or Lock()
    repository = None
    if isinstance(contract.repository, ArchiveRepository):
        source = contract.repository.source
        if not source.files:
            files = resolve(Wish(source), contract.directory, cache)
            repository = Locked(spec=spec_text(source), files=_one_tree(source.spec, files))
        elif earlier.repository is not None and earlier.repository.files == source.files:
            repository = earlier.repository
    inputs = {}
    for one in contract.inputs:
        if one.source.files:
            known = earlier.inputs.get(one.name)
            if known is not None and known.files == one.source.files:
                inputs[one.name] = known
            continue
        wish = Wish(one.source, built=one.audience == "setup", with_dependencies=one.with_dependencies)
        files = resolve(wish, contract.directory, cache)
        inputs[one.name] = Locked(spec=spec_text(one.source, one.with_dependencies), files=files)
    return Lock(inputs=inputs, repository=repository)


def with_lock(contract: Contract, lock: Lock) -> Contract:
    """``contract`` with the files that ``lock`` pins, for inputs that the contract does not pin itself."""

    def pinned(source: Source, locked: Locked | None) -> Source:
        return source if source.files or locked is None else replace(source, files=locked.files)

    repository = contract.repository
    if isinstance(repository, ArchiveRepository):
        repository = replace(repository, source=pinned(repository.source, lock.repository))
    inputs = tuple(replace(one, source=pinned(one.source, lock.inputs.get(one.name))) for one in contract.inputs)
    return replace(contract, repository=repository, inputs=inputs)


def resolve(wish: Wish, contract_directory: Path, cache: InputCache) -> tuple[InputFile, ...]:
    """The files that ``wish`` means today, kept in the cache."""
    with cache.fetching(wish.source) as directory:
        names = supplier(wish.source.kind).resolve(wish, contract_directory, directory)
        return tuple(cache.keep(directory / name, name) for name in names)


def _one_tree(spec: str, files: tuple[InputFile, ...]) -> tuple[InputFile, ...]:
    """The one archive among ``files`` that a repository can be made from."""
    if len(files) > 1:
        files = tuple(file for file in files if re.search(r"\.orig\.tar\.[a-z0-9]+$", file.name))
    if len(files) != 1:
        raise NoSuchInput(
            f"{spec} does not resolve to one archive", hint="name the archive with file and sha256 in the contract"
        )
    return files
