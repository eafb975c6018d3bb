"""What is taken out of texts as a secret, what is not, and that nothing else quotes what is hidden."""

from __future__ import annotations

import time
from typing import Any

import pytest

from proctor.record.secrets import spans_in_text
from tests.execute.gateway.conftest import PATHS, MakeRig, body_of

SECRET = [
    "sk-proj-0123456789abcdefXYZ",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Bearer abcdef0123456789",
    'password = "correct-horse"',
    "API_KEY=abcd1234",
    "jane.doe@example.org",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
]
PLAIN = ["def add(a, b):\n    return a + b", "the password is asked for", "a basic test", "sk-learn", "x @ y", "git@"]


def found(text: str) -> bool:
    return bool(spans_in_text(text))


@pytest.mark.parametrize("text", SECRET)
def test_secrets_are_found(text: str) -> None:
    assert found(f"before {text} after")


@pytest.mark.parametrize("text", PLAIN)
def test_plain_words_are_not(text: str) -> None:
    assert not found(text)


@pytest.mark.parametrize("part", ["a", "-----BEGIN PRIVATE KEY-----", "eyJ", "a.b", "x:"])
def test_no_text_takes_long_to_read(part: str) -> None:
    before = time.process_time()
    found(part * (100_000 // len(part)))
    assert time.process_time() - before < 20


@pytest.mark.parametrize("redact", ["all", "spans"])
def test_errors_and_refusals_quote_nothing_that_is_hidden(make_rig: MakeRig, redact: str) -> None:
    more: dict[str, Any] = {"redact": redact, "redaction_key": b"0123456789abcdef", "secrets": (r"hunter\d",)}
    refusing = "  - {when: {text: please}, say: 'I cannot help with that hunter2 thing.'}\n"
    rig = make_rig(refusing + "  - {error: {status: 500, message: 'what is hunter2?'}}\n", **more)
    assert rig.post(PATHS["chat"], body_of("chat", "please"))[0] == 200
    assert rig.post(PATHS["chat"], body_of("chat", "hello"))[0] == 500
    summary = rig.stop()
    (refusal,) = [one["refusal"] for one in rig.of("model.response")]
    assert refusal["by"] == "phrase" and len(rig.wait("model.error")) == 1
    told = repr(rig.events) + repr(rig.blobs) + repr(summary)
    assert "hunter2" not in told and (redact == "spans") == ("I cannot help" in told)
