"""The words in which a batch was asked for, as they are written down, and how they are made again.

Where a batch takes secrets out of its runs, its own file holds placeholders, too: a key may stand in the command line
of an agent or in the address of a model. Such words cannot be read back from the file. Those of agents can be given
once more, and are the right ones where they become the same placeholders; nothing else can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proctor.base.errors import UsageFault
from proctor.execute.home import Home
from proctor.record.redact import Redactor
from proctor.record.vault import Vault


def redactor_of(home: Home, settings: Mapping[str, str]) -> Redactor | None:
    """What takes secrets out of the records of a batch, where it asks for it."""
    if not settings.get("redact_secrets"):
        return None
    vault = Vault(home.vault)
    return Redactor(vault.key, vault.keeper())


class Words:
    """The words of one batch. Without redaction they are written down as they are."""

    def __init__(self, home: Home, settings: Mapping[str, str]) -> None:
        self._redactor = redactor_of(home, settings)

    def shown(self, text: str) -> str:
        """``text`` as it may be written down; what was written down before stays the same."""
        if self._redactor is None:
            return text
        self._redactor.take_over(text)
        return self._redactor.text(text)

    def each(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The same of texts with names."""
        return {name: self.shown(text) for name, text in texts.items()}

    def digest(self, text: str, digest: str) -> str:
        """The digest of an agent with the words ``text``; a keyed one where it could confirm a guess at a secret."""
        return digest if self._redactor is None or self.shown(text) == text else self._redactor.keyed(digest)

    def hidden(self, text: str) -> bool:
        """Whether ``text``, as it was written down, is no longer what was asked for."""
        return self._redactor is not None and self._redactor.take_over(text)

    def again(self, texts: Iterable[str], given: Iterable[str]) -> dict[str, str]:
        """What stands for each of ``texts`` that were written down: itself, or that of the ``given`` words it is of."""
        known = {self.shown(words): words for words in given}
        for text in texts:
            if self.hidden(text) and text not in known:
                raise UsageFault(
                    "the words of the agent held a secret, which the batch does not keep",
                    where=f"--agent {text[:200]}",
                    hint="give the whole words again: proctor run --resume --agent 'AGENT'",
                )
        return {text: known.get(text, text) for text in texts}
