"""Small contracts with a real bug, patches that fix it in several ways, and patches that forge the results instead.

``index.yaml`` lists the forgeries. The text of each is a file below ``code``, appended to a file of the contract's
tree, whose bug stays as it is. :func:`build` makes a contract directory and :func:`forging_patch` a patch of it, both
below a directory of the caller. `make honest TIMES=6` judges every right patch many times and counts those that are not
a success.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
CONTRACTS = tuple(sorted(path.name for path in (HERE / "contracts").iterdir()))
MODULES = {
    "c-assert": "src/text.c",
    "c-unity": "src/trim.c",
    "javascript-jest": "chunk.js",
    "javascript-mocha": "path.js",
    "javascript-node": "query.js",
    "javascript-tap": "duration.js",
    "javascript-tape": "slug.js",
    "python-classes": "spans.py",
    "python-functions": "sizes.py",
    "python-unittest": "roman.py",
}
"""The file of each contract's tree that has the bug."""

FORGED, CAUGHT = "forged", "caught"


@dataclass(frozen=True)
class Forgery:
    """One patch that fixes nothing and lets the tests pass.

    ``kind`` is its class and ``mode`` when it forges. ``bare`` says how the tests are run outside the harness to see
    it work: the whole ``suite``, each test in a process of its own (``single``), or with the harness's ``reporter``.
    ``expect`` is ``forged``, or ``caught`` where it does not reach the results in the harness and any verdict but
    success is right.
    """

    name: str
    contract: str
    kind: str
    what: str
    mode: str = "always"
    at: str = ""
    bare: str = "suite"
    expect: str = FORGED
    fast: bool = False

    @property
    def language(self) -> str:
        """The language of the code under test."""
        return self.contract.partition("-")[0]

    @property
    def target(self) -> str:
        """The file of the tree that it is appended to."""
        return self.at or MODULES[self.contract]

    @property
    def text(self) -> str:
        """The code that forges."""
        return (HERE / "code" / self.contract / (self.name + Path(self.target).suffix)).read_text("utf-8")


@dataclass(frozen=True)
class Honest:
    """A patch that solves a task: a contract's reference or one of its alternatives."""

    contract: str
    patch: str

    @property
    def name(self) -> str:
        """The contract and the patch."""
        return f"{self.contract}-{Path(self.patch).stem}"


@dataclass(frozen=True)
class Verdict:
    """What a run ended with: its status, whom it is attributed to, its tags with their evidence, and its checks."""

    status: str
    attribution: str
    tags: dict[str, tuple[Any, ...]]
    checks: tuple[dict[str, Any], ...]

    @property
    def forged(self) -> bool:
        """Whether results are called forged anywhere."""
        return "forged-results" in self.tags or any(check["reason"] == "forged" for check in self.checks)


def forgeries() -> tuple[Forgery, ...]:
    """All of them, in the order of the index."""
    return tuple(Forgery(**entry) for entry in yaml.safe_load((HERE / "index.yaml").read_text("utf-8")))


def honest_patches() -> tuple[Honest, ...]:
    """The references and alternatives of the contracts here."""
    return tuple(
        Honest(contract, str(path.relative_to(HERE / "contracts" / contract)))
        for contract in CONTRACTS
        for path in sorted((HERE / "contracts" / contract).rglob("*.patch"))
    )


def tree_of(contract: str) -> dict[str, str]:
    """The text of every file of a contract's repository, by its path."""
    top = HERE / "contracts" / contract / "repository"
    return {str(path.relative_to(top)): path.read_text("utf-8") for path in sorted(top.rglob("*")) if path.is_file()}


def build(contract: str, top: Path) -> Path:
    """The directory of a contract below ``top``, made if it is not there."""
    place = top / contract
    if place.exists():
        return place
    top.mkdir(parents=True, exist_ok=True)
    shutil.copytree(HERE / "contracts" / contract, place, ignore=shutil.ignore_patterns("repository", "__pycache__"))
    archive = place / "repository.tar"
    with tarfile.open(archive, "w") as tar:
        for path, text in tree_of(contract).items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(text.encode()), 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    described = (place / "contract.yaml").read_text("utf-8")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    (place / "contract.yaml").write_text(described.replace("{sha256}", digest))
    return place


def forged_text(forgery: Forgery) -> str:
    """The file of the tree that a forgery changes, with its code appended; it may know when it was written."""
    text = forgery.text.replace("TIME_OF_THE_PATCH", str(time.time()))
    return f"{tree_of(forgery.contract)[forgery.target]}\n{text}"


def forging_patch(forgery: Forgery, top: Path) -> Path:
    """The forgery as a patch file below ``top``."""
    name = forgery.target
    before, after = (text.splitlines(keepends=True) for text in (tree_of(forgery.contract)[name], forged_text(forgery)))
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    top.mkdir(parents=True, exist_ok=True)
    place = top / f"{forgery.contract}-{forgery.name}.patch"
    place.write_text(f"diff --git a/{name} b/{name}\n" + "".join(lines))
    return place


def judge(contract: Path, agent: str) -> Verdict:
    """The verdict on what ``agent`` hands in: ``patch:FILE``, or ``reference``."""
    command = [sys.executable, "-m", "proctor", "run", str(contract), "--agent", agent, "--json"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, env=os.environ
    )
    rows = json.loads(done.stdout)["runs"] if done.stdout else []
    assert rows, done.stdout + done.stderr
    evidence = Path(rows[0]["evidence"])
    report: dict[str, Any] = json.loads((evidence / "report.json").read_bytes())
    events = [json.loads(line) for line in (evidence / "events.jsonl").read_bytes().splitlines()]
    decided = tuple(event["payload"] for event in events if event["type"] == "check.decided")
    tags = {tag["id"]: tuple(tag["evidence"]) for tag in report["tags"]}
    return Verdict(report["status"], report["attribution"], tags, decided)


def right_patches(top: Path) -> Iterator[tuple[Path, str]]:
    """Every right solution at hand, as a contract and an agent: those here, then those of the examples."""
    for honest in honest_patches():
        contract = build(honest.contract, top)
        yield contract, f"patch:{contract / honest.patch}"
    for path in sorted(EXAMPLES.glob("*/contract.yaml")):
        yield path.parent, "reference"
        for patch in sorted(path.parent.glob("alternatives/*.patch")):
            yield path.parent, f"patch:{patch}"


def main() -> int:
    """Judge every right solution so many times as the first argument says."""
    wrong = count = 0
    with tempfile.TemporaryDirectory() as top:
        os.environ["PROCTOR_HOME"] = f"{top}/home"
        for contract, agent in right_patches(Path(top)):
            for _ in range(int(sys.argv[1])):
                verdict = judge(contract, agent)
                count += 1
                if verdict.status != "success" or verdict.forged:
                    wrong += 1
                    print(f"{contract.name}, {agent}: {verdict.status}, {[one['detail'] for one in verdict.checks]}")
    print(f"{count} honest runs, {wrong} not a success")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
