"""Judge the tree in an exported task: restore guarded files, place hidden files, run the checks, read their results.

It runs as ``verify.py FOLDER`` with ``checks.json`` and ``files.tar`` in the folder. ``--lines`` prints one line
``PASSED ID`` or ``FAILED ID`` for each listed test. ``--reward FILE`` writes ``{"reward": 1}`` if every check passed,
and 0 otherwise. The exit code is 0 if all passed and 1 otherwise.

What the checks print is shown with a bar before each line, so that no output of code under test is read as a result.
Results are read from files only. Code under test runs with the rights of this program: see the README of the task.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from typing import IO, Any

from proctor.execute.workspace.path_patterns import matches
from proctor.judge.checks.results_readers.interface import clean_text
from proctor.judge.checks.results_readers.junit import parse as parse_junit
from proctor.judge.checks.results_readers.tap import parse as parse_tap

RESULT_BYTES = 64 << 20
SHOWN_BYTES = 256 << 10
"""The most that is read of a file of results, and shown of the output of a check."""

NOT_STARTED = (126, 127)
PYTEST_OPTIONS = "-p proctor_export_results --continue-on-collection-errors -p no:cacheprovider"
GOOD_ENDINGS = (0, 1, 5)


def main(arguments: list[str]) -> int:
    """Judge, and report as the arguments want."""
    folder = os.path.abspath(arguments[0])
    with open(os.path.join(folder, "checks.json"), encoding="utf-8") as file:
        plan = json.load(file)
    with tarfile.open(os.path.join(folder, "files.tar"), errors="surrogateescape") as archive:
        restore(plan, archive)
        results = {check["id"]: run_check(plan, check, archive, folder) for check in plan["checks"]}
    report(plan, results, arguments[1:])
    return 0 if all(passed for passed, _ in results.values()) else 1


def report(plan: dict[str, Any], results: dict[str, tuple[bool, dict[str, str]]], options: list[str]) -> None:
    """Print the lines or write the reward."""
    if "--lines" in options:
        for test in plan["tests"]:
            passed, outcomes = results[test["check"]]
            good = outcomes.get(test["test"]) == "passed" if test["test"] else passed
            print("PASSED" if good else "FAILED", test["id"], flush=True)
    if "--reward" in options:
        place = options[options.index("--reward") + 1]
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            json.dump({"reward": int(all(passed for passed, _ in results.values()))}, file)
        detail = {name: {"passed": passed, "tests": tests} for name, (passed, tests) in results.items()}
        with open(os.path.join(os.path.dirname(place), "checks.json"), "w", encoding="utf-8") as file:
            json.dump(detail, file, sort_keys=True)


def restore(plan: dict[str, Any], archive: tarfile.TarFile) -> None:
    """Let guarded files be as in the base: added ones are removed, the others written again."""
    known = set(plan["guarded"])
    for path in sorted(walk(plan["workspace"])):
        if path not in known and is_guarded(plan, path):
            remove(os.path.join(plan["workspace"], path))
    place(plan["workspace"], archive, "base/")


def walk(top: str) -> list[str]:
    """Every file and link below ``top``, relative to it, without the history of git."""
    found = []
    for directory, names, files in os.walk(top):
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        names[:] = [name for name in names if name not in links and name != ".git"]
        inner = os.path.relpath(directory, top)
        found += [name if inner == "." else os.path.join(inner, name) for name in (*files, *links)]
    return found


def is_guarded(plan: dict[str, Any], path: str) -> bool:
    """Whether a path that the base does not have steers a runner, or is protected."""
    if any(matches(path, pattern) for pattern in plan["protected"]):
        return True
    if any(matches(path, pattern) for pattern in plan["free_steering"]):
        return False
    name = path.rpartition("/")[2]
    return name in plan["steering_names"] or bool(re.search(plan["steering_pattern"], path)) or shadows(plan, path)


def shadows(plan: dict[str, Any], path: str) -> bool:
    """Whether a path would be imported in place of a module of a test runner that the project does not have."""
    for root in plan["import_roots"]:
        if path.startswith(root):
            first, _, rest = path[len(root) :].partition("/")
            module = first if rest else first.partition(".")[0]
            if module in plan["runner_modules"] and (rest or first.endswith((".py", ".so")) or "." not in first):
                return True
    return False


def place(top: str, archive: tarfile.TarFile, prefix: str) -> None:
    """Write the members of the archive whose names begin with ``prefix``; nothing in their way is followed."""
    for member in archive.getmembers():
        if not member.name.startswith(prefix):
            continue
        parts = member.name[len(prefix) :].split("/")
        if ".." in parts or "" in parts:
            continue
        directory = top
        for part in parts[:-1]:
            directory = os.path.join(directory, part)
            if os.path.islink(directory) or (os.path.lexists(directory) and not os.path.isdir(directory)):
                remove(directory)
            if not os.path.lexists(directory):
                os.mkdir(directory)
        target = os.path.join(directory, parts[-1])
        remove(target)
        if member.issym():
            os.symlink(member.linkname, target)
            continue
        content = archive.extractfile(member)
        if content is not None:
            with open(target, "wb") as file:
                shutil.copyfileobj(content, file)
            os.chmod(target, member.mode)


def remove(path: str) -> None:
    """Remove a file, a link or a directory; it need not exist."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def run_check(
    plan: dict[str, Any], check: dict[str, Any], archive: tarfile.TarFile, folder: str
) -> tuple[bool, dict[str, str]]:
    """Run one check: whether it passed, and the outcome of each test."""
    place(plan["workspace"], archive, "hidden/" + check["id"] + "/")
    for path in ("HOME", "TMPDIR"):
        os.makedirs(plan["environment"].get(path, "/tmp"), exist_ok=True)
    with tempfile.TemporaryDirectory() as results, tempfile.TemporaryFile() as output:
        os.chmod(results, 0o777)
        environment = check_environment(plan, check, results, folder)
        try:
            process = subprocess.Popen(
                check["run"],
                cwd=check["directory"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            print(f"| {check['id']}: could not start: {error}", flush=True)
            return False, {}
        code = ended(process, check["timeout_seconds"])
        show(check["id"], code, output)
        return judged(check, code, results)


def ended(process: subprocess.Popen[bytes], seconds: int) -> int | None:
    """The exit code, or nothing if the time ran out; no process of the check is left."""
    code: int | None = None
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    return code


def check_environment(plan: dict[str, Any], check: dict[str, Any], results: str, folder: str) -> dict[str, str]:
    """The whole environment of a check."""
    variables = {**plan["environment"], **check["variables"], "PROCTOR_RESULTS": results}
    if check["results"] == "pytest":
        variables["PROCTOR_EXPORT_RESULTS"] = results
        variables["PROCTOR_EXPORT_OPTIONS"] = variables.get("PYTEST_ADDOPTS", "")
        variables["PYTEST_ADDOPTS"] = (PYTEST_OPTIONS + " " + variables.get("PYTEST_ADDOPTS", "")).strip()
        path = variables.get("PYTHONPATH", "")
        plugin = os.path.join(folder, "plugin")
        variables["PYTHONPATH"] = plugin + ":" + path if path else plugin
    return variables


def show(name: str, code: int | None, output: IO[bytes]) -> None:
    """Print the end of the output, each line behind a bar and without the marks of a log."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - SHOWN_BYTES))
    text = output.read().decode("utf-8", "backslashreplace").replace(">>>>>", "> > > > >")
    print(f"| {name}: {'ran out of time' if code is None else 'exit code ' + str(code)}", flush=True)
    for line in text.splitlines():
        sys.stdout.write("| " + line.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")
    sys.stdout.flush()


def judged(check: dict[str, Any], code: int | None, results: str) -> tuple[bool, dict[str, str]]:
    """Whether a check passed, from its exit code and its file of results."""
    if check["results"] == "exit-code":
        return code == 0, {}
    outcomes, complete = read_results(check, results)
    if code is None or code < 0 or not complete or (code in NOT_STARTED and not outcomes):
        return False, {}
    wanted = check["must_pass"] + check["keep_passing"]
    if wanted:
        return all(outcomes.get(test) == "passed" for test in wanted), outcomes
    failing = [test for test, outcome in outcomes.items() if outcome in ("failed", "error")]
    return not failing and "passed" in outcomes.values() and code == 0, outcomes


def read_results(check: dict[str, Any], results: str) -> tuple[dict[str, str], bool]:
    """The outcomes of the tests, and whether the runner came to its end."""
    name = "pytest.jsonl" if check["results"] == "pytest" else check["results_file"]
    path = os.path.join(results, name)
    if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > RESULT_BYTES:
        return {}, False
    with open(path, "rb") as file:
        data = file.read(RESULT_BYTES + 1)
    if check["results"] == "pytest":
        return read_pytest(data)
    parsed = parse_tap(data) if check["results"] == "tap" else parse_junit(data)
    return dict(parsed.outcomes), parsed.complete


def read_pytest(data: bytes) -> tuple[dict[str, str], bool]:
    """The reports that the plugin wrote: one line each, and a last one when the session is over."""
    order = ("passed", "skipped", "error", "failed")
    outcomes: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").split("\n"):
        try:
            record = json.loads(line) if line else {}
        except (ValueError, RecursionError):
            return {}, False
        if not isinstance(record, dict):
            return {}, False
        if "status" in record:
            return outcomes, record["status"] in GOOD_ENDINGS
        outcome = outcome_of(str(record.get("when")), str(record.get("outcome")))
        if outcome:
            test = clean_text(str(record.get("id")))
            outcomes[test] = max(outcomes.get(test, "passed"), outcome, key=order.index)
    return {}, False


def outcome_of(when: str, outcome: str) -> str:
    """What one report says of its test; nothing for phases that only matter when they go wrong."""
    if when == "collect":
        return "error" if outcome == "failed" else ""
    if outcome == "failed":
        return "failed" if when == "call" else "error"
    if outcome == "skipped":
        return "skipped"
    return "passed" if when == "call" and outcome == "passed" else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
