"""Call a function on several items at a time, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def parallel_map(act: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    """Call ``act`` on all ``items``, ``jobs`` at a time, and yield the results in order."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            yield from pool.map(act, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
