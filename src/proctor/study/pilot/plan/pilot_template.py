"""A complete and valid pilot file to start from, with a comment for each decision of its author."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from proctor.base.errors import UsageFault
from proctor.base.files import write_whole
from proctor.contract.text_types import NAME

TASKS = ("contracts/task-1", "contracts/task-2")
"""The tasks of a pilot file for which no contracts were named."""

_PILOT = """\
# A pilot: which agents are compared, on which tasks, how often, and by which rules.
# `proctor pilot plan FILE` checks and freezes it, `proctor pilot run FILE` runs it, and `proctor pilot report FILE`
# writes the report. Paths begin at this file. `proctor schema pilot` prints all fields.
schema: 1

pilot:
  name: {name}
  title: A new agent and the present one on our tasks
  question: "Should we use the new agent rather than the present one?"

# What is compared: agents as in `proctor run --agent`. With a model, add for example
#   model: openai/NAME, key_env: OPENAI_API_KEY
# `files` is a directory that the agent sees at /agent. Replace both agents: these two do nothing.
methods:
  - {{name: present, agent: "command:true"}}
  - {{name: new, agent: "command:sleep 1"}}

# The two methods that the question is about. Without it all methods are ranked.
comparison: {{candidate: new, against: present}}

# Baselines run on every task as well: noop changes nothing, reference applies the known solution.
baselines: {{noop: true, reference: true}}

# The contracts. `proctor validate` must accept each of them. Strata are labels by which results are listed.
tasks:
{tasks}
strata: [language, kind]

# Runs of each method on each task. `proctor pilot power FILE` computes how many tasks and runs the question needs.
runs_per_task: 3

# Spending limits in dollars. Amounts are text. `prices: prices.csv` names a price table; without one, costs are in
# abstract units.
budgets: {{run_usd: "1.00", pilot_usd: "100.00"}}

endpoints: {{primary: success, secondary: [cost_usd, seconds]}}

# The smallest difference of success rates that matters to you, and the accepted probability of a false claim.
minimum_effect: "0.20"
alpha: "0.05"

# What planning assumes: the success rate of the present agent, and how alike the runs of one task are.
assumed: {{rate: "0.50", icc: ["0.2", "0.4", "0.6"], correlation: ["0", "0.5"]}}

# How many attempts show whether the checks of a task are steady, and which share of them may deviate.
flakes: {{tolerance: "0", runs: 5}}

# Stage one runs few tasks once, stage two all tasks a few times, stage three the rest.
stages: {{one: {{runs: 1}}, two: {{runs: 1}}}}

# After three violations of one kind the pilot ends. `efficacy: {{looks: [0.5, 1.0]}}` adds an interim analysis.
stopping: {{safety: {{violations: 3}}, efficacy: none}}
"""


def scaffold(file: Path, name: str, tasks: Sequence[str] = ()) -> None:
    """Write a new pilot called ``name`` on ``tasks`` into ``file``, which must not exist."""
    if not NAME.matches(name):
        raise UsageFault(f"{name!r} cannot be the name of a pilot", hint=f"it has to be {NAME.expected}")
    if file.exists():
        raise UsageFault("exists already", where=str(file), hint="--out FILE writes another file")
    listed = "".join(f"  - {{contract: {json.dumps(task)}}}\n" for task in tasks or TASKS)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, _PILOT.format(name=name, tasks=listed).encode())
    except OSError as error:
        raise UsageFault(f"cannot be written: {error.strerror}", where=str(file)) from None
