"""A pytest plugin that runs the tests in another order, drawn from the seed in ``PROCTOR_ORDER``.

Files change places, then the classes of a file, then the tests of a class, so that what they share stays together. It
runs inside the sandbox on whatever interpreter the check starts; the harness itself never imports it.
"""

import hashlib
import os
from typing import Any, List  # noqa: UP035  (old interpreters)


def pytest_collection_modifyitems(items: List[Any]) -> None:  # noqa: UP006
    """Sort the tests by digests of the seed and the beginnings of their ids."""
    seed = os.environ.get("PROCTOR_ORDER", "")
    if seed:
        items.sort(key=lambda item: drawn(seed, item.nodeid))


def drawn(seed: str, test: str) -> List[str]:  # noqa: UP006
    """The place of a test: one digest for its file, one for each class, one for itself."""
    parts = test.split("::")
    starts = ("::".join(parts[:end]) for end in range(1, len(parts) + 1))
    return [hashlib.sha256((seed + start).encode("utf-8", "replace")).hexdigest() for start in starts]
