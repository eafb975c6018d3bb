"""One digest for the rules by which a report was computed: the rule files, and a number for the rules in code.

With the same digest, the same evidence gives the same report, byte for byte. Raise :data:`REVISION` with every change
to the code after which the same evidence gives another report, briefing, finding, alert or cost. The runs under
``tests/corpus`` show when this is necessary.
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
    """The digest of the current rules."""
    return digest({"revision": REVISION, **{name: sha256(path.read_bytes()) for name, path in FILES.items()}})
