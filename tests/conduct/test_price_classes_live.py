"""A run whose model has prices for classes: events, report and ``proctor cost`` give the amount computed by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.conduct.live import Proctor
from tests.conduct.talking import asking, talk
from tests.execute.gateway.answering import answering_provider
from tests.execute.gateway.test_price_classes import CHAT, OPENROUTER

PRICES = """action_type,unit,unit_price,model
llm_input,token,0.000003,
llm_cached_input,token,0.0000003,
llm_cache_write,token,0.00000375,
llm_output,token,0.000015,
"""


def test_cost_report_and_events_agree(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(PRICES)
    with answering_provider() as (url, provider):
        provider.answer = {**CHAT, "usage": OPENROUTER}
        where = ("--endpoint", f"{url}/api/paas/v4?api-version=1", "--dialect", "chat")
        model = ("--model", "mine/claude", *where, "--prices", "prices.csv")
        seen = talk(proctor, make_contract(), *asking("'word ' * 4000"), *model, code=1)
    assert provider.paths == ["/api/paas/v4/chat/completions?api-version=1"]
    (usage,) = seen.of("model.usage")
    assert (usage["cached_tokens"], usage["cache_write_tokens"], usage["estimated"]) == (9000, 2500, False)
    # 500 fresh at 3 USD a million, 9,000 cached at 0.30, 2,500 written at 3.75, 400 out at 15.
    amounts = {
        "llm_input": "0.0015",
        "llm_cached_input": "0.0027",
        "llm_cache_write": "0.009375",
        "llm_output": "0.006",
    }
    cost = json.loads(proctor("cost", seen.run, "--json").stdout)
    assert {row["item"].partition(" ")[0]: row["amount"] for row in cost["items"]} == amounts
    total = sum(map(Decimal, amounts.values()))
    assert total == Decimal("0.019575") == Decimal(cost["projected"]) == Decimal(seen.report["usage"]["cost"]["usd"])
    scored = json.loads(proctor("rescore", seen.run, "--json").stdout)
    assert scored["same"] is True and scored["different"] == []
