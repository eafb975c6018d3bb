"""Wheels from pure Python releases that were published without one, made without running anything of theirs.

The packages at the top of a source release are put into a wheel as they are. That is no build: it serves releases that
are known to need none, and the recipe of an agent names them one by one. The same release gives the same bytes.
"""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from proctor.contract.model import Source
from proctor.execute.inputs.fetch import InputCache
from proctor.execute.inputs.interface import NoSuchInput, Wish
from proctor.execute.inputs.lock import resolve

MEMBER_BYTES = 8 << 20
EPOCH = (1980, 1, 1, 0, 0, 0)
WHEEL = "Wheel-Version: 1.0\nGenerator: proctor\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheels(specs: tuple[str, ...], inputs: InputCache, into: Path) -> Path:
    """Wheels of the releases that ``specs`` name, in the new directory ``into``."""
    into.mkdir()
    for spec in specs:
        (file,) = resolve(Wish(Source(kind="pypi", spec=spec)), into, inputs)
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
    """The modules of every package that lies beside the release's own ``setup.py``."""
    found: dict[str, bytes] = {}
    with tarfile.open(release) as archive:
        for member in archive:
            path = member.name.partition("/")[2]
            if member.isfile() and path.endswith(".py") and "/" in path and ".." not in path.split("/"):
                stream = archive.extractfile(member)
                found[path] = stream.read(MEMBER_BYTES) if stream else b""
    tops = {path.partition("/")[0] for path in found if path.count("/") == 1 and path.endswith("/__init__.py")}
    return {path: data for path, data in found.items() if path.partition("/")[0] in tops}
