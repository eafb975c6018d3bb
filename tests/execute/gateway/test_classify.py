"""M6: what the status and the body of an error say about whose fault it is."""

from __future__ import annotations

import pytest

from proctor.execute.gateway.provider_answers import failure_of

CASES = [
    (401, "", "credentials", True),
    (403, "", "credentials", True),
    (404, "", "not-found", True),
    (408, "", "timeout", True),
    (409, "", "upstream", True),
    (413, "", "context-overflow", False),
    (429, "", "rate-limit", True),
    (500, "", "upstream", True),
    (529, "", "upstream", True),
    (302, "", "malformed", True),
    (400, "temperature must be at most 2", "rejected", False),
    (422, "messages: field required", "rejected", False),
    (400, "This model's maximum context length is 8192 tokens", "context-overflow", False),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", "context-overflow", False),
    (400, "The input token count (1048577) exceeds the maximum number of tokens", "context-overflow", False),
    (400, "triggering Azure OpenAI's content management policy", "content-filter", True),
    (400, '{"code": "content_filter"}', "content-filter", True),
    (400, "The model `gpt-9` does not exist or you do not have access to it", "not-found", True),
    (400, "Unknown model: x", "not-found", True),
    (400, "Your credit balance is too low to access the API", "credentials", True),
    (400, "API key not valid. Please pass a valid API key.", "credentials", True),
    (400, "You exceeded your current quota, please check your plan and billing details", "credentials", True),
    (400, "Invalid schema for function 'set_api_key': None is not of type 'object'", "rejected", False),
    (400, "messages.0.billing: Extra inputs are not permitted", "rejected", False),
    (400, "Invalid value: 'quota'. Supported values are: 'system', 'user'.", "rejected", False),
]


@pytest.mark.parametrize(("status", "body", "kind", "infrastructure"), CASES)
def test_m6_the_class_of_an_error(status: int, body: str, kind: str, infrastructure: bool) -> None:
    failure = failure_of(status, body)
    assert (failure.kind, failure.infrastructure) == (kind, infrastructure)
    assert str(status) in failure.message


QUOTED = ["credit balance is too low", "Invalid API key", "safety system", "model x does not exist"]


@pytest.mark.parametrize("phrase", QUOTED)
def test_m6_a_reason_that_is_quoted_from_the_request_is_none(phrase: str) -> None:
    words = f"messages.0.{phrase}: Extra inputs are not permitted"
    assert failure_of(400, words).infrastructure
    assert failure_of(400, words, b'{"messages": [{"' + phrase.encode() + b'": 1}]}').kind == "rejected"
    assert failure_of(400, f"{words}; Unknown model", phrase.encode()).kind == "not-found"
