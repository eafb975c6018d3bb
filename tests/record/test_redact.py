"""Placeholders are the same everywhere, stay what they are, and nothing of an original is left beside them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.base.canonical import canonical
from proctor.record.redact import MOST_ORIGINALS, Redactor, name_of
from tests.record.planted import planted

KEY = b"k" * 32
TOKEN = "ghp_" + "Ab3" * 12


def make(kept: dict[str, bytes] | None = None) -> Redactor:
    def keep(name: str, kind: str, secret: bytes) -> None:
        if kept is not None:
            assert name not in kept
            kept[name] = secret

    return Redactor(KEY, keep)


def test_a_placeholder_says_kind_length_and_keyed_name() -> None:
    kept: dict[str, bytes] = {}
    name = name_of(KEY, TOKEN.encode())[:24]
    redactor = make(kept)
    assert (
        redactor.text(f"a {TOKEN} b {TOKEN}") == f"a [secret:github-token:40:{name}] b [secret:github-token:40:{name}]"
    )
    assert kept == {name: TOKEN.encode()}
    assert redactor.summary()["kinds"] == {"github-token": 1}


def test_another_key_gives_another_name() -> None:
    other = Redactor(b"x" * 32, lambda name, kind, secret: None)
    assert other.text(TOKEN) != make().text(TOKEN)


def test_a_path_is_the_same_in_an_event_and_in_a_patch() -> None:
    path = f"src/{TOKEN}.py"
    clean = make().text(path)
    patch = make().data(f"diff --git a/{path} b/{path}\n--- /dev/null\n+++ b/{path}\n".encode()).decode()
    assert patch == f"diff --git a/{clean} b/{clean}\n--- /dev/null\n+++ b/{clean}\n"


def test_values_are_redacted_in_texts_names_and_lists_and_by_the_name_of_their_field() -> None:
    value = {"a": [1, None, True, TOKEN], TOKEN: "x", "db_password": "hunter2!", "n": {"deep": f"x {TOKEN}"}}
    clean = make().value(value)
    text = canonical(clean).decode()
    assert TOKEN not in text and "hunter2!" not in text
    assert clean["a"][:3] == [1, None, True] and clean["db_password"].startswith("[secret:named:8:")


def test_a_secret_over_several_lines_of_a_hunk_is_found() -> None:
    lines = [
        "+-----BEGIN PRIVATE KEY-----",
        "+" + "MIIEv" * 12,
        "+-----END PRIVATE KEY-----",
        "a\nb",
        "--password",
        "hu2nter",
    ]
    clean = make().value({"lines": lines})["lines"]
    assert len(clean) == len(lines) and clean[1].startswith("+[secret:private-key:60:")
    assert clean[2:5] == lines[2:5] and clean[5].startswith("[secret:command-password:7:")


def test_digests_of_what_was_redacted_become_keyed_ones() -> None:
    redactor = make()
    text = f"only {TOKEN}"
    digest = sha256(text.encode()).hexdigest()
    other = sha256(b"whole output").hexdigest()
    clean = redactor.value({"sha256": other, "prefix": text, "deep": {"sha256": other}, "blob": digest})
    assert clean["sha256"] not in (other, digest) and len(clean["sha256"]) == 64
    assert redactor.value({"of": digest})["of"] == name_of(KEY, digest.encode())
    assert make().value({"sha256": other, "prefix": "plain text"})["sha256"] == other


def test_the_digest_of_a_changed_file_stays_although_its_content_was_printed() -> None:
    redactor = make()
    side = {"sha256": sha256(TOKEN.encode()).hexdigest(), "bytes": 40, "mode": "100644"}
    before = redactor.value({"path": "a", "after": side})
    redactor.value({"prefix": TOKEN})
    assert redactor.value({"path": "a", "after": side}) == before == {"path": "a", "after": side}


def test_very_many_secrets_are_hidden_and_not_all_kept() -> None:
    kept: dict[str, bytes] = {}
    redactor = make(kept)
    text = "\n".join(f"glpat-{number:020}" for number in range(MOST_ORIGINALS + 5))
    assert "glpat-" not in redactor.text(text)
    assert len(kept) == MOST_ORIGINALS and redactor.summary()["unkept"] == 5


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from([text for _, _, text in planted(1)]),
    st.sampled_from(["password=", "key: ", '"', "\n", "://u:", "@", "[secret:", "]", "Bearer "]),
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    redactor = make()
    once = redactor.text(text)
    assert redactor.text(once) == once


@given(st.recursive(PIECES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PIECES, inner, max_size=3)))
def test_redaction_is_deterministic(value: Any) -> None:
    assert make().value(value) == make().value(value)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_newlines_stay_where_they_are(text: str) -> None:
    assert make().text(text).count("\n") == text.count("\n")
