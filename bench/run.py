"""A whole run of the bundled contract with an agent that does nothing, against its bare work.

The floor copies the tree, applies a patch with git and runs the same commands; it isolates nothing, records nothing
and judges nothing. Its patch leaves the code alone, so that in both the same tests pass and fail: a test that fails is
more work than one that passes. The layer is warm in both.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

from bench.measure import Row, environment, milliseconds, ratio, side_by_side
from proctor.author.demo.build import ARCHIVE, materialise

FACTOR = 1.5
SLACK_SECONDS = 0.150
PATCH = """\
diff --git a/NOTES b/NOTES
new file mode 100644
--- /dev/null
+++ b/NOTES
@@ -0,0 +1 @@
+nothing of note
"""
FAILED = 1
"""The exit code of a run whose agent did not solve the task."""


def measure(directory: Path, *, quick: bool) -> list[Row]:
    contract = materialise(directory / "contract")
    patch = directory / "floor.patch"
    patch.write_text(PATCH)
    tree = directory / "tree"
    tree.mkdir()
    subprocess.run(["tar", "-xf", contract / ARCHIVE, "-C", tree], check=True)
    subprocess.run(["cp", "-r", f"{contract}/hidden/.", tree], check=True)
    program = Path(sys.executable).with_name("proctor")
    variables = environment(PROCTOR_HOME=str(directory / "home"))
    numbers = itertools.count()

    def whole() -> None:
        done = subprocess.run(
            [program, "run", contract, "--agent", "noop"], env=variables, capture_output=True, text=True
        )
        if done.returncode != FAILED:
            raise AssertionError(done.stdout + done.stderr)

    def floor() -> None:
        copy = directory / f"copy-{next(numbers)}"
        bare = {"PATH": "/usr/bin:/bin", "PROCTOR_RESULTS": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run(["cp", "-a", tree, copy], check=True)
        subprocess.run(["git", "apply", patch], cwd=copy, check=True)
        subprocess.run(["/usr/bin/python3", "-c", "import durations"], cwd=copy, env=bare, check=True)
        done = subprocess.run(["/usr/bin/python3", "tests/run.py"], cwd=copy, env=bare, capture_output=True)
        if done.returncode != FAILED:
            raise AssertionError(done.stdout + done.stderr)

    ours, bare_time = side_by_side(whole, floor, 5 if quick else 15)
    bar = FACTOR * bare_time + SLACK_SECONDS
    return [
        Row(
            "whole run, no-op agent",
            milliseconds(ours),
            milliseconds(bare_time),
            ratio(ours, bare_time),
            f"<= {FACTOR:g} x + {milliseconds(SLACK_SECONDS)} = {milliseconds(bar)}",
            ours <= bar,
        )
    ]
