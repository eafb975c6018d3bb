"""A vault that was being made when the power went: what is left of it goes, and excuses nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.chained_log import exclusive_lock
from proctor.record.vault import Vault
from tests.record.vaults import NOW, Scene, killed_at, person


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_crash_while_the_vault_is_made_leaves_none_or_all_of_it(tmp_path: Path) -> None:
    jo, number, cut, left = person("jo"), 0, True, 0
    while cut:
        number += 1
        vault = Vault(tmp_path / str(number) / "vault")
        cut = killed_at(number, lambda: vault.create(jo.person, b"k" * 32, NOW))  # noqa: B023
        left += len(hidden(vault))
        if number % 2:
            vault.sweep()
            assert hidden(vault) == []
            assert vault.path.exists() or not vault.head.exists()
        if not vault.path.exists():
            vault.create(jo.person, b"x" * 32, NOW)
        assert len(vault.history()) == 1 and hidden(vault) == []
    assert number > 8 and left > 4


def hidden(vault: Vault) -> list[str]:
    found = vault.path.parent.glob(".vault-*") if vault.path.parent.exists() else ()
    return [path.name for path in found if "head" not in path.name]


def test_what_a_crash_left_stays_while_somebody_makes_a_vault(scene: Scene) -> None:
    left = scene.vault.path.with_name(".vault-0123456789abcdef")
    (left / "entries").mkdir(parents=True)
    other = scene.vault.path.with_name(".vault-notes")
    other.mkdir()
    with exclusive_lock(scene.vault.path.parent):
        scene.vault.sweep()
        assert left.exists()
    scene.vault.sweep()
    assert not left.exists() and other.exists()
    assert len(scene.vault.history()) == 1


def test_a_vault_that_is_made_while_somebody_asks_for_it_is_not_missed(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")

    class Asked(Vault):
        def _miss(self) -> None:
            if not vault.path.exists():
                vault.create(person("jo").person, b"k" * 32, NOW)
            super()._miss()

    with pytest.raises(UsageFault, match="there is no vault"):
        _ = Asked(vault.path).key
    assert Asked(vault.path).key == b"k" * 32


def test_a_planted_rest_does_not_excuse_a_vault_that_was_taken_away(scene: Scene) -> None:
    scene.vault.read(scene.token(), scene.jo, NOW)
    shutil.rmtree(scene.vault.path)
    left = scene.vault.path.with_name(".vault-0123456789abcdef")
    left.mkdir()
    scene.vault.sweep()
    assert left.exists() and scene.vault.head.exists()
    with pytest.raises(BrokenSeal, match="the vault was removed"):
        scene.vault.history()


def test_a_crash_while_it_is_taken_away_keeps_nobody_from_making_a_vault(tmp_path: Path) -> None:
    jo, number, cut = person("jo"), 0, True
    while cut:
        number += 1
        vault = Vault(tmp_path / str(number) / "vault")
        vault.create(jo.person, b"k" * 32, NOW)
        vault.path.rename(vault.path.with_name(".vault-0123456789abcdef"))
        cut = killed_at(number, vault.sweep)
        vault.create(jo.person, b"x" * 32, NOW)
        assert len(vault.history()) == 1 and hidden(vault) == []
    assert number > 4
