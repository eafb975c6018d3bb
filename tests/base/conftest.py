"""What the tests of the ground floor share: acting as an ordinary user."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ORDINARY = 64200

AsUser = Callable[[Callable[[], None]], None]


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that an ordinary user may enter and fill; pytest's own ones are closed to others."""
    path = Path(tempfile.mkdtemp(prefix="proctor-test-"))
    try:
        if os.geteuid() == 0:
            os.chown(path, ORDINARY, ORDINARY)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def as_ordinary_user() -> AsUser:
    """Runs a function in a child that has no privileges, and fails where it fails."""

    def act(function: Callable[[], None]) -> None:
        if os.geteuid() != 0:
            function()
            return
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
            child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(120)
                os.setgroups([])
                os.setgid(ORDINARY)
                os.setuid(ORDINARY)
                function()
                code = 0
            except BaseException:
                os.write(writing, traceback.format_exc().encode()[-4000:])
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            words = pipe.read().decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
        assert status == 0, words

    return act
