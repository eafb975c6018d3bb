"""Records from every kind of file, and files that are not whole."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.author.import_.task_records import records
from proctor.base.errors import UsageFault

ROWS = [{"instance_id": "a__b-1", "n": 1}, {"instance_id": "a__b-2", "n": 2}]


def names(path: Path) -> list[str]:
    return [str(record["instance_id"]) for _, record in records(path)]


def refused(path: Path) -> str:
    with pytest.raises(UsageFault) as caught:
        list(records(path))
    return str(caught.value)


@pytest.mark.parametrize("value", [ROWS, {row["instance_id"]: row for row in ROWS}])
def test_json_lists_and_maps_by_id_are_read(tmp_path: Path, value: object) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(value, indent=1))
    assert names(path) == ["a__b-1", "a__b-2"]


@pytest.mark.parametrize("name", ["tasks.jsonl", "tasks", "tasks.json"])
def test_json_lines_are_read_under_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS) + "\n")
    assert names(path) == ["a__b-1", "a__b-2"]
    assert [where for where, _ in records(path)] == [f"{name}:1", f"{name}:2"]


def test_one_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(ROWS[0], indent=2))
    assert names(path) == ["a__b-1"]


def test_parquet_is_read_with_its_lists(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "tasks.parquet"
    query = "SELECT 'a__b-' || i AS instance_id, ['x', 'y'] AS FAIL_TO_PASS FROM range(1, 200) t(i)"
    with duckdb.connect() as database:
        database.sql(query).write_parquet(str(path))
    found = list(records(path))
    assert len(found) == 199
    assert found[0] == ("tasks.parquet: row 1", {"instance_id": "a__b-1", "FAIL_TO_PASS": ["x", "y"]})
    path.write_bytes(path.read_bytes()[:-20])
    assert "this is not whole Parquet" in refused(path)
    star = tmp_path / "ta*.parquet"
    star.write_bytes(b"PAR1")
    assert "signs of a pattern" in refused(star)


def test_a_task_repository_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "a__b-1"
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text("instance_id: a__b-1\nversion: '2.0'\n")
    (folder / "tests.json").write_text('{"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}')
    (folder / "gold.patch").write_text("patch")
    (folder / "problem_statement.md").write_text("text")
    (tmp_path / "tasks" / "linked").symlink_to(folder)
    ((where, record),) = records(tmp_path)
    assert where == "tasks/a__b-1"
    assert record == {
        "instance_id": "a__b-1",
        "version": "2.0",
        "FAIL_TO_PASS": ["t"],
        "PASS_TO_PASS": [],
        "patch": "patch",
        "problem_statement": "text",
    }
    assert names(folder) == ["a__b-1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x [1]\nb: *x\n", "anchors and tags are not read"),
        ("a: !!python/object:os.system {}\n", "anchors and tags are not read"),
        ("- a\n", "not a map"),
        ("a: [", "this is not YAML"),
        ("[" * 3000, "this is not YAML"),
    ],
)
def test_hostile_yaml_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "task.yaml").write_text(text)
    assert expected in refused(tmp_path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{", "this is not JSON"),
        (b"[1]", "this is not an object"),
        (b'{"a": NaN}', "this is not JSON"),
        (b"[" * 10_000, "this is not JSON"),
        (b'{"a": 1}\n[2]\n', "tasks:2: this is not an object"),
        (b"\x00\x01", "this is not JSON"),
    ],
)
def test_bad_files_get_one_message_with_the_place(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "tasks"
    path.write_bytes(data)
    assert expected in refused(path)


def test_folders_without_tasks_and_missing_files_are_refused(tmp_path: Path) -> None:
    assert "no tasks" in refused(tmp_path)
    assert "cannot be read" in refused(tmp_path / "none.json")


@pytest.mark.soak
def test_long_files_of_lines_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    line = json.dumps({"instance_id": "a", "text": "x" * 1_000_000}).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(1000):
            file.write(line)
    code = (
        "import sys, pathlib\nfrom proctor.author.import_.task_records import records\n"
        "print(sum(1 for _ in records(pathlib.Path(sys.argv[1]))))\n"
    )
    limit = 600 << 20

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, preexec_fn=bounded, check=False
    )
    path.unlink()
    assert (done.returncode, done.stdout.strip()) == (0, "1000"), done.stderr
    path.write_bytes(b'{"a": "' + b"x" * (33 << 20))
    assert "a line is longer than" in refused(path)
