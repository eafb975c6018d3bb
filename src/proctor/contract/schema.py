"""The schema of ``contract.yaml``: the table of every field that it may hold, and the JSON Schema made from it.

The loader reads by this table, so the two cannot drift. Defaults come from the model. What one field alone can tell is
here; what needs the disk or several parts of a contract at once is in ``contract.load``. The tables of policy and
budget are in ``contract.policy_schema``.
"""

from __future__ import annotations

from typing import Any

from proctor.base.entry_points import INPUT_SOURCES, RESULTS_READERS, SANDBOXES, registered_names
from proctor.contract import model
from proctor.contract.composite_types import OMITTED, Either, Field, ListOf, MapOf, Rule, Shape, Variants
from proctor.contract.policy_schema import BUDGET, POLICY, SETUP_NETWORK
from proctor.contract.scalar_types import Decimal, Flag, Optional, Text, Whole
from proctor.contract.text_types import (
    ANY,
    COMMIT,
    DIRECTORY,
    FILE,
    FILE_NAME,
    GIT,
    GLOBS,
    IN_IMAGE,
    IN_TREE,
    KEY,
    LAYER,
    NAME,
    OUTSIDE,
    ROOT,
    SECONDS,
    SHA256,
    SPECS,
    STRIP,
    TEXT,
    TO,
    VARIABLE,
)

SCHEMA_VERSION = 1

COMMAND = Either("a command: text for the shell, or a list of arguments", {"text": TEXT, "list": ListOf(ANY, least=1)})
IDS_FILE = Shape("ids", (Field("file", FILE, "A file with one test id per line; # begins a comment line."),))
IDS = Either("a list of test ids, or {file: name}", {"list": ListOf(TEXT, unique=True), "map": IDS_FILE})
IMAGE = Either(
    "the digest of an image's only layer, or a list of digests", {"text": LAYER, "list": ListOf(LAYER, least=1)}
)
VARIABLES = MapOf(VARIABLE, ANY)

HEAD = Shape(
    "contract",
    (
        Field("name", NAME, "The contract's name."),
        Field("title", TEXT, "One line that says what the task is."),
        Field("kind", Text("a kind", choices=model.KINDS), "The kind of task."),
        Field("strata", MapOf(KEY, TEXT), "Labels for grouping results, such as language: python.", {}),
        Field("assumptions", ListOf(TEXT), "What the author assumes.", ()),
    ),
)
TARGETS = Shape(
    "targets",
    (
        Field("modules", ListOf(TEXT), "Modules that the task is expected to change.", ()),
        Field("entry_points", ListOf(TEXT), "Functions or commands through which the change shows.", ()),
        Field("behaviour", ANY, "The change of behaviour that is expected.", ""),
    ),
)
TASK = Shape(
    "task",
    (
        Field("issue", FILE, "The file with the text that the agent is given."),
        Field("hints", ListOf(TEXT), "Hints on tools that the briefing adds.", ()),
        Field(
            "targets",
            TARGETS,
            "What the task is about; it makes the task less ambiguous and has no other effect.",
            OMITTED,
        ),
        Field("ambiguities", ListOf(TEXT), "Known ambiguities.", ()),
    ),
)
SUBMODULE_PIN = Shape(
    "submodule",
    (Field("git", GIT, "Where the submodule comes from."), Field("commit", COMMIT, "Its commit.")),
)
_PIN = (
    Field("file", FILE_NAME, "The name of the one file that it resolves to; else contract.lock has them.", OMITTED),
    Field("sha256", SHA256, "The digest of that file.", OMITTED),
)
_SHA256 = Field("sha256", SHA256, "The digest of the archive.")
_STRIP = Field("strip", STRIP, "How many leading directories to take off.", 0)


def _source(key: str, description: str, *more: Field) -> Shape:
    """The shape of something that is fetched by name and digest."""
    first = Field(key, SPECS.get(key, TEXT), description)
    names = {field.name for field in more}
    rules: tuple[Rule, ...] = ()
    if "accept_copy" in names:
        rules = (Rule("for", ("judge",), refuses=("accept_copy",)),)
    if key == "archive":
        return Shape("archive", (first, _SHA256, *more), rules)
    if "with_dependencies" in names:
        rules = (*rules, Rule("with_dependencies", (True,), refuses=("file", "sha256")))
    return Shape(f"{key} release", (first, *_PIN, *more), rules, together=("file", "sha256"))


