"""Parts of packages: found by name, loaded when they are used, checked, and blamed for their own errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.entry_points import Package, PlugIns, SlowCalls, lacks_methods, registered_names
from proctor.base.errors import InfrastructureFault, ProctorError, UsageFault
from proctor.base.files import read_bounded

GROUP = "proctor.results_readers"


def problems(part: Any, name: str) -> Iterator[str]:
    yield from lacks_methods(part, "read")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def table() -> PlugIns[Any]:
    return PlugIns(GROUP, "results reader", ("junit",), problems)


def install(site: Path, module: str, code: str, package: str = "acme", name: str = "mine") -> None:
    (site / f"{module}.py").write_text(code)
    info = site / f"{package}-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.5\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}:PART\n")


GOOD = "class Part:\n    def read(self): return 1\nPART = Part()\n"


def test_a_part_is_found_and_loaded_with_its_package(site: Path, table: PlugIns[Any]) -> None:
    install(site, "entry_good", GOOD)
    assert table.names() == ("mine",) and registered_names(GROUP) == ("mine",) and registered_names("") == ()
    assert table.package("mine") == Package("acme", "2.5") and str(table.package("mine")) == "acme 2.5"
    assert table.require("mine").read() == 1
    assert table.load("other") is None and table.package("other") is None
    with pytest.raises(UsageFault, match="no installed package provides the results reader 'other'") as fault:
        table.require("other")
    assert "those of installed packages: mine" in fault.value.hint and fault.value.exit_code == 2


@pytest.mark.parametrize(
    ("code", "says"),
    {
        "no such module": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        "no Python": ("def (", "SyntaxError"),
        "no such object": ("", "AttributeError: module 'entry_bad' has no attribute 'PART'"),
        "an error": ("1 / 0", "ZeroDivisionError: division by zero"),
        "an end": ("raise SystemExit(3)", "SystemExit: 3"),
        "another object": ("PART = 7", "read() is missing"),
        "an attribute that is no method": ("class PART:\n    read = 7", "read() is missing"),
    }.values(),
)
def test_what_cannot_be_loaded_is_an_error_of_its_package(
    site: Path, table: PlugIns[Any], code: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(__import__("sys").modules, "entry_bad", raising=False)
    install(site, "entry_bad", code)
    with pytest.raises(UsageFault) as fault:
        table.load("mine")
    assert fault.value.message.startswith("the results reader 'mine' of the package acme cannot be used: ")
    assert says in fault.value.message and "docs/extending.md" in fault.value.hint


@pytest.mark.parametrize("name", ["Mine", "a b", "a/b", "-a", "a" * 61])
def test_a_name_that_cannot_be_written_is_refused(site: Path, table: PlugIns[Any], name: str) -> None:
    install(site, "entry_good", GOOD, name=name)
    with pytest.raises(UsageFault, match="its name is not made of small letters"):
        table.load(name)


def test_the_name_of_a_built_in_part_cannot_be_taken(site: Path, table: PlugIns[Any]) -> None:
    install(site, "entry_good", GOOD, name="junit")
    assert table.names() == () and table.load("junit") is None and table.package("junit") is None
    assert list(table.taken()) == [("junit", Package("acme", "2.5"))]


def test_two_packages_with_one_name_are_both_named(site: Path, table: PlugIns[Any]) -> None:
    install(site, "entry_good", GOOD)
    install(site, "entry_good", GOOD, package="other")
    with pytest.raises(UsageFault, match="the packages acme and other both have the results reader 'mine'"):
        table.load("mine")


def test_what_fails_during_a_run_is_a_fault_and_no_usage_error(site: Path, table: PlugIns[Any]) -> None:
    install(site, "entry_good", GOOD)
    with pytest.raises(InfrastructureFault, match="of the package acme failed: KeyError: 'x'"), table.at_work("mine"):
        raise KeyError("x")
    for passed in (UsageFault("mine"), OSError("full")):
        with pytest.raises(type(passed)), table.at_work("mine"):
            raise passed
    with pytest.raises(ValueError, match="stop"), table.at_work("mine", ValueError):
        raise ValueError("stop")


FAILING = """
from proctor.plugins import InfrastructureFault, UsageFault
class Part:
    def read(self, error):
        raise error
    def call(self, function):
        function()
PART = Part()
"""


@pytest.fixture
def part(site: Path, table: PlugIns[Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delitem(sys.modules, "entry_failing", raising=False)
    install(site, "entry_failing", FAILING)
    return table.require("mine")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(13, "denied"), "PermissionError: [Errno 13] denied"),
        (TimeoutError("no answer"), "TimeoutError: no answer"),
        (UsageFault("wrong", where="file", hint="do this"), "file: wrong"),
        (InfrastructureFault("gone"), "gone"),
        (GeneratorExit("left"), "GeneratorExit: left"),
        (MemoryError(), "MemoryError"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_whatever_code_of_a_package_raises_is_reported_in_its_name(
    table: PlugIns[Any], part: Any, error: BaseException, says: str
) -> None:
    with pytest.raises(InfrastructureFault) as fault, table.at_work("mine"):
        part.read(error)
    assert fault.value.message == f"the results reader 'mine' of the package acme failed: {says}"
    assert "docs/extending.md" in fault.value.hint and fault.value.exit_code == 3
    with pytest.raises(ProctorError) as refused, table.blamed("mine"):
        part.read(error)
    assert "the results reader 'mine' of the package acme" in refused.value.message and says in refused.value.message
    assert refused.value.exit_code == (3 if isinstance(error, InfrastructureFault) else 2)


def test_what_proctor_raises_below_code_of_a_package_is_not_the_package_s(table: PlugIns[Any], part: Any) -> None:
    def full() -> None:
        read_bounded(Path("/no/such/file"), 1)

    with pytest.raises(FileNotFoundError), table.at_work("mine"):
        part.call(full)
    with pytest.raises(UsageFault) as refused, table.blamed("mine"):
        part.call(lambda: table.require("other"))
    assert refused.value.message == "no installed package provides the results reader 'other'"


def test_a_stop_of_the_operator_is_no_error_of_a_package(table: PlugIns[Any], part: Any) -> None:
    for guard in (table.at_work, table.blamed):
        with pytest.raises(KeyboardInterrupt), guard("mine"):
            part.read(KeyboardInterrupt())


def test_an_error_of_a_built_in_part_is_reported_as_it_is(table: PlugIns[Any]) -> None:
    with pytest.raises(KeyError), table.at_work("junit"):
        raise KeyError("x")


def test_slow_calls_are_added_up_and_quick_ones_do_not_count() -> None:
    slow = SlowCalls()
    assert not any(slow.add(0.4) for _ in range(100))
    assert [slow.add(2.0) for _ in range(3)] == [False, False, True]
    assert not SlowCalls().add(4.9) and SlowCalls().add(5.1)


def test_a_slow_call_is_a_fault_of_the_package(table: PlugIns[Any], part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 107.5])
    monkeypatch.setattr("proctor.base.entry_points.time.monotonic", lambda: next(times))
    says = "of the package acme failed: the agent had to wait 7.5 seconds for it, and at most 5 are allowed"
    with pytest.raises(InfrastructureFault, match=says), table.at_work("mine", slow=SlowCalls()):
        part.call(lambda: None)
