"""Answers to the task in the image of a contract: remarks of ``lint``, and errors of ``lint`` and ``lock``.

Both need an engine that has the image. Without one the image is not searched, and a remark says so; ``validate`` and
``run`` search it before anything runs, because they cannot run without the engine. The linter downloads nothing, so it
searches only if the repository and the judge's inputs were fetched before.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from proctor.author.copies import has_repository, is_at_hand
from proctor.base.errors import ContractError, MissingIsolation, ProctorError
from proctor.contract.lint import Remark, remarks
from proctor.contract.model import Contract
from proctor.execute.home import Home
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.leakage.finding import Finding
from proctor.execute.leakage.image import refuse
from proctor.execute.prepare import image_search
from proctor.execute.workspace.store import LayerStore

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
    refuse(contract, found)
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
