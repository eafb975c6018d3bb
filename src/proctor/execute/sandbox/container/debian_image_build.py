"""A base image from a list of Debian packages, made by debootstrap from the machine's own mirror, without a registry.

The same packages give the same layer, and so the same digest, wherever and whenever it is built: times are cut off at
the newest file of a package, files that differ between builds (logs, caches, the host's names) are left out, and owners
and order are fixed. The result is one archive that ``images.load`` brings into an engine.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.process import run
from proctor.base.untrusted_directories import erase
from proctor.execute.sandbox.container.images import check_name

DEBOOTSTRAP_SECONDS = 3600
TAR_SECONDS = 900
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
SUITE = re.compile(r"[a-z]+")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
UNSAFE = "etc/dpkg/dpkg.cfg.d/proctor-build"
ALONE = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""debootstrap mounts file systems in the root that it fills. In namespaces of its own it ends when this process does,
however that ends, and takes its mounts with it: removing the directory never goes through a mount."""

LEFT_OUT = (
    *("./dev/*", "./proc/*", "./sys/*", "./run/*", "./tmp/*", "./debootstrap", f"./{UNSAFE}"),
    *("./etc/hostname", "./etc/resolv.conf", "./etc/machine-id", "./var/lib/dbus/machine-id"),
    *("./var/log/*", "./var/cache/*", "./var/lib/apt/lists/*", "./var/lib/dpkg/*-old", "./etc/*-"),
)


def build(name: str, packages: tuple[str, ...], archive: Path, suite: str = "", mirror: str = "") -> tuple[str, ...]:
    """Write an image called ``name`` with ``packages`` to ``archive``; the digests of its layers."""
    check_name(name)
    for package in packages:
        if not PACKAGE.fullmatch(package):
            raise UsageFault(f"not a name of a Debian package: {package!r}")
    if os.geteuid() != 0:
        raise UsageFault("only root can build an image", hint="build it as root once and load its archive elsewhere")
    suite = suite or machine_suite()
    if not SUITE.fullmatch(suite):
        raise UsageFault(f"not a name of a Debian suite: {suite!r}")
    top = Path(tempfile.mkdtemp(dir=archive.absolute().parent, prefix=".image-"))
    try:
        root = top / "root"
        start = _bootstrap(root, packages, suite, mirror or machine_mirror(suite))
        layer = top / "layer.tar"
        _pack(root, layer, _newest(root, start))
        return _archive(name, layer, archive)
    finally:
        erase(top)


def machine_suite() -> str:
    """The name of this machine's Debian release."""
    match = re.search(r'^VERSION_CODENAME="?([a-z]+)"?$', Path("/etc/os-release").read_text(), re.MULTILINE)
    if not match:
        raise UsageFault("this machine's release has no name that debootstrap knows", hint="give --suite")
    return match[1]


def machine_mirror(suite: str) -> str:
    """Where this machine's own packages of ``suite`` come from; empty leaves the choice to debootstrap."""
    arguments = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"]
    try:
        completed = run(arguments, environment=ENVIRONMENT, timeout_seconds=120)
    except InfrastructureFault:
        return ""
    for line in completed.stdout.decode("utf-8", "replace").splitlines():
        address, _, codename = line.partition(" ")
        if codename == suite and address.startswith(("http://", "https://", "file:/")):
            return address
    return ""


def _bootstrap(root: Path, packages: tuple[str, ...], suite: str, mirror: str) -> int:
    """Fill ``root``; when that began, in nanoseconds of the file system's clock."""
    if not shutil.which("debootstrap", path=ENVIRONMENT["PATH"]):
        raise InfrastructureFault("debootstrap is not installed", hint="apt-get install debootstrap")
    settings = root / UNSAFE
    settings.parent.mkdir(parents=True)
    settings.write_text("force-unsafe-io\n")  # nothing here has to survive a crash
    start = settings.stat().st_mtime_ns
    included = [f"--include={','.join(packages)}"] if packages else []
    completed = run(
        [*ALONE, "debootstrap", "--variant=minbase", *included, suite, root, *([mirror] if mirror else [])],
        environment={**ENVIRONMENT, **_proxies()},
        timeout_seconds=DEBOOTSTRAP_SECONDS,
    )
    if completed.exit_code != 0:
        lines = (completed.stdout + completed.stderr).decode("utf-8", "replace").splitlines()
        telling = [line for line in lines if line.startswith(("E:", "W:"))] or lines[-1:]
        raise InfrastructureFault(
            f"debootstrap failed: {' '.join(telling[-3:])}", hint="check the spelling of the packages"
        )
    _even_out(root)
    return start


def _proxies() -> dict[str, str]:
    names = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    return {name: os.environ[name] for name in names if name in os.environ}


def _even_out(root: Path) -> None:
    """Make alike what differs between builds inside files: the day on which accounts were made."""
    shadow = root / "etc/shadow"
    if shadow.is_file():
        lines = [line.split(":") for line in shadow.read_text().splitlines()]
        shadow.write_text("".join(":".join([*line[:2], "1", *line[3:]]) + "\n" for line in lines))


def _newest(root: Path, start: int) -> int:
    """The time, in seconds, of the newest file that a package brought: older than the build itself."""
    times = (path.lstat().st_mtime_ns for path in _files(root))
    return max((time for time in times if time < start - 60_000_000_000), default=0) // 1_000_000_000


def _files(root: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(root):
        yield from (Path(directory) / name for name in names)


def _pack(root: Path, layer: Path, newest: int) -> None:
    fixed = ("--sort=name", "--format=gnu", "--numeric-owner", "--clamp-mtime", f"--mtime=@{newest}")
    completed = run(
        ["tar", *fixed, "--anchored", *(f"--exclude={name}" for name in LEFT_OUT), "-C", root, "-cf", layer, "."],
        environment=ENVIRONMENT,
        timeout_seconds=TAR_SECONDS,
    )
    if completed.exit_code != 0:
        raise InfrastructureFault(f"tar failed: {completed.stderr.decode('utf-8', 'replace').strip()}")


def _archive(name: str, layer: Path, archive: Path) -> tuple[str, ...]:
    """Write the archive in the form that every engine loads; complete or not at all."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    configuration = {
        "architecture": _architecture(),
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "proctor image build"}],
    }
    text = json.dumps(configuration, sort_keys=True).encode()
    config = f"{hashlib.sha256(text).hexdigest()}.json"
    tag = name if ":" in name else f"{name}:latest"
    manifest = json.dumps([{"Config": config, "RepoTags": [tag], "Layers": [f"{digest}/layer.tar"]}]).encode()
    fresh = archive.with_name(f".{archive.name}.{os.getpid()}")
    with fresh.open("wb") as output:
        _write_members(output, {config: text, "manifest.json": manifest}, f"{digest}/layer.tar", layer)
    fresh.replace(archive)
    return (f"sha256:{digest}",)


def _write_members(output: IO[bytes], texts: dict[str, bytes], layer_name: str, layer: Path) -> None:
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as tar, layer.open("rb") as content:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
        member = tarfile.TarInfo(layer_name)
        member.size = layer.stat().st_size
        tar.addfile(member, content)


def _architecture() -> str:
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
