"""Build what a release consists of, and check it: ``tools/release.py [--out dist] [--tagged]``, or ``make dist``.

    proctor-VERSION.tar.gz            the source archive; every wheel is built from it
    proctor-VERSION-py3-none-*.whl    for Linux with the helper, one for each processor, and one without it
    proctor-VERSION.cdx.json          a CycloneDX bill of materials, from uv.lock
    SHA256SUMS                        the digests of all of them

The same commit and compilers give the same bytes. With ``--tagged`` the tree must be clean, its commit must have the
tag ``vVERSION``, and the changelog must have a dated section for the version. Nothing is published. See
docs/releasing.md.
"""

from __future__ import annotations

import argparse
import base64
import configparser
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

PROJECT = Path(__file__).resolve().parent.parent
HELPER = "proctor/execute/sandbox/bin/proctor-init"
TAGS = {
    "pure": "py3-none-any",
    "x86_64": "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "aarch64": "py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64",
}
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
ELF_INTERPRETER = 3
"""The type of the segment that names a dynamic linker, which a static program does not have."""
HELPER_USAGE = 70
IN_SOURCES = ("LICENSE", "CHANGELOG.md", "README.md", "pyproject.toml", "uv.lock", "tools/build_hook.py")
NOT_IN_SOURCES = re.compile(r"/(\.venv|\.tools|__pycache__|bin)/")
RELEASED = r"^## {} \(\d{{4}}-\d{{2}}-\d{{2}}\)$"


def fail(message: str) -> NoReturn:
    """End with one message."""
    sys.exit(f"release: {message}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build and check the files of a release.")
    parser.add_argument("--out", type=Path, default=PROJECT / "dist", help="an empty or new directory")
    parser.add_argument("--tagged", action="store_true", help="refuse a tree that is not a tagged release")
    asked = parser.parse_args()
    version = version_of()
    if asked.tagged:
        require_tag(version)
    asked.out.mkdir(parents=True, exist_ok=True)
    if any(asked.out.iterdir()):
        fail(f"{asked.out} is not empty")
    build(asked.out)
    (asked.out / f"proctor-{version}.cdx.json").write_text(json.dumps(bill_of_materials(version), indent=1) + "\n")
    check(asked.out, version)
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in sorted(asked.out.iterdir()))
    (asked.out / "SHA256SUMS").write_text(sums)
    sys.stdout.write(sums)


def version_of() -> str:
    """The version, which the project file and the package must agree on."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    package = re.search(r'^__version__ = "(.+)"$', (PROJECT / "src/proctor/__init__.py").read_text(), re.MULTILINE)
    if package is None or package[1] != project:
        fail(f"pyproject.toml has version {project}, src/proctor/__init__.py another one")
    return str(project)


def require_tag(version: str) -> None:
    """Refuse a tree that differs from the commit tagged as ``version``."""
    if git("status", "--porcelain"):
        fail("the tree has changes that are not committed")
    if f"v{version}" not in git("tag", "--points-at", "HEAD").split():
        fail(f"the commit has no tag v{version}")
    if not re.search(RELEASED.format(re.escape(version)), (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE):
        fail(f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'")


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True)
    if done.returncode:
        fail(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def build(out: Path) -> None:
    """Build the source archive, and each wheel from it."""
    program = shutil.which("uv") or PROJECT / ".tools/bin/uv"
    command = [str(program), "build", "-q", "--no-create-gitignore", "--python", sys.executable, "--out-dir", str(out)]
    subprocess.run([*command, "--sdist", str(PROJECT)], check=True)
    archive = next(out.glob("*.tar.gz"))
    for wheel in TAGS:
        done = subprocess.run([*command, "--wheel", str(archive)], env={**os.environ, "PROCTOR_WHEEL": wheel})
        if done.returncode:
            fail(f"the wheel {wheel} cannot be built, see above")


def bill_of_materials(version: str) -> dict[str, Any]:
    """The CycloneDX document: Proctor, its locked dependencies with those of the extras, and the static C library."""
    lock = tomllib.loads((PROJECT / "uv.lock").read_text())
    packages: dict[str, list[dict[str, Any]]] = {}
    for package in lock["package"]:
        packages.setdefault(package["name"], []).append(package)
    root = packages["proctor"][0]
    required = {id(one) for one in reachable(root["dependencies"], packages)}
    found = list(reachable([*root["dependencies"], *root["optional-dependencies"]["all"]], packages))
    libraries = [native_library(processor) for processor in ELF_MACHINES]
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                **component("application", "pypi", "proctor", version),
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [
            *(
                {
                    **component("library", "pypi", one["name"], one["version"]),
                    "scope": "required" if id(one) in required else "optional",
                }
                for one in found
            ),
            *{one["purl"]: one for one in libraries}.values(),
        ],
        "dependencies": [
            {"ref": purl("pypi", one["name"], one["version"]), "dependsOn": sorted(references(one, packages))}
            for one in (dict(root, version=version), *found)
        ],
    }
    text = json.dumps(document, sort_keys=True)
    return {**document, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, text)}"}


def reachable(wanted: list[dict[str, Any]], packages: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Every package that ``wanted`` leads to, on any Python and system, by name and version."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    waiting = list(wanted)
    while waiting:
        for one in locked(waiting.pop(), packages):
            if (one["name"], one["version"]) not in seen:
                seen[one["name"], one["version"]] = one
                waiting += one.get("dependencies", [])
    yield from (seen[key] for key in sorted(seen))


def locked(wanted: dict[str, Any], packages: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The packages of the lock that one dependency may mean: one, unless versions differ by Python."""
    return [one for one in packages[wanted["name"]] if wanted.get("version", one["version"]) == one["version"]]


