"""Layers on disk, each made once and found by its key; the inventory of everything in a layer gives its digest."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse, sha256
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.base.untrusted_directories import (
    digest_file,
    directory_at,
    erase,
    file_mode,
    in_reach,
    join,
    names_in,
    status_of,
)
from proctor.execute.sandbox.interface import Sealed, owner
from proctor.execute.workspace.file_tree import cursor_below
from proctor.execute.workspace.layer_stack import is_opaque, is_whiteout

SAMPLE = 48


@dataclass(frozen=True)
class Inventory:
    """The digest over everything in a layer, and the paths whose state is compared by the cheap check."""

    digest: str
    sample: tuple[bytes, ...]


def take_inventory(root: Path) -> Inventory:
    """Digest everything below ``root``."""
    lines = sorted((path, _line(directory, name, status)) for path, directory, name, status in _walk(root))
    state = hashlib.sha256(b"proctor layer 1\n")
    for path, line in lines:
        state.update(b"%d %s %s\n" % (len(path), path, line))
    return Inventory("sha256:" + state.hexdigest(), _sample([path for path, _ in lines]))


def sample_state(root: Path, sample: list[bytes] | tuple[bytes, ...]) -> bytes | None:
    """The state of the sampled paths, to be compared later; ``None`` if one no longer exists."""
    lines: list[str] = []
    for path in sample:
        try:
            status = os.lstat(os.path.join(os.fsencode(root), path))
        except OSError:
            return None
        lines.append(" ".join(str(fact) for fact in _state(status)))
    return "\n".join(lines).encode()


def whole_state(root: Path) -> str:
    """A digest over the state of a file, or of a directory and everything below it. No file is read, so it is cheap.

    Any change gives another one, also a change that was undone, because no user can set the time of a change.
    """
    found = [(b"", _state(os.lstat(root)))]
    if root.is_dir():
        found += sorted((path, _state(status)) for path, _, _, status in _walk(root))
    state = hashlib.sha256()
    for path, facts in found:
        state.update(b"%d %s %s\n" % (len(path), path, repr(facts).encode()))
    return "sha256:" + state.hexdigest()


def _state(status: os.stat_result) -> tuple[int, ...]:
    """What would betray a change. Whiteouts share one inode with others elsewhere, so only their kind counts."""
    if is_whiteout(status):
        return (status.st_mode,)
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return status.st_mode, status.st_uid, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, size


def hand_over(root: Path, owner: tuple[int, int]) -> None:
    """Give everything below ``root`` to ``owner``, where the harness may do that; permissions stay."""
    if os.geteuid() != 0:
        return
    os.chown(root, *owner, follow_symlinks=False)
    for _, directory, name, status in _walk(root):
        if (status.st_uid, status.st_gid) != owner:
            os.chown(name, *owner, dir_fd=directory, follow_symlinks=False)


def _walk(root: Path) -> Iterator[tuple[bytes, int, bytes, os.stat_result]]:
    """Everything below ``root``: its path, its open parent directory, its name there and its status."""
    waiting = [b""]
    with cursor_below(root) as trail:
        while waiting:
            path = waiting.pop()
            directory = trail.at(path)
            for name in names_in(directory):
                inner = join(path, name)
                status = status_of(directory, name)
                if status is None or not in_reach(inner):
                    continue
                yield inner, directory, name, status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(inner)


def _line(directory: int, name: bytes, status: os.stat_result) -> bytes:
    """What one name adds to the digest."""
    kind = b"%o" % status.st_mode
    if stat.S_ISDIR(status.st_mode):
        with directory_at(directory, name) as inner:
            return kind + (b" opaque" if is_opaque(inner) else b"")
    mode = file_mode(status)
    if mode is None:
        return b"%s %d" % (kind, status.st_rdev)
    return b"%s %s" % (kind, digest_file(directory, name, mode).encode())


def _sample(paths: list[bytes]) -> tuple[bytes, ...]:
    """The two tops of a layer and evenly spread paths below them."""
    short = [path for path in paths if len(path) < 1000]
    step = max(1, len(short) // SAMPLE)
    chosen = {path for path in short if b"/" not in path} | set(short[::step][:SAMPLE])
    return tuple(sorted(chosen))


_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}\Z")
_RECORD_BYTES = 16 << 20
_BUILDING = ".building-"


class DamagedLayer(InfrastructureFault):
    """A cached layer is not what it was when it was made."""


@dataclass(frozen=True)
class Layer:
    """One layer: ``path`` holds ``workspace`` and ``setup``; ``facts`` are what its builder noted."""

    path: Path
    key: str
    entries_digest: str
    fingerprint: str
    facts: Mapping[str, Any]
    sample: tuple[str, ...] = ()
    state: str = ""

    def seal(self) -> Sealed:
        """The state in which the content was last verified."""
        return Sealed(self.path, self.state)


class LayerStore:
    """All layers below one directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> Layer | None:
        """The layer of this key, if it was made before."""
        place = self._place(key)
        try:
            record = parse(read_bounded(place / "layer.json", _RECORD_BYTES))
            return Layer(
                path=place / "content",
                key=key,
                entries_digest=record["entries_digest"],
                fingerprint=record["fingerprint"],
                facts=record["facts"],
                sample=tuple(record["sample"]),
                state=record.get("state", ""),
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise DamagedLayer("the record of a cached layer is damaged", where=str(place), hint=_REMEDY) from None

    def make(self, key: str, build: Callable[[Path], Mapping[str, Any]]) -> Layer:
        """The layer of this key. If there is none, ``build`` fills a directory that holds two empty ones,
        ``workspace`` and ``setup``, and returns the facts to note."""

        def fill(content: Path) -> Mapping[str, Any]:
            for directory in (content, content / "workspace", content / "setup"):
                directory.mkdir()
                directory.chmod(0o755)
            return build(content)

        return self.get(key) or self._finish(key, fill)

    def adopt(self, key: str, upper: Path, facts: Mapping[str, Any]) -> Layer:
        """A layer from the upper directory of a finished setup, which is moved here; on the same file system."""

        def move(content: Path) -> Mapping[str, Any]:
            os.rename(upper, content)
            return facts

        return self.get(key) or self._finish(key, move)

    def check(self, layer: Layer, *, full: bool = False) -> None:
        """Raise :class:`DamagedLayer` unless the layer's sample, or with ``full`` all of it, is as it was made."""
        state = sample_state(layer.path, [name_bytes(text) for text in layer.sample])
        if state is None or sha256(state) != layer.fingerprint:
            raise DamagedLayer("a cached layer has been changed", where=str(layer.path), hint=_REMEDY)
        if full and take_inventory(layer.path).digest != layer.entries_digest:
            raise DamagedLayer("files of a cached layer have been changed", where=str(layer.path), hint=_REMEDY)

    def verify(self, layer: Layer) -> Layer:
        """The layer, once every file in it is known to be as it was made; otherwise :class:`DamagedLayer`."""
        if whole_state(layer.path) == layer.state:
            return layer
        noted = self._noted_anew(layer.key)
        if noted is None:
            raise DamagedLayer("a cached layer was removed", where=str(layer.path), hint=_REMEDY)
        return noted

    def sound(self, key: str) -> Layer | None:
        """The layer of this key, if it exists unchanged; :class:`DamagedLayer` if its content differs.

        If only its sample differs, as in a home that was copied, the sample is noted again.
        """
        layer = self.get(key)
        if layer is None:
            return None
        try:
            self.check(layer)
        except DamagedLayer:
            return self._noted_anew(key)
        return layer

    def _noted_anew(self, key: str) -> Layer | None:
        """A layer with the state that its sample has now, once its content is what was made; by one at a time."""
        with self._locked(f"{key}.state", fcntl.LOCK_EX):
            layer = self.get(key)
            if layer is None:
                return None
            hand_over(layer.path, owner())
            found = _noted(layer.path)
            if found.inventory.digest != layer.entries_digest:
                raise DamagedLayer("files of a cached layer have been changed", where=str(layer.path), hint=_REMEDY)
            _write_record(layer.path.parent, key, found, layer.facts)
        return self.get(key)

    def keys(self) -> tuple[str, ...]:
        """The keys of all layers, sorted; for a layer with a damaged record, the name of its directory."""
        return tuple(sorted(_recorded_key(place) for place in self._places() if not place.name.startswith(".")))

    def remove(self, key: str, *, remains_only: bool = False) -> bool:
        """Remove a layer, unless a workspace or a builder uses it at this moment; whether it was removed."""
        with self._locked(key, fcntl.LOCK_EX | fcntl.LOCK_NB) as locked:
            if locked:
                place = self._place(key)
                erase(place.with_name(_BUILDING + place.name))
                if not remains_only:
                    (place / "layer.json").unlink(missing_ok=True)
                    erase(place)
            return locked

    def remove_unused(self, keep: Collection[str]) -> tuple[str, ...]:
        """Remove every unused layer whose key is not in ``keep``; returns the removed keys.

        What killed builders left behind is removed too.
        """
        for place in self._places():
            if place.name.startswith(_BUILDING):
                self.remove(place.name.removeprefix(_BUILDING), remains_only=True)
        return tuple(key for key in self.keys() if key not in keep and self.remove(key))

    def _finish(self, key: str, fill: Callable[[Path], Mapping[str, Any]]) -> Layer:
        """Make a layer under its lock."""
        with self._locked(key, fcntl.LOCK_EX):
            if made := self.get(key):
                return made
            place = self._place(key)
            building = place.with_name(_BUILDING + place.name)
            erase(building)
            erase(place)
            building.mkdir(mode=0o755)
            try:
                content = building / "content"
                facts = fill(content)
                hand_over(content, owner())
                _write_record(building, key, _noted(content), facts)
                os.rename(building, place)
            except BaseException:
                erase(building)
                raise
        layer = self.get(key)
        assert layer is not None
        return layer

    def _places(self) -> list[Path]:
        """The directories of layers, finished or not."""
        try:
            return [place for place in self._root.iterdir() if place.is_dir() and place.name != "locks"]
        except FileNotFoundError:
            return []

    def _place(self, key: str) -> Path:
        if not _KEY.match(key):
            raise UsageFault(f"not a key of a layer: {key!r}")
        return self._root / key.replace(":", "-")

    @contextmanager
    def _locked(self, key: str, how: int) -> Iterator[bool]:
        """Hold the layer's lock; false if it is held elsewhere and ``how`` says not to wait."""
        locks = self._root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        handle = os.open(locks / self._place(key).name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            yield _lock(handle, how)
        finally:
            os.close(handle)


def _lock(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(*layers: Layer | None) -> Iterator[None]:
    """Keep layers from being removed for the time of a ``with`` block."""
    handles: list[int] = []
    try:
        for layer in layers:
            if layer is not None:
                handles.append(hold(layer))
        yield
    finally:
        for handle in handles:
            os.close(handle)


def hold(layer: Layer) -> int:
    """A descriptor that keeps ``layer`` from being removed until it is closed."""
    place = layer.path.parent
    lock = place.parent / "locks" / place.name
    handle = os.open(lock if lock.exists() else layer.path, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_SH)
    if not layer.path.is_dir():
        os.close(handle)
        raise InfrastructureFault("a cached layer was removed", where=str(layer.path), hint="start again")
    return handle


_REMEDY = "remove this layer's directory; it is made again when it is needed"


def _recorded_key(place: Path) -> str:
    try:
        return str(parse(read_bounded(place / "layer.json", _RECORD_BYTES))["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return place.name


@dataclass(frozen=True)
class _Noted:
    """What a layer holds, and the state of its files in which that was digested."""

    inventory: Inventory
    sample_state: bytes
    whole_state: str


def _noted(content: Path) -> _Noted:
    """Digest a layer. Its state is taken before, so that a file that is changed meanwhile does not pass as digested."""
    before = whole_state(content)
    inventory = take_inventory(content)
    sample = sample_state(content, inventory.sample)
    if sample is None or whole_state(content) != before:
        raise DamagedLayer("files of a layer changed while they were digested", where=str(content), hint="try again")
    return _Noted(inventory, sample, before)


def _write_record(place: Path, key: str, noted: _Noted, facts: Mapping[str, Any]) -> None:
    record = {
        "kind": "layer",
        "schema": 1,
        "key": key,
        "entries_digest": noted.inventory.digest,
        "fingerprint": sha256(noted.sample_state),
        "sample": [name_text(path) for path in noted.inventory.sample],
        "state": noted.whole_state,
        "facts": dict(facts),
    }
    write_whole(place / "layer.json", canonical(record))
