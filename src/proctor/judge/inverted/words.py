"""Values that take the place of expectations. Pure.

They are drawn for each pool, so that no program can know them beforehand, and look like values that tests hold.
"""

from __future__ import annotations

import hashlib

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Draw:
    """Values that follow from a nonce and the place where they are used."""

    def __init__(self, nonce: bytes) -> None:
        self._nonce = nonce

    def word(self, place: int) -> str:
        """Six small letters."""
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in self._bytes(place)[:6])

    def number(self, place: int) -> int:
        """A number between 1 and 97."""
        return 1 + self._bytes(place)[6] % 97

    def _bytes(self, place: int) -> bytes:
        return hashlib.sha256(self._nonce + place.to_bytes(8)).digest()
