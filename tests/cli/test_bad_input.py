"""Bad input, from the command line down: one clear message or a bounded record, the right exit code, nothing lost."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import run_command

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def refused(proctor: Proctor, contract: Path, *says: str) -> None:
    """A no-op run of ``contract`` ends with 2 and one message that says all of ``says``."""
    done = proctor("run", contract, "--agent", "noop")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for words in says:
        assert words in done.stderr, done.stderr


def with_archive(contract: Path, name: str, data: bytes) -> Path:
    """``contract`` with another archive as its repository."""
    (contract / name).write_bytes(data)
    whole = json.loads((contract / "contract.yaml").read_text())
    whole["repository"] = {"archive": name, "sha256": hashlib.sha256(data).hexdigest()}
    (contract / "contract.yaml").write_text(json.dumps(whole, indent=1))
    return contract


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    made.linkname = target
    return made


def test_an_unknown_key(proctor: Proctor, make_contract: Any) -> None:
    refused(proctor, make_contract(polcy={}), "contract.yaml:", "polcy", "policy")


def test_a_wrong_type(proctor: Proctor, make_contract: Any) -> None:
    refused(proctor, make_contract(budget={"wall_seconds": "long"}), "contract.yaml:", "expected a whole number")


def test_a_missing_file(proctor: Proctor, make_contract: Any) -> None:
    refused(proctor, make_contract(task={"issue": "nowhere.md"}), "contract.yaml:", "nowhere.md")


def test_a_commit_that_does_not_exist(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    repository = tmp_path / "contracts" / "git" / "repository"
    contract = make_contract("git", repository={"git": "repository", "commit": "1" * 40})
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(repository)]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    refused(proctor, contract, "1" * 40)


def test_a_digest_that_does_not_match(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    archive = contract / "repository.tar"
    archive.write_bytes(archive.read_bytes() + bytes(512))
    refused(proctor, contract, "repository.tar", "sha256")


def test_an_archive_that_climbs_out(proctor: Proctor, make_contract: Any) -> None:
    data = tar_of((member("../../outside"), b"x"))
    refused(proctor, with_archive(make_contract(), "climb.tar", data), "outside")


def test_a_link_that_leads_out(proctor: Proctor, make_contract: Any) -> None:
    data = tar_of((member("out", tarfile.SYMTYPE, "/etc"), b""), (member("out/passwd"), b"x"))
    refused(proctor, with_archive(make_contract(), "link.tar", data), "out")


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_a_fifo_or_device(proctor: Proctor, make_contract: Any, kind: bytes) -> None:
    refused(proctor, with_archive(make_contract(), "odd.tar", tar_of((member("odd", kind), b""))), "odd")


def test_a_zip_bomb(proctor: Proctor, make_contract: Any) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb", "w") as file:
        for _ in range(600):
            file.write(bytes(1 << 20))
    refused(proctor, with_archive(make_contract(), "bomb.zip", buffer.getvalue()), "bomb")


def test_something_that_is_no_archive(proctor: Proctor, make_contract: Any) -> None:
    refused(proctor, with_archive(make_contract(), "text.tar.gz", b"not an archive"), "text.tar.gz")


def printing(proctor: Proctor, make_contract: Any, count: int) -> None:
    check = {**make_contract.CHECK, "run": f"yes | head -c {count}; exit 1", "timeout_seconds": 1200}
    done = proctor("run", make_contract(checks=[check]), "--agent", "noop", "--json")
    (row,) = json.loads(done.stdout)["runs"]
    assert row["status"] == "failure"
    directory = Path(row["evidence"])
    assert sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) < 8 << 20
    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    (finished,) = [event["payload"] for event in events if event["type"] == "check.finished"]
    assert finished["stdout"]["bytes"] == count
    assert proctor("verify", row["run"]).returncode == 0


def test_a_check_that_prints_a_lot_is_bounded(proctor: Proctor, make_contract: Any) -> None:
    printing(proctor, make_contract, 300_000_000)


@pytest.mark.soak
def test_a_check_that_prints_ten_gigabytes_is_bounded(proctor: Proctor, make_contract: Any) -> None:
    printing(proctor, make_contract, 10_000_000_000)


def test_a_file_name_that_is_not_utf_8_survives_the_whole_run(proctor: Proctor, make_contract: Any) -> None:
    check = {**make_contract.CHECK, "run": "test -e \"$(printf 'odd\\377name')\""}
    contract = make_contract(checks=[check])
    agent = r"""command:sh -c 'echo x > "$(printf "odd\377name")"'"""
    done = proctor("run", contract, "--agent", agent, "--json")
    (row,) = json.loads(done.stdout)["runs"]
    assert row["status"] == "success", row
    changes = json.loads((Path(row["evidence"]) / "workspace" / "changes.json").read_bytes())
    assert [change["path"] for change in changes["changes"]] == ["odd\\xffname"]
    assert proctor("verify", row["run"]).returncode == 0


@pytest.mark.parametrize("command", [("runs",), ("show", "last"), ("doctor",)])
def test_a_home_that_is_a_file(proctor: Proctor, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    done = proctor(*command, PROCTOR_HOME=str(tmp_path / "file"))
    assert done.returncode == 2 and "home is not a directory" in done.stderr and "Traceback" not in done.stderr


def test_a_home_inside_a_file(proctor: Proctor, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = proctor("runs", PROCTOR_HOME=str(tmp_path / "file" / "home"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"proctor: {tmp_path / 'file'}: Proctor's home would be inside a file\n")


def test_a_home_with_a_name_that_is_too_long(proctor: Proctor, tmp_path: Path) -> None:
    done = proctor("runs", PROCTOR_HOME=str(tmp_path / ("a" * 300)))
    assert done.returncode == 2 and "cannot be used as Proctor's home: File name too long" in done.stderr


def test_an_empty_list_of_runs_names_the_place(proctor: Proctor, tmp_path: Path) -> None:
    for options, words in (((), "there are no runs"), (("--status", "failure"), "no run matches")):
        done = proctor("runs", *options)
        assert done.returncode == 0 and done.stderr == f"proctor: {tmp_path / 'home' / 'runs'}: {words}\n"


def test_a_home_whose_runs_are_a_file(proctor: Proctor, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "runs").write_text("")
    for command in (("runs",), ("show", "last")):
        done = proctor(*command, PROCTOR_HOME=str(tmp_path / "home"))
        assert done.returncode == 2
        assert done.stderr.startswith(f"proctor: {tmp_path / 'home' / 'runs'}: the runs cannot be listed: Not a dir")
        assert "set PROCTOR_HOME" in done.stderr


def test_a_contract_where_nothing_can_be_written(proctor: Proctor) -> None:
    done = proctor("init", "/proc/greeting")
    assert done.returncode == 2 and "/proc/greeting/contract.yaml: cannot be written" in done.stderr


@pytest.mark.parametrize(
    "options", [("--why", " "), ("--why", "x", "--code", ""), ("--why", "x", "--code", "two words")]
)
def test_a_decision_without_a_reason_or_with_a_bad_code(proctor: Proctor, options: tuple[str, ...]) -> None:
    done = proctor("decide", "last", "approve", *options)
    assert done.returncode == 2 and options[-2] in done.stderr, done.stderr


STEERING = "\x1b]0;stolen\x07"
"""Sets the title of a terminal."""


@pytest.mark.parametrize(
    "arguments", [("lint", STEERING), ("show", f"{STEERING}/contract.yaml"), ("run", STEERING, "--agent", "noop")]
)
def test_no_message_steers_the_terminal(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    (tmp_path / STEERING).mkdir()
    monkeypatch.chdir(tmp_path)
    assert run_command(arguments) == 2
    assert "?]0;stolen?" in (err := capfd.readouterr().err) and "\x1b" not in err


def test_no_error_of_a_run_steers_the_terminal(
    make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    contract = make_contract(setup=[{"run": ["/bin/false"]}])
    hostile = contract.rename(contract.with_name(STEERING))
    for arguments in (("run", str(hostile), "--agent", "noop"), ("validate", str(hostile))):
        assert run_command(arguments) == 2
        assert "?]0;stolen?" in (err := capfd.readouterr().err) and "\x1b" not in err


@pytest.mark.parametrize("command", ["show", "verify", "trace"])
def test_a_name_longer_than_a_file_name_can_be_is_wrong_usage(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    assert run_command([command, "x" * 300]) == 2
    assert "there is no run 'xxx" in capsys.readouterr().err
