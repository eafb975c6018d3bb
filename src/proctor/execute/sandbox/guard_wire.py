"""The records of ``proctor-init guard`` as observations. The other side of it is ``native/guard_records.c``.

The guard is ours, but what its records hold comes from inside: every word is bytes. Paths become text without
loss, as everywhere.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from proctor.base.names import name_text
from proctor.execute.sandbox.guard import Observation, errno_name

_SIZE = struct.Struct("I")


class Records:
    """Cuts a stream of bytes into records."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, ...]]:
        """The words of each record that ``data`` completes."""
        self._rest += data
        at = 0
        while len(self._rest) - at >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._rest, at)
            if len(self._rest) - at - _SIZE.size < size:
                break
            at += _SIZE.size
            yield tuple(self._rest[at : at + size - 1].split(b"\0"))
            at += size
        self._rest = self._rest[at:]


def observation(words: tuple[bytes, ...]) -> Observation:
    """The observation that a record tells of."""
    head, kind, *fields = words
    time_ns, count = (int(number) for number in head.split())
    return _READERS[kind](time_ns, count, fields)


def _text(words: list[bytes]) -> tuple[str, ...]:
    """Arguments as text; bytes that are none become ``\\xNN``."""
    return tuple(word.decode("utf-8", "backslashreplace") for word in words)


def _exec(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, parent, origin, path, cwd, allowed, cut, *argv = fields
    return Observation(
        "exec",
        time_ns,
        pid=int(pid),
        parent=int(parent),
        origin=int(origin),
        path=name_text(path),
        cwd=name_text(cwd),
        allowed=allowed == b"1",
        cut=cut == b"1",
        argv=_text(argv),
    )


def _exit(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, code, wall_ns = fields
    return Observation("exit", time_ns, pid=int(pid), exit_code=int(code) if code else None, wall_ns=int(wall_ns))


def _attempt(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    code, syscall, pid, detail, path, address, allowed, error, *argv = fields
    return Observation(
        "attempt",
        time_ns,
        pid=int(pid),
        count=count,
        code=code.decode(),
        syscall=syscall.decode(),
        detail=name_text(detail),
        path=name_text(path),
        address=name_text(address),
        allowed=allowed == b"1",
        errno=errno_name(int(error)),
        argv=_text(argv),
    )


def _signal(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, syscall, target, number = fields
    return Observation(
        "signal",
        time_ns,
        pid=int(pid),
        count=count,
        syscall=syscall.decode(),
        target=int(target),
        signal=int(number),
    )


def _read(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, path = fields
    return Observation("read", time_ns, pid=int(pid), count=count, path=name_text(path))


def _script(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, path, state, size, script = fields
    return Observation(
        "script", time_ns, pid=int(pid), path=name_text(path), detail=state.decode(), size=int(size), text=script
    )


def _held(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, syscall, path = fields
    return Observation(
        "held", time_ns, pid=int(pid), count=count, syscall=syscall.decode(), path=name_text(path), allowed=False
    )


def _more(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    return Observation("more", time_ns, count=count, code=fields[0].decode())


def _lost(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    return Observation("lost", time_ns, count=count)


_READERS = {
    b"exec": _exec,
    b"exit": _exit,
    b"attempt": _attempt,
    b"signal": _signal,
    b"read": _read,
    b"script": _script,
    b"held": _held,
    b"more": _more,
    b"lost": _lost,
}
