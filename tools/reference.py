"""Writes docs/reference from the code: ``python tools/reference.py``; ``--check`` reports what is out of date.

The pages are the commands' own help, the fields of contracts, pilots and agent files as the loaders know
them, the table of event types and the exit codes. Nothing in docs/reference is written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- Written by tools/reference.py from the code; `make docs` writes it. -->\n"


def commands() -> str:
    """The help of every command, and of every command of a group."""
    import click

    from proctor.cli.main import COMMANDS, command_module, group

    def help_text(command: click.Command, name: str, parent: click.Context | None) -> str:
        settings = {**command.context_settings, "terminal_width": 100}
        context = click.Context(command, info_name=name, parent=parent, **settings)
        return f"```text\n{command.get_help(context).rstrip()}\n```\n"

    top = click.Context(group, info_name="proctor", **group.context_settings)
    parts = [
        "# Commands\n",
        "Every command that reports something takes `--json`.\n",
        help_text(group, "proctor", None),
    ]

    def with_inner(command: click.Command, words: str, parent: click.Context, level: int) -> Iterator[str]:
        """A command and, one step below it, those of a group."""
        name = words.rpartition(" ")[2]
        yield f"{'#' * level} {words}\n"
        yield help_text(command, name, parent)
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                if found is not None and not found.hidden:
                    yield from with_inner(found, f"{words} {inner}", context, min(level + 1, 4))

    for name in COMMANDS:
        command: click.Command = import_module(command_module(name)).command
        parts += with_inner(command, f"proctor {name}", top, 2)
    return "\n".join(parts)


def contract() -> str:
    """Every field of ``contract.yaml``."""
    from proctor.contract.schema import json_schema

    return _form("contract.yaml", "`proctor schema`", json_schema())


def pilot() -> str:
    """Every field of a pilot file."""
    from proctor.study.pilot.plan.pilot_fields import json_schema

    return _form("Pilot files", "`proctor schema pilot`", json_schema())


def agent() -> str:
    """Every field of an agent file."""
    from proctor.execute.agents.agent_file import json_schema

    return _form("Agent files", "`proctor schema agent`", json_schema())


def manifest() -> str:
    """Every field of ``manifest.json``."""
    from proctor.record.manifest_model import manifest_schema

    return _record("manifest.json", "`proctor schema manifest`", manifest_schema())


def report() -> str:
    """Every field of ``report.json``."""
    from proctor.record.report_model import report_schema

    return _record("report.json", "`proctor schema report`", report_schema())


def protocol() -> str:
    """Every field of ``protocol.json``."""
    from proctor.study.pilot.plan.protocol_model import protocol_schema

    return _record("protocol.json", "`proctor schema protocol`", protocol_schema())


def journal() -> str:
    """The fields of a line of ``journal.jsonl``, and those of each kind of record."""
    from proctor.base.json_records import schema_of
    from proctor.study.pilot.ledger.journal_model import RECORDS, JournalLine

    parts = [
        "# journal.jsonl\n",
        "Each line has a record. `proctor schema journal` prints the same as a JSON Schema.\n",
        _RECORD_HEAD + "\n".join(_record_fields(schema_of(JournalLine, 1), "")) + "\n",
    ]
    for kind, record in RECORDS.items():
        schema = schema_of(record, 1)
        rows = _RECORD_HEAD + "\n".join(_record_fields(schema, ""))
        parts.append(f"## {kind}\n\n{schema['description']}\n\n{rows}\n")
    return "\n".join(parts)


def export() -> str:
    """Every field of ``export.json``."""
    from proctor.author.export.export_record import export_schema

    return _record("export.json", "`proctor schema export`", export_schema())


def mined() -> str:
    """Every field of a line of mine.jsonl."""
    from proctor.author.mine.mined_record import mined_schema

    return _record("mine.jsonl", "`proctor schema mined`", mined_schema())


def _record(title: str, command: str, schema: dict[str, Any]) -> str:
    """The fields of a stored record, by its JSON Schema."""
    parts = [f"# {title}\n", f"{schema['description']}\n\n{command} prints the same as a JSON Schema.\n"]
    return "\n".join((*parts, _RECORD_HEAD + "\n".join(_record_fields(schema, "")))) + "\n"


_RECORD_HEAD = "| field | value | meaning |\n|---|---|---|\n"


def _record_fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    """One table row for each field below ``schema``; a field that may be missing is marked."""
    for variant in _variants(schema):
        for name, inner in variant.get("properties", {}).items():
            place = f"{path}{name}"
            value = _value(inner) if name in variant["required"] else f"{_value(inner)}, may be missing"
            yield f"| `{place}` | {value} | {_cell(inner.get('description', ''))} |"
            yield from _record_fields(inner, f"{place}.")
        free = variant.get("additionalProperties")
        if isinstance(free, dict):
            yield from _record_fields(free, f"{path}<name>.")
        if isinstance(variant.get("items"), dict):
            yield from _record_fields(variant["items"], f"{path.removesuffix('.')}[].")


def _form(title: str, command: str, schema: dict[str, Any]) -> str:
    """The fields of a form that people fill in, by its JSON Schema."""
    parts = [
        f"# {title}\n",
        f"{command} prints the same as a JSON Schema. Unknown fields are mistakes, and every mistake is\n"
        "reported with its line and column.\n",
    ]
    for name, inner in schema["properties"].items():
        words = inner.get("description", "")
        needed = "required" if name in schema.get("required", ()) else "optional"
        if isinstance(inner.get("default"), str | int | float) and inner["default"] != "":
            needed = f"{_code(inner['default'])} if left out"
        rows = list(_fields(inner, ""))
        parts.append(f"## {name}\n\n{words} ({needed})\n")
        if rows:
            parts.append("| field | value | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    """One table row for each field below ``schema``."""
    for number, variant in enumerate(_variants(schema)):
        required = variant.get("required", ())
        if number and "properties" in variant and "properties" in _variants(schema)[0]:
            yield "| *or* | | | |"
        for name, inner in variant.get("properties", {}).items():
            if inner is False:
                continue
            place = f"{path}{name}"
            default = "**required**" if name in required else _code(inner["default"]) if "default" in inner else ""
            yield f"| `{place}` | {_value(inner)} | {default} | {_cell(inner.get('description', ''))} |"
            yield from _fields(inner, f"{place}.")
        free = variant.get("additionalProperties")
        if isinstance(free, dict) and any("properties" in part for part in _variants(free)):
            yield from _fields(free, f"{path}<name>.")
        if isinstance(variant.get("items"), dict):
            yield from _fields(variant["items"], f"{path.removesuffix('.')}[].")


def _variants(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives that ``schema`` allows, or itself."""
    for key in ("oneOf", "anyOf"):
        if key in schema and "properties" not in schema:
            return [leaf for part in schema[key] for leaf in _variants(part)]
    return [schema]


