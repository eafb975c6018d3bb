"""By which rules a report was computed, as one digest: the rule files, and a number for rules that are code.

A report of the same evidence is the same, byte for byte, as long as this digest is. Whoever changes code so that a
report, a briefing, a finding, an alert or a cost of the same evidence changes raises :data:`REVISION`; the runs under
``tests/corpus`` show when that is due.
"""

from __future__ import annotations

from functools import cache

from proctor.base.canonical import digest, sha256
from proctor.judge.indicators import RULES as RISKS
from proctor.judge.rubric import RUBRIC
from proctor.judge.taxonomy import PATH as TAXONOMY
from proctor.record.secrets import RULES as SECRETS

REVISION = 1
FILES = {"risks": RISKS, "rubric": RUBRIC, "secrets": SECRETS, "taxonomy": TAXONOMY}


@cache
def rules_digest() -> str:
    """The digest of the rules that hold now."""
    return digest({"revision": REVISION, **{name: sha256(path.read_bytes()) for name, path in FILES.items()}})
