"""The restricted store of originals: encrypted at rest, read by signed tokens, every reading in a chained log.

    key            names originals (HMAC) and authenticates the log; only this user can read it
    entries/NAME.age   one original each, encrypted for everyone who was a recipient when it was added
    access.jsonl   who became a recipient, who asked for what and why, and whether it was granted
    ../vault-head.json   a second note of the log's length, outside the vault

The log decides who may read, so a user cannot gain access by editing a list. Writing needs no identity; reading needs a
token, signed by a recipient for one entry, with a reason, for a short time and for one use. A reading is in the log
before the first byte is decrypted; so is one that is refused. If the log is not valid, nothing is read. A vault that
was restored from a copy does not match the note outside of it.

Limits: a user who has the key and may write to the home can write another history from the beginning, and a home that
is restored as a whole is consistent. Note the head of the log elsewhere from time to time (``proctor
vault log`` prints it).
"""

from __future__ import annotations

import base64
import hmac
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.errors import BrokenSeal, InfrastructureFault, ProctorError, UsageFault
from proctor.base.files import read_bounded, sync_directory, write_whole
from proctor.base.untrusted_directories import erase
from proctor.record.chained_log import NOTE_BYTES, ChainedLog, Entry, exclusive_lock
from proctor.record.redact import NAME_DIGITS, name_of
from proctor.record.signing.operator_identity import Identity, Person, age

LOG_NAME = "access.jsonl"
KEY_BYTES = 32
NEW_BYTES = 8
ENTRY_BYTES = 64 << 20
TOKEN_BYTES = 8192
TOKEN_SECONDS = 600
TWICE = "twice"
"""In the first record: the end of the log is also noted at a second place. Older vaults have one place."""
AGE_HEADER = b"age-encryption.org/v1\n"
AGE_TAG_BYTES = 16
AGE_CHUNK_BYTES = 64 << 10
"""The form of an age file: a header, its MAC after ``---``, a nonce of 16 bytes, and a tag after each chunk."""
WHY_CHARACTERS = 500
PURPOSE = "proctor.vault.token"
NO_RECIPIENT = "the reader is not a recipient"
NO_REASON = "it does not say why"
NO_ENTRY = "there is no such entry"
_HINTS = {
    NO_RECIPIENT: "a recipient can add you: proctor vault add-recipient",
    NO_REASON: "--why '...'",
    NO_ENTRY: "an entry is named by the end of its placeholder, [secret:KIND:LENGTH:NAME]",
}
_NAME = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}")
_NEW = re.compile(rf"[0-9a-f]{{{2 * NEW_BYTES}}}")
"""The suffix of a vault's name until it is complete."""

_NONCE = re.compile(r"[0-9a-f]{2,128}")
_MOMENT = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True)
class Original:
    """The original text of a placeholder."""

    name: str
    kind: str
    secret: bytes


