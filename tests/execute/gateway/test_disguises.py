"""What an agent does itself is no fault of its provider."""

from __future__ import annotations

from typing import Any

from tests.execute.gateway.answering import Answering, answering_provider
from tests.execute.gateway.conftest import PATHS, MakeRig, Rig, body_of

GOOD: dict[str, Any] = {
    "model": "m",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
COUNTS = "/v1/messages/count_tokens"


def ask(rig: Rig, provider: Answering, path: str, status: int, answer: dict[str, Any]) -> None:
    provider.status, provider.answer = status, answer
    assert rig.post(path, body_of("anthropic", max_tokens=2000))[0] == status


def test_a_reason_that_the_provider_quotes_from_the_request_is_the_agents(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=url)
        ask(rig, provider, PATHS["anthropic"], 200, GOOD)
        provider.status = 400
        provider.answer = {"error": {"message": "messages.0.credit balance is too low: Extra inputs are not permitted"}}
        odd = body_of("anthropic", max_tokens=2000, messages=[{"role": "user", "credit balance is too low": 1}])
        assert rig.post(PATHS["anthropic"], odd)[0] == 400
        assert rig.wait("model.error")[0]["class"] == "rejected"
        assert rig.stop().outage is None


def test_a_count_of_tokens_that_fails_is_no_outage_of_the_model(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=url)
        ask(rig, provider, PATHS["anthropic"], 200, GOOD)
        ask(rig, provider, COUNTS, 404, {})
        assert rig.wait("model.error")[0]["class"] == "not-found"
        assert rig.stop().outage is None


def test_a_count_of_tokens_ends_no_outage_of_the_model(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=url)
        ask(rig, provider, PATHS["anthropic"], 500, {})
        ask(rig, provider, COUNTS, 200, {"input_tokens": 9})
        assert rig.stop().outage_class == "upstream"
