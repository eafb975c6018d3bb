"""A watch on its own thread: it tells of samples until it is stopped or the sandbox is gone."""

from __future__ import annotations

import threading

from proctor.base.clock import SystemClock
from proctor.execute.monitor.sensors.resource_sampling import Alert, Ceilings, Sample, Sampler, SamplingThread
from tests.execute.monitor.sensors.scene import both_users, scene, until
from tests.execute.sandbox.workplace import shell


class Notes:
    """Keeps what a watch tells."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.alerts: list[Alert] = []

    def __call__(self, sample: Sample, found: tuple[Alert, ...]) -> None:
        self.samples.append(sample)
        self.alerts.extend(found)


def test_it_tells_until_it_is_stopped() -> None:
    def watch() -> None:
        notes = Notes()
        with scene() as at:
            samples = Sampler(at.box, at.workspace, SystemClock(), Ceilings(processes=2))
            with SamplingThread(samples, notes, 0.01) as watching:
                shell(at.box, "sleep 1000 >/dev/null 2>&1 & sleep 1000 >/dev/null 2>&1 &")
                until(lambda: [alert.code for alert in notes.alerts] == ["processes"])
                count = len(notes.samples)
                until(lambda: len(notes.samples) > count + 3)
            assert not watching.alive and watching.problem == ""
            told = len(notes.samples)
            assert watching.stop() == notes.samples[-1] and len(notes.samples) == told
        walls = [sample.wall_ns for sample in notes.samples]
        assert walls == sorted(walls)

    both_users(watch)


def test_it_survives_a_sandbox_that_is_closed_under_it() -> None:
    notes = Notes()
    with scene() as at:
        watching = SamplingThread(Sampler(at.box, at.workspace, SystemClock(), Ceilings()), notes, 0.01)
        until(lambda: len(notes.samples) > 2)
        at.box.close()
        until(lambda: not watching.alive)
        assert "closed" in watching.problem
        assert watching.stop() == notes.samples[-1]


def test_it_samples_a_frozen_sandbox() -> None:
    notes = Notes()
    with scene() as at, SamplingThread(Sampler(at.box, at.workspace, SystemClock(), Ceilings()), notes, 0.01):
        at.box.freeze()
        count = len(notes.samples)
        until(lambda: len(notes.samples) > count + 2)
        at.box.thaw()


def test_it_may_be_stopped_from_what_it_tells() -> None:
    stopped = threading.Event()
    with scene() as at:
        holder: list[SamplingThread] = []
        ready = threading.Event()

        def tell(sample: Sample, found: tuple[Alert, ...]) -> None:
            assert ready.wait(60)
            holder[0].stop()
            stopped.set()

        holder.append(SamplingThread(Sampler(at.box, at.workspace, SystemClock(), Ceilings()), tell, 0.01))
        ready.set()
        assert stopped.wait(60)
        until(lambda: not holder[0].alive)


def test_it_says_when_it_ends_by_itself() -> None:
    lost: list[str] = []

    def fail(sample: Sample, found: tuple[Alert, ...]) -> None:
        raise OSError("no room to tell it")

    with scene() as at:
        samples = Sampler(at.box, at.workspace, SystemClock(), Ceilings())
        with SamplingThread(samples, fail, 0.01, lost.append) as watching:
            until(lambda: not watching.alive)
    assert lost == ["no room to tell it"] == [watching.problem]
