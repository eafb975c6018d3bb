"""The vault gives originals to those who may read them, refuses everybody else, and the log tells of both."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal, ProctorError, UsageFault
from proctor.record.signing.operator_identity import load_identity, load_person, read_person
from proctor.record.vault import PURPOSE, TOKEN_SECONDS, Vault
from tests.record.vaults import NOW, SECRET, Scene, person


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_original_comes_back_and_the_log_tells_of_it(scene: Scene) -> None:
    original = scene.vault.read(scene.token(), scene.jo, NOW)
    assert (original.secret, original.kind) == (SECRET, "gitlab-token")
    said = scene.last()
    assert (said["reader"], said["entry"], said["outcome"], said["why"]) == ("jo", scene.name, "granted", "case 12")


def test_nothing_lies_open_and_nobody_else_can_look_in(scene: Scene) -> None:
    for path in [scene.vault.path, *scene.vault.path.rglob("*")]:
        assert path.is_dir() or SECRET not in path.read_bytes()
        assert path.name == "access.jsonl" or os.stat(path).st_mode & 0o077 == 0


REFUSED: dict[str, tuple[Callable[[Scene], bytes], str]] = {
    "a stranger": (lambda scene: scene.token(person("kim")), "not a recipient"),
    "a wrong key under a known name": (lambda scene: scene.token(person("jo")), "signature"),
    "a changed request": (lambda scene: scene.token().replace(b"case 12", b"case 13"), "signature"),
    "an expired token": (lambda scene: scene.token(now=NOW - TOKEN_SECONDS * 10**9), "expired"),
    "a token for the future": (lambda scene: scene.token(now=NOW + 10**9), "too long"),
    "no reason": (lambda scene: scene.token(why=" "), "why"),
    "an unknown entry": (lambda scene: scene.token(name="0" * 24), "no such entry"),
    "a path": (lambda scene: scene.token(name="../key"), "no such entry"),
    "no token": (lambda scene: b"{}", "not a token"),
    "noise": (lambda scene: b"\xff\xfe", "not a token"),
    "something huge": (lambda scene: b'"' + b"a" * 10_000 + b'"', "not a token"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_readings_stand_in_the_log(scene: Scene, name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(UsageFault, match=words):
        scene.vault.read(make(scene), scene.jo, NOW)
    said = scene.last()
    assert said["outcome"] == "refused" and words in said["reason"]


def test_a_token_is_good_for_one_reading(scene: Scene) -> None:
    token = scene.token()
    scene.vault.read(token, scene.jo, NOW)
    with pytest.raises(UsageFault, match="used before"):
        scene.vault.read(token, scene.jo, NOW)
    assert [entry.record.get("outcome") for entry in scene.vault.history()] == [None, "granted", "refused"]


def test_a_token_of_another_vault_is_refused(scene: Scene, tmp_path: Path) -> None:
    other = Vault(tmp_path / "other")
    other.create(scene.jo.person, os.urandom(32), NOW)
    foreign = canonical(other.token(scene.jo, scene.name, "why", os.urandom(16), NOW))
    with pytest.raises(UsageFault, match="another vault"):
        scene.vault.read(foreign, scene.jo, NOW)


def test_a_good_token_in_wrong_hands_opens_nothing(scene: Scene) -> None:
    with pytest.raises(UsageFault, match="does not open"):
        scene.vault.read(scene.token(), person("kim"), NOW)
    assert scene.last()["act"] == "read-failed"


@pytest.mark.parametrize("place", [0, 30, -1])
def test_a_changed_entry_is_refused(scene: Scene, place: int) -> None:
    path = scene.vault.entries / f"{scene.name}.age"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ProctorError):
        scene.vault.read(scene.token(), scene.jo, NOW)
    assert scene.last()["act"] == "read-failed"


def test_an_entry_under_another_name_is_refused(scene: Scene) -> None:
    other = scene.keep(b"glpat-Zbcdefghij0123456780")
    (scene.vault.entries / f"{other}.age").rename(scene.vault.entries / f"{scene.name}.age")
    with pytest.raises(BrokenSeal, match="something else"):
        scene.vault.read(scene.token(), scene.jo, NOW)


@pytest.mark.parametrize("left", [0, 1, 2])
def test_nothing_is_read_after_the_log_was_cut(scene: Scene, left: int) -> None:
    scene.vault.read(scene.token(), scene.jo, NOW)
    scene.vault.read(scene.token(), scene.jo, NOW)
    token = scene.token()
    log = scene.vault.path / "access.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:left]))
    with pytest.raises(BrokenSeal):
        scene.vault.read(token, scene.jo, NOW)


def test_a_log_that_was_taken_away_is_missed(scene: Scene) -> None:
    for path in scene.vault.path.glob("access.jsonl*"):
        path.unlink()
    with pytest.raises(BrokenSeal, match="it had 1 records and has 0"):
        scene.keep(b"glpat-Zbcdefghij0123456780")
    scene.vault.head.unlink()
    with pytest.raises(BrokenSeal, match="does not begin"):
        scene.keep(b"glpat-Zbcdefghij0123456780")


def test_several_recipients_read_what_is_there_and_what_comes(scene: Scene) -> None:
    kim = person("kim")
    assert scene.vault.add_recipient(read_person(str(kim.person)), scene.jo, NOW) == 1
    later = scene.keep(b"glpat-Zbcdefghij0123456780")
    for reader in (scene.jo, kim):
        assert scene.vault.read(scene.token(reader), reader, NOW).secret == SECRET
        assert scene.vault.read(scene.token(reader, name=later), reader, NOW).secret.startswith(b"glpat-Z")
    with pytest.raises(UsageFault, match="only a recipient"):
        scene.vault.add_recipient(person("eve").person, person("eve"), NOW)
    with pytest.raises(UsageFault, match="there is already"):
        scene.vault.add_recipient(person("kim").person, scene.jo, NOW)


def test_a_private_file_is_private(tmp_path: Path) -> None:
    made = person("jo")
    path = tmp_path / "jo.key"
    made.save(path)
    assert load_identity(path) == made
    assert read_person((tmp_path / "jo.key.pub").read_text()) == made.person
    with pytest.raises(UsageFault, match="exists already"):
        made.save(path)
    path.chmod(0o644)
    with pytest.raises(UsageFault, match="others can read"):
        load_identity(path)


def test_a_private_half_in_the_place_of_a_public_one_is_named_and_never_repeated(tmp_path: Path) -> None:
    made = person("jo")
    made.save(tmp_path / "jo.key")
    with pytest.raises(UsageFault, match="this is a private identity") as refused:
        load_person(tmp_path / "jo.key")
    assert refused.value.hint == f"give its public half: {tmp_path / 'jo.key.pub'}"
    for words in (made.age, made.seed.hex(), (tmp_path / "jo.key").read_text()):
        with pytest.raises(UsageFault, match="not a public identity") as refused:
            read_person(words)
        assert made.age not in str(refused.value) and made.seed.hex() not in str(refused.value)
    with pytest.raises(UsageFault, match="this is the public half"):
        load_identity(tmp_path / "jo.key.pub")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"kind":"proctor.identity"}'])
def test_a_file_that_is_no_identity_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad").write_bytes(content)
    (tmp_path / "bad").chmod(0o600)
    with pytest.raises(UsageFault, match="not an identity"):
        load_identity(tmp_path / "bad")


def test_a_name_must_be_one() -> None:
    with pytest.raises(UsageFault, match="not a name"):
        person("jo smith")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("nonce", "a" * 600, "the token has no nonce"),
        ("nonce", "", "the token has no nonce"),
        ("expires", "\u00b2", "the token has expired"),
        ("expires", "9" * 5000, "the token has expired"),
    ],
)
def test_a_token_of_another_shape_is_refused_and_told(scene: Scene, field: str, value: str, reason: str) -> None:
    made = scene.vault.token(scene.jo, scene.name, "case 12", os.urandom(16), NOW)
    request = {**{key: text for key, text in made.items() if key != "signature"}, field: value}
    token = canonical({**request, "signature": scene.jo.sign(PURPOSE, request)})
    for _ in range(2):
        with pytest.raises(UsageFault, match=reason):
            scene.vault.read(token, scene.jo, NOW)
    assert (scene.last()["outcome"], scene.last()["reason"]) == ("refused", reason)


def test_what_only_looks_like_a_public_identity_is_refused_before_anything_is_noted(scene: Scene) -> None:
    before = scene.vault.history()
    with pytest.raises(UsageFault, match="not a public identity"):
        read_person(f"al age1{'q' * 58} {'0' * 64}")
    assert scene.vault.history() == before
