"""``proctor clean``: sweep what dead runs left, or drop the caches."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json


@click.command(epilog="Example: proctor clean --layers")
@click.option("--layers", is_flag=True, help="Also drop the cached layers; they are built again when needed.")
@click.option("--inputs", is_flag=True, help="Also drop the fetched inputs; they are fetched again when needed.")
@as_json
def command(layers: bool, inputs: bool, json_: bool) -> None:
    """Take away processes, cgroups and scratch of runs whose harness died. Runs themselves are never removed."""
    from proctor.base.erase import erase
    from proctor.cli.wiring import home
    from proctor.conduct.sweep import sweep_home
    from proctor.execute.workspace.store import LayerStore

    place = home()
    place.create()
    removed = sweep_home(place)
    if layers:
        removed += [f"layer {key}" for key in LayerStore(place.layers).remove_unused(())]
    if inputs:
        for inner in sorted(place.inputs.iterdir()):
            erase(inner)
            removed.append(f"input {inner.name}")
    if json_:
        print_json({"removed": removed})
        return
    for what in removed:
        click.echo(f"removed {what}")
    click.echo("clean")
