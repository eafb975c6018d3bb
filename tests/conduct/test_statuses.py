"""Real runs, from contract to sealed report: every status, and whose fault it was."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def run(proctor: Proctor, contract: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run an agent on a contract; the exit code and the report."""
    done = proctor("run", contract, *arguments, "--json")
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    verified = proctor("verify", row["run"])
    assert verified.returncode == 0, verified.stdout
    again = proctor("rescore", row["run"])
    assert again.returncode == 0, again.stdout + again.stderr
    return done.returncode, json.loads((Path(row["evidence"]) / "report.json").read_bytes())


def test_a_no_op_is_a_failure(proctor: Proctor, make_contract: Any) -> None:
    code, report = run(proctor, make_contract(), "--agent", "noop")
    assert (code, report["status"], report["attribution"]) == (1, "failure", "agent")


def test_the_reference_is_a_success(proctor: Proctor, make_contract: Any) -> None:
    code, report = run(proctor, make_contract(), "--agent", "reference")
    assert (code, report["status"]) == (0, "success")
    assert all(gate["passed"] for gate in report["gates"])
    assert report["score"] is not None


def test_a_program_that_fixes_it_is_a_success(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "fix.py").write_text(
        "import os, sys\n"
        "assert 'subtracts' in sys.stdin.read() and 'subtracts' in open(os.environ['PROCTOR_BRIEFING']).read()\n"
        "text = open('calc.py').read()\n"
        "open('calc.py', 'w').write(text.replace('-', '+'))\n"
        "os.mkdir('__pycache__'); open('__pycache__/calc.pyc', 'wb').write(b'x')\n"
    )
    code, report = run(
        proctor, make_contract(), "--agent", "command:/usr/bin/python3 /agent/fix.py", "--agent-files", str(files)
    )
    assert (code, report["status"]) == (0, "success")


def test_a_patch_that_hangs_is_an_error_of_the_agents(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    patch = tmp_path / "hang.patch"
    patch.write_text(make_contract.FIX.replace("    return a + b", "    while True: pass"))
    check = {**make_contract.CHECK, "timeout_seconds": 5}
    code, report = run(proctor, make_contract(checks=[check]), "--agent", f"patch:{patch}")
    assert (code, report["status"], report["attribution"]) == (1, "acceptance-error", "agent")
    assert "non-termination" in str(report["tags"])


def test_a_patch_that_does_not_apply_is_a_failure(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    patch = tmp_path / "other.patch"
    patch.write_text(make_contract.FIX.replace("a - b", "a * b"))
    code, report = run(proctor, make_contract(), "--agent", f"patch:{patch}")
    assert (code, report["status"], report["attribution"]) == (1, "failure", "agent")
    assert not report["gates"][0]["passed"]


def test_a_missing_interpreter_is_an_error_of_the_harness(proctor: Proctor, make_contract: Any) -> None:
    check = {**make_contract.CHECK, "run": ["/usr/bin/no-such-interpreter", "x"]}
    code, report = run(proctor, make_contract(checks=[check]), "--agent", "reference")
    assert (code, report["status"], report["attribution"]) == (3, "acceptance-error", "harness")


def test_a_base_on_which_the_check_crashes_too_is_nobodys_fault(proctor: Proctor, make_contract: Any) -> None:
    check = {**make_contract.CHECK, "run": "kill -SEGV $$"}
    code, report = run(proctor, make_contract(checks=[check]), "--agent", "reference")
    assert (code, report["status"], report["attribution"]) == (3, "acceptance-error", "nobody")


def test_a_base_whose_setup_breaks_gives_no_run(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(setup=[{"run": "echo no compiler here >&2; exit 9"}])
    done = proctor("run", contract, "--agent", "noop", "--json")
    assert done.returncode == 2
    answer = json.loads(done.stdout)
    assert answer["runs"] == []
    assert "setup step 1 exited with 9" in answer["errors"][0]["error"]
    assert "no compiler here" in answer["errors"][0]["error"]


def test_a_tree_that_is_not_what_was_promised_is_invalid(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract(environment={"root": "sha256:" + "0" * 64})
    code, report = run(proctor, contract, "--agent", "reference")
    assert (code, report["status"]) == (3, "invalid")


def test_an_agent_over_its_time_is_terminated_and_still_judged(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(budget={"wall_seconds": 5, "memory_bytes": 1 << 30})
    code, report = run(proctor, contract, "--agent", "command:sh -c 'sed -i s/-/+/ calc.py; exec sleep 1000'")
    assert (code, report["status"]) == (0, "success")
    assert report["termination"]["code"] == "wall-ceiling"


def test_an_agent_that_cannot_start_is_no_failure_of_the_agent(proctor: Proctor, make_contract: Any) -> None:
    code, report = run(proctor, make_contract(), "--agent", "command:no-such-program")
    assert (code, report["status"], report["attribution"]) == (2, "invalid", "harness")
    assert "could not be started" in report["problems"][0]


def test_a_forbidden_file_fails_the_policy_gate(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(policy={"forbidden": ["README.md"]})
    code, report = run(proctor, contract, "--agent", "command:sh -c 'sed -i s/-/+/ calc.py; echo mine > README.md'")
    assert (code, report["status"]) == (1, "failure")
    assert [gate["passed"] for gate in report["gates"]] == [True, True, True, False]


def test_what_the_agent_left_running_cannot_reach_the_judge(proctor: Proctor, make_contract: Any) -> None:
    daemon = "(setsid sh -c 'while :; do echo x > /workspace/late.txt; done' &) ; sed -i s/-/+/ calc.py"
    check = {**make_contract.CHECK, "run": "test ! -e late.txt && python3 -c 'import calc; assert calc.add(2,2) == 4'"}
    contract = make_contract(checks=[check], policy={"generated": ["late.txt"]})
    code, report = run(proctor, contract, "--agent", f'command:sh -c "{daemon}"')
    assert (code, report["status"]) == (0, "success")


@pytest.mark.parametrize(
    "text",
    [
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1,5 +1,5 @@\n foo\n",
        'diff --git "a/unterminated b/README.md\n',
        "not a patch at all\n",
    ],
)
def test_a_malformed_patch_is_a_failure(proctor: Proctor, make_contract: Any, tmp_path: Path, text: str) -> None:
    patch = tmp_path / "cut.patch"
    patch.write_text(text)
    code, report = run(proctor, make_contract(), "--agent", f"patch:{patch}")
    assert (code, report["status"], report["attribution"]) == (1, "failure", "agent")
    assert not report["gates"][0]["passed"]
