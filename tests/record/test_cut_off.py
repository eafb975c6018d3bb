"""Parts of secrets: at the end of a text that was cut off, and on both sides where a text ends and the next begins."""

from __future__ import annotations

import base64

import pytest

from proctor.record.redact import Redactor
from proctor.record.secrets import usual_rules
from proctor.record.secrets_in_arguments import find_cut, rest_of, unfinished_token
from tests.record.planted import SHAPES, planted

TOKEN = "ghp_" + "Ab3" * 12
SECRETS = [one for one in planted(2) if one[0] in SHAPES]


def make() -> Redactor:
    return Redactor(b"k" * 32, lambda name, kind, secret: None)


def cut_record(text: str, kept: int) -> dict[str, object]:
    return {"sha256": "0" * 64, "bytes": len(text), "prefix": text[:kept]}


def test_the_beginning_of_every_token_is_hidden_where_a_text_is_cut() -> None:
    missed = []
    for kind, secret, _ in SECRETS:
        kept = max(16, 2 * len(secret) // 3)
        clean = str(make().value(cut_record(f"using {secret} now", 6 + kept))["prefix"])
        if secret[-len(secret) + kept - 6 : kept] in clean:
            missed.append(kind)
    # the form of these two shows at their end alone
    assert set(missed) == {"braintree-token", "mailchimp-key"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('password = "hunter', "hunter"),
        ("postgresql://app:hunter", "hunter"),
        ("curl --password=hunter", "hunter"),
        ('{"api_key": "Zx81kP02Lm', "Zx81kP02Lm"),
        (f"see {base64.b64encode(b'token ' + TOKEN.encode()).decode()[:30]}", base64.b64encode(b"_Ab3Ab").decode()[:6]),
    ],
)
def test_a_value_that_was_cut_is_hidden(text: str, left: str) -> None:
    assert left not in make().data(text.encode(), cut=True).decode()


def test_only_a_text_that_was_cut_is_held_to_its_beginning() -> None:
    whole = "the path is docs/pypi-notes"
    record = {"bytes": len(whole), "prefix": whole}
    assert make().value(record) == record
    assert make().value({"bytes": 10, "prefix": "a plain te"}) == {"bytes": 10, "prefix": "a plain te"}


@pytest.mark.parametrize("at", range(9, len(TOKEN) - 4, 3))
def test_a_token_over_two_texts_is_hidden_in_both(at: int) -> None:
    redactor = make()
    events = [{"stdout": {"text": f"now {TOKEN[:at]}"}}, {"stdout": {"text": f"{TOKEN[at:]} done"}}]
    first, second = (str(redactor.value(event)["stdout"]["text"]) for event in events)
    assert first.startswith("now [secret:github-token:") and second.startswith("[secret:github-token:")
    assert second.endswith("] done")


def test_the_next_text_begins_anew_when_it_is_a_sentence() -> None:
    redactor = make()
    assert redactor.chunk("text", f"it is {TOKEN}").startswith("it is [secret:")
    assert redactor.chunk("text", "Then the next step.") == "Then the next step."
    assert redactor.chunk("text", "8f3a9b11c2d4 comes later") == "8f3a9b11c2d4 comes later"


def test_texts_of_other_names_do_not_follow_each_other() -> None:
    redactor = make()
    redactor.chunk("text", f"it is {TOKEN[:20]}")
    assert redactor.chunk("prefix", f"{TOKEN[20:]} x") == f"{TOKEN[20:]} x"


def test_words_that_begin_like_tokens_stay() -> None:
    for words in ("install pypi-server", "see npm_config", "the glpat-like", "github_pat_format"):
        assert unfinished_token(usual_rules(), words.encode(), []) is None
        assert make().chunk("text", words) == words
    assert rest_of(usual_rules(), b"ghp_Ab3Ab3", b"words follow") == []
    assert find_cut(usual_rules(), b"nothing of interest") == []
