"""Runs exported tasks as their peers would: in bubblewrap in the place of a container, with the same paths."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
DIRECTORIES = ("workspace", "setup", "tests", "solution", "logs", "tmp", "home")


@dataclass(frozen=True)
class Container:
    """A root of its own: the programs of this machine, and directories of a task."""

    place: Path

    def fill(self, name: str, archive: Path) -> None:
        """Unpack a part of an archive, as ``ADD`` does."""
        with tarfile.open(archive, errors="surrogateescape") as members:
            members.extractall(self.place, [one for one in members if one.name.split("/")[0] == name], filter="tar")

    def copy(self, name: str, source: Path) -> None:
        shutil.copytree(source, self.place / name, symlinks=True, dirs_exist_ok=True)

    def run(self, *command: str, directory: str = "/workspace") -> subprocess.CompletedProcess[str]:
        """Run a command without network; what it leaves stays."""
        line = ["bwrap", "--unshare-net", "--unshare-pid", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
        for path in SYSTEM:
            line += ["--ro-bind-try", path, path]
        for name in DIRECTORIES:
            (self.place / name).mkdir(exist_ok=True)
            line += ["--bind", str(self.place / name), f"/{name}"]
        line += ["--symlink", "/workspace", "/testbed", "--chdir", directory, "--clearenv"]
        line += ["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--", *command]
        return subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)


def judge_harbor_task(task: Path, place: Path, *, solved: bool, change: str = "") -> int | None:
    """The reward of a Harbor task for its base or its solution, after a shell command that changes the tree."""
    agent, verifier = Container(place / "agent"), Container(place / "verifier")
    for one in (agent, verifier):
        one.place.mkdir(parents=True)
    for part in ("workspace", "setup"):
        agent.fill(part, task / "environment" / "base.tar")
    agent.copy("solution", task / "solution")
    for script in [["/solution/solve.sh"]] * solved + [["/bin/sh", "-euc", change]] * bool(change):
        done = agent.run(*script)
        assert done.returncode == 0, done.stderr
    verifier.fill("setup", task / "tests" / "setup.tar")
    verifier.copy("tests", task / "tests")
    verifier.copy("workspace", agent.place / "workspace")
    done = verifier.run("/tests/test.sh")
    reward = verifier.place / "logs" / "verifier" / "reward.json"
    assert reward.exists(), done.stdout + done.stderr
    value = json.loads(reward.read_text())
    assert set(value) == {"reward"}
    return int(value["reward"])


def swebench_log(task: Path, place: Path, *, patch: bytes) -> str:
    """The log of ``eval.sh`` after a patch was applied in the way of the harness."""
    container = Container(place)
    place.mkdir(parents=True)
    for part in ("workspace", "setup"):
        container.fill(part, task / "base.tar")
    container.copy("tests", task)
    if patch:
        (place / "tmp").mkdir(exist_ok=True)
        (place / "tmp" / "patch.diff").write_bytes(patch)
        done = container.run("git", "apply", "--verbose", "/tmp/patch.diff", directory="/testbed")
        assert done.returncode == 0, done.stderr
    done = container.run("/bin/bash", "-c", "exec /bin/bash /tests/eval.sh 2>&1", directory="/testbed")
    return done.stdout


def statuses(log: str) -> dict[str, str]:
    """What the parser of SWE-bench for pytest reads between the marks."""
    inside = log.split(">>>>> Start Test Output")[1].split(">>>>> End Test Output")[0]
    lines = [line.split() for line in inside.splitlines() if line.startswith(("PASSED", "FAILED", "SKIPPED", "ERROR"))]
    return {words[1]: words[0] for words in lines if len(words) > 1}
