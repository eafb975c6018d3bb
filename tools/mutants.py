"""Mutation testing of the pure judging core: ``python tools/mutants.py``; ``make mutants`` does the same.

mutmut changes one thing at a time in the modules that ``[tool.mutmut]`` of pyproject.toml names and runs the tests that
reach the changed function. The work is done in a copy that is removed at the end. Printed are the share of changes that
a test noticed, module by module, and every change that none did. The exit code is 1 when a share is below the bar, and
3 when the measurement itself did not come to its end. Names of modules narrow it: ``python tools/mutants.py gates``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "docs/figures", "pyproject.toml")
BAR = 90
"""The least share of noticed changes, in percent, for every module and for all of them."""

KILLED, TIMED_OUT, SURVIVED, UNDONE = "killed", "timed out", "survived", "undone"
_KILLED = frozenset({1, 3})
_TIMED_OUT = frozenset({24, 36, 152, 255, -24})
_UNDONE = frozenset({None, 2})


def kind_of(code: int | None) -> str:
    """What mutmut's exit code says of one change; whatever is no sure kill has survived."""
    if code in _UNDONE:
        return UNDONE
    return KILLED if code in _KILLED else TIMED_OUT if code in _TIMED_OUT else SURVIVED


def share_of(counts: Mapping[str, int]) -> float:
    """The noticed changes in percent; one that makes the tests run for ever is noticed."""
    whole = sum(counts.values())
    return 100 * (counts.get(KILLED, 0) + counts.get(TIMED_OUT, 0)) / whole if whole else 0.0


def modules_of(project: Path) -> list[str]:
    """The modules that are changed, as paths below the project."""
    patterns = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]["only_mutate"]
    return sorted({str(path.relative_to(project)) for pattern in patterns for path in project.glob(pattern)})


def results_of(place: Path, modules: Iterable[str]) -> dict[str, dict[str, str]]:
    """For each module that has changes, what became of each of them by its name."""
    found = {}
    for module in modules:
        record = place / "mutants" / f"{module}.meta"
        codes = json.loads(record.read_bytes())["exit_code_by_key"] if record.exists() else {}
        if codes:
            found[module] = {name: kind_of(code) for name, code in codes.items()}
    return found


def table(results: Mapping[str, Mapping[str, str]]) -> tuple[str, list[str]]:
    """A line for each module and one for all, and what is below the bar."""
    counts = {module: Counter(kinds.values()) for module, kinds in results.items()}
    counts["all of them"] = sum(counts.values(), Counter())
    width = max(map(len, counts))
    lines = [f"{'':{width}}  changes  killed  timed out  survived   share"]
    low = []
    for name, count in counts.items():
        share = share_of(count)
        figures = f"{sum(count.values()):9}{count[KILLED]:8}{count[TIMED_OUT]:11}{count[SURVIVED]:10}{share:7.1f}%"
        lines.append(f"{name:{width}}{figures}")
        if share < BAR:
            low.append(f"{name}: {share:.1f}%, and {BAR}% is the bar")
    return "\n".join(lines), low


def survivors(place: Path, mutmut: str, results: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    """The difference that each survivor makes."""
    for kinds in results.values():
        for name in (name for name, kind in kinds.items() if kind == SURVIVED):
            shown = subprocess.run([mutmut, "show", name], cwd=place, capture_output=True, text=True, check=True)
            changed = [line for line in shown.stdout.splitlines() if line[:1] in ("-", "+")]
            yield "\n".join([name, *(f"    {line}" for line in changed if line[:3] not in ("---", "+++"))])


def main(names: list[str]) -> int:
    """Measure, print, and say whether the bar is held."""
    modules = modules_of(PROJECT)
    strangers = [name for name in names if name not in {Path(module).stem for module in modules}]
    if strangers:
        print(f"mutants: no such module: {', '.join(strangers)}; pyproject.toml names those there are", file=sys.stderr)
        return 2
    mutmut = str(Path(sys.executable).parent / "mutmut")
    with tempfile.TemporaryDirectory(prefix="proctor-mutants-") as top:
        place = Path(top)
        for item in COPIED:
            source, target = PROJECT / item, place / item
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
            else:
                shutil.copy2(source, target)
        jobs = str(len(os.sched_getaffinity(0)))
        command = [mutmut, "run", "--max-children", jobs, *(f"*.{name}.*" for name in names)]
        log = None if sys.stdout.isatty() else subprocess.PIPE
        done = subprocess.run(command, cwd=place, stdout=log, stderr=subprocess.STDOUT, check=False)
        wanted = [module for module in modules if not names or Path(module).stem in names]
        results = results_of(place, wanted)
        undone = sum(kind == UNDONE for kinds in results.values() for kind in kinds.values())
        if done.returncode or undone or not results:
            print((done.stdout or b"").decode("utf-8", "replace")[-4000:], file=sys.stderr)
            print(f"mutants: mutmut exited with {done.returncode} and left {undone} changes untried", file=sys.stderr)
            return 3
        text, low = table(results)
        print("\n".join([*survivors(place, mutmut, results), "", text]))
    for line in low:
        print(f"mutants: {line}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
