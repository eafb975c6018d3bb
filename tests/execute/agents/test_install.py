"""Installing agents: small releases from the real registries, locked, laid out for the sandbox, found again."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.execute.agents.adapters.interface import Adapter, Launch, Recipe, node_program, python_program
from proctor.execute.agents.install.agent_lock import AgentLock, Release, read_lock
from proctor.execute.agents.install.agent_store import AgentStore, pins_all
from proctor.execute.agents.install.pip_install import interpreter_of
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.interface import DigestMismatch, NoSuchInput
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Command, Limits, SandboxPlan
from proctor.execute.workspace.layer_store import DamagedLayer
from tests.execute.sandbox.workplace import VARIABLES, layer, open_directory, overlay

ADAPTER = Adapter(
    name="small",
    description="a stand-in",
    recipe=Recipe("pypi", ("six==1.17.0",)),
    dialects=("chat",),
    trajectory=("notes",),
    launch=lambda order: Launch(("/bin/true",)),
)
PYPI = ADAPTER
NPM = replace(ADAPTER, name="smaller", recipe=Recipe("npm", ("is-number@7.0.0",)))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> AgentStore:
    return store_at(tmp_path_factory.mktemp("home"))


def store_at(home: Path) -> AgentStore:
    return AgentStore(home / "agents", InputCache(home / "inputs"))


def quiet(words: str) -> None:
    pass


def inside(store: AgentStore, adapter: Adapter, arguments: tuple[str, ...]) -> str:
    """What a command prints in a sandbox that shows the installation."""
    found = store.get(adapter.name)
    assert found is not None
    with open_directory() as top:
        plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), found.mounts())
        with BubblewrapBackend(top / "sessions").open(plan) as box:
            done = box.run(Command(arguments, VARIABLES))
            assert done.exit_code == 0, done.problem or done.stderr.prefix.decode()
            return done.stdout.prefix.decode()


@pytest.mark.corpus
def test_an_agent_from_pypi_works_inside_and_changes_no_other_python(store: AgentStore) -> None:
    found = store.install(PYPI, quiet)
    assert [(one.name, one.version) for one in found.lock.releases] == [("six", "1.17.0")]
    script = "import six, sys; print(six.__version__, six.__cached__.startswith('/opt/agent/'), sys.executable)"
    python = python_program("six")[0]
    assert inside(store, PYPI, (python, "-I", "-c", script)) == "1.17.0 True /opt/agent/bin/python\n"
    other = "import sys; print(any('/opt' in path for path in sys.path))"
    assert inside(store, PYPI, ("/usr/bin/python3", "-c", other)) == "False\n"


@pytest.mark.corpus
def test_an_agent_from_npm_works_inside_with_a_node_of_its_own(store: AgentStore) -> None:
    found = store.install(NPM, quiet)
    assert found.lock.releases[0].digest.startswith("sha512-")
    assert found.node is not None and found.lock.node is not None
    node, module = node_program("is-number")
    script = f"console.log(require({module!r})('7'), process.version)"
    assert inside(store, NPM, (node, "-e", script)) == f"true v{found.settings()['node']}\n"
    assert "resolved" not in json.dumps(found.lock.payload())


@pytest.mark.corpus
def test_an_installed_agent_is_found_and_not_asked_for_again(store: AgentStore) -> None:
    said: list[str] = []
    first = store.install(PYPI, quiet)
    assert store.install(PYPI, said.append) == first
    assert said == []
    assert store.get("small") == first
    store.check(first, full=True)


@pytest.mark.corpus
def test_the_same_lock_gives_the_same_layer_elsewhere(store: AgentStore, tmp_path: Path) -> None:
    first = store.install(PYPI, quiet)
    lock = read_lock(json.loads(json.dumps(first.lock.payload())), "here")
    assert lock == first.lock
    second = store_at(tmp_path).install(PYPI, quiet, lock)
    assert second.layer.entries_digest == first.layer.entries_digest


@pytest.mark.corpus
def test_a_release_with_other_bytes_than_the_lock_says_is_refused(store: AgentStore, tmp_path: Path) -> None:
    lock = store.install(PYPI, quiet).lock
    forged = replace(lock, releases=(replace(lock.releases[0], digest="sha256:" + "0" * 64),))
    elsewhere = store_at(tmp_path)
    with pytest.raises(DigestMismatch, match="digest differs from the lock"):
        elsewhere.install(PYPI, quiet, forged)
    assert elsewhere.get("small") is None


@pytest.mark.corpus
def test_a_package_with_other_bytes_than_the_lock_says_is_refused(store: AgentStore, tmp_path: Path) -> None:
    lock = store.install(NPM, quiet).lock
    document = json.loads(json.dumps(dict(lock.document)))
    document["packages"]["node_modules/is-number"]["integrity"] = "sha512-" + "A" * 86 + "=="
    with pytest.raises(DigestMismatch, match="digest differs from the lock"):
        store_at(tmp_path).install(NPM, quiet, replace(lock, document=document))


@pytest.mark.corpus
def test_npm_must_install_what_the_lock_says(store: AgentStore, tmp_path: Path) -> None:
    lock = store.install(NPM, quiet).lock
    document = json.loads(json.dumps(dict(lock.document)))
    document["packages"]["node_modules/left-pad"] = {"version": "1.3.0", "integrity": "sha512-x"}
    with pytest.raises(DigestMismatch, match="not in the lock"):
        store_at(tmp_path).install(NPM, quiet, replace(lock, document=document))


@pytest.mark.corpus
@pytest.mark.parametrize(
    "recipe", [Recipe("pypi", ("six==999.0",)), Recipe("npm", ("is-number@999.0.0",))], ids=["pypi", "npm"]
)
def test_a_release_that_does_not_exist_is_one_message(tmp_path: Path, recipe: Recipe) -> None:
    store = store_at(tmp_path)
    with pytest.raises(NoSuchInput, match=r"999\.0|no wheels"):
        store.install(replace(ADAPTER, recipe=recipe), quiet)
    assert store.get("small") is None


@pytest.mark.corpus
def test_a_changed_layer_is_noticed_and_a_removed_one_comes_back(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    found = store.install(PYPI, quiet)
    (six,) = found.layer.path.rglob("six.py")
    six.write_text("changed")
    with pytest.raises(DamagedLayer):
        store.check(found, full=True)
    with found.held():
        assert store.remove_all() == ((), (found.layer.key,))
    assert store.remove_all() == ((found.layer.key,), ())
    assert store.get("small") is None
    assert store.install(PYPI, quiet).layer.entries_digest == found.layer.entries_digest


@pytest.mark.corpus
def test_a_pure_release_without_a_wheel_is_taken_as_it_is(tmp_path: Path) -> None:
    recipe = Recipe("pypi", ("func-timeout==4.3.5",), plain=("func-timeout==4.3.5",))
    adapter, store = replace(ADAPTER, recipe=recipe), store_at(tmp_path / "one")
    first = store.install(adapter, quiet)
    script = "import func_timeout; print(func_timeout.func_timeout(5, lambda: 7))"
    assert inside(store, adapter, (python_program("x")[0], "-I", "-c", script)) == "7\n"
    assert not list(first.layer.path.rglob("setup.py"))
    assert store_at(tmp_path / "two").install(adapter, quiet).lock == first.lock


def test_a_lock_of_another_agent_is_refused(tmp_path: Path) -> None:
    lock = AgentLock("other", "1.0", "pypi", (Release("six", "1.17.0", "sha256:0"),))
    with pytest.raises(UsageFault, match="is for other"):
        store_at(tmp_path).install(PYPI, quiet, lock)


@pytest.mark.parametrize(
    "value", [None, [], {}, {"kind": "proctor.agent-lock", "schema": 1}, {"kind": "x", "schema": 1}]
)
def test_what_is_no_lock_is_refused(value: object) -> None:
    with pytest.raises(UsageFault, match="not a lock of an agent"):
        read_lock(value, "here")


SOUND = AgentLock("small", "1.0", "pypi", (Release("six", "1.17.0", "sha256:" + "0" * 64),))
PACKAGE = {"version": "7.0.0", "integrity": "sha512-" + "A" * 86 + "==", "dependencies": {"a": "^1.0.0 || ~2"}}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"releases": [["--no-binary=:all:\nsix", "1.0", SOUND.releases[0].digest]]}, "--no-binary"),
        ({"releases": [["six", "1.0 --index-url=http://a", SOUND.releases[0].digest]]}, "--index-url"),
        ({"releases": [["six", "1.0", "sha256:0\n-e ."]]}, "-e"),
        ({"releases": []}, "no releases"),
        ({"version": "../../outside"}, "outside"),
        ({"python": "/../../tmp/x"}, "tmp"),
        ({"node": ["node.whl", "../x"]}, "../x"),
    ],
    ids=["option-as-name", "option-in-version", "option-in-digest", "empty", "version-up", "python-up", "node-up"],
)
def test_a_lock_that_hides_words_for_a_client_is_refused(fields: dict[str, object], word: str) -> None:
    assert read_lock(SOUND.payload(), "here") == SOUND
    with pytest.raises(UsageFault, match="a lock of an agent cannot contain") as refused:
        read_lock({**SOUND.payload(), **fields}, "here")
    assert word in refused.value.message


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        ("node_modules/a", {"resolved": "git+ssh://git@a.example/a.git"}),
        ("node_modules/a", {"integrity": ""}),
        ("node_modules/a", {"link": True}),
        ("node_modules/a", {"dependencies": {"b": "git+https://a.example/b.git"}}),
        ("node_modules/a", {"optionalDependencies": {"b": "owner/repository"}}),
        ("../outside", {}),
        ("", {"dependencies": {"a": "file:/etc"}}),
    ],
    ids=["address", "no-digest", "link", "git", "github", "outside", "root-file"],
)
def test_a_lock_that_leads_npm_elsewhere_is_refused(place: str, fields: dict[str, object]) -> None:
    alias = {"c": "npm:@a/c@7.0.0-linux"}
    sound = {"": {"dependencies": {"a": "7.0.0", **alias}}, "node_modules/a": PACKAGE}
    lock = replace(SOUND, registry="npm", document={"packages": sound})
    assert read_lock(lock.payload(), "here") == lock
    hostile = {**sound, place: {**PACKAGE, **fields}}
    with pytest.raises(UsageFault, match="a lock of an agent cannot contain"):
        read_lock(replace(lock, document={"packages": hostile}).payload(), "here")


@pytest.mark.parametrize(
    ("packages", "again"),
    [
        (("agent==1.0",), False),
        (("agent==1.0", "A_Helper[extra]==2.0"), False),
        (("agent==1.0", "a-helper==2.1"), True),
        (("agent==1.0", "a-helper==2.0", "more==1.0"), True),
    ],
)
def test_an_adapter_that_pins_another_package_is_not_content_with_its_earlier_lock(
    packages: tuple[str, ...], again: bool
) -> None:
    releases = (Release("agent", "1.0", "sha256:" + "0" * 64), Release("a.helper", "2.0", "sha256:" + "1" * 64))
    lock = AgentLock("small", "1.0", "pypi", releases)
    assert pins_all(Recipe("pypi", packages), lock) is not again


def test_a_damaged_record_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "small.json").write_text("{")
    with pytest.raises(UsageFault, match="damaged"):
        store_at(tmp_path).get("small")


def test_a_python_that_is_not_here_is_asked_for(tmp_path: Path) -> None:
    adapter = replace(ADAPTER, recipe=Recipe("pypi", ("six==1.17.0",), python="3.99"))
    with pytest.raises(InfrastructureFault, match=r"needs Python 3\.99"):
        store_at(tmp_path).install(adapter, quiet)


Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_the_command_line_lists_and_shows_agents(proctor: Proctor) -> None:
    rows = json.loads(proctor("agents", "list", "--json").stdout)["agents"]
    assert rows == json.loads(proctor("agents", "--json").stdout)["agents"]
    found = {row["kind"]: row for row in rows}
    assert found["codex"]["from"] == "npm" and found["codex"]["installed"] == ""
    assert {"builtin", "endpoint", "acp"} <= set(found)
    shown = json.loads(proctor("agents", "show", "opencode", "--json").stdout)
    assert shown["acp"] and shown["installed"] is None
    assert "installed:   no" in proctor("agents", "show", "codex").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agents", "install", "nobody"), "there is no agent 'nobody'"),
        (("agents", "show", "nobody"), "there is no agent 'nobody'"),
        (("agents", "show", "codex", "--lock"), "codex is not installed"),
        (("agents", "install", "codex", "--lock", "lock.json"), "not a lock of an agent"),
        (("agents", "install", "codex", "pi", "--lock", "list.json"), "not a lock"),
        (("agents", "install", "codex", "--lock", "broken.json"), "cannot be read"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_message(
    proctor: Proctor, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "lock.json").write_text("{}")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "broken.json").write_text("{")
    done = proctor(*arguments)
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr


def test_a_python_of_pyenv_serves_where_the_path_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim, real = tmp_path / "shims" / "python3.98", tmp_path / "versions" / "3.98.1" / "bin" / "python3.98"
    for path, code in ((shim, 127), (real, 0)):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\nexit {code}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert interpreter_of("3.98") == str(real)
    with pytest.raises(InfrastructureFault, match=r"needs Python 3\.99"):
        interpreter_of("3.99")
