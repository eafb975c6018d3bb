"""Secrets among the arguments of a program, and arguments that only look like them."""

from __future__ import annotations

import pytest

from proctor.record.arguments import find_arguments

SECRETS: list[tuple[list[str], list[str]]] = [
    (["tool", "--api-key", "abcd"], ["abcd"]),
    (["tool", "--db-password", "two words", "-v"], ["two words"]),
    (["tool", "--password=it's one", "--Client_Secret", "x y z"], ["it's one", "x y z"]),
    (["curl", "-u", "jo:a b:c", "https://x.example"], ["a b:c"]),
    (["curl", "--user", "jo:word"], ["word"]),
    (["/usr/bin/mysql", "-u", "root", "-pword"], ["word"]),
    (["mariadb-dump", "-pword", "app"], ["word"]),
    (["sshpass", "-p", "word", "ssh", "-p", "2222", "host"], ["word"]),
    (["sshpass", "-pword", "ssh"], ["word"]),
    (["redis-cli", "-a", "word"], ["word"]),
    (["docker", "login", "-u", "jo", "-p", "word", "hub.example"], ["word"]),
    (["mongosh", "-u", "jo", "-p", "word"], ["word"]),
    (["ssh-keygen", "-t", "rsa", "-N", "two words"], ["two words"]),
    (["unzip", "-P", "word", "a.zip"], ["word"]),
    (["7z", "a", "-pword", "a.7z"], ["word"]),
    (["openssl", "rsa", "-passin", "pass:word", "-passout", "pass:more"], ["word", "more"]),
    (["keytool", "-storepass", "word"], ["word"]),
]

PLAIN = [
    ["docker", "run", "-u", "1000:1000", "image"],
    ["sort", "--key", "2"],
    ["tool", "--token", "$TOKEN"],
    ["tool", "--password", "--verbose"],
    ["tool", "--access-token", "/run/secrets/token"],
    ["tool", "--token-file", "token.txt"],
    ["tool", "--max-token", "4096"],
    ["python3", "-pdb"],
    ["mysql", "-P", "3306"],
    ["tool", "--password"],
    ["docker", "run", "-p", "8080:80", "image"],
    ["openssl", "rsa", "-passin", "file:key.txt"],
    ["openssl", "rsa", "-passin", "env:PASSWORD"],
    ["ssh-keygen", "-N", ""],
    [],
]


@pytest.mark.parametrize(("words", "secrets"), SECRETS)
def test_a_secret_is_known_by_its_option(words: list[str], secrets: list[str]) -> None:
    assert [words[one.number][one.start : one.end] for one in find_arguments(words)] == secrets


@pytest.mark.parametrize("words", PLAIN)
def test_other_arguments_are_left_alone(words: list[str]) -> None:
    assert list(find_arguments(words)) == []
