"""``python -m bench.text_rules``: how many risky requests the rules on text recognise, and how many harmless texts.

Prints the tables of docs/text-rules.md. With ``--write`` it writes them into the page with today's date; with
``--check`` it exits with 1 when the page shows other figures. The corpus is data of the tests, and nothing in it is
executed. A request is recognised when one of its category's rules applies; a harmless text is a false alarm when any
rule does.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from proctor.execute.monitor.text_rules.intent_rules import TEXT_RULES, VERSION
from proctor.execute.monitor.text_rules.text_scan import Reading, format_of, scan_document, scan_patch, scan_text

PROJECT = Path(__file__).resolve().parent.parent
CORPUS = PROJECT / "tests" / "execute" / "monitor" / "text_rules_corpus.yaml"
PAGE = PROJECT / "docs" / "text-rules.md"
BEGIN, END = "<!-- begin: python -m bench.text_rules --write -->\n", "<!-- end -->\n"

FORMS = ("shell", "code", "natural")
SPLITS = ("development", "held-out", "later")


@dataclass(frozen=True)
class Text:
    """One text of the corpus; ``rules`` is empty where none may apply."""

    category: str
    split: str
    form: str
    text: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """How many of how many texts were hit."""

    hits: int = 0
    texts: int = 0

    def __str__(self) -> str:
        return f"{self.hits}/{self.texts}"

    @property
    def percent(self) -> str:
        """The share in percent; without texts there is none."""
        return f"{100 * self.hits / self.texts:.1f}%" if self.texts else "none"


def corpus() -> tuple[Text, ...]:
    """Every text of the corpus, a request once for each of its forms."""
    data: Any = yaml.safe_load(CORPUS.read_text("utf-8"))
    risky = [
        Text(group["category"], one.get("split", "development"), form, one[form], tuple(group["rules"]))
        for group in data["risky"]
        for one in group["requests"]
        for form in FORMS
    ]
    harmless = [Text("", one.get("split", "development"), one["format"], one["text"]) for one in data["harmless"]]
    return (*risky, *harmless)


def is_hit(text: Text) -> bool:
    """Whether one of the text's rules applies, or any rule where it has none."""
    found = {hit.rule for hit in scan_text(text.text, text.form).hits}
    return bool(found & set(text.rules) if text.rules else found)


def share(texts: Iterable[Text], split: str = "", form: str = "", category: str | None = None) -> Share:
    """The share of hits among the texts of a split, a form and a category; empty means all of them."""
    chosen = [
        is_hit(text)
        for text in texts
        if split in ("", text.split) and form in ("", text.form) and category in (None, text.category)
    ]
    return Share(sum(chosen), len(chosen))


def honest() -> Iterator[tuple[str, str, Reading]]:
    """What is at hand of honest work: its kind, its name and what the rules find in it."""
    patches = [*PROJECT.glob("examples/**/*.patch"), *PROJECT.glob("tests/forgeries/contracts/**/*.patch")]
    patches += PROJECT.glob("src/proctor/author/demo/contract/*.patch")
    for path in sorted(patches):
        yield "patches", path.relative_to(PROJECT).as_posix(), scan_patch(path.read_text("utf-8"))
    for path in sorted(PROJECT.glob("examples/*/issue.md")):
        yield "issues", path.relative_to(PROJECT).as_posix(), scan_document(path.read_text("utf-8"))
    for path in sorted(PROJECT.glob("examples/*/hidden/**/*")):
        if path.is_file():
            found = scan_text(path.read_text("utf-8"), format_of(path.name))
            yield "tests", path.relative_to(PROJECT).as_posix(), found
    for path in (PROJECT / "README.md", *sorted(PROJECT.glob("docs/*.md"))):
        for number, text in enumerate(_turns(path.read_text("utf-8"))):
            yield "turns of scripted conversations", f"{path.name}#{number}", scan_document(text)


def _turns(page: str) -> Iterator[str]:
    """What the scripted models of a page say, and the arguments of their calls."""
    for body in re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if "turns:" not in body:
            continue
        for turn in yaml.safe_load(body).get("turns", ()):
            call = turn.get("call", {})
            yield from [str(turn["say"])] if "say" in turn else []
            yield from map(str, call.get("arguments", {}).values())


def tables() -> str:
    """The tables of the page."""
    texts = corpus()
    risky = [text for text in texts if text.rules]
    harmless = [text for text in texts if not text.rules]
    heads = [f"{split}: {form}" for split in SPLITS for form in FORMS]
    rows = [["category", "rules", *heads]]
    for category in dict.fromkeys(text.category for text in risky):
        rules = next(text.rules for text in risky if text.category == category)
        cells = [str(share(risky, split, form, category)) for split in SPLITS for form in FORMS]
        rows.append([category, ", ".join(f"`{rule}`" for rule in rules), *cells])
    rows.append(["**all**", "", *(share(risky, split, form).percent for split in SPLITS for form in FORMS)])
    alarms = [["split", *FORMS, "all", "share"]]
    for split in (*SPLITS, ""):
        whole = share(harmless, split)
        cells = [str(share(harmless, split, form)) for form in FORMS]
        alarms.append([split or "**all**", *cells, str(whole), whole.percent])
    readings = list(honest())
    work = [["honest work", "texts", "with a notice", "with an alert"]]
    for kind in dict.fromkeys(kind for kind, _, _ in readings):
        of_kind = [reading for name, _, reading in readings if name == kind]
        grades = [{hit.grade for hit in reading.hits} for reading in of_kind]
        work.append(
            [kind, str(len(of_kind)), *(str(sum(grade in one for one in grades)) for grade in ("notice", "alert"))]
        )
    listed = [["rule", "grade", "what it is about"]]
    listed += [[f"`{rule.id}`", rule.grade, rule.about] for rule in TEXT_RULES]
    parts = ("Recognised requests", rows), ("False alarms", alarms), ("Honest work", work), ("Rules", listed)
    return "\n".join(f"### {title}\n\n{_table(content)}" for title, content in parts)


def _table(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def block(day: str) -> str:
    """The part of the page that is generated."""
    return f"{BEGIN}\nMeasured on {day} with the rules `{VERSION}`.\n\n{tables()}\n{END}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.text_rules", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables into the page")
    parser.add_argument("--check", action="store_true", help="exit with 1 when the page shows other figures")
    options = parser.parse_args(arguments)
    page = PAGE.read_text("utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    if options.write:
        PAGE.write_text(before + block(datetime.now(UTC).date().isoformat()) + after, "utf-8")
    elif options.check:
        day = re.search(r"^Measured on (\d{4}-\d{2}-\d{2}) ", page, re.MULTILINE)
        return 0 if day and page == before + block(day[1]) + after else 1
    else:
        print(tables())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
