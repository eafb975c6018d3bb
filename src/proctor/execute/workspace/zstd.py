"""Decompress a Zstandard file with the machine's ``zstd`` program.

The standard library of Python 3.11 cannot read this format, which Debian packages of Ubuntu use. The program reads
one file, writes to a pipe, and is ended when the stream is closed.
"""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.execute.workspace.members import BadArchive

MAGIC = b"\x28\xb5\x2f\xfd"
MEMORY_MEBIBYTES = 512


class ZstdStream(io.RawIOBase):
    """Reads the output of ``zstd`` for one file; :class:`BadArchive` if the program refuses the file."""

    def __init__(self, path: Path) -> None:
        command = ["zstd", "--decompress", "--stdout", "--quiet", f"-M{MEMORY_MEBIBYTES}MiB", "--", str(path)]
        try:
            self._program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise InfrastructureFault("zstd is not installed", where=str(path), hint="install zstd") from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        assert self._program.stdout is not None
        data = self._program.stdout.read(len(buffer))
        if not data and len(buffer) and self._program.wait() != 0:
            raise BadArchive("damaged or cut short: zstd refused it")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._program.kill()
            self._program.wait()
            if self._program.stdout is not None:
                self._program.stdout.close()
        super().close()
