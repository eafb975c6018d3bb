"""Rewards of test scripts: whole files of the two forms, and nothing else."""

from __future__ import annotations

import pytest

from proctor.judge.checks.results_readers.reward import parse
from proctor.testing import ResultsReaderSuite


class TestReader(ResultsReaderSuite):
    name = "reward"
    examples = (
        (b"1\n", {"reward": "passed"}),
        (b"0.5\n", {"reward": "failed"}),
        (b'{"reward": 1.0, "style": 0}\n', {"reward": "passed"}),
        (b'{"reward": 0}', {"reward": "failed"}),
    )


@pytest.mark.parametrize("text", ["1\n", " 1.0\n", "2\r\n", '{"reward": 1}', '{"reward": 3, "other": -1}'])
def test_a_full_reward_passes(text: str) -> None:
    assert dict(parse(text.encode()).outcomes) == {"reward": "passed"}


@pytest.mark.parametrize("text", ["0\n", "0.99\n", "-1\n", '{"reward": 0.5}'])
def test_a_lower_reward_fails(text: str) -> None:
    assert dict(parse(text.encode()).outcomes) == {"reward": "failed"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1",
        b"1e0\n",
        b"1\n1\n",
        b"nan\n",
        b"inf",
        b"true",
        b"one",
        b"\xef\xbc\x91\n",
        b"1" * 40 + b"\n",
        b"[1]",
        b"{}",
        b'{"reward": true}',
        b'{"reward": "1"}',
        b'{"reward": NaN}',
        b'{"reward": Infinity}',
        b'{"reward": [1]}',
        b'{"reward": {"reward": 1}}',
        b'{"reward": 0, "reward": 1}',
        b'{"score": 1}',
        b'{"reward": 1} {"reward": 1}',
        b'{"reward": 1e999}',
        b'{"a":' * 50_000,
        b"{" + b",".join(b'"r%d": 1' % n for n in range(60)) + b', "reward": 1}',
        b"1" + b" " * (1 << 16) + b"\n",
    ],
)
def test_anything_else_is_no_result(data: bytes) -> None:
    results = parse(data)
    assert not results.complete and results.problem and not results.outcomes


def test_a_number_without_end_is_no_fault() -> None:
    huge = b"9" * 400
    assert parse(b'{"reward": 1, "other": ' + huge + b"}").problem
    assert parse(b'{"reward": ' + b"9" * 5000 + b"}").problem
