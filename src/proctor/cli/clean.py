"""``proctor clean``: remove what interrupted runs left, or drop the caches."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json
from proctor.cli.wiring import home
from proctor.conduct.machine_setup import sweep_home
from proctor.execute.agents.install.agent_store import AgentStore
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.workspace.layer_store import LayerStore


@click.command(epilog="Example: proctor clean --layers")
@click.option(
    "--layers", is_flag=True, help="Also remove cached layers and parsed contracts; they are made again when needed."
)
@click.option("--inputs", is_flag=True, help="Also remove fetched inputs; they are fetched again when needed.")
@click.option("--agents", is_flag=True, help="Also uninstall all agents.")
@as_json
def command(layers: bool, inputs: bool, agents: bool, json_: bool) -> None:
    """Remove what interrupted runs left behind, and caches.

    Removes processes, control groups and temporary files of runs whose harness has ended. Runs themselves are never
    removed. Layers and inputs that a run in progress uses are kept and listed.
    """
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