_SOURCE_DESCRIPTIONS = {
    "archive": "A tar or zip archive: a file of the contract or an address.",
    "pypi": "A release on PyPI.",
    "npm": "A release on npm.",
    "deb": "A source package of Debian.",
}
GIT_REPOSITORY = Shape(
    "git repository",
    (
        Field("git", GIT, "A git repository: a path relative to the contract, or an address."),
        Field("commit", COMMIT, "The commit that the task starts from."),
        Field("submodules", MapOf(IN_TREE, SUBMODULE_PIN), "Submodules by their path in the tree.", {}),
    ),
)
REPOSITORY = Variants(
    "repository",
    (GIT_REPOSITORY, *(_source(key, description, _STRIP) for key, description in _SOURCE_DESCRIPTIONS.items())),
)
_INPUT = (
    Field("name", NAME, "What the rest of the contract calls it; the package's name if left out.", OMITTED),
    Field(
        "for",
        Text("an audience", choices=model.AUDIENCES),
        "Where it is visible: to setup, or to the judge only.",
        model.Input.audience,
    ),
    Field(
        "accept_copy",
        TEXT,
        "Why setup may see it although it contains another version of the project under test.",
        OMITTED,
    ),
)
_TAKEN = frozenset({"git", *model.SOURCES, *(field.name for field in (*_PIN, *_INPUT)), "with_dependencies"})


def input_kinds() -> tuple[str, ...]:
    """The kinds of input that installed packages add; names of fields cannot be kinds."""
    return tuple(name for name in registered_names(INPUT_SOURCES) if name not in _TAKEN)


def _input_shapes() -> tuple[Shape, ...]:
    return tuple(_source(kind, "An input of a plug-in, in its own notation.", *_INPUT) for kind in input_kinds())


