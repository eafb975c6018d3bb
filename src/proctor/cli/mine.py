"""``proctor mine``: contracts from the history of a repository."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from proctor.author.mine.candidate_rules import ADMITTABLE, MOST_SOURCE_FILES, REASONS, Rules
from proctor.author.mine.issue_export import read_issues
from proctor.author.mine.mine_history import Mined, Miner, Walk
from proctor.author.mine.mined_record import FILE_NAME, REJECTED
from proctor.author.mine.python_resolution import Resolver
from proctor.author.mine.task_text import LEAST_WORDS
from proctor.base.files import write_whole
from proctor.cli.init import issues_option
from proctor.cli.output import as_json, counted, print_json, print_table, printable
from proctor.cli.progress import progress_of
from proctor.cli.terminal import echo
from proctor.cli.wiring import machine
from proctor.execute.workspace.git_history import open_history
from proctor.present.mining_page import mining_page

PAGE = "index.html"
INTERRUPTED = 130


@click.command(epilog="Example: proctor mine ../parser --out tasks --since 2024-01-01 --limit 40 --jobs 2")
@click.argument("repository")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The directory for contracts and records.")
@click.option("--branch", default="HEAD", show_default=True, help="Where to start: a branch, a tag or a commit.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Leave out earlier commits.")
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="Run the tests of so many commits."
)
@click.option("--times", type=click.IntRange(2, 100), default=3, show_default=True, help="Attempts at base and fix.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Commits that are tried at once."
)
@click.option(
    "--most-files", type=click.IntRange(1), default=MOST_SOURCE_FILES, show_default=True, help="Source files of a fix."
)
@click.option(
    "--least-words", type=click.IntRange(0), default=LEAST_WORDS, show_default=True, help="Words of a drafted text."
)
@click.option(
    "--admit", type=click.Choice(sorted(ADMITTABLE)), multiple=True, help="Do not reject commits for this reason."
)
@issues_option
@as_json
def command(
    repository: str,
    out: Path,
    branch: str,
    since: datetime | None,
    limit: int,
    times: int,
    jobs: int,
    most_files: int,
    least_words: int,
    admit: tuple[str, ...],
    issues: Path | None,
    json_: bool,
) -> int:
    """Make contracts from the fixes in the history of a repository.

    Walks the first parents of REPOSITORY, newest first. A commit that changes source and tests is tried: its tests run
    several times without and with the rest of the commit, in different orders and with different hash seeds, in the
    sandbox of the judge. If some of them fail before and pass after for a good reason, the contract is written to
    DIRECTORY/contracts and validated. Environments are those of the quarter of the commit.

    mine.jsonl in DIRECTORY lists every commit with its reason, and index.html shows all candidates. The same command
    continues after an interruption. Nothing of the repository runs outside a sandbox.

    Exits with 1 when no commit gave a valid contract.
    """
    here = machine()
    rules = Rules(frozenset(admit), most_files)
    known = read_issues(issues) if issues else {}
    start = int(since.replace(tzinfo=UTC).timestamp()) if since else 0

    def print_line(line: str) -> None:
        if not json_ and sys.stderr is not None:
            echo(printable(line), err=True)

    with (
        here.scratch("history") as scratch,
        open_history(repository, scratch) as history,
        here.scratch("resolve") as work,
        here.inputs.in_use(),
    ):
        resolver = Resolver(here.inputs, work)
        walk = Walk(repository, branch, start, limit, times, jobs, rules, least_words, known)
        mined = Miner(here, history, walk, out, resolver, print_line).run(lambda plan: progress_of(plan, quiet=json_))
    write_whole(out / PAGE, mining_page(repository, mined, out).encode())
    if json_:
        print_json(_answer(mined, out))
    else:
        _print(mined, out)
    if mined.stopped:
        return INTERRUPTED
    return 0 if mined.valid else 1


def _option(reason: str) -> str:
    """The option that admits commits rejected for ``reason``."""
    special = {"too-large": "--most-files N", "short-text": "--least-words N"}
    return special.get(reason, f"--admit {reason}" if reason in ADMITTABLE else "")


def _answer(mined: Mined, out: Path) -> dict[str, object]:
    return {
        "out": str(out),
        "commits": len(mined.records),
        "tried": len(mined.tried),
        "valid": len(mined.valid),
        "contracts": [str(out / one.contract) for one in mined.valid],
        "reasons": [
            {"reason": reason, "commits": count, "example": commit, "option": _option(reason)}
            for reason, count, commit in mined.counted()
        ],
        "environments": mined.environments,
        "seconds": f"{mined.seconds:.1f}",
        "stopped": mined.stopped,
    }


def _print(mined: Mined, out: Path) -> None:
    rejected = {one.commit for one in mined.tried if one.status == REJECTED}
    rows = [
        [reason, str(count), "yes" if commit in rejected else "no", REASONS[reason], _option(reason), commit[:10]]
        for reason, count, commit in mined.counted()
    ]
    if rows:
        print_table(["REASON", "COMMITS", "TRIED", "WHY", "ADMIT WITH", "EXAMPLE"], rows)
    tried, valid = len(mined.tried), len(mined.valid)
    share = f" ({100 * valid / tried:.0f} % of the tried ones)" if tried else ""
    environments = counted(mined.environments, "environment")
    click.echo(f"{counted(len(mined.records), 'commit')}: {tried} tried, {valid} valid{share}; {environments} resolved")
    click.echo(f"wrote {out / FILE_NAME} and {out / PAGE}")
    if mined.stopped:
        click.echo("stopped: the same command continues")
    elif valid:
        click.echo(f"next: look at {out / PAGE}, then proctor run {out}/contracts/NAME --agent NAME")
