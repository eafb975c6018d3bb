"""Engine faults at random instants of a run: none is charged to the agent, and no patch is lost, finished or not.

Each instant is one run on a Docker engine that this test started. The daemon is stopped, killed, frozen or restarted at
a random moment, and works again some seconds later. Containers that are taken away while an agent acts are tested in
``test_small_and_slow``. The seed and everything that was seen are written to a file whose
path is printed. ``PROCTOR_TEST_INSTANTS`` says how many instants are tried (``make containers INSTANTS=30``), and
``PROCTOR_TEST_SEED`` repeats the instants of another run of this test.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Seen
from tests.execute.sandbox.container.own_engine import OwnEngine, own_engine
from tests.execute.sandbox.container.small_image import small_image

pytestmark = [pytest.mark.container, pytest.mark.soak]

INSTANTS = int(os.environ.get("PROCTOR_TEST_INSTANTS", "8"))
SEED = int(os.environ.get("PROCTOR_TEST_SEED", "20261117"))
KINDS = ("stop", "kill", "freeze", "restart")
RUN_SECONDS = 600
FIX = "sed -i 's/a - b/a + b/' calc.py"
AGENT = f'command:sh -c "{FIX}; sleep 4; echo finished"'
CHECK = {
    "id": "adds",
    "gate": "acceptance",
    "run": ["/bin/sh", "-c", "sleep 0.5; grep -q 'a + b' calc.py"],
    "timeout_seconds": 60,
}


def disturb(engine: OwnEngine, kind: str, seconds: float, struck: threading.Event) -> None:
    """One fault that lasts for so many seconds."""
    struck.set()
    if kind == "freeze":
        engine.signal(signal.SIGSTOP)
        time.sleep(seconds)
        engine.signal(signal.SIGCONT)
    else:
        engine.end(signal.SIGKILL if kind == "kill" else signal.SIGTERM)
        if kind != "restart":
            time.sleep(seconds)
        engine.start()


def run(contract: Path, home: Path, engine: OwnEngine) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", str(contract), "--agent", AGENT, "--json"],
        env={**os.environ, "PROCTOR_HOME": str(home), "DOCKER_HOST": f"unix://{engine.path}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def evidence(home: Path, known: set[str]) -> list[Seen]:
    """The runs that are new in ``home``."""
    found = [path for path in sorted((home / "runs").iterdir()) if path.name not in known]
    known.update(path.name for path in found)
    return [Seen(path) for path in found if (path / "report.json").exists()]


def test_faults_of_the_engine_are_not_the_agents(make_contract: Any, tmp_path: Path, capsys: Any) -> None:
    generator = random.Random(SEED)
    rows: list[dict[str, Any]] = []
    with own_engine() as engine:
        (image,) = small_image(engine.path, "faults", {})
        contract = make_contract(environment={"sandbox": "image", "image": image}, checks=[CHECK])
        home, known = tmp_path / "home", set[str]()
        for warm in range(2):  # the first run fills the caches, the second shows how long a run takes
            begin = time.monotonic()
            _, errors = run(contract, home, engine).communicate(timeout=RUN_SECONDS)
            (seen,) = evidence(home, known)
            assert seen.report["status"] == "success", (warm, errors, seen.report["problems"])
        usual = time.monotonic() - begin
        while len(rows) < INSTANTS:
            kind = KINDS[len(rows) % len(KINDS)]
            at, lasts = generator.uniform(0.2, usual), generator.uniform(1, 6)
            child = run(contract, home, engine)
            begin = time.monotonic()
            struck = threading.Event()
            timer = threading.Timer(at, disturb, (engine, kind, lasts, struck))
            timer.start()
            _, errors = child.communicate(timeout=RUN_SECONDS)
            took = time.monotonic() - begin
            if not struck.is_set():  # the run was over before its fault: another instant
                timer.cancel()
                usual = took
                evidence(home, known)
                continue
            timer.join()
            engine.wait()
            rows += [row(seen, child.returncode, errors) for seen in evidence(home, known)] or [
                {"run": "", "status": "refused", "exit_code": child.returncode, "errors": errors[-600:]}
            ]
            rows[-1] |= {"kind": kind, "at": round(at, 3), "lasts": round(lasts, 3), "took": round(took, 3)}
    record = Path(os.environ.get("PROCTOR_TEST_RECORD", tmp_path / "engine-faults.json"))
    record.write_text(json.dumps({"seed": SEED, "usual_seconds": usual, "instants": rows}, indent=1))
    with capsys.disabled():
        print(f"\nengine faults: seed {SEED}, {record}: {sorted(one['status'] for one in rows)}")
    charged = [one for one in rows if one["status"] == "failure" or one.get("attribution") == "agent"]
    lost = [one for one in rows if (one.get("finished") or one.get("changed")) and not one["patch"]]
    assert charged == [] and lost == [] and len(rows) == INSTANTS
    assert all(one["exit_code"] == 3 for one in rows if one["status"] == "refused"), rows
    assert any(one["status"] == "success" for one in rows), "the engine's restarts are waited for"


def row(seen: Seen, exit_code: int, errors: str) -> dict[str, Any]:
    ended = seen.of("agent.finished")
    return {
        "run": seen.run,
        "status": seen.report["status"],
        "attribution": seen.report["attribution"],
        "problems": seen.report["problems"],
        "reason": ended[0]["reason"] if ended else "",
        "agent_seconds": ended[0]["wall_seconds"] if ended else "",
        "finished": bool(ended) and ended[0]["reason"] == "finished",
        "changed": any(one["path"] == "calc.py" for one in seen.of("workspace.mutation")),
        "patch": "+    return a + b" in seen.patch,
        "exit_code": exit_code,
        "errors": errors[-600:],
    }