_WITH_DEPENDENCIES = Field("with_dependencies", Flag(), "Whether its dependencies are fetched too.", False)
INPUT = Variants(
    "input",
    (
        _source("archive", _SOURCE_DESCRIPTIONS["archive"], *_INPUT),
        *(_source(key, _SOURCE_DESCRIPTIONS[key], *_INPUT, _WITH_DEPENDENCIES) for key in ("pypi", "npm", "deb")),
    ),
    _input_shapes,
)
PLACED = Shape(
    "file",
    (
        Field("from", FILE, "A file of the contract."),
        Field("to", OUTSIDE, "Where every sandbox of the run shows it."),
    ),
)
ENVIRONMENT = Shape(
    "environment",
    (
        Field(
            "sandbox",
            Text("a sandbox", choices=model.SANDBOXES, group=SANDBOXES),
            "What the sandbox's root is: the host's own system, or an image.",
            model.Environment.sandbox,
        ),
        Field("image", IMAGE, "Its layers, lowest first, as `proctor image inspect` prints them.", OMITTED),
        Field("root", ROOT, "The digest that identifies the root; empty for any.", model.Environment.root),
        Field("variables", VARIABLES, "Environment variables; what is not declared is absent.", {}),
        Field("files", ListOf(PLACED), "Files that every sandbox shows.", ()),
        Field(
            "require",
            ListOf(Text("a requirement", choices=model.REQUIREMENTS), unique=True),
            "What the machine must offer; without it the run does not start.",
            (),
        ),
        Field("seed", Whole(0, 2**32 - 1), "The seed that is exposed to the run.", model.Environment.seed),
        Field(
            "hide",
            ListOf(IN_IMAGE, unique=True),
            "Paths or globs in the image that no sandbox shows, such as `/testbed/.git`.",
            (),
        ),
    ),
    rules=(
        Rule("sandbox", ("image",), needs=("image",)),
        Rule("sandbox", ("image",), refuses=("image", "hide"), other=True),
    ),
)
STEP = Shape(
    "setup step",
    (
        Field("run", COMMAND, "The command."),
        Field("directory", DIRECTORY, "Where it runs.", model.SetupStep.directory),
        Field("timeout_seconds", SECONDS, "The most time that it may take.", model.SetupStep.timeout_seconds),
        Field(
            "repeat",
            Text("when", choices=model.REPEATS),
            "Whether it runs again on the patched tree before judging.",
            model.SetupStep.repeat,
        ),
        Field("network", SETUP_NETWORK, "Its network access; only none is supported today.", "none"),
    ),
)
_TAKE = (
    Field("paths", GLOBS, "What to take, as path prefixes or globs inside the source; all if empty.", ()),
    Field("strip", STRIP, "How many leading directories to take off.", 0),
    Field("to", TO, "The directory of the tree to put the files in.", ""),
)
HIDDEN = Shape("hidden", (Field("from", FILE, "A directory of the contract, or the name of a judge input."), *_TAKE))
RERUN = Shape(
    "rerun",
    (
        Field("times", Whole(1, 100), "How often the check runs.", model.Rerun.times),
        Field("decide", Text("a rule", choices=model.DECISIONS), "How the attempts decide.", model.Rerun.decide),
    ),
)
INVERTED = Shape(
    "inverted",
    (
        Field("draws", Whole(0, 100), "How many runs with altered tests confirm a success.", model.Inverted.draws),
        Field("run", COMMAND, "The command of these runs, if it differs from the check's.", OMITTED),
        Field("variants", ListOf(FILE, unique=True), "Patches that each alter a test so that it must fail.", ()),
    ),
)
SENTINEL = Shape(
    "sentinel",
    (
        Field("template", TEXT, "A file of the contract or the text itself, with {passing} and {failing}."),
        Field("at", IN_TREE, "The path in the tree, with {name}."),
        Field("arguments", ListOf(ANY), "Added to the command line, with {path}.", ()),
        Field("passing_id", TEXT, "The id of the test that passes.", model.Sentinel.passing_id),
        Field("failing_id", TEXT, "The id of the test that fails.", model.Sentinel.failing_id),
    ),
)
CHECK = Shape(
    "check",
    (
        Field("id", NAME, "The check's id."),
        Field("gate", Text("a gate", choices=model.GATES), "The gate that it belongs to."),
        Field("run", COMMAND, "The command.", OMITTED),
        Field("layer", Text("a layer", choices=model.LAYERS, empty=True), "The layer of its tests.", model.Check.layer),
        Field("mandatory", Flag(), "Whether the decision depends on it.", model.Check.mandatory),
        Field("directory", DIRECTORY, "Where it runs.", model.Check.directory),
        Field("timeout_seconds", SECONDS, "The most time that an attempt may take.", model.Check.timeout_seconds),
        Field(
            "results",
            Text("a format", choices=model.RESULT_FORMATS, group=RESULTS_READERS),
            "The format of the results.",
            model.Check.results,
        ),
        Field(
            "results_file",
            Text(FILE_NAME.expected, FILE_NAME.pattern, empty=True),
            "The file in $PROCTOR_RESULTS that the results are read from, unless the format is exit-code or pytest.",
            model.Check.results_file,
        ),
        Field("must_pass", IDS, "Test ids that fail before and have to pass.", ()),
        Field("keep_passing", IDS, "Test ids that pass before and must still pass.", ()),
        Field("hidden", ListOf(HIDDEN), "Files put in place for the judge after the patch.", ()),
        Field("variables", VARIABLES, "More environment variables for this check.", {}),
        Field("rerun", RERUN, "How often it runs and how the attempts decide.", OMITTED),
        Field("sentinel", Optional(SENTINEL), "A test file that shows whether results are genuine.", None),
        Field("no_op", Flag(), "Marks a gate that is empty on purpose.", model.Check.no_op),
        Field(
            "flake_tolerance",
            Decimal(),
            "The share of attempts on one tree that may differ from the rest.",
            model.Check.flake_tolerance,
        ),
        Field("inverted", INVERTED, "How a success is confirmed with altered tests.", OMITTED),
    ),
    (
        Rule("no_op", (False,), needs=("run",)),
        Rule("no_op", (True,), refuses=("run", "results", "hidden", "sentinel")),
        Rule("results", ("exit-code", "pytest"), needs=("results_file",), other=True),
        Rule("results", ("exit-code", "pytest"), refuses=("results_file",)),
        Rule("results", ("exit-code",), refuses=("must_pass", "keep_passing", "sentinel")),
    ),
)
_ALTERNATIVES = Field("alternatives", ListOf(FILE, unique=True), "Patches that solve the task in other ways.", ())
REFERENCE = Variants(
    "reference",
    (
        Shape("reference", (Field("patch", FILE, "A patch of the contract, in git's format."), _ALTERNATIVES)),
        Shape("reference", (Field("from", NAME, "The name of a judge input."), *_TAKE, _ALTERNATIVES)),
    ),
)
WEIGHTS = Shape(
    "weights",
    (
        Field("minimality", Decimal(), "The weight of a small patch.", model.Score.minimality_weight),
        Field("trace", Decimal(), "The weight of a complete trace.", model.Score.trace_weight),
        Field("maintainability", Decimal(), "The weight of the checks below.", model.Score.maintainability_weight),
    ),
)
SCORE = Shape(
    "score",
    (
        Field("lambda", Decimal(), "How fast the score falls with the patch's size.", model.Score.minimality_lambda),
        Field("weights", WEIGHTS, "Weights that sum to 1.", OMITTED),
        Field("maintainability", ListOf(NAME, unique=True), "Checks that measure maintainability.", ()),
    ),
)
CONTRACT = Shape(
    "contract.yaml",
    (
        Field("schema", Whole(SCHEMA_VERSION, SCHEMA_VERSION), "The version of this form: 1."),
        Field("contract", HEAD, "The name of the contract and the kind of task."),
        Field("task", TASK, "What the agent is asked to do."),
        Field("repository", REPOSITORY, "The tree that the task starts from, pinned."),
        Field("environment", ENVIRONMENT, "The environment of setup, agent and checks.", OMITTED),
        Field("inputs", ListOf(INPUT), "What is fetched outside the sandbox, by name and digest.", ()),
        Field("setup", ListOf(STEP), "Commands that turn the tree into the base, offline.", ()),
        Field("policy", POLICY, "What the agent and its patch may do; the defaults are policy choices.", OMITTED),
        Field("budget", BUDGET, "The most that one run may use; the defaults are policy choices.", OMITTED),
        Field("checks", ListOf(CHECK, least=1), "The oracle: checks in the order in which they run."),
        Field("reference", Optional(REFERENCE), "A known solution, for validating the contract.", None),
        Field("score", SCORE, "The rubric of the graded score.", OMITTED),
    ),
)


def json_schema() -> dict[str, Any]:
    """The schema, in the dialect of 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Proctor contract",
        **CONTRACT.schema(),
    }
