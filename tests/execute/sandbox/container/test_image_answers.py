"""B6: what an image holds of the answers to a task is found, refused, and not shown where the contract hides it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import MissingIsolation
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.images import members_of
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from tests.conduct.live import Proctor
from tests.execute.sandbox.container.small_image import Content, HardLink, Link, small_image
from tests.execute.sandbox.container.test_container import mounts_below
from tests.execute.sandbox.workplace import layer, open_directory, overlay, shell

pytestmark = pytest.mark.container

CHECK = {
    "id": "adds",
    "gate": "acceptance",
    "run": ["/bin/sh", "-c", "grep -q 'a + b' calc.py"],
    "timeout_seconds": 60,
}
OBJECT = ".git/objects/ab/" + "0" * 38


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


Make = Callable[..., Path]


@pytest.fixture
def contract(engine: str, make_contract: Any, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a contract on an image with the given files."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")

    def make(name: str, content: dict[str, Content], *, hide: tuple[str, ...] = (), **parts: Any) -> Path:
        (digest,) = small_image(engine, f"answers-{name}", content)
        environment = {"sandbox": "image", "image": digest, **({"hide": list(hide)} if hide else {})}
        made: Path = make_contract(name, environment=environment, checks=[CHECK], **parts)
        return made

    return make


def repository(top: Path) -> dict[str, Content]:
    """The files of a git repository whose last commit has the solution."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(top)]
    subprocess.run([*git, "init", "-q"], check=True)
    for text in ("return a - b", "return a + b"):
        (top / "calc.py").write_text(f"def add(a, b):\n    {text}\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", text], check=True)
    subprocess.run([*git, "checkout", "-q", "HEAD~1"], check=True)
    found = (path for path in top.rglob("*") if path.is_file())
    return {f"testbed/{path.relative_to(top)}": path.read_bytes() for path in found}


def test_git_history_with_the_fix_is_refused_until_it_is_hidden(
    contract: Make, proctor: Proctor, tmp_path: Path
) -> None:
    (tmp_path / "repository").mkdir()
    files = repository(tmp_path / "repository")
    shown = contract("shown", files)
    agent = "command:sh -c 'cat /testbed/.git/HEAD /testbed/.git/objects/*/* && sed -i s/-/+/ calc.py'"
    for command in (("lint", shown), ("lock", shown), ("validate", shown), ("run", shown, "--agent", agent)):
        done = proctor(*command)
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        assert "/testbed/.git holds git history" in done.stderr and "environment.hide" in done.stderr, done.stderr
        assert "contract.yaml:" in done.stderr
    assert not list((tmp_path / "home" / "runs").iterdir())
    hidden = contract("hidden", files, hide=("/testbed/.git",))
    assert proctor("lint", hidden).returncode == 0 and proctor("lock", hidden).returncode == 0
    done = proctor("run", hidden, "--agent", agent, "--json")
    (row,) = json.loads(done.stdout)["runs"]
    assert row["status"] == "failure", "nothing could be read, so nothing was changed"


SETUP = [{"run": "find /testbed/.git > /setup/seen; ! cat /opt/answer 2>/dev/null && touch /setup/refused"}]
CHECKED = {
    **CHECK,
    "run": ["/bin/sh", "-c", 'test -z "$(ls -A /testbed/.git)" && ! cat /opt/answer && cat /setup/seen'],
}


def test_setup_and_checks_do_not_see_it_either(contract: Make, proctor: Proctor) -> None:
    files: dict[str, Content] = {f"testbed/{OBJECT}": b"x", "opt/answer": b"secret", "opt/other": b""}
    made = contract("everywhere", files, hide=("/testbed/.git", "/opt/ans*"), setup=SETUP)
    text = json.loads((made / "contract.yaml").read_text())
    text["checks"] = [{**CHECKED, "id": "unseen"}, {**CHECK, "id": "adds"}]
    (made / "contract.yaml").write_text(json.dumps(text))
    done = proctor("validate", made, "--times", "1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_hidden_is_empty_and_unreadable(engine: str, top: Path) -> None:
    files: dict[str, Content] = {
        f"testbed/{OBJECT}": b"object",
        "opt/a/deep/answer.txt": b"secret",
        "opt/b/answer.txt": b"secret",
        "opt/b/kept.txt": b"kept",
        "opt/odd: name/x": b"secret",
        "opt/link": Link("/opt/b/answer.txt"),
    }
    image = small_image(engine, "answers-hide", files)
    hide = ("/testbed/.git", "/opt/**/answer.txt", "/opt/odd*", "/opt/absent")
    backend = ContainerBackend(top / "sessions", engine, image, hide)
    plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())
    with backend.open(plan) as sandbox:
        assert shell(sandbox, "find /testbed -type f; ls -A /testbed/.git '/opt/odd: name'").stdout.prefix == (
            b"/opt/odd: name:\n\n/testbed/.git:\n"
        )
        for path in ("/opt/a/deep/answer.txt", "/opt/b/answer.txt", "/opt/link"):
            finished = shell(sandbox, f"cat {path}; wc -c < {path}; echo x > {path}")
            assert finished.stdout.prefix == b"" and b"ermission denied" in finished.stderr.prefix
        assert shell(sandbox, "cat /opt/b/kept.txt").stdout.prefix == b"kept"
        assert (
            b"secret" not in shell(sandbox, "umount /opt/b/answer.txt; cat /opt/b/* /proc/1/root/opt/b/*").stdout.prefix
        )
    assert mounts_below(top) == []
    # resolved once: a second backend does not export the image again
    again = ContainerBackend(top / "sessions", engine, image, hide)
    again._engine.receive_file = None  # type: ignore[method-assign,assignment]
    with again.open(SandboxPlan(overlay(top / "other", layer(top / "more")), Limits())) as sandbox:
        assert shell(sandbox, "ls -A /testbed/.git").stdout.prefix == b""


