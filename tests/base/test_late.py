"""A module that is loaded at its first use, and the one thing that its stand-in can do."""

from __future__ import annotations

import datetime
import hashlib
import importlib
import inspect
import platform
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.late import LITTLE, LateModule, cleandoc, load_later

WITHOUT_INSPECT = r"""
import sys
from proctor.base.late import load_later
load_later()
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
    load_later()
    assert sys.modules["inspect"] is inspect


SMALL_THINGS = r"""
import sys
from proctor.base.late import LITTLE, LateModule, load_later
load_later()
import click, datetime, gettext, hashlib, locale, pathlib, platform, queue, subprocess, urllib.parse
from hashlib import sha256

def waiting():
    return sorted(name for name, module in sys.modules.items() if isinstance(module, LateModule))

print(*waiting())
print(gettext.gettext("One"), gettext.ngettext("One", "Many", 1), gettext.ngettext("One", "Many", 2))
print(platform.system(), datetime.date(2026, 3, 7), hashlib.sha256(b"").hexdigest()[:8], sha256(b"a").hexdigest()[:8])
print(queue.SimpleQueue().empty(), issubclass(queue.Empty, Exception))
print(*waiting())
print(queue.Queue(1).maxsize, queue.Empty.__module__)
print(pathlib.Path("/a b").as_uri(), urllib.parse.urlsplit("http://a/b").path)
print(sha256(b"a" * (LITTLE + 1)).hexdigest()[:8], hashlib.new("sha1", b"").hexdigest()[:8])
state = sha256()
state.update(b"a")
print(state.hexdigest()[:8], locale.getpreferredencoding(False) != "", platform.python_version_tuple()[0])
print(subprocess.run(["echo", "told"], text=True, stdout=subprocess.PIPE).stdout.strip())
print(datetime.datetime.strptime("2026-03-07", "%Y-%m-%d").date(), gettext.translation("none", fallback=True).info())
print(*waiting())
"""


def test_stand_ins_do_the_small_things_and_give_way_for_the_others() -> None:
    done = subprocess.run([sys.executable, "-c", SMALL_THINGS], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    first, words, facts, plain, second, full, paths, large, stream, told, others, last = done.stdout.splitlines()
    assert first == second == "datetime gettext hashlib inspect locale platform queue urllib.parse"
    assert (plain, full) == ("True True", "1 _queue")
    assert words == "One One Many"
    assert facts == f"{platform.system()} 2026-03-07 {start_of(b'')} {start_of(b'a')}"
    assert paths == "file:///a%20b /b"
    assert large == f"{start_of(b'a' * (LITTLE + 1))} {hashlib.sha1(b'').hexdigest()[:8]}"
    assert stream == f"{start_of(b'a')} True 3"
    assert (told, others, last) == ("told", "2026-03-07 {}", "datetime inspect")


def start_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


IN_BETWEEN = r"""
import sys
from proctor.base.late import load_later
load_later()
from hashlib import sha256
from urllib.parse import quote_from_bytes
del sys.modules["hashlib"], sys.modules["urllib.parse"]
print(sha256(b"a").hexdigest()[:8], quote_from_bytes(b"a b"))
print(type(sha256(b"a")) is type(sys.modules["hashlib"].sha256()), sha256(b"a", usedforsecurity=False).hexdigest()[:8])
"""


def test_what_is_used_while_another_thread_loads_the_real_module_waits_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", IN_BETWEEN], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{start_of(b'a')} a%20b\nTrue {start_of(b'a')}\n", "")


def test_the_stand_in_for_dates_has_all_that_the_module_has() -> None:
    program = "from proctor.base.late import load_later; load_later(); import datetime; print(*dir(datetime))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(datetime.__all__) <= set(done.stdout.split())


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
