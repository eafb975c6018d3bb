"""The vocabulary of the rules on text: which words, names, paths and shapes mean which actions and objects.

The data is in ``actions``, ``objects`` and ``paths``. An entry has English words and names, both comma-separated; an
entry of several words is a phrase. English words are inflected ("delete" is also "deletes", "deleted", "deleting"; a
noun has its plural) and count only in sentences, so that ``return result`` in code is not read as one. Names stand for
themselves and count everywhere: programs, functions, options, constants, and phrases that have one meaning alone.
Articles and possessives are left out of phrases. Paths and addresses are recognised by patterns, each applied to one
token of bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from proctor.execute.watch.intents.actions import ACTIONS
from proctor.execute.watch.intents.objects import OBJECTS
from proctor.execute.watch.intents.paths import EXEMPT, PATHS, SHAPES, WORD_SHAPES

PHRASE_TOKENS = 4
"""The longest phrase."""

ARTICLES = frozenset(
    (
        *("the", "a", "an", "my", "your", "our", "their", "its", "his", "her", "this", "these", "those", "s"),
        *("whole", "entire", "complete", "please"),
    )
)
"""Words that a phrase may have anywhere between its own."""

NEGATIONS = frozenset(
    ("not", "never", "don", "cannot", "without", "avoid", "doesn", "didn", "won", "mustn", "shouldn", "nor")
)
"""Words after which a sentence is about something that is not done."""


@dataclass(frozen=True)
class Meaning:
    """What a term stands for; ``sentence`` says that it counts only in sentences."""

    actions: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    sentence: bool = False


def _verbs(phrase: str) -> Iterator[str]:
    """A phrase with its first word in every form; forms that do not exist do no harm."""
    head, _, rest = phrase.partition(" ")
    stem = head[:-1] if head.endswith("e") else head
    forms = [head, head + "s", head + "es", stem + "ed", stem + "ing", stem + stem[-1] + "ed", stem + stem[-1] + "ing"]
    forms += [stem[:-1] + "ied", stem[:-1] + "ies"] if head.endswith("y") else []
    forms += _IRREGULAR.get(head, ())
    for form in forms:
        yield f"{form} {rest}".strip()


_IRREGULAR = {
    "send": ("sent",),
    "steal": ("stole", "stolen"),
    "overwrite": ("overwritten", "overwrote"),
    "write": ("written", "wrote"),
    "get": ("got",),
    "find": ("found",),
    "break": ("broke", "broken"),
}


def _nouns(phrase: str) -> Iterator[str]:
    """A phrase with its last word in both numbers."""
    yield phrase
    yield phrase + ("es" if phrase.endswith(("s", "sh", "ch", "x")) else "s")
    if phrase.endswith("y"):
        yield phrase[:-1] + "ies"


def _entries(text: str) -> Iterator[tuple[str, ...]]:
    """The entries of a list, each cut into tokens as a text is."""
    for entry in text.split(","):
        parts = [part if part.startswith("-") else part.replace("-", " ") for part in entry.split()]
        if parts:
            yield tuple(" ".join(parts).split())


Table = Mapping[str, tuple[str, str]]
Known = dict[tuple[str, ...], dict[str, None]]


def _known(table: Table, forms: Callable[[str], Iterator[str]]) -> tuple[Known, Known]:
    """The names of ``table`` by their English words in every form, and by their names."""
    words: Known = {}
    names: Known = {}
    for meaning, (english, fixed) in table.items():
        for entry in _entries(english):
            for form in forms(" ".join(entry)):
                words.setdefault(tuple(form.split()), {})[meaning] = None
        for entry in _entries(fixed):
            names.setdefault(entry, {})[meaning] = None
    return words, names


def _vocabulary() -> dict[tuple[str, ...], tuple[Meaning, ...]]:
    found: dict[tuple[str, ...], tuple[Meaning, ...]] = {}
    for (actions, objects), sentence in zip(
        zip(_known(ACTIONS, _verbs), _known(OBJECTS, _nouns), strict=True), (True, False), strict=True
    ):
        for entry in {**actions, **objects}:
            meaning = Meaning(tuple(actions.get(entry, ())), tuple(objects.get(entry, ())), sentence)
            found[entry] = (*found.get(entry, ()), meaning)
    return found


def _phrases() -> dict[str, dict[tuple[str, ...], tuple[Meaning, ...]]]:
    found: dict[str, dict[tuple[str, ...], tuple[Meaning, ...]]] = {}
    for entry, meanings in _VOCABULARY.items():
        if len(entry) > 1:
            found.setdefault(entry[0], {})[entry[1:]] = meanings
    return found


_VOCABULARY = _vocabulary()
_WORDS = {entry[0]: meanings for entry, meanings in _VOCABULARY.items() if len(entry) == 1}
PHRASES = _phrases()
"""The phrases, by their first word and then by the others."""

_PATHS = tuple((name, re.compile(pattern)) for name, pattern in PATHS)
_ANY_PATH = re.compile("|".join(f"(?:{pattern})" for _, pattern in PATHS))
_EXEMPT = re.compile(EXEMPT)
_SHAPED = tuple((name, re.compile(pattern)) for name, pattern in WORD_SHAPES)


def meanings_of_word(word: str) -> tuple[Meaning, ...]:
    """What a word, a name, an option or a sign stands for."""
    known = _WORDS.get(word, ())
    return (*known, *_shaped(word)) if word[0] in "-/+@0123456789" or word.isupper() else known


@lru_cache(maxsize=4096)
def meanings_of_path(path: str) -> tuple[Meaning, ...]:
    """What a path, an address or a name with dots stands for."""
    found = (*_WORDS.get(path, ()), *_shaped(path))
    if _ANY_PATH.search(path) is None or _EXEMPT.search(path) is not None:
        return found
    objects = tuple(dict.fromkeys(name for name, pattern in _PATHS if pattern.search(path)))
    return (*found, Meaning(objects=objects))


def _shaped(word: str) -> tuple[Meaning, ...]:
    objects = tuple(name for name, pattern in _SHAPED if pattern.fullmatch(word))
    return (Meaning(objects=objects),) if objects else ()


TEXT_SHAPES = tuple(
    (re.compile(pattern, re.MULTILINE), Meaning((action,) if action else (), (target,) if target else ()))
    for pattern, action, target in SHAPES
)
"""The shapes that are searched for in the text itself, with their meanings."""
