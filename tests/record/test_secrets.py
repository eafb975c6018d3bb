"""Which secrets are found, what plain text is left alone, and that nothing takes long."""

from __future__ import annotations

import json
import time

import pytest

from proctor.base.reversible_escapes import name_text
from proctor.record.redact import Redactor
from proctor.record.secrets import BLOCK_BYTES, usual_rules
from tests.record.planted import SHAPES, TEXTS, planted

PLAIN = [
    "def add(a, b):\n    return a + b",
    "the password is asked for",
    "password = get_password(user)",
    "connect(password=password, token=token)",
    "a basic test of authorization",
    "sk-learn and task-runner-configuration-defaults",
    "key = base64.urlsafe_b64decode(padded)",
    "sorted(rows, key=lambda row: row.identifier)",
    "d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "https://example.org:8080/path?page=2",
    "git@example.org:team/repository.git",
    "x @ y",
]


def redactor() -> Redactor:
    return Redactor(b"k" * 32, lambda name, kind, secret: None)


def test_every_rule_is_planted() -> None:
    kinds = {rule.kind for rule in usual_rules().all}
    assert kinds - {*SHAPES, *TEXTS, "jwt"} == {"putty-key", "email"}
    assert len(kinds) >= 40


@pytest.mark.parametrize("wrap", ["{}", "+    x = '{}'\n", 'out: "{}",', "é{}é", "({})", "a/{}/b.txt"])
def test_planted_secrets_are_found_wherever_they_stand(wrap: str) -> None:
    missed = []
    for kind, secret, text in planted(3):
        clean = redactor().text(wrap.replace("{}", text))
        if secret in clean or f"[secret:{kind}:" not in clean:
            missed.append((kind, text, clean))
    assert missed == []


def test_secrets_are_found_in_json_inside_of_json_and_in_escaped_output() -> None:
    missed = []
    for kind, secret, text in planted(2):
        for form in (json.dumps(json.dumps(text)), json.dumps(text), name_text(text.encode())):
            if secret in redactor().text(form):
                missed.append((kind, form))
    assert missed == []


def test_tokens_are_found_in_file_names() -> None:
    missed = [
        kind for kind, secret, _ in planted(3) if kind in SHAPES and secret in redactor().text(f"src/{secret}.py")
    ]
    assert missed == []


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_is_left_alone(text: str) -> None:
    assert redactor().text(text) == text


def test_addresses_of_people_are_hidden_in_conversations_alone() -> None:
    text = b"write to jane.doe@example.org today"
    assert usual_rules().find(text) == []
    (found,) = usual_rules().find(text, talk=True)
    assert text[found.start : found.end] == b"jane.doe@example.org"


