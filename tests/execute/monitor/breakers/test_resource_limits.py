"""Resources: what a sample says of the agent ends a run, what it says of acceptance is only told."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.breakers.resource_limits import Cpu, Gauge, OutOfMemory, Processes


def gauge_trip(value: int, seq: int, phase: str = "agent", judging: bool = False) -> Trip:
    return Trip(
        "disk",
        "disk-cap",
        "none" if judging else "kill",
        "notice" if judging else "alert",
        f"disk_bytes is {value}; 100 are allowed, a policy choice",
        (seq,),
        {"disk_bytes": value, "cap": 100, "phase": phase},
    )


@pytest.fixture
def disk(alone: Any) -> Any:
    return alone(lambda facts: Gauge(facts, "disk", "disk_bytes", 100))


def test_a_gauge_ends_the_run_once(disk: Any) -> None:
    assert disk.sample(disk_bytes=100).sample(memory_bytes=999).new() == []
    assert disk.sample(disk_bytes=101).new() == [gauge_trip(101, 4)]
    assert disk.sample(disk_bytes=102).new() == []


def test_the_same_is_told_once_more_of_acceptance_and_nothing_is_done(disk: Any) -> None:
    disk.sample(disk_bytes=101)
    seq = len(disk.finish().events)
    disk.new()
    assert disk.sample(disk_bytes=200, phase="acceptance").new() == [gauge_trip(200, seq, "acceptance", True)]
    assert disk.sample(disk_bytes=300, phase="acceptance").new() == []


def test_a_sample_that_names_no_phase_is_the_agents_while_it_runs(disk: Any) -> None:
    assert disk.sample(disk_bytes=101, phase="").new() == [gauge_trip(101, 2, "")]
    disk.finish()
    assert disk.sample(disk_bytes=101, phase="").new()[0].action == "none"


def test_a_sample_of_the_agent_that_is_late_is_still_the_agents(disk: Any) -> None:
    assert disk.finish().sample(disk_bytes=101, phase="agent").new()[0].action == "kill"
    assert disk.sample(disk_bytes=101, phase="acceptance").new()[0].action == "none"


def test_only_samples_are_read(alone: Any) -> None:
    for make in (
        lambda facts: Gauge(facts, "disk", "disk_bytes", 1),
        lambda facts: Cpu(facts, 1),
        lambda facts: Processes(facts, 1, 1),
        lambda facts: OutOfMemory(facts, (1, 5)),
    ):
        story = alone(make)
        story.add("model.usage", phase="agent", disk_bytes=9, cpu_seconds="9", processes=9, oom_kills=9)
        assert story.new() == []


def test_cpu_time_is_the_agents_own(alone: Any) -> None:
    story = alone(lambda facts: Cpu(facts, 10))
    assert story.sample(cpu_seconds="9.999").sample(cpu_seconds="99", phase="acceptance").sample().new() == []
    assert story.sample(cpu_seconds="10.000").new() == [
        Trip(
            "cpu",
            "cpu-cap",
            "kill",
            "alert",
            "the agent has used 10 s of CPU time; 10 s are allowed, a policy choice",
            (5,),
            {"cpu_seconds": "10", "cap": 10},
        )
    ]
    assert story.sample(cpu_seconds="11").new() == []


def process_trip(value: int, evidence: tuple[int, ...]) -> Trip:
    return Trip(
        "processes",
        "process-cap",
        "kill",
        "alert",
        f"{value} processes in {len(evidence)} samples in a row; 8 are allowed, a policy choice",
        evidence,
        {"processes": value, "cap": 8, "samples": len(evidence)},
    )


@pytest.fixture
def processes(alone: Any) -> Any:
    return alone(lambda facts: Processes(facts, 8, 3))


def test_staying_at_the_cap_ends_the_run_once(processes: Any) -> None:
    assert processes.sample(processes=8).sample(processes=8).new() == []
    assert processes.sample(processes=8).new() == [process_trip(8, (2, 3, 4))]
    assert processes.sample(processes=99).new() == []


@pytest.mark.parametrize("between", [{"processes": 7}, {}])
def test_a_row_is_broken_by_fewer_or_by_a_sample_that_does_not_tell(processes: Any, between: dict[str, int]) -> None:
    processes.sample(processes=8).sample(processes=8).sample(**between).sample(processes=8)
    assert processes.new() == []
    assert processes.sample(processes=8).sample(processes=8).new() == [process_trip(8, (5, 6, 7))]


def test_more_than_the_kernel_should_let_needs_no_row(processes: Any) -> None:
    assert processes.sample(processes=9).new() == [process_trip(9, (2,))]


def test_processes_of_acceptance_are_not_counted(processes: Any) -> None:
    for _ in range(5):
        processes.sample(processes=9, phase="acceptance")
    assert processes.new() == []


def memory_trip(kills: int, threshold: int, seq: int, action: str = "none", phase: str = "agent") -> Trip:
    return Trip(
        "oom",
        "out-of-memory",
        action,
        "notice" if action == "none" else "alert",
        f"the kernel has ended {kills} processes for want of memory",
        (seq,),
        {"oom_kills": kills, "threshold": threshold, "phase": phase},
    )


@pytest.fixture
def oom(alone: Any) -> Any:
    return alone(lambda facts: OutOfMemory(facts, (2, 5)))


def test_the_first_kills_are_told_and_many_end_the_run(oom: Any) -> None:
    assert oom.sample(oom_kills=0).sample().sample(oom_kills=1).new() == []
    assert oom.sample(oom_kills=2).new() == [memory_trip(2, 2, 5)]
    assert oom.sample(oom_kills=4).new() == []
    seq = len(oom.events)
    assert oom.sample(oom_kills=5).new() == [memory_trip(5, 5, seq, "kill")]


def test_kills_in_acceptance_never_end_anything(oom: Any) -> None:
    oom.finish()
    assert oom.sample(oom_kills=1, phase="acceptance").new() == []
    assert oom.sample(oom_kills=1 << 61, phase="acceptance").new() == [
        memory_trip(1 << 61, 2, 4, phase="acceptance"),
    ]
    assert oom.sample(oom_kills=2, phase="agent").new()[0].action == "none"


def test_a_sample_that_names_no_phase_counts_for_every_resource(alone: Any) -> None:
    values: dict[str, Any] = {"cpu_seconds": "9", "processes": 9, "oom_kills": 9, "phase": ""}
    for make in (
        lambda facts: Cpu(facts, 1),
        lambda facts: Processes(facts, 1, 1),
        lambda facts: OutOfMemory(facts, (1, 5)),
    ):
        assert [trip.action for trip in alone(make).sample(**values).new()] == ["kill"]
        later = alone(make).finish().sample(**values).new()
        assert [trip.action for trip in later] in ([], ["none"])
