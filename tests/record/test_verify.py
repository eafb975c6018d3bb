"""Verification: a finished run is intact, and whatever is done to it afterwards is found and named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, digest
from proctor.base.errors import UsageFault
from proctor.record.run_directory import RunDirectory, RunLock
from proctor.record.seal import write_seal
from proctor.record.trace.reader import read_events
from proctor.record.verify import MOST_PROBLEMS, verify


def test_a_finished_run_is_intact(make_run: Any) -> None:
    found = verify(make_run.sealed())
    assert found.status == "intact"
    assert found.problems == ()
    assert found.events > 20
    assert found.digest.startswith("sha256:")


def test_a_copied_and_renamed_run_is_intact(make_run: Any, tmp_path: Path) -> None:
    run = make_run.sealed()
    shutil.copytree(run.path, tmp_path / "elsewhere")
    found = verify(RunDirectory(tmp_path / "elsewhere"))
    assert (found.status, found.run_id) == ("intact", run.path.name)


@pytest.mark.parametrize("status", ["success", "invalid"])
def test_a_copy_under_the_id_of_another_run_is_refused(
    make_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    run, trace = make_run.unsealed(status=status)
    write_seal(run, trace)
    other = tmp_path / "20990101T000000-0123456789"
    shutil.copytree(run.path, other)
    monkeypatch.chdir(other)
    for path in (other, Path(".")):
        (problem,) = verify(RunDirectory(path)).problems
        assert problem.where == "manifest.json"
        assert run.path.name in problem.message
        assert other.name in problem.message


def test_there_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageFault):
        verify(RunDirectory(tmp_path / "absent"))


def test_every_byte_of_a_seal_counts(make_run: Any) -> None:
    run = make_run.sealed()
    data = run.seal.read_bytes()
    for at in range(0, len(data), 7):
        run.seal.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert verify(run).status == "broken", at


def test_an_edited_event_is_named(make_run: Any) -> None:
    run = make_run.sealed()
    lines = run.events.read_bytes().splitlines(keepends=True)
    lines[6] = lines[6].replace(b'"exit_code":0', b'"exit_code":1')
    run.events.write_bytes(b"".join(lines))
    found = verify(run)
    assert "events.jsonl#6" in [problem.where for problem in found.problems]
    assert found.events == 6


def test_a_tail_that_was_cut_at_an_event_is_named(make_run: Any) -> None:
    run = make_run.sealed()
    lines = run.events.read_bytes().splitlines(keepends=True)
    run.events.write_bytes(b"".join(lines[:-2]))
    assert f"events.jsonl#{len(lines) - 2}" in [problem.where for problem in verify(run).problems]


def test_a_log_rewritten_with_true_hashes_is_not_that_of_the_seal(make_run: Any) -> None:
    run = make_run.sealed()
    old, size = read_events(run.events), run.events.stat().st_size
    run.events.unlink()
    with make_run.writer(run.events, seed=9) as trace:
        for event in old:
            trace.append(event.type, event.payload, event.actor)
    assert run.events.stat().st_size == size
    assert [str(problem) for problem in verify(run).problems] == [
        f"events.jsonl#{len(old) - 1}: the events are consistent but are not those of the seal"
    ]


def test_a_seal_that_names_another_root_or_content_is_found(make_run: Any) -> None:
    run = make_run.sealed()
    value = run.read_json(run.seal)
    log = next(entry for entry in value["files"] if entry["path"] == "events.jsonl")
    for inside, key in ((value["events"], "root"), (value["events"], "head"), (log, "sha256")):
        kept, inside[key] = inside[key], "0" * 64
        body = {name: item for name, item in value.items() if name != "digest"}
        run.seal.write_bytes(canonical({**body, "digest": digest(body)}))
        found = verify(run)
        assert [problem.where.partition("#")[0] for problem in found.problems] == ["events.jsonl"]
        inside[key] = kept


def test_a_true_event_after_the_last_one_is_named(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    write_seal(run, trace)
    longer, other = make_run.unsealed(seed=1)
    longer.events.unlink()
    with make_run.writer(longer.events) as again:
        for event in read_events(run.events):
            again.append(event.type, event.payload, event.actor)
        assert again.head == trace.head
        again.append("run.finished", {"status": "success"})
    run.events.write_bytes(longer.events.read_bytes())
    other.close()
    assert f"events.jsonl#{trace.count}: is after the last event of the seal" in map(str, verify(run).problems)


def test_modes_of_directories_count(make_run: Any) -> None:
    run = make_run.sealed()
    run.logs.chmod(0o775)
    assert [str(problem) for problem in verify(run).problems] == ["acceptance/logs: its mode is 0775 and was 0700"]


def test_a_removed_empty_directory_is_found(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    (run.path / "empty").mkdir()
    write_seal(run, trace)
    (run.path / "empty").rmdir()
    assert [problem.where for problem in verify(run).problems] == ["empty"]


def test_a_directory_exchanged_for_a_link_is_not_entered(make_run: Any, tmp_path: Path) -> None:
    run = make_run.sealed()
    run.logs.rename(tmp_path / "logs")
    run.logs.symlink_to(tmp_path / "logs")
    places = {problem.where for problem in verify(run).problems}
    assert {"acceptance/logs", "acceptance/logs/unit-1.stdout"} <= places


def test_the_lock_of_a_run_is_no_part_of_it_while_it_is_empty(make_run: Any) -> None:
    run = make_run.sealed()
    run.lock.touch()
    assert verify(run).status == "intact"
    run.lock.write_bytes(b"hidden")
    assert [problem.where for problem in verify(run).problems] == [".lock"]


def test_a_giant_sparse_file_is_not_read(make_run: Any) -> None:
    run = make_run.sealed()
    for path in (run.patch, run.logs / "empty.log", run.events, run.seal):
        size = path.stat().st_size
        os.truncate(path, 1 << 36)
        found = verify(run)
        assert found.status == "broken"
        assert run.name(path) in {problem.where.partition("#")[0] for problem in found.problems}
        os.truncate(path, size)
    assert verify(run).status == "intact"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b"{}",
        b"NaN",
        b'{"kind":"proctor.seal","schema":NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"kind":"proctor.seal"}',
        b'{"kind":"proctor.seal","kind":"proctor.seal"}',
        canonical({"kind": "proctor.seal", "schema": 0}),
        b'{"digest":1e400,"kind":"proctor.seal","schema":1}',
    ],
    ids=lambda content: content[:24].decode("latin-1"),
)
def test_a_hostile_seal_is_broken(make_run: Any, content: bytes) -> None:
    run = make_run.sealed()
    run.seal.write_bytes(content)
    found = verify(run)
    assert found.status == "broken"
    assert found.problems[0].where == "seal.json"


@pytest.mark.parametrize(
    "changes",
    [
        {"files": 1},
        {"files": [1]},
        {"files": [{"path": ["x"], "bytes": 1, "mode": "", "sha256": ""}]},
        {"files": [{"path": "x", "bytes": "x", "mode": "", "sha256": ""}]},
        {"directories": [{}]},
        {"directories": None},
        {"events": []},
        {"events": {"count": "many", "head": "", "root": ""}},
    ],
    ids=str,
)
def test_a_seal_with_a_true_digest_over_nonsense_is_broken(make_run: Any, changes: dict[str, Any]) -> None:
    run = make_run.sealed()
    value = run.read_json(run.seal)
    del value["digest"]
    value |= changes
    run.seal.write_bytes(canonical({**value, "digest": digest(value)}))
    found = verify(run)
    assert found.status == "broken"
    assert found.problems[0].where == "seal.json"


def test_many_problems_are_counted_and_not_all_listed(make_run: Any) -> None:
    run = make_run.sealed()
    for number in range(MOST_PROBLEMS + 50):
        (run.path / f"added-{number}").touch()
    found = verify(run)
    assert len(found.problems) == MOST_PROBLEMS + 1
    assert found.problems[-1].message == "and 50 more problems"


def test_a_run_without_a_seal_is_unsealed(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    with RunLock.take(run):
        found = verify(run)
        assert (found.status, found.problems[-1].message) == ("unsealed", "missing: the run is still running")
    assert verify(run).status == "unsealed"
    assert verify(run).events == trace.count


def test_a_torn_last_line_is_no_event_and_no_harm(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    with run.events.open("ab") as file:
        file.write(b'{"actor":"harn')
    found = verify(run)
    assert found.status == "unsealed"
    assert found.events == trace.count
    assert found.problems[0].where == f"events.jsonl#{trace.count}"


def test_an_unsealed_run_with_an_edited_event_is_broken(make_run: Any) -> None:
    run, _ = make_run.unsealed()
    run.events.write_bytes(run.events.read_bytes().replace(b'"exit_code":0', b'"exit_code":1', 1))
    assert verify(run).status == "broken"


def test_a_run_cut_before_its_first_event_is_unsealed(make_run: Any, tmp_path: Path) -> None:
    found = verify(RunDirectory(tmp_path / "run").create())
    assert (found.status, found.events) == ("unsealed", 0)


def test_a_gap_breaks_a_run_unless_it_says_that_it_is_invalid(make_run: Any) -> None:
    for seed, status, expected in ((1, "success", "broken"), (2, "invalid", "intact")):
        run, trace = make_run.unsealed(seed, status)
        results = run.read_json(run.results)
        results["checks"][0]["attempts"].pop()
        run.write_json(run.results, results)
        write_seal(run, trace)
        found = verify(run)
        assert found.status == expected
        if expected == "broken":
            assert "attempt 2 of check unit" in found.problems[0].message


def test_a_path_of_the_patch_without_its_event_is_a_gap(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    with run.patch.open("ab") as file:
        file.write(b"diff --git a/slipped in.py b/slipped in.py\nold mode 100644\nnew mode 100755\n")
    write_seal(run, trace)
    assert any("slipped in.py" in problem.message for problem in verify(run).problems)


def test_a_patch_in_a_form_of_its_own_is_no_gap(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    run.patch.write_bytes(b"diff --git old/x new/x\n--- old/x\n+++ new/x\n@@ -1 +1 @@\n-a\n+b\n")
    write_seal(run, trace)
    assert verify(run).status == "intact"


def test_an_incomplete_manifest_breaks_a_run_that_claims_success(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    manifest = run.read_json(run.manifest)
    del manifest["seeds"]
    run.write_json(run.manifest, manifest)
    write_seal(run, trace)
    assert [problem.where for problem in verify(run).problems] == ["manifest.json"]


@pytest.mark.parametrize("name", ["manifest.json", "contract.json", "report.json"])
def test_what_a_run_cannot_be_without(make_run: Any, name: str) -> None:
    run, trace = make_run.unsealed()
    (run.path / name).unlink()
    write_seal(run, trace)
    assert name in [problem.where for problem in verify(run).problems]


def test_json_that_is_not_canonical_was_not_written_by_a_run(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    run.report.write_bytes(run.report.read_bytes() + b"\n")
    write_seal(run, trace)
    assert [problem.where for problem in verify(run).problems] == ["report.json"]


def test_a_blob_under_a_wrong_name_is_found(make_run: Any) -> None:
    run, trace = make_run.unsealed()
    (run.blobs / ("0" * 64)).write_bytes(b"not that")
    write_seal(run, trace)
    assert [problem.where for problem in verify(run).problems] == ["blobs/" + "0" * 64]


def test_an_unreadable_file_is_named_for_an_ordinary_user(make_run: Any, tmp_path: Path) -> None:
    run = make_run.sealed()
    place = tmp_path / "shown"
    shutil.copytree(run.path, place)
    (place / "workspace" / "final.patch").chmod(0)
    for path in (place, *place.rglob("*")) if os.geteuid() == 0 else ():
        os.chown(path, 64200, 64200)
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from proctor.record.run_directory import RunDirectory\n"
        "from proctor.record.verify import verify\n"
        "os.chdir(sys.argv[1])\n"
        "if os.geteuid() == 0:\n"
        "    os.setgroups([]); os.setgid(64200); os.setuid(64200)\n"
        "print(*verify(RunDirectory(Path('.'))).problems, sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(place)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert "workspace/final.patch: cannot be read: Permission denied" in done.stdout, done.stderr


LONG = """
import random, re, sys
from pathlib import Path
from proctor.base.clock import SystemClock, system_entropy
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import write_seal
from proctor.record.trace.writer import TraceWriter
from proctor.record.verify import verify


def peak_kib():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])


run = RunDirectory(Path(sys.argv[1]) / "run").create()
trace = TraceWriter.create(run.events, SystemClock(), system_entropy)
for number in range(60_000):
    trace.append("briefing", {"text": "x" * 1000, "obligations": []})
with (run.logs / "long.log").open("wb") as file:
    file.truncate(100 << 20)
run.write_json(run.report, {"status": "invalid"})
before = peak_kib()
write_seal(run, trace)
found = verify(run)
print(found.status, found.events, found.problems, file=sys.stderr)
print(found.events, peak_kib() - before)
"""


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LONG, tmp_path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    events, grown_kib = map(int, done.stdout.split())
    assert events == 60_000, done.stderr
    assert grown_kib < 20 << 10
