"""``proctor export``: contracts and runs in the formats of other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from proctor.author.export.export_folder import export_contracts, export_runs, require_new_folder
from proctor.author.export.export_record import ExportRecord
from proctor.author.export.image_names import require_digest
from proctor.author.export.interface import Exported
from proctor.author.export.recorded_run import RecordedRun, read_run
from proctor.author.export.registry import CONTRACT_FORMATS, RUN_FORMATS
from proctor.author.export.task_material import TaskMaterial, task_material
from proctor.author.patch_trial import ready
from proctor.base.errors import UsageFault
from proctor.base.json_records import to_json
from proctor.cli.options import complete_runs
from proctor.cli.output import Group, as_json, counted, examples, print_record, print_table, printable
from proctor.cli.wiring import machine, run_store
from proctor.contract.load import CONTRACT_NAME, load_contract
from proctor.present.sentences.export_losses import contents_sentence, loss_sentence, task_readme

out_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", required=True, help="A new folder for the export."
)
image_option = click.option(
    "--image", metavar="NAME@DIGEST", default="", help="The base image of the tasks, by digest: NAME@sha256:..."
)
runs_argument = click.argument("runs", shell_complete=complete_runs, nargs=-1, required=True)


@click.group(cls=Group, epilog="Example: proctor export inspect last --out logs")
def command() -> None:
    """Write contracts and runs in the formats of other tools.

    Contracts become tasks of SWE-bench and Harbor. Runs become predictions of SWE-bench, jobs of Harbor, trajectories
    (ATIF), logs of Inspect, and spans of OpenTelemetry. What a format cannot carry is printed, and stored in
    FOLDER/export.json.

    Exported tasks contain the hidden tests and the solution.
    """


@command.command(
    epilog=examples(
        "export swebench last --out predictions",
        "export swebench CONTRACT --image NAME@sha256:... --out tasks",
    )
)
@click.argument("subjects", shell_complete=complete_runs, nargs=-1, required=True)
@image_option
@out_option
@as_json
def swebench(subjects: tuple[str, ...], image: str, out: Path, json_: bool) -> None:
    """Write contracts as SWE-bench instances, or runs as predictions.

    SUBJECTS are contracts or runs, not both. Contracts become a task repository (layout 5) and instances.jsonl; runs
    become predictions, the reports of their instances and a run report.

    Exported tasks contain the hidden tests and the solution.
    """
    _contracts_or_runs("swebench", subjects, image, out, json_)


@command.command(
    epilog=examples(
        "export harbor last --out jobs",
        "export harbor CONTRACT --image NAME@sha256:... --out tasks",
    )
)
@click.argument("subjects", shell_complete=complete_runs, nargs=-1, required=True)
@image_option
@out_option
@as_json
def harbor(subjects: tuple[str, ...], image: str, out: Path, json_: bool) -> None:
    """Write contracts as Harbor tasks, or runs as a Harbor job.

    SUBJECTS are contracts or runs, not both. Each task has images by digest, a separate verifier, no network for agent
    and verifier, and /workspace as its artefact; its README lists what is weaker than in Proctor. Runs become the
    trials of one job for Harbor's viewer, each with its trajectory.

    Exported tasks contain the hidden tests and the solution.
    """
    _contracts_or_runs("harbor", subjects, image, out, json_)


@command.command(epilog="Example: proctor export atif last --out trajectories")
@runs_argument
@out_option
@as_json
def atif(runs: tuple[str, ...], out: Path, json_: bool) -> None:
    """Write runs as trajectories in the format ATIF."""
    _runs("atif", runs, out, json_)


@command.command(epilog="Example: proctor export inspect last --out logs")
@runs_argument
@out_option
@as_json
def inspect(runs: tuple[str, ...], out: Path, json_: bool) -> None:
    """Write runs as logs for Inspect View."""
    _runs("inspect", runs, out, json_)


@command.command(epilog="Example: proctor export otel last --out spans")
@runs_argument
@out_option
@as_json
def otel(runs: tuple[str, ...], out: Path, json_: bool) -> None:
    """Write runs as OpenTelemetry spans in OTLP/JSON."""
    _runs("otel", runs, out, json_)


def _contracts_or_runs(name: str, subjects: Sequence[str], image: str, out: Path, json_: bool) -> None:
    contracts = [_is_contract(subject) for subject in subjects]
    if all(contracts):
        _contracts(name, subjects, image, out, json_)
    elif any(contracts):
        raise click.UsageError("contracts and runs cannot be exported together")
    elif image:
        raise click.UsageError("--image is for contracts; a run has its own")
    else:
        _runs(name, subjects, out, json_)


def _is_contract(subject: str) -> bool:
    path = Path(subject)
    return path.name == CONTRACT_NAME or (path / CONTRACT_NAME).is_file()


def _contracts(name: str, paths: Sequence[str], image: str, out: Path, json_: bool) -> None:
    """Prepare contracts one after the other and write them."""
    form = CONTRACT_FORMATS[name]
    require_digest(image)
    require_new_folder(out)
    loaded = [load_contract(Path(path)) for path in paths]
    here = machine()

    def materials() -> Iterator[TaskMaterial]:
        for contract in loaded:
            if contract.reference is None:
                message = "the contract has no reference solution, which an exported task needs"
                raise UsageFault(message, where=str(contract.directory / CONTRACT_NAME))
            with ready(here, contract) as prepared, here.scratch("export") as scratch:
                yield task_material(prepared, scratch)

    def readme(exported: Exported, task: TaskMaterial) -> str:
        losses = [(loss.code, loss.values) for loss in exported.losses]
        return task_readme(task.contract.title, task.content_id, form.contains, losses)

    _report(export_contracts(form, image, materials(), out, readme), out, json_)


def _runs(name: str, names: Sequence[str], out: Path, json_: bool) -> None:
    require_new_folder(out)
    store = run_store()
    found: list[RecordedRun] = [read_run(store.find(one)) for one in names]
    _report(export_runs(RUN_FORMATS[name], found, out), out, json_)


def _report(record: ExportRecord, out: Path, json_: bool) -> None:
    """The table of losses for people, or the record."""
    if json_:
        print_record(to_json(record))
        return
    found: dict[tuple[str, str], list[str]] = {}
    for loss in record.losses:
        found.setdefault((loss.code, loss_sentence(loss.code, loss.values)), []).append(loss.subject)
    rows = [[code, _subjects(record, names), text] for (code, text), names in found.items()]
    print_table(["LOST", "OF", "WHAT"], rows)
    warning = contents_sentence(record.contains)
    if warning:
        click.echo(warning)
    what = counted(len(record.subjects), record.subjects[0].kind)
    click.echo(printable(f"wrote {what} in {counted(len(record.files), 'file')} to {out}"))


def _subjects(record: ExportRecord, names: Sequence[str]) -> str:
    """What loses something: all subjects, one, or the first of several."""
    if len(names) == len(record.subjects):
        return names[0] if len(names) == 1 else "all"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
