"""Secrets that are known by where they stand in structured data, and what only looks like a digest or a placeholder."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from proctor.record.redact import Redactor, name_of

KEY = b"k" * 32
TOKEN = "ghp_" + "Ab3" * 12
OTHER = "glpat-" + "xY7" * 7
PLAIN = "correcthorse"
MIXED = "Zx81kP02LmQ9"
COMMIT = "3f786850e387550fdab836ed7e6dc881de23001b"
DIGEST = sha256(b"anything").hexdigest()
UUID = "123e4567-e89b-12d3-a456-426614174000"


def make() -> Redactor:
    return Redactor(KEY, lambda name, kind, secret: None)


HIDDEN: dict[str, tuple[Any, str]] = {
    "a token called sha256": ({"sha256": TOKEN}, TOKEN),
    "a password called sha256": ({"sha256": f"password={MIXED}"}, MIXED),
    "a token called digest": ({"digest": TOKEN}, TOKEN),
    "a list of passwords": ({"password": [PLAIN, MIXED]}, PLAIN),
    "a list of secrets": ({"secrets": [PLAIN]}, PLAIN),
    "a map of secrets": ({"secrets": {"db": PLAIN}}, PLAIN),
    "lists in lists": ({"api_keys": [[PLAIN]]}, PLAIN),
    "a variable and its value": ({"env": [["DB_PASSWORD", PLAIN], ["A", "b"]]}, PLAIN),
    "a login": ({"argv": ["docker", "login", "-u", "jo", "-p", PLAIN]}, PLAIN),
    "a key of openssl": ({"argv": ["openssl", "rsa", "-passin", f"pass:{PLAIN}"]}, PLAIN),
    "a name and a value": ({"name": "DB_PASSWORD", "value": PLAIN}, PLAIN),
    "a key and a value": ({"key": "DB_PASSWORD", "value": PLAIN}, PLAIN),
    "the value first": ({"value": PLAIN, "name": "DB_PASSWORD"}, PLAIN),
    "a large name and value": ({"Name": "DbPassword", "Value": PLAIN}, PLAIN),
    "a named token": ({"name": "DEPLOY_TOKEN", "value": MIXED * 2}, MIXED),
    "a pair": ({"headers": [["Authorization", f"Token {MIXED}"]]}, MIXED),
    "an argument": ({"argv": ["tool", "--api-key", MIXED]}, MIXED),
    "an argument with spaces": ({"argv": ["tool", "--db-password", "two words"]}, "two words"),
    "an argument with its option": (["tool", "--password=two words"], "two words"),
    "a user": (["curl", "-u", "jo:two words"], "two words"),
    "a password of mysql": (["mysql", "-uroot", f"-p{PLAIN}"], PLAIN),
    "a command in an argument": (["sh", "-c", f"tool --db-password {PLAIN}"], PLAIN),
    "two arguments": (["--password", "two words"], "two words"),
    "a variable in a list": (["A=1", f"DB_PASSWORD={PLAIN}"], PLAIN),
    "a variable": ({"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"}, "wJalr"),
    "a token of a forge": ({"GH_TOKEN": COMMIT}, COMMIT),
    "a header": ({"authorization": MIXED * 2}, MIXED),
    "a cookie": ({"Cookie": f"a=1; sid={MIXED}{MIXED}"}, MIXED),
    "a name in humps": ({"dbPassword": PLAIN}, PLAIN),
    "a key in humps": ({"openaiApiKey": PLAIN}, PLAIN),
    "a digest called password": ({"password": DIGEST}, DIGEST),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_a_secret_is_known_by_where_it_stands(what: str) -> None:
    value, secret = HIDDEN[what]
    redactor = make()
    clean = redactor.value(value)
    assert secret not in json.dumps(clean)
    assert redactor.value(clean) == clean


SHOWN: list[Any] = [
    {"sha256": DIGEST},
    {"digest": DIGEST},
    {"commit": COMMIT, "id": UUID},
    {"key": DIGEST, "cache_key": DIGEST},
    {"PWD": "/srv/x-1", "OLDPWD": "/opt/y-2"},
    {"name": "greeting", "value": "hello 12345"},
    {"argv": ["docker", "run", "-u", "1000:1000"]},
    {"argv": ["sort", "--key", "2"]},
    {"argv": ["tool", "--token", "$TOKEN"]},
    {"tokens": 5, "token": "input", "secrets": 0},
    {"key_env": "OPENAI_API_KEY"},
    {"author": "Jo Doe", "authored": "2026-01-01"},
    {"fields": ["password", "username"], "files": ["a/password", "b/names"]},
    {"passed": ["tests/test_a.py::test_b[param1-2]"]},
    {"keys": [["exec", "/usr/bin/x1", "a"]]},
]


@pytest.mark.parametrize("value", SHOWN)
def test_evidence_that_is_no_secret_stays(value: Any) -> None:
    assert make().value(value) == value


def test_a_digest_that_was_seen_as_a_secret_becomes_a_keyed_one() -> None:
    redactor = make()
    redactor.value({"api_key": DIGEST})
    clean = redactor.value({"sha256": DIGEST})
    assert clean == {"sha256": name_of(KEY, DIGEST.encode())}
    of_a_file = {"sha256": DIGEST, "mode": "100644", "bytes": 8}
    assert redactor.value(of_a_file) == of_a_file


def test_the_digest_beside_arguments_that_were_redacted_becomes_a_keyed_one() -> None:
    clean = make().value({"command": ["tool", "--api-key", MIXED], "digest": DIGEST})
    assert clean["digest"] == name_of(KEY, DIGEST.encode())
    assert make().value({"command": ["tool", "-v"], "digest": DIGEST})["digest"] == DIGEST


@pytest.mark.parametrize(
    "text",
    [
        "password=#" + MIXED,
        f"password={MIXED}#",
        "#" + OTHER,
        f"x={OTHER}#",
        f"password='# {PLAIN}'",
        f"x://u:#{MIXED}@h",
    ],
)
def test_a_secret_that_touches_a_placeholder_is_hidden_and_the_placeholder_stays(text: str) -> None:
    redactor = make()
    first = redactor.text(TOKEN)
    clean = redactor.text(text.replace("#", first))
    assert clean.count("[secret:") == 2 and first in clean
    assert not [secret for secret in (MIXED, OTHER, PLAIN) if secret in clean]
    assert redactor.text(clean) == clean


def test_a_placeholder_of_a_record_of_the_same_home_is_taken_over() -> None:
    words = make().text(f"tool --api-key {MIXED}")
    redactor = make()
    assert redactor.take_over(words) and not redactor.take_over("tool --api-key x")
    assert redactor.text(words) == words
    assert make().text(words) != words
