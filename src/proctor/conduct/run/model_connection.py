"""The model of a run: the agent's requests, the source of answers, and the gateway between the two.

The gateway runs on the host with the key; inside the sandbox there is one address on the loopback that leads only to
it. Every call is recorded and metered before its answer passes. A permanent failure of a provider is a fault of the
infrastructure: the run becomes invalid, and does not count as a failure of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from proctor.base.errors import InfrastructureFault
from proctor.conduct.run.agent_context import Open
from proctor.conduct.run.agent_monitor import AgentMonitor
from proctor.execute.agents.interface import ModelAccess
from proctor.execute.gateway.gateway_settings import Caps, Limits, Settings
from proctor.execute.gateway.model_gateway import Gateway
from proctor.execute.gateway.provider_outages import GIVEN_UP, HEARD, PROVIDER_SILENCE, SILENT
from proctor.execute.gateway.spend_reservation import Meter
from proctor.execute.monitor.breakers.breaker_panel import envelopes_of
from proctor.execute.monitor.breakers.breaker_settings import Settings as WatchSettings
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.network.namespace_sockets import LOOPBACK, SandboxProcess, SocketRequest, open_listeners
from proctor.record.secrets import usual_rules

PORT = 4141
"""Where agents find their model."""

REDACTION_KEY_BYTES = 32

GRACE_PART = 10
"""The part of the agent's time that a provider may be silent before that stops; more than this is never its time."""


@dataclass(frozen=True)
class ModelPlan:
    """A model by the name that agents ask for, and the gateway's settings, which hold the key.

    ``redact`` hides texts of the conversation (``spans`` or ``all``); each run draws its own key for that.
    ``wait_seconds`` is how long a run waits for a silent provider in all; without it, as long as its agent may act.
    """

    name: str
    gateway: Settings
    redact: str = "none"
    wait_seconds: int | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """Every model that the provider may be asked for."""
        return tuple(dict.fromkeys(filter(None, (self.name, *self.gateway.models.values()))))

    def record(self) -> dict[str, Any]:
        """The record of it in the manifest: everything except the key."""
        gateway = self.gateway
        endpoints = dict.fromkeys(gateway.dialects, "") | {name: one.url for name, one in gateway.upstreams.items()}
        return {
            "name": self.name,
            "upstreams": dict(sorted(endpoints.items())),
            "models": dict(sorted(gateway.models.items())),
            "script": _digest(gateway.script),
            "cassette": gateway.cassette,
            "tape": _digest(gateway.tape),
            "provider_tools": gateway.provider_tools,
            "unknown_fields": gateway.unknown_fields,
            "output_tokens": gateway.output_tokens,
            "wait_seconds": self.wait_seconds,
            "redact": self.redact,
            "secrets": list(gateway.secrets),
            "rules": usual_rules().id if self.redact == "spans" else "",
        }


@contextmanager
def model_for(plan: ModelPlan, watch: WatchSettings, post: AgentMonitor) -> Iterator[Open]:
    """A gateway for the time of a ``with`` block; its summary is recorded at the end."""
    tokens = {canary.name: canary.content for canary in post.canaries.canaries if not canary.is_file}
    settings = replace(
        plan.gateway,
        limits=_silences(plan, post.contract.budget.wall_seconds),
        canaries=tokens,
        words_off=post.contract.policy.words.off,
        redact=plan.redact,
        redaction_key=post.machine.entropy(REDACTION_KEY_BYTES),
    )
    gateway = Gateway(settings, _recorder(post), post.keep, Meter(watch.prices or FALLBACK.table, _caps(watch)))
    gateway.start()
    post.interventions.gateway = gateway

    def open_in(sandbox: SandboxProcess) -> ModelAccess:
        (listener,) = open_listeners(sandbox.init_pid, (SocketRequest("tcp", PORT),))
        gateway.serve(listener)
        return ModelAccess(f"http://{LOOPBACK}:{PORT}", plan.name)

    try:
        yield open_in
    finally:
        post.interventions.gateway = None
        summary = gateway.stop()
    kept = post.keep(summary.cassette) if summary.cassette else ""
    closed = post.trace.append("model.closed", {**summary.payload(), "blob": kept})
    if summary.diverged:
        raise InfrastructureFault(f"the agent made a request that is not on the cassette: {summary.diverged[0]}")
    if summary.given_up:
        given_up = {"code": PROVIDER_SILENCE, "rationale": summary.outage, "evidence": f"events.jsonl#{closed.seq}"}
        post.trace.append("run.terminated", given_up)
    if summary.outage:
        raise InfrastructureFault(f"the model could not be reached: {summary.outage}")


def _silences(plan: ModelPlan, wall_seconds: int) -> Limits:
    """The gateway's limits, with those on silences of the provider in proportion to the time of the agent."""
    limits = plan.gateway.limits
    return replace(
        limits,
        silence_seconds=min(limits.silence_seconds, wall_seconds / GRACE_PART),
        most_silence_seconds=plan.wait_seconds or min(limits.most_silence_seconds, wall_seconds),
    )


def _caps(watch: WatchSettings) -> Caps:
    """What the agent may still spend on its model in the envelope that binds it most."""
    envelopes, _ = envelopes_of(watch)
    return Caps(min((one.limit for one in envelopes), default=None), watch.caps.tokens)


def _recorder(post: AgentMonitor) -> Callable[[str, Mapping[str, Any]], None]:
    def record(kind: str, payload: Mapping[str, Any]) -> None:
        post.trace.append(kind, payload)
        if kind in (SILENT, HEARD):
            post.interventions.on_sandbox(lambda sandbox: sandbox.stop_clock(kind == SILENT))
        elif kind == GIVEN_UP:
            post.trace.later(post.interventions.give_up)
        for canary in payload.get("canaries", ()) if kind == "model.request" else ():
            post.note_canary("canary-used", f"the canary {canary} in a prompt")

    return record


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()
