"""The ladder, and the desk at which a sandbox asks: what comes in is one bounded word, whoever sends it."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from proctor.execute.sandbox import stage_change_server
from proctor.execute.sandbox.interface import Mount
from proctor.execute.sandbox.stage_change_server import CLIENT, Reply, StageServer, StageStep, next_stage
from tests.execute.monitor.sensors.scene import both_users, scene
from tests.execute.sandbox.workplace import python, shell


@pytest.mark.parametrize(
    ("current", "word", "found"),
    [
        ("inspect", "next", StageStep("write")),
        ("inspect", "write", StageStep("write")),
        ("inspect", "test", StageStep("test", ("write",))),
        ("write", "next", StageStep("test")),
        ("test", "next", StageStep("test")),
        ("test", "inspect", StageStep("inspect")),
        ("write", "write", StageStep("write")),
    ],
)
def test_where_a_word_leads(current: str, word: str, found: StageStep) -> None:
    assert next_stage(current, word) == found


@pytest.mark.parametrize("word", ["root", "Write", "write ", "inspect\0write", "x" * 64])
def test_nonsense_leads_nowhere(word: str) -> None:
    assert next_stage("inspect", word).to == "" and "no such stage" in next_stage("inspect", word).refusal


def test_the_client_asks_from_inside_and_says_the_answer() -> None:
    def go() -> None:
        asked: list[str] = []

        def answer(word: str) -> Reply:
            asked.append(word)
            return Reply(word == "write", f"you said {word[:20]!r}")

        with ExitStack() as opened:
            desks: list[StageServer] = []

            def mounts(top: Path) -> tuple[Mount, ...]:
                desks.append(opened.enter_context(StageServer(top / "desk", answer)))
                return desks[0].mounts

            at = opened.enter_context(scene(mounts=mounts))
            granted = shell(at.box, f"{CLIENT} write")
            assert (granted.exit_code, granted.stdout.prefix) == (0, b"you said 'write'\n")
            refused = shell(at.box, f"{CLIENT} nonsense")
            assert (refused.exit_code, refused.stderr.prefix) == (1, b"you said 'nonsense'\n")
            assert shell(at.box, f"{CLIENT} a b").exit_code == 2
            assert shell(at.box, f"{CLIENT} $(head -c 5000 /dev/zero | tr '\\0' x)").exit_code == 1
            assert shell(at.box, f"rm -f {CLIENT} /proctor/ask; echo x > /proctor/ask").exit_code != 0
            silent = (
                "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect('/proctor/ask')"
            )
            assert python(at.box, silent).exit_code == 0
            assert python(at.box, silent + "; s.send(b'\\xff\\x00\\n'); s.close()").exit_code == 0
            assert shell(at.box, CLIENT).exit_code == 1, "the desk goes on after those who do not listen"
            assert asked[:2] == ["write", "nonsense"] and asked[2] == "x" * 65 and asked[-1] == ""

    both_users(go)


def test_who_asks_very_often_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_change_server, "PROMPT_REQUESTS", 3)
    waits: list[float] = []
    with StageServer(tmp_path / "desk", lambda word: Reply(True, "yes")) as desk:

        def wait(seconds: float) -> bool:
            waits.append(seconds)
            return False

        monkeypatch.setattr(desk._stopping, "wait", wait)
        for _ in range(5):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
                asking.connect(str(tmp_path / "desk" / "ask"))
                asking.send(b"next\0")
                assert asking.recv(100) == b"+yes"
        assert waits == [stage_change_server.DELAY_SECONDS] * 2


def test_a_desk_that_is_closed_answers_nobody(tmp_path: Path) -> None:
    with StageServer(tmp_path / "desk", lambda word: Reply(True, "yes")):
        pass
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking, pytest.raises(ConnectionRefusedError):
        asking.connect(str(tmp_path / "desk" / "ask"))
