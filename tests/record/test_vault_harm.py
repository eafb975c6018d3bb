"""A vault that was put back, changed, torn or left in the middle of an act: nothing is lost, and nothing is untold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.chained_log import ChainedLog, Entry
from proctor.record.redact import NAME_DIGITS, name_of
from proctor.record.vault import Vault
from tests.record.vaults import NOW, SECRET, Scene, killed_at, person


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def copied(scene: Scene, place: Path) -> Path:
    return Path(shutil.copytree(scene.vault.path, place))


def put_back(scene: Scene, copy: Path, *names: str) -> None:
    for name in names:
        shutil.copy2(copy / name, scene.vault.path / name)


@pytest.mark.parametrize("names", [("access.jsonl",), ("access.jsonl", "access.jsonl.end")])
def test_a_used_token_stays_used_when_an_older_log_is_put_back(
    scene: Scene, tmp_path: Path, names: tuple[str, ...]
) -> None:
    copy = copied(scene, tmp_path / "copy")
    token = scene.token()
    scene.vault.read(token, scene.jo, NOW)
    put_back(scene, copy, *names)
    with pytest.raises(BrokenSeal, match="it had 2 records and has 1"):
        scene.vault.read(token, scene.jo, NOW)
    with pytest.raises(BrokenSeal, match="it had 2 records and has 1"):
        scene.keep(b"glpat-Zbcdefghij0123456780")


def test_a_vault_that_was_put_back_and_went_on_is_told_from_the_one_that_was_noted(
    scene: Scene, tmp_path: Path
) -> None:
    copy = copied(scene, tmp_path / "copy")
    elsewhere = Vault(copy)
    shutil.copy2(scene.vault.head, elsewhere.head)
    for vault in (scene.vault, elsewhere):
        vault.read(canonical(vault.token(scene.jo, scene.name, "why", os.urandom(16), NOW)), scene.jo, NOW)
    put_back(scene, copy, "access.jsonl", "access.jsonl.end")
    with pytest.raises(BrokenSeal, match="not the one that was noted"):
        scene.vault.history()


def test_the_note_outside_cannot_be_taken_away_or_forged(scene: Scene) -> None:
    whole = scene.vault.head.read_bytes()
    scene.vault.head.unlink()
    with pytest.raises(BrokenSeal, match="length was removed"):
        scene.vault.history()
    scene.vault.head.write_bytes(whole.replace(b'"count":1', b'"count":0'))
    with pytest.raises(BrokenSeal, match="not valid"):
        scene.vault.history()


def test_a_vault_that_was_taken_away_is_missed_and_no_other_takes_its_place(scene: Scene) -> None:
    shutil.copytree(scene.vault.path, scene.vault.path.with_name("kept"))
    shutil.rmtree(scene.vault.path)
    with pytest.raises(BrokenSeal, match="the vault was removed: its log had 1 record\n"):
        scene.vault.history()
    scene.vault.path.with_name("kept").rename(scene.vault.path)
    scene.vault.read(scene.token(), scene.jo, NOW)
    shutil.rmtree(scene.vault.path)
    with pytest.raises(BrokenSeal, match="the vault was removed: its log had 2 records\n"):
        scene.vault.history()
    with pytest.raises(BrokenSeal, match="the vault was removed"):
        scene.vault.create(scene.jo.person, os.urandom(32), NOW)
    for note in (b"", b"{}", b"[]", b'{"count":"many"}'):
        scene.vault.head.write_bytes(note)
        with pytest.raises(BrokenSeal, match="not valid"):
            scene.vault.create(scene.jo.person, os.urandom(32), NOW)
    scene.vault.head.unlink()
    scene.vault.create(scene.jo.person, os.urandom(32), NOW)
    assert len(scene.vault.history()) == 1


def test_a_vault_from_before_the_note_outside_goes_on(scene: Scene) -> None:
    key, log = scene.vault.key, scene.vault.path / "access.jsonl"
    log.unlink()
    scene.vault.head.unlink()
    (scene.vault.path / "access.jsonl.end").unlink()
    ChainedLog(log, key=key).append({"act": "init", "recipient": str(scene.jo.person), "t": str(NOW)})
    assert scene.vault.read(scene.token(), scene.jo, NOW).secret == SECRET
    assert scene.vault.head.exists()


def test_a_refused_recipient_stands_in_the_log(scene: Scene) -> None:
    eve = person("eve")
    with pytest.raises(UsageFault, match="only a recipient"):
        scene.vault.add_recipient(eve.person, eve, NOW)
    said = scene.last()
    assert (said["act"], said["outcome"], said["by"]) == ("refuse-recipient", "refused", "eve")
    assert said["recipient"] == str(eve.person)
    with pytest.raises(UsageFault, match="there is already"):
        scene.vault.add_recipient(person("jo").person, scene.jo, NOW)
    assert scene.last()["act"] == "refuse-recipient"
    with pytest.raises(UsageFault, match="not a recipient"):
        scene.vault.read(scene.token(eve), eve, NOW)


def test_entries_that_a_crash_left_for_one_reader_are_opened_to_the_other_by_adding_again(scene: Scene) -> None:
    kim, path = person("kim"), scene.vault.entries / f"{scene.name}.age"
    before = path.read_bytes()
    scene.vault.add_recipient(kim.person, scene.jo, NOW)
    path.write_bytes(before)
    with pytest.raises(UsageFault, match="does not open"):
        scene.vault.read(scene.token(kim), kim, NOW)
    assert scene.vault.add_recipient(kim.person, scene.jo, NOW) == 1
    assert scene.vault.read(scene.token(kim), kim, NOW).secret == SECRET


def test_one_who_takes_entries_in_knows_who_was_added_since(scene: Scene) -> None:
    keep, kim, secret = scene.vault.keeper(), person("kim"), b"glpat-Zbcdefghij0123456780"
    scene.vault.add_recipient(kim.person, scene.jo, NOW)
    name = name_of(scene.vault.key, secret)[:NAME_DIGITS]
    keep(name, "gitlab-token", secret)
    assert scene.vault.read(scene.token(kim, name=name), kim, NOW).secret == secret


class Counting(Vault):
    """A vault that knows how often its log was read as a whole."""

    reads = 0

    def history(self) -> list[Entry]:
        self.reads += 1
        return super().history()


def test_the_log_is_read_for_new_originals_only_when_it_has_changed(scene: Scene) -> None:
    vault, kim = Counting(scene.vault.path), person("kim")
    secrets = [b"glpat-%020d" % number for number in range(6)]
    names = [name_of(vault.key, secret)[:NAME_DIGITS] for secret in secrets]
    keep = vault.keeper()
    before = vault.reads
    for name, secret in zip(names[:3], secrets[:3], strict=True):
        keep(name, "gitlab-token", secret)
    assert vault.reads == before + 1
    scene.vault.add_recipient(kim.person, scene.jo, NOW)
    for name, secret in zip(names[3:], secrets[3:], strict=True):
        keep(name, "gitlab-token", secret)
    assert vault.reads == before + 2
    for name, secret in zip(names, secrets, strict=True):
        assert scene.vault.read(scene.token(kim, name=name), kim, NOW).secret == secret


def test_originals_that_come_in_while_recipients_are_added_are_for_all_of_them(scene: Scene) -> None:
    secrets = [b"glpat-%020d" % number for number in range(10)]
    names = [name_of(scene.vault.key, secret)[:NAME_DIGITS] for secret in secrets]
    child = os.fork()
    if not child:
        try:
            keep = scene.vault.keeper()
            for name, secret in zip(names, secrets, strict=True):
                keep(name, "gitlab-token", secret)
        finally:
            os._exit(0)
    people = [person(f"kim{number}") for number in range(3)]
    for one in people:
        scene.vault.add_recipient(one.person, scene.jo, NOW)
    os.waitpid(child, 0)
    for one in people:
        for name, secret in zip(names, secrets, strict=True):
            assert scene.vault.read(scene.token(one, name=name), one, NOW).secret == secret


def test_a_damaged_entry_keeps_nobody_from_the_others(scene: Scene) -> None:
    kim, other = person("kim"), scene.keep(b"glpat-Zbcdefghij0123456780")
    (scene.vault.entries / f"{scene.name}.age").write_bytes(b"")
    with pytest.raises(BrokenSeal, match="all but 1 of 2"):
        scene.vault.add_recipient(kim.person, scene.jo, NOW)
    assert (scene.last()["act"], scene.last()["entry"]) == ("add-failed", scene.name)
    assert scene.vault.read(scene.token(kim, name=other), kim, NOW).secret.startswith(b"glpat-Z")


TORN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "short": lambda data: data[:-1],
    "without its payload": lambda data: data[: data.index(b"\n--- ")],
    "long": lambda data: data + b"x",
    "zeros at the end": lambda data: data[:-40] + bytes(40),
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("name", TORN)
def test_a_torn_entry_is_named_and_comes_back_with_the_same_secret(scene: Scene, name: str) -> None:
    path = scene.vault.entries / f"{scene.name}.age"
    path.write_bytes(TORN[name](path.read_bytes()))
    with pytest.raises(BrokenSeal, match=rf"{scene.name}.age: .*\n.* written again"):
        scene.vault.read(scene.token(), scene.jo, NOW)
    assert (scene.last()["act"], scene.last()["entry"]) == ("read-failed", scene.name)
    assert scene.keep(SECRET) == scene.name
    assert scene.vault.read(scene.token(), scene.jo, NOW).secret == SECRET


def test_a_whole_entry_is_left_alone(scene: Scene) -> None:
    for secret in (SECRET, b"glpat-Zbcdefghij0123456780"):
        path = scene.vault.entries / f"{scene.keep(secret)}.age"
        before = path.read_bytes()
        scene.keep(secret)
        assert path.read_bytes() == before


@pytest.mark.parametrize("size", [47_000, 48_000, 49_000, 2 << 20])
def test_a_large_original_comes_back(scene: Scene, size: int) -> None:
    secret = os.urandom(size)
    name = name_of(scene.vault.key, secret)[:NAME_DIGITS]
    keep = scene.vault.keeper()
    keep(name, "named", secret)
    before = (scene.vault.entries / f"{name}.age").stat()
    keep(name, "named", secret)
    assert (scene.vault.entries / f"{name}.age").stat().st_ino == before.st_ino, "it is whole, and was left alone"
    assert scene.vault.read(scene.token(name=name), scene.jo, NOW).secret == secret


PLACES = ("access.jsonl", "access.jsonl.end", "key", "entry", "../vault-head.json")


@pytest.mark.parametrize("kind", ["link", "directory", "pipe"])
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_plain_file_is_refused(scene: Scene, tmp_path: Path, place: str, kind: str) -> None:
    path = scene.vault.path / (f"entries/{scene.name}.age" if place == "entry" else place)
    token = scene.token()
    path.rename(tmp_path / "moved")
    if kind == "link":
        path.symlink_to(tmp_path / "moved")
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(BrokenSeal):
        scene.vault.read(token, scene.jo, NOW)


def changed(whole: bytes, place: int) -> bytes:
    return whole[:place] + bytes([whole[place] ^ (1 + place % 255)]) + whole[place + 1 :]


@pytest.mark.parametrize("name", ["access.jsonl", "access.jsonl.end", "key", "../vault-head.json"])
def test_every_change_of_a_byte_of_the_vault_is_found(scene: Scene, name: str) -> None:
    scene.vault.read(scene.token(), scene.jo, NOW)
    path = scene.vault.path / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(changed(whole, place))
        with pytest.raises(BrokenSeal):
            scene.vault.history()
    path.write_bytes(whole)
    assert len(scene.vault.history()) == 2


def test_every_change_of_a_byte_of_an_entry_is_found_when_it_is_read(scene: Scene) -> None:
    path = scene.vault.entries / f"{scene.name}.age"
    whole = path.read_bytes()
    for place in range(0, len(whole), 9):
        path.write_bytes(changed(whole, place))
        with pytest.raises((BrokenSeal, UsageFault)):
            scene.vault.read(scene.token(), scene.jo, NOW)
        assert scene.last()["act"] == "read-failed"


def test_a_crash_at_any_step_loses_nothing_and_no_reading_is_untold(scene: Scene, tmp_path: Path) -> None:
    told, other, left = tmp_path / "told", b"glpat-Zbcdefghij0123456780", 0
    scene.vault.read(scene.token(), scene.jo, NOW)  # what is loaded on first use is loaded

    def act() -> None:
        name = scene.keep(other)
        told.write_text(name)
        told.write_bytes(scene.vault.read(token, scene.jo, NOW).secret)

    for number in range(1, 1000):
        token, before = scene.token(), scene.vault.history()
        told.write_bytes(b"")
        cut = killed_at(number, act)
        after = scene.vault.history()
        assert after[: len(before)] == before
        if told.read_bytes() == SECRET:
            assert after[-1].record["outcome"] == "granted"
        elif told.read_bytes():
            kept = scene.vault.read(scene.token(name=told.read_text()), scene.jo, NOW)
            assert kept.secret == other
        assert scene.vault.read(scene.token(), scene.jo, NOW).secret == SECRET
        for path in scene.vault.entries.glob("*.age"):
            if path.stem != scene.name:
                path.unlink()
        left += len(list(scene.vault.entries.glob(".*")))
        if not cut:
            break
    assert number > 20
    assert left, "a crash leaves a file without its name"
    scene.vault.keeper()
    assert [path.name for path in scene.vault.entries.iterdir()] == [f"{scene.name}.age"]


def test_a_crash_while_a_recipient_is_added_is_mended_by_adding_again(scene: Scene) -> None:
    scene.keep(b"glpat-Zbcdefghij0123456780")
    number, cut = 0, True
    while cut:
        number += 3
        kim = person(f"kim{number}")
        cut = killed_at(number, lambda: scene.vault.add_recipient(kim.person, scene.jo, NOW))  # noqa: B023
        assert scene.vault.add_recipient(kim.person, scene.jo, NOW) == 2
        for reader in (kim, scene.jo):
            assert scene.vault.read(scene.token(reader), reader, NOW).secret == SECRET
    assert number > 15


def test_readers_and_writers_side_by_side_see_a_whole_log(scene: Scene) -> None:
    """One token for all: it is granted once; each of the others is refused, and every one is in the log."""
    token, everyone = scene.token(), 6
    children = []
    for _ in range(everyone):
        child = os.fork()
        if not child:
            granted = 2
            try:
                for _ in range(5):
                    scene.vault.history()
                scene.vault.read(token, scene.jo, NOW)
                granted = 0
            except UsageFault:
                granted = 1
            finally:
                os._exit(granted)
        children.append(child)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert codes == [0, *[1] * (everyone - 1)]
    outcomes = [entry.record.get("outcome") for entry in scene.vault.history()]
    assert sorted(map(str, outcomes)) == ["None", "granted", *["refused"] * (everyone - 1)]
