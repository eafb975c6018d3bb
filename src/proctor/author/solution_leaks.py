"""The solution in what a contract gives the agent: copies in setup inputs, and answers in its image.

Remarks of ``lint``, and errors of ``lint`` and ``lock``. The linter downloads nothing: it searches inputs that were
fetched before or are files of the contract, and the image if an engine has it; one remark lists what was not searched.
``lock`` fetches everything and refuses to pin an input that could give the agent the solution.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from proctor.base.errors import ContractError, MissingIsolation, ProctorError
from proctor.contract.lint import FieldRemark, Remark, remarks
from proctor.contract.model import ArchiveRepository, Contract, Input, Source
from proctor.execute.inputs.archive import is_address
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.leakage.image_search import refuse_image_answers
from proctor.execute.leakage.leakage_finding import Finding
from proctor.execute.leakage.project_copies import refuse, setup_inputs
from proctor.execute.prepare import copy_search, image_search, source_key
from proctor.execute.proctor_home import Home
from proctor.execute.workspace.layer_store import LayerStore


def remarks_on_copies(contract: Contract, home: Home) -> tuple[Remark, ...]:
    """Remarks on copies that are harmless or accepted, and on inputs that were not searched.

    Raises :class:`ContractError` for every other copy.
    """
    findings: dict[str, tuple[Finding, ...]] = {}
    unsearched: dict[str, str] = {}
    store, inputs = LayerStore(home.layers), InputCache(home.inputs)
    with tempfile.TemporaryDirectory(prefix="proctor-lint-") as scratch:
        search = copy_search(contract, store, inputs, home.searches, Path(scratch))
        for one in setup_inputs(contract):
            known = search.recalled(one)
            if known is not None:
                findings[one.name] = known
            elif not is_at_hand(one.source, inputs) or not has_repository(contract, store, inputs):
                unsearched[one.name] = "not fetched yet; proctor lock and proctor validate fetch and search"
            else:
                try:
                    findings[one.name] = search.findings(one)
                except (ProctorError, OSError) as error:
                    unsearched[one.name] = str(error)
    refuse(contract, findings)
    return remarks(contract, _remarks(contract, findings, unsearched))


def require_no_copies(contract: Contract, home: Home) -> None:
    """Fetch and search every setup input of ``contract``; :class:`ContractError` for a copy that is not accepted."""
    store, inputs = LayerStore(home.layers), InputCache(home.inputs)
    with tempfile.TemporaryDirectory(prefix="proctor-lock-") as scratch:
        copy_search(contract, store, inputs, home.searches, Path(scratch)).require_none()


def _remarks(
    contract: Contract, findings: dict[str, tuple[Finding, ...]], unsearched: dict[str, str]
) -> Iterator[FieldRemark]:
    for index, one in enumerate(contract.inputs):
        place = ("inputs", index)
        for finding in findings.get(one.name, ()):
            severity = "warning" if finding.is_other else "advice"
            reason = f"; accepted: {one.accept_copy}" if finding.is_other else "; it cannot reveal the solution"
            yield severity, place, f"input {one.name!r}: {finding.sentence()}{reason}"
        if one.accept_copy and _is_clean(one, findings):
            yield "advice", (*place, "accept_copy"), f"input {one.name!r} needs no accept_copy: nothing was found in it"
    if unsearched:
        names = ", ".join(unsearched)
        why = next(iter(unsearched.values()))
        yield "advice", ("inputs",), f"not searched for copies of the project under test: {names} ({why})"


def _is_clean(one: Input, findings: dict[str, tuple[Finding, ...]]) -> bool:
    return one.name in findings and not any(finding.is_other for finding in findings[one.name])


def is_at_hand(source: Source, inputs: InputCache) -> bool:
    """Whether the files of ``source`` are available without a download."""
    if source.kind == "archive" and not is_address(source.spec):
        return True
    try:
        return bool(source.files) and all(inputs.path(file) is not None for file in source.files)
    except OSError:
        return False


def has_repository(contract: Contract, store: LayerStore, inputs: InputCache) -> bool:
    """Whether the pristine tree is available without a download."""
    try:
        if store.get(source_key(contract)) is not None:
            return True
    except ProctorError:
        return False
    repository = contract.repository
    if isinstance(repository, ArchiveRepository):
        return is_at_hand(repository.source, inputs)
    return not any("://" in git for git in (repository.git, *(one.git for one in repository.submodules)))


Export = Callable[[Path], None]


def remarks_on_image(contract: Contract, home: Home, export: Export) -> tuple[Remark, ...]:
    """Remarks on what an image shows without harm, or why it was not searched; :class:`ContractError` for the rest."""
    if not contract.environment.image:
        return ()
    place = ("environment", "image")
    try:
        found = _findings(contract, home, export)
    except ContractError:
        raise
    except (ProctorError, OSError) as error:
        return remarks(contract, [("advice", place, f"not searched for answers to the task: {error}")])
    if found is None:
        why = "the repository or a judge's input is not fetched yet; proctor validate fetches and searches"
        return remarks(contract, [("advice", place, f"not searched for answers to the task: {why}")])
    refuse_image_answers(contract, found)
    return remarks(contract, [("advice", place, f"{one.sentence()}; it cannot reveal the solution") for one in found])


def require_no_answers(contract: Contract, home: Home, export: Export) -> str:
    """Refuse a contract whose image shows an answer; why the image was not searched, if no engine here has it."""
    if not contract.environment.image:
        return ""
    store, inputs = LayerStore(home.layers), InputCache(home.inputs)
    with tempfile.TemporaryDirectory(prefix="proctor-lock-") as scratch:
        try:
            image_search(contract, store, inputs, home.searches, Path(scratch), export).require_none()
        except MissingIsolation as missing:
            return str(missing)
    return ""


def _findings(contract: Contract, home: Home, export: Export) -> tuple[Finding, ...] | None:
    """What the image shows; ``None`` if something would have to be downloaded for the search."""
    store, inputs = LayerStore(home.layers), InputCache(home.inputs)
    with tempfile.TemporaryDirectory(prefix="proctor-lint-") as scratch:
        search = image_search(contract, store, inputs, home.searches, Path(scratch), export)
        known = search.recalled()
        judged = [one.source for one in contract.inputs if one.audience == "judge"]
        if known is not None or not has_repository(contract, store, inputs):
            return known
        return search.findings() if all(is_at_hand(one, inputs) for one in judged) else None
