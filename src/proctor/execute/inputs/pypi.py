"""Releases from a Python package index, through the machine's own pip and its settings.

``pip download`` runs the build of a source release only to learn its name, outside any sandbox. That must not happen
here: single files are found and fetched by ``pypi_program``, which asks pip's index reader and stops there; closures
are made of wheels alone (``--only-binary=:all:``), for which pip runs nothing. Wheels are chosen for the interpreter
that sandboxes show, whatever interpreter the harness or pip runs on.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import InfrastructureFault
from proctor.base.process import Completed
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.interface import InputRequest, NoSuchInput, split_spec
from proctor.execute.inputs.package_clients import last_words, run_client, unreachable, with_retries

SANDBOX_PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).with_name("pypi_file_download.py")

NOT_THERE = 2
"""The exit code with which the program says that the index does not list what was asked for."""


class PypiSupplier:
    """The supplier for ``pypi`` sources."""

    def fetch(self, source: Source, files: tuple[InputFile, ...], contract_directory: Path, into: Path) -> None:
        name, _ = split_spec(source, "==")
        wanted = [{"project": project_of(file.name, name), "name": file.name} for file in files]
        _ask(source.spec, {"files": wanted}, into)

    def resolve(self, request: InputRequest, contract_directory: Path, into: Path) -> tuple[str, ...]:
        name, version = split_spec(request.source, "==")
        if request.with_dependencies:
            return _closure(request.source.spec, into)
        form = "wheel" if request.built else "sdist"
        release = {"project": project_of("", name), "version": version, "form": form}
        return tuple(_ask(request.source.spec, {"releases": [release]}, into))


def fetch_wheels(releases: Sequence[tuple[str, str]], into: Path) -> tuple[str, ...]:
    """Fetch the best wheel of each release, given as name and version, in their order; one client does all."""
    wanted = [{"project": name, "version": version, "form": "wheel"} for name, version in releases]
    return tuple(_ask(f"{len(releases)} releases", {"releases": wanted}, into))


def project_of(file_name: str, source_name: str) -> str:
    """The project that a file belongs to: wheels carry its name, a source release is the source's own."""
    wheel = file_name.endswith(".whl")
    return file_name.partition("-")[0].replace("_", "-") if wheel else source_name.partition("[")[0]


def _ask(spec: str, request: dict[str, Any], into: Path) -> list[str]:
    """Have the program fetch what ``request`` describes; the names of the files."""
    python = python_with_pip(into)
    whole = {**request, "directory": str(into), "python": _sandbox_version(into)}

    def attempt() -> list[str]:
        done = run_client([*python, str(PROGRAM)], into, stdin=canonical(whole))
        if done.exit_code == 0:
            return [str(name) for name in parse(done.stdout)]
        if done.exit_code == NOT_THERE:
            raise NoSuchInput(f"the package index does not offer {last_words(done.stderr)}", where=spec)
        raise unreachable(spec, "pip", done.stderr)

    return with_retries(attempt)


def _closure(spec: str, into: Path) -> tuple[str, ...]:
    """Fetch the wheel of ``spec`` and of all that it depends on."""
    python = python_with_pip(into)
    other = [] if python == [SANDBOX_PYTHON] else ["--python", SANDBOX_PYTHON]
    flags = ["-vv", "--only-binary=:all:", "--no-cache-dir", "--dest", str(into)]

    def attempt() -> None:
        done = run_client([*python, "-m", "pip", *other, "download", *flags, spec], into)
        if done.exit_code != 0:
            raise _refusal(spec, done)

    with_retries(attempt)
    return tuple(sorted(path.name for path in into.iterdir() if path.suffix == ".whl"))


def _refusal(spec: str, done: Completed) -> NoSuchInput | InfrastructureFault:
    """What a failed ``pip download`` means: pip reports an index that is out of reach as one without releases."""
    lines = (done.stdout + done.stderr).splitlines()
    troubled = any(b"Retrying" in line or (b"Could not fetch URL" in line and b" 404 " not in line) for line in lines)
    if b"No matching distribution found" in done.stderr and not troubled:
        return NoSuchInput("the package index offers no wheels for this release and its dependencies", where=spec)
    return unreachable(spec, "pip", done.stderr)


def python_with_pip(directory: Path) -> list[str]:
    """The command of an interpreter that has pip, the sandbox's own first."""
    for python in dict.fromkeys((SANDBOX_PYTHON, shutil.which("python3") or SANDBOX_PYTHON, sys.executable)):
        if Path(python).exists() and run_client([python, "-c", "import pip"], directory).exit_code == 0:
            return [python]
    uv = shutil.which("uv")
    if uv:
        command = [uv, "run", "--quiet", "--no-project", "--python", SANDBOX_PYTHON, "--with", "pip"]
        if run_client([*command, "python", "-c", "import pip"], directory).exit_code == 0:
            return [*command, "python"]
    raise InfrastructureFault("pip is not installed", hint="install python3-pip, or uv")


def _sandbox_version(directory: Path) -> str:
    """The version of the sandbox's interpreter, such as ``3.11``."""
    if not Path(SANDBOX_PYTHON).exists():
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    return run_client([SANDBOX_PYTHON, "-I", "-c", script], directory).stdout.decode().strip()
