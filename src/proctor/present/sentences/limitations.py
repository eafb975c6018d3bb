"""What the data do not support, and to what the findings do not extend."""

from __future__ import annotations

from proctor.present.sentences.phrases import Said, Sentences, number_of


def _variation(said: Said) -> str:
    once = "There is one trial for each task" if said["trials"] else "There is at most one outcome for each task"
    return f"{once}: the variation of an agent on a task, pass@k beyond 1 and all-of-k are unknown."


def _torn(said: Said) -> str:
    one = said["tasks"] == 1
    return f"{number_of(said['tasks'], 'task')} {'is' if one else 'are'} in several strata, by different rows."


def _these_tasks(said: Said) -> str:
    one = said["tasks"] == 1
    tasks = "this task" if one else f"these {said['tasks']} tasks"
    return f"The findings are about {tasks}. Intervals extend to similar tasks, not to software work as a whole."


SENTENCES: Sentences = {
    "cannot-add-costs": lambda said: "No costs: they are in units that cannot be added.",
    "costs-cut-at-different-values": lambda said: (
        "Runs were cut at different costs, as by a cap on time. The cost of a run at the cut is related to what it "
        "would have cost, so curves and means of cost are rough."
    ),
    "no-conditions": lambda said: (
        "No conditions: the table does not show whether the runs of a task had the same tools and limits."
    ),
    "no-costs": lambda said: "No costs: no run was metered.",
    "no-strata": lambda said: "No strata: the table does not show what kinds of tasks there are.",
    "no-times": lambda said: "No times: no run has a duration.",
    "one-agent": lambda said: "There is only one agent, and no other agent to compare it with.",
    "one-task-only": lambda said: "There is only one task: the data give no information about other tasks.",
    "only-few-tasks": lambda said: (
        f"There are only {said['tasks']} tasks: intervals are wide, and tests on so few tasks are coarse."
    ),
    "other-agents": lambda said: "Not to other versions, models or configurations of the agents.",
    "other-limits": lambda said: "Not to other caps, prices or networks than those of the protocol.",
    "other-tasks": lambda said: "Not to repositories, languages and kinds of tasks that are not in the suite.",
    "pairs-without-runs": lambda said: (
        f"{said['pairs']} of {said['of']} pairs of agent and task have no run: pairs of agents are compared on the "
        "tasks that both ran, and rates are over each agent's own tasks."
    ),
    "task-in-several-strata": _torn,
    "these-agents": lambda said: (
        "The agents are these versions under these limits. An agent with another model, budget or prompt is a "
        "different agent."
    ),
    "these-tasks": _these_tasks,
    "times-cut-at-different-values": lambda said: (
        "Runs were cut at different times. Curves and means of time assume that this is unrelated to how long the "
        "runs would have taken, which is not so for caps by task."
    ),
    "variation-unknown": _variation,
}