def _value(schema: dict[str, Any]) -> str:
    """What a field may hold, in a few words."""
    kinds: list[str] = []
    for variant in _variants(schema):
        if "const" in variant:
            words = _code(variant["const"])
        elif "enum" in variant:
            words = ", ".join(_code(item) for item in variant["enum"])
        elif variant.get("type") == "array":
            words = f"list of {_value(variant['items'])}"
        elif variant.get("type") == "object":
            words = "map"
        else:
            words = {"string": "text", "integer": "whole number", "boolean": "true or false", "null": "nothing"}.get(
                str(variant.get("type")), "value"
            )
        if words not in kinds:
            kinds.append(words)
    return " or ".join(kinds)


def _code(value: object) -> str:
    import orjson

    text = value if isinstance(value, str) and value else orjson.dumps(value).decode()
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def events() -> str:
    """The fields of an event, and those of the payload of each type."""
    from proctor.base.json_records import schema_of
    from proctor.record.schema_versions import TRACE
    from proctor.record.trace.event_types import EVENT_TYPES, event_schema

    parts = [
        "# Events\n",
        "Each line of `events.jsonl` is an event. `proctor schema event` prints the same as a JSON Schema.\n",
        _RECORD_HEAD + "\n".join(_record_fields(event_schema(), "")) + "\n",
        "The payload depends on the type:\n",
    ]
    for kind in EVENT_TYPES.values():
        rows = _RECORD_HEAD + "\n".join(_record_fields(schema_of(kind.payload, TRACE.schema), ""))
        parts.append(f"## {kind.name}\n\n{kind.description} Actor: {kind.actor}.\n\n{rows}\n")
    return "\n".join(parts)


def exit_codes() -> str:
    """The exit codes, and which errors have them."""
    from proctor.base import errors

    words = {
        0: "yes: the command did what it was asked, and the verdict is positive",
        1: "a negative verdict: a run without success, or a contract that is not valid",
        2: "usage, or a contract that cannot be used",
        3: "infrastructure: the machine, a registry or the harness failed, or a verdict could not be reached",
        4: "integrity: evidence is missing, changed or out of order",
        130: "interrupted: a command without runs, or a second Ctrl-C during a command with runs",
    }
    kinds: dict[int, list[str]] = {code: [] for code in words}
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.ProctorError) and kind is not errors.ProctorError:
            kinds[kind.exit_code].append(f"`{name}`")
    parts = ["# Exit codes\n", "| code | meaning | errors |", "|---|---|---|"]
    parts += [f"| {code} | {text} | {', '.join(kinds[code])} |" for code, text in words.items()]
    return "\n".join(parts) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "contract.md": contract,
    "pilot.md": pilot,
    "agent.md": agent,
    "manifest.md": manifest,
    "report.md": report,
    "protocol.md": protocol,
    "journal.md": journal,
    "export.md": export,
    "mined.md": mined,
    "events.md": events,
    "exit-codes.md": exit_codes,
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python tools/reference.py [--check]\n")
        return 2
    stale = []
    for name, make in PAGES.items():
        page, text = REFERENCE / name, NOTE + "\n" + make()
        if page.is_file() and page.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not arguments:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, "utf-8")
    if arguments and stale:
        sys.stderr.write(f"out of date, `make docs` writes them: {', '.join(stale)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
