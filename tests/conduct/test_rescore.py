"""Reports that are computed again in the form in which they were sealed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, digest
from proctor.judge.run_report import build_report
from proctor.record.run_directory import RunDirectory, RunLock

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_a_report_of_an_earlier_form_is_computed_in_that_form(proctor: Proctor, make_contract: Any) -> None:
    (row,) = json.loads(proctor("run", make_contract(), "--agent", "noop", "--json").stdout)["runs"]
    run = Path(row["evidence"])
    assert json.loads((run / "report.json").read_bytes())["schema"] == 3
    now = json.loads(build_report(RunDirectory(run), 2))
    assert (now["usage"].pop("agent_calls"), now["usage"].pop("test_cycles")) == (0, 0)

    def sealed_as(**changes: Any) -> subprocess.CompletedProcess[str]:
        data = canonical({**now, **changes})
        (run / "report.json").write_bytes(data)
        seal = json.loads((run / "seal.json").read_bytes())
        (file,) = (one for one in seal["files"] if one["path"] == "report.json")
        file.update(bytes=len(data), sha256=sha256(data).hexdigest())
        del seal["digest"]
        (run / "seal.json").write_bytes(canonical({**seal, "digest": digest(seal)}))
        return proctor("rescore", run)

    earlier = sealed_as(schema=1)
    assert earlier.returncode == 0 and "the same bytes" in earlier.stdout
    assert sealed_as(schema=1, status="success").returncode == 4
    assert sealed_as(schema=2).returncode == 4
    assert sealed_as(schema=3).returncode == 4
    newer = sealed_as(schema=4)
    assert newer.returncode == 2 and "written by a newer Proctor (schema 4; this one reads up to 3)" in newer.stderr
    for unknown in (0, "1", None):
        refused = sealed_as(schema=unknown)
        assert refused.returncode == 4 and "has no schema number" in refused.stderr


def test_a_run_that_is_still_running_is_refused_and_left_as_it_is(proctor: Proctor, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "home" / "runs" / "20260307T120000-0123456789").create()
    run.events.write_bytes(b"")

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}

    with RunLock.take(run):
        before = files()
        for more in ((), ("--print",), ("--json",)):
            refused = proctor("rescore", "last", *more)
            assert (refused.returncode, refused.stdout) == (2, "")
            assert f"{run.path.name}: the run is still running" in refused.stderr or more == ("--json",)
            assert "the run is still running" in refused.stderr
        assert files() == before
