"""Secrets among the arguments of a program, and arguments that only look like them."""

from __future__ import annotations

import pytest

from proctor.record.secrets_in_arguments import find_arguments

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
    (["openssl", "enc", "-aes-256-cbc", "-k", "two words", "-in", "x"], ["two words"]),
    (["openssl", "aes-256-cbc", "-K", "0f" * 16, "-iv", "00" * 16, "-pass", "pass:it's"], ["0f" * 16, "it's"]),
    (["htpasswd", "-b", "/etc/users", "jo", "two words"], ["two words"]),
    (["htpasswd", "-bc", "-C", "12", "/etc/users", "jo", "word"], ["word"]),
    (["/usr/bin/htpasswd", "-nbB", "jo", "word"], ["word"]),
    (["gh", "secret", "set", "NAME", "--body", "two words", "-R", "a/b"], ["two words"]),
    (["gh", "secret", "set", "NAME", "--body=word"], ["word"]),
    (["gh", "-R", "a/b", "secret", "set", "NAME", "-b", "word"], ["word"]),
    (["gh", "secret", "set", "NAME", "-bword"], ["word"]),
    (["curl", "-H", "Authorization: Bearer two words", "x"], ["two words"]),
    (["curl", "-H", "authorization: word", "-H", "X-Api-Key: more"], ["word", "more"]),
    (["curl", "-HPRIVATE-TOKEN: word", "--header=Proxy-Authorization: Basic am86"], ["word", "am86"]),
    (["wget", "--header", "Ocp-Apim-Subscription-Key: word"], ["word"]),
    (["sudo", "-u", "jo", "mysql", "-uroot", "-pword"], ["word"]),
    (["docker", "run", "-p3306:3306", "--name", "mysql", "mysql:8", "mysqld", "-pword"], ["word"]),
    (["env", "A=b", "timeout", "5", "redis-cli", "-a", "word"], ["word"]),
    (["sudo", "docker", "login", "-p", "word"], ["word"]),
    (["sudo", "htpasswd", "-b", "users", "jo", "word"], ["word"]),
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
    ["openssl", "req", "-key", "key.pem", "-kfile", "word"],
    ["openssl", "enc", "-k", "$PASS"],
    ["openssl", "enc", "-pass", "env:PASS"],
    ["curl", "-k", "https://x.example"],
    ["htpasswd", "-c", "/etc/users", "jo"],
    ["htpasswd", "-b", "/etc/users", "jo"],
    ["htpasswd", "-D", "/etc/users", "jo"],
    ["htpasswd", "-nbB", "jo", "$PASS"],
    ["gh", "secret", "set", "NAME", "--body", "$VALUE"],
    ["gh", "issue", "create", "--title", "a secret", "--body", "words"],
    ["gh", "pr", "create", "-b", "set the secret"],
    ["curl", "-H", "Accept: text/html", "-H", "Idempotency-Key: abcdef"],
    ["curl", "-H", "Authorization: Bearer $TOKEN", "-H", "Authorization: Bearer"],
    ["curl", "-H", "Authorization: Bearer ${{ secrets.TOKEN }}"],
    ["Authorization: it says who asks", "-H"],
    ["docker", "run", "--name", "mysql", "-p3306:3306", "-p", "127.0.0.1:80:80", "mysql:8"],
    ["sudo", "mysqld", "--port", "3306"],
    ["nice", "make", "-pword"],
    ["make", "mysql", "-pword"],
    [],
]


@pytest.mark.parametrize(("words", "secrets"), SECRETS)
def test_a_secret_is_known_by_its_option(words: list[str], secrets: list[str]) -> None:
    assert [words[one.number][one.start : one.end] for one in find_arguments(words)] == secrets


def test_many_programs_among_arguments_take_no_time() -> None:
    assert list(find_arguments(["sudo", *("docker", "gh") * 100_000])) == []


@pytest.mark.parametrize("words", PLAIN)
def test_other_arguments_are_left_alone(words: list[str]) -> None:
    assert list(find_arguments(words)) == []
