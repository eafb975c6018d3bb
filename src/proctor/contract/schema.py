"""The JSON Schema of ``contract.yaml``, made from the same table that the loader reads by.

It tells what the shape alone can tell. That a named file exists, an input is known or weights sum to 1 is for the
loader to say.
"""

from __future__ import annotations

from typing import Any

from proctor.contract.fields import CONTRACT


def json_schema() -> dict[str, Any]:
    """The schema, in the dialect of 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Proctor contract",
        **CONTRACT.schema(),
    }
