"""``proctor schema``: print the JSON Schema of an input file or of a stored record."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from proctor.author.export.export_record import export_schema
from proctor.author.mine.mined_record import mined_schema
from proctor.cli.output import as_json, print_json
from proctor.contract import schema as contract_schema
from proctor.execute.agents import agent_file
from proctor.record.manifest_model import manifest_schema
from proctor.record.report_model import report_schema
from proctor.record.trace.event_types import event_schema
from proctor.study.pilot.ledger.journal_model import journal_schema
from proctor.study.pilot.plan import pilot_fields as pilot_fields
from proctor.study.pilot.plan.protocol_model import protocol_schema

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "contract": contract_schema.json_schema,
    "pilot": pilot_fields.json_schema,
    "agent": agent_file.json_schema,
    "manifest": manifest_schema,
    "report": report_schema,
    "event": event_schema,
    "protocol": protocol_schema,
    "journal": journal_schema,
    "export": export_schema,
    "mined": mined_schema,
}


@click.command(epilog="Example: proctor schema > contract.schema.json")
@click.argument("form", type=click.Choice([*SCHEMAS]), default="contract")
@as_json
def command(form: str, json_: bool) -> None:
    """Print the JSON Schema of an input file or of a stored record.

    Input files are contract (contract.yaml), pilot and agent (an agent file). Stored records are manifest, report and
    event (a line of events.jsonl) of a run directory, protocol and journal (a line of journal.jsonl) of a pilot,
    export (export.json of an export) and mined (a line of mine.jsonl). Editors and other tools can read it.
    """
    schema = SCHEMAS[form]()
    if json_:
        print_json(schema)
        return
    sys.stdout.write(json.dumps(schema, indent=2, sort_keys=True) + "\n")
