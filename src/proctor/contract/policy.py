"""What an agent may do and use up: the policy and the budget of a contract, as frozen data.

Here are also the codes of alerts and the ids of rules that a policy can name, so that a misspelt one is a mistake and
not a rule that never applies, and the patterns on command lines of ``forbid_commands`` and ``stages.tests``. The floors
above raise the alerts; a test compares these lists with the codes that they use. Nothing here watches or counts.
``contract.model`` exports the classes of policy and budget too. Every default is a policy choice and has not been
tuned; a contract may set others. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NamedFile:
    """A file that the contract names, with a path relative to the contract's directory."""

    path: str
    sha256: str
    executable: bool = False


LADDERS = ("requested", "automatic", "none")
STAGES = ("inspect", "write", "test")
GRADES = ("notice", "alert", "violation")
NEW_DEPENDENCIES = ("allow", "declare", "forbid")
READS = ("none", "files", "all")
ANSWERS = ("approve", "deny", "rollback")
AFTER_ROLLBACK = ("continue", "end")
SYSCALL_CLASSES = (
    "bpf",
    "clock",
    "device",
    "foreign",
    "handle",
    "io_uring",
    "kernel",
    "keys",
    "mount",
    "namespace",
    "perf",
    "ports",
    "secret",
    "socket",
    "system",
    "terminal",
    "trace",
    "userfault",
)


@dataclass(frozen=True)
class Network:
    """What of the network is open: nothing, a list of addresses, or what a cassette holds.

    ``allow`` lists ``host:port`` or ``*.host:port``, where the star stands for one or more labels. With ``record``,
    what passes is kept as a cassette of that name. With ``replay``, answers come from that cassette and nothing leaves.
    """

    allow: tuple[str, ...] = ()
    record: str = ""
    replay: NamedFile | None = None

    @property
    def mode(self) -> str:
        """One of ``none``, ``allow``, ``record`` and ``replay``."""
        if self.replay is not None:
            return "replay"
        if self.record:
            return "record"
        return "allow" if self.allow else "none"


@dataclass(frozen=True)
class Stages:
    """The stages read, write and test: how a run moves to the next one, and where it starts.

    ``requested``: the agent asks for the next stage; ``automatic``: the harness advances it; ``none``: all is open from
    the start. ``tests`` are patterns on the command line that count as running the project's tests, besides the usual
    runners.
    """

    ladder: str = "none"
    start: str = "inspect"
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dependencies:
    """Whether new dependencies may come in (``declare``: only if the patch says so), and the registries allowed."""

    new: str = "allow"
    registries: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextRules:
    """The text rules (key ``words``); ``off`` names rules that this contract does not apply."""

    off: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ask:
    """Alerts at which the run stops until a human decides; after the deadline ``otherwise`` is the answer."""

    on: tuple[str, ...]
    deadline_seconds: int = 900
    otherwise: str = "deny"


@dataclass(frozen=True)
class Checkpoints:
    """When the state of the workspace is kept so that a run can go back to it, and how much of it at most.

    The first is taken before the agent acts, and one before each change of stage. Further ones follow after so many
    tool calls or seconds, if anything has changed. ``keep`` and ``total_bytes`` bound the space on disk: the oldest one
    except the first is removed, and one that is too large is not stored.
    """

    every_calls: int | None = None
    every_seconds: int | None = None
    keep: int = 8
    total_bytes: int = 1 << 30


@dataclass(frozen=True)
class Rollback:
    """Alerts at which the workspace goes back to the last checkpoint before their cause."""

    on: tuple[str, ...]
    then: str = "continue"


