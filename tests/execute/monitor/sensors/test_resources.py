"""Samples of real sandboxes, with control groups and without, and the alerts that they give rise to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.base.clock import NANOSECONDS, SystemClock
from proctor.base.errors import InfrastructureFault
from proctor.contract.model import Budget
from proctor.execute.monitor.sensors.resource_sampling import (
    Alert,
    Ceilings,
    Sample,
    Sampler,
    Store,
    alerts,
    ceilings_of,
)
from proctor.execute.sandbox.cgroup import Place
from proctor.execute.sandbox.interface import Limits
from tests.execute.monitor.sensors.scene import MIB, Scene, both_users, scene, until
from tests.execute.sandbox.workplace import python, shell

CALM = Sample(
    wall_ns=5 * NANOSECONDS,
    cpu_ns=2 * NANOSECONDS,
    memory_bytes=50,
    disk_bytes=50,
    inodes=5,
    processes=5,
    oom_kills=0,
    free_bytes=1000,
    stores=(Store("/tmp", 10, 100, 1, 10),),
)
LIMITS = Ceilings(10, 10, 100, 100, 10, 10, 500)


def sampler(at: Scene) -> Sampler:
    return Sampler(at.box, at.workspace, SystemClock(), Ceilings())


@pytest.mark.parametrize(
    ("change", "code", "signals"),
    [
        ({"wall_ns": 10 * NANOSECONDS}, "wall", {"wall_seconds": "10.000", "cap": 10}),
        ({"cpu_ns": 11 * NANOSECONDS}, "cpu", {"cpu_seconds": "11.000", "cap": 10}),
        ({"memory_bytes": 95}, "memory", {"memory_bytes": 95, "cap": 100}),
        ({"disk_bytes": 100}, "disk", {"disk_bytes": 100, "cap": 100}),
        ({"inodes": 10}, "inodes", {"inodes": 10, "cap": 10}),
        ({"processes": 10}, "processes", {"processes": 10, "cap": 10}),
        ({"oom_kills": 2}, "oom", {"oom_kills": 2, "before": 0}),
        ({"free_bytes": 499}, "disk-low", {"free_bytes": 499, "least": 500}),
    ],
)
def test_each_ceiling_is_told_once(change: dict[str, Any], code: str, signals: dict[str, object]) -> None:
    sample = replace(CALM, **change)
    (alert,) = alerts(CALM, sample, LIMITS)
    assert (alert.code, dict(alert.signals)) == (code, signals)
    assert alert.grade in ("notice", "alert") and alert.message
    assert alerts(None, sample, LIMITS) == (alert,)
    assert alerts(sample, sample, LIMITS) == ()
    assert alerts(sample, CALM, LIMITS) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"wall_ns": 10 * NANOSECONDS - 1},
        {"cpu_ns": 10 * NANOSECONDS - 1},
        {"memory_bytes": 94},
        {"disk_bytes": 99},
        {"inodes": 9},
        {"processes": 9},
        {"free_bytes": 500},
    ],
)
def test_just_below_a_ceiling_is_nothing(change: dict[str, Any]) -> None:
    assert alerts(CALM, replace(CALM, **change), LIMITS) == ()


def test_what_cannot_be_told_is_nothing() -> None:
    assert alerts(None, Sample(5), LIMITS) == ()
    assert alerts(None, replace(CALM, memory_bytes=10**9, disk_bytes=10**9), Ceilings(free_bytes=None)) == ()


@pytest.mark.parametrize("store", [Store("/tmp", 99, 100, 1, 10), Store("/tmp", 1, 100, 100, 100)])
def test_a_full_memory_file_system_is_told_with_its_place(store: Store) -> None:
    other = Store("/dev/shm", 100, 100, 1, 10)
    first = replace(CALM, stores=(store,))
    (alert,) = alerts(CALM, first, LIMITS)
    assert alert.code == "tmpfs-full" and alert.signals["place"] == "/tmp"
    (second,) = alerts(first, replace(CALM, stores=(store, other)), LIMITS)
    assert second.signals["place"] == "/dev/shm"


def test_more_kills_are_told_again() -> None:
    codes = [alert.code for alert in alerts(replace(CALM, oom_kills=2), replace(CALM, oom_kills=3), LIMITS)]
    assert codes == ["oom"]


def test_a_budget_sets_the_ceilings() -> None:
    found = ceilings_of(Budget(wall_seconds=7, memory_bytes=8, processes=9))
    assert (found.wall_seconds, found.memory_bytes, found.processes) == (7, 8, 9)


def test_the_payload_has_what_the_event_needs() -> None:
    assert CALM.payload("agent") == {
        "wall_seconds": "5.000",
        "cpu_seconds": "2.000",
        "memory_bytes": 50,
        "disk_bytes": 50,
        "inodes": 5,
        "processes": 5,
        "oom_kills": 0,
        "phase": "agent",
    }
    assert Sample(0).payload("agent")["cpu_seconds"] is None


BUSY = """
import os, time
block = bytearray(b"x" * (48 << 20))
for _ in range(3):
    if os.fork() == 0:
        os.close(1); os.close(2)
        time.sleep(1000)
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
handle = os.open("/workspace/nameless", os.O_CREAT | os.O_RDWR)
os.unlink("/workspace/nameless")
os.write(handle, b"y" * (3 << 20))
open("/workspace/named", "wb").write(b"z" * (1 << 20))
if os.fork() == 0:
    os.close(1); os.close(2)
    time.sleep(1000)
os._exit(0)
"""


@pytest.mark.parametrize("groups", [True, False])
def test_a_sample_of_a_busy_sandbox(groups: bool) -> None:
    def look() -> None:
        with scene(place=None if groups else Place()) as at:
            samples = sampler(at)
            before = samples.sample()
            assert before.processes == 0 and before.disk_bytes is not None
            assert python(at.box, BUSY).exit_code == 0
            seen = samples.sample()
            assert seen.processes == 4
            assert seen.cpu_ns is not None and seen.cpu_ns >= 300_000_000
            assert seen.memory_bytes is not None and seen.memory_bytes >= 48 * MIB
            assert seen.disk_bytes is not None and 4 * MIB <= seen.disk_bytes - before.disk_bytes < 5 * MIB
            assert seen.inodes == (before.inodes or 0) + 1
            at.box.end_all()
            after = samples.sample()
            assert after.processes == 0 and (after.disk_bytes or 0) - before.disk_bytes < 2 * MIB
            samples.close()

    both_users(look)


def test_full_memory_file_systems_are_seen() -> None:
    def look() -> None:
        with scene(limits=Limits(tmp_bytes=4 * MIB)) as at:
            samples = sampler(at)
            shell(at.box, "for place in /tmp /dev/shm; do head -c 5000000 /dev/zero > $place/f; done")
            full = [store.place for store in samples.sample().stores if store.full]
            assert full == ["/tmp", "/dev/shm"]

    both_users(look)


def test_an_out_of_memory_kill_is_seen() -> None:
    with scene(limits=Limits(memory_bytes=96 * MIB)) as at:
        samples = sampler(at)
        before = samples.sample()
        python(at.box, "b = []\nwhile True: b.append(bytearray(1 << 20))")
        until(lambda: "oom" in [alert.code for alert in alerts(before, samples.sample(), LIMITS)])


def test_a_closed_sandbox_has_no_samples() -> None:
    with scene() as at:
        samples = sampler(at)
        at.box.close()
        with pytest.raises(InfrastructureFault, match="closed"):
            samples.sample()


def test_an_alert_is_plain_data() -> None:
    assert Alert("wall", "alert") == Alert("wall", "alert", {}, "")
