"""JUnit files, honest and hostile."""

from __future__ import annotations

import pytest

from proctor.judge.checks.results_readers import junit
from proctor.judge.checks.results_readers.interface import MAX_TESTS, RESULT_BYTES

SUITE = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="all">
  <testcase classname="pkg.Test" name="good" time="0.1"/>
  <testcase classname="pkg.Test" name="bad"><failure message="no">trace</failure></testcase>
  <testcase classname="pkg.Test" name="broken"><error message="no"/></testcase>
  <testcase classname="pkg.Test" name="left out"><skipped/></testcase>
  <testcase name="bare"><system-out>failure</system-out></testcase>
  <testsuite name="inner"><testcase classname="deep" name="one"/></testsuite>
</testsuite></testsuites>"""


def case(name: str, inside: str = "") -> bytes:
    return f'<testcase classname="c" name="{name}">{inside}</testcase>'.encode()


def suite(*cases: bytes) -> bytes:
    return b"<testsuite>" + b"".join(cases) + b"</testsuite>"


def test_every_outcome_is_told_apart() -> None:
    results = junit.parse(SUITE)
    assert results.complete
    assert dict(results.outcomes) == {
        "pkg.Test::good": "passed",
        "pkg.Test::bad": "failed",
        "pkg.Test::broken": "error",
        "pkg.Test::left out": "skipped",
        "bare": "passed",
        "deep::one": "passed",
    }
    assert results.counts() == {"passed": 3, "failed": 1, "error": 1, "skipped": 1}
    assert list(results.failing()) == ["pkg.Test::bad", "pkg.Test::broken"]


@pytest.mark.parametrize("order", [("", "<failure/>"), ("<failure/>", "")])
def test_a_failed_duplicate_wins(order: tuple[str, str]) -> None:
    results = junit.parse(suite(*(case("twice", inside) for inside in order)))
    assert dict(results.outcomes) == {"c::twice": "failed"}


def test_a_failure_beside_a_skip_is_a_failure() -> None:
    assert dict(junit.parse(suite(case("x", "<failure/><skipped/>"))).outcomes) == {"c::x": "failed"}
    assert dict(junit.parse(suite(case("x", "<skipped/><failure/>"))).outcomes) == {"c::x": "failed"}


def test_a_status_attribute_that_says_failed_counts() -> None:
    data = b'<testsuite><testcase name="a" status="failed"/><testcase name="b" status="run"/></testsuite>'
    assert dict(junit.parse(data).outcomes) == {"a": "failed", "b": "passed"}


def test_an_entity_bomb_is_refused_before_it_grows() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    results = junit.parse(bomb + b'<testsuite><testcase name="&b;"/></testsuite>')
    assert not results.complete
    assert "document type" in results.problem
    assert not results.outcomes


def test_an_external_entity_is_refused() -> None:
    results = junit.parse(b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>')
    assert not results.complete
    assert "document type" in results.problem


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PASSED tests/test_a.py::test_b",
        b"<testsuite><testcase name='a'>",
        b"<testsuite></testsuites>",
        b"<html></html>",
        b"\xff\xfe\x00<testsuite/>",
        b"<testsuite><testcase name='\xff\xfe'/></testsuite>",
        b'<?xml version="1.0" encoding="no-such"?><testsuite/>',
        b"<testsuite/>\x00trailing",
    ],
)
def test_what_is_no_whole_junit_file_is_incomplete(data: bytes) -> None:
    results = junit.parse(data)
    assert not results.complete
    assert results.problem


def test_a_cut_file_keeps_what_came_before() -> None:
    results = junit.parse(suite(case("a"))[:-5])
    assert not results.complete
    assert dict(results.outcomes) == {"c::a": "passed"}


def test_latin_1_is_read_when_it_is_declared() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><testsuite><testcase name="café"/></testsuite>'
    assert dict(junit.parse(data.encode("latin-1")).outcomes) == {"café": "passed"}


def test_deep_nesting_is_refused() -> None:
    results = junit.parse(b"<testsuite>" * 100_000)
    assert not results.complete
    assert "deeper" in results.problem


def test_too_many_tests_are_refused() -> None:
    cases = b"".join(b'<testcase name="%d"/>' % number for number in range(MAX_TESTS + 1))
    results = junit.parse(suite(cases))
    assert not results.complete
    assert "more than" in results.problem


def test_an_endless_name_is_refused() -> None:
    results = junit.parse(suite(case("x" * 10_000)))
    assert not results.complete
    assert "characters" in results.problem


def test_more_than_the_bound_is_not_read() -> None:
    results = junit.parse(bytes(RESULT_BYTES + 1))
    assert not results.complete
    assert "larger" in results.problem


def test_a_case_inside_a_case_does_not_count_for_itself() -> None:
    results = junit.parse(b'<testsuite><testcase name="a"><testcase name="b"/><failure/></testcase></testsuite>')
    assert dict(results.outcomes) == {"a": "failed"}
