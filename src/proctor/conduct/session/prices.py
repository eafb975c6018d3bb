"""The price table of a batch, read from its file and compared with the models that may be asked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.execute.watch.prices import TABLE_BYTES, PriceTable, load_prices


def read_prices(path: str) -> PriceTable | None:
    """The price table at ``path``; nothing where none was named."""
    if not path:
        return None
    try:
        return load_prices(read_bounded(Path(path), TABLE_BYTES), path)
    except OSError as error:
        raise UsageFault(f"the price table cannot be read: {error.strerror}", where=path) from None


def require_prices(prices: PriceTable | None, path: str, models: Iterable[str]) -> None:
    """Refuse a price table without prices for one of ``models``: no limit in dollars would hold its calls."""
    for model in models:
        if prices is not None and not prices.covers(model):
            raise UsageFault(
                f"the price table has no prices for the model {model[:100]!r}: rows for it must price llm_input and "
                "llm_output, or llm_request",
                where=path,
                hint="proctor prices import --model PROVIDER/NAME prints the rows of a model",
            )
