"""A list is written into a contract without losing a comment, whatever style the contract is written in."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from proctor.author.contract_edit import with_field

BLOCK = """\
# head
checks:
  - id: first   # the first
    run: |
      true
  # about the second
  - id: tests
    must_pass:      # what is mended
      - a
      - b
    # about the seed
    layer: unit
other: 1  # tail
"""


@pytest.mark.parametrize(
    ("text", "index", "field", "value", "wanted"),
    [
        (BLOCK, 1, "layer", "e2e", BLOCK.replace("layer: unit", 'layer: "e2e"')),
        (BLOCK, 1, "mandatory", False, BLOCK.replace("layer: unit\n", "layer: unit\n    mandatory: false\n")),
        (BLOCK, 0, "mandatory", False, BLOCK.replace("      true\n", "      true\n    mandatory: false\n")),
        ("checks: [{id: a, x: [1,\n 2]}] # c", 0, "x", {"file": "f"}, 'checks: [{id: a, x: {"file":"f"}}] # c'),
        ("checks: [{id: a}] # c\n", 0, "x", 1, 'checks: [{id: a, "x": 1}] # c\n'),
        ("checks:\n- {id: a}\n- id: b", 1, "x", 1, "checks:\n- {id: a}\n- id: b\n  x: 1"),
    ],
)
def test_nothing_but_the_value_changes(text: str, index: int, field: str, value: Any, wanted: str) -> None:
    assert with_field(text, ("checks", index), field, value) == wanted


def test_a_list_over_lines_is_replaced_and_the_comments_around_it_stay() -> None:
    changed = with_field(BLOCK, ("checks", 1), "must_pass", {"file": "must_pass.txt"})
    assert changed is not None
    assert yaml.safe_load(changed)["checks"][1]["must_pass"] == {"file": "must_pass.txt"}
    for comment in ("# head", "# the first", "# about the second", "# about the seed", "# tail"):
        assert comment in changed


def test_what_would_change_more_is_not_done() -> None:
    assert with_field("checks: [{id: a # a comment before the end\n}]", ("checks", 0), "y", 1) is None
