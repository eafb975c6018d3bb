"""Secrets in base64 and behind escapes are found where they stand, and nothing that spells them is left."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.reversible_escapes import name_text
from proctor.record.encoded_secrets import views_of
from proctor.record.redact import Redactor
from tests.record.planted import planted

SECRETS = planted(2)
PLACEHOLDER = re.compile(r"\[secret:[^\]]*\]")
Spelling = Callable[[bytes], str]


def make() -> Redactor:
    return Redactor(b"k" * 32, lambda name, kind, secret: None)


def wrapped(width: int, glue: str = "\n", first: str = "") -> Spelling:
    def spell(data: bytes) -> str:
        text = base64.b64encode(data).decode()
        return first + glue.join(text[start : start + width] for start in range(0, len(text), width)) + "\n"

    return spell


SPELLINGS: dict[str, Spelling] = {
    "plain": lambda data: base64.b64encode(data).decode(),
    "for URLs": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
    "inside a line": lambda data: f"data: {base64.b64encode(data).decode()}; more",
    "wrapped": wrapped(76),
    "wrapped short": wrapped(64, "\r\n"),
    "wrapped and indented": wrapped(60, "\n    ", "    "),
    "in a hunk": wrapped(76, "\n+", "+"),
    "in a hunk behind a name": wrapped(76, "\n+", "+value: "),
    "wrapped in a string": wrapped(64, "\\n", '"'),
    "wrapped in a recorded output": lambda data: name_text(wrapped(76)(data).encode()),
    "as literals": wrapped(72, '"\n    "', 'key = (\n    "'),
    "behind another letter": lambda data: "x" + base64.b64encode(data).decode(),
    "behind two other letters": lambda data: "v1" + base64.urlsafe_b64encode(data).decode(),
    "with text around it": lambda data: base64.b64encode(
        b"some words and then " + data + b" and more of them"
    ).decode(),
}


def read_again(text: str) -> bytes:
    """Everything that the letters of base64 in ``text`` spell, wherever a group may begin."""
    rest = PLACEHOLDER.sub("\n", text).replace("-", "+").replace("_", "/")
    rest = re.sub(r"(?:\\+(?:x0[ad]|n|r))|[\r\n\"' ]|(?m:^\+)", "", rest)
    found = []
    for run in re.findall(r"[A-Za-z0-9+/]{8,}", rest):
        for shift in range(4):
            part = run[shift:]
            found.append(binascii.a2b_base64(part[: len(part) // 4 * 4]))
    return b"\n".join(found)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_planted_secret_is_left_in_base64(spelling: str) -> None:
    missed = []
    for kind, secret, text in SECRETS:
        clean = make().text(SPELLINGS[spelling](text.encode()))
        core = secret.split("\n")[0].encode()[3:-3]
        if "[secret:" not in clean or core in read_again(clean):
            missed.append(kind)
    assert missed == []


@pytest.mark.parametrize("inner", ["plain", "for URLs", "wrapped", "with text around it"])
@pytest.mark.parametrize("outer", ["plain", "for URLs", "wrapped short", "in a hunk", "wrapped in a string"])
def test_no_planted_secret_is_left_in_base64_of_base64(outer: str, inner: str) -> None:
    missed = []
    for kind, secret, text in SECRETS:
        written = SPELLINGS[outer](SPELLINGS[inner](text.encode()).encode())
        redactor = make()
        clean = redactor.text(written)
        core = secret.split("\n")[0].encode()[3:-3]
        if "[secret:" not in clean or core in read_again(read_again(clean).decode("latin-1")):
            missed.append(kind)
        assert redactor.text(clean) == clean and clean.count("\n") == written.count("\n")
    assert missed == []


def test_lines_stay_lines_and_the_words_around_stay() -> None:
    token = "ghp_" + "Ab3" * 12
    text = wrapped(20, "\n+", "+")(f"first words, then {token}, then others that are no secret at all".encode())
    clean = make().text(text)
    assert clean.count("\n") == text.count("\n") and clean.count("[secret:github-token:") >= 3
    assert clean.startswith(text[:20]) and clean.endswith(text[-20:])


ESCAPED: dict[str, Spelling] = {
    "a string": lambda data: json.dumps({"log": data.decode()}),
    "a string in a string": lambda data: json.dumps({"log": json.dumps({"inner": data.decode()})}),
    "escaped slashes": lambda data: json.dumps({"log": data.decode()}).replace("/", "\\/"),
    "escaped signs": lambda data: "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in data.decode()),
    "every character": lambda data: "".join(f"\\u{byte:04x}" for byte in data),
}


@pytest.mark.parametrize("spelling", ESCAPED)
def test_no_planted_secret_is_left_behind_escapes(spelling: str) -> None:
    missed = []
    for kind, secret, text in SECRETS:
        written = ESCAPED[spelling](text.encode())
        clean = make().text(written)
        plain = re.sub(r"\\+u00(..)", lambda found: chr(int(found[1], 16)), PLACEHOLDER.sub("", clean))
        if "[secret:" not in clean or secret.split("\n")[0][3:-3] in plain.replace("\\/", "/"):
            missed.append(kind)
    assert missed == []


def test_a_password_with_escapes_inside_is_hidden_whole() -> None:
    for password in ('hun"ter\\2!', "s/l/a/s/h1", 'x\\"y\\"z0'):
        for text in (
            json.dumps({"password": password}),
            json.dumps(json.dumps({"a": 1, "password": password, "b": 2})),
        ):
            clean = PLACEHOLDER.sub("#", make().text(text.replace("/", "\\/")))
            assert clean in (json.dumps({"password": "#"}), json.dumps(json.dumps({"a": 1, "password": "#", "b": 2})))


def test_ordinary_code_has_few_views() -> None:
    code = "def a_very_long_name_of_a_function(self, another_argument):\n    return re.compile(r'\\d+\\.\\w')\n"
    assert list(views_of(code.encode() * 50)) == []


@pytest.mark.parametrize("width", [76, 10**9])
def test_a_secret_far_inside_a_long_text_is_found(width: int) -> None:
    token = "ghp_" + "Ab3" * 12
    for before in (200_000, 49_130, 48_990):
        data = b"some words " * (before // 11) + token.encode() + b" more words" * 20_000
        assert make().text(wrapped(width)(data)).count("[secret:github-token:") in (1, 2)


def test_a_picture_stays_as_it_is() -> None:
    noise = bytes((number * 197 + number**2 * 31) % 256 for number in range(20_000))
    text = base64.b64encode(noise).decode()
    assert make().text(text) == text


@given(st.binary(max_size=80), st.sampled_from(SECRETS), st.binary(max_size=40), st.integers(17, 90))
def test_redacting_twice_changes_nothing(
    before: bytes, planted: tuple[str, str, str], after: bytes, width: int
) -> None:
    redactor = make()
    text = wrapped(width)(before + b"\n" + planted[2].encode() + b"\n" + after)
    once = redactor.text(text)
    assert redactor.text(once) == once and once.count("\n") == text.count("\n")


@given(
    st.lists(st.sampled_from(['\\"', "\\/", "\\u0041", "\\\\", "\\n", "a1", '"', "password", ":", "=", " "])).map(
        "".join
    )
)
def test_places_of_a_view_are_in_order_and_inside(text: str) -> None:
    data = text.encode()
    for view in views_of(data):
        places = [view.pieces(at, at + 1)[0] for at in range(len(view.text))]
        assert places == sorted(places) and all(0 <= start < end <= view.end <= len(data) for start, end in places)


TOKENS = {
    "gitlab": "glpat-Abcdefghij0123456789",
    "github": "ghp_Abcdefghij0123456789Abcdefghij012345",
    "aws": "AKIAQ3EGRT7WJ2KXP5ND",
    "npm": "npm_Abcdefghij0123456789Abcdefghij012345",
}
BEFORE = [
    "\\n",
    "\\t",
    "\\\\n",
    "\\x00",
    "\\u0000",
    "\x1b[32m",
    "\x1b[01;31m\x1b[K",
    "\\u001b[32m",
    "\\x1b[1m",
    "\\033[0m",
    "\\e[1m",
]


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("before", BEFORE)
def test_a_token_right_after_an_escape_or_a_colour_is_found(before: str, kind: str) -> None:
    shown = make().data(f"a{before}{TOKENS[kind]}\x1b[m rest".encode()).decode()
    assert TOKENS[kind] not in shown
    assert shown.startswith(f"a{before}[secret:") and shown.endswith(" rest")


def test_a_secret_across_the_parts_of_a_long_escaped_text_is_found() -> None:
    token = "sk-ant-api03-" + "Ab3x" * 22
    for before in (10_900, 10_917, 10_930, 10_960):
        text = "".join(f"\\u{ord(letter):04x}" for letter in "words and " * (before // 10) + token + " more" * 4000)
        clean = make().text(text)
        assert "\\u0041\\u0062\\u0033\\u0078" not in clean


@pytest.mark.parametrize("before", ["\\n", "%3D", "%2520", "\x1b[32m"])
def test_a_long_token_after_an_escape_is_hidden_to_its_end(before: str) -> None:
    token = "eyJ" + ".".join(["aB3d" * 100] * 3)
    clean = make().text(f"a{before}{token} rest")
    assert "aB3d" not in clean and clean.endswith("] rest")


@pytest.mark.parametrize("glue", ["", "\n", "\r\n", "\\n"])
def test_what_follows_a_wall_of_letters_is_looked_at(glue: str) -> None:
    wall = glue.join(["aB3d" * 19] * 40)
    for text in (f"{wall}\npassword = 'correcthorse'\n{wall}", f"{wall[:-60]}{'x' * 52}password=corr3cthorse {wall}"):
        clean = make().text(text)
        assert "[secret:password:12:" in clean and clean.count("aB3d") == text.count("aB3d")


@pytest.mark.parametrize("escape", ["\\n", "\\x1b[31m", "\x1b[0;31m", "%20"])
def test_what_follows_several_escapes_near_each_other_is_read_from_each(escape: str) -> None:
    secrets = [f"hunter2Hunter{number}Xy" for number in range(4)]
    text = "".join(f"{escape}--password {secret} " for secret in secrets) + "x" * 9000
    text += "".join(f"{escape}--db-password={secret}, " for secret in secrets)
    clean = Redactor(b"k" * 32, lambda name, kind, secret: None).text(text)
    assert [secret for secret in secrets if secret in clean] == []
    assert clean.count(escape) == clean.count("[secret:command-password:") == 8
