"""The chain: what was written is read, and removal, repetition, reordering and edits are found where they begin."""

from __future__ import annotations

import itertools
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.errors import BrokenSeal
from proctor.record.trace.chain import Chain
from proctor.record.trace.event import (
    GENESIS,
    Event,
    assemble_line,
    event_header,
    header_bytes,
    line_bytes,
    payload_bytes,
    payload_digest,
)
from proctor.record.trace.merkle import check_inclusion, inclusion_proof
from proctor.record.trace.writer import TraceWriter


class Ticks:
    """A clock that stands still, so that only the writer makes time rise."""

    def wall_ns(self) -> int:
        return 1000

    def steady_ns(self) -> int:
        return 0


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Twelve lines of a trace."""
    path = tmp_path_factory.mktemp("trace") / "events.jsonl"
    with TraceWriter.create(path, Ticks(), random.Random(1).randbytes) as trace:
        for number in range(12):
            trace.append("run.finished", {"status": f"caf\u00e9 {number}", "more": {"a": [number, None, True]}})
    return path.read_bytes().splitlines(keepends=True)


def follow_chain(lines: list[bytes]) -> tuple[list[Event], Chain]:
    chain = Chain()
    return [chain.take(line) for line in lines], chain


def break_at(lines: list[bytes]) -> int:
    """The number of the event at which ``lines`` break, or their count."""
    chain = Chain()
    for line in lines:
        try:
            chain.take(line)
        except BrokenSeal as error:
            assert error.where == f"events.jsonl#{chain.count}"
            break
    return chain.count


def test_time_rises_although_the_clock_stands(lines: list[bytes]) -> None:
    times = [int(event.t) for event in follow_chain(lines)[0]]
    assert times == list(range(1000, 1012))


def test_re_serialising_never_changes_a_hash(lines: list[bytes]) -> None:
    events, chain = follow_chain(lines)
    assert [line_bytes(event) for event in events] == lines
    prev = GENESIS
    headers = []
    for event in events:
        headers.append(event_header(event, prev))
        assert sha256(headers[-1]).hexdigest() == event.hash
        prev = event.hash
    assert chain.head == prev
    for index, header in enumerate(headers):
        proof = inclusion_proof(headers, index)
        assert check_inclusion(header, index, len(headers), proof, bytes.fromhex(chain.root()))


@given(data=st.data())
def test_a_removed_event_is_found(lines: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 2))
    assert break_at(lines[:at] + lines[at + 1 :]) == at


@given(data=st.data())
def test_a_repeated_event_is_found(lines: list[bytes], data: st.DataObject) -> None:
    at, to = data.draw(st.integers(0, len(lines) - 1)), data.draw(st.integers(0, len(lines)))
    assert break_at([*lines[:to], lines[at], *lines[to:]]) in (to, to + 1)


def test_every_swap_is_found(lines: list[bytes]) -> None:
    for a, b in itertools.combinations(range(len(lines)), 2):
        swapped = list(lines)
        swapped[a], swapped[b] = swapped[b], swapped[a]
        assert break_at(swapped) == a


@given(data=st.data())
def test_any_other_order_is_found(lines: list[bytes], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(lines))))
    expected = next((at for at, number in enumerate(order) if at != number), len(lines))
    assert break_at([lines[number] for number in order]) == expected


@given(data=st.data())
def test_an_edited_byte_is_found_in_its_event(lines: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    line = bytearray(lines[at])
    line[data.draw(st.integers(0, len(line) - 1))] ^= data.draw(st.integers(1, 255))
    assert break_at([*lines[:at], bytes(line), *lines[at + 1 :]]) == at


def test_every_bit_of_a_line_counts(lines: list[bytes]) -> None:
    for at in range(len(lines[0])):
        for bit in range(8):
            line = bytearray(lines[0])
            line[at] ^= 1 << bit
            assert break_at([bytes(line)]) == 0


def test_an_edit_with_its_hash_made_anew_breaks_at_the_next_event(lines: list[bytes]) -> None:
    events, _ = follow_chain(lines)
    forged = forge(4, events[3].hash, {"status": "forged"}, events[4].t)
    assert break_at([*lines[:4], forged, *lines[5:]]) == 5


def forge(seq: int, prev: str, payload: dict[str, Any], t: str, actor: str = "harness") -> bytes:
    """A line with a true hash."""
    body, salt = payload_bytes(payload), "5" * 32
    header = header_bytes(actor, payload_digest(bytes.fromhex(salt), body), prev, seq, t, "run.finished")
    return assemble_line(actor, sha256(header).hexdigest(), body, salt, seq, t, "run.finished")


def test_time_must_rise_even_with_true_hashes(lines: list[bytes]) -> None:
    events, _ = follow_chain(lines[:3])
    for t, expected in ((events[2].t, 3), ("0", 3), (str(int(events[2].t) + 1), 4)):
        assert break_at([*lines[:3], forge(3, events[2].hash, {}, t)]) == expected


def test_numbers_must_follow_even_with_true_hashes(lines: list[bytes]) -> None:
    events, _ = follow_chain(lines[:3])
    assert break_at([*lines[:3], forge(4, events[2].hash, {}, "5000")]) == 3


def test_only_known_actors_act(lines: list[bytes]) -> None:
    assert break_at([forge(0, GENESIS, {}, "1", actor="nobody")]) == 0
    assert break_at([forge(0, GENESIS, {}, "1", actor="operator")]) == 1


def test_a_type_of_a_later_version_is_kept() -> None:
    body, salt = b"{}", "5" * 32
    header = header_bytes("monitor", payload_digest(bytes.fromhex(salt), body), GENESIS, 0, "1", "alert.raised")
    line = assemble_line("monitor", sha256(header).hexdigest(), body, salt, 0, "1", "alert.raised")
    assert Chain().take(line).type == "alert.raised"


def shaped(payload: bytes) -> bytes:
    """A line of the right shape with some payload and no true hash."""
    return assemble_line("harness", "0" * 64, payload, "0" * 32, 0, "1", "briefing")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{}\n",
        b"null\n",
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"actor":"harness"}\n',
        shaped(b"{}"),
        shaped(b'{"a":NaN}'),
        shaped(b'{"a":"\xff"}'),
        shaped(b"{" + b'"a":{' * 50_000 + b"}}"),
        shaped(b'{"a":' + b"1" * 100_000 + b"}"),
    ],
    ids=lambda line: f"{len(line)}-{line[:9].decode('latin-1')}",
)
def test_hostile_lines_break_the_chain_and_nothing_else(line: bytes) -> None:
    with pytest.raises(BrokenSeal) as caught:
        Chain().take(line)
    assert caught.value.where == "events.jsonl#0"


def test_a_line_without_its_newline_is_no_event(lines: list[bytes]) -> None:
    assert break_at([lines[0][:-1]]) == 0


def test_writer_and_chain_agree(make_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    chain = Chain()
    with make_run.writer(path) as trace:
        for number in range(20):
            assert (trace.count, trace.head, trace.root()) == (chain.count, chain.head, chain.root())
            event = trace.append("run.finished", {"status": str(number)})
            assert chain.take(path.read_bytes().splitlines(keepends=True)[-1]) == event
