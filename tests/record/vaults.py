"""A vault with one reader and one original, for the tests that harm it and those that do not."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from proctor.base.canonical import canonical
from proctor.record.redact import Redactor
from proctor.record.signing.operator_identity import Identity, new_identity
from proctor.record.vault import Vault

NOW = 1_800_000_000 * 10**9
SECRET = b"glpat-Abcdefghij0123456789"


def person(name: str) -> Identity:
    return new_identity(name, os.urandom(32))


class Scene:
    """A vault that jo can read, with one original in it."""

    def __init__(self, path: Path) -> None:
        self.jo = person("jo")
        self.vault = Vault(path / "vault")
        self.vault.create(self.jo.person, os.urandom(32), NOW)
        self.name = self.keep(SECRET)

    def keep(self, secret: bytes) -> str:
        shown = Redactor(self.vault.key, self.vault.keeper()).data(secret).decode()
        return shown.removesuffix("]").rpartition(":")[2]

    def token(self, identity: Identity | None = None, why: str = "case 12", name: str = "", now: int = NOW) -> bytes:
        return canonical(self.vault.token(identity or self.jo, name or self.name, why, os.urandom(16), now))

    def last(self) -> dict[str, str]:
        return dict(self.vault.history()[-1].record)


def killed_at(number: int, act: Callable[[], object]) -> bool:
    """Do ``act`` in a child that is killed when it opens, renames or cuts a file the ``number``-th time."""
    child = os.fork()
    if not child:
        left = number

        def count(event: str, arguments: object) -> None:
            nonlocal left
            if event in ("open", "os.rename", "os.truncate", "os.remove", "os.mkdir"):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(count)
            act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
