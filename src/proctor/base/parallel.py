"""The same act on several things at a time, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(act: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    """``act`` on all ``items``, ``jobs`` at a time; what it gives, in order."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            yield from pool.map(act, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
