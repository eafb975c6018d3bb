"""``proctor taxonomy``: the kinds of failures that reports tag."""

from __future__ import annotations

from difflib import get_close_matches

import click

from proctor.base.dataclass_fields import field_items
from proctor.base.errors import UsageFault
from proctor.cli.output import as_json, examples, print_json, print_table
from proctor.judge.taxonomy import taxonomy, taxonomy_digest


@click.command(epilog=examples("taxonomy", "taxonomy non-termination"))
@click.argument("tag", default="")
@as_json
def command(tag: str, json_: bool) -> None:
    """List the kinds of failures that reports name.

    With TAG, its gates, the evidence that it needs, its codes and the remedy are printed.
    """
    known = taxonomy()
    if tag and tag not in known:
        near = get_close_matches(tag, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "`proctor taxonomy` lists them"
        raise UsageFault(f"the taxonomy has no tag {tag!r}", hint=hint)
    shown = [known[tag]] if tag else list(known.values())
    if json_:
        for entry in shown:
            print_json(dict(field_items(entry)))
    elif tag:
        entry = shown[0]
        click.echo(f"{entry.id}: {entry.about}")
        click.echo(f"gates      {', '.join(entry.gates).removeprefix(', ') or 'none: it explains no gate'}")
        click.echo(f"evidence   one of {', '.join(entry.evidence)}")
        for name, found in (("codes", entry.codes), ("signatures", entry.signatures)):
            if found:
                click.echo(f"{name:<10} {', '.join(found)}")
        if entry.format:
            click.echo("format     natural, code, shell or config, where it is known")
        click.echo(f"remedy     {entry.remedy}")
    else:
        print_table(
            ["TAG", "GATES", "WHAT IT SAYS"], [[e.id, " ".join(e.gates).strip() or "-", e.about] for e in shown]
        )
        click.echo(f"taxonomy {taxonomy_digest()}")
