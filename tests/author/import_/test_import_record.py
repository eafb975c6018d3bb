"""The records of an import: bounded, canonical, and every code with its sentence."""

from __future__ import annotations

import json

from proctor.author.import_.import_record import LOSSES, REFUSALS, ImportedTask, Losses, listed, shown
from proctor.present.import_sentences import LOSSES as LOSS_SENTENCES
from proctor.present.import_sentences import REFUSALS as REFUSAL_SENTENCES
from proctor.present.import_sentences import sentence


def test_every_code_has_one_sentence() -> None:
    assert REFUSAL_SENTENCES.keys() == REFUSALS
    assert LOSS_SENTENCES.keys() == LOSSES
    assert not REFUSALS & LOSSES
    assert sentence("network", "") == "the network: tests run offline"
    assert sentence("no-image", "a:1").endswith("(a:1)")


def test_a_line_has_kind_and_schema_and_leaves_out_what_is_empty() -> None:
    losses = Losses()
    losses.add("build", "make\nall")
    losses.add("build", "make all")
    task = ImportedTask(format="harbor", task="a", source="b", status="written", contract="c", losses=losses.all())
    assert json.loads(task.line()) == {
        "kind": "proctor.import",
        "schema": 1,
        "format": "harbor",
        "task": "a",
        "source": "b",
        "status": "written",
        "contract": "c",
        "losses": [{"code": "build", "detail": "make all"}],
    }


def test_texts_of_strangers_are_bounded_and_on_one_line() -> None:
    assert shown("a\n\x1b[31mb\u202ec") == "a [31mb c"
    assert len(shown("x" * 10_000)) == 300
    assert listed([str(n) for n in range(9)]) == "0, 1, 2, 3, 4 and 4 more"
    losses = Losses()
    for number in range(500):
        losses.add("field", str(number))
    assert len(losses.all()) == 100