HIDDEN = "import calc\nassert calc.add(20, 22) == 42\nassert calc.add(-7, 7) == 0\nassert calc.add(100, 1) == 101\n"
FIXED = "def add(a, b):\n    return a + b\n"


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("opt/eval/check_hidden.py", HIDDEN, "/opt/eval/check_hidden.py contains the hidden test tests/test_more.py"),
        ("opt/src/calc.py", FIXED, "/opt/src/calc.py contains the solution of calc.py"),
        ("srv/mirror/objects/pack/pack-1234.pack", "PACK", "/srv/mirror holds git history"),
        ("srv/backup", "# v2 git bundle\nx", "/srv/backup holds git history: a bundle"),
        ("usr/lib/python3/dist-packages/calculator-9.0.dist-info/METADATA", "Name: calculator\nVersion: 9.0\n", "9.0"),
    ],
    ids=("hidden-test", "solution", "bare-objects", "bundle", "other-version"),
)
def test_answers_of_other_kinds_are_found(
    contract: Make, proctor: Proctor, path: str, content: str, found: str
) -> None:
    hidden = [{"from": "hidden"}]
    made = contract(
        "kinds", {path: content.encode()}, files={"pyproject.toml": '[project]\nname = "calculator"\nversion = "1.0"\n'}
    )
    (made / "hidden/tests").mkdir(parents=True)
    (made / "hidden/tests/test_more.py").write_text(HIDDEN)
    text = json.loads((made / "contract.yaml").read_text())
    text["checks"] = [{**CHECK, "hidden": hidden}]
    (made / "contract.yaml").write_text(json.dumps(text))
    done = proctor("lint", made)
    assert done.returncode == 2 and found in done.stderr, done.stdout + done.stderr
    text["environment"]["hide"] = ["/" + path]
    (made / "contract.yaml").write_text(json.dumps(text))
    done = proctor("lint", made)
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_name_of_a_hidden_file_is_found(contract: Make, proctor: Proctor) -> None:
    files: dict[str, Content] = {"opt/calc.py": FIXED.encode(), "srv/calc.py": HardLink("opt/calc.py")}
    done = proctor("lint", contract("names", files, hide=("/opt/calc.py",)))
    assert done.returncode == 2 and "/srv/calc.py contains the solution" in done.stderr, done.stderr


def test_a_link_where_the_sandbox_mounts_is_refused_once(contract: Make, proctor: Proctor, tmp_path: Path) -> None:
    files: dict[str, Content] = {"data/x": b"", "workspace": Link("/data")}
    made = contract("linked", files)
    done = proctor("run", made, "--agent", "noop", "-n", "3")
    assert done.returncode == 2 and done.stderr.count("/workspace is a link to /data") == 1, done.stderr
    assert not list((tmp_path / "home" / "runs").iterdir())


def test_a_link_above_the_home_does_not_lead_into_the_host(engine: str, top: Path) -> None:
    (top / "host/agent").mkdir(parents=True)
    image = small_image(engine, "answers-home", {"home": Link(f"{top}/host"), f"{top}/host/agent/x".lstrip("/"): b""})
    plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), files={"/home/agent/.ssh/id": b"canary"})
    with pytest.raises(MissingIsolation, match="home is a link"):
        ContainerBackend(top / "sessions", engine, image).open(plan)
    assert list((top / "host/agent").iterdir()) == [] and (top / "host/agent").stat().st_uid == 0


def test_the_engine_keeps_nothing_of_an_export(engine: str, top: Path) -> None:
    image = small_image(engine, "answers-export", {"opt/x": b"1"})
    backend = ContainerBackend(top / "sessions", engine, image)
    backend.export(top / "image.tar")
    assert ("/opt/x", False) in list(members_of(top / "image.tar"))
    assert list((top / "sessions").iterdir()) == []
