"""Every loss of an export has a sentence, which needs no values besides those of the catalogue."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.author.export.interface import CATALOGUE, Loss
from proctor.present.sentences.export_losses import SENTENCES, contents_sentence, loss_sentence, task_readme

VALUES: dict[str, Any] = {
    **{name: ["one", "two"] for name in ("checks", "fields", "files", "gates", "layers")},
    **dict.fromkeys(("alternatives", "attempts", "bytes", "calls", "inputs", "messages", "notices"), 3),
    **dict.fromkeys(("restored", "results", "tests", "texts", "threads", "tokens", "tools"), 1),
    **dict.fromkeys(("commit", "identity", "image", "kind", "method", "mode", "seal", "status"), "word"),
    "types": {"guard.exec": 2},
    "units": "1.5",
    "usd": "0.10",
}


def values_of(code: str) -> dict[str, Any]:
    found = {name: VALUES[name] for name in CATALOGUE[code]}
    return {**found, "files": 4} if code == "products" else found


def test_the_sentences_are_those_of_the_catalogue() -> None:
    assert SENTENCES.keys() == CATALOGUE.keys()


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_loss_is_a_sentence(code: str) -> None:
    loss = Loss(code, values_of(code))
    text = loss_sentence(loss.code, loss.values)
    assert text != code and text[0].isupper() | text[0].isdigit() and text.endswith(".") and "\n" not in text


def test_an_unknown_loss_is_its_code() -> None:
    assert loss_sentence("of-a-later-version", {}) == "of-a-later-version"
    assert loss_sentence("threads", {}) == "threads"


def test_a_loss_has_the_values_of_the_catalogue() -> None:
    for code, values in (("no-such-code", {}), ("threads", {}), ("unwatched", {"more": 1})):
        with pytest.raises(ValueError, match=code):
            Loss(code, values)


def test_one_notice_and_several_are_named() -> None:
    assert loss_sentence("notices", {"notices": 1}) == "1 alert, intervention or act of an operator."
    assert loss_sentence("notices", {"notices": 2}) == "2 alerts, interventions and acts of operators."


def test_a_readme_warns_and_lists_losses() -> None:
    text = task_readme("Two\nlines", "sha256:abc", ("hidden-tests", "solution"), [("unwatched", {})])
    assert text.startswith("# Two lines\n") and "the hidden tests and the reference solution" in text
    assert text.count("\n- ") >= 6
    assert contents_sentence(()) == ""
