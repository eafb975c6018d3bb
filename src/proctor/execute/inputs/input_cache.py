"""The cache of inputs.

Fetch each file by name, check its digest, and resolve the digests that ``proctor lock`` writes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.base.canonical import sha256
from proctor.base.entry_points import INPUT_SOURCES, PlugIns, lacks_methods
from proctor.base.errors import InfrastructureFault
from proctor.base.files import write_whole
from proctor.base.untrusted_directories import erase
from proctor.contract.lock import Lock, Locked, spec_text
from proctor.contract.model import SOURCES, ArchiveRepository, Contract, InputFile, Source
from proctor.execute.inputs.archive import ArchiveSupplier
from proctor.execute.inputs.deb import DebSupplier
from proctor.execute.inputs.interface import DigestMismatch, InputRequest, InputSource, NoSuchInput, NotPinned
from proctor.execute.inputs.npm import NpmSupplier
from proctor.execute.inputs.pypi import PypiSupplier

DIGEST = re.compile(r"[0-9a-f]{64}\Z")
CHUNK_BYTES = 1 << 20


class InputCache:
    """A directory of fetched files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, file: InputFile) -> Path | None:
        """The path of the checked bytes of ``file``, or ``None`` if they are not cached."""
        _check_name(file)
        path = self.root / file.sha256 / file.name
        state = _state(path)
        if state is None:
            return None
        if state in _lines(self.root / f"{file.sha256}.ok"):
            return path
        if hash_file(path) != file.sha256:
            path.unlink(missing_ok=True)
            return None
        self._mark(file.sha256, state)
        return path

    def ensure(self, source: Source, contract_directory: Path) -> tuple[Path, ...]:
        """The files of a pinned ``source`` in their order, fetched where they are missing."""
        if not source.files:
            raise NotPinned(f"{source.kind} source {source.spec} is not pinned", hint="run proctor lock")
        found = [self.path(file) for file in source.files]
        if all(found):
            return tuple(path for path in found if path)
        with self.fetching(source) as directory:
            missing = tuple(file for file in source.files if self.path(file) is None)
            if missing:
                fetch(source, missing, contract_directory, directory)
                for file in missing:
                    self._adopt(source, file, directory)
        paths = tuple(path for file in source.files if (path := self.path(file)) is not None)
        if len(paths) != len(source.files):
            raise InfrastructureFault("files disappear from the input cache", where=str(self.root))
        return paths

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the cache from being emptied for the time of a ``with`` block."""
        handle = self._open()
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            yield
        finally:
            os.close(handle)

    def empty(self) -> tuple[str, ...] | None:
        """Remove everything and return the names; ``None`` if another process uses the cache."""
        handle = self._open()
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            names = tuple(sorted(path.name for path in self.root.iterdir()))
            for name in names:
                erase(self.root / name)
            return names
        finally:
            os.close(handle)

    @contextmanager
    def fetching(self, source: Source) -> Iterator[Path]:
        """An empty directory to fetch ``source`` into, while no other process fetches it."""
        with self.in_use():
            key = sha256(f"{source.kind} {source.spec}".encode())[7:39]
            lock = os.open(self.root / f".{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for stale in self.root.glob(f".{key}-*"):
                    erase(stale)
                directory = Path(tempfile.mkdtemp(dir=self.root, prefix=f".{key}-"))
                try:
                    yield directory
                finally:
                    erase(directory)
            finally:
                os.close(lock)

    def keep(self, path: Path, name: str) -> InputFile:
        """Move a freshly fetched file into the cache, whatever its bytes are, and say what they are."""
        file = InputFile(name=name, sha256=hash_file(path))
        _check_name(file)
        place = self.root / file.sha256
        place.mkdir(exist_ok=True)
        os.chmod(path, 0o444)
        os.replace(path, place / name)
        return file

    def _open(self) -> int:
        """A handle of the cache's directory, on which its lock is held."""
        self.root.mkdir(parents=True, exist_ok=True)
        return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _adopt(self, source: Source, file: InputFile, directory: Path) -> None:
        """Take ``file`` over from the directory it was fetched into, if it is the pinned one."""
        path = directory / file.name
        if _state(path) is None:
            raise NoSuchInput(f"{source.kind} source {source.spec} has no file {file.name}", hint="run proctor lock")
        require_digest(path, file, source)
        self.keep(path, file.name)

    def _mark(self, digest: str, state: str) -> None:
        """Remember the ``state`` that a file had before its bytes were hashed and found right."""
        mark = self.root / f"{digest}.ok"
        present = {found for path in (self.root / digest).iterdir() if (found := _state(path)) is not None}
        states = sorted((present & set(_lines(mark))) | {state})
        write_whole(mark, "\n".join(states).encode(), sync=False)


