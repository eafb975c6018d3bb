"""The files of an agent whose run is repeated: found where the batch of the run says that they lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.conduct.batch import Batch
from proctor.conduct.batch_words import Words
from proctor.conduct.machine import Machine
from proctor.conduct.session.agent_options import kind_of
from proctor.conduct.session.agents import identified_agent

WITH_FILES = ("command", "endpoint")
"""Kinds of agents that may bring files along."""


def files_again(machine: Machine, batch: Batch, manifest: Mapping[str, Any]) -> str:
    """The directory of the agent's files, by its path; empty for none.

    Those of a pilot must be what its plan froze: with others a difference would say nothing about the run.
    """
    asked = manifest["configuration"]
    words, model, method = str(asked["agent"]), str(asked["model"]), str(asked.get("method", ""))
    if Words(machine.home, batch.settings).hidden(words):
        hint = "--acceptance judges its patch again, without the agent"
        raise UsageFault("the words of the agent held a secret, which is not on record", where=words[:200], hint=hint)
    files = batch.files_of(method)
    if files and not Path(files).is_dir():
        raise UsageFault("the agent's files are not at hand", where=files, hint="put them where they were for the run")
    if not batch.settings.get("pilot") or kind_of(words) not in WITH_FILES:
        return files
    now = identified_agent(machine, words, files, model, batch.settings_of(method)).digest
    if now == manifest["agent"]["digest"]:
        return files
    if not files:
        hint = "the batch of the run does not say where they lie; --acceptance needs none of them"
        raise UsageFault("the agent's files are not at hand", where=str(manifest["run"]), hint=hint)
    raise UsageFault(
        "the agent's files have changed since the run", where=files, hint="bring them back to what the pilot froze"
    )
