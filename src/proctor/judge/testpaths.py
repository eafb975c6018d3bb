"""Which paths hold tests, by the names that projects give them. Pure.

Adding tests is welcome and never punished: a file that a patch adds under such a name counts neither as a change
outside the writable paths nor towards the size of the patch.
"""

from __future__ import annotations

import re

_DIRECTORIES = frozenset(["test", "tests", "spec", "specs", "testing", "t", "__tests__", "testdata", "test-data"])
_FILE = re.compile(
    r"(?:test_.*|.*_test|.*_spec|.*\.test|.*\.spec|test|tests)\.[a-z0-9]+\Z"
    r"|.*(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs|swift|php|groovy)\Z"
)


def is_test(path: str) -> bool:
    """Whether ``path`` names a test or something that lies with the tests."""
    *directories, name = path.split("/")
    return any(part.lower() in _DIRECTORIES for part in directories) or bool(_FILE.match(name))
