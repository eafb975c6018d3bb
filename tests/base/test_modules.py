"""Compiled modules in one file: what is kept, and when it is not used."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from proctor.base.modules import KeptModules

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
