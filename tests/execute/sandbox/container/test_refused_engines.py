"""B3: an engine that cannot do its part is refused once, before anything runs, by every command that would need it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import proctor.cli.run  # noqa: F401 - the ordinary user may not be able to read the interpreter
from proctor.base.errors import MissingIsolation
from proctor.cli.main import run_command
from proctor.execute.requirements import container_engine
from proctor.execute.sandbox.container.engine import find_socket
from tests.conduct.live import Proctor
from tests.execute.sandbox.container.test_engine_calls import ABLE, ONE, PING, answer, asked, with_images
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory
from tests.study.pilot.live import FIXER, IDLER, planned, write_pilot

UNABLE: dict[str, tuple[dict[str, Any], str]] = {
    "rootless": ({"SecurityOptions": ["name=rootless"]}, "it runs without root"),
    "rootless-podman": (
        {"SecurityOptions": ["name=seccomp,profile=default"], "Rootless": True},
        "it runs without root",
    ),
    "remapped": ({"SecurityOptions": ["name=userns"]}, "it maps users"),
    "unbounded": ({"MemoryLimit": False}, "no control group for MemoryLimit"),
}
AGENT = ("--agent", "command:true")

Engine = Callable[[dict[str, Any]], str]


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Starts an engine that says fixed things of itself and makes no containers; its socket."""
    answers: dict[str, bytes] = {"/_ping": PING}
    with open_directory() as top, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(top / "s"))
        (top / "s").chmod(0o666)
        listener.listen(8)

        def loop() -> None:
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                with link:
                    path = asked(link).split(b" ")[1].decode().partition("?")[0]
                    link.sendall(answers.get(path, answer(404, b'{"message": "no such page"}')))

        thread = threading.Thread(target=loop)
        thread.start()

        def start(about: dict[str, Any]) -> str:
            known = {"ServerVersion": "9.9", **ABLE, **about}
            answers.update({**with_images(("a", [ONE], {})), "/v1.41/info": answer(200, json.dumps(known).encode())})
            return str(top / "s")

        yield start
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)


def image_contracts(make_contract: Any, count: int) -> list[Path]:
    return [make_contract(f"c{n}", environment={"sandbox": "image", "image": ONE}) for n in range(count)]


def refused(done: subprocess.CompletedProcess[str], why: str, home: Path) -> None:
    """Exit code 3, one message that says why and what to do, and no run."""
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stderr.count(why) == 1 and "environment.sandbox: host" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not list((home / "runs").iterdir())


@pytest.mark.parametrize("case", UNABLE)
def test_an_engine_that_cannot_hold_sandboxes_is_refused_once(
    case: str, engine: Engine, proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    about, why = UNABLE[case]
    variables = {"DOCKER_HOST": f"unix://{engine(about)}"}
    contracts = image_contracts(make_contract, 2)
    home = tmp_path / "home"
    refused(proctor("run", *contracts, *AGENT, "-n", "3", **variables), why, home)
    refused(proctor("run", *contracts, "--agent", "noop", "-n", "3", **variables), why, home)
    refused(proctor("validate", *contracts, **variables), why, home)
    pilot = write_pilot(tmp_path, contracts, methods=[FIXER, IDLER])
    planned(proctor, pilot)
    refused(proctor("pilot", "run", pilot, **variables), why, home)
    told = proctor("doctor", **variables)
    assert why in told.stdout and "DOCKER_HOST" in told.stdout, "the engine is for images only, so the rest decides"


def test_a_remote_engine_is_refused_once(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contracts = image_contracts(make_contract, 2)
    variables = {"DOCKER_HOST": "tcp://192.0.2.1:2375"}
    why = "an engine elsewhere cannot show files of this machine"
    for command in (("run", *contracts, *AGENT, "-n", "3"), ("validate", *contracts)):
        refused(proctor(*command, **variables), why, tmp_path / "home")
    assert why in proctor("doctor", **variables).stdout
    with pytest.raises(MissingIsolation):
        find_socket(variables)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_is_told_at_the_start_that_only_root_can_watch(engine: Engine, make_contract: Any) -> None:
    """A member of the group docker: the engine serves, and no agent may act unwatched."""
    path = engine({})

    def look() -> None:
        contracts = make(top)
        os.environ |= {"DOCKER_HOST": f"unix://{path}", "PROCTOR_HOME": str(top / "home"), "HOME": str(top)}
        with redirect_stderr(StringIO()) as written:
            code = run_command(["run", *map(str, contracts), *AGENT, "-n", "3"])
        errors = written.getvalue()
        assert code == 3, errors
        assert errors.count("only root can watch an agent in a container") == 1 and "run proctor as root" in errors
        assert not list((top / "home/runs").iterdir())
        found = container_engine(os.environ)
        assert found.state == "reduced" and "only root" in found.detail

    def make(top: Path) -> list[Path]:
        return [top / f"contracts/c{n}" for n in range(2)]

    with open_directory() as top:
        make_contract.directory = top / "contracts"
        image_contracts(make_contract, 2)
        os.chown(top, ORDINARY, ORDINARY)
        as_ordinary_user(look)
