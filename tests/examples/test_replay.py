"""Every run of the example corpus gives the recorded outcome when it is repeated, at every depth that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.test_examples import each, proctor_says, require_validated

# the end of a pipe reads all of it: where it leaves early, chance decides whether what writes to it is ended
WORDS = "ls -la; date; echo $$ >&2; grep -rnc . . | sort | tail -n 40; echo one > note.txt; chmod 755 note.txt"
PROGRAM = f"command:sh -c '{WORDS}'"
# the second call waits until its file was seen: an agent that edits it faster is beyond what can be repeated
TURNS = """\
schema: 1
turns:
  - calls:
    - {tool: run, arguments: {command: "ls; date; du -a . | tail -n 3; grep -rc the . | sort | tail -n 20"}}
    - {tool: run, arguments: {command: "printf 'one\\ntwo\\n' > note.txt && sleep 2; cat note.txt missing.txt"}}
  - {call: {tool: edit, arguments: {path: note.txt, old: two, new: three}}}
  - {call: {tool: run, arguments: {command: "cat note.txt; sleep 2; date >&2; cat missing.txt"}}}
  - say: "Nothing is solved."
"""

TIMES = 3
"""How often in a row every example must decide as it should."""


def same(run: Path | str, depth: str) -> None:
    """Replays must say that everything ran as recorded."""
    code, told = proctor_says("replay", run, depth)
    assert code == 0, told


@pytest.mark.soak
@pytest.mark.corpus
@each
def test_the_no_op_and_the_reference_are_judged_the_same_every_time_and_again(example: Path) -> None:
    for run in require_validated(example, TIMES)[-2:]:
        same(run, "--breakers")
        code, told = proctor_says("replay", run, "--acceptance")
        assert (code, told["same"], told["base"]) == (0, True, []) and len(told["checks"]) >= 2


@pytest.mark.soak
@pytest.mark.corpus
@each
def test_a_program_does_the_same_again(example: Path) -> None:
    _, told = proctor_says("run", example, "--agent", PROGRAM)
    (run,) = told["runs"]
    for depth in ("--breakers", "--acceptance", "--tools"):
        same(run["run"], depth)


@pytest.mark.soak
@pytest.mark.corpus
@each
def test_an_agent_with_a_model_does_the_same_again(example: Path, tmp_path: Path) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text(TURNS)
    _, told = proctor_says("run", example, "--agent", "builtin", "--model", "scripted/any", "--script", script)
    (run,) = told["runs"]
    for depth in ("--breakers", "--acceptance", "--tools", "--model"):
        same(run["run"], depth)
