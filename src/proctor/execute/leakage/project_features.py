"""The features by which a copy of the project under test is recognised: names, versions and source files.

Names come from the metadata in the repository and from the release that the contract names. Vendored files, and the
metadata of tests, examples and documentation, belong to other projects and are left out.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import FILE, join, read_file
from proctor.contract.model import ArchiveRepository, Contract
from proctor.execute.leakage.package_metadata import DEB, Package, debian_names, is_metadata, normalised, packages_in
from proctor.execute.leakage.source_similarity import SourceIndex, SourceText, is_generated, is_source, read_source
from proctor.execute.workspace.file_tree import GIT
from proctor.execute.workspace.layer_stack import Stack

METADATA_DEPTH = 3
"""How deep a repository's own metadata may be, in directories: projects of several packages have it below the top."""

SOURCE_BYTES, FILE_BYTES = 512 << 20, 8 << 20
"""How many bytes of a repository are compared, and how large a single file may be."""

_VENDORED = re.compile(r"_?vendor(?:ed)?|third[_-]?party|3rdparty|extern(?:al)?|node_modules", re.IGNORECASE)
_DOCUMENTATION = re.compile(r"docs?|_static", re.IGNORECASE)
_ASIDE = re.compile(r"tests?|testing|testdata|fixtures?|examples?|samples?|demo|benchmarks|templates", re.IGNORECASE)


@dataclass(frozen=True)
class Project:
    """The project under test: its source files, and its known versions by ecosystem and name."""

    versions: Mapping[tuple[str, str], frozenset[str]]
    sources: SourceIndex


def read_project(contract: Contract, tree: Stack) -> Project:
    """The project whose pristine tree is ``tree``."""
    found: dict[tuple[str, str], set[str]] = {}
    for package in (*_released(contract), *_declared(tree)):
        in_debian = debian_names(package.ecosystem, package.name)
        for name in ((package.ecosystem, package.name), *((DEB, alias) for alias in in_debian)):
            found.setdefault(name, set()).update([package.version] if package.version else [])
    versions = {name: frozenset(known) for name, known in found.items()}
    return Project(versions, SourceIndex(_sources(tree)))


def is_own(path: str) -> bool:
    """Whether ``path`` is neither vendored nor documentation, judged by its directories."""
    return not any(_VENDORED.fullmatch(part) or _DOCUMENTATION.fullmatch(part) for part in path.split("/")[:-1])


def _released(contract: Contract) -> Iterator[Package]:
    """The release that the contract takes its repository from."""
    if not isinstance(contract.repository, ArchiveRepository) or contract.repository.source.kind == "archive":
        return
    source = contract.repository.source
    name, _, version = source.spec.rpartition("@" if source.kind == "npm" else "==")
    yield Package(source.kind, normalised(source.kind, name.partition("[")[0]), version, "")


def _declared(tree: Stack) -> Iterator[Package]:
    """The packages that the repository's own metadata declares."""
    for path, data in _files(tree, lambda path: is_metadata(path) and _is_near_the_top(path)):
        yield from packages_in(path, data)


def _sources(tree: Stack) -> Iterator[tuple[str, SourceText]]:
    """The repository's own source files, up to a limit on their total size."""
    left = SOURCE_BYTES
    for path, data in _files(tree, is_source):
        left -= len(data)
        text = read_source(data) if left >= 0 and not is_generated(data) else None
        if text is not None:
            yield path, text


def _is_near_the_top(path: str) -> bool:
    directories = path.split("/")[:-1]
    return len(directories) <= METADATA_DEPTH and not any(_ASIDE.fullmatch(part) for part in directories)


def _files(tree: Stack, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The wanted files of ``tree`` with their bytes, without vendored files and documentation."""
    for directory, shown in tree.walk():
        shown[:] = [one for one in shown if one.name != GIT]
        for one in shown:
            path = name_text(join(directory, one.name))
            if stat.S_ISREG(one.status.st_mode) and one.status.st_size <= FILE_BYTES and is_own(path) and wanted(path):
                yield path, read_file(one.directory, one.name, FILE, FILE_BYTES)
