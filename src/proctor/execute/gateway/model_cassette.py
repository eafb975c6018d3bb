"""Cassettes of model calls: requests and the raw chunks of their answers with their timing, to be played again. Pure.

One file of canonical JSON lines: a header that names the mask, the calls in the order in which they ended, and an
end that counts them, so that a cut file never looks whole. Bodies are packed, because each request holds the whole
conversation before it.

A request fits a call when path and body are equal under the mask. Equal requests get their answers in order, each
once. What does not fit is compared with the call that shares the longest beginning of a conversation with it.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.base.canonical import canonical, digest, parse_canonical
from proctor.base.dataclass_fields import field_names
from proctor.base.errors import ProctorError
from proctor.execute.gateway import request_comparison
from proctor.execute.gateway.dialects.interface import Usage
from proctor.execute.monitor.price_table import TokenCounts

KIND = "proctor.model-cassette"
SCHEMA = 2
"""Since 2, usage has every count of tokens; in 1 it has input, output and cached input."""
BODY_BYTES = 64 << 20
_COUNTS = field_names(TokenCounts)


class BadModelCassette(ProctorError):
    """A cassette of model calls that cannot be used."""

    exit_code = 2


@dataclass(frozen=True)
class RecordedCall:
    """One call; ``chunks`` are pairs of nanoseconds since the request and bytes; ``fault`` is how it broke off."""

    dialect: str
    path: str
    body: bytes
    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[tuple[int, bytes], ...]
    usage: Usage | None
    estimated: bool
    fault: str = ""
    fault_words: str = ""


@dataclass(frozen=True)
class ModelCassette:
    """A whole cassette; ``gaps`` say what could not be kept."""

    calls: tuple[RecordedCall, ...]
    gaps: tuple[str, ...] = ()


def dump(tape: ModelCassette) -> bytes:
    """The bytes of a cassette."""
    lines: list[dict[str, Any]] = [{"kind": KIND, "schema": SCHEMA, "mask": request_comparison.VERSION}]
    lines += [{"call": _line(taped)} for taped in tape.calls]
    lines.append({"end": {"calls": len(tape.calls), "gaps": list(tape.gaps)}})
    return b"".join(canonical(line) + b"\n" for line in lines)


def load(data: bytes, where: str = "cassette") -> ModelCassette:
    """The cassette that ``data`` holds; :class:`BadTape` names the first line that is not as it must be."""
    lines = data.split(b"\n")
    if len(lines) < 3 or lines.pop():
        raise BadModelCassette("a cassette without its end", where=where, hint="record it again")
    calls: list[RecordedCall] = []
    gaps: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        try:
            value = parse_canonical(line)
            if number == 1:
                _check_header(value)
            elif number == len(lines):
                gaps = tuple(str(gap) for gap in value["end"]["gaps"])
                if value["end"]["calls"] != len(calls):
                    raise ValueError("lines are missing or too many")
            else:
                calls.append(_taped(value["call"]))
        except (KeyError, TypeError, ValueError, AttributeError, binascii.Error, zlib.error) as error:
            message = f"not a line of a cassette: {error}"
            raise BadModelCassette(message, where=f"{where}:{number}", hint="record it again") from None
    return ModelCassette(tuple(calls), gaps)


def masked(path: str, body: Any) -> tuple[str, Any]:
    """The digest by which requests are matched, and the body under the mask."""
    hidden = request_comparison.mask(body)
    text = orjson.dumps(hidden, option=orjson.OPT_SORT_KEYS).decode()
    return digest({"path": request_comparison.mask(path), "body": text}), hidden


def shared(left: Any, right: Any) -> int:
    """How many messages two masked requests share at their beginning."""
    count = 0
    for one, other in zip(_messages(left), _messages(right), strict=False):
        if one != other:
            break
        count += 1
    return count


def _messages(body: Any) -> list[Any]:
    for name in ("messages", "input", "contents"):
        if isinstance(body, dict) and isinstance(body.get(name), list):
            found: list[Any] = body[name]
            return found
    return []


def _check_header(value: Any) -> None:
    if value["kind"] != KIND or value["schema"] not in range(1, SCHEMA + 1):
        raise ValueError(f"not a cassette of model calls of schema {SCHEMA} or earlier")
    if value["mask"] not in range(1, request_comparison.VERSION + 1):
        raise ValueError(f"made with mask {value['mask']}, and this version has mask {request_comparison.VERSION}")


def _line(taped: RecordedCall) -> dict[str, Any]:
    usage = taped.usage
    counted = None if usage is None else [getattr(usage, name) for name in _COUNTS]
    return {
        "dialect": taped.dialect,
        "path": taped.path,
        "body": base64.b64encode(zlib.compress(taped.body, 6)).decode(),
        "status": taped.status,
        "headers": [list(pair) for pair in taped.headers],
        "chunks": [[str(at), base64.b64encode(chunk).decode()] for at, chunk in taped.chunks],
        "usage": counted,
        "estimated": taped.estimated,
        "fault": taped.fault,
        "fault_words": taped.fault_words,
    }


def _taped(value: Any) -> RecordedCall:
    usage = None
    if value["usage"] is not None:
        if len(value["usage"]) not in (3, len(_COUNTS)):
            raise ValueError("usage without its counts")
        counts: dict[str, Any] = dict(zip(_COUNTS, map(_whole, value["usage"]), strict=False))
        usage = Usage(**counts)
    return RecordedCall(
        dialect=str(value["dialect"]),
        path=str(value["path"]),
        body=_unpack(value["body"]),
        status=_whole(value["status"]),
        headers=tuple((str(name), str(text)) for name, text in value["headers"]),
        chunks=tuple((int(at), base64.b64decode(chunk, validate=True)) for at, chunk in value["chunks"]),
        usage=usage,
        estimated=value["estimated"] is True,
        fault=str(value["fault"]),
        fault_words=str(value["fault_words"]),
    )


def _unpack(text: str) -> bytes:
    inflater = zlib.decompressobj()
    data = inflater.decompress(base64.b64decode(text, validate=True), BODY_BYTES)
    if not inflater.eof:
        raise ValueError("a body that is cut or too large")
    return data


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is not a number")
    return value
