"""Find setup inputs that contain another version of the project under test, and so perhaps the solution.

Every setup input is searched once for each repository; the findings are stored under the digests of both. The author of
a contract accepts the findings in an input with a reason in its field ``accept_copy``. Any other finding that may
reveal the solution is an error in the contract. Inputs for the judge are not searched, because no agent sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded, write_whole
from proctor.contract.digest import resolved
from proctor.contract.lint import place_of
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import Contract, Input
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.leakage.finding import Finding, read_finding
from proctor.execute.leakage.project import Project, read_project
from proctor.execute.leakage.search import search_file
from proctor.execute.workspace.stack import Stack

FORMAT = 2
"""Part of every record's name: raise it when the search finds more or less than before."""

RECORD_BYTES = 4 << 20
HINT = "take it out of the inputs, mark the input for: judge, or give a reason in its field accept_copy"


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
