"""One suite of attacks on isolation, with a measured record: everything is contained, nearly everything is told.

Each attack runs inside a sandbox whose guard has its default detail, on every way to isolate and as every kind of user.
What is contained and not told is named in docs/risks.md, and nothing else is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from tests.attacks.arena import MakeBackend, Result, arena
from tests.attacks.on_files import READS
from tests.attacks.table import ATTACKS
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory

RECORDED_SHARE = 0.98
RISKS = Path(__file__).resolve().parents[2] / "docs/risks.md"
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)


def measure(where: str, results: list[Result]) -> None:
    """Everything is contained; what is not recorded is a named exception, and those are few."""
    recorded = sum(result.recorded for result in results)
    print(f"{where}: {len(results)} attacks, {sum(r.contained for r in results)} contained, {recorded} recorded")
    escaped = [str(result) for result in results if not result.contained]
    assert not escaped, "\n".join([f"{len(escaped)} not contained:", *escaped])
    wrong = [str(result) for result in results if result.recorded == bool(result.attack.unrecorded)]
    assert not wrong, "\n".join([f"{len(wrong)} not recorded as the table says:", *wrong])
    assert recorded >= RECORDED_SHARE * len(results)


def as_user(user: str, action: Callable[[Path], None]) -> None:
    """Do something below a new directory, as root or as an ordinary user."""
    with open_directory() as top:
        if user == "ordinary" and os.geteuid() == 0:
            os.chown(top, ORDINARY, ORDINARY)
            as_ordinary_user(lambda: action(top))
        else:
            action(top)


def attack_all(where: str, user: str, make_backend: MakeBackend) -> None:
    def action(top: Path) -> None:
        with arena(top, make_backend) as place:
            measure(where, [place.run(attack) for attack in ATTACKS])

    as_user(user, action)


@pytest.mark.parametrize("user", USERS)
def test_attacks_on_bubblewrap(user: str) -> None:
    attack_all(f"bubblewrap as {user}", user, lambda top: BubblewrapBackend(top / "sessions"))


@pytest.mark.parametrize("user", USERS)
def test_reads_are_told_where_the_contract_asks_for_them(user: str) -> None:
    def action(top: Path) -> None:
        with arena(top, lambda top: BubblewrapBackend(top / "sessions"), reads=True) as place:
            for attack in (attack for attack in ATTACKS if attack.unrecorded == READS):
                assert place.run(attack).recorded, attack.name

    as_user(user, action)


def test_no_two_attacks_share_a_name() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


def test_the_risk_register_names_every_attack_that_is_not_recorded() -> None:
    section = RISKS.read_text("utf-8").partition("## Attacks that leave no record\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    named = {name: why for name, why in rows if name not in ("attack", "---")}
    assert named == {attack.name: attack.unrecorded for attack in ATTACKS if attack.unrecorded}
