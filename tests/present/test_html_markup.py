"""Text that nobody vouches for stays text, whatever it holds."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.present.html_markup import LONGEST, clean, join, tag, trusted


class Reader(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


@given(st.text(max_size=80))
def test_any_text_comes_back_as_text_and_adds_no_element(text: str) -> None:
    seen = read(tag("p", text, title=text))
    assert [name for name, _ in seen.tags] == ["p"]
    assert seen.text.replace("\r", "\n") == clean(text)
    assert seen.tags[0][1] == {"title": clean(text)}


def test_attributes_take_the_names_of_html() -> None:
    made = tag("a", "x", class_="n", aria_label="y", data_v=3, hidden=True, id=None, open=False)
    assert made == '<a class="n" aria-label="y" data-v="3" hidden>x</a>'


def test_elements_without_an_end_have_none() -> None:
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_pieces_may_be_nested_and_missing() -> None:
    assert tag("p", ["a", None, [1, tag("b", "<")]]) == "<p>a1<b>&lt;</b></p>"
    assert join(["<", tag("i", "x")], ", ") == "&lt;, <i>x</i>"


def test_only_markup_of_our_own_is_taken_as_it_is() -> None:
    assert tag("p", trusted("<b>x</b>")) == "<p><b>x</b></p>"
    assert tag("p", "<b>x</b>") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("a\x00b", "a null"),
        ("a\x1bb", "an escape"),
        ("a\u202eb", "a turn of direction"),
        ("a\u2066b", "an isolate"),
        ("a\ud800b", "half a surrogate pair"),
        ("a\x85b", "a control character of Latin 1"),
    ],
    ids=lambda value: value if value.startswith("a ") else "",
)
def test_what_cannot_be_shown_honestly_is_replaced(bad: str, what: str) -> None:
    assert clean(bad) == "a\ufffdb"
    assert clean(bad).encode()


def test_long_text_is_cut() -> None:
    assert clean("x" * (LONGEST + 1)) == "x" * (LONGEST - 1) + "\u2026"
    assert clean("x" * LONGEST) == "x" * LONGEST
