"""What the linter says about the words of a task: what two readers may understand differently. Pure.

A list of words cannot tell a clear text from an unclear one; everything here is advice, with the place in the issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from proctor.contract.kinds import quoted
from proctor.contract.model import Contract

_VAGUE = (
    *("somehow", r"etc\.?", "and so on", "as appropriate", "if necessary", "if needed", "if possible", "as needed"),
    *("reasonabl[ey]", "sensibl[ey]", "properly", "correctly", "nicely", "better", "some kind of", "or similar"),
    *("or something", "maybe", "perhaps", "probably", "ideally", "TODO", "TBD", "FIXME"),
)
VAGUE = re.compile(rf"\b(?:{'|'.join(_VAGUE)})(?!\w)", re.IGNORECASE)
CHOICE = re.compile(r"\b(?:either|and/or)\b", re.IGNORECASE)
MOST = 5

Told = tuple[str, int, int, str]
"""The file, the line and the column of a remark, and its words."""


def remarks_on_words(contract: Contract) -> Iterator[Told]:
    """What in the issue may mean several things, and targets that the issue never leads to."""
    text, file = contract.task.issue_text, contract.task.issue.path
    found = [
        *(
            (one, f"{quoted(one[0])} is vague: say what must hold, or list it under ambiguities")
            for one in _in(VAGUE, text)
        ),
        *((one, f"{quoted(one[0])} leaves a choice: say which, or that both are right") for one in _in(CHOICE, text)),
    ]
    for one, words in sorted(found, key=lambda pair: pair[0].start())[:MOST]:
        start = text.rfind("\n", 0, one.start()) + 1
        yield file, text.count("\n", 0, one.start()) + 1, one.start() - start + 1, words
    if not re.search(r"[`'\"]|^\s{4}\S", text, re.MULTILINE):
        yield file, 1, 1, "no example: show an input and what has to come of it"


def _in(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Where ``pattern`` stands outside of code."""
    code = [found.span() for found in re.finditer(r"```.*?```|`[^`\n]*`|^ {4}.*$", text, re.DOTALL | re.MULTILINE)]
    return [one for one in pattern.finditer(text) if not any(start <= one.start() < end for start, end in code)]
