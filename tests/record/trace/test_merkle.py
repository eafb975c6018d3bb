"""The Merkle tree against the published roots of RFC 6962's reference data, and its proofs."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.record.trace.merkle import (
    EMPTY_ROOT,
    Frontier,
    check_inclusion,
    inclusion_proof,
    leaf_hash,
    merkle_root,
    node_hash,
)

LEAVES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
# Roots over the first 1 to 8 leaves, from the certificate-transparency project's test data.
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def defined_root(leaves: list[bytes]) -> bytes:
    """The root as section 2.1 of RFC 6962 defines it, by recursion."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return node_hash(defined_root(leaves[:split]), defined_root(leaves[split:]))


def defined_proof(index: int, leaves: list[bytes]) -> list[bytes]:
    """The audit path as section 2.1.1 of RFC 6962 defines it."""
    if len(leaves) == 1:
        return []
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    if index < split:
        return [*defined_proof(index, leaves[:split]), defined_root(leaves[split:])]
    return [*defined_proof(index - split, leaves[split:]), defined_root(leaves[:split])]


@pytest.mark.parametrize("count", range(1, 9))
def test_published_roots(count: int) -> None:
    assert merkle_root(LEAVES[:count]).hex() == ROOTS[count - 1]


def test_the_empty_tree() -> None:
    assert merkle_root([]) == EMPTY_ROOT == Frontier().root()


@pytest.mark.parametrize("count", [*range(40), 63, 64, 65, 127, 200])
def test_roots_and_proofs_are_those_of_the_definition(count: int) -> None:
    leaves = [b"%d" % number for number in range(count)]
    root = merkle_root(leaves)
    assert root == defined_root(leaves)
    for index in range(count):
        proof = inclusion_proof(leaves, index)
        assert list(proof) == defined_proof(index, leaves)
        assert check_inclusion(leaves[index], index, count, proof, root)


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=40), st.data())
def test_a_proof_holds_for_its_leaf_place_and_root_alone(leaves: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    root, proof = merkle_root(leaves), inclusion_proof(leaves, index)
    assert check_inclusion(leaves[index], index, len(leaves), proof, root)
    assert not check_inclusion(leaves[index] + b"x", index, len(leaves), proof, root)
    assert not check_inclusion(leaves[index], index, len(leaves), proof, leaf_hash(root))
    assert not check_inclusion(leaves[index], index, len(leaves), (*proof, root), root)
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        assert not check_inclusion(leaves[index], index, len(leaves), proof[:at] + proof[at + 1 :], root)
        wrong = (*proof[:at], leaf_hash(proof[at]), *proof[at + 1 :])
        assert not check_inclusion(leaves[index], index, len(leaves), wrong, root)
    other = data.draw(st.integers(0, len(leaves) - 1))
    if leaves[other] != leaves[index]:
        assert not check_inclusion(leaves[index], other, len(leaves), proof, root)


def test_a_node_cannot_stand_for_a_leaf() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert merkle_root([left + right]) != merkle_root([b"a", b"b"])


@pytest.mark.parametrize(("index", "count"), [(-1, 3), (3, 3), (0, 0)])
def test_places_outside_the_tree(index: int, count: int) -> None:
    leaves = [b"x"] * count
    assert not check_inclusion(b"x", index, count, (), merkle_root(leaves))
    with pytest.raises(IndexError):
        inclusion_proof(leaves, index)
