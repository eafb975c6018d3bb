"""Tidying up beside the judge's work."""

from __future__ import annotations

import threading

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.judge.checks.judge_context import BackgroundCleanup


def test_the_caller_goes_on_and_leaving_waits() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), []

    def act() -> None:
        begun.set()
        may_end.wait()
        done.append(True)

    with BackgroundCleanup() as later:
        later(act)
        begun.wait()
        assert not done
        may_end.set()
    assert done


def test_what_went_wrong_is_raised_at_the_end_and_the_rest_is_done() -> None:
    done = []

    def fail() -> None:
        raise InfrastructureFault("the mount is busy")

    with pytest.raises(InfrastructureFault, match="the mount is busy"), BackgroundCleanup() as later:
        later(fail)
        later(lambda: done.append(True))
    assert done


def test_an_error_inside_the_block_is_the_one_that_is_told() -> None:
    def fail() -> None:
        raise OSError("busy")

    with pytest.raises(KeyError), BackgroundCleanup() as later:
        later(fail)
        raise KeyError
