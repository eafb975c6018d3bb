"""The requests on one connection, one after the other: read, decided, answered and recorded.

Every exchange is recorded before its last byte reaches the sandbox. A refused request gets an answer that says what is
allowed, and the connection ends; so does one with a request that cannot be parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proctor.execute.network.allow_list import AllowList, Place, Route, route
from proctor.execute.network.certificate_authority import Authority
from proctor.execute.network.http_exchange import Answer, Body, Count, NoAnswer, Request, Source
from proctor.execute.network.http_messages import (
    Ended,
    Framing,
    Headers,
    Malformed,
    RequestHead,
    Stream,
    body_pieces,
    chunk,
    end_to_end,
    head_bytes,
    header,
    read_request,
    request_framing,
)
from proctor.execute.network.namespace_sockets import OpenConnections
from proctor.execute.network.network_events import (
    Bounds,
    Content,
    Exchange,
    FindCanaries,
    NetworkEventRecorder,
    nothing_planted,
    shown,
)

_PHRASES = {
    400: "Bad Request",
    403: "Forbidden",
    413: "Content Too Large",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
_RULES_SHOWN = 20


@dataclass(frozen=True)
class ProxyContext:
    """What all conversations of a network share. ``spot`` names the planted secrets in what a request sends."""

    allow: AllowList
    source: Source
    notify: NetworkEventRecorder
    live: OpenConnections
    scratch: Path
    bounds: Bounds
    authority: Authority | None = None
    spot: FindCanaries = nothing_planted


class ConnectionHandler:
    """Answers the requests of one connection; ``place`` is the replaced server, ``None`` for the proxy itself."""

    def __init__(self, context: ProxyContext, stream: Stream, place: Place | None) -> None:
        self._context = context
        self._stream = stream
        self._place = place
        self.carried: tuple[str, ...] = ()
        """The planted secrets in the current request, as far as it has been read."""

    def run(self, connect: Callable[[RequestHead], None] | None = None) -> None:
        """Continue until the connection ends; ``connect`` takes over for a tunnel."""
        try:
            while self._next(connect):
                pass
        except Ended:
            pass

    def may_go_on(self, goes: Route, method: str, permitted: bool) -> bool:
        """Whether policy and bounds let a request pass; otherwise it has been refused."""
        if self._context.notify.full:
            self.refuse(goes, method, 503, "more exchanges than the network of a run may have")
        elif not permitted:
            self.refuse(goes, method, 403, "the allow list does not contain it")
        else:
            return True
        return False

    def refuse(
        self, goes: Route, method: str, status: int, reason: str, *, allowed: bool = False, sent: Content | None = None
    ) -> None:
        """Record that there is no answer, send the message, and end the connection."""
        content = Count()
        text = self._words(goes, method, reason, allowed)
        content.add(text)
        self._context.notify(
            Exchange(
                *(goes.host, goes.port, method, goes.target, status),
                request=sent,
                response=content.content(),
                allowed=allowed,
                reason=reason,
                canaries=self.carried,
            )
        )
        headers = (
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(text))),
            ("X-Proctor", "no answer" if allowed else "refused"),
            ("Connection", "close"),
        )
        first = f"HTTP/1.1 {status} {_PHRASES.get(status, 'Refused')}"
        self._stream.send(head_bytes(first, headers) + (b"" if method == "HEAD" else text))
        self._stream.linger()

    def _words(self, goes: Route, method: str, reason: str, allowed: bool) -> bytes:
        what = shown(f"{method} {goes.host}:{goes.port}{goes.target}") if goes.host else "a request"
        rules = [str(rule) for rule in self._context.allow.rules]
        more = ", …" if len(rules) > _RULES_SHOWN else ""
        lines = [f"Proctor {'has no answer to' if allowed else 'refused'} {what}: {shown(reason)}"]
        if not allowed:
            lines.append(f"Open by contract: {', '.join(rules[:_RULES_SHOWN]) or 'nothing'}{more}")
        return "\n".join((*lines, "")).encode()

    def _next(self, connect: Callable[[RequestHead], None] | None) -> bool:
        """Serve one request; whether another may follow on the connection."""
        goes, method = Route("", "", 0, ""), ""
        self.carried = ()
        try:
            head = read_request(self._stream, self._context.bounds.head_bytes)
            if head is None:
                return False
            method = head.method
            self.carried = self._context.spot(head_bytes(f"{method} {head.target}", head.headers))
            if connect is not None and method == "CONNECT":
                connect(head)
                return False
            goes = route(head, self._place)
            frame = request_framing(head)
        except Malformed as error:
            self.refuse(goes, method, error.status, str(error))
            return False
        if not self.may_go_on(goes, method, self._context.allow.permits(method, goes.host, goes.port, goes.target)):
            return False
        return self._exchange(head, goes, frame)

    def _exchange(self, head: RequestHead, goes: Route, frame: Framing) -> bool:
        body = Body(self._context.scratch)
        try:
            if (header(head.headers, "expect") or "").lower() == "100-continue":
                self._stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            for piece in body_pieces(self._stream, frame, self._context.bounds.request_bytes):
                body.add(piece)
            self._search(body)
            request = Request(
                *(head.method, goes.scheme, goes.host, goes.port, goes.target),
                headers=tuple(pair for pair in end_to_end(head.headers) if pair[0].lower() != "host"),
                content=body.content(),
            )
            answer = self._context.source.answer(request, body)
            try:
                return self._deliver(head, request, answer)
            finally:
                answer.close()
        except Malformed as error:
            self.refuse(goes, head.method, error.status, str(error))
        except NoAnswer as error:
            reason, allowed = str(error), not error.refused
            self.refuse(goes, head.method, error.status, reason, allowed=allowed, sent=body.content())
        finally:
            body.close()
        return False

    def _deliver(self, head: RequestHead, request: Request, answer: Answer) -> bool:
        """Pass an answer on, holding back its last part until the exchange has been recorded."""
        keep = head.version == "HTTP/1.1" and "close" not in (header(head.headers, "connection") or "").lower()
        chunked = not answer.bodiless and answer.length is None and head.version == "HTTP/1.1"
        keep = keep and (answer.bodiless or chunked or answer.length is not None)
        held = head_bytes(f"HTTP/1.1 {answer.status} {answer.reason}", _framed(answer, chunked, keep))
        count = Count()
        problem = ""
        try:
            for piece in answer.pieces:
                count.add(piece)
                self._stream.send(held)
                held = chunk(piece) if chunked else piece
        except (Ended, Malformed) as error:
            problem = f"cut: {error}"
        self._context.notify(
            Exchange(
                *(request.host, request.port, request.method, request.target, answer.status),
                request=request.content,
                response=count.content(),
                replayed=answer.replayed,
                reason=problem,
                canaries=self.carried,
            )
        )
        if problem:
            raise Ended(problem)
        self._stream.send(held + (b"0\r\n\r\n" if chunked else b""))
        return keep

    def _search(self, body: Body) -> None:
        """Add the planted secrets in a body to those in its head."""
        found = (name for window in body.windows() for name in self._context.spot(window))
        self.carried = tuple(dict.fromkeys((*self.carried, *found)))


def _framed(answer: Answer, chunked: bool, keep: bool) -> Headers:
    headers = answer.headers
    if chunked:
        headers = (*headers, ("Transfer-Encoding", "chunked"))
    elif answer.length is not None and not answer.bodiless:
        headers = (*headers, ("Content-Length", str(answer.length)))
    return headers if keep else (*headers, ("Connection", "close"))
