"""A module that is loaded at its first use, and the one thing that its stand-in can do."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.late import LateModule, cleandoc, inspect_later

WITHOUT_INSPECT = r"""
import sys
from proctor.base.late import inspect_later
inspect_later()
import click

@click.command()
@click.option("--one", help="  One.\n\n    Two.")
def told(one):
    "Tells."

assert "ast" not in sys.modules, "loaded"
print(told.params[0].help)
import inspect
from inspect import signature
assert "ast" in sys.modules and sys.modules["inspect"] is not inspect
assert inspect.signature is signature is sys.modules["inspect"].signature
print(signature(len))
"""


def test_a_command_line_does_without_inspect_until_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_INSPECT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("One.\n\nTwo.\n(obj, /)\n", "")


def test_what_is_loaded_already_stays() -> None:
    inspect_later()
    assert sys.modules["inspect"] is inspect


def test_a_stand_in_gives_way_to_the_real_module(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = LateModule("colorsys")
    monkeypatch.setitem(sys.modules, "colorsys", stand_in)
    assert not any(hasattr(stand_in, listed) for listed in ("__file__", "__path__", "__warningregistry__"))
    assert sys.modules["colorsys"] is stand_in
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(stand_in.rgb_to_hsv)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    real = importlib.import_module("colorsys")
    assert real is not stand_in
    assert found == [real.rgb_to_hsv] * 8
    with pytest.raises(AttributeError, match="nothing"):
        _ = stand_in.nothing


@given(st.text(alphabet="ab \t\n", max_size=60))
def test_text_is_tidied_up_as_inspect_does_it(text: str) -> None:
    assert cleandoc(text) == inspect.cleandoc(text)
