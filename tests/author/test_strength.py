"""The strength of real oracles: what a weak and a strong one notice, what adversaries come to, and how it goes on."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.author.oracle_strength import read_equivalent
from proctor.base.errors import UsageFault

Proctor = Callable[..., subprocess.CompletedProcess[str]]
CALC = "def total(a, b):\n    return a - b\n\n\ndef double(a):\n    return total(a, a)\n"
FIX = (
    "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1,5 +1,7 @@\n def total(a, b):\n"
    "-    return a - b\n+    if a is None:\n+        return b\n+    return a + b\n \n \n def double(a):\n"
)
WEAK = "import calc; assert calc.total(2, 2) == 4"
STRONG = (
    "import calc; assert calc.total(2, 3) == 5 == calc.total(None, 5) and calc.total(0, 1) == 1 and calc.double(3) == 6"
)
ISSUE = "`total(2, 2)` gives 0 and should give `4`, as every calculator does that was ever made by anyone.\n"


def make(make_contract: Any, name: str, test: str, **parts: Any) -> Path:
    check = {**make_contract.CHECK, "run": ["/usr/bin/python3", "-c", test]}
    contract: Path = make_contract(name, files={"calc.py": CALC}, checks=[check], **parts)
    (contract / "fix.patch").write_text(FIX)
    (contract / "issue.md").write_text(ISSUE)
    return contract


def measured(proctor: Proctor, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = proctor("strength", *arguments, "--jobs", "2", "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_weak_oracle_lets_faults_and_an_adversary_pass(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make(make_contract, "weak", WEAK)
    results = tmp_path / "results.jsonl"
    code, said = measured(proctor, contract, "--results", results)
    survivors = {one["id"]: one for one in said["survivors"]}
    assert said["caught"]["count"] == said["caught"]["of"] - len(survivors)
    assert 0 < said["caught"]["count"] < said["caught"]["of"] == said["planned"]
    assert any("+        return None" in one["diff"] for one in survivors.values())
    assert said["scopes"]["caller"] == {**said["scopes"]["caller"], "count": 0, "of": 1}
    assert sum(int(one["count"]) for one in said["false_negatives"].values()) == len(survivors)
    adversaries = {(one["category"], one["diff"]): one["by"] for one in said["adversaries"]}
    accepted = {name for (name, _), by in adversaries.items() if not by}
    assert code == 1
    assert accepted == {"exit-early", "special-case", "hard-code"}, "all that an exit code alone and one value allow"
    assert ("delete-tests", "every test of the tree is deleted") in adversaries

    text = results.read_bytes()
    results.write_bytes(text[:-20])
    assert measured(proctor, contract, "--results", results) == (code, said), "the cut line alone was judged again"
    assert results.read_bytes() == text
    one = next(iter(survivors))
    (contract / "equivalent.txt").write_text(f"# none of these is a fault\n{one} nothing tells them apart\n")
    _, less = measured(proctor, contract, "--results", results)
    assert less["caught"]["of"] == said["caught"]["of"] - 1
    assert less["equivalent"] == {one: "nothing tells them apart"}


def test_a_stronger_oracle_catches_them_and_an_alternative_is_accepted(proctor: Proctor, make_contract: Any) -> None:
    alternatives = {"patch": "fix.patch", "alternatives": ["other.patch", "wrong.patch"]}
    contract = make(make_contract, "strong", STRONG, reference=None)
    whole = json.loads((contract / "contract.yaml").read_text())
    (contract / "contract.yaml").write_text(json.dumps({**whole, "reference": alternatives}))
    (contract / "other.patch").write_text(FIX.replace("a + b", "b + a"))
    (contract / "wrong.patch").write_text(FIX.replace("a + b", "b * a"))
    code, said = measured(proctor, contract)
    assert said["survivors"] == []
    assert said["caught"]["value"] == "1.0000"
    assert code == 1, "one listed alternative is refused"
    assert {one["path"]: bool(one["by"]) for one in said["alternatives"]} == {"other.patch": False, "wrong.patch": True}
    assert (said["false_positives"]["count"], said["false_positives"]["of"]) == (1, 2)
    assert not [
        one for one in said["adversaries"] if one["category"] in ("special-case", "hard-code") and not one["by"]
    ]


def test_the_sample_is_drawn_with_the_seed(proctor: Proctor, make_contract: Any) -> None:
    contract = make(make_contract, "drawn", STRONG)
    done = proctor("strength", contract, "--limit", "1", "--seed", "4")
    assert "mutants, 1 tried" in done.stdout
    assert done.stdout == proctor("strength", contract, "--limit", "1", "--seed", "4").stdout


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("results", '{"kind":"other"}\n', "belong to another contract or reference"),
        ("results", "text\n", "not results of `proctor strength`"),
        ("equivalent", "0123456789ab\n", "line 1 gives no reason"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    proctor: Proctor, make_contract: Any, tmp_path: Path, name: str, content: str, words: str
) -> None:
    (tmp_path / "file").write_text(content)
    done = proctor("strength", make(make_contract, "bad", STRONG), f"--{name}", tmp_path / "file")
    assert done.returncode == 2
    assert words in done.stderr


def test_without_a_reference_that_passes_there_is_nothing_to_measure(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("strength", make(make_contract, "never", "raise SystemExit(1)"))
    assert done.returncode == 2
    assert "the reference does not pass adds" in done.stderr
    done = proctor("strength", make(make_contract, "none", STRONG, reference=None))
    assert done.returncode == 2
    assert "no reference solution" in done.stderr


BREAKS = "import calc, os; calc.total(0, 1) == 1 or os.abort(); assert calc.total(2, 3) == 5"


def test_a_trial_without_a_verdict_is_in_no_share_and_is_tried_again(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contract = make(make_contract, "breaks", BREAKS)
    results = tmp_path / "results.jsonl"
    _, said = measured(proctor, contract, "--results", results)
    broken = said["no_verdict"]
    assert broken, "some mutant makes total(0, 1) something else, and the check ends by a signal"
    assert {(one["verdict"], one["by"]) for one in broken} == {("no verdict", "adds")}
    assert all("runner-crash" in one["why"] for one in broken)
    assert said["tried"] == said["planned"] == said["caught"]["of"] + len(broken)
    assert said["caught"]["of"] == said["caught"]["count"] + len(said["survivors"])
    assert sum(int(one["of"]) for one in said["false_negatives"].values()) == said["caught"]["of"]
    assert not {one["id"] for one in broken} & {one["id"] for one in said["survivors"]}
    assert b"no verdict" not in results.read_bytes()
    done = proctor("strength", contract, "--results", results)
    assert f"without a verdict, and not counted in these shares: {len(broken)} mutants" in done.stdout
    assert f"no verdict {broken[0]['id']} (" in done.stdout


def test_an_alternative_without_a_verdict_is_not_accepted(proctor: Proctor, make_contract: Any) -> None:
    reference = {"patch": "fix.patch", "alternatives": ["broken.patch"]}
    contract = make(make_contract, "undecided", BREAKS, reference=reference)
    (contract / "broken.patch").write_text(FIX.replace("a + b", "a * b"))
    code, said = measured(proctor, contract, "--limit", "1")
    assert code == 1
    assert said["alternatives"][0]["verdict"] == "no verdict"
    assert said["false_positives"]["of"] == 0


def test_what_the_author_calls_equivalent_is_counted_and_listed(proctor: Proctor, make_contract: Any) -> None:
    contract = make(make_contract, "claimed", WEAK)
    _, said = measured(proctor, contract)
    one = said["survivors"][0]
    (contract / "equivalent.txt").write_text(f"{one['id']} it is the same\nffffffffffff gone since\n")
    _, less = measured(proctor, contract)
    assert [(out["id"], out["why"], out["diff"]) for out in less["left_out"]] == [
        (one["id"], "it is the same", one["diff"])
    ]
    assert less["unknown_equivalent"] == ["ffffffffffff"]
    assert less["tried"] == less["planned"] - 1
    text = proctor("strength", contract, "--limit", "1").stdout
    assert "left out because the author listed them as equivalent: 1\n" in text
    assert (
        f"left out {one['id']} ({one['category']}, in a {one['scope']}) calc.py:{one['line']}: it is the same" in text
    )
    assert "listed as equivalent, but not a mutant: ffffffffffff\n" in text


def test_a_list_of_equivalents_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"0123456789ab caf\xe9\n")
    with pytest.raises(UsageFault, match=r"list: byte 17 is not UTF-8\n  save the list as UTF-8"):
        read_equivalent(tmp_path / "list")
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf0123456789ab why\n")
    assert read_equivalent(tmp_path / "marked") == {"0123456789ab": "why"}
    (tmp_path / "link").symlink_to(tmp_path / "marked")
    for odd in (tmp_path / "link", tmp_path / "none", tmp_path):
        with pytest.raises(UsageFault, match=odd.name):
            read_equivalent(odd)


def test_results_are_begun_only_where_they_can_be_kept(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make(make_contract, "kept", STRONG)
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "none" / "file", tmp_path, tmp_path / "pipe"):
        done = proctor("strength", contract, "--limit", "1", "--results", odd)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert str(odd) in done.stderr
    (tmp_path / "empty").touch()
    proctor("strength", contract, "--limit", "1", "--results", tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes().count(b"\n") > 1


def test_a_list_in_another_encoding_is_told_in_one_message(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    (tmp_path / "list").write_bytes(b"\xff\n")
    done = proctor("strength", make(make_contract, "latin", STRONG), "--equivalent", tmp_path / "list")
    assert (done.returncode, done.stderr.startswith(f"proctor: {tmp_path}/list: byte 1")) == (2, True), done.stderr
