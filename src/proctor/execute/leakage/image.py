"""Find what an image shows of the answers to a task: git history, hidden tests, the solution, and other versions.

An image is searched like setup inputs (see ``search``), and also for git objects and for the answers (see ``answers``).
What ``environment.hide`` names, and what every sandbox covers, is left out, so a finding is always something that an
agent can read. A hidden file with another name elsewhere is searched under that name. An image is searched once for
each repository, set of answers and list of hidden paths. A finding that may reveal the solution is an error in the
contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.contract.digest import resolved
from proctor.contract.lint import place_of
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import Contract
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.leakage.answers import AnswerIndex, read_answers
from proctor.execute.leakage.entries import BETWEEN, Entry, InputReader, SearchLimits, plain_path
from proctor.execute.leakage.finding import HISTORY, LINK, TEST, UNREAD, Finding, read_finding
from proctor.execute.leakage.history import GitHistory
from proctor.execute.leakage.lines import is_source
from proctor.execute.leakage.packages import is_metadata
from proctor.execute.leakage.project import Project, read_project
from proctor.execute.leakage.search import MAX_FINDINGS, copies_in
from proctor.execute.workspace.archive import members
from proctor.execute.workspace.glob import matches
from proctor.execute.workspace.members import ArchiveLimits
from proctor.execute.workspace.stack import Stack

FORMAT = 2
"""Part of every record's name: raise it when the search finds more or less than before."""

RECORD_BYTES = 4 << 20
HINT = "name it in environment.hide, or build the image without it"
LINK_HINT = "build the image with a directory there, or with nothing"

MOUNTED = ("workspace", "setup", "home/agent", "tmp", "run", "var/tmp", "dev", "proc", "sys")
"""What every sandbox mounts over the image, without the leading slash."""

NAME = "image"
LIMITS = SearchLimits(
    nested_archives=500_000,
    total_bytes=256 << 30,
    archive=ArchiveLimits(total_bytes=64 << 30, members=5_000_000),
)


class ImageSearch:
    """Searches the image of one contract. ``export`` writes the image's files to a path, as a tar archive."""

    def __init__(
        self,
        contract: Contract,
        inputs: InputCache,
        records: Path,
        scratch: Path,
        tree: Callable[[], Stack],
        export: Callable[[Path], None],
    ) -> None:
        self._contract = contract
        self._inputs = inputs
        self._records = records
        self._scratch = scratch
        self._tree = tree
        self._export = export

    def recalled(self) -> tuple[Finding, ...] | None:
        """What an earlier search found; ``None`` if there was none or its record is damaged."""
        try:
            kept = parse(read_bounded(self._record(), RECORD_BYTES))
            if kept["digest"] != digest(kept["findings"]):
                return None
            return tuple(read_finding(row) for row in kept["findings"])
        except (OSError, InfrastructureFault, ValueError, KeyError, TypeError):
            return None

    def findings(self) -> tuple[Finding, ...]:
        """What the image shows, from an earlier search or a new one."""
        known = self.recalled()
        if known is not None:
            return known
        tree = self._tree()
        project = read_project(self._contract, tree)
        answers = read_answers(self._contract, self._inputs, project.sources, tree.read)
        archive = self._scratch / "image.tar"
        try:
            self._export(archive)
            found = search_image(project, answers, archive, self._contract.environment.hide, self._scratch)
        finally:
            archive.unlink(missing_ok=True)
        rows = [one.record() for one in found]
        try:
            self._records.mkdir(parents=True, exist_ok=True)
            write_whole(self._record(), canonical({"digest": digest(rows), "findings": rows}), sync=False)
        except OSError:
            pass  # searched again the next time
        return tuple(found)

    def require_none(self) -> None:
        """Refuse a contract whose image shows an answer."""
        refuse(self._contract, self.findings())

    def _record(self) -> Path:
        whole = resolved(self._contract)
        key = {
            "kind": "image",
            "format": FORMAT,
            "repository": whole["repository"],
            "layers": list(self._contract.environment.image),
            "hide": list(self._contract.environment.hide),
            "hidden": [check["hidden"] for check in whole["checks"]],
            "reference": whole["reference"],
            "inputs": [one for one in whole["inputs"] if one["audience"] == "judge"],
        }
        return self._records / digest(key).removeprefix("sha256:")


