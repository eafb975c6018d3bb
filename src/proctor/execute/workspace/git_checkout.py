"""A pinned commit as a tree of plain files with a repository that knows the past and nothing else.

Objects are taken from the source, its configuration is never read. Every object is checked against its name, so the
commit's name vouches for all of it. The ``.git`` that is written holds exactly what the commit reaches: no newer or
dangling object, no other ref, no remote, no log. Files hold the bytes of their blobs: no line-end conversion, no
``ident``, no filter. Submodules come as plain files without a repository of their own; each has to be declared with
the commit that the tree names.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.clock import NANOSECONDS
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.base.files import read_bounded
from proctor.base.process import Completed
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import split
from proctor.contract.model import Submodule
from proctor.execute.workspace.git_repository import OwnRepository, new_repository, scratch_repository
from proctor.execute.workspace.patch_parser import quote

__all__ = ["BadRepository", "export_commit", "read_commit"]

_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://|[^/\s]+:(?!/)", re.IGNORECASE)
_SCHEMES = ("https", "http", "ssh", "git")
_AS_THEY_ARE = b"* -text !eol !crlf !ident !filter !working-tree-encoding\n"
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\ttrustctime = false\n\tcheckStat = minimal\n"
_SMALL = 1 << 20
_TRANSFER_SECONDS = 3600


class BadRepository(ProctorError):
    """A repository, commit or submodule that cannot be used as the contract names it."""

    exit_code = 2


def export_commit(
    source: str | Path,
    commit: str,
    submodules: Iterable[Submodule],
    destination: Path,
    *,
    scratch: Path | None = None,
) -> None:
    """Fill the empty directory ``destination`` with the tree of ``commit`` and a repository of its past."""
    declared = {os.fsencode(submodule.path): submodule for submodule in submodules}
    with tempfile.TemporaryDirectory(prefix="proctor-git-", dir=scratch) as name:
        work = Path(name)
        (work / "home").mkdir()
        links = _export(source, commit, destination, destination / ".git", work / "0")
        waiting = [(path, linked) for path, linked in links.items()]
        used: set[bytes] = set()
        while waiting:
            path, linked = waiting.pop()
            submodule = _declared(path, linked, declared)
            used.add(path)
            place = destination / os.fsdecode(path)
            inner = _export(submodule.git, linked, place, work / f"{len(used)}-git", work / str(len(used)))
            waiting.extend((path + b"/" + below, commit) for below, commit in inner.items())
        for path in declared.keys() - used:
            raise BadRepository(f"the commit has no submodule {name_text(path)}", where=str(source))


@contextmanager
def read_commit(source: Path, commit: str) -> Iterator[Callable[[bytes], tuple[int, bytes] | None]]:
    """Reads files of ``commit``, mode and bytes, out of the repository in ``source``; nothing is copied."""
    with scratch_repository() as lender:
        borrow(lender, source)
        _require_commit(lender, source, commit)

        def read(path: bytes) -> tuple[int, bytes] | None:
            listed = lender.git("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
            facts, _, found = listed.stdout.rstrip(b"\0").partition(b"\t")
            mode, kind, name = facts.split(b" ") if found == path else (b"", b"", b"")
            return (int(mode, 8), lender.git("cat-file", "blob", name).stdout) if kind == b"blob" else None

        yield read


def _declared(path: bytes, linked: str, declared: dict[bytes, Submodule]) -> Submodule:
    """The declaration of the submodule at ``path``, which has to name the commit that the tree names."""
    submodule = declared.get(path)
    if submodule is None:
        hint = f"add it to repository.submodules with its address and commit {linked}"
        raise BadRepository(f"submodule {name_text(path)} is not declared", hint=hint)
    if submodule.commit != linked:
        raise BadRepository(
            f"submodule {name_text(path)} is pinned to {submodule.commit}, but the tree names {linked}",
            hint="correct repository.submodules",
        )
    return submodule


def _export(source: str | Path, commit: str, tree: Path, repository: Path, work: Path) -> dict[bytes, str]:
    """Write one commit's tree to ``tree`` and its past to ``repository``; the submodules that the tree names."""
    if not _COMMIT.match(commit):
        raise BadRepository(f"not a full commit name: {commit}", hint="give all 40 hexadecimal digits")
    home = work.parent / "home"
    new_repository(work)
    lender = OwnRepository(work, home)
    if (address := address_of(source)) is not None:
        _fetch(lender, address, commit)
    else:
        borrow(lender, Path(source))
    _require_commit(lender, source, commit)
    new_repository(repository, bare=False)
    _copy_past(lender, source, commit, repository)
    return _check_out(OwnRepository(repository, home, tree=tree), commit)


def address_of(source: str | Path) -> str | None:
    """``source`` where it is an address to fetch from; ``None`` for a directory."""
    if isinstance(source, Path) or os.path.isdir(source):
        return None
    match = _ADDRESS.match(source)
    if match is None:
        return None
    if "::" in match[0] + source[match.end() : match.end() + 1] or (match[1] and match[1].lower() not in _SCHEMES):
        raise BadRepository(f"cannot fetch from {source}", hint=f"use a path or one of {', '.join(_SCHEMES)}")
    return source


