"""Servers on the loopback of the test's own process, and a way to dial them by any name."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import SSLContext, create_default_context

from proctor.execute.network.certificate_authority import Authority

WAIT_SECONDS = 60


class Pages(BaseHTTPRequestHandler):
    """Answers that show what was asked: each path has its own kind of answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        site = self.server
        assert isinstance(site, Site)
        with site.turn:
            site.asked.append(f"{self.command} {self.headers['Host']}{self.path}")
            count = len(site.asked)
        if self.path in site.pages:
            kind, page = site.pages[self.path]
            self._say(200, page, **{"Content-Type": kind})
        elif self.path == "/moved":
            self._say(302, b"", Location=site.moved_to)
        elif self.path == "/count":
            self._say(200, str(count).encode())
        elif self.path == "/chunked":
            self._chunks()
        elif self.path == "/cut":
            self._cut()
        elif self.path == "/close":
            self._until_close()
        elif self.path == "/kind":
            self._say(200, (self.headers["Accept"] or "none").encode(), Vary="Accept")
        elif self.path.startswith("/large"):
            self._say(200, b"x" * int(self.path.rpartition("/")[2]))
        else:
            self._say(200, f"{self.command} {self.path}".encode())

    do_HEAD = do_GET  # noqa: N815 - the name is the base's

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self._say(200, b"got " + data[:100])

    def _say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in (b"first ", b"second"):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        self.wfile.write(b"0\r\nX-Trailer: yes\r\n\r\n")

    def _cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"not all of it")
        self.close_connection = True

    def _until_close(self) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"to the end")
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        pass


class Site(ThreadingHTTPServer):
    """A server on a free port of the loopback, secure when it has a context."""

    daemon_threads = True

    def __init__(self, context: SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Pages)
        self.turn = threading.Lock()
        self.asked: list[str] = []
        self.moved_to = "/landed"
        self.pages: dict[str, tuple[str, bytes]] = {}
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of some tests."""


@contextmanager
def serving(context: SSLContext | None = None) -> Iterator[Site]:
    """A live site."""
    with Site(context) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


class Web:
    """Names that lead to sites: what the harness reaches instead of the internet."""

    def __init__(self, directory: Path) -> None:
        self._authority = Authority(directory)
        self._sites: dict[tuple[str, int], int] = {}
        self.dialled: list[tuple[str, int]] = []

    def put(self, host: str, port: int, site: Site) -> None:
        """From now on ``site`` is what stands at ``host:port``."""
        self._sites[host, port] = site.port

    def dial(self, host: str, port: int, seconds: float) -> socket.socket:
        self.dialled.append((host, port))
        if (host, port) not in self._sites:
            raise OSError(111, "Connection refused")
        return socket.create_connection(("127.0.0.1", self._sites[host, port]), WAIT_SECONDS)

    def server_context(self, host: str) -> SSLContext:
        return self._authority.context(host)

    @property
    def client_context(self) -> Callable[[], SSLContext]:
        return lambda: create_default_context(cafile=str(self._authority.certificate))
