"""The Merkle tree of RFC 6962: its root, proofs that a leaf is in it, and their check.

Leaves and nodes are hashed under different prefixes, so that neither can be taken for the other. :class:`Frontier`
grows with the log and holds only the roots of the complete subtrees, one for each bit of the count. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of one leaf."""
    return sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


class Frontier:
    """A tree that only grows: the state needed to add leaves and to compute the root."""

    def __init__(self) -> None:
        self.count = 0
        self._subtrees: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Add one leaf."""
        value = sha256(b"\0" + leaf).digest()
        rest = self.count
        while rest & 1:
            value = sha256(b"\1" + self._subtrees.pop() + value).digest()
            rest >>= 1
        self._subtrees.append(value)
        self.count += 1

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._subtrees:
            return EMPTY_ROOT
        value = self._subtrees[-1]
        for left in reversed(self._subtrees[:-1]):
            value = node_hash(left, value)
        return value


def merkle_root(leaves: Iterable[bytes]) -> bytes:
    """The root over ``leaves``."""
    tree = Frontier()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """The hashes that lead from leaf ``index`` to the root over ``leaves``, lowest first."""
    if not 0 <= index < len(leaves):
        raise IndexError(f"no leaf {index} among {len(leaves)}")
    level = [leaf_hash(leaf) for leaf in leaves]
    proof: list[bytes] = []
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            proof.append(level[sibling])
        above = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        if len(level) & 1:
            above.append(level[-1])
        level, index = above, index >> 1
    return tuple(proof)


def check_inclusion(leaf: bytes, index: int, count: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether ``proof`` shows that ``leaf`` is number ``index`` of the ``count`` leaves under ``root``."""
    if not 0 <= index < count:
        return False
    last, value = count - 1, leaf_hash(leaf)
    for sibling in proof:
        if last == 0:
            return False
        if index & 1 or index == last:
            value = node_hash(sibling, value)
            while not index & 1 and index:
                index >>= 1
                last >>= 1
        else:
            value = node_hash(value, sibling)
        index >>= 1
        last >>= 1
    return last == 0 and value == root
