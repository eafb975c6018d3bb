"""The columns of the table of runs: their names in order, the kind of their values, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

TEXT, WHOLE, FLAG, NUMBER = "text", "whole number", "1 or 0", "number"


@dataclass(frozen=True)
class Column:
    """One column: its name, the kind of its values, and what they mean."""

    name: str
    kind: str
    meaning: str


COLUMNS = (
    Column("run", TEXT, "the run's id; no two rows share one"),
    Column("source", TEXT, "where the row comes from: a run directory, or file:line of a table of results"),
    Column("agent", TEXT, "the agent's name"),
    Column("model", TEXT, "the model the agent was given; missing when it had none"),
    Column("method", TEXT, "what is compared: the agent, or agent and model; in a pilot the method's name there"),
    Column("task", TEXT, "the contract's name"),
    Column("contract", TEXT, "the contract's content id"),
    Column("stratum", TEXT, "the group of tasks it belongs to, such as python / medium"),
    Column("trial", WHOLE, "which attempt at the task this is, from 1"),
    Column("status", TEXT, "success, failure, acceptance-error, invalid or unknown"),
    Column("success", FLAG, "the primary endpoint: 1 accepted, 0 not, missing when that could not be told"),
    Column("scorable", FLAG, "1 when the run says something about the agent"),
    Column("ended", TEXT, "what ended the agent: finished, resource, safety, operator, infrastructure or unknown"),
    Column("censored", FLAG, "1 when a cap cut cost and time short: both are at least what is written"),
    Column("exit_code", WHOLE, "what the agent exited with; negative for a signal, missing where it has no exit code"),
    Column("changed_files", WHOLE, "files that the patch changes; 0 when the agent left no change"),
    Column("cost_usd", NUMBER, "what the run itself cost, projected: model, execution, human and overhead; no reviews"),
    Column("model_usd", NUMBER, "the part that model calls cost"),
    Column("execution_usd", NUMBER, "the part that running commands and checks cost"),
    Column("human_usd", NUMBER, "the part that people's time cost while it ran"),
    Column("overhead_usd", NUMBER, "the part that the harness itself cost"),
    Column("tokens_in", WHOLE, "tokens the model read"),
    Column("tokens_out", WHOLE, "tokens the model wrote"),
    Column("seconds", NUMBER, "wall-clock time of the agent"),
    Column("judge_seconds", NUMBER, "wall-clock time of the checks"),
    Column("tool_calls", WHOLE, "commands the agent ran"),
    Column("test_cycles", WHOLE, "times the agent ran tests"),
    Column("gate1", FLAG, "1 when the patch was valid"),
    Column("gate2", FLAG, "1 when it builds and passes the static checks"),
    Column("gate3", FLAG, "1 when functional acceptance passed"),
    Column("gate4", FLAG, "1 when safety and policy were kept"),
    Column("score", NUMBER, "the graded score of a successful run"),
    Column("contract_score", NUMBER, "the contract's own weighted score"),
    Column("tags", TEXT, "failure tags, sorted and joined by ;"),
    Column("comparability", TEXT, "the comparability class: runs of one class may be compared"),
    Column("pilot", TEXT, "the digest of the pilot the run belongs to; missing for none"),
    Column("stage", TEXT, "the stage of that pilot"),
    Column("begun", TEXT, "when the run began, in ISO 8601"),
    Column("batch", TEXT, "the batch the run belongs to"),
    Column(
        "cost_method", TEXT, "the price table behind the costs, or where there was none the schedule of abstract units"
    ),
    Column("billed_usd", NUMBER, "what a provider billed, as far as it said so; no part of cost_usd"),
    Column("human_minutes", NUMBER, "minutes that people spent on reviews of the run"),
    Column("review_usd", NUMBER, "what these minutes cost where the price table prices them; no part of cost_usd"),
    Column("review", TEXT, "what reviewers think of the run: accept, reject, unsure or disputed; missing without any"),
    Column("setup_execution_usd", NUMBER, "the part of execution_usd before the agent began"),
    Column("agent_execution_usd", NUMBER, "the part of execution_usd while the agent acted"),
    Column("acceptance_execution_usd", NUMBER, "the part of execution_usd in acceptance"),
    Column("setup_overhead_usd", NUMBER, "the part of overhead_usd before the agent began"),
    Column("agent_overhead_usd", NUMBER, "the part of overhead_usd while the agent acted"),
    Column("acceptance_overhead_usd", NUMBER, "the part of overhead_usd in acceptance"),
    Column("retry_of", TEXT, "the invalid run in whose place this one was made; missing for a first attempt"),
)
LATER = ("exit_code", "changed_files", "review_usd", "review", "retry_of")
"""Columns that files of earlier versions do not have."""
NAMES = tuple(column.name for column in COLUMNS)
TEXT_NAMES = tuple(column.name for column in COLUMNS if column.kind == TEXT)
NUMBER_NAMES = tuple(column.name for column in COLUMNS if column.kind != TEXT)
