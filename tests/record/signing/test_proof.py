"""One event shown without the rest."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, digest
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.run_directory import RunDirectory
from proctor.record.signing.keys import create_key, load_public
from proctor.record.signing.proof import check_proof, prove
from proctor.record.trace.event import payload_bytes
from proctor.record.trace.reader import read_events

CHANGES = 400


def test_every_event_can_be_proven(signed: RunDirectory, signing: Path) -> None:
    public = load_public(signing.with_suffix(".pub"))
    events = read_events(signed.events)
    for event in events:
        proven = check_proof(prove(signed, event.seq), "proof.json", public)
        assert (proven.event, proven.count, proven.run) == (event, len(events), signed.path.name)


def test_a_proof_holds_no_other_event(signed: RunDirectory) -> None:
    proof = prove(signed, 5)
    for event in read_events(signed.events):
        assert (payload_bytes(event.payload) in proof) == (event.seq == 5)


def test_without_an_attestation_the_seal_is_what_it_rests_on(make_run: Any, signing: Path) -> None:
    run = make_run.sealed()
    proof = prove(run, 0)
    assert check_proof(proof, "proof.json").seal == json.loads(run.seal.read_bytes())["digest"]
    with pytest.raises(BrokenSeal, match="no attestation"):
        check_proof(proof, "proof.json", load_public(signing.with_suffix(".pub")))


def test_any_changed_byte_shows(signed: RunDirectory, signing: Path) -> None:
    public = load_public(signing.with_suffix(".pub"))
    proof = prove(signed, 6)
    draw = random.Random(20260307)
    for _ in range(CHANGES):
        at = draw.randrange(len(proof))
        changed = bytearray(proof)
        changed[at] ^= draw.randrange(1, 256)
        with pytest.raises(BrokenSeal):
            check_proof(bytes(changed), "proof.json", public)


def _other_number(value: dict[str, Any], other: dict[str, Any]) -> None:
    value["event"]["seq"] = value["header"]["seq"] = 4


def _other_path(value: dict[str, Any], other: dict[str, Any]) -> None:
    value["path"] = value["path"][:-1]


def _other_seal(value: dict[str, Any], other: dict[str, Any]) -> None:
    value["seal"] = other["seal"]


def _other_event(value: dict[str, Any], other: dict[str, Any]) -> None:
    value["event"], value["header"] = other["event"], other["header"]


def _other_attestation(value: dict[str, Any], other: dict[str, Any]) -> None:
    value["event"], value["header"] = other["event"], other["header"]
    value["path"], value["seal"] = other["path"], other["seal"]


@pytest.mark.parametrize("harm", [_other_number, _other_path, _other_seal, _other_event, _other_attestation])
def test_parts_of_another_proof_do_not_fit(harm: Any, signed: RunDirectory, signing: Path, make_run: Any) -> None:
    value, other = json.loads(prove(signed, 6)), json.loads(prove(make_run.sealed(seed=3), 6))
    harm(value, other)
    with pytest.raises(BrokenSeal):
        check_proof(canonical(value), "proof.json", load_public(signing.with_suffix(".pub")))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = _with(value[path[0]], path[1:], new)
    return changed


@pytest.mark.parametrize("new", [None, 0, -1, "", "zz", [], {}, [1], {"a": 1}], ids=repr)
def test_no_value_of_a_proof_can_be_another(new: Any, signed: RunDirectory, signing: Path) -> None:
    public = load_public(signing.with_suffix(".pub"))
    value = json.loads(prove(signed, 6))
    for path in _places(value):
        changed = _with(value, path, new)
        if changed != value:
            with pytest.raises(BrokenSeal):
                check_proof(canonical(changed), "proof.json", public)


@pytest.mark.parametrize("root", ["", "zz", "0" * 63, 7, None], ids=repr)
def test_a_seal_that_is_whole_and_has_no_root_is_refused(root: Any, signed: RunDirectory) -> None:
    value = json.loads(prove(signed, 6))
    del value["seal"]["digest"]
    value["seal"]["events"]["root"] = root
    value["seal"]["digest"] = digest(value["seal"])
    with pytest.raises(BrokenSeal):
        check_proof(canonical(value), "proof.json")


def test_another_key_does_not_convince(signed: RunDirectory, tmp_path: Path) -> None:
    create_key(tmp_path / "other.key", tmp_path / "other.pub")
    with pytest.raises(BrokenSeal, match="another key"):
        check_proof(prove(signed, 0), "proof.json", load_public(tmp_path / "other.pub"))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"kind":"proctor.proof","schema":1}', b"\xff"])
def test_what_is_no_proof_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenSeal):
        check_proof(data, "proof.json")


def test_an_event_that_is_not_there_cannot_be_proven(signed: RunDirectory) -> None:
    with pytest.raises(UsageFault, match="no event 9999"):
        prove(signed, 9999)


def test_a_log_that_is_not_the_seals_gives_no_proof(signed: RunDirectory) -> None:
    lines = signed.events.read_bytes().splitlines(keepends=True)
    signed.events.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(BrokenSeal, match="not those of the seal"):
        prove(signed, 0)
