"""``proctor prices import``: a table that ``--prices`` takes, from the list of another package."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version

import pytest
from click.testing import CliRunner

from proctor.base.errors import UsageFault
from proctor.cli.main import group, run_command
from proctor.cli.prices import price_table
from proctor.execute.monitor.price_table import load_prices

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)


def test_the_table_has_every_class_that_the_list_has() -> None:
    text = price_table(("anthropic/claude-sonnet-4-5", "openai/gpt-5"), AT)
    table = load_prices(text.encode())
    claude, gpt = (
        {one.action: one.price for one in table.prices if (one.model, one.tier) == (name, "")} for name in NAMES
    )
    assert claude == {
        "llm_input": Decimal("0.000003"),
        "llm_cached_input": Decimal("0.0000003"),
        "llm_cache_write": Decimal("0.00000375"),
        "llm_cache_write_1h": Decimal("0.000006"),
        "llm_output": Decimal("0.000015"),
    }
    assert gpt["llm_cached_input"] == gpt["llm_input"] / 10
    note = f"genai-prices {version('genai-prices')}: anthropic/claude-sonnet-4-5 on 2026-11-01"
    assert table.prices[0].notes == f"{note}; other prices above 200000 input tokens"
    tiers = {one.tier: one.price for one in table.prices if (one.model, one.action) == ("gpt-5", "llm_output")}
    assert tiers["batch"] == tiers[""] / 2 == tiers["flex"] and tiers["priority"] == tiers[""] * 2


NAMES = ("claude-sonnet-4-5", "gpt-5")


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (("gpt-5",), "not a model: 'gpt-5'"),
        (("openai/no-such-model-at-all",), "does not list 'openai/no-such-model-at-all'"),
        (("nobody/gpt-5",), "does not list 'nobody/gpt-5'"),
        (("openai/gpt-5", "azure/gpt-5"), "has a price in line 2 already"),
    ],
)
def test_a_model_without_one_price_is_refused(models: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageFault, match=message):
        price_table(models, AT)


def test_without_the_package_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert run_command(["prices", "import", "--model", "openai/gpt-5"]) == 2
    message = capsys.readouterr().err
    assert "needs the extra 'prices' of Proctor: the package genai-prices is not installed" in message
    assert f"{sys.executable} " in message and message.endswith(" genai-prices\n")


def test_a_day_before_the_list_begins_is_refused() -> None:
    with pytest.raises(UsageFault, match="knows no prices of 2020-01-01") as refused:
        price_table(("openai/gpt-5",), datetime(2020, 1, 1, 12, tzinfo=UTC))
    assert refused.value.where == "--date" and "or a later day" in str(refused.value.hint)


def test_the_command_prints_the_table() -> None:
    arguments = ["prices", "import", "--model", "openai/gpt-5", "--model", "openai/gpt-5", "--date", "2026-11-01"]
    done = CliRunner().invoke(group, arguments)
    text = price_table(("openai/gpt-5",), AT)
    assert done.exit_code == 0 and done.output == text
    said = json.loads(CliRunner().invoke(group, [*arguments, "--json"]).output)
    table = load_prices(text.encode())
    assert said["id"] == table.id
    assert [Decimal(one["price"]) for one in said["prices"]] == [one.price for one in table.prices]
