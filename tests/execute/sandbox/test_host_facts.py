"""Facts about the machine are found once and found again when what they depend on changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.execute.sandbox import host_facts


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which tools were asked for their version."""
    asked: list[str] = []

    def version(tool: str) -> str:
        asked.append(tool)
        return "1.2"

    monkeypatch.setattr(host_facts, "_version", version)
    return asked


def test_the_identity_is_kept(tmp_path: Path, calls: list[str]) -> None:
    first = host_facts.identity(tmp_path / "home")
    count = len(calls)
    assert count >= 2 and host_facts.identity(tmp_path / "home") == first and len(calls) == count


def test_a_changed_package_list_is_noticed(tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("Package: a\n")
    monkeypatch.setattr(host_facts, "PACKAGES", status)
    first = host_facts.identity(tmp_path)
    status.write_text("Package: a\nPackage: b\n")
    assert host_facts.identity(tmp_path)["packages"] != first["packages"]


def test_a_machine_without_a_package_list_has_an_identity(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_facts, "PACKAGES", tmp_path / "absent")
    assert host_facts.identity(tmp_path)["packages"].startswith("sha256:")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"identity": 3}', b'{"identity": {"key": 1}}'])
def test_a_broken_file_is_replaced(tmp_path: Path, calls: list[str], content: bytes) -> None:
    (tmp_path / host_facts.FILE).write_bytes(content)
    first = host_facts.identity(tmp_path)
    assert host_facts.identity(tmp_path) == first and calls.count("git") == 1


def test_overlays_are_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host_facts.overlay_problem(tmp_path) == ""
    monkeypatch.setattr(host_facts, "_try_overlay", lambda home: "tried again")
    assert host_facts.overlay_problem(tmp_path) == ""
    assert [path.name for path in tmp_path.iterdir()] == [host_facts.FILE]


def test_overlays_that_cannot_be_mounted_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_facts, "PROGRAM", tmp_path / "absent")
    assert "not installed" in host_facts.overlay_problem(tmp_path)
