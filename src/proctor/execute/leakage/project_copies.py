"""Find copies of the project under test in setup inputs: by package names, by similar files, by git history."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.contract.digest import resolved
from proctor.contract.lint import place_of
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import Contract, Input
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.leakage.input_entries import BETWEEN, Entry, InputReader, SearchLimits, Unread
from proctor.execute.leakage.leakage_finding import BY_FILES, BY_NAME, HISTORY, UNREAD, Finding, read_finding
from proctor.execute.leakage.package_metadata import DEB, is_metadata, packages_in, same_version
from proctor.execute.leakage.project_features import Project, is_own, read_project
from proctor.execute.leakage.source_similarity import Match, SourceText, common_end, is_source, read_source
from proctor.execute.workspace.layer_stack import Stack

_OBJECT = re.compile(
    r"(?:(?P<root>.*)/)?objects/(?:[0-9a-f]{2}/(?:[0-9a-f]{38}|[0-9a-f]{62})|pack/(?:pack|tmp_pack)[-_][^/]+(?<!\.idx))"
)
_PACKS = ((b"PACK\0\0\0", "a pack of objects"), (b"# v2 git bundle\n", "a bundle"), (b"# v3 git bundle\n", "a bundle"))


class GitHistory:
    """Collects the git history among files. ``name`` gives the place of a path in an archive, as a text."""

    def __init__(self, name: Callable[[str, str], str]) -> None:
        self.places: dict[str, str] = {}
        """Each place, and what is there."""
        self._name = name

    def look(self, archive: str, path: str, head: bytes = b"") -> None:
        """Take the file ``path`` in ``archive`` into account; ``head`` are its first bytes."""
        match = _OBJECT.fullmatch(path)
        if match is not None:
            root = match["root"] or path.partition("/")[0]
            self.places.setdefault(self._name(archive, root), "git objects")
        for magic, what in _PACKS:
            place = self._name(archive, path)
            if head.startswith(magic) and not any(place.startswith(one) for one in self.places):
                self.places.setdefault(place, what)


MAX_FINDINGS = 20
"""The most findings that are reported for one file of an input."""

NO_TEXT = SourceText(b"", frozenset())


@dataclass(frozen=True)
class _Source:
    """A source file of the input, and the similar file of the repository, if there is one."""

    archive: str
    path: str
    text: SourceText
    match: Match | None
    is_equal: bool


@dataclass(frozen=True)
class _Named:
    """A package with the project's name: its archive, and the directory of its files in that archive."""

    archive: str
    root: str
    ecosystem: str
    name: str
    version: str

    def holds(self, archive: str, path: str) -> bool:
        """Whether ``path`` in ``archive`` belongs to the package; archives in its directory do, too."""
        if archive == self.archive:
            return _is_below(path, self.root)
        return archive.startswith(f"{self.archive}{BETWEEN}{self.root}")


@dataclass(frozen=True)
class _Copy:
    """Files of one archive that are laid out below ``root`` as those of the repository are below ``origin``."""

    archive: str
    root: str
    origin: str
    alike: tuple[_Source, ...]

    @property
    def shared(self) -> int:
        """The lines shared with the repository; each of its files counts once."""
        best: dict[str, int] = {}
        for one in self.alike:
            assert one.match is not None
            best[one.match.path] = max(best.get(one.match.path, 0), one.match.shared)
        return sum(best.values())


def search_file(
    project: Project, file: Path, name: str, scratch: Path, limits: SearchLimits | None = None
) -> list[Finding]:
    """The copies of ``project`` in the input's file ``file``, called ``name``; ``scratch`` is for nested archives."""
    history = GitHistory(_place)
    reader = InputReader(lambda path: is_metadata(path) or is_source(path), scratch, limits, look=history.look)
    found = copies_in(project, reader.entries(file, name), reader.unread, name)
    kept = [Finding(HISTORY, place, True, detail=what) for place, what in sorted(history.places.items())]
    return [*kept, *found][:MAX_FINDINGS]


def copies_in(project: Project, entries: Iterable[Entry], unread: Iterable[Unread], name: str) -> list[Finding]:
    """The copies of ``project`` in ``entries``; ``unread`` is read after them, and lists what was not searched."""
    named: list[_Named] = []
    sources: list[_Source] = []
    for entry in entries:
        if is_metadata(entry.path):
            named += _named(project, entry.archive, entry.path, entry.data)
        text = read_source(entry.data) if is_source(entry.path) else None
        if text is not None and text.lines:
            match = project.sources.match(entry.path, text)
            is_equal = project.sources.has(text)
            kept = text if match is not None else NO_TEXT  # an image has more source text than should be kept
            sources.append(_Source(entry.archive, entry.path, kept, match, is_equal))
    named = _distinct(named)
    copies = [copy for copy in _copies(sources) if project.sources.is_copy(copy.shared)]
    rest = [copy for copy in copies if not any(_is_held(copy, one) for one in named)]
    found = list(_by_names(project, named, sources, name))
    found += [_by_files(project, copy, sources) for copy in rest]
    found += _not_searched(unread, name)
    return sorted(found, key=lambda one: not one.is_other)[:MAX_FINDINGS]


