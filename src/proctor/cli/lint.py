"""``proctor lint``: check a contract and point at what it leaves open."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from proctor.author.lint_hidden_tests import remarks_on_unprotected, remarks_on_variants
from proctor.author.lint_repository import remarks_on_repository, require_fitting_variants
from proctor.author.solution_leaks import remarks_on_copies, remarks_on_image
from proctor.author.task_complexity import complexity
from proctor.base.errors import ContractError
from proctor.cli.output import as_json, counted, print_json, printable
from proctor.cli.wiring import export_image, home
from proctor.contract.lint import lint
from proctor.contract.load import load_contract
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.workspace.layer_store import LayerStore


@click.command(epilog="Example: proctor lint examples/parse-time-zone")
@click.argument("contracts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings count as mistakes.")
@as_json
def command(contracts: tuple[Path, ...], strict: bool, json_: bool) -> int:
    """Check contracts and report every mistake with its line.

    Mistakes are printed with file, line and column, followed by warnings and advice.

    If the repository is on this machine, the pinned commit or archive must exist and the reference must apply to it.
    The variants that a check declares (inverted.variants) must apply to its hidden or protected test files. Setup
    inputs that were fetched before must not contain another version of the project under test. If an engine on this
    machine has the image, it must not contain such a version, git history, hidden tests or the solution. --json also
    prints the size of the task and its tier.
    """
    code = 0
    for path in contracts:
        try:
            contract = load_contract(path)
            require_fitting_variants(contract, InputCache(home().inputs))
            remarks = (
                *lint(contract),
                *remarks_on_unprotected(contract),
                *remarks_on_repository(contract, InputCache(home().inputs)),
                *remarks_on_copies(contract, home()),
                *remarks_on_image(contract, home(), partial(export_image, contract)),
                *remarks_on_variants(contract, home()),
            )
        except ContractError as error:
            code = 2
            if json_:
                rows = [
                    {"file": m.file, "line": m.line, "column": m.column, "message": m.message, "hint": m.hint}
                    for m in error.mistakes
                ]
                print_json({"contract": str(path), "mistakes": rows, "remarks": []})
            else:
                click.echo(printable(str(error)), err=True)
                click.echo(printable(f"{path}: {counted(len(error.mistakes), 'mistake')}"), err=True)
            continue
        if strict and any(remark.severity == "warning" for remark in remarks):
            code = code or 1
        if json_:
            listed = [{"severity": r.severity, "where": r.where, "message": r.message} for r in remarks]
            size = complexity(contract, LayerStore(home().layers), InputCache(home().inputs)).record()
            print_json({"contract": str(path), "mistakes": [], "remarks": listed, "complexity": size})
            continue
        for remark in remarks:
            click.echo(printable(f"{path}: {remark.severity}: {remark.where}: {remark.message}"))
        click.echo(printable(f"{path}: no mistakes, {counted(len(remarks), 'remark')}"))
    return code
