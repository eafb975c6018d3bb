"""Proctor: evaluate coding agents on real repositories by executable contracts.

    import proctor

    run = proctor.run("examples/parse-time-zone", "reference")
    print(run.report.status, [gate.why for gate in run.report.gates])
    assert proctor.verify(run).sound

The names in ``__all__`` are the whole interface; docs/api.md describes them. They are loaded when they are first used,
so that ``import proctor`` and the commands, which import other modules of this package, start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from proctor.base.extras import missing_extra

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proctor.api.attempts import AgentOptions as AgentOptions
    from proctor.api.attempts import BatchRuns as BatchRuns
    from proctor.api.attempts import ModelOptions as ModelOptions
    from proctor.api.attempts import resume_batch as resume_batch
    from proctor.api.attempts import run as run
    from proctor.api.attempts import run_batch as run_batch
    from proctor.api.comparison import Comparison as Comparison
    from proctor.api.comparison import compare as compare
    from proctor.api.contracts import load_contract as load_contract
    from proctor.api.contracts import validate as validate
    from proctor.api.recorded import CheckResult as CheckResult
    from proctor.api.recorded import Gate as Gate
    from proctor.api.recorded import Report as Report
    from proctor.api.recorded import Run as Run
    from proctor.api.recorded import open_run as open_run
    from proctor.api.recorded import replay as replay
    from proctor.api.recorded import rescore as rescore
    from proctor.api.recorded import runs as runs
    from proctor.api.recorded import verify as verify
    from proctor.api.studies import Figure as Figure
    from proctor.api.studies import analyse as analyse
    from proctor.api.studies import plot as plot
    from proctor.api.studies import query as query
    from proctor.author.validation import Validation as Validation
    from proctor.base.errors import BrokenSeal as BrokenSeal
    from proctor.base.errors import ContractError as ContractError
    from proctor.base.errors import ProctorError as ProctorError
    from proctor.conduct.batch_runs import BatchWatcher as BatchWatcher
    from proctor.contract.model import Contract as Contract
    from proctor.execute.home import Home as Home
    from proctor.record.trace.event import Event as Event
    from proctor.record.verify import Verification as Verification
    from proctor.study.analysis.question import Question as Question
    from proctor.study.results import Reading as Reading

_PLACES = {
    "api.attempts": ("AgentOptions", "BatchRuns", "ModelOptions", "resume_batch", "run", "run_batch"),
    "api.comparison": ("Comparison", "compare"),
    "api.contracts": ("load_contract", "validate"),
    "api.recorded": ("CheckResult", "Gate", "Report", "Run", "open_run", "replay", "rescore", "runs", "verify"),
    "api.studies": ("Figure", "analyse", "plot", "query"),
    "author.validation": ("Validation",),
    "base.errors": ("BrokenSeal", "ContractError", "ProctorError"),
    "conduct.batch_runs": ("BatchWatcher",),
    "contract.model": ("Contract",),
    "execute.home": ("Home",),
    "record.trace.event": ("Event",),
    "record.verify": ("Verification",),
    "study.analysis.question": ("Question",),
    "study.results": ("Reading",),
}
_MODULES = {name: f"proctor.{module}" for module, names in _PLACES.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Load a name of the interface from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module 'proctor' has no attribute {name!r}")
    try:
        value = getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
