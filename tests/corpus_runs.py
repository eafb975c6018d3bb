"""The sealed runs of earlier versions under ``tests/corpus``, unpacked where a test wants them."""

from __future__ import annotations

import tarfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
NAMES = tuple(sorted(path.name.removesuffix(".tar.gz") for path in CORPUS.glob("*.tar.gz")))


def unpack(name: str, runs: Path) -> Path:
    """The run directory of one archive, below ``runs``, with the modes that its seal covers."""
    runs.mkdir(parents=True, exist_ok=True)
    with tarfile.open(CORPUS / f"{name}.tar.gz") as archive:
        archive.extractall(runs, filter="fully_trusted")
        return runs / archive.getnames()[0]