class Vault:
    """The vault at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = path / "entries"
        self.head = path.with_name(f"{path.name}-head.json")

    def create(self, first: Person, key: bytes, now_ns: int) -> None:
        """Make the vault with its first recipient: all of it, or none."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(self.path.parent):
            self._create(first, key, now_ns)

    def _create(self, first: Person, key: bytes, now_ns: int) -> None:
        if os.path.lexists(self.path):
            raise UsageFault("there is a vault already", where=str(self.path), hint="proctor vault add-recipient")
        self._miss()
        self._remove_left()
        new = self.path.with_name(f".{self.path.name}-{os.urandom(NEW_BYTES).hex()}")
        new.mkdir(mode=0o700)
        (new / self.entries.name).mkdir(mode=0o700)
        write_whole(new / "key", key, mode=0o600)
        log = ChainedLog(new / LOG_NAME, key=key, second=self.head)
        log.append({"act": "init", "noted": TWICE, "recipient": str(first), "t": str(now_ns)})
        new.rename(self.path)
        sync_directory(self.path.parent)

    def sweep(self) -> None:
        """Remove what a crash of :meth:`create` left, unless another process creates the vault now or removal fails."""
        with suppress(OSError, ProctorError):
            if self._left():
                with exclusive_lock(self.path.parent, wait=False):
                    if not os.path.lexists(self.path):
                        self._miss()
                    self._remove_left()

    def _left(self) -> list[Path]:
        """What a crash of :meth:`create` left."""
        begin = f".{self.path.name}-"
        found = self.path.parent.glob(f"{begin}*")
        return [path for path in found if _NEW.fullmatch(path.name.removeprefix(begin))]

    def _remove_left(self) -> None:
        """Remove what a crash left, and before it the note of the vault that was never completed."""
        if not os.path.lexists(self.path):
            self.head.unlink(missing_ok=True)
            sync_directory(self.path.parent)
        for path in self._left():
            erase(path)

    @property
    def key(self) -> bytes:
        if not os.path.lexists(self.path):
            self._miss()
            hint = "proctor vault identity NAME FILE, then proctor vault init --identity FILE"
            raise UsageFault("there is no vault", where=str(self.path), hint=hint)
        try:
            key = read_bounded(self.path / "key", KEY_BYTES)
        except (OSError, InfrastructureFault):
            key = b""
        if len(key) != KEY_BYTES:
            raise BrokenSeal("the key of the vault was changed or removed", where=str(self.path / "key"))
        return key

    def _miss(self) -> None:
        """Refuse if a vault was noted and is missing, unless a crash of :meth:`create` explains the note."""
        try:
            count = int(parse_canonical(read_bounded(self.head, NOTE_BYTES))["count"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, InfrastructureFault):
            raise BrokenSeal("the note of the log's length is not valid", where=self.head.name) from None
        explained = count == 1 and self._left()
        if not explained and not os.path.lexists(self.path):  # another process may have just created it
            records = "1 record" if count == 1 else f"{count} records"
            hint = f"restore it from a copy; if you no longer want a vault, remove {self.head.name} as well"
            raise BrokenSeal(f"the vault was removed: its log had {records}", where=str(self.path), hint=hint)

    def log(self) -> ChainedLog:
        """The log; :meth:`history` checks that it is this vault's."""
        return ChainedLog(self.path / LOG_NAME, key=self.key, second=self.head)

    def history(self) -> list[Entry]:
        """Every record of the access log, which begins with the vault itself."""
        return self._begun(self.log().read())

    def _begun(self, entries: list[Entry]) -> list[Entry]:
        if not entries or entries[0].record.get("act") != "init":
            raise BrokenSeal("the access log does not begin with the vault", where=LOG_NAME)
        if entries[0].record.get("noted") == TWICE and not os.path.lexists(self.head):
            raise BrokenSeal("the note of the log's length was removed", where=self.head.name)
        return entries

    def tell_refused(self, reason: str, now_ns: int) -> None:
        """Log a reading that failed before there was a request."""

        def record(entries: list[Entry]) -> dict[str, str]:
            self._begun(entries)
            return {"act": "read", "outcome": "refused", "reason": reason[:WHY_CHARACTERS], "t": str(now_ns)}

        self.log().decide(record)

    def keeper(self) -> Callable[[str, str, bytes], None]:
        """Stores originals; those who are recipients at that time can read them later."""
        self.history()
        with exclusive_lock(
            self.entries
        ):  # every writer holds the lock, so a file without its final name was left by a crash
            for left in self.entries.glob(".*.age.*"):
                left.unlink()

        made: tuple[object, Callable[[Original], None]] | None = None

        def keep(name: str, kind: str, secret: bytes) -> None:
            nonlocal made
            original = Original(name, kind, secret)
            with exclusive_lock(self.entries):
                if not self._has(original):
                    now = self._log_state()
                    if made is None or made[0] != now:
                        made = now, self._putter()
                    made[1](original)

        return keep

    def _log_state(self) -> object:
        """Changes with each new recipient, so that the log is not read for each original."""
        try:
            found = os.stat(self.path / LOG_NAME)
        except OSError:
            return object()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _has(self, original: Original) -> bool:
        """Whether the entry of ``original`` exists, without decrypting it.

        An entry that a crash of the machine left empty, short or full of zeros does not count and is written again.
        """
        try:
            data = read_bounded(self.entries / f"{original.name}.age", ENTRY_BYTES)
        except (OSError, InfrastructureFault):
            return False
        head, _, rest = data.partition(b"\n--- ")
        sealed = rest.partition(b"\n")[2]
        plain = len(_plain(original))
        tags = 1 + max(1, -(-plain // AGE_CHUNK_BYTES))  # the nonce is as long as a tag
        whole = len(sealed) == plain + tags * AGE_TAG_BYTES
        return head.startswith(AGE_HEADER) and whole and any(sealed[-AGE_TAG_BYTES:])

    def _putter(self) -> Callable[[Original], None]:
        """Encrypts an original for all current recipients and replaces the entry."""
        people = _recipients(self.history()).values()
        recipients = [age().x25519.Recipient.from_str(person.age) for person in people]

        def put(original: Original) -> None:
            path = self.entries / f"{original.name}.age"
            write_whole(path, age().encrypt(_plain(original), recipients), mode=0o600)

        return put

    def token(self, identity: Identity, name: str, why: str, nonce: bytes, now_ns: int) -> dict[str, str]:
        """A request of ``identity`` to read ``name``, valid for one use and for :data:`TOKEN_SECONDS`."""
        request = {
            "entry": name,
            "expires": str(now_ns + TOKEN_SECONDS * 10**9),
            "nonce": nonce.hex(),
            "reader": identity.person.name,
            "vault": self.history()[0].hash,
            "why": why,
        }
        return {**request, "signature": identity.sign(PURPOSE, request)}

    def read(self, token: bytes, identity: Identity, now_ns: int) -> Original:
        """The entry that ``token`` requests, decrypted by ``identity``. It is logged first, granted or refused."""
        request = _request(token)

        def record(entries: list[Entry]) -> dict[str, Any]:
            reason = self._refusal(self._begun(entries), request, now_ns)
            asked = {key: str(request.get(key, ""))[:WHY_CHARACTERS] for key in ("entry", "nonce", "reader", "why")}
            outcome = "refused" if reason else "granted"
            return {"act": "read", **asked, "outcome": outcome, "reason": reason, "t": str(now_ns)}

        decided = self.log().decide(record).record
        if decided["outcome"] == "refused":
            hint = _HINTS.get(decided["reason"], "")
            raise UsageFault(f"the vault refuses: {decided['reason']}", where=str(decided["entry"])[:80], hint=hint)
        try:
            return self._open(str(request["entry"]), identity)
        except ProctorError as error:
            asked = {key: decided[key] for key in ("entry", "nonce", "reader")}
            self.log().append({"act": "read-failed", **asked, "reason": error.message, "t": str(now_ns)})
            raise

    def add_recipient(self, person: Person, identity: Identity, now_ns: int) -> int:
        """Let ``person`` read all current and later entries; returns the number of current entries.

        It is logged before an entry is opened, and so is a refusal. After a crash, add the same person again. An entry
        that cannot be opened is left unchanged, and the other entries are still processed.
        """
        fields = {"recipient": str(person), "by": identity.person.name, "t": str(now_ns)}

        def record(entries: list[Entry]) -> dict[str, Any]:
            reason = _no_addition(_recipients(self._begun(entries)), person, identity)
            if reason:
                return {"act": "refuse-recipient", **fields, "outcome": "refused", "reason": reason}
            return {"act": "add-recipient", **fields}

        decided = self.log().decide(record).record
        if decided["act"] == "refuse-recipient":
            raise UsageFault(f"the vault refuses: {decided['reason']}", where=person.name)
        failed: list[ProctorError] = []
        with exclusive_lock(self.entries):  # entries added after this include the new recipient
            put = self._putter()
            names = sorted(path.stem for path in self.entries.glob("*.age"))
            for name in names:
                try:
                    put(self._open(name, identity))
                except (BrokenSeal, UsageFault) as error:
                    self.log().append({"act": "add-failed", **fields, "entry": name, "reason": error.message})
                    failed.append(error)
        if failed:
            message = f"{person.name} can read all but {len(failed)} of {len(names)} entries: {failed[0].message}"
            raise BrokenSeal(message, where=failed[0].where)
        return len(names)

    def _refusal(self, history: list[Entry], request: dict[str, Any], now_ns: int) -> str:
        """Why a request is not granted; empty when it is."""
        if not request:
            return "this is not a token"
        signature = str(request.get("signature", ""))
        asked = {key: value for key, value in request.items() if key != "signature"}
        reader = _recipients(history).get(str(asked.get("reader")))
        expires, nonce = str(asked.get("expires", "")), str(asked.get("nonce", ""))
        name = str(asked.get("entry", ""))
        ends = int(expires) if _MOMENT.fullmatch(expires) else 0
        for refused, reason in (
            (reader is None, NO_RECIPIENT),
            (reader is not None and not reader.signed(PURPOSE, asked, signature), "the signature is not the reader's"),
            (asked.get("vault") != history[0].hash, "the token is for another vault"),
            (ends <= now_ns, "the token has expired"),
            (ends > now_ns + TOKEN_SECONDS * 10**9, "the token is valid for too long"),
            (not _NONCE.fullmatch(nonce), "the token has no nonce"),
            (nonce in _used(history), "the token was used before"),
            (not str(asked.get("why", "")).strip(), NO_REASON),
            (not _NAME.fullmatch(name) or not (self.entries / f"{name}.age").exists(), NO_ENTRY),
        ):
            if refused:
                return reason
        return ""

    def _open(self, name: str, identity: Identity) -> Original:
        path = self.entries / f"{name}.age"
        try:
            opener = age().x25519.Identity.from_str(identity.age)
            plain = age().decrypt(read_bounded(path, ENTRY_BYTES), [opener])
            value = parse_canonical(plain)
            original = Original(value["name"], value["kind"], base64.b64decode(value["secret"]))
        except age().DecryptError as error:
            if "matching keys" in str(error):
                raise UsageFault("this identity does not open the entry", where=path.name) from None
            hint = "if a crash cut it off, it is written again when the same secret is redacted again"
            raise BrokenSeal("the entry was changed or cut off", where=path.name, hint=hint) from None
        except (OSError, ValueError, KeyError, TypeError, InfrastructureFault):
            raise BrokenSeal("the entry cannot be read", where=path.name) from None
        expected = name_of(self.key, original.secret)[:NAME_DIGITS]
        if original.name != name or not hmac.compare_digest(expected, name):
            raise BrokenSeal("the entry holds something else than its name says", where=path.name)
        return original


def _plain(original: Original) -> bytes:
    """The plain text of the entry of ``original``."""
    secret = base64.b64encode(original.secret).decode()
    return canonical({"kind": original.kind, "name": original.name, "secret": secret})


def _no_addition(people: Mapping[str, Person], person: Person, identity: Identity) -> str:
    """Why ``identity`` may not add ``person``; empty if it may. Adding the same person again is allowed."""
    if people.get(identity.person.name) != identity.person:
        return f"only a recipient can add another, and {identity.person.name} is not a recipient"
    if people.get(person.name, person) != person:
        return "there is already a recipient of that name, with other keys"
    return ""


def _recipients(history: Iterable[Entry]) -> dict[str, Person]:
    """Who may read, by name."""
    found = {}
    for entry in history:
        if entry.record.get("act") in ("init", "add-recipient"):
            person = Person(*str(entry.record["recipient"]).split(" "))
            found[person.name] = person
    return found


def _used(history: Iterable[Entry]) -> set[str]:
    return {str(entry.record.get("nonce")) for entry in history if entry.record.get("outcome") == "granted"}


def _request(token: bytes) -> dict[str, Any]:
    """The request in a token; nothing if it is not a token."""
    try:
        value = parse_canonical(token.strip()) if len(token) <= TOKEN_BYTES else None
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
