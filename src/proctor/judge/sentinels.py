"""Sentinels: tests that must pass and tests that must fail, beside the suite, under names drawn at random.

Code under test shares a process with its tests and can rewrite their outcomes. A suite whose sentinels do not all come
out as they must was not reported by an honest runner: it is forged, whatever else it says. Names, which are made of
words, and for pytest the number and the places in the order of tests, are drawn for each attempt. A forgery that reads
the sentinels and adapts to them, or that deceives the comparison in a test with values made for it, is a risk that
remains.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from proctor.base.clock import Entropy
from proctor.contract.model import Check, Sentinel
from proctor.judge.probes import Names, sentinel_text
from proctor.judge.results.interface import TestResults

GENUINE, FORGED, UNSEEN, NONE = "genuine", "forged", "unseen", "none"

_WORDS = """
    able above acts adds after again alike alone apart appends asks back bad bare begins below best binds blank body
    bounds break brief bytes calls carry case cell chain change check child clean clear close code copies count
    cross dates deep default doubles drops early edge empty ends enters equal escapes even every exact extra fails
    fields files fills finds first fits flat folds form free full gives good group half handles head holds index
    inner input items joins jumps keeps key known large last late layers leads leaves left length level limit lines
    lists local long loops lower makes many maps marks merges middle mixed moves names nested never none notes
    number odd old once opens order other outer pairs parses part passes path plain point prints quotes raises range
    reads repeats rest returns right root rounds rows same sends sets shape short shows sides signs single skips
    small sorts spaces splits stays stops stream strict strips sums swaps tables takes tells text then third ties
    times token total trims twice types under units upper values views wide words works wraps writes zero
"""

WORDS = tuple(_WORDS.split())
"""What names are made of, so that they look like other names of tests."""

WORDS_IN_A_NAME = 5
MOST_MORE = 4
"""How many names of one kind a template can ask for beyond the first: ``{failing2}`` to ``{failing5}``."""


@dataclass(frozen=True)
class Planted:
    """Sentinels ready to be written: where, what, which arguments name them, and which ids must come out how.

    ``places`` are drawn numbers that say where among the other tests each of them runs.
    """

    path: str
    text: str
    arguments: tuple[str, ...]
    passing: tuple[str, ...]
    failing: tuple[str, ...]
    drawn: tuple[str, ...]
    places: tuple[int, ...] = ()

    @property
    def token(self) -> str:
        """The drawn name that is part of the file's."""
        return self.drawn[0]


def draw_name(entropy: Entropy) -> str:
    """A name that nothing in the tree has, fit for any language: words in small letters, joined by ``_``."""
    return "_".join(WORDS[byte % len(WORDS)] for byte in entropy(WORDS_IN_A_NAME))


def plant_pytest(directory: str, entropy: Entropy, modules: tuple[str, ...] = ()) -> Planted:
    """Sentinels for pytest in ``directory`` of the tree: functions, and methods of a test case, which run differently.

    The file imports ``modules`` under drawn names, as the tests beside it do; an import that fails changes nothing.
    Their ids end in the given ones, whatever the root is.
    """
    name = draw_name(entropy)
    names = Names(
        passing=_draw_tests(entropy),
        failing=_draw_tests(entropy),
        passing_methods=_draw_tests(entropy),
        failing_methods=_draw_tests(entropy),
        test_case=f"Test{draw_name(entropy).title().replace('_', '')}",
    )
    text = sentinel_text(names, entropy, tuple((module, draw_name(entropy)) for module in modules))
    file = f"test_{name}.py"
    good = (*names.passing, *(f"{names.test_case}::{test}" for test in names.passing_methods))
    bad = (*names.failing, *(f"{names.test_case}::{test}" for test in names.failing_methods))
    return Planted(
        path=posixpath.join(directory, file),
        text=text,
        arguments=(),
        passing=tuple(f"{file}::{test}" for test in good),
        failing=tuple(f"{file}::{test}" for test in bad),
        drawn=(name,),
        places=tuple(int.from_bytes(entropy(4), "big") for _ in (*good, *bad)),
    )


def plant_declared(sentinel: Sentinel, entropy: Entropy) -> Planted:
    """The sentinels that a contract declares for its own runner.

    A template that also holds ``{passing2}`` or ``{failing2}``, and so on, has several tests that must come out so;
    their ids are made like that of the first.
    """
    name = draw_name(entropy)
    path = _filled(sentinel.at, {"name": name})
    words = {"path": path, "name": name}
    ids: dict[str, tuple[str, ...]] = {}
    for kind, wanted in (("passing", sentinel.passing_id), ("failing", sentinel.failing_id)):
        more = (f"{kind}{number}" for number in range(2, MOST_MORE + 2))
        tests = {
            mark: draw_name(entropy) for mark in (kind, *more) if mark == kind or f"{{{mark}}}" in sentinel.template
        }
        ids[kind] = tuple(_filled(wanted, {**words, kind: test}) for test in tests.values())
        words.update(tests)
    return Planted(
        path=path,
        text=_filled(sentinel.template, words),
        arguments=tuple(_filled(argument, words) for argument in sentinel.arguments),
        passing=ids["passing"],
        failing=ids["failing"],
        drawn=tuple(word for mark, word in words.items() if mark != "path"),
    )


def _draw_tests(entropy: Entropy) -> tuple[str, ...]:
    """Between one and three names of tests."""
    return tuple(f"test_{draw_name(entropy)}" for _ in range(1 + entropy(1)[0] % 3))


def plant(check: Check, directory: str, entropy: Entropy, modules: tuple[str, ...] = ()) -> Planted | None:
    """The sentinels for ``check``, if its format supports them. Those for pytest import ``modules``."""
    if check.results == "exit-code":
        return None
    if check.sentinel is not None:
        return plant_declared(check.sentinel, entropy)
    return plant_pytest(directory, entropy, modules) if check.results == "pytest" else None


def forgeable(check: Check) -> bool:
    """Whether a check has no sentinels that could show a forgery."""
    return check.results == "exit-code" or (check.results != "pytest" and check.sentinel is None)


def verdict(planted: Planted | None, results: TestResults) -> str:
    """Whether the sentinels came out as they must; results that are incomplete cannot tell."""
    if planted is None:
        return NONE
    if not results.complete:
        return UNSEEN
    honest = all(_found(test, results) == {"passed"} for test in planted.passing) and all(
        _found(test, results) == {"failed"} for test in planted.failing
    )
    return GENUINE if honest else FORGED


def without(planted: Planted | None, results: TestResults) -> TestResults:
    """``results`` without the tests that the harness planted."""
    if planted is None:
        return results
    outcomes = results.outcomes.items()
    kept = {test: outcome for test, outcome in outcomes if not any(name in test for name in planted.drawn)}
    return replace(results, outcomes=kept)


def _found(wanted: str, results: TestResults) -> set[str]:
    """The outcomes of the id that is ``wanted``, or of those that end in it below some directory."""
    if wanted in results.outcomes:
        return {results.outcomes[wanted]}
    below = f"/{wanted}"
    return {outcome for test, outcome in results.outcomes.items() if test.endswith(below)}


def _filled(template: str, words: dict[str, str]) -> str:
    """``template`` with each ``{word}`` replaced; other braces stay, since templates are source code."""
    for word, value in words.items():
        template = template.replace("{" + word + "}", value)
    return template
