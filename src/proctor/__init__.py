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

from proctor.base.errors import missing_extra

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proctor.api.pilots import PilotPlan as PilotPlan
    from proctor.api.pilots import PilotRun as PilotRun
    from proctor.api.pilots import PilotStage as PilotStage
    from proctor.api.pilots import pilot_status as pilot_status
    from proctor.api.pilots import plan_pilot as plan_pilot
    from proctor.api.pilots import report_pilot as report_pilot
    from proctor.api.pilots import run_pilot as run_pilot
    from proctor.api.recorded_runs import Comparison as Comparison
    from proctor.api.recorded_runs import Run as Run
    from proctor.api.recorded_runs import compare as compare
    from proctor.api.recorded_runs import open_run as open_run
    from proctor.api.recorded_runs import replay as replay
    from proctor.api.recorded_runs import rescore as rescore
    from proctor.api.recorded_runs import runs as runs
    from proctor.api.recorded_runs import verify as verify
    from proctor.api.run_contracts import AgentOptions as AgentOptions
    from proctor.api.run_contracts import BatchRuns as BatchRuns
    from proctor.api.run_contracts import ModelOptions as ModelOptions
    from proctor.api.run_contracts import load_contract as load_contract
    from proctor.api.run_contracts import resume_batch as resume_batch
    from proctor.api.run_contracts import run as run
    from proctor.api.run_contracts import run_batch as run_batch
    from proctor.api.run_contracts import validate as validate
    from proctor.api.studies import Figure as Figure
    from proctor.api.studies import analyse as analyse
    from proctor.api.studies import plot as plot
    from proctor.api.studies import query as query
    from proctor.author.validation import Validation as Validation
    from proctor.base.errors import BrokenSeal as BrokenSeal
    from proctor.base.errors import ContractError as ContractError
    from proctor.base.errors import ProctorError as ProctorError
    from proctor.conduct.batch.batch_runs import BatchWatcher as BatchWatcher
    from proctor.contract.model import Contract as Contract
    from proctor.execute.proctor_home import Home as Home
    from proctor.record.manifest_model import Manifest as Manifest
    from proctor.record.report_model import CheckResult as CheckResult
    from proctor.record.report_model import Gate as Gate
    from proctor.record.report_model import Report as Report
    from proctor.record.trace.event import Event as Event
    from proctor.record.verify import Verification as Verification
    from proctor.study.analysis.question import Question as Question
    from proctor.study.table_import.csv_reader import Reading as Reading

_PLACES = {
    "api.run_contracts": (
        *("AgentOptions", "BatchRuns", "ModelOptions", "load_contract", "resume_batch", "run", "run_batch", "validate"),
    ),
    "api.pilots": (
        *("PilotPlan", "PilotRun", "PilotStage", "pilot_status", "plan_pilot", "report_pilot", "run_pilot"),
    ),
    "api.recorded_runs": (
        *("Comparison", "Run", "compare", "open_run", "replay", "rescore", "runs"),
        "verify",
    ),
    "api.studies": ("Figure", "analyse", "plot", "query"),
    "author.validation": ("Validation",),
    "base.errors": ("BrokenSeal", "ContractError", "ProctorError"),
    "conduct.batch.batch_runs": ("BatchWatcher",),
    "contract.model": ("Contract",),
    "execute.proctor_home": ("Home",),
    "record.trace.event": ("Event",),
    "record.manifest_model": ("Manifest",),
    "record.report_model": ("CheckResult", "Gate", "Report"),
    "record.verify": ("Verification",),
    "study.analysis.question": ("Question",),
    "study.table_import.csv_reader": ("Reading",),
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
