"""Opening the top of a tree that others wrote."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.untrusted_directories import names_in, open_top, status_of

AsUser = Callable[[Callable[[], None]], None]


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o200, 0o400, 0o055])
def test_a_closed_top_is_opened_up_for_its_owner(open_directory: Path, as_ordinary_user: AsUser, mode: int) -> None:
    def act() -> None:
        top = open_directory / "top"
        top.mkdir()
        (top / "file").write_text("x")
        top.chmod(mode)
        handle = open_top(top)
        assert names_in(handle) == [b"file"]
        assert status_of(handle, b"file") is not None
        os.close(handle)

    as_ordinary_user(act)


def test_a_top_that_can_be_read_keeps_its_permissions(open_directory: Path, as_ordinary_user: AsUser) -> None:
    def act() -> None:
        top = open_directory / "top"
        top.mkdir()
        top.chmod(0o555)
        os.close(open_top(top))
        assert stat.S_IMODE(top.stat().st_mode) == 0o555

    as_ordinary_user(act)


def test_a_closed_top_stays_closed_where_nothing_may_be_changed(open_directory: Path, as_ordinary_user: AsUser) -> None:
    def act() -> None:
        top = open_directory / "top"
        top.mkdir(0o000)
        with pytest.raises(PermissionError):
            open_top(top, open_up=False)
        assert stat.S_IMODE(top.stat().st_mode) == 0
        top.chmod(0o700)

    as_ordinary_user(act)


def test_a_link_is_no_top(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="link"):
        open_top(tmp_path / "link")
