"""The size of a task in reproducible numbers, and the resulting tier.

Measured is what is on this machine: the tree of the repository once a run has fetched it, the reference, the pinned
dependencies, the listed tests. A missing part is unknown, with the reason, and never zero. The thresholds of the
tiers are assumptions of this program, not findings; every record of a tier carries them.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.author.mutants.mutant import hunks
from proctor.base.errors import ProctorError
from proctor.base.files import read_bounded
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import join
from proctor.contract.model import Contract
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.input_files import reference_files
from proctor.execute.prepare import source_key
from proctor.execute.workspace.file_tree import GIT
from proctor.execute.workspace.layer_stack import Stack
from proctor.execute.workspace.layer_store import LayerStore
from proctor.execute.workspace.patch import apply_patch
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.patch_policy.paths_of_tests import is_test

BYTES_PER_TOKEN = 4
"""An assumption: tokenizers differ, and none of them is asked."""

OF_TREE = ("tree_files", "tree_tokens", "test_files")
OF_REFERENCE = ("reference_files", "reference_lines", "reference_directories")

TIERS = ("small", "medium", "large")
THRESHOLDS: Mapping[str, tuple[int, int]] = {
    "tree_tokens": (50_000, 500_000),
    "tree_files": (50, 500),
    "dependencies": (10, 50),
    "test_seconds": (10, 120),
    "reference_files": (2, 5),
    "reference_lines": (30, 200),
    "reference_directories": (2, 4),
}
"""Where medium and where large begin. Assumptions: policy choices that nothing measured."""

_LANGUAGES = {
    suffix: language
    for language, suffixes in {
        "python": (b".py", b".pyi"),
        "javascript": (b".js", b".mjs", b".cjs"),
        "typescript": (b".ts", b".tsx"),
        "c": (b".c", b".h"),
        "c++": (b".cc", b".cpp", b".hpp"),
        "rust": (b".rs",),
        "go": (b".go",),
        "java": (b".java",),
        "ruby": (b".rb",),
        "php": (b".php",),
        "shell": (b".sh",),
    }.items()
    for suffix in suffixes
}


@dataclass(frozen=True)
class Complexity:
    """The measures that are known, why others are not, the language of most code, and the tier."""

    measures: Mapping[str, int]
    unknown: Mapping[str, str]
    language: str

    @property
    def tier(self) -> str:
        """The highest tier that any known measure reaches."""
        return max((tier_of(name, value) for name, value in self.measures.items()), key=TIERS.index, default=TIERS[0])

    def record(self) -> dict[str, Any]:
        """All of it as data, with the assumptions."""
        limits = {name: {"medium": medium, "large": large} for name, (medium, large) in THRESHOLDS.items()}
        return {
            "tier": self.tier,
            "language": self.language,
            "measures": dict(self.measures),
            "unknown": dict(self.unknown),
            "assumptions": {"thresholds": limits, "bytes_per_token": BYTES_PER_TOKEN},
        }


def tier_of(name: str, value: int) -> str:
    """The tier of one measure; measures without thresholds do not decide."""
    medium, large = THRESHOLDS.get(name, (value + 1, value + 1))
    return TIERS[(value >= medium) + (value >= large)]


def complexity(
    contract: Contract, store: LayerStore, inputs: InputCache, test_seconds: float | None = None
) -> Complexity:
    """What can be said of ``contract`` without running or fetching anything; ``test_seconds`` where that was seen."""
    measures: dict[str, int] = {
        "issue_tokens": _tokens(len(contract.task.issue_text.encode())),
        "dependencies": sum(len(one.source.files) for one in contract.inputs if one.audience == "setup"),
        "must_pass": sum(len(check.must_pass) for check in contract.checks),
        "keep_passing": sum(len(check.keep_passing) for check in contract.checks),
    }
    unknown: dict[str, str] = {}
    if test_seconds is None:
        unknown["test_seconds"] = "no check was run: proctor validate --json measures it"
    else:
        measures["test_seconds"] = round(test_seconds)
    layer = store.get(source_key(contract))
    language = contract.strata.get("language", "")
    if layer is None:
        reason = "the repository is not on this machine: any run, or proctor validate, fetches it"
        unknown |= dict.fromkeys((*OF_TREE, *OF_REFERENCE), reason)
        return Complexity(measures, unknown, language)
    tree = base_stack((layer,))
    counted, most = _tree(tree)
    measures |= counted
    try:
        measures |= _reference(contract, tree, inputs)
    except (ProctorError, OSError) as error:
        reason = f"the reference does not fit the tree as it is before setup: {error}"
        unknown |= dict.fromkeys(OF_REFERENCE, reason)
    return Complexity(measures, unknown, language or most)


def _tree(tree: Stack) -> tuple[dict[str, int], str]:
    """Counts over the pristine tree without git's own files, and the language of most bytes."""
    files = tests = size = 0
    languages: Counter[str] = Counter()
    for directory, shown in tree.walk():
        shown[:] = [one for one in shown if one.name != GIT]
        for one in shown:
            if not stat.S_ISREG(one.status.st_mode):
                continue
            files += 1
            size += one.status.st_size
            tests += is_test(name_text(join(directory, one.name)))
            suffix = one.name[one.name.rfind(b".") :] if b"." in one.name else b""
            if suffix in _LANGUAGES:
                languages[_LANGUAGES[suffix]] += one.status.st_size
    most = languages.most_common(1)
    return {"tree_files": files, "tree_tokens": _tokens(size), "test_files": tests}, most[0][0] if most else ""


def _reference(contract: Contract, tree: Stack, inputs: InputCache) -> dict[str, int]:
    """What the known solution touches."""
    reference = contract.reference
    if reference is None:
        return {}
    after: dict[bytes, bytes] = {}
    removed: tuple[bytes, ...] = ()
    if reference.patch is not None:
        applied = apply_patch(read_bounded(contract.directory / reference.patch.path, PATCH_BYTES), tree.file)
        after, removed = {path: data for path, _, data in applied.writes}, applied.removals
    else:
        after = {path: data for path, _, data in reference_files(reference, contract, inputs)}
    lines = {path: _changed(tree.read(path) or b"", data) for path, data in after.items()}
    lines |= {path: _changed(tree.read(path) or b"", b"") for path in removed}
    touched = [path for path, count in lines.items() if count]
    return {
        "reference_files": len(touched),
        "reference_lines": sum(lines.values()),
        "reference_directories": len({path.rpartition(b"/")[0] for path in touched}),
    }


def _changed(before: bytes, after: bytes) -> int:
    """Lines added and removed."""
    return sum((b - a) + (d - c) for tag, a, b, c, d in hunks(before, after) if tag != "equal")


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
