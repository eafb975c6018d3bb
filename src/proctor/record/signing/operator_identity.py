"""Identities of persons: two private keys in one file, and the signatures on what operators decide and do.

``age`` opens what was encrypted for a person (X25519), ``sign`` proves that a request is theirs (Ed25519). The public
halves are one line, ``NAME age1... HEX``, that can be sent to anyone. Identities read the vault, approve retention acts
and sign the acts of operators.

An operator who has an identity signs the act (``operator.decided``, ``operator.acted``) together with the run and the
number that it answers, so that a signature holds for one act of one run only. The event carries the public half and the
signature. An act without a signature is valid too: a user who may write to the home may decide.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.record.run_directory import Problem
from proctor.record.trace.event import Event

KIND = "proctor.identity"
FILE_BYTES = 4096
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAKE = "proctor vault identity NAME FILE makes one"
_PUBLIC = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63}) (age1[0-9a-z]{40,80}) ([0-9a-f]{64})")


@dataclass(frozen=True)
class Person:
    """The public half: a name, who to encrypt for, and the key that checks signatures."""

    name: str
    age: str
    sign: str

    def __str__(self) -> str:
        return f"{self.name} {self.age} {self.sign}"

    def signed(self, purpose: str, value: Mapping[str, Any], signature: str) -> bool:
        """Whether ``signature`` is this person's signature on ``value`` for ``purpose``."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.sign))
            key.verify(bytes.fromhex(signature), _message(purpose, value))
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class Identity:
    """The private half."""

    person: Person
    age: str
    seed: bytes

    def sign(self, purpose: str, value: Mapping[str, Any]) -> str:
        """A signature on ``value`` that is valid for one purpose only."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(_message(purpose, value)).hex()

    def save(self, path: Path) -> None:
        """Write the private file, which must not exist, and the public line next to it."""
        if os.path.lexists(path):
            raise UsageFault("exists already", where=str(path), hint="an identity is never written over")
        value = {"schema": 1, "kind": KIND, "name": self.person.name, "age": self.age, "sign": self.seed.hex()}
        try:
            write_whole(path, canonical(value), mode=0o600)
            write_whole(path.with_name(path.name + ".pub"), f"{self.person}\n".encode())
        except OSError as error:
            raise UsageFault(f"cannot be written: {error.strerror}", where=str(path)) from None


def age() -> Any:
    """The library that encrypts, loaded when it is needed; it comes without types."""
    import pyrage  # type: ignore[import-untyped]

    return pyrage


def new_identity(name: str, entropy: bytes) -> Identity:
    """An identity for ``name``; ``entropy`` is 32 bytes for the signing key."""
    if not NAME.fullmatch(name):
        raise UsageFault(f"not a name: {name[:80]!r}", hint="letters, digits, dots, dashes; 64 at most")
    return _identity(name, str(age().x25519.Identity.generate()), entropy)


def load_identity(path: Path) -> Identity:
    """The identity in a private file, which no other user may read."""
    try:
        data = read_bounded(path, FILE_BYTES)
        if _PUBLIC.fullmatch(data.decode("utf-8", "replace").strip()):
            hint = "give the private file, whose name is the same without .pub"
            raise UsageFault("this is the public half of an identity", where=str(path), hint=hint)
        if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise UsageFault("others can read this private file", where=str(path), hint=f"chmod 600 {path}")
        value = parse_canonical(data)
        if value["kind"] != KIND or value["schema"] != 1:
            raise ValueError
        return _identity(str(value["name"]), str(value["age"]), bytes.fromhex(value["sign"]))
    except OSError as error:
        why = f"the identity cannot be read: {error.strerror}"
        raise UsageFault(why, where=str(path), hint=_MAKE) from None
    except (ValueError, KeyError, TypeError, InfrastructureFault):
        raise UsageFault("not an identity", where=str(path), hint=_MAKE) from None


def load_person(path: Path) -> Person:
    """The public half in a ``.pub`` file."""
    try:
        text = read_bounded(path, FILE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UsageFault(f"the identity cannot be read: {error.strerror}", where=str(path)) from None
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(path)) from None
    if KIND in text:
        raise UsageFault("this is a private identity", where=str(path), hint=f"give its public half: {path}.pub")
    try:
        return read_person(text)
    except UsageFault as error:
        raise UsageFault(error.message, where=str(path), hint=error.hint) from None


def read_person(text: str) -> Person:
    """The public half in one line. Other text is not repeated in the message: it may be a private half."""
    match = _PUBLIC.fullmatch(text.strip())
    if match is None or not _is_recipient(match[2]):
        raise UsageFault("not a public identity", hint="the line in the .pub file: NAME age1... HEX")
    return Person(*match.groups())


def _is_recipient(text: str) -> bool:
    """Whether ``text`` is a key to encrypt for; it may only look like one."""
    try:
        age().x25519.Recipient.from_str(text)
    except age().RecipientError:
        return False
    return True


def _identity(name: str, private: str, seed: bytes) -> Identity:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        recipient = str(age().x25519.Identity.from_str(private).to_public())
    except age().IdentityError:
        raise ValueError from None
    sign = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw().hex()
    return Identity(Person(name, recipient, sign), private, seed)


def _message(purpose: str, value: Mapping[str, Any]) -> bytes:
    return purpose.encode() + b"\n" + canonical(dict(value))


PURPOSE = "proctor operator"
COMPARISON = "signature"
SIGNED = {
    "operator.decided": ("decision", "why", "code", "by", "to"),
    "operator.acted": ("action", "why", "code", "by"),
}
"""The keys of each type of event that a signature covers, besides the run and the number that the act answers."""


def act_signature(identity: Identity | None, run: str, answers: int, act: Mapping[str, str]) -> dict[str, Any]:
    """The keys ``signer`` and ``signature`` of an act in ``run``, empty without an identity.

    ``answers`` is the number of the question, or of the request.
    """
    if identity is None:
        return {"signer": "", "signature": ""}
    return {"signer": str(identity.person), "signature": identity.sign(PURPOSE, _value(run, answers, act))}


def signature_problems(run: str, events: Iterable[Event]) -> Iterator[Problem]:
    """What is wrong with the signatures of a run's operators."""
    asked = -1
    for event in events:
        if event.type == "operator.asked":
            asked = event.seq
        names = SIGNED.get(event.type)
        if names is None:
            continue
        answers = asked if event.type == "operator.decided" else int(event.payload["request"])
        act = {name: str(event.payload.get(name, "")) for name in names}
        signer, signature = (str(event.payload.get(name, "")) for name in ("signer", "signature"))
        problem = signature_problem(run, answers, act, signer, signature)
        if problem:
            yield Problem(f"events.jsonl#{event.seq}", problem, COMPARISON)


def signers(events: Iterable[Event]) -> Iterator[tuple[Event, Person]]:
    """The signed acts of operators and who signed each; anyone can make an identity with any name."""
    for event in events:
        if event.type in SIGNED and event.payload.get("signature"):
            yield event, read_person(str(event.payload["signer"]))


def signature_problem(run: str, answers: int, act: Mapping[str, str], signer: str, signature: str) -> str:
    """What is wrong with the signature of one act; empty if it is valid or absent."""
    if not signer and not signature:
        return ""
    try:
        person = read_person(signer)
    except UsageFault:
        return "the signer is not a public identity"
    if person.name != act["by"]:
        return f"the act is signed by {person.name} and not by {act['by']}"
    if not person.signed(PURPOSE, _value(run, answers, act), signature):
        return "the signature of the operator is not valid"
    return ""


def _value(run: str, answers: int, act: Mapping[str, str]) -> dict[str, Any]:
    return {"run": run, "answers": answers, **act}
