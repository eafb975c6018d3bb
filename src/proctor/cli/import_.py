"""``proctor import``: contracts from the tasks of other benchmarks."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from proctor.author.import_.harbor_contract import absent_task, import_task
from proctor.author.import_.harbor_task import absent_tasks, task_folders
from proctor.author.import_.import_record import REPORT_NAME, ImportedTask, Refused, shown
from proctor.author.import_.proof import prove
from proctor.author.import_.swebench_contract import Repositories, import_instance
from proctor.author.import_.task_environment import Environments
from proctor.author.import_.task_records import records
from proctor.base.errors import ContractError, ProctorError, UsageFault
from proctor.cli import wiring
from proctor.cli.lock import pin
from proctor.cli.output import Group, as_json, counted, one_line, shortened
from proctor.conduct.machine_setup import Machine
from proctor.execute.sandbox.container import images
from proctor.present.import_sentences import sentence

paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
out_option = click.option(
    "--out", required=True, metavar="FOLDER", type=click.Path(path_type=Path), help="Write the contracts here."
)
environments_option = click.option(
    "--environments",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Environments by repository and version, where no image is there.",
)
WIDE = 150


@click.group(
    cls=Group,
    epilog="Example: proctor import swebench tasks.jsonl --repositories clones --environments env.yaml --out new",
)
def command() -> None:
    """Import tasks of other benchmarks as contracts.

    A task that cannot be judged here is refused with the reason, and nothing is written for it. FOLDER gets a directory
    for each contract and import.jsonl, which lists every task and whatever of it has no counterpart. Nothing that comes
    with a task is executed. The exit code is 1 if a task was refused.
    """


@command.command(
    epilog="Example: proctor import swebench tasks.jsonl --repositories clones --environments env.yaml --out new"
)
@paths_argument
@out_option
@click.option(
    "--repositories",
    required=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Clones of the repositories, such as FOLDER/OWNER/NAME or FOLDER/OWNER__NAME.",
)
@click.option(
    "--git",
    default="",
    metavar="ADDRESS",
    help="What contracts name in place of the clone, with {repo}: https://github.com/{repo}",
)
@environments_option
@click.option("--instance", multiple=True, metavar="ID", help="Import this task only; may be repeated.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Import at most N tasks.")
@click.option(
    "--prove",
    "proving",
    is_flag=True,
    help="Lock each contract, and refuse the task unless the base fails and the reference passes here.",
)
@as_json
def swebench(
    paths: tuple[Path, ...],
    out: Path,
    repositories: Path,
    git: str,
    environments: Path | None,
    instance: tuple[str, ...],
    limit: int | None,
    proving: bool,
    json_: bool,
) -> int:
    """Import tasks of SWE-bench and its variants.

    PATHS are JSON, JSON lines, Parquet or task repositories. The base commit is read from a clone, both patches are
    tried on it, and test ids become those of pytest. The environment is the task's image, if the engine has it, or the
    first entry of --environments that fits. With --prove the base and the reference are judged at once, and ids that
    were cut off become the ids of the tests that they mean.
    """
    machine = wiring.machine() if proving else None
    places = Repositories(repositories, git)
    known = Environments(environments, layers_of)
    wanted = set(instance)

    def found() -> Iterator[Callable[[], ImportedTask]]:
        for path in paths:
            for source, record in records(path):
                if not wanted or str(record.get("instance_id")) in wanted:
                    yield partial(_proven, machine, partial(import_instance, record, source, out, places, known))

    return _import(found(), out, limit, json_)


@command.command(epilog="Example: proctor import harbor tasks --environments env.yaml --out new")
@paths_argument
@out_option
@environments_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Import at most N tasks.")
@as_json
def harbor(paths: tuple[Path, ...], out: Path, environments: Path | None, limit: int | None, json_: bool) -> int:
    """Import tasks of Harbor.

    PATHS are folders of tasks, or folders that have several. Of the environment, the image and the files that the
    Dockerfile copies are taken. A test script that runs pytest becomes a check of pytest; any other keeps its reward,
    and is refused if it needs the network.
    """
    known = Environments(environments, layers_of)

    def found() -> Iterator[Callable[[], ImportedTask]]:
        for path in paths:
            for folder in task_folders(path):
                yield partial(import_task, folder, out, known)
            for name in absent_tasks(path):
                yield partial(absent_task, name, path)

    return _import(found(), out, limit, json_)


def _proven(machine: Machine | None, importing: Callable[[], ImportedTask]) -> ImportedTask:
    """The task, proven if there is a machine; the contract of one that is not proven is removed."""
    task = importing()
    if machine is None or task.status != "written":
        return task
    directory = Path(task.contract)
    try:
        pin(directory)
        rest = prove(machine, directory, task.cut_ids)
        losses = tuple(loss for loss in task.losses if loss.code not in ("needs-lock", *(() if rest else ("cut-ids",))))
        return replace(task, losses=losses, proven=True, cut_ids=rest)
    except Refused as refusal:
        reason, detail = refusal.code, refusal.detail
    except (ContractError, UsageFault) as error:
        reason, detail = "unproven", shown(str(error))
    except BaseException:
        shutil.rmtree(directory)
        raise
    shutil.rmtree(directory)
    return replace(task, status="refused", contract="", reason=reason, detail=detail)


def layers_of(name: str) -> tuple[str, ...]:
    """The layers of an image of the engine; none if there is no engine or no such image."""
    with suppress(ProctorError):
        return images.inspect(wiring.engine(), name).layers
    return ()


def _import(tasks: Iterator[Callable[[], ImportedTask]], out: Path, limit: int | None, json_: bool) -> int:
    """Import one task after the other; the report is complete only if all were tried."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        draft = out / f".{REPORT_NAME}.{os.getpid()}"
        file = draft.open("wb")
    except OSError as error:
        raise UsageFault(f"it cannot be written to: {error.strerror}", where=str(out), hint="give a folder") from None
    counts: Counter[str] = Counter()
    losses: Counter[str] = Counter()
    try:
        with file:
            for one in tasks:
                if limit is not None and counts.total() >= limit:
                    break
                task = one()
                counts[task.status] += 1
                losses.update({loss.code for loss in task.losses} if task.status == "written" else ())
                file.write(task.line())
                _show(task, json_)
        if not counts:
            raise UsageFault("there are no tasks to import", hint="do the files or --instance name any?")
        draft.replace(out / REPORT_NAME)
    finally:
        draft.unlink(missing_ok=True)
    if not json_:
        _summary(counts, losses, out)
    return 1 if counts["refused"] else 0


def _show(task: ImportedTask, json_: bool) -> None:
    if json_:
        click.echo(task.line().decode(), nl=False)
    elif task.status == "written":
        click.echo(one_line(f"wrote {task.contract}"))
    else:
        click.echo(one_line(shortened(f"refused {task.task}: {sentence(task.reason, task.detail)}", WIDE)))


def _summary(counts: Counter[str], losses: Counter[str], out: Path) -> None:
    click.echo(
        f"\n{counted(counts['written'], 'contract')} written, {counts['refused']} refused; see {out / REPORT_NAME}"
    )
    if losses:
        click.echo("without a counterpart:")
        for code, number in losses.most_common():
            click.echo(f"  {number}: {sentence(code, '')}")
    if counts["written"]:
        click.echo(f"next: proctor validate {out}/*/  (the no-op must fail and the reference must pass)")
