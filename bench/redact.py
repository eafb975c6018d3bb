"""Redacting text with few secrets in it, such as source code, against hashing it; in processor time.

Base64 and escapes are read twice, as they are written and as they are meant; their rows inform.
"""

from __future__ import annotations

import base64
import sysconfig
import time
from collections.abc import Callable
from hashlib import sha256, sha512
from pathlib import Path

from bench.measure import Row, ratio
from proctor.record.redact import Redactor

BAR_MEGABYTES = 20
TOKEN = b"glpat-" + b"aB3" * 7


def measure(directory: Path, *, quick: bool) -> list[Row]:
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    data = b"\n".join(path.read_bytes() for path in sources)[: (4 if quick else 20) * 10**6]
    data += b"\ntoken = '" + TOKEN + b"'\n"
    noise = base64.b64encode(sha512(data).digest() * (len(data) // 256))
    escapes = b"".join([b"\\u%04x" % byte for byte in data[: len(data) // 24]]) + b"\n" + TOKEN
    wrapped = b"\n".join([noise[at : at + 76] for at in range(0, len(noise), 76)]) + b"\n" + TOKEN
    return [
        _row("redact a megabyte of code", data, BAR_MEGABYTES),
        _row("redact a megabyte of base64", wrapped),
        _row("redact a megabyte of escapes", escapes),
    ]


def _row(name: str, data: bytes, bar: int = 0) -> Row:
    """The better of several rounds; without a ``bar`` it only informs."""
    if TOKEN in _redacted(data):
        raise AssertionError("the planted token was not found")
    pairs = [(_seconds(lambda: _redacted(data)), _seconds(lambda: sha256(data).digest())) for _ in range(3)]
    ours, bare = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    size = len(data) / 1e6
    rate = size / ours
    words = f">= {bar} MB/s" if bar else ""
    return Row(
        name, f"{rate:.0f} MB/s", f"{size / bare:.0f} MB/s", ratio(ours, bare), words, rate >= bar if bar else None
    )


def _redacted(data: bytes) -> bytes:
    return Redactor(b"k" * 32, lambda name, kind, secret: None).data(data)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
