"""Whether a contract's repository matches the contract, as far as it is on this machine.

Nothing is downloaded, unpacked or run. A repository at an address, or an archive that no run has fetched yet, is not
checked. A local one must hold the pinned commit or be the pinned archive, and the reference
patch must apply to it. If there are setup steps, a patch may be meant for their results: that is a remark only. The
variants of tests that a contract declares must apply to their test files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from proctor.base.errors import ContractError, Mistake, ProctorError
from proctor.base.files import read_bounded
from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.contract.lint import Remark, Step, place_of, remarks
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.model import ArchiveRepository, Check, Contract, GitRepository
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.execute.inputs.archive import is_address
from proctor.execute.inputs.input_cache import InputCache, require_digest
from proctor.execute.inputs.input_files import hidden_files
from proctor.execute.workspace.archive_extraction import read_members
from proctor.execute.workspace.git_checkout import BadRepository, read_commit
from proctor.execute.workspace.patch import PatchProblem, apply_patch
from proctor.execute.workspace.patch_parser import NotAPatch, parse_patch
from proctor.execute.workspace.path_patterns import matches

ReadBase = Callable[[bytes], tuple[int, bytes] | None]


def remarks_on_repository(contract: Contract, inputs: InputCache) -> tuple[Remark, ...]:
    """What is to be said of the repository; :class:`ContractError` where the contract cannot be used with it."""
    patch = _reference(contract)
    if patch is not None and not patch.strip():
        hint = "git diff of a solution makes one; without a reference, leave the field out"
        raise ContractError([_mistake(contract, ("reference",), "the patch of the reference is empty", hint)])
    with _base(contract, inputs, _touched(patch or b"")) as read_base:
        if read_base is None or patch is None or _is_below_submodules(contract, patch):
            return ()
        try:
            apply_patch(patch, read_base)
        except PatchProblem as problem:
            said = ": ".join((problem.reason, *problem.log.splitlines()[:1]))
            if contract.setup:
                message = f"the reference does not fit the repository as it is before setup: {said}"
                return remarks(contract, [("warning", ("reference",), message)])
            message = f"the reference does not fit the repository: {said}"
            raise ContractError([_mistake(contract, ("reference",), message)]) from None
    return ()


def require_fitting_variants(contract: Contract, inputs: InputCache) -> None:
    """Refuse declared variants that do not apply to one hidden or protected file; files that are not on this machine
    are not checked.

    ``proctor validate`` tries the others, and whether each makes a test fail.
    """
    mistakes = []
    for place, check in enumerate(contract.checks):
        for number, file in enumerate(check.inverted.variants):
            patch = read_bounded(contract.directory / file.path, PATCH_BYTES)
            problem = _variant_problem(contract, check, patch, inputs)
            if problem:
                path = ("checks", place, "inverted", "variants", number)
                hint = "make the patch again, against one hidden or protected test file, or remove it"
                mistakes.append(_mistake(contract, path, f"the variant {file.path} does not apply: {problem}", hint))
    if mistakes:
        raise ContractError(mistakes)


def _variant_problem(contract: Contract, check: Check, patch: bytes, inputs: InputCache) -> str:
    touched = _touched(patch)
    hidden = _hidden(contract, check, inputs)
    fixed = frozenset(path for path in touched if any(matches(path, one) for one in contract.policy.protected))
    if hidden is None or (not touched <= hidden.keys() and contract.setup):
        return ""
    with _base(contract, inputs, fixed) as read_base:
        if read_base is None and not touched <= hidden.keys():
            return ""

        def read(path: bytes) -> tuple[int, bytes] | None:
            return hidden.get(path) or (read_base(path) if read_base and path in fixed else None)

        absent = sorted(name_text(path) for path in touched if read(path) is None)
        if absent:
            return f"no hidden or protected file is called {absent[0]}"
        try:
            changed = len(apply_patch(patch, read).writes)
        except PatchProblem as problem:
            return (problem.log or problem.reason).splitlines()[0]
    return "" if changed == 1 else f"it changes {changed} files and not one"


def _hidden(contract: Contract, check: Check, inputs: InputCache) -> dict[bytes, tuple[int, bytes]] | None:
    """The hidden files of ``check`` by their paths in the tree; ``None`` if they are not on this machine."""
    fetched = {one.name: all(map(inputs.path, one.source.files)) for one in contract.inputs if one.source.files}
    if not all(fetched.get(one.input, False) for one in check.hidden if one.input):
        return None
    found = (file for one in check.hidden for file in hidden_files(one, contract, inputs))
    return {path: (mode, data) for path, mode, data in found}


def _reference(contract: Contract) -> bytes | None:
    """The reference patch; ``None`` for a reference of another form."""
    if contract.reference is None or contract.reference.patch is None:
        return None
    return read_bounded(contract.directory / contract.reference.patch.path, PATCH_BYTES)


def _touched(patch: bytes) -> frozenset[bytes]:
    try:
        files = parse_patch(patch)
    except NotAPatch:
        return frozenset()
    return frozenset(path for file in files for path in (file.old, file.new) if path is not None)


def _is_below_submodules(contract: Contract, patch: bytes) -> bool:
    """Whether the patch touches what comes from repositories that are not looked into here."""
    if not isinstance(contract.repository, GitRepository):
        return False
    inner = tuple(name_bytes(module.path) + b"/" for module in contract.repository.submodules)
    return bool(inner) and any(path.startswith(inner) for path in _touched(patch))


@contextmanager
def _base(contract: Contract, inputs: InputCache, wanted: frozenset[bytes]) -> Iterator[ReadBase | None]:
    """Reads the ``wanted`` files of the pristine tree; ``None`` if it is not on this machine."""
    repository = contract.repository
    if isinstance(repository, ArchiveRepository):
        yield _archive_reader(contract, repository, inputs, wanted)
    elif "://" in repository.git:
        yield None
    else:
        try:
            with read_commit(contract.directory / repository.git, repository.commit) as read:
                yield read
        except BadRepository as error:
            field = "commit" if "commit" in error.message else "git"
            raise ContractError([_mistake(contract, ("repository", field), error.message, error.hint)]) from None


def _archive_reader(
    contract: Contract, repository: ArchiveRepository, inputs: InputCache, wanted: frozenset[bytes]
) -> ReadBase | None:
    source = repository.source
    is_local = source.kind == "archive" and not is_address(source.spec)
    try:
        if is_local and (contract.directory / source.spec).is_file():
            for file in source.files:  # the cache may still hold the right one
                require_digest(contract.directory / source.spec, file, source)
        found = inputs.ensure(source, contract.directory) if is_local else [inputs.path(file) for file in source.files]
        if len(found) != 1 or found[0] is None:
            return None
        members = read_members(found[0], lambda name: name_bytes(name) in wanted, strip=repository.strip)
        return {path: (mode, data) for path, mode, data in members}.get
    except ProctorError as error:
        place = ("repository", source.kind)
        raise ContractError([_mistake(contract, place, error.message, error.hint)]) from None
    except OSError:  # a cache that this user cannot write to
        return None


def _mistake(contract: Contract, path: tuple[Step, ...], message: str, hint: str = "") -> Mistake:
    return Mistake(str(contract.directory / CONTRACT_NAME), *place_of(contract, path), message, hint)