def borrow(lender: OwnRepository, source: Path) -> None:
    """Let ``lender`` read the objects of the repository in the directory ``source``."""
    store = git_directory(source)
    (lender.path / "objects/info").mkdir()
    (lender.path / "objects/info/alternates").write_bytes(quote(os.fsencode(store / "objects")) + b"\n")
    if (store / "shallow").is_file():
        (lender.path / "shallow").write_bytes(read_bounded(store / "shallow", _SMALL))


def git_directory(source: Path) -> Path:
    """The directory with the objects that belong to ``source``: a bare repository, a checkout or a linked one."""
    try:
        place = _shared_place(source)
        is_repository = (place / "objects").is_dir()
    except (OSError, ValueError):  # a name that is too long, or that no file can have
        is_repository = False
    if not is_repository:
        raise BadRepository("not a git repository", where=str(source), hint="name the directory of a git repository")
    return place


def _shared_place(source: Path) -> Path:
    """Where ``source`` says that its objects are."""
    place = source.resolve()
    inner = place / ".git"
    if inner.is_file():
        text = read_bounded(inner, _SMALL).decode("utf-8", "surrogateescape")
        place = (place / text.removeprefix("gitdir:").strip()).resolve()
    elif inner.is_dir():
        place = inner
    if (place / "commondir").is_file():
        text = read_bounded(place / "commondir", _SMALL).decode("utf-8", "surrogateescape")
        place = (place / text.strip()).resolve()
    return place


def _fetch(lender: OwnRepository, address: str, commit: str) -> None:
    """Fetch ``commit`` by its name, or everything where the server does not offer that."""
    for what in ((commit,), ("+refs/heads/*:refs/fetched/*", "+refs/tags/*:refs/fetched-tags/*")):
        arguments = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--")
        done = lender.git(*arguments, address, *what, timeout_seconds=_TRANSFER_SECONDS)
        if done.exit_code == 0:
            return
    raise InfrastructureFault(f"git could not fetch: {_said(done)}", where=address)


def _require_commit(lender: OwnRepository, source: str | Path, commit: str) -> None:
    kind = lender.git("cat-file", "-t", commit)
    if kind.exit_code:
        hint = "correct repository.commit, or fetch that commit into the repository"
        raise BadRepository(f"there is no commit {commit}", where=str(source), hint=hint)
    if kind.stdout.strip() != b"commit":
        raise BadRepository(f"{commit} is a {kind.stdout.decode().strip()}, not a commit", where=str(source))


def _copy_past(lender: OwnRepository, source: str | Path, commit: str, repository: Path) -> None:
    """Pack exactly what ``commit`` reaches, check every object against its name, and point ``main`` at it."""
    pack = repository / "objects/pack/pack"
    pack.parent.mkdir()
    arguments = ("pack-objects", "--quiet", "--revs", "--delta-base-offset", str(pack))
    packed = lender.git(*arguments, stdin=commit.encode() + b"\n", timeout_seconds=_TRANSFER_SECONDS)
    if packed.exit_code:
        raise BadRepository(f"history of {commit} is incomplete: {_said(packed)}", where=str(source))
    made = f"{pack}-{packed.stdout.decode().strip()}.pack"
    checked = lender.git("index-pack", "--verify", made, timeout_seconds=_TRANSFER_SECONDS)
    if checked.exit_code:
        raise BadRepository(f"objects of {commit} are damaged: {_said(checked)}", where=str(source))
    if (lender.path / "shallow").is_file():
        reached = set(lender.git("rev-list", commit).stdout.split())
        cut = [line for line in (lender.path / "shallow").read_bytes().split() if line in reached]
        (repository / "shallow").write_bytes(b"".join(line + b"\n" for line in cut))
    (repository / "refs/heads").mkdir()
    (repository / "refs/heads/main").write_bytes(commit.encode() + b"\n")


def _check_out(repository: OwnRepository, commit: str) -> dict[bytes, str]:
    """Write the index and the files of ``commit``; the submodules that the tree names, by path.

    The index is dated after the files, so that git inside the sandbox trusts it and reads no file again.
    """
    attributes = repository.path / "info/attributes"
    attributes.parent.mkdir()
    attributes.write_bytes(_AS_THEY_ARE)
    for arguments in (("read-tree", commit), ("checkout-index", "--all", "--force", "--index", "--quiet")):
        done = repository.git(*arguments)
        if done.exit_code:
            raise BadRepository(f"cannot write the tree of {commit}: {_said(done)}")
    listed = repository.git("ls-files", "--stage", "-z")
    attributes.unlink()
    attributes.parent.rmdir()
    (repository.path / "config").write_bytes(_CONFIG)
    later = time.time_ns() + NANOSECONDS
    os.utime(repository.path / "index", ns=(later, later))
    links: dict[bytes, str] = {}
    for line in listed.stdout.split(b"\0"):
        if line.startswith(b"160000 "):
            facts, _, path = line.partition(b"\t")
            split(path)
            links[path] = facts.split(b" ")[1].decode()
    return links


def _said(done: Completed) -> str:
    """The first lines of what git said, on one line."""
    text = done.stderr[:2000].decode("utf-8", "replace")
    return "; ".join(line.strip() for line in text.splitlines()[:3] if line.strip())
