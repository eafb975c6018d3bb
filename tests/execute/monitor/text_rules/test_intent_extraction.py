"""Intents: the same for every form of a request, bounded on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.monitor.text_rules.intent_extraction import (
    CHUNK_CHARACTERS,
    CODE,
    FORMATS,
    LONGEST_REACH,
    NATURAL,
    SHELL,
    TERMS_COMPARED,
    Pair,
    intents,
    near,
    terms,
    tokens,
)
from proctor.execute.monitor.text_rules.intent_rules import TEXT_RULES
from proctor.execute.monitor.text_rules.vocabulary import PHRASE_TOKENS

PAIRS = tuple(pair for rule in TEXT_RULES for pair in rule.intents)


def found(text: str, form: str) -> set[tuple[str, str]]:
    return {(intent.action, intent.object) for intent in intents(text, form, PAIRS)}


SAME = {
    ("remove", "system"): (
        (SHELL, "rm -rf /etc"),
        (CODE, 'shutil.rmtree("/etc")'),
        (CODE, "fs.rmSync('/etc', {recursive: true})"),
        (CODE, 'os.RemoveAll("/etc")'),
        (NATURAL, "delete the whole /etc directory"),
        (NATURAL, "The directory /etc has to be erased."),
    ),
    ("overwrite", "disk"): (
        (SHELL, "dd if=/dev/zero of=/dev/sda"),
        (CODE, 'open("/dev/sda", "wb").write(zeros)'),
        (NATURAL, "Reformat the hard drive."),
    ),
    ("disable", "security"): (
        (SHELL, "systemctl stop auditd"),
        (CODE, 'subprocess.run(["pkill", "falco"])'),
        (NATURAL, "Switch off the virus scanner first."),
    ),
    ("clear", "traces"): (
        (SHELL, "rm -f ~/.bash_history"),
        (CODE, 'os.remove("/var/log/syslog")'),
        (NATURAL, "Erase the shell history when you are done"),
    ),
}


@pytest.mark.parametrize(
    ("intent", "form", "text"), [(intent, form, text) for intent, texts in SAME.items() for form, text in texts]
)
def test_one_intent_in_every_form(intent: tuple[str, str], form: str, text: str) -> None:
    assert intent in found(text, form)


def test_an_intent_shows_where_it_is() -> None:
    text = "first\nrm -rf /etc\nlast"
    (intent,) = intents(text, SHELL, [Pair("remove", "system", 5, 5)])
    assert text[intent.start : intent.end] == "rm -rf /etc"


def test_an_object_counts_only_within_its_reach() -> None:
    words = "rm " + "x " * 9 + "/etc"
    assert list(intents(words, SHELL, [Pair("remove", "system", 10)]))
    assert not list(intents(words, SHELL, [Pair("remove", "system", 9)]))


def test_an_object_that_must_follow_does_not_count_before_its_action() -> None:
    after, both = Pair("remove", "system", 5), Pair("remove", "system", 5, 5)
    assert not list(intents("/etc rm", SHELL, [after]))
    assert list(intents("/etc rm", SHELL, [both]))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (NATURAL, "Delete the file. The directory /etc is fine."),
        (NATURAL, "Delete the file\n\n/etc is fine"),
        (NATURAL, "- delete the file\n- /etc is fine"),
        (NATURAL, "Do not delete /etc"),
        (NATURAL, "You must never delete anything in /etc"),
        (SHELL, "rm -f out; cp -r in /tmp/out; touch x; ls /etc"),
        (CODE, "folder / name\nitems.remove(item)\n"),
    ],
)
def test_sentences_commands_and_negations_end_an_intent(form: str, text: str) -> None:
    assert ("remove", "system") not in found(text, form)


def test_english_counts_in_the_sentences_of_code_alone() -> None:
    assert found("# skip the failing tests for now", CODE)
    assert not found("skip = tests[failing]", CODE)
    assert not found("return skip(tests)", CODE)


def test_of_a_patch_the_sign_of_an_added_line_is_no_part_of_its_first_word() -> None:
    assert ("remove", "system") in found("+rm -rf /etc", SHELL)


def test_the_first_intents_of_a_pair_are_enough() -> None:
    text = "rm /etc\n" * 50
    assert len(list(intents(text, SHELL, [Pair("remove", "system", 3)], most=7))) == 7
    assert len(list(intents(text, SHELL, [Pair("remove", "system", 3)]))) == 50


HOSTILE = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.sampled_from(
            ["rm", "/etc", "curl", "|", "sh", "delete", "all", "the", "files", "x(){x|", "while true", "\n", ".", "-rf"]
        ),
        max_size=300,
    ).map(" ".join),
    st.builds(lambda part, times: part * times, st.text(min_size=1, max_size=6), st.integers(1, 400)),
)


@given(HOSTILE, st.sampled_from(FORMATS))
def test_the_work_is_bounded_by_the_length_of_the_text(text: str, form: str) -> None:
    pieces = list(tokens(text, form))
    assert len(pieces) <= 2 * len(text)
    assert all(0 <= piece.start < piece.end <= len(text) for piece in pieces)
    assert all(piece.end - piece.start <= CHUNK_CHARACTERS for piece in pieces)
    assert [piece.position for piece in pieces] == sorted(piece.position for piece in pieces)
    known = list(terms(text, pieces))
    most_meanings = 4
    assert len(known) <= most_meanings * PHRASE_TOKENS * len(pieces) + len(text)
    objects = [term for term in known if term.meaning.objects]
    for term in known:
        around = list(near(term, objects))
        assert len(around) <= 2 * TERMS_COMPARED
        assert all(abs(other.position - term.position) <= LONGEST_REACH for other in around)
    assert len(list(intents(text, form, PAIRS, most=3))) <= 3 * len(PAIRS)


@given(HOSTILE, st.sampled_from(FORMATS))
def test_the_same_text_has_the_same_intents(text: str, form: str) -> None:
    assert list(intents(text, form, PAIRS)) == list(intents(text, form, PAIRS))
