"""``proctor clean``: sweep what dead runs left, or drop the caches."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json


@click.command(epilog="Example: proctor clean --layers")
@click.option(
    "--layers", is_flag=True, help="Also drop the cached layers and parsed contracts; they are made again when needed."
)
@click.option("--inputs", is_flag=True, help="Also drop the fetched inputs; they are fetched again when needed.")
@click.option("--agents", is_flag=True, help="Also uninstall all agents; `proctor agents install` brings them back.")
@as_json
def command(layers: bool, inputs: bool, agents: bool, json_: bool) -> None:
    """Take away processes, cgroups and scratch of runs whose harness died. Runs themselves are never removed.

    Layers and inputs that a living run uses are kept, and named.
    """
    from proctor.cli.wiring import home
    from proctor.conduct.sweep import sweep_home
    from proctor.execute.inputs.fetch import InputCache
    from proctor.execute.workspace.store import LayerStore

    place = home()
    place.create()
    removed = sweep_home(place)
    kept: list[str] = []
    if layers:
        store = LayerStore(place.layers)
        removed += [f"layer {key}" for key in store.remove_unused(())]
        for file in (*place.parsed.iterdir(), *place.searches.iterdir()):
            file.unlink(missing_ok=True)
        used = store.keys()
        kept += [f"layer {key}" for key in used]
    if inputs:
        emptied = InputCache(place.inputs).empty()
        removed += [f"input {name}" for name in emptied or ()]
        kept += ["the fetched inputs"] if emptied is None else []
    if agents:
        from proctor.execute.agents.install.store import AgentStore

        gone, used = AgentStore(place.agents, InputCache(place.inputs)).remove_all()
        removed += [f"agent {key}" for key in gone]
        kept += [f"agent {key}" for key in used]
    if json_:
        print_json({"removed": removed, "kept": kept})
        return
    for what in removed:
        click.echo(f"removed {what}")
    for what in kept:
        click.echo(f"kept {what}: in use")
    click.echo("clean")
