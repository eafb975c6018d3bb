"""Contracts: loaded from their files, and validated by running the no-op and the reference."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from proctor.api.arguments import MOST_JOBS, MOST_TIMES, require_count, require_several
from proctor.api.attempts import AnyContract
from proctor.api.homes import AnyHome, machine_of
from proctor.author.validation import Validation, validate_contracts
from proctor.conduct.batch_runs import BatchWatcher
from proctor.contract.load import load_contract as load
from proctor.contract.model import Contract


def load_contract(path: str | Path) -> Contract:
    """The contract at ``path``, a directory or the file in it.

    :class:`~proctor.ContractError` has every mistake in it, each with file, line and column.
    """
    return load(Path(path))


def validate(
    contracts: AnyContract | Sequence[AnyContract],
    *,
    times: int = 2,
    jobs: int = 1,
    home: AnyHome = None,
    watcher: BatchWatcher | None = None,
) -> Validation:
    """Run the no-op and the reference ``times`` each: the first must fail, the second must succeed."""
    several = [contracts] if isinstance(contracts, Contract | Path | str) else contracts
    require_several("contracts", several)
    require_count("times", times, 1, MOST_TIMES)
    require_count("jobs", jobs, 1, MOST_JOBS)
    paths = [one.directory if isinstance(one, Contract) else Path(one) for one in several]
    seen = watcher or BatchWatcher()
    return validate_contracts(machine_of(home), paths, times, jobs, lambda plan: nullcontext(seen))
