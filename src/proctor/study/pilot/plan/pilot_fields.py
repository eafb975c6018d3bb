"""The table of every field that a pilot file may hold.

The loader reads by this table and the published JSON Schema is made from it. Defaults come from the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as Exact
from typing import Any

from proctor.base.entry_points import DIALECTS as DIALECT_GROUP
from proctor.conduct.briefing import MOST_SEED
from proctor.contract.composite_types import OMITTED, Either, Field, ListOf, MapOf, Shape
from proctor.contract.scalar_types import Decimal, Flag, Money, Optional, Text, Whole, shown, whole
from proctor.contract.strict_yaml import Node, Report
from proctor.contract.text_types import ANY, KEY, NAME, TEXT
from proctor.study.analysis.question import MOST_ALPHA
from proctor.study.pilot.plan import pilot_model

SCHEMA_VERSION = 1
MOST_RUNS = 1000
DIALECTS = ("chat", "responses", "anthropic", "gemini")
ANY_SHARE = r"0(?:\.[0-9]{1,12})?|1(?:\.0{1,12})?"
INNER_SHARE = r"0\.(?=[0-9]*[1-9])[0-9]{1,12}"
SMALL_SHARE = r"0\.(?=[0-9]*[1-9])[0-4][0-9]{0,11}"
PROVIDER_TOOLS = ("strip", "refuse", "allow")
UNKNOWN_FIELDS = ("strip", "refuse", "pass")


@dataclass(frozen=True)
class Share:
    """A share of one, kept as decimal text; ``ends``: 0 and 1 are allowed; ``half``: it is below 0.5."""

    ends: bool = True
    half: bool = False
    blank: str = ""

    def read(self, node: Node, report: Report) -> str:
        text = Decimal().read(node, report)
        if not text:
            return self.blank
        if Exact(text) > 1 or (not self.ends and Exact(text) in (0, 1)):
            bounds = "from 0 to 1" if self.ends else "between 0 and 1"
            report.add(node, f"{shown(node)} is not a share", f"a decimal number {bounds}")
            return self.blank
        if self.half and Exact(text) >= Exact(str(MOST_ALPHA)):
            report.add(node, f"{shown(node)} is not below {MOST_ALPHA}", "a small share such as 0.05")
            return self.blank
        return text

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": 0, "maximum": 1} if self.ends else {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
        # A schema here has whole numbers only, so the bound of one half is checked where a share is text.
        text = SMALL_SHARE if self.half else ANY_SHARE if self.ends else INNER_SHARE
        return {"anyOf": [{"type": "number", **bounds}, {"type": "string", "pattern": whole(text)}]}


PATH = Text("a path, relative to the pilot file", r"[^\u0000-\u001f]+")
OPTIONAL_PATH = Text(PATH.expected, PATH.pattern, empty=True)
MODEL = Text("PROVIDER/NAME, such as openai/NAME", r"[^/\u0000-\u0020]+/[^\u0000-\u0020]+", empty=True)
VARIABLE = Text("the name of a variable, not its value", r"[A-Za-z_][A-Za-z0-9_]{0,99}", empty=True)
LABEL = Text(KEY.expected, KEY.pattern)

HEAD = Shape(
    "pilot",
    (
        Field("name", NAME, "The pilot's name."),
        Field("title", TEXT, "One line that says what the pilot is about."),
        Field("question", TEXT, "The question that it answers."),
    ),
)
METHOD = Shape(
    "method",
    (
        Field("name", NAME, "The name of the method in reports."),
        Field("agent", TEXT, "The agent, as in proctor run --agent."),
        Field("model", MODEL, "The model, as PROVIDER/NAME; empty for none.", pilot_model.Method.model),
        Field("endpoint", ANY, "The base URL of the model's provider.", pilot_model.Method.endpoint),
        Field("key_env", VARIABLE, "The variable that holds the key.", pilot_model.Method.key_env),
        Field("key_file", OPTIONAL_PATH, "A file that holds the key.", pilot_model.Method.key_file),
        Field(
            "dialect",
            Text("a dialect", choices=DIALECTS, empty=True, group=DIALECT_GROUP),
            "The one way to talk to the model.",
            pilot_model.Method.dialect,
        ),
        Field("script", OPTIONAL_PATH, "With scripted/NAME: the turns that answer.", pilot_model.Method.script),
        Field(
            "provider_tools",
            Text("a choice", choices=PROVIDER_TOOLS),
            "What to do with tools that the provider would run.",
            pilot_model.Method.provider_tools,
        ),
        Field(
            "unknown_fields",
            Text("a choice", choices=UNKNOWN_FIELDS),
            "What to do with unknown fields of a request.",
            pilot_model.Method.unknown_fields,
        ),
        Field(
            "output_tokens",
            Whole(0, 1_000_000),
            "The most tokens of an answer to a request that names no maximum; 0 for none.",
            pilot_model.Method.output_tokens,
        ),
        Field("files", OPTIONAL_PATH, "A directory that the agent finds at /agent.", pilot_model.Method.files),
        Field("configuration", MapOf(KEY, ANY), "How the agent is set up; declared, and shown in reports.", {}),
    ),
)
COMPARISON = Shape(
    "comparison",
    (
        Field("candidate", NAME, "The method that may be adopted."),
        Field("against", NAME, "The method that it would replace."),
    ),
)
BASELINES = Shape(
    "baselines",
    (
        Field("noop", Flag(), "Whether every task is tried with no change.", pilot_model.Baselines.noop),
        Field("reference", Flag(), "Whether it is tried with the known solution.", pilot_model.Baselines.reference),
        Field("human", Flag(), "Whether it is tried with the task's human_patch.", pilot_model.Baselines.human),
        Field("human_minutes", Decimal(), "Minutes of a person for one patch.", pilot_model.Baselines.human_minutes),
    ),
)
TASK = Shape(
    "task",
    (
        Field("contract", PATH, "The contract's directory, or its contract.yaml, relative to the pilot file."),
        Field("strata", MapOf(LABEL, TEXT), "Labels in addition to the contract's own, or instead of them.", {}),
        Field("human_patch", OPTIONAL_PATH, "The patch that a person made.", pilot_model.Task.human_patch),
    ),
)
BUDGETS = Shape(
    "budgets",
    (
        Field("pilot_usd", Money(), "The most that the whole pilot may cost."),
        Field("task_usd", Optional(Money()), "The most that all runs of one task may cost, without people.", None),
        Field("run_usd", Optional(Money()), "The most that one run may cost; the contract's own cap stays.", None),
    ),
)
ENDPOINTS = Shape(
    "endpoints",
    (
        Field(
            "primary", Text("an endpoint", choices=pilot_model.PRIMARY), "What decides.", pilot_model.Endpoints.primary
        ),
        Field(
            "secondary",
            ListOf(Text("an endpoint", choices=pilot_model.SECONDARY), unique=True),
            "Other values that are reported.",
            pilot_model.Endpoints.secondary,
        ),
    ),
)
_COUNT = Whole(0, 10**12)
USAGE = Shape(
    "usage",
    (
        Field("requests", _COUNT, "Requests to the model.", 0),
        Field("tokens_in", _COUNT, "Tokens that the model reads.", 0),
        Field("tokens_cached", _COUNT, "Those of tokens_in that are read from a cache.", 0),
        Field("tokens_out", _COUNT, "Tokens that the model writes.", 0),
        Field("tool_calls", _COUNT, "Commands that the agent runs.", 0),
        Field("seconds", _COUNT, "Seconds that the agent takes.", 0),
        Field("judge_seconds", _COUNT, "Seconds that acceptance takes.", 0),
        Field("review_minutes", Decimal(), "Minutes of reviewers, on average.", pilot_model.Usage.review_minutes),
    ),
)
ASSUMED = Shape(
    "assumed",
    (
        Field("rate", Share(ends=False), "The success rate of the method that is compared against.", "0.5"),
        Field("icc", ListOf(Share(), least=1, unique=True), "Correlations of runs of a task.", pilot_model.Assumed.icc),
        Field(
            "correlation",
            ListOf(Share(), least=1, unique=True),
            "Correlations of two methods over tasks.",
            pilot_model.Assumed.correlation,
        ),
        Field("invalid", Share(), "The share of runs that will not be scorable.", pilot_model.Assumed.invalid),
        Field(
            "usage",
            Optional(USAGE),
            "What one run uses. Amounts that are left out are assumed, at most the contract's caps.",
            None,
        ),
        Field("low", Decimal(), "Times the usage: the low end of the projection.", pilot_model.Assumed.low),
        Field("high", Decimal(), "Times the usage: the high end of it.", pilot_model.Assumed.high),
    ),
)
FLAKES = Shape(
    "flakes",
    (
        Field("tolerance", Share(), "The share of attempts that may deviate.", pilot_model.Flakes.tolerance),
        Field("runs", Whole(1, MOST_RUNS), "Attempts on each tree.", pilot_model.Flakes.runs),
    ),
)
ADJUDICATION = Shape(
    "adjudication",
    (
        Field("rule", Text("a rule", choices=pilot_model.RULES), "How attempts decide.", pilot_model.Adjudication.rule),
        Field("reruns", Whole(1, 100), "How often a run is judged.", pilot_model.Adjudication.reruns),
    ),
)
STAGE_ONE = Shape(
    "stage one",
    (
        Field("tasks", Whole(1, MOST_RUNS), "How many tasks; one from every stratum if left out.", OMITTED),
        Field("runs", Whole(1, MOST_RUNS), "Runs of a task when it is over.", pilot_model.Stages.one_runs),
    ),
)
STAGE_TWO = Shape(
    "stage two",
    (Field("runs", Whole(1, MOST_RUNS), "Runs of a task when it is over.", pilot_model.Stages.two_runs),),
)
STAGE_THREE = Shape(
    "stage three",
    (Field("runs", Whole(1, MOST_RUNS), "The same as runs_per_task; it may be left out.", OMITTED),),
)
STAGES = Shape(
    "stages",
    (
        Field("one", STAGE_ONE, "Feasibility: a few tasks of every stratum.", OMITTED),
        Field("two", STAGE_TWO, "Limited scale: every task, few runs.", OMITTED),
        Field("three", STAGE_THREE, "The rest.", OMITTED),
    ),
)
SAFETY = Shape(
    "safety",
    (Field("violations", Whole(1, MOST_RUNS), "How many of one kind end the pilot.", pilot_model.Stopping.violations),),
)
LOOKS = Shape("efficacy", (Field("looks", ListOf(Share(), least=1), "Shares of the plan, the last of them 1."),))
STOPPING = Shape(
    "stopping",
    (
        Field("safety", SAFETY, "When violations are systematic.", OMITTED),
        Field(
            "efficacy",
            Either("none, or {looks: [...]}", {"text": Text("none", choices=("none",)), "map": LOOKS}),
            "Whether interim looks may end the pilot.",
            "none",
        ),
    ),
)
VARIATION = Shape(
    "variation",
    (
        Field("name", NAME, "The name of the variation in reports."),
        Field("seed", Optional(Whole(0, MOST_SEED)), "The agent's seed; the contract's if left out.", None),
        Field(
            "preface", OPTIONAL_PATH, "A text that precedes the task in the briefing.", pilot_model.Variation.preface
        ),
    ),
)
PILOT = Shape(
    "pilot file",
    (
        Field("schema", Whole(SCHEMA_VERSION, SCHEMA_VERSION), "The version of this form: 1."),
        Field("pilot", HEAD, "The name of the pilot and its question."),
        Field("methods", ListOf(METHOD, least=1), "What is compared."),
        Field(
            "comparison",
            Optional(COMPARISON),
            "The two methods that the question is about; all are ranked if left out.",
            None,
        ),
        Field("baselines", BASELINES, "The baselines that also run on every task.", OMITTED),
        Field("tasks", ListOf(TASK, least=1), "The suite."),
        Field("strata", ListOf(LABEL, unique=True), "The labels that make the strata; kind and complexity too.", ()),
        Field(
            "runs_per_task", Whole(1, MOST_RUNS), "Runs of each method on each task.", pilot_model.Pilot.runs_per_task
        ),
        Field(
            "seed",
            Whole(),
            "The seed of the randomisation; any but the default is a deviation.",
            pilot_model.Pilot.seed,
        ),
        Field("budgets", BUDGETS, "Envelopes in dollars."),
        Field("prices", OPTIONAL_PATH, "A price table (CSV); the fallback schedule if left out.", ""),
        Field("endpoints", ENDPOINTS, "The endpoint that decides, and others that are reported.", OMITTED),
        Field("minimum_effect", Share(ends=False), "The smallest difference that matters."),
        Field("alpha", Share(ends=False, half=True), "The probability of a false alarm.", pilot_model.Pilot.alpha),
        Field("power", Share(ends=False), "The probability of detecting the minimum effect.", pilot_model.Pilot.power),
        Field("assumed", ASSUMED, "The assumptions of the plan.", OMITTED),
        Field("flakes", FLAKES, "How often checks may be flaky.", OMITTED),
        Field("adjudication", ADJUDICATION, "How repeated judgements decide.", OMITTED),
        Field("stages", STAGES, "How far each stage goes.", OMITTED),
        Field("stopping", STOPPING, "When the pilot ends early.", OMITTED),
        Field(
            "retries",
            Whole(0, 10),
            "How often a run is repeated that a fault of the machine made invalid.",
            pilot_model.Pilot.retries,
        ),
        Field("variations", ListOf(VARIATION), "How repeats differ, in turns; not at all if left out.", ()),
    ),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of pilot files, in the dialect of 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Proctor pilot",
        **PILOT.schema(),
    }