@dataclass(frozen=True)
class Policy:
    """What the agent may do. Globs are relative to the tree; ``**`` crosses directories.

    ``protected`` files are restored before judging, a change to a ``forbidden`` one is a violation, changes to
    ``generated`` ones are dropped from the patch. ``free_steering`` names files that steer test runners and that this
    contract nevertheless lets the patch change; their code may also change the runner. ``forbid_commands`` are patterns
    as in ``contract.command_line``.
    ``forbid_syscalls`` are classes whose attempt is a violation; dangerous calls are refused in any case.
    ``checkpoints`` are taken where they are asked for, or where a rollback or a question could make use of them.
    ``breakers`` are those of installed packages that watch the run besides the built-in ones.
    ``rules`` sets the grade of an observation by the code of its alert or by a family of codes such as ``syscall-*``.
    """

    network: Network = Network()
    writable: tuple[str, ...] = ("**",)
    protected: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    generated: tuple[str, ...] = ("**/__pycache__/**", "**/*.pyc", "**/.pytest_cache/**")
    free_steering: tuple[str, ...] = ()
    max_changed_files: int | None = None
    max_changed_lines: int | None = None
    stages: Stages = Stages()
    forbid_commands: tuple[str, ...] = ()
    forbid_syscalls: tuple[str, ...] = ()
    dependencies: Dependencies = Dependencies()
    canaries: bool = True
    reads: str = "none"
    words: TextRules = TextRules()
    ask: tuple[Ask, ...] = ()
    checkpoints: Checkpoints | None = None
    rollback: tuple[Rollback, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    breakers: tuple[str, ...] = ()

    @property
    def wanted_checkpoints(self) -> Checkpoints | None:
        """The checkpoints that are asked for, or that a question or a rollback could make use of."""
        return self.checkpoints or (Checkpoints() if self.ask or self.rollback else None)


@dataclass(frozen=True)
class Budget:
    """The most that one run may use; ``None`` is no cap. The defaults, 30 minutes and $5.00 too, are policy choices.

    ``usd`` is a decimal with at least two places. ``disk_bytes`` and ``inodes`` count what the run writes.
    """

    wall_seconds: int = 1800
    command_seconds: int = 600
    memory_bytes: int = 4 << 30
    processes: int = 512
    file_bytes: int = 2 << 30
    tmp_bytes: int = 1 << 30
    output_bytes: int = 1 << 20
    usd: str = "5.00"
    tokens: int | None = 10_000_000
    tool_calls: int | None = 5_000
    failed_cycles: int | None = 200
    dependency_resolutions: int | None = 50
    cpu_seconds: int | None = 14_400
    disk_bytes: int | None = 8 << 30
    inodes: int | None = 1_000_000


TEXT_RULES = (
    "accounts-change",
    "accounts-read",
    "brute-force",
    "denial-of-service",
    "destructive-disk",
    "destructive-fork-bomb",
    "destructive-remove",
    "evasion-encoded",
    "evasion-security",
    "evasion-traces",
    "exfiltration-pipe-to-shell",
    "exfiltration-send",
    "history-search",
    "input-capture",
    "instruction-override",
    "mining",
    "network-firewall",
    "network-reverse-shell",
    "network-scan",
    "packages-foreign",
    "persistence",
    "privilege-container",
    "privilege-kernel",
    "privilege-setuid",
    "privilege-sudo",
    "processes-kill",
    "processes-trace",
    "secrets-environment",
    "secrets-read",
    "secrets-variable",
    "spam",
    "system-clock",
    "system-mount",
    "system-write",
    "tests-disable",
    "tests-forge",
    "tests-hidden",
)
"""The ids of the text rules."""

INDICATOR_CODES = (
    "absent-program",
    "canary-leak",
    "canary-used",
    "dns",
    "forbidden-command",
    "forbidden-syscall",
    "network",
    "privilege",
    "proc-access",
    "program-changed",
    "raised-limit",
    "read-canary",
    "records-lost",
    "signal",
    "write-early",
    "write-outside",
    *(f"syscall-{name}" for name in (*SYSCALL_CLASSES, "space", "unreadable")),
    *(f"words-{name}" for name in (*TEXT_RULES, "unread")),
)
"""The codes of alerts that are raised while an agent acts."""

BREAKER_CODES = (
    "burst",
    "command-ceiling",
    "cost-cap",
    "cpu-cap",
    "denied-writes",
    "dependency-reinstalls",
    "dependency-resolution-cap",
    "disk-cap",
    "dominance",
    "early-tests",
    "expensive-repeats",
    "failed-cycle-cap",
    "identical-calls",
    "inodes-cap",
    "memory-cap",
    "no-progress",
    "out-of-memory",
    "patch-oscillation",
    "process-cap",
    "record-cap",
    "repeated-trips",
    "token-cap",
    "tool-call-cap",
    "wall-ceiling",
)
"""The codes of the breakers besides that of the policy, which have grades of their own."""

DECLARED = ("foreign-registry", "new-dependency", "undeclared-dependency", "unreadable-declarations")
"""The codes of alerts on dependencies, which are raised after the agent has ended."""

GRADED = (*INDICATOR_CODES, *DECLARED)
"""The codes that ``rules`` can grade."""

DECIDED = (*INDICATOR_CODES, *BREAKER_CODES, *(f"safety-{code}" for code in INDICATOR_CODES))
"""What ``ask`` and ``rollback`` can be about."""


OWN_CODE = re.compile(r"[a-z][a-z0-9._-]{0,99}")
"""The codes of alerts of breakers that packages provide."""


def is_graded(code: str) -> bool:
    """Whether ``rules`` can grade ``code``, which may be a family of codes."""
    if code.endswith("*"):
        return any(known.startswith(code[:-1]) for known in GRADED)
    return code in GRADED


def is_own_code(code: str, breaker: str) -> bool:
    """Whether ``code`` is a code that the breaker of a package called ``breaker`` may use."""
    return code == breaker or (code.startswith(f"{breaker}-") and OWN_CODE.fullmatch(code) is not None)


def matches_command(pattern: str, arguments: Sequence[str]) -> bool:
    """Whether the command with these arguments, the program first, is one that ``pattern`` means."""
    if not arguments:
        return False
    program = arguments[0].rpartition("/")[2]
    lines = {" ".join(arguments), " ".join((program, *arguments[1:]))}
    return any(_covers(form, line) for line in lines for form in (pattern, f"{pattern} *"))


def _covers(pattern: str, line: str) -> bool:
    """Whether ``pattern`` describes ``line`` from end to end."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return line == first
    last = pieces.pop()
    if len(line) < len(first) + len(last) or not line.startswith(first) or not line.endswith(last):
        return False
    place, end = len(first), len(line) - len(last)
    for piece in pieces:
        place = line.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return True
