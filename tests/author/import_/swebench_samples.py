"""A repository with a bug, and the record of a task of SWE-bench about it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

BASE = {
    "greeting.py": 'def greet(name):\n    return "Hello, " + name\n',
    "tests/test_greeting.py": "from greeting import greet\n\n\ndef test_name():\n    assert greet('A') == 'Hello, A'\n",
}
PATCH = """\
diff --git a/greeting.py b/greeting.py
--- a/greeting.py
+++ b/greeting.py
@@ -1,2 +1,2 @@
 def greet(name):
-    return "Hello, " + name
+    return "Hello, " + (name or "world")
"""
TEST_PATCH = """\
diff --git a/tests/test_greeting.py b/tests/test_greeting.py
--- a/tests/test_greeting.py
+++ b/tests/test_greeting.py
@@ -4,2 +4,6 @@
 def test_name():
     assert greet('A') == 'Hello, A'
+
+
+def test_nobody():
+    assert greet("") == "Hello, world"
"""
SCRIPT = """\
#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
export LANG=en_US.UTF-8
export PATH=/bad:$PATH
git status
python -m pip install -e .
sed -i 's/a/b/' setup.cfg
git checkout 0123 tests/test_greeting.py
git apply -v - <<'EOF_1'
+echo '>>>>> not a mark'
EOF_1
: '>>>>> Start Test Output'
pytest -rA -p no:cacheprovider --doctest-modules tests/test_greeting.py
: '>>>>> End Test Output'
git checkout 0123 tests/test_greeting.py
"""


def repository(folder: Path, files: dict[str, str] | None = None) -> str:
    """A clone as owner/name in ``folder``; the name of its commit."""
    top = folder / "acme" / "greeter"
    for path, text in (files or BASE).items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Start"]):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run([*git, *command], cwd=top, check=True, capture_output=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=top, check=True, capture_output=True, text=True
    ).stdout.strip()


def record(commit: str, **more: Any) -> dict[str, Any]:
    """The record of a task; a field that is ``...`` is left out."""
    found = {
        "instance_id": "acme__greeter-7",
        "repo": "acme/greeter",
        "base_commit": commit,
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "problem_statement": "Nobody is greeted with nothing\r\n\r\n`greet('')` should greet the world.",
        "FAIL_TO_PASS": '["tests/test_greeting.py::test_nobody"]',
        "PASS_TO_PASS": ["tests/test_greeting.py::test_name"],
        "version": "1.0",
        **more,
    }
    return {name: value for name, value in found.items() if value is not ...}


DECLARED = """\
environments:
  - repo: acme/greeter
    version: "1.0"
    environment: {variables: {PYTHONPATH: /workspace}}
"""
