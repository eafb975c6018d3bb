"""The codes that a policy can name, so that a misspelt one is a mistake and not a rule that never holds.

What tells these codes lies on the floors above; a test holds these lists against what is told there.
"""

from __future__ import annotations

from proctor.contract.policy import SYSCALL_CLASSES

WORD_RULES = (
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
"""The ids of the rules on words."""

SEEN = (
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
    *(f"words-{name}" for name in (*WORD_RULES, "unread")),
)
"""The codes of what is seen while an agent acts."""

TRIPPED = (
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
"""The codes of what is found about dependencies once the agent has ended."""

GRADED = (*SEEN, *DECLARED)
"""What ``rules`` can weigh."""

DECIDED = (*SEEN, *TRIPPED, *(f"safety-{code}" for code in SEEN))
"""What ``ask`` and ``rollback`` can be about."""


def is_graded(code: str) -> bool:
    """Whether ``code`` is one that ``rules`` can weigh, or a family of such codes."""
    if code.endswith("*"):
        return any(known.startswith(code[:-1]) for known in GRADED)
    return code in GRADED
