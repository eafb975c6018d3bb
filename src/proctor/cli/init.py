"""``proctor init``: start a new contract, from scratch or from a fix in the history of a repository."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from proctor.author.mine.contract_of_fix import Made, make_contract
from proctor.author.mine.issue_export import read_issues
from proctor.author.mine.known_fix import KnownFix, fix_of_commits, fix_of_releases, fix_range
from proctor.author.mine.python_resolution import Resolver
from proctor.author.validation import Validation, validate_contracts
from proctor.base.json_records import to_json
from proctor.cli.exit_codes import UNDECIDED
from proctor.cli.output import as_json, counted, examples, print_json, printable
from proctor.cli.progress import Attempts, progress_of
from proctor.cli.wiring import machine
from proctor.conduct.machine_setup import Machine
from proctor.contract.lock import is_address
from proctor.contract.scaffold import scaffold
from proctor.execute.workspace.git_history import open_history

LEAST_STEPS = 3

issues_option = click.option(
    "--issues",
    type=click.Path(path_type=Path),
    help="A JSON export of issues (number, title, body); the issue that a fix closes becomes the text.",
)


@click.command(
    epilog=examples(
        "init contracts/fix-parser",
        "init contracts/fix-parser --git ../parser --fix 1a2b3c4d",
        "init contracts/keep-hints --pypi sqlparse==0.5.1..0.5.2",
    )
)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The contract's name.  [default: the directory's name]")
@click.option("--git", "git", metavar="REPO", default="", help="A repository with the fix: a directory or an address.")
@click.option("--fix", metavar="COMMIT", default="", help="The fix: a commit, a tag, a branch, or A..B.")
@click.option("--pypi", metavar="NAME==OLD..NEW", default="", help="The fix as the step between two releases on PyPI.")
@click.option("--times", type=click.IntRange(2, 100), default=3, show_default=True, help="Attempts at base and fix.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Parallel attempts.")
@issues_option
@as_json
def command(
    directory: Path,
    name: str,
    git: str,
    fix: str,
    pypi: str,
    times: int,
    jobs: int,
    issues: Path | None,
    json_: bool,
) -> int:
    """Write a new contract, from scratch or from a known fix.

    DIRECTORY gets a small contract with every field explained. It already passes `proctor validate`. Replace its parts
    by your own.

    With --git and --fix, or with --pypi, it gets the contract of a known fix: the tree before it, its tests as hidden
    tests, the rest of it as the reference, and an environment as of its date. The tests are run several times on both
    trees to decide which of them must pass, and the contract is validated. What a person should look at is listed
    with its line. Python projects are supported.

    Exits with 1 when the contract is not valid; it stays in DIRECTORY, so that you can repair it.
    """
    name = name or directory.absolute().name
    if bool(git) != bool(fix):
        raise click.UsageError("--git and --fix need each other")
    if git and pypi:
        raise click.UsageError("--pypi names the fix itself; leave out --git and --fix")
    if not git and not pypi:
        _scaffold(directory, name, json_)
        return 0
    here = machine()
    attempts = Attempts(f"{name}: attempts at base and fix", quiet=json_)
    with _known_fix(here, directory, git, fix, pypi) as known, here.scratch("resolve") as scratch, here.inputs.in_use():
        resolver = Resolver(here.inputs, scratch)
        total = 2 * times + LEAST_STEPS - 1
        made = make_contract(
            *(here, known, directory, name, resolver, known.time, times, jobs, lambda: attempts.one_more(total)),
            issues=read_issues(issues) if issues else {},
        )
    valid = None
    if not made.proof.reason:
        valid = validate_contracts(here, [directory], 1, jobs, lambda plan: progress_of(plan, quiet=json_))
    return _report(made, valid, json_)


def _scaffold(directory: Path, name: str, json_: bool) -> None:
    written = scaffold(directory, name)
    if json_:
        print_json({"written": [str(path) for path in written]})
        return
    for path in written:
        click.echo(f"wrote {path}")
    click.echo(f"next: fill it in, then proctor lint {directory}")


@contextmanager
def _known_fix(here: Machine, directory: Path, git: str, fix: str, pypi: str) -> Iterator[KnownFix]:
    """The fix that the options name; its files can be read for as long as the ``with`` block lasts."""
    if pypi:
        yield fix_of_releases(pypi, here.inputs)
        return
    with here.scratch("history") as scratch, open_history(git, scratch) as history:
        named = git if is_address(git) else os.path.relpath(git, directory)
        yield fix_of_commits(history, *fix_range(history, fix), named)


def _report(made: Made, valid: Validation | None, json_: bool) -> int:
    """Print the result; the exit code."""
    verdict = None if valid is None else valid.valid
    code = 1 if valid is None or verdict is False else 0 if verdict else UNDECIDED
    for path, error in (valid.errors if valid else {}).items():
        click.echo(printable(f"proctor: {path}: {error}"), err=True)
    if json_:
        print_json(_answer(made, verdict))
        return code
    proof, place = made.proof, made.directory
    click.echo(f"wrote {place}: {made.proof.kind}, {counted(len(made.environment.inputs), 'input')} locked")
    if proof.reason:
        click.echo(printable(f"not proven: {proof.reason}: {proof.detail}"))
    else:
        kinds = ", ".join(f"{count} by {kind}" for kind, count in proof.counted().items())
        click.echo(f"must_pass: {len(proof.must_pass)} (they fail on the base: {kinds})")
        click.echo(f"keep_passing: {len(proof.keep_passing)}")
    for remark in made.remarks:
        click.echo(printable(f"look at {place / remark.file}:{remark.line}: {remark.text}"))
    if valid is not None:
        click.echo({True: "valid", False: "not valid", None: "undecided"}[verdict])
    click.echo(f"next: read the issue, then proctor validate {place}" if verdict else f"next: proctor validate {place}")
    return code


def _answer(made: Made, verdict: bool | None) -> dict[str, Any]:
    proof = made.proof
    return {
        "written": sorted(str(path) for path in made.directory.rglob("*") if path.is_file()),
        "valid": verdict,
        "reason": proof.reason,
        "detail": proof.detail,
        "task": proof.kind,
        "must_pass": list(proof.must_pass),
        "keep_passing": len(proof.keep_passing),
        "failures": proof.counted(),
        "quality": to_json(made.quality),
        "remarks": [{"file": one.file, "line": one.line, "code": one.code, "text": one.text} for one in made.remarks],
    }
