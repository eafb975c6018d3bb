"""Remarks of ``lint`` on hidden tests: directories that a patch may write to, and tests without variants. Pure.

Hidden files replace those of the patch, but tests often import other files of their directory. Where these are not
protected, a patch can turn every assertion in them into a no-op. Hidden files at the top of the tree are ignored,
nor are directories with target modules, which no contract could protect. Inverted tests can confirm a must_pass test
only if the pool has variants of it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from proctor.conduct.inverted_pools import known_pool
from proctor.contract.digest import content_id
from proctor.contract.lint import FieldRemark, Remark, remarks
from proctor.contract.model import Check, Contract, Hidden
from proctor.contract.scalar_types import quoted
from proctor.execute.inputs.input_files import selected
from proctor.execute.proctor_home import Home
from proctor.execute.workspace.path_patterns import matches
from proctor.judge.checks.inverted_tests.variant_pool import WHOLE_CHECK, coverage
from proctor.judge.patch_policy.paths_of_tests import is_test

HELPER = "helper"
"""The name of a file, without its suffix, that a test might import and no hidden file replaces."""


def remarks_on_unprotected(contract: Contract) -> tuple[Remark, ...]:
    """One remark for each check and each directory of its hidden tests in which a patch may change helpers."""
    return remarks(contract, _found(contract))


def _found(contract: Contract) -> Iterator[FieldRemark]:
    for number, check in enumerate(contract.checks):
        for directory in _directories(check, contract):
            words = f"a patch can change other files in {quoted(directory)}, which its hidden tests may import"
            advice = f"add {quoted(f'{directory}/**')} to policy.protected"
            yield "warning", ("checks", number, "hidden"), f"check {check.id!r}: {words}: {advice}"


def _directories(check: Check, contract: Contract) -> list[str]:
    """The outermost directories of hidden tests whose other files a patch may change."""
    suffix = _suffix_of_modules(contract)
    tests: dict[str, set[str]] = {}
    for path in (path for hidden in check.hidden for path in _placed(hidden, suffix) if is_test(path)):
        tests.setdefault(posixpath.dirname(path), set()).add(posixpath.basename(path))
    found: list[str] = []
    for directory, names in sorted(tests.items()):
        if directory and not _is_guarded(directory, names, contract) and not _has_module(directory, contract):
            found += [directory] if not any(directory.startswith(f"{outer}/") for outer in found) else []
    return found


def _is_guarded(directory: str, names: set[str], contract: Contract) -> bool:
    """Whether a change to a helper next to the tests called ``names`` is undone or forbidden."""
    suffixes = {posixpath.splitext(name)[1] for name in {name for name in names if is_test(name)} or names}
    patterns = (*contract.policy.protected, *contract.policy.forbidden)
    helpers = [f"{directory}/{HELPER}{suffix}" for suffix in suffixes]
    return all(any(matches(helper, pattern) for pattern in patterns) for helper in helpers)


def _has_module(directory: str, contract: Contract) -> bool:
    return any(module.startswith(f"{directory}/") for module in contract.task.targets.modules)


def _placed(hidden: Hidden, suffix: str) -> Iterator[str]:
    """The paths in the tree of the files of ``hidden``, as far as the contract says."""
    if hidden.input:
        found = [_example(path, suffix) for path in hidden.paths]
    else:
        top = f"{hidden.directory.rstrip('/')}/" if hidden.directory else ""
        inside = (file.path.removeprefix(top) for file in hidden.files)
        found = [path for path in inside if selected(path, hidden.paths)]
    for path in found:
        parts = [part for part in path.split("/") if part not in ("", ".")][hidden.strip :]
        yield posixpath.join(hidden.to.strip("/"), *parts)


def _example(path: str, suffix: str) -> str:
    """A file that ``path``, a path prefix or a glob inside an input, selects."""
    parts = [part.replace("*", "a").replace("?", "a") for part in path.rstrip("/").split("/") if part != "**"]
    if not parts or "." not in parts[-1]:
        parts.append(f"{HELPER}{suffix}")
    return "/".join(parts)


def _suffix_of_modules(contract: Contract) -> str:
    found = (posixpath.splitext(module)[1] for module in contract.task.targets.modules)
    return next((suffix for suffix in found if suffix), ".py")


MOST_NAMED = 3


def remarks_on_variants(contract: Contract, home: Home) -> tuple[Remark, ...]:
    """One remark for each check with tests that have no variant; none if ``validate`` has not made a pool yet."""
    pool = known_pool(home, content_id(contract))
    if pool is None:
        return ()
    places = {check.id: number for number, check in enumerate(contract.checks)}
    found = []
    for one in coverage(contract, pool):
        if not one.without:
            continue
        if one.problem or one.without == (WHOLE_CHECK,):
            why = one.problem or "none of its tests could be altered"
            message = f"check {one.check!r}: no inverted tests: {why}"
        else:
            named = ", ".join(one.without[:MOST_NAMED]) + (", ..." if len(one.without) > MOST_NAMED else "")
            tests = f"{len(one.without)} of {one.tests} must_pass tests"
            message = f"check {one.check!r}: {tests} have no variant that depends on the code: {named}"
        found.append(("warning", ("checks", places[one.check], "must_pass"), message))
    return remarks(contract, found)
