"""A small web of names for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.execute.network.servers import Site, Web, serving
from tests.execute.sandbox.workplace import open_directory


class Town:
    """One plain and one secure site behind two names, and another secure one elsewhere."""

    def __init__(self, web: Web, plain: Site, secure: Site, other: Site) -> None:
        self.web = web
        self.plain = plain
        self.secure = secure
        self.other = other


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with ExitStack() as stack:
        web = Web(tmp_path_factory.mktemp("web") / "authority")
        plain = stack.enter_context(serving())
        secure = stack.enter_context(serving(web.server_context("safe.test")))
        other = stack.enter_context(serving(web.server_context("other.test")))
        web.put("plain.test", 80, plain)
        web.put("safe.test", 443, secure)
        web.put("other.test", 443, other)
        yield Town(web, plain, secure, other)


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path
