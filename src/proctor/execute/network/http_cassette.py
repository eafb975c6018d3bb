"""Cassettes: exchanges with servers, kept so that the same requests get the same answers again. Pure.

A cassette is one file of canonical JSON lines: a header, each body once under its digest, the exchanges in the order
in which they were asked, and an end that counts them and lists the gaps, so that a cut file never looks whole. The
digest of a cassette is that of its bytes. Redirects are exchanges like any other.

A request fits an exchange when method, address, path with query and the body's digest are equal, and with them the
headers that the answer depends on: ``Range``, ``Git-Protocol`` and those that the answer's ``Vary`` names. Equal
requests get their answers in the order of the tape, each once; what is not on the tape has no answer. Credentials
that a request carries in headers are never kept.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.errors import ProctorError
from proctor.execute.network.http_exchange import Request
from proctor.execute.network.http_messages import Headers, header
from proctor.execute.network.network_events import Content

KIND = "proctor.cassette"
SCHEMA = 1

_ALWAYS = ("git-protocol", "range")
_NEVER = frozenset(("*", "accept-encoding", "authorization", "cookie", "host", "origin", "referer", "user-agent"))


class BadCassette(ProctorError):
    """A cassette that cannot be used."""

    exit_code = 2


@dataclass(frozen=True)
class RecordedExchange:
    """One exchange on a tape. With a ``fault``, there was no answer, and the sandbox got that text and ``status``."""

    method: str
    scheme: str
    host: str
    port: int
    target: str
    request: Content
    varies: Headers
    status: int
    reason: str
    headers: Headers
    response: Content
    bodiless: bool = False
    fault: str = ""


@dataclass(frozen=True)
class HttpCassette:
    """A whole cassette; ``bodies`` are by their bare digest, ``gaps`` say what could not be kept."""

    name: str
    exchanges: tuple[RecordedExchange, ...]
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()


Key = tuple[str, str, str, int, str]


def key_of(asked: Request | RecordedExchange) -> Key:
    """What requests must have in common to be the same, bodies and headers apart."""
    return asked.method, asked.scheme, asked.host, asked.port, asked.target


def index(tape: HttpCassette) -> dict[Key, tuple[int, ...]]:
    """Where on the tape the requests of each key are."""
    found: dict[Key, list[int]] = {}
    for place, taped in enumerate(tape.exchanges):
        found.setdefault(key_of(taped), []).append(place)
    return {key: tuple(places) for key, places in found.items()}


def varies_of(request: Headers, answer: Headers) -> Headers:
    """The headers of a request that its answer depended on."""
    named = {word.strip().lower() for word in (header(answer, "vary") or "").split(",")} - _NEVER - {""}
    values = {name: header(request, name) or "" for name in (*_ALWAYS, *named)}
    return tuple((name, value) for name, value in sorted(values.items()) if value or name in named)


def choose(tape: HttpCassette, places: tuple[int, ...], used: Collection[int], request: Request) -> int | str:
    """Which of ``places`` answers ``request`` now, or why none does."""
    if not places:
        return "nothing was recorded for it"
    fitting = [place for place in places if tape.exchanges[place].request == request.content]
    if not fitting:
        return "it was recorded with another body"
    fitting = [place for place in fitting if _depends_alike(tape.exchanges[place], request)]
    if not fitting:
        return "it was recorded with other headers that its answer depends on"
    free = [place for place in fitting if place not in used]
    return free[0] if free else f"it was recorded {len(fitting)} times, and this is one request more"


def _depends_alike(taped: RecordedExchange, request: Request) -> bool:
    values = dict(taped.varies)
    return all(values.get(name, "") == (header(request.headers, name) or "") for name in {*_ALWAYS, *values})


def dump(tape: HttpCassette) -> bytes:
    """The bytes of a cassette."""
    lines: list[dict[str, Any]] = [{"kind": KIND, "schema": SCHEMA, "name": tape.name}]
    written: set[str] = set()
    for taped in tape.exchanges:
        if taped.response.sha256 in tape.bodies and taped.response.sha256 not in written:
            written.add(taped.response.sha256)
            text = base64.b64encode(tape.bodies[taped.response.sha256]).decode()
            lines.append({"body": taped.response.sha256, "base64": text})
        lines.append({"exchange": _line(taped)})
    end = {"bodies": len(written), "exchanges": len(tape.exchanges), "gaps": list(tape.gaps)}
    lines.append({"end": end})
    return b"".join(canonical(line) + b"\n" for line in lines)


def load(data: bytes, where: str = "cassette") -> HttpCassette:
    """The cassette that ``data`` holds; :class:`BadCassette` names the first line that is not as it must be."""
    lines = data.split(b"\n")
    if len(lines) < 3 or lines.pop():
        raise BadCassette("a cassette without its end", where=where, hint="record it again")
    exchanges: list[RecordedExchange] = []
    bodies: dict[str, bytes] = {}
    name = ""
    gaps: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        try:
            value = parse_canonical(line)
            if number == 1:
                name = _name(value)
            elif number == len(lines):
                gaps = _end(value["end"], exchanges, bodies)
            elif "body" in value:
                bodies[value["body"]] = _body(value)
            else:
                exchanges.append(_taped(value["exchange"], bodies))
        except (KeyError, TypeError, ValueError) as error:
            message = f"not a line of a cassette: {error}"
            raise BadCassette(message, where=f"{where}:{number}", hint="record it again") from None
    return HttpCassette(name, tuple(exchanges), bodies, gaps)


def _line(taped: RecordedExchange) -> dict[str, Any]:
    return {
        "method": taped.method,
        "scheme": taped.scheme,
        "host": taped.host,
        "port": taped.port,
        "target": taped.target,
        "request": taped.request.payload(),
        "varies": [list(pair) for pair in taped.varies],
        "status": taped.status,
        "reason": taped.reason,
        "headers": [list(pair) for pair in taped.headers],
        "response": taped.response.payload(),
        "bodiless": taped.bodiless,
        "fault": taped.fault,
    }


def _name(value: Any) -> str:
    if value["kind"] != KIND or value["schema"] != SCHEMA:
        raise ValueError(f"not a cassette of schema {SCHEMA}")
    return _text(value["name"])


def _end(value: Any, exchanges: list[RecordedExchange], bodies: dict[str, bytes]) -> tuple[str, ...]:
    if value["exchanges"] != len(exchanges) or value["bodies"] != len(bodies):
        raise ValueError("lines are missing or too many")
    return tuple(_text(gap) for gap in value["gaps"])


def _body(value: Any) -> bytes:
    try:
        data = base64.b64decode(value["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if hashlib.sha256(data).hexdigest() != value["body"]:
        raise ValueError("the body is not the one that its digest names")
    return data


def _taped(value: Any, bodies: Mapping[str, bytes]) -> RecordedExchange:
    taped = RecordedExchange(
        method=_text(value["method"]),
        scheme=_text(value["scheme"]),
        host=_text(value["host"]),
        port=_whole(value["port"]),
        target=_text(value["target"]),
        request=_content(value["request"]),
        varies=_pairs(value["varies"]),
        status=_whole(value["status"]),
        reason=_text(value["reason"]),
        headers=_pairs(value["headers"]),
        response=_content(value["response"]),
        bodiless=value["bodiless"] is True,
        fault=_text(value["fault"]),
    )
    body = bodies.get(taped.response.sha256, b"" if taped.response.size == 0 else None)
    if body is None or len(body) != taped.response.size:
        raise ValueError("an exchange whose body is missing")
    if taped.scheme not in ("http", "https") or not 0 < taped.port < 65536 or not 200 <= taped.status <= 599:
        raise ValueError("an impossible exchange")
    return taped


def _content(value: Any) -> Content:
    return Content(_text(value["sha256"]), _whole(value["bytes"]))


def _pairs(value: Any) -> Headers:
    pairs = tuple((_text(key), _text(text)) for key, text in value)
    if any("\r" in part or "\n" in part for pair in pairs for part in pair):
        raise ValueError("a header with a line break")
    return pairs


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is not a number")
    return value
