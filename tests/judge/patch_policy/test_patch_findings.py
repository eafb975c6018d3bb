"""Findings against the policy, and what is left out of a patch."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.contract.model import Policy
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import Entry
from proctor.execute.workspace.patch import FileStat
from proctor.judge.patch_policy.excluded_paths import ExcludedPaths, exclude_paths
from proctor.judge.patch_policy.patch_findings import MOST_FINDINGS, findings
from proctor.judge.patch_policy.paths_of_tests import is_test


def changes(*rows: tuple[str, str], dropped: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    return {"changes": [{"path": path, "change": change} for path, change in rows], "dropped": list(dropped)}


def found(bench: Any, policy: Policy, listed: dict[str, Any], *stats: FileStat) -> list[tuple[str, str]]:
    return [(one.code, one.grade) for one in findings(bench.contract(policy=policy), listed, stats)]


def test_an_ordinary_change_is_nothing(bench: Any) -> None:
    assert found(bench, Policy(), changes(("src/a.py", "modified"))) == []


def test_a_forbidden_path_is_a_violation_even_for_a_test(bench: Any) -> None:
    policy = Policy(forbidden=("ci/**", "tests/locked/**"))
    assert found(bench, policy, changes(("ci/run", "modified"))) == [("forbidden-path", "violation")]
    assert found(bench, policy, changes(("tests/locked/test_x.py", "added"))) == [("forbidden-path", "violation")]


def test_leaving_the_writable_paths_is_a_violation_but_adding_tests_is_not(bench: Any) -> None:
    policy = Policy(writable=("src/**",))
    assert found(bench, policy, changes(("docs/a.md", "added"))) == [("outside-writable", "violation")]
    assert found(bench, policy, changes(("tests/test_new.py", "added"))) == [("added-test", "notice")]
    assert found(bench, policy, changes(("tests/test_old.py", "modified"))) == [("outside-writable", "violation")]
    assert found(bench, policy, changes(("src/a/b.py", "deleted"))) == []


def test_protected_and_steering_files_are_noticed(bench: Any) -> None:
    policy = Policy(protected=("tests/**",))
    assert found(bench, policy, changes(("tests/test_a.py", "modified"))) == [("protected-path", "notice")]
    assert found(bench, Policy(), changes(("conftest.py", "added"))) == [("steering-file", "notice")]
    assert found(bench, Policy(free_steering=("conftest.py",)), changes(("conftest.py", "added"))) == []


def test_size_limits_leave_added_tests_out(bench: Any) -> None:
    listed = changes(("a.py", "modified"), ("b.py", "added"), ("tests/test_b.py", "added"))
    stats = (
        FileStat(b"a.py", 3, 2, False),
        FileStat(b"b.py", 5, 0, False),
        FileStat(b"tests/test_b.py", 900, 0, False),
    )
    assert found(bench, Policy(max_changed_files=2, max_changed_lines=10), listed, *stats) == []
    assert found(bench, Policy(max_changed_files=1), listed, *stats) == [("too-many-files", "violation")]
    assert found(bench, Policy(max_changed_lines=9), listed, *stats) == [("too-many-lines", "violation")]
    assert found(bench, Policy(max_changed_lines=0), changes(("a", "added")), FileStat(b"a", 0, 0, True)) == [
        ("too-many-lines", "violation")
    ]


def test_a_change_that_hides_from_the_patch_s_headers_counts_as_its_bytes(bench: Any) -> None:
    side = {"sha256": "0" * 64, "bytes": 500, "mode": "100644"}
    item = {"path": "x.py", "change": "modified", "before": {**side, "sha256": "1" * 64}, "after": side}
    disguised = FileStat(b"x.py 2020-01-01 00:00:00.000000000 +0000", 400, 0, False)
    policy = Policy(max_changed_lines=300)
    assert found(bench, policy, {"changes": [item]}, disguised) == [("too-many-lines", "violation")]
    assert found(bench, policy, {"changes": [item]}, FileStat(b"x.py", 3, 2, False)) == []
    assert found(bench, policy, {"changes": [{**item, "before": side}]}) == []


def test_the_old_name_of_a_moved_file_counts_nothing(bench: Any) -> None:
    side = {"sha256": "0" * 64, "bytes": 5000, "mode": "100644"}
    moved = [
        {"path": "old.py", "change": "deleted", "before": side, "after": None},
        {"path": "new.py", "change": "added", "before": None, "after": side},
    ]
    policy = Policy(max_changed_lines=10)
    assert found(bench, policy, {"changes": moved}, FileStat(b"new.py", 2, 2, False)) == []
    assert found(bench, policy, {"changes": moved[:1]}) == [("too-many-lines", "violation")]


def test_modules_in_place_of_the_library_s_are_noticed(bench: Any) -> None:
    for path in ("argparse.py", "src/hmac.py", "tests/pathlib.py", "packaging/__init__.py"):
        assert found(bench, Policy(), changes((path, "added"))) == [("steering-file", "notice")]
        assert found(bench, Policy(), changes((path, "modified"))) == []
        assert found(bench, Policy(free_steering=(path,)), changes((path, "added"))) == []
    split = changes(("types.py", "deleted"), ("types/__init__.py", "added"), ("types/names.py", "added"))
    assert found(bench, Policy(), split) == []


def test_what_was_left_out_is_noticed_where_it_may_matter(bench: Any) -> None:
    dropped = ({"path": "pipe", "why": "special"}, {"path": "x.pyc", "why": "generated"})
    assert found(bench, Policy(), changes(dropped=dropped)) == [("left-out", "notice")]


def test_odd_names_are_matched_as_the_bytes_that_they_are(bench: Any) -> None:
    policy = Policy(forbidden=("secret/**",))
    assert found(bench, policy, changes(("secret/\\xff\\x0a", "added"))) == [("forbidden-path", "violation")]


def test_many_findings_are_summed_up_with_the_worst_grade(bench: Any) -> None:
    listed = changes(*((f"ci/{number}", "added") for number in range(1000)))
    made = findings(bench.contract(policy=Policy(forbidden=("ci/**",))), listed, ())
    assert len(made) == MOST_FINDINGS
    assert made[-1].grade == "violation"
    assert made[-1].message == "and 801 more findings"


@pytest.mark.parametrize(
    "path", ["tests/a.py", "test/x.js", "src/test_a.py", "a_test.go", "x.spec.ts", "src/FooTest.java", "pkg/t/01.t"]
)
def test_names_of_tests(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["src/a.py", "contest.py", "latest/x.py", "testimony.md", "src/attest.go"])
def test_names_that_are_no_tests(path: str) -> None:
    assert not is_test(path)


def entry(path: bytes) -> Entry:
    return Entry(path, 0o100644, 1, "0" * 64)


def change(path: bytes, kind: str = "modified") -> Change:
    return Change(path, kind, None if kind == "added" else entry(path), None if kind == "deleted" else entry(path))


def test_setup_products_generated_and_special_files_are_dropped(bench: Any) -> None:
    contract = bench.contract(policy=Policy(generated=("**/*.log",)))
    setup = {"build/out.o": "o", "src/generated.py": "g", "calc.py": "changed by setup"}
    prepared = bench.prepared(contract, {"calc.py": "x", "src/a.py": "a"}, setup)
    given = Changes(
        (
            change(b"build/new.o", "added"),
            change(b"build/out.o", "deleted"),
            change(b"calc.py"),
            change(b"src/a.py"),
            change(b"src/generated.py"),
            change(b"src/new.py", "added"),
            change(b"x.log", "added"),
        ),
        special=(b"pipe\xff",),
        too_large=(b"huge", b"huge.log"),
        truncated=True,
    )
    kept, dropped = exclude_paths(ExcludedPaths(contract, prepared), given)
    assert [one.path for one in kept.changes] == [b"calc.py", b"src/a.py", b"src/new.py"]
    assert kept.special == ()
    assert {item["path"]: item["why"] for item in dropped} == {
        "build/new.o": "setup-product",
        "build/out.o": "setup-product",
        "src/generated.py": "setup-product",
        "x.log": "generated",
        "pipe\\xff": "special",
        "huge": "too-large",
        "huge.log": "generated",
        "*": "limit",
    }


def test_without_setup_nothing_is_a_product(bench: Any) -> None:
    contract = bench.contract()
    prepared = bench.prepared(contract, {"calc.py": "x"})
    kept, dropped = exclude_paths(
        ExcludedPaths(contract, prepared), Changes((change(b"calc.py"), change(b"new/file", "added")))
    )
    assert len(kept.changes) == 2
    assert dropped == ()


def test_generated_files_beyond_number_are_dropped_together(bench: Any) -> None:
    contract = bench.contract(policy=Policy(generated=("**/*.log",)))
    unwanted = ExcludedPaths(contract, bench.prepared(contract, {"calc.py": "x"}))
    kept, dropped = exclude_paths(unwanted, Changes((change(b"calc.py"), change(b"x.log", "added")), omitted=True))
    assert [one.path for one in kept.changes] == [b"calc.py"]
    assert [(item["path"], item["why"]) for item in dropped] == [("*", "generated"), ("x.log", "generated")]
    assert not unwanted.counts(b"deep/y.log") and unwanted.counts(b"log")


def test_j2_the_projects_own_runner_modules_are_not_called_steering_files(bench: Any) -> None:
    listed = changes(("src/_pytest/pathlib.py", "modified"), ("src/_pytest/new.py", "added"), ("nose2.py", "added"))
    own = {b"src/_pytest/__init__.py", b"src/_pytest/pathlib.py"}
    made = findings(bench.contract(), listed, (), own.__contains__)
    assert [(one.code, one.evidence.rpartition("#")[2]) for one in made] == [("steering-file", "nose2.py")]
