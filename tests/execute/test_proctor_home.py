"""Where Proctor's home is, by the environment and the user."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.proctor_home import Home


@pytest.mark.parametrize(
    ("variables", "path"),
    [
        ({"PROCTOR_HOME": "/p", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/p"),
        ({"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/proctor"),
        ({"HOME": "/h"}, "/h/.local/share/proctor"),
    ],
)
def test_the_environment_names_the_home(variables: dict[str, str], path: str) -> None:
    assert Home.from_environment(variables).path == Path(path)


@pytest.mark.parametrize("variables", [{}, {"HOME": ""}])
def test_without_a_variable_it_is_in_the_home_directory_of_the_user(variables: dict[str, str]) -> None:
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert Home.from_environment(variables).path == own / ".local" / "share" / "proctor"


def test_a_user_that_the_system_does_not_know_has_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(UsageFault, match="Proctor's home is not known") as refused:
        Home.from_environment({})
    assert "PROCTOR_HOME" in refused.value.hint
