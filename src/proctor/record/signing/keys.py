"""Ed25519 keys in the files that every tool reads: PKCS #8 for private keys, SubjectPublicKeyInfo for public ones, PEM.

A key's id is the SHA-256 of the DER of its public key. A private key is written so that only its owner can read it,
and never overwrites a file; a key file that other users can read is refused.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_BYTES = 64 << 10
PRIVATE_MODE = 0o600


def create_key(private: Path, public: Path) -> str:
    """Draw a new key, write both halves and return its id; neither file may exist."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    if os.path.lexists(public):
        raise _taken(public)
    _write_new(private, secret, PRIVATE_MODE)
    _write_new(public, shown, 0o644)
    return key_id(key.public_key())


def load_private(path: Path) -> Ed25519PrivateKey:
    """The private key in ``path``."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = _read(path)
    if b"-----BEGIN PUBLIC KEY-----" in data:
        hint = "sign with the private half, whose name ends in .key"
        raise UsageFault("this is a public key", where=str(path), hint=hint)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise UsageFault("others can read this private key", where=str(path), hint=f"chmod 600 {path}")
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError):
        raise UsageFault("not a private key in PEM without a password", where=str(path)) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageFault("not an Ed25519 key", where=str(path), hint="`proctor keys new NAME` makes one")
    return key


def load_public(path: Path) -> Ed25519PublicKey:
    """The public key in ``path``."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _read(path)
    if b"PRIVATE KEY-----" in data:
        hint = "give the public half, whose name ends in .pub"
        raise UsageFault("this is a private key", where=str(path), hint=hint)
    try:
        key = load_pem_public_key(data)
    except ValueError:
        raise UsageFault("not a public key in PEM", where=str(path)) from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageFault("not an Ed25519 key", where=str(path), hint="`proctor keys new NAME` makes one")
    return key


def key_id(key: Ed25519PublicKey) -> str:
    """The id of a public key."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def signature_holds(key: Ed25519PublicKey, signature: bytes, data: bytes) -> bool:
    """Whether ``key`` made ``signature`` over ``data``."""
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, KEY_BYTES)
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(path)) from None
    except OSError as error:
        raise UsageFault(f"the key cannot be read: {error.strerror}", where=str(path)) from None


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise _taken(path) from None
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, mode)
        file.write(data)
        file.flush()
        os.fsync(handle)


def _taken(path: Path) -> UsageFault:
    return UsageFault(
        "there is a file already", where=str(path), hint="keys are never overwritten: choose another name"
    )
