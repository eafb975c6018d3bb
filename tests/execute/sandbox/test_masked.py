"""What lies in the host's system directories and is none of the sandbox's business is not to be seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.bubblewrap import bwrap_arguments
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Limits, SandboxPlan, Tree
from tests.execute.sandbox.workplace import as_ordinary_user, layer, open_directory, overlay, shell


def shared() -> tuple[Path, Path]:
    """Two directories below ``/usr`` that hold something."""
    found = [path for path in sorted(Path("/usr/share").iterdir()) if path.is_dir() and not path.is_symlink()]
    full = [path for path in found if any(path.iterdir())]
    return full[0], full[1]


def directly(action: Callable[[], None]) -> None:
    action()


@pytest.mark.parametrize("act", [directly, as_ordinary_user])
def test_masked_directories_are_empty_and_cannot_be_filled(act: Callable[[Callable[[], None]], None]) -> None:
    hidden, other = shared()

    def look() -> None:
        with open_directory() as top:
            plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), masked=(hidden, top))
            with BubblewrapBackend(top / "sessions").open(plan) as sandbox:
                listed = shell(sandbox, f"ls -A {hidden}; echo; ls -A {other} | head -n 1; touch {hidden}/x || echo no")
        lines = listed.stdout.prefix.decode().splitlines()
        assert lines[0] == "" and lines[1] != "" and lines[2:] == ["no"], listed

    act(look)


def masks(*masked: Path) -> list[str]:
    plan = SandboxPlan(Tree(Path("/nowhere")), Limits(), masked=masked)
    arguments = bwrap_arguments.make_view(plan, "init", {}, {}).arguments
    places = [arguments[at + 1] for at, word in enumerate(arguments) if word == "--tmpfs"]
    return [place for place in places if place.startswith("/usr")]


def test_the_package_itself_is_masked_where_it_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (bwrap_arguments.PACKAGE / "execute/sandbox/bubblewrap/bwrap_arguments.py").is_file()
    hidden, other = shared()
    monkeypatch.setattr(bwrap_arguments, "PACKAGE", hidden)
    assert masks() == [str(hidden)]
    assert masks(other) == [str(hidden), str(other)]


def test_only_what_is_shown_needs_a_mask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, _ = shared()
    monkeypatch.setattr(bwrap_arguments, "PACKAGE", tmp_path)
    (tmp_path / "link").symlink_to(hidden)
    assert masks(tmp_path, Path("/usr/share/absent-from-everywhere")) == []
    assert masks(tmp_path / "link") == [str(hidden)]
    assert masks(hidden.parent, hidden) == [str(hidden.parent)]


@pytest.mark.parametrize("place", ["/", "/usr"])
def test_the_system_itself_cannot_be_masked(place: str) -> None:
    with pytest.raises(UsageFault, match="cannot be hidden"):
        masks(Path(place))


def test_the_names_of_control_groups_tell_nothing_of_the_harness() -> None:
    with open_directory() as top:
        plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())
        with BubblewrapBackend(top / "sessions").open(plan) as sandbox:
            names = [path.stem for path in (top / "sessions").glob("*.json")]
            seen = shell(sandbox, "cat /proc/self/cgroup").stdout.prefix.decode()
    assert len(names) == 1 and f"-{os.getpid()}-" not in names[0] + seen
