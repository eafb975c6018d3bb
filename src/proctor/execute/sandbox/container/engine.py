"""A container engine's HTTP interface over its Unix socket: one request, one bounded answer, one kind of error.

Docker's interface, which podman has too, in one of two versions that every engine since 2020 supports. The only state
is that version and the engine's description of itself, which podman takes a second for; a connection lasts for one
request.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from email.message import Message
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlencode

from proctor.base.errors import InfrastructureFault, MissingIsolation

ANSWER_BYTES = 64 << 20
CALL_SECONDS = 180
RESTART_SECONDS = 30
"""How long an engine that has answered before may take to start again."""

STEP_SECONDS = 0.1
VERSIONS = ((1, 41), (1, 44))
"""The older one for engines that do not have the newer, which later engines demand."""

PIECE_BYTES = 1 << 20

PLACES = ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock")


class EngineFault(InfrastructureFault):
    """The engine said no; ``status`` is that of its answer."""

    def __init__(self, message: str, status: int, where: str) -> None:
        super().__init__(message, where=where)
        self.status = status


def find_socket(variables: Mapping[str, str]) -> str:
    """The socket of the engine that the environment names, or of one at a usual place; empty when there is none."""
    for name in ("DOCKER_HOST", "CONTAINER_HOST"):
        named = variables.get(name, "")
        if named:
            if not named.startswith("unix://"):
                raise MissingIsolation(
                    f"{name} is {named}: an engine elsewhere cannot show files of this machine",
                    hint="give a Unix socket, such as unix:///run/docker.sock, or set environment.sandbox: host",
                )
            return named.removeprefix("unix://")
    runtime = variables.get("XDG_RUNTIME_DIR", "")
    own = (f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock") if runtime else ()
    return next((place for place in (*PLACES, *own) if os.path.exists(place)), "")


class Engine:
    """A client of the engine that listens at ``path``."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._prefix = ""
        self._podman = False
        self._about: Mapping[str, Any] = {}

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float = CALL_SECONDS,
    ) -> Any:
        """Make one request; the answer's JSON (``None`` when it has none), or :class:`EngineFault`.

        An engine that sends nothing for this many ``seconds`` counts as broken off.
        """
        target = self._versioned(path) + (f"?{urlencode(query)}" if query else "")
        return self._exchange(method, target, body, seconds=seconds)

    def send_file(self, path: str, file: str | os.PathLike[str], kind: str) -> Any:
        """Post the bytes of ``file``."""
        with open(file, "rb") as stream:
            return self._exchange("POST", self._versioned(path), stream, kind)

    def receive_file(self, path: str, target: str | os.PathLike[str], most_bytes: int) -> None:
        """Write what the engine sends for ``path`` to the file ``target``; a cut answer is a fault."""
        versioned = self._versioned(path)
        connection = self._connection()
        try:
            connection.request("GET", versioned)
            response = connection.getresponse()
            if response.status >= 400:
                raise EngineFault(_reason(response.read(ANSWER_BYTES)), response.status, f"GET {versioned}")
            left = most_bytes
            with open(target, "wb") as file:
                while piece := response.read(PIECE_BYTES):
                    left -= len(piece)
                    if left < 0:
                        raise InfrastructureFault(f"the engine sends more than {most_bytes} bytes", where=path)
                    file.write(piece)
        except (OSError, HTTPException) as error:
            raise InfrastructureFault(f"the container engine broke off: {error}", where=self.path) from None
        finally:
            connection.close()

    def about(self) -> Mapping[str, Any]:
        """What the engine says of itself and of what it can do here; asked once."""
        if not self._about:
            self._about = self.call("GET", "/info")
        return self._about

    def identity(self) -> str:
        """Name and version, such as ``docker 20.10.24`` or ``podman 4.3.1``."""
        version = self.about().get("ServerVersion") or "unknown"
        return f"{'podman' if self._podman else 'docker'} {version}"

    def podman(self) -> bool:
        """Whether it is podman, which differs from Docker in a few fields."""
        self._versioned("")
        return self._podman

    def _versioned(self, path: str) -> str:
        if not self._prefix:
            connection = self._connection()
            try:
                headers = self._answer(connection, "GET", "/_ping", None, {})[1]
            finally:
                connection.close()
            newest = tuple(int(part) for part in headers.get("Api-Version", "1.41").split(".")[:2])
            self._podman = "Libpod-Api-Version" in headers
            self._prefix = "/v{}.{}".format(*(VERSIONS[1] if newest >= VERSIONS[1] else VERSIONS[0]))
        return self._prefix + path

    def _exchange(
        self, method: str, target: str, body: Any, kind: str = "application/json", seconds: float = CALL_SECONDS
    ) -> Any:
        data = json.dumps(body).encode() if isinstance(body, dict | list) else body
        headers = {"Content-Type": kind} if data is not None else {}
        if data is not None and not isinstance(data, bytes):
            headers["Transfer-Encoding"] = "chunked"
        connection = self._connection(seconds)
        try:
            answer, _ = self._answer(connection, method, target, data, headers)
        finally:
            connection.close()
        try:
            return json.loads(answer) if answer.strip() else None
        except ValueError:
            return answer.decode("utf-8", "replace")

    def _connection(self, seconds: float = CALL_SECONDS) -> HTTPConnection:
        link = self._connected(seconds)
        connection = HTTPConnection("engine", timeout=seconds, blocksize=PIECE_BYTES)
        connection.sock = link
        return connection

    def _connected(self, seconds: float) -> socket.socket:
        """A connection; an engine that has answered before is given time to start again."""
        deadline = time.monotonic() + (min(seconds, RESTART_SECONDS) if self._prefix else 0)
        while True:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            link.settimeout(seconds)
            try:
                link.connect(self.path)
                return link
            except OSError as error:
                link.close()
                if time.monotonic() >= deadline:
                    raise MissingIsolation(
                        f"no container engine answers: {error.strerror or error}",
                        where=self.path,
                        hint="start Docker or podman, or name its socket in DOCKER_HOST",
                    ) from None
            time.sleep(STEP_SECONDS)

    def _answer(
        self, connection: HTTPConnection, method: str, target: str, data: Any, headers: Mapping[str, str]
    ) -> tuple[bytes, Message]:
        try:
            connection.request(method, target, data, dict(headers), encode_chunked="Transfer-Encoding" in headers)
            response = connection.getresponse()
            answer = response.read(ANSWER_BYTES + 1)
        except (OSError, HTTPException) as error:
            raise InfrastructureFault(f"the container engine broke off: {error}", where=self.path) from None
        if len(answer) > ANSWER_BYTES:
            raise InfrastructureFault("the container engine's answer is too large", where=self.path)
        if response.length:
            raise InfrastructureFault("the container engine broke off in the middle of an answer", where=self.path)
        if response.status >= 400:
            raise EngineFault(_reason(answer), response.status, f"{method} {target.partition('?')[0]}")
        return answer, response.headers


def _reason(answer: bytes) -> str:
    """What the engine gives as its reason, on one line."""
    try:
        text = str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        text = answer[:1000].decode("utf-8", "replace")
    return "the container engine refused: " + (" ".join(text.split())[:1000] or "it gave no reason")
