"""Compiled modules in one file: what is kept, and when it is not used."""

from __future__ import annotations

import importlib
import marshal
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from proctor.base.modules import KeptModules, _whose

PACKAGE = "kept_sample"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with one module, on the search path while the test runs."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text('"""A sample."""\n')
    (folder / "inner.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield folder
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def loaded() -> list[ModuleType]:
    return [importlib.import_module(PACKAGE), importlib.import_module(f"{PACKAGE}.inner")]


def kept(package: Path) -> KeptModules:
    return KeptModules(str(package.parent / "modules"), (PACKAGE,))


def through(finder: KeptModules, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The inner module, imported anew with ``finder`` in the first place."""
    forget()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    return importlib.import_module(f"{PACKAGE}.inner")


def is_kept(module: ModuleType) -> bool:
    return type(module.__loader__).__module__ == "proctor.base.modules"


def test_a_kept_module_is_the_same_module(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(package).keep(loaded())
    module = through(kept(package), monkeypatch)
    assert is_kept(module)
    assert (module.VALUE, module.__file__, module.__package__) == (1, str(package / "inner.py"), PACKAGE)
    parent = sys.modules[PACKAGE]
    assert (list(parent.__path__), parent.__doc__) == ([str(package)], "A sample.")


def test_a_changed_source_is_read_again(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(package).keep(loaded())
    (package / "inner.py").write_text("VALUE = 22\n")
    module = through(kept(package), monkeypatch)
    assert module.VALUE == 22
    assert not is_kept(module)


def test_a_source_that_is_gone_is_not_imported(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(package).keep(loaded())
    (package / "inner.py").unlink()
    with pytest.raises(ModuleNotFoundError):
        through(kept(package), monkeypatch)


def test_nothing_is_written_twice(package: Path) -> None:
    assert kept(package).keep(loaded())
    assert not kept(package).keep(loaded())


def test_new_modules_join_the_old(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(package).keep(loaded()[:1])
    assert kept(package).keep(loaded()[1:])
    module = through(kept(package), monkeypatch)
    assert is_kept(module)
    assert is_kept(sys.modules[PACKAGE])


def test_a_source_that_changed_after_its_module_was_loaded_is_not_taken_for_it(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "other.py").write_text("")
    kept(package).keep(loaded())
    finder = kept(package)
    old = through(finder, monkeypatch)
    (package / "inner.py").write_text("VALUE = 22\n")
    assert finder.keep([*loaded(), importlib.import_module(f"{PACKAGE}.other")])
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if one is not finder])
    assert is_kept(old) and (old.VALUE, through(kept(package), monkeypatch).VALUE) == (1, 22)


@pytest.mark.parametrize("source", [None, "VALUE = ((\n", "VALUE = '\0'\n"])
def test_a_source_that_is_no_longer_there_or_none_is_left_out(package: Path, source: str | None) -> None:
    modules = loaded()
    if source is None:
        (package / "inner.py").unlink()
    else:
        (package / "inner.py").write_text(source)
    assert kept(package).keep(modules)


def test_other_packages_are_left_out(package: Path) -> None:
    assert not kept(package).keep([pytest])
    assert not (package.parent / "modules").exists()


@pytest.mark.parametrize("size", [0, 4, 40, -1])
def test_a_cut_file_is_not_used(package: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    kept(package).keep(loaded())
    file = package.parent / "modules"
    file.write_bytes(file.read_bytes()[:size])
    assert through(kept(package), monkeypatch).VALUE == 1


@pytest.mark.parametrize("size", [1 << 40, 1 << 62, (1 << 64) - 1])
def test_a_file_that_tells_of_more_than_can_be_is_not_used(
    package: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    kept(package).keep(loaded())
    file = package.parent / "modules"
    file.write_bytes(size.to_bytes(8, "big") + file.read_bytes()[8:])
    assert not is_kept(through(kept(package), monkeypatch))


@pytest.mark.parametrize("left", [b"", bytes(1000)])
def test_damaged_code_is_kept_anew(package: Path, monkeypatch: pytest.MonkeyPatch, left: bytes) -> None:
    kept(package).keep(loaded())
    file = package.parent / "modules"
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "big")
    file.write_bytes(data[:start] + left[: len(data) - start])
    finder = kept(package)
    module = through(finder, monkeypatch)
    assert module.VALUE == 1 and not is_kept(module)
    assert finder.keep([sys.modules[PACKAGE], module])
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if one is not finder])
    assert is_kept(through(kept(package), monkeypatch))


def test_what_was_cut_off_is_not_written_again_as_if_it_were_whole(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(package).keep(loaded())
    (package / "other.py").write_text("")
    file = package.parent / "modules"
    file.write_bytes(file.read_bytes()[:-1])
    assert kept(package).keep([importlib.import_module(f"{PACKAGE}.other")])
    assert through(kept(package), monkeypatch).VALUE == 1


@pytest.mark.parametrize("content", [7, (), (_whose(),), (_whose(), {}), (_whose(), {}, {}, {})])
def test_a_file_of_another_form_is_not_used(package: Path, monkeypatch: pytest.MonkeyPatch, content: Any) -> None:
    index = marshal.dumps(content)
    (package.parent / "modules").write_bytes(len(index).to_bytes(8, "big") + index)
    assert through(kept(package), monkeypatch).VALUE == 1


def test_another_search_path_does_not_use_it(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(package).keep(loaded())
    monkeypatch.setattr(sys, "path", [*sys.path, "/nowhere"])
    assert not is_kept(through(kept(package), monkeypatch))


def test_where_python_writes_no_byte_code_nothing_is_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert not kept(package).keep(loaded())
    assert not (package.parent / "modules").exists()


def test_a_folder_that_cannot_be_written_is_no_fault(package: Path) -> None:
    file = package.parent / "modules"
    file.mkdir()
    assert not KeptModules(str(file), (PACKAGE,)).keep(loaded())
    assert os.listdir(package.parent) in ([PACKAGE, "modules"], ["modules", PACKAGE])


def test_an_interrupt_leaves_no_half_file(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*paths: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kept(package).keep(loaded())
    assert os.listdir(package.parent) == [PACKAGE]


def family(package: Path, **sources: str) -> None:
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source)


def asked_again(
    package: Path, monkeypatch: pytest.MonkeyPatch, alone: Callable[[], bool] | None = lambda: True
) -> tuple[ModuleType, list[str]]:
    """The last module as the next command loads it, and for which names Python's import system was asked."""
    forget()
    finder = KeptModules(str(package.parent / "modules"), (PACKAGE,), alone)
    asked: list[str] = []
    find = finder.find_spec

    def noted(name: str, *others: Any) -> Any:
        asked.append(name)
        return find(name, *others)

    monkeypatch.setattr(finder, "find_spec", noted)
    monkeypatch.setattr(sys, "meta_path", [finder, *(one for one in sys.meta_path if not isinstance(one, KeptModules))])
    module = importlib.import_module(f"{PACKAGE}.last")
    finder.keep([sys.modules[one] for one in list(sys.modules) if one.startswith(PACKAGE)])
    return module, [one.removeprefix(f"{PACKAGE}.") for one in asked if one.startswith(PACKAGE)]


FAMILY = {
    "first": "VALUE = 1\n",
    "second": f"from {PACKAGE}.first import VALUE\nfrom {PACKAGE} import inner\n",
    "last": f"import {PACKAGE}.second as second\nVALUE = second.VALUE + second.inner.VALUE\n",
}


def test_what_is_loaded_together_is_asked_for_once(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family(package, **FAMILY)
    everything = [PACKAGE, "last", "second", "first", "inner"]
    kept_first, learnt = asked_again(package, monkeypatch), asked_again(package, monkeypatch)
    again, third = asked_again(package, monkeypatch)
    assert kept_first[1] == learnt[1] == everything
    assert third == [PACKAGE, "last"]
    assert again.VALUE == 2
    first, second = (sys.modules[f"{PACKAGE}.{name}"] for name in ("first", "second"))
    assert (sys.modules[PACKAGE].first, sys.modules[PACKAGE].second) == (first, second)
    assert (first.__name__, first.__package__, first.__file__) == (
        *(f"{PACKAGE}.first", PACKAGE),
        str(package / "first.py"),
    )
    assert first.__spec__ and first.__spec__.loader is first.__loader__
    assert importlib.reload(first) is first


def test_a_train_with_a_changed_member_is_learnt_anew(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family(package, **FAMILY)
    for _ in range(3):
        asked_again(package, monkeypatch)
    family(
        package, second=f"from {PACKAGE}.inner import VALUE\nimport {PACKAGE}.inner as inner\n", inner="VALUE = 20\n"
    )
    module, asked = asked_again(package, monkeypatch)
    assert (module.VALUE, asked) == (40, [PACKAGE, "last", "second", "inner"])
    for _ in range(2):
        module, asked = asked_again(package, monkeypatch)
    assert (module.VALUE, asked) == (40, [PACKAGE, "last"])
    assert f"{PACKAGE}.first" not in sys.modules


@pytest.mark.parametrize(("source", "told"), [("int('five')", ValueError), ("import none_such", ImportError)])
def test_a_member_that_fails_is_told(
    package: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: type[Exception]
) -> None:
    failing = f"import os\nVALUE = 1\nif 'KEPT_SAMPLE' in os.environ:\n    {source}\n"
    family(package, **{**FAMILY, "first": failing})
    for _ in range(3):
        assert asked_again(package, monkeypatch)[0].VALUE == 2
    monkeypatch.setenv("KEPT_SAMPLE", "yes")
    with pytest.raises(told):
        asked_again(package, monkeypatch)
    assert not {f"{PACKAGE}.first", f"{PACKAGE}.last"} & set(sys.modules)
    monkeypatch.delenv("KEPT_SAMPLE")
    module, asked = asked_again(package, monkeypatch)
    assert (module.VALUE, asked) == (2, [PACKAGE, "last"])


def test_who_can_do_without_a_member_does(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optional = "import os\nif 'KEPT_SAMPLE' in os.environ:\n    import none_such\n"
    last = f"try:\n    import {PACKAGE}.first\n    VALUE = 1\nexcept ImportError:\n    VALUE = 2\n"
    family(package, first=optional, last=last)
    for _ in range(3):
        assert asked_again(package, monkeypatch)[0].VALUE == 1
    monkeypatch.setenv("KEPT_SAMPLE", "yes")
    assert asked_again(package, monkeypatch)[0].VALUE == 2


def test_a_package_that_loads_its_parts_is_loaded_by_python(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = package / "parts"
    inside.mkdir()
    (inside / "__init__.py").write_text("BEFORE = 1\nfrom . import one\nAFTER = one.VALUE\n")
    (inside / "one.py").write_text("from . import BEFORE\nVALUE = BEFORE + 1\n")
    family(package, last=f"from {PACKAGE} import parts\nVALUE = parts.AFTER\n")
    for _ in range(3):
        module, asked = asked_again(package, monkeypatch)
    assert (module.VALUE, asked) == (2, [PACKAGE, "last", "parts.one"])


def test_beside_another_thread_nothing_is_loaded_ahead(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family(package, **FAMILY)
    for _ in range(3):
        asked_again(package, monkeypatch)
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        module, asked = asked_again(package, monkeypatch, None)
    finally:
        over.set()
        thread.join()
    assert (module.VALUE, asked) == (2, [PACKAGE, "last", "second", "first", "inner"])


def test_a_train_of_a_source_that_changed_is_learnt_anew(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family(package, **FAMILY)
    for _ in range(3):
        asked_again(package, monkeypatch)
    family(package, last=f"from {PACKAGE} import inner\nVALUE = inner.VALUE\n")
    for _ in range(3):
        module, asked = asked_again(package, monkeypatch)
    assert (module.VALUE, asked) == (1, [PACKAGE, "last"])
    assert f"{PACKAGE}.second" not in sys.modules


@pytest.mark.parametrize("use", ["", "ASKED = other.LIST.append(1)\n"])
def test_modules_that_import_each_other_are_loaded_once_and_in_their_order(
    package: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    family(
        package,
        other=f"import {PACKAGE}.last as last\nLIST = []\n",
        last=f"import {PACKAGE}.other as other\n{use}",
    )
    for _ in range(4):
        module, _ = asked_again(package, monkeypatch)
        other = sys.modules[f"{PACKAGE}.other"]
        assert module.other is other and other.last is module


def test_members_that_import_each_other_are_loaded_in_their_order(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family(
        package,
        one=f"import {PACKAGE}.two as two\ntwo.LIST.append(1)\n",
        two=f"import {PACKAGE}.one as one\nLIST = []\n",
        last=f"import {PACKAGE}.one as one\n",
    )
    for _ in range(4):
        module, _ = asked_again(package, monkeypatch)
        assert module.one.two.LIST == [1] and module.one.two.one is module.one