def _is_held(copy: _Copy, named: _Named) -> bool:
    """Whether a finding by name covers ``copy``."""
    return all(named.holds(one.archive, one.path) for one in copy.alike)


def _named(project: Project, archive: str, path: str, data: bytes) -> Iterator[_Named]:
    """The packages with the project's name that the metadata file ``path`` declares."""
    for package in packages_in(path, data):
        if (package.ecosystem, package.name) in project.versions:
            place, root = archive, package.root
            if package.ecosystem == DEB and path == "control":
                place = archive.rpartition(BETWEEN)[0]  # a binary package: its files are in the archive next to it
            yield _Named(place, root, package.ecosystem, package.name, package.version)


def _distinct(named: Iterable[_Named]) -> list[_Named]:
    """Each package once: the declaration nearest to the top, with a version if one is declared."""
    kept: list[_Named] = []
    for one in sorted(named, key=lambda one: (one.archive, len(one.root), not one.version)):
        same = [
            other
            for other in kept
            if (other.ecosystem, other.name) == (one.ecosystem, one.name) and other.holds(one.archive, one.root)
        ]
        if not same or (one.version and one.version not in {other.version for other in same}):
            kept.append(one)
    return kept


def _copies(sources: Iterable[_Source]) -> list[_Copy]:
    """The files that are similar to files of the repository, grouped by their directory and the repository's."""
    groups: dict[tuple[str, str, str], list[_Source]] = {}
    for one in sources:
        if one.match is not None:
            here, there = one.path.split("/"), one.match.path.split("/")
            end = common_end(one.path, one.match.path) or 1
            groups.setdefault((one.archive, "/".join(here[:-end]), "/".join(there[:-end])), []).append(one)
    return [_Copy(*place, tuple(alike)) for place, alike in groups.items()]


def _differing(project: Project, copy: _Copy, sources: Iterable[_Source]) -> list[_Source]:
    """The files of a copy that equal no file of the repository: similar files, then files with the same path."""
    found = {one.path: one for one in sorted(copy.alike, key=_path) if not one.is_equal}
    for one in sorted(sources, key=_path):
        if one.archive == copy.archive and not one.is_equal and _is_below(one.path, copy.root):
            inner = one.path[len(copy.root) + 1 :] if copy.root else one.path
            if (f"{copy.origin}/{inner}" if copy.origin else inner) in project.sources.files:
                found.setdefault(one.path, one)
    return list(found.values())


def _path(one: _Source) -> str:
    return one.path


def _by_names(project: Project, named: Iterable[_Named], sources: list[_Source], name: str) -> Iterator[Finding]:
    """A finding for each package, except packages inside one that is refused in any case."""
    refused: list[_Named] = []
    for one in named:
        if not any(other.holds(one.archive, one.root) for other in refused):
            finding = _by_name(project, one, sources, name)
            refused += [one] if finding.is_other else []
            yield finding


def _by_name(project: Project, named: _Named, sources: Iterable[_Source], name: str) -> Finding:
    inside = [one for one in sources if named.holds(one.archive, one.path)]
    differing = [one.path for copy in _copies(inside) for one in _differing(project, copy, inside)]
    equal = [one.path for one in inside if one.is_equal]
    expected = project.versions[named.ecosystem, named.name]
    is_same_version = any(same_version(named.ecosystem, named.version, one) for one in expected)
    if is_same_version:
        # Debian patches the projects that it packages, and a binary package has no source files to compare.
        is_same = not differing and bool(equal or not (inside or named.ecosystem == DEB))
    else:
        more = [one.path for one in inside if not one.is_equal and is_own(one.path)]
        is_same = not (expected and named.version) and not differing and not more and bool(equal)
    return Finding(
        BY_NAME,
        _place(named.archive, named.root) or name,
        is_other=not is_same,
        package=named.name,
        version=named.version,
        expected=" or ".join(sorted(expected)),
        files=len(equal) + len(differing),
        detail="" if is_same or not is_same_version else _doubt(differing),
    )


def _doubt(differing: list[str]) -> str:
    """Why a package with the repository's own version is not considered identical."""
    return f"{differing[0]} differs" if differing else "nothing in it shows that it is the same"


