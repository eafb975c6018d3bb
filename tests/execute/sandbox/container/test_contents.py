"""Which paths of an image a list of globs means. No engine needed."""

from __future__ import annotations

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.container import images
from proctor.execute.sandbox.container.images import expand

MEMBERS = (
    ("/testbed", True),
    ("/testbed/.git", True),
    ("/testbed/.git/HEAD", False),
    ("/testbed/a.py", False),
    ("/opt/b.orig", False),
    ("/opt/x/c.orig", False),
    ("/home", True),
    ("/home/agent", True),
    ("/tmp/d.orig", False),
)


@pytest.mark.parametrize(
    ("hide", "found"),
    [
        (("/testbed/.git",), [("/testbed/.git", True)]),
        (("/testbed/.git/",), [("/testbed/.git", True)]),
        (("/**/.git", "/testbed/.git/HEAD"), [("/testbed/.git", True)]),
        (("/**/*.orig",), [("/opt/b.orig", False), ("/opt/x/c.orig", False)]),
        (("/testbed/*.py", "/absent"), [("/testbed/a.py", False)]),
        ((), []),
    ],
)
def test_the_outermost_paths_are_hidden(hide: tuple[str, ...], found: list[tuple[str, bool]]) -> None:
    assert [(one.path, one.is_directory) for one in expand(MEMBERS, hide)] == found


@pytest.mark.parametrize("pattern", ["/home", "/home/agent", "/*"])
def test_what_the_sandbox_needs_cannot_be_hidden(pattern: str) -> None:
    with pytest.raises(UsageFault, match="which the sandbox itself needs"):
        list(expand(MEMBERS, (pattern,)))


def test_too_many_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_HIDDEN", 1)
    with pytest.raises(UsageFault, match="at most 1 can be hidden"):
        list(expand(MEMBERS, ("/**/*.orig",)))