def test_secrets_across_the_blocks_of_a_large_text_are_found() -> None:
    secrets = [secret for kind, secret, _ in planted(1) if kind in SHAPES]
    for shift in (0, 3, 9):
        filler = b"some plain words \n" * (BLOCK_BYTES // 18 + 1)
        for secret in secrets[:12]:
            data = filler[: BLOCK_BYTES - shift] + b" password='" + secret.encode() + b"'\n" + filler
            assert secret.encode() not in redactor().data(data)


def test_a_key_in_a_hunk_keeps_its_lines() -> None:
    body = [f"+{'MIIEv' * 12}{number}" for number in range(5)]
    hunk = "\n".join(["+-----BEGIN RSA PRIVATE KEY-----", *body, "+-----END RSA PRIVATE KEY-----", "+x = 1", ""])
    clean = redactor().text(hunk)
    assert clean.count("\n") == hunk.count("\n") and "MIIEv" not in clean
    assert all(line.startswith("+") for line in clean.splitlines())
    assert clean.endswith("+-----END RSA PRIVATE KEY-----\n+x = 1\n")


def test_a_second_key_behind_a_first_one_is_hidden() -> None:
    letters = "".join(f"{number:03}Ab" for number in range(640))
    lines = [letters[place : place + 64] for place in range(0, len(letters), 64)]
    key = ["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"]
    for wrapped in ("\n".join([*key, "and the other:", *key]), json.dumps(["\n".join(key), "\n".join(key)])):
        clean = redactor().text(wrapped)
        assert [line for line in lines if line in clean] == []
        assert clean.count("-----BEGIN RSA PRIVATE KEY-----") == 2


KEY_LINES = ("KakPDmd9CduNjAKAT0dBVSA2p3MVTD6H", "//Zq81xAAd9CduNjAKAT0dBVSA2p3MVT")
LISTED = {
    "key": ("\n".join(("-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----")), KEY_LINES),
    "name and value": ("- name: DB_PASSWORD\n  value: befowfdkpuil", ("befowfdkpuil",)),
    "name and token": ("- name: DEPLOY_TOKEN\n  value: ekjn4GVqLxlq", ("ekjn4GVqLxlq",)),
    "fields": ('{\n  "name": "DB_PASSWORD",\n  "value": "befowfdkpuil"\n}', ("befowfdkpuil",)),
    "block": ("password: |\n  befowfdkpuil", ("befowfdkpuil",)),
    "netrc": ("machine api.example\n  login jo\n  password befowfdkpuil", ("befowfdkpuil",)),
    "xml": ("<password>\n  befowfdkpuil\n</password>", ("befowfdkpuil",)),
    "arguments": ("args:\n  - --password\n  - befowfdkpuil", ("befowfdkpuil",)),
}
MARGINS = (
    *(
        "",
        "+",
        "-",
        "++",
        "    ",
        "\t",
        "> ",
        "< ",
        "> > ",
        "+> ",
        "# ",
        "// ",
        " * ",
        "  | ",
        "\N{BOX DRAWINGS LIGHT VERTICAL} ",
    ),
    *("{:6}\t", "{}:", "{}-", "{:4} | ", "{:6}\N{RIGHTWARDS ARROW}", "a/b.yml:{}:", "a/b.yml-{}-", "web_1  | "),
    *("^a1b2c3d (Jo Doe 2026-01-02 03:04:05 +0000 {}) ", "2026-01-02T03:04:05Z "),
)


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("margin", MARGINS)
def test_secrets_over_lines_are_found_behind_numbers_quotes_and_names(name: str, margin: str) -> None:
    text, secrets = LISTED[name]
    shown = "\n".join(margin.format(number) + line for number, line in enumerate(text.split("\n"), 1))
    once = json.dumps({"text": shown})
    for form in (shown, shown.replace("\n", "\r\n"), once, json.dumps({"text": once})):
        clean = redactor().text(f"x\n{form}\ny\n")
        assert [secret for secret in secrets if secret.strip("/") in clean] == [], clean


def test_the_numbers_of_a_listed_key_stay() -> None:
    key = LISTED["key"][0].split("\n")
    clean = redactor().text("".join(f"{number:6}\t{line}\n" for number, line in enumerate(key, 1)))
    assert [line[:7] for line in clean.splitlines()] == [f"{number:6}\t" for number in range(1, 5)]
    assert clean.count("[secret:private-key:32:") == 2 and "//" not in clean


def test_a_key_between_borders_is_hidden() -> None:
    clean = redactor().text("\n".join(f"| {line} |" for line in LISTED["key"][0].split("\n")))
    assert [line for line in KEY_LINES if line.strip("/") in clean] == []


@pytest.mark.parametrize("escaped", ["\\n", "\n", "\r\n", "\\x0a", "\\\\n"])
def test_a_key_is_found_in_escaped_text_and_without_its_end(escaped: str) -> None:
    text = escaped.join(["-----BEGIN EC PRIVATE KEY-----", "MHcCAQEEIIaBcDeF", "oAoGCCqGSM49"])
    clean = redactor().text(text)
    assert "MHcC" not in clean and "oAoG" not in clean and clean.count(escaped) == 2


@pytest.mark.parametrize(
    "part",
    [
        *("a", "-----BEGIN PRIVATE KEY-----", "eyJ", "a.b", "x:", "://", "password=", "key=", "$2", "@"),
        *("machine a login ", "_v1_", "-us", '"DB_PASSWORD"' + "\n" * 60 + "x ", "machine a" + "\n" * 12 + "x "),
        *("\\n--password ", "\\x1b[31mtoken=", "%3d--password "),
        *("htpasswd -b ", "htpasswd -nB -C 5 -b a ", "openssl enc -k", "gh secret set -b", "mysql -p", "sshpass "),
        *('htpasswd", "-b", "', 'sshpass\\", \\"'),
    ],
)
def test_no_text_takes_long_to_read(part: str) -> None:
    before = time.process_time()
    redactor().text(part * (100_000 // len(part)))
    assert time.process_time() - before < 20


def test_the_lines_of_a_putty_key_are_hidden() -> None:
    text = f"Private-Lines: 2\n{'AbC9' * 16}\n{'xYz/' * 8}\nPrivate-MAC: 0\n"
    clean = redactor().text(text)
    assert "AbC9" not in clean and "xYz/" not in clean and clean.endswith("\nPrivate-MAC: 0\n")
