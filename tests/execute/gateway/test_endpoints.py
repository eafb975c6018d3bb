"""Where requests go: endpoints with any path and query, in every dialect, against a provider on the loopback."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.gateway.gateway_settings import Upstream
from tests.execute.gateway.answering import answering_provider
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, body_of

ANSWERS: dict[str, dict[str, Any]] = {
    "chat": {"choices": [{"finish_reason": "stop", "message": {"content": "Yes."}}]},
    "responses": {"status": "completed", "output": []},
    "anthropic": {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]},
}
MODEL = "models/m:generateContent"

ENDPOINTS: dict[str, tuple[str, str, str, str]] = {
    "": ("/v1/chat/completions", "/v1/responses", "/v1/messages", f"/v1beta/{MODEL}"),
    "/": ("/v1/chat/completions", "/v1/responses", "/v1/messages", f"/v1beta/{MODEL}"),
    "/v1": ("/v1/chat/completions", "/v1/responses", "/v1/messages", f"/v1beta/{MODEL}"),
    "/v1beta/": ("/v1/chat/completions", "/v1/responses", "/v1/messages", f"/v1beta/{MODEL}"),
    "/api/v1": ("/api/v1/chat/completions", "/api/v1/responses", "/api/v1/messages", f"/api/v1beta/{MODEL}"),
    "/api/paas/v4": (
        *("/api/paas/v4/chat/completions", "/api/paas/v4/responses"),
        *("/api/paas/v4/v1/messages", f"/api/paas/v4/{MODEL}"),
    ),
    "/v1beta/openai/": (
        *("/v1beta/openai/chat/completions", "/v1beta/openai/responses"),
        *("/v1beta/openai/v1/messages", f"/v1beta/openai/v1beta/{MODEL}"),
    ),
    "/v1alpha": ("/v1alpha/chat/completions", "/v1alpha/responses", "/v1alpha/v1/messages", f"/v1alpha/{MODEL}"),
    "/vertex": ("/vertex/chat/completions", "/vertex/responses", "/vertex/v1/messages", f"/vertex/v1beta/{MODEL}"),
    "/openai/deployments/x?api-version=2024-10-21": (
        "/openai/deployments/x/chat/completions?api-version=2024-10-21",
        "/openai/deployments/x/responses?api-version=2024-10-21",
        "/openai/deployments/x/v1/messages?api-version=2024-10-21",
        f"/openai/deployments/x/v1beta/{MODEL}?api-version=2024-10-21",
    ),
    "?a=%20b": (
        *("/v1/chat/completions?a=%20b", "/v1/responses?a=%20b"),
        *("/v1/messages?a=%20b", f"/v1beta/{MODEL}?a=%20b"),
    ),
}


def test_every_dialect_reaches_the_path_of_its_endpoint(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        for endpoint, expected in ENDPOINTS.items():
            rig = make_rig(url=url + endpoint)
            provider.paths.clear()
            for dialect in DIALECTS:
                provider.answer = ANSWERS[dialect]
                assert rig.post(PATHS[dialect], body_of(dialect))[0] == 200, (endpoint, dialect)
            assert tuple(provider.paths) == expected, endpoint
            rig.stop()


def test_the_query_of_an_endpoint_goes_before_that_of_the_dialect(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=f"{url}/x?api-version=1")
        provider.answer = ANSWERS["gemini"]
        rig.post("/v1beta/models/m:streamGenerateContent?alt=sse&key=made-up", body_of("gemini"))
        provider.answer = {"input_tokens": 3}
        rig.post("/v1/messages/count_tokens?beta=true", body_of("anthropic"))
        assert provider.paths == [
            "/x/v1beta/models/m:streamGenerateContent?api-version=1&alt=sse",
            "/x/v1/messages/count_tokens?api-version=1&beta=true",
        ]


@pytest.mark.parametrize("query", ["key=secret", "a=1&API-KEY=secret", "access_token=secret", "token="])
def test_an_endpoint_holds_no_key(query: str) -> None:
    with pytest.raises(UsageFault, match="must not contain a key") as fault:
        Upstream(f"https://x.example/v1?{query}")
    assert "secret" not in str(fault.value)
