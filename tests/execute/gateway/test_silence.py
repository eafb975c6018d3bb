"""When a provider counts as silent: the rule, without any clock of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.provider_outages import Silence

GRACE, MOST = 30, 100


def silence() -> Silence:
    return Silence(GRACE, MOST)


def test_the_time_up_to_the_grace_is_not_a_silence() -> None:
    one = silence()
    one.begin(1, 0)
    assert one.look(10) == 20 and one.waited_ns(20) == 0
    assert one.look(30) == 0 and one.is_silent
    assert one.waited_ns(50) == 20
    assert one.hear(1, 55) == 25 and one.waited_ns(99) == 25


def test_a_silence_in_the_middle_of_an_answer_counts_from_its_last_byte() -> None:
    one = silence()
    one.begin(1, 0)
    for at in (20, 40, 60):
        one.hear(1, at)
        assert one.look(at + 19) == 11
    assert one.look(90) == 0
    assert one.leave(1, 95) == 5


def test_a_byte_of_any_call_and_a_new_call_end_a_silence() -> None:
    one = silence()
    one.begin(1, 0)
    one.begin(2, 1)
    assert one.look(31) == 0
    assert one.hear(2, 41) == 10
    assert one.look(41) == 30
    assert one.look(71) == 0
    assert one.begin(3, 72) == 1


def test_without_a_call_there_is_no_silence() -> None:
    one = silence()
    assert one.look(1000) is None
    one.begin(1, 1000)
    one.leave(1, 1010)
    assert one.look(2000) is None and one.waited_ns(2000) == 0
    assert one.hear(1, 2001) is None, "a call that was left does not count"


def test_silences_have_a_maximum_in_all() -> None:
    one = silence()
    at = 0
    for call in range(4):
        one.begin(call, at)
        assert one.look(at + GRACE) == 0
        assert one.is_too_long(at + GRACE + 25) is (call == 3)
        one.leave(call, at := at + GRACE + 25)
    assert one.waited_ns(at) == MOST


STEPS = st.lists(st.tuples(st.sampled_from(["begin", "hear", "leave"]), st.integers(0, 3), st.integers(0, 80)))


@given(STEPS)
def test_only_silence_gives_time(steps: list[tuple[str, int, int]]) -> None:
    """However calls overlap, the time that does not count is that in which calls waited past the grace."""
    one, now, expected, sign, calls = silence(), 0, 0, 0, set[int]()
    for act, call, later in steps:
        if calls:
            while (left := one.look(now)) is not None and 0 < left <= later:
                now, later = now + left, later - left
            expected += max(0, now + later - max(now, sign + GRACE))
        now += later
        one.look(now)
        if act == "begin":
            calls.add(call)
            sign = now
        elif act == "hear" and call in calls:
            sign = now
        elif act == "leave":
            calls.discard(call)
        getattr(one, act)(call, now)
    assert one.waited_ns(now) == expected