BUILT_IN: dict[str, InputSource] = {
    "archive": ArchiveSupplier(),
    "pypi": PypiSupplier(),
    "npm": NpmSupplier(),
    "deb": DebSupplier(),
}


def _problems(source: Any, name: str) -> Iterator[str]:
    """What keeps the source ``name`` of a package from being used."""
    if isinstance(source, type):
        yield "it is a class, not an object: create an instance"
    yield from lacks_methods(source, "fetch", "resolve")


PLUG_INS: PlugIns[InputSource] = PlugIns(INPUT_SOURCES, "input source", SOURCES, _problems)


def input_source(kind: str) -> InputSource:
    """The source of inputs of ``kind``."""
    return BUILT_IN.get(kind) or PLUG_INS.require(kind)


def fetch(source: Source, files: tuple[InputFile, ...], contract_directory: Path, into: Path) -> None:
    """Have ``files`` of the pinned ``source`` fetched into the directory ``into``."""
    with PLUG_INS.at_work(source.kind):
        input_source(source.kind).fetch(source, files, contract_directory, into)


def _resolved(request: InputRequest, contract_directory: Path, into: Path) -> tuple[str, ...]:
    """The names of the files that ``request`` means today, which are in the directory ``into``."""
    kind = request.source.kind
    with PLUG_INS.at_work(kind):
        names = input_source(kind).resolve(request, contract_directory, into)
    if kind not in BUILT_IN:
        if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
            raise PLUG_INS.failed(kind, "resolve() does not return a tuple of file names")
        absent = [name for name in names if "/" in name or _state(into / name) is None]
        if absent:
            raise PLUG_INS.failed(kind, f"resolve() names the file {absent[0][:100]!r}, which it has not fetched")
    return names


def hash_file(path: Path) -> str:
    """The hexadecimal SHA-256 of a regular file."""
    summer = hashlib.sha256()
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        while data := file.read(CHUNK_BYTES):
            summer.update(data)
    return summer.hexdigest()


def require_digest(path: Path, file: InputFile, source: Source) -> None:
    """Refuse the file at ``path`` if it is not the pinned ``file`` of ``source``."""
    observed = hash_file(path)
    if observed != file.sha256:
        again = "write its digest into contract.yaml" if source.kind == "archive" else "run proctor lock"
        raise DigestMismatch(
            f"{file.name} of {source.spec} is not the pinned file:"
            f"\n  expected sha256 {file.sha256}\n  found    sha256 {observed}",
            hint=f"if the new file is the right one, {again}",
        )


def _check_name(file: InputFile) -> None:
    """Refuse names and digests that could lead out of the cache."""
    name = file.name
    if not name or name.startswith(".") or "/" in name or "\0" in name or not DIGEST.match(file.sha256):
        raise NoSuchInput(f"not a file name with a digest: {name!r}, {file.sha256!r}")


def _state(path: Path) -> str | None:
    """What the file system says about the regular file ``path``; writing to it changes this."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_dev} {path.name}"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def resolve_contract(contract: Contract, cache: InputCache, earlier: Lock | None = None) -> Lock:
    """The lock of ``contract``, loaded with ``allow_unpinned``; what ``earlier`` pinned and still fits is kept."""
    earlier = earlier or Lock()
    repository = None
    if isinstance(contract.repository, ArchiveRepository):
        source = contract.repository.source
        if not source.files:
            files = resolve(InputRequest(source), contract.directory, cache)
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
        request = InputRequest(one.source, built=one.audience == "setup", with_dependencies=one.with_dependencies)
        files = resolve(request, contract.directory, cache)
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


def resolve(request: InputRequest, contract_directory: Path, cache: InputCache) -> tuple[InputFile, ...]:
    """The files that ``request`` resolves to now, stored in the cache."""
    with cache.fetching(request.source) as directory:
        names = _resolved(request, contract_directory, directory)
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
