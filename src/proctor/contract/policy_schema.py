"""The tables of the fields of ``policy`` and ``budget``, and of the network of a setup step.

``contract.schema`` adds them to the table of the contract; ``contract.load`` turns the values into the classes of
``contract.policy``, which hold the defaults.
"""

from __future__ import annotations

from proctor.base.entry_points import BREAKERS
from proctor.contract import policy
from proctor.contract.composite_types import OMITTED, Either, Field, ListOf, MapOf, Rule, Shape, Variants
from proctor.contract.policy import Ask, Budget, Checkpoints, Dependencies, Policy, Rollback, Stages, TextRules
from proctor.contract.scalar_types import Flag, Money, Optional, Text, Whole
from proctor.contract.text_types import (
    ADDRESS,
    CODE,
    CODES,
    COMMAND_PATTERN,
    FILE,
    GLOBS,
    NAME,
    REGISTRY,
    RULE_ID,
    SECONDS,
)

_CLOSED = Text("a network policy", choices=("none",))
_ADDRESSES = ListOf(ADDRESS, least=1, unique=True)
_ALLOW = Shape("network", (Field("allow", _ADDRESSES, "Addresses that a filtering proxy lets through."),))
_RECORD = Shape(
    "network",
    (
        Field("record", NAME, "The name of the cassette that keeps what passed."),
        Field("allow", _ADDRESSES, "Addresses that are let through and recorded."),
    ),
)
_REPLAY = Shape("network", (Field("replay", FILE, "The cassette that answers; nothing leaves the sandbox."),))
NETWORK = Either(
    "none, {allow: [host:port]}, {record: name, allow: [host:port]} or {replay: file}",
    {"map": Variants("network", (_ALLOW, _RECORD, _REPLAY)), "text": _CLOSED},
)
SETUP_NETWORK = Either(
    "none, {allow: [host:port]} or {replay: file}",
    {"map": Variants("network", (_ALLOW, _REPLAY)), "text": _CLOSED},
)
_PATTERNS = ListOf(COMMAND_PATTERN, unique=True)
_CHANGES = Optional(Whole())
STAGES = Shape(
    "stages",
    (
        Field(
            "ladder",
            Text("a ladder", choices=policy.LADDERS),
            "How a run moves to the next stage: at the agent's request, automatically, or not at all.",
            Stages.ladder,
        ),
        Field("start", Text("a stage", choices=policy.STAGES), "The stage that a run starts in.", Stages.start),
        Field(
            "tests",
            _PATTERNS,
            "Patterns on the command line that count as running the project's tests, besides the usual runners.",
            Stages.tests,
        ),
    ),
    (Rule("ladder", ("none",), refuses=("start",)),),
)
DEPENDENCIES = Shape(
    "dependencies",
    (
        Field(
            "new",
            Text("a rule", choices=policy.NEW_DEPENDENCIES),
            "Whether new dependencies are allowed; with declare, only those that the patch declares.",
            Dependencies.new,
        ),
        Field(
            "registries",
            ListOf(REGISTRY, unique=True),
            "Hosts that dependencies may come from; any that the network reaches if empty.",
            Dependencies.registries,
        ),
    ),
    (Rule("new", ("forbid",), refuses=("registries",)),),
)
TEXT_RULES = Shape("words", (Field("off", ListOf(RULE_ID, unique=True), "Rules that are not applied.", TextRules.off),))
ASK = Shape(
    "ask",
    (
        Field("on", ListOf(CODE, least=1, unique=True), "The codes of the alerts that a human decides about."),
        Field("deadline_seconds", SECONDS, "How long the run waits for an answer.", Ask.deadline_seconds),
        Field(
            "otherwise",
            Text("an answer", choices=policy.ANSWERS),
            "The answer if no operator gives one.",
            Ask.otherwise,
        ),
    ),
)
CHECKPOINTS = Shape(
    "checkpoints",
    (
        Field("every_calls", Optional(Whole(1)), "A checkpoint after so many tool calls.", Checkpoints.every_calls),
        Field("every_seconds", Optional(SECONDS), "A checkpoint after so many seconds.", Checkpoints.every_seconds),
        Field("keep", Whole(2, 64), "The most checkpoints on disk; the first one stays.", Checkpoints.keep),
        Field("total_bytes", Whole(1), "The most bytes of all checkpoints on disk.", Checkpoints.total_bytes),
    ),
)
ROLLBACK = Shape(
    "rollback",
    (
        Field("on", ListOf(CODE, least=1, unique=True), "The codes of the alerts that undo what led to them."),
        Field(
            "then",
            Text("an end", choices=policy.AFTER_ROLLBACK),
            "Whether the agent continues afterwards or is ended.",
            Rollback.then,
        ),
    ),
)
POLICY = Shape(
    "policy",
    (
        Field("network", NETWORK, "The part of the network that is open.", "none"),
        Field("writable", GLOBS, "Paths that the patch may change.", Policy.writable),
        Field("protected", GLOBS, "Files that are restored before judging.", Policy.protected),
        Field("forbidden", GLOBS, "Files whose change is a violation.", Policy.forbidden),
        Field("generated", GLOBS, "Files that are left out of the patch.", Policy.generated),
        Field(
            "free_steering",
            GLOBS,
            "Files that may be changed although they steer runners; their code may also change the runner.",
            Policy.free_steering,
        ),
        Field("max_changed_files", _CHANGES, "The most files that the patch may change.", Policy.max_changed_files),
        Field(
            "max_changed_lines", _CHANGES, "The most lines that the patch may add and delete.", Policy.max_changed_lines
        ),
        Field("stages", STAGES, "The stages read, write and test.", OMITTED),
        Field(
            "forbid_commands",
            _PATTERNS,
            "Patterns on the command line whose use is a violation; * matches any characters.",
            Policy.forbid_commands,
        ),
        Field(
            "forbid_syscalls",
            ListOf(Text("a class", choices=policy.SYSCALL_CLASSES), unique=True),
            "Classes of system calls whose attempt is a violation; they are refused in any case.",
            Policy.forbid_syscalls,
        ),
        Field("dependencies", DEPENDENCIES, "Which new dependencies may be added, and from where.", OMITTED),
        Field("canaries", Flag(), "Whether fake secrets are planted and watched.", Policy.canaries),
        Field(
            "reads",
            Text("a detail", choices=policy.READS),
            "Which reads are events: none, those of files in the tree, or those of all files and directories.",
            Policy.reads,
        ),
        Field("words", TEXT_RULES, "The rules on text in commands, code and messages.", OMITTED),
        Field("ask", ListOf(ASK), "When the run stops until a human decides.", Policy.ask),
        Field(
            "checkpoints",
            Optional(CHECKPOINTS),
            "When the workspace is saved so that a run can go back to it; null: only when ask or rollback need it.",
            Policy.checkpoints,
        ),
        Field("rollback", ListOf(ROLLBACK), "When the workspace goes back to a checkpoint.", Policy.rollback),
        Field(
            "rules",
            MapOf(CODES, Text("a grade", choices=policy.GRADES)),
            "The grade of an observation by the code of its alert, or of a family such as syscall-*; only violations "
            "count against a run.",
            {},
        ),
        Field(
            "breakers",
            ListOf(Text("a breaker of an installed package", group=BREAKERS), unique=True),
            "Breakers of installed packages that watch the run besides the built-in ones.",
            Policy.breakers,
        ),
    ),
)
_COUNT = Optional(Whole())
_SOME = Optional(Whole(1))
BUDGET = Shape(
    "budget",
    (
        Field(
            "wall_seconds",
            SECONDS,
            "Wall-clock time of the agent; the default is a policy choice, like all defaults here.",
            Budget.wall_seconds,
        ),
        Field("command_seconds", SECONDS, "Wall-clock time of one command.", Budget.command_seconds),
        Field("memory_bytes", Whole(1 << 20), "Memory of one sandbox.", Budget.memory_bytes),
        Field("processes", Whole(1, 1 << 22), "Processes of one sandbox.", Budget.processes),
        Field("file_bytes", Whole(1), "The largest file that may be written.", Budget.file_bytes),
        Field("tmp_bytes", Whole(1), "The size of /tmp and of the home directory.", Budget.tmp_bytes),
        Field("output_bytes", Whole(0, 1 << 30), "How much of an output is kept.", Budget.output_bytes),
        Field(
            "usd",
            Money(),
            'The cost of the run in US dollars, as text such as "5.00"; the default is a policy choice.',
            Budget.usd,
        ),
        Field("tokens", _COUNT, "Tokens of all model calls, in both directions; null for no cap.", Budget.tokens),
        Field("tool_calls", _COUNT, "Tool calls of the agent; null for no cap.", Budget.tool_calls),
        Field("failed_cycles", _COUNT, "Builds and test runs that fail; null for no cap.", Budget.failed_cycles),
        Field(
            "dependency_resolutions",
            _COUNT,
            "Resolutions of dependencies; null for no cap.",
            Budget.dependency_resolutions,
        ),
        Field("cpu_seconds", _SOME, "Processor time of the agent's sandbox; null for no cap.", Budget.cpu_seconds),
        Field("disk_bytes", _SOME, "Bytes on disk that the run writes; null for no cap.", Budget.disk_bytes),
        Field("inodes", _SOME, "Files and directories that the run makes; null for no cap.", Budget.inodes),
    ),
)