def references(package: dict[str, Any], packages: dict[str, list[dict[str, Any]]]) -> set[str]:
    wanted = [*package.get("dependencies", []), *package.get("optional-dependencies", {}).get("all", [])]
    return {purl("pypi", found["name"], found["version"]) for one in wanted for found in locked(one, packages)}


def component(kind: str, ecosystem: str, name: str, version: str) -> dict[str, Any]:
    reference = purl(ecosystem, name, version)
    return {"type": kind, "bom-ref": reference, "name": name, "version": version, "purl": reference}


def purl(ecosystem: str, name: str, version: str) -> str:
    return f"pkg:{ecosystem}/{name}@{version}"


def native_library(processor: str) -> dict[str, Any]:
    """The C library that is linked into the helper, by the version in its headers."""
    native = processor == os.uname().machine
    compiler = "cc" if native else f"{processor}-linux-gnu-gcc"
    source = "#include <features.h>\nversion __GLIBC__.__GLIBC_MINOR__\n"
    done = subprocess.run([compiler, "-E", "-P", "-"], input=source, capture_output=True, text=True, check=True)
    version = done.stdout.split("version")[-1].replace(" ", "").strip()
    return {**component("library", "generic", "glibc", version), "scope": "required"}


def check(out: Path, version: str) -> None:
    """Refuse files that are not what a release consists of."""
    names = {f"proctor-{version}.tar.gz", f"proctor-{version}.cdx.json"}
    wheels = {kind: out / f"proctor-{version}-{tag}.whl" for kind, tag in TAGS.items()}
    found = {path.name for path in out.iterdir()}
    if found != names | {path.name for path in wheels.values()}:
        fail(f"unexpected files: {', '.join(sorted(found))}")
    check_sources(out / f"proctor-{version}.tar.gz", f"proctor-{version}")
    contents = {kind: check_wheel(path, kind, version) for kind, path in wheels.items()}
    for kind, digests in contents.items():
        if digests != contents["pure"]:
            fail(f"the wheel {kind} differs from the pure one in more than the helper")


def check_sources(path: Path, top: str) -> None:
    with tarfile.open(path) as archive:
        names = archive.getnames()
    missing = {f"{top}/{name}" for name in IN_SOURCES} - set(names)
    foreign = [name for name in names if NOT_IN_SOURCES.search(name) or not name.startswith(f"{top}/")]
    if missing or foreign:
        fail(f"{path.name}: missing {sorted(missing)}, unexpected {foreign[:5]}")


def check_wheel(path: Path, kind: str, version: str) -> dict[str, str]:
    """The digests of the files of a wheel but the helper and the metadata of its packing."""
    information = f"proctor-{version}.dist-info"
    with zipfile.ZipFile(path) as wheel:
        digests = {name: hashlib.sha256(wheel.read(name)).digest() for name in wheel.namelist()}
        record = wheel.read(f"{information}/RECORD").decode().splitlines()
        for line in record:
            name, text, _ = line.rsplit(",", 2)
            if text and text != "sha256=" + base64.urlsafe_b64encode(digests[name]).rstrip(b"=").decode():
                fail(f"{path.name}: RECORD has another digest of {name}")
        if len(record) != len(digests):
            fail(f"{path.name}: RECORD does not list every file")
        tags = re.findall(r"^Tag: (.+)$", wheel.read(f"{information}/WHEEL").decode(), re.MULTILINE)
        python, abi, platforms = TAGS[kind].split("-")
        if sorted(tags) != sorted(f"{python}-{abi}-{platform}" for platform in platforms.split(".")):
            fail(f"{path.name}: tags {tags}")
        commands = configparser.ConfigParser()
        commands.read_string(wheel.read(f"{information}/entry_points.txt").decode())
        if dict(commands["console_scripts"]) != {"proctor": "proctor.cli.main:main"}:
            fail(f"{path.name}: no command proctor")
        if (HELPER in digests) != (kind != "pure"):
            fail(f"{path.name}: the helper is {'missing' if kind != 'pure' else 'part of it'}")
        if kind != "pure":
            check_helper(wheel, path.name, kind)
    strange = {top for top in (PurePosixPath(name).parts[0] for name in digests) if top not in ("proctor", information)}
    if strange:
        fail(f"{path.name}: unexpected {sorted(strange)}")
    return {
        name: digest.hex()
        for name, digest in digests.items()
        if name not in (HELPER, f"{information}/WHEEL", f"{information}/RECORD")
    }


def check_helper(wheel: zipfile.ZipFile, name: str, processor: str) -> None:
    """The helper must be executable, static and for ``processor``; it is started where that is possible here."""
    data, mode = wheel.read(HELPER), wheel.getinfo(HELPER).external_attr >> 16
    machine = struct.unpack_from("<H", data, 18)[0]
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<I", data, start + size * number)[0] for number in range(count)]
    if machine != ELF_MACHINES[processor] or ELF_INTERPRETER in segments or stat.S_IMODE(mode) != 0o755:
        fail(f"{name}: the helper is not a static program for {processor} with mode 755")
    emulator = shutil.which(f"qemu-{processor}-static")
    if processor != os.uname().machine and emulator is None:
        sys.stderr.write(f"release: note: {name}: the helper was not started: there is no qemu-{processor}-static\n")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "proctor-init"
        program.write_bytes(data)
        program.chmod(0o755)
        command = [str(program)] if processor == os.uname().machine else [str(emulator), str(program)]
        done = subprocess.run(command, capture_output=True)
    if done.returncode != HELPER_USAGE:
        fail(f"{name}: the helper does not start: exit code {done.returncode}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