def refuse(contract: Contract, findings: tuple[Finding, ...]) -> None:
    """Raise :class:`ContractError` with an error for each of ``findings`` that may reveal the solution."""
    place = place_of(contract, ("environment", "image"))
    file = str(contract.directory / CONTRACT_NAME)
    mistakes = [
        Mistake(file, *place, f"the image: {one.sentence()}", LINK_HINT if one.reason == LINK else HINT)
        for one in findings
        if one.is_other
    ]
    if mistakes:
        raise ContractError(mistakes)


def search_image(
    project: Project, answers: AnswerIndex, archive: Path, hide: tuple[str, ...], scratch: Path
) -> list[Finding]:
    """What the exported image ``archive`` shows, but for the paths that ``hide`` means."""
    listing = _Listing(archive, hide)
    found: list[Finding] = list(listing.links)

    def search(entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            answered = answers.find(entry.path, entry.data)
            if answered is not None:
                place, one = _absolute(entry.archive, entry.path + entry.suffix), answered.answer
                found.append(Finding(one.kind, place, True, lines=answered.lines, example=one.path))
            yield entry

    def wanted(path: str) -> bool:
        return bool(answers.answers) or is_metadata(path) or is_source(path)

    reader = InputReader(wanted, scratch, LIMITS, shown=listing.shown, look=listing.history.look)
    copies = copies_in(project, search(reader.entries(archive, NAME)), reader.unread, NAME)
    found += (Finding(HISTORY, place, True, detail=what) for place, what in sorted(listing.history.places.items()))
    found += (replace(one, place=_absolute("", one.place)) for one in copies if one.place != NAME or one.is_other)
    order = {LINK: 0, HISTORY: 1, TEST: 2, UNREAD: 9}
    return sorted(found, key=lambda one: (not one.is_other, order.get(one.reason, 3)))[:MAX_FINDINGS]


class _Listing:
    """The names in an exported image: which are shown, under which other names hidden files show, and git objects."""

    def __init__(self, archive: Path, hide: tuple[str, ...]) -> None:
        self._hide = tuple(pattern[1:].rstrip("/") for pattern in hide)
        self._known: dict[str, bool] = {}
        self._other: dict[str, str] = {}
        """Hidden files with the name under which they show all the same."""
        self.history = GitHistory(_absolute)
        self.links: list[Finding] = []
        for member in members(archive, LIMITS.archive):
            path = plain_path(member.name)
            if member.kind != "directory" and any(f"{mounted}/".startswith(f"{path}/") for mounted in MOUNTED):
                target = member.target.decode("utf-8", "replace") if member.kind == "link" else ""
                self.links.append(Finding(LINK, f"/{path}", True, detail=target))
            if member.kind not in ("file", "hard link") or self._is_hidden(path):
                continue
            self.history.look("", path)
            if member.kind == "hard link" and self._is_hidden(plain_path(member.target)):
                self._other.setdefault(plain_path(member.target), path)

    def shown(self, path: str) -> str:
        """The name under which the file ``path`` shows; empty if it does not."""
        return self._other.get(path, "") if self._is_hidden(path) else path

    def _is_hidden(self, path: str) -> bool:
        directory, _, _ = path.rpartition("/")
        if directory and self._directory_is_hidden(directory):
            return True
        return any(matches(path, pattern) for pattern in self._hide)

    def _directory_is_hidden(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = path in MOUNTED or self._is_hidden(path)
        return known


def _absolute(archive: str, path: str) -> str:
    """A path in the image as it is inside the sandbox; archives in it are named by ``BETWEEN``."""
    place = f"{archive}{BETWEEN}{path}" if archive else path
    return "/" + place.removeprefix(f"{NAME}{BETWEEN}")
