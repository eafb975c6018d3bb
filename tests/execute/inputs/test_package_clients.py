"""What clients see of the harness's environment, how often they are tried, and what is told when they fail."""

from __future__ import annotations

import pytest

from proctor.execute.inputs.interface import DigestMismatch, NoSuchInput, Unreachable
from proctor.execute.inputs.package_clients import (
    MESSAGE_CHARACTERS,
    client_environment,
    last_words,
    unreachable,
    with_retries,
)


def test_settings_of_the_machine_reach_clients_and_steering_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://mirror.example/simple")
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PYTEST_ADDOPTS"):
        monkeypatch.setenv(name, "/elsewhere")
    seen = client_environment()
    assert seen["HTTPS_PROXY"] == "http://proxy.example:1"
    assert seen["PIP_INDEX_URL"] == "http://mirror.example/simple"
    assert "/elsewhere" not in seen.values()


def test_no_home_is_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    assert "HOME" not in client_environment()


class Flaky:
    """Fails a number of times before it works."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures = failures
        self.error = error
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return "done"


def test_what_is_out_of_reach_is_tried_three_times() -> None:
    patient = Flaky(2, Unreachable("away"))
    assert with_retries(patient) == "done"
    hopeless = Flaky(9, Unreachable("away"))
    with pytest.raises(Unreachable):
        with_retries(hopeless)
    assert (patient.calls, hopeless.calls) == (3, 3)


def test_a_release_that_one_server_of_a_registry_does_not_know_is_asked_for_again() -> None:
    known_elsewhere = Flaky(1, NoSuchInput("gone"))
    assert with_retries(known_elsewhere) == "done"
    unknown = Flaky(9, NoSuchInput("gone"))
    with pytest.raises(NoSuchInput):
        with_retries(unknown)
    assert (known_elsewhere.calls, unknown.calls) == (2, 2)


def test_other_bytes_are_not_asked_for_again() -> None:
    action = Flaky(9, DigestMismatch("other bytes"))
    with pytest.raises(DigestMismatch):
        with_retries(action)
    assert action.calls == 1


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", ""),
        (b"reading\nERROR: no route\nhint: try later\n", "ERROR: no route"),
        (b"\x1b[31mE: Unable to connect\x1b[0m\n", "E: Unable to connect"),
        (b"just\nwords\n", "words"),
        (b"Traceback\nrequests.ConnectionError: refused", "requests.ConnectionError: refused"),
        (b"error: \xff\x00bell\x07", "error: \N{REPLACEMENT CHARACTER}bell"),
    ],
)
def test_the_telling_line_is_told(output: bytes, words: str) -> None:
    assert last_words(output) == words


def test_a_message_stays_short() -> None:
    message = unreachable("plant==1.0", "pip", b"error: " + b"x" * 100_000)
    assert len(message.message) < MESSAGE_CHARACTERS + 100
    assert message.exit_code == 3