def _by_files(project: Project, copy: _Copy, sources: Iterable[_Source]) -> Finding:
    differing = _differing(project, copy, sources)
    lines = sum(len(one.text.lines) for one in copy.alike)
    return Finding(
        BY_FILES,
        _place(copy.archive, _common_directory([one.path for one in copy.alike])) or copy.alike[0].path,
        is_other=bool(differing),
        files=len(copy.alike),
        lines=copy.shared,
        percent=min(100, 100 * copy.shared // lines),
        example=(differing or copy.alike)[0].path,
    )


def _not_searched(unread: Iterable[Unread], name: str) -> Iterator[Finding]:
    """What was not searched: each archive over a limit, and the damaged ones in one finding."""
    damaged = []
    for one in unread:
        if one.is_limit:
            yield Finding(UNREAD, one.place, is_other=True, detail=one.why)
        else:
            damaged.append(one)
    if damaged:
        detail = f"{len(damaged)} archives in it are damaged or encrypted, such as {damaged[0].place}: {damaged[0].why}"
        yield Finding(UNREAD, name, is_other=False, detail=detail)


def _place(archive: str, root: str) -> str:
    return f"{archive}{BETWEEN}{root}" if archive and root else archive or root


def _common_directory(paths: Iterable[str]) -> str:
    """The innermost directory that contains all ``paths``."""
    return os.path.commonpath([f"/{path.rpartition('/')[0]}" for path in paths]).lstrip("/")


def _is_below(path: str, root: str) -> bool:
    return not root or path == root or path.startswith(f"{root}/")


FORMAT = 2
"""Part of every record's name: raise it when the search finds more or less than before."""

RECORD_BYTES = 4 << 20
HINT = "remove it from the inputs, mark the input for: judge, or give a reason in its field accept_copy"


class CopySearch:
    """Searches the setup inputs of one contract. ``tree`` returns the pristine tree; it is called only when needed."""

    def __init__(
        self, contract: Contract, inputs: InputCache, records: Path, scratch: Path, tree: Callable[[], Stack]
    ) -> None:
        self._contract = contract
        self._inputs = inputs
        self._records = records
        self._scratch = scratch
        self._tree = tree
        self._project: Project | None = None

    def recalled(self, one: Input) -> tuple[Finding, ...] | None:
        """What an earlier search found in ``one``; ``None`` if there was none or its record is damaged."""
        try:
            kept = parse(read_bounded(self._record(one), RECORD_BYTES))
            if kept["digest"] != digest(kept["findings"]):
                return None
            return tuple(read_finding(row) for row in kept["findings"])
        except (OSError, InfrastructureFault, ValueError, KeyError, TypeError):
            return None

    def findings(self, one: Input) -> tuple[Finding, ...]:
        """The copies of the project under test in the setup input ``one``, from an earlier search or a new one."""
        known = self.recalled(one)
        if known is not None:
            return known
        if self._project is None:
            self._project = read_project(self._contract, self._tree())
        found: list[Finding] = []
        for file, path in zip(one.source.files, self._inputs.ensure(one.source, self._contract.directory), strict=True):
            found += search_file(self._project, path, file.name, self._scratch)
        _remember(self._record(one), found)
        return tuple(found)

    def require_none(self) -> None:
        """Refuse a contract whose setup inputs contain another version of the project under test."""
        refuse(self._contract, {one.name: self.findings(one) for one in setup_inputs(self._contract)})

    def _record(self, one: Input) -> Path:
        files = [[file.name, file.sha256] for file in one.source.files]
        key = digest({"format": FORMAT, "repository": resolved(self._contract)["repository"], "files": files})
        return self._records / key.removeprefix("sha256:")


def setup_inputs(contract: Contract) -> tuple[Input, ...]:
    """The inputs that the agent may see."""
    return tuple(one for one in contract.inputs if one.audience == "setup")


def refuse(contract: Contract, findings: Mapping[str, tuple[Finding, ...]]) -> None:
    """Raise :class:`ContractError` with an error for each finding that is not accepted, at the place of its input."""
    mistakes = []
    for index, one in enumerate(contract.inputs):
        for finding in findings.get(one.name, ()):
            if finding.is_other and not one.accept_copy:
                place = place_of(contract, ("inputs", index))
                message = f"input {one.name!r}: {finding.sentence()}"
                mistakes.append(Mistake(str(contract.directory / CONTRACT_NAME), *place, message, HINT))
    if mistakes:
        raise ContractError(mistakes)


def _remember(record: Path, found: list[Finding]) -> None:
    """Store what was found; nothing is stored if the directory cannot be written to."""
    rows = [one.record() for one in found]
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        write_whole(record, canonical({"digest": digest(rows), "findings": rows}), sync=False)
    except OSError:
        return
