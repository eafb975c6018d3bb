"""Archives that a contract brings along, and files at an ``http`` or ``https`` address.

A path stays inside the contract's directory, links included. A download is bounded and whole: an answer that ends
before the length it announced counts as unreachable, never as a short file.
"""

from __future__ import annotations

import errno
import http.client
import os
import stat
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from proctor.base.errors import InfrastructureFault
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.interface import MAX_FILE_BYTES, InputRequest, NoSuchInput, Unreachable
from proctor.execute.inputs.package_clients import with_retries

TIMEOUT_SECONDS = 60
CHUNK_BYTES = 1 << 20
GONE = (404, 410)


class ArchiveSupplier:
    """The supplier for ``archive`` sources."""

    def fetch(self, source: Source, files: tuple[InputFile, ...], contract_directory: Path, into: Path) -> None:
        for file in files:
            _bring(source.spec, contract_directory, into / file.name)

    def resolve(self, request: InputRequest, contract_directory: Path, into: Path) -> tuple[str, ...]:
        name = file_name(request.source.spec)
        _bring(request.source.spec, contract_directory, into / name)
        return (name,)


def is_address(spec: str) -> bool:
    """Whether ``spec`` is an address rather than a path."""
    return spec.startswith(("http://", "https://"))


def file_name(spec: str) -> str:
    """The name that the file of ``spec`` gets: the last part of the path or address."""
    path = spec
    if is_address(spec):
        path = unquote(urlsplit(spec).path)
    name = path.rstrip("/").rpartition("/")[2]
    if not name or name.startswith("."):
        raise NoSuchInput(f"{spec} names no file", hint="an archive is a path or an address that ends in a file name")
    return name


def _bring(spec: str, contract_directory: Path, target: Path) -> None:
    if is_address(spec):
        with_retries(lambda: _download(spec, target))
    else:
        _copy(spec, contract_directory, target)


def _copy(spec: str, contract_directory: Path, target: Path) -> None:
    """Copy the regular file ``spec`` of the contract."""
    root, where = contract_directory.resolve(), str(contract_directory / spec)
    path = (root / spec).resolve()
    if not path.is_relative_to(root):
        raise NoSuchInput("the archive is outside of the contract's directory", where=where)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NoSuchInput(f"the archive cannot be read: {error.strerror}", where=where) from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NoSuchInput("the archive is not a regular file", where=where)
        _pour(file, target, where)


def _download(address: str, target: Path) -> None:
    """Fetch ``address`` into ``target``."""
    request = urllib.request.Request(address, headers={"Accept-Encoding": "identity", "User-Agent": "proctor"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            announced = response.headers.get("Content-Length")
            received = _pour(response, target, address)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in GONE:
            raise NoSuchInput(f"the file does not exist ({error.code})", where=address) from None
        raise Unreachable(f"could not fetch {address}: {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "free some space, or set PROCTOR_HOME to a directory on another disk, and start again"
            problem = f"out of space while fetching {address}"
            raise InfrastructureFault(problem, where=str(target.parent), hint=hint) from None
        reason = getattr(error, "reason", None) or error
        raise Unreachable(f"could not fetch {address}: {reason}", hint="check the network and try again") from None
    if announced is not None and announced != str(received):
        raise Unreachable(f"could not fetch {address}: {received} of {announced} bytes arrived")


def _pour(stream: Any, target: Path, where: str) -> int:
    """Copy ``stream`` into ``target``, within bounds; the number of bytes."""
    total = 0
    with open(target, "wb") as out:
        while data := stream.read(CHUNK_BYTES):
            total += len(data)
            if total > MAX_FILE_BYTES:
                raise NoSuchInput(f"larger than {MAX_FILE_BYTES} bytes", where=where)
            out.write(data)
    return total
