"""Named files stay inside the contract, within their limits, and are what they seem to be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import ContractError
from proctor.base.files import read_bounded
from proctor.contract import named_files
from proctor.contract.load import load_contract

Writer = Callable[..., Path]


def told(directory: Path) -> str:
    """The one mistake in the contract."""
    with pytest.raises(ContractError) as caught:
        load_contract(directory)
    assert len(caught.value.mistakes) == 1, str(caught.value)
    return str(caught.value)


def test_a_link_out_of_the_contract(tmp_path: Path, full: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (full / "issue.md").unlink()
    (full / "issue.md").symlink_to(tmp_path / "secret")
    assert "'issue.md' is outside of the contract's directory" in told(full)


def test_a_directory_that_is_a_link_out_of_the_contract(tmp_path: Path, full: Path) -> None:
    (full / "hidden").rename(tmp_path / "outside")
    (full / "hidden").symlink_to("../outside")
    assert "'hidden' is outside of the contract's directory" in told(full)


def test_a_sibling_whose_name_begins_alike(tmp_path: Path, full: Path) -> None:
    (tmp_path / "full-secret").write_text("secret")
    (full / "tool.cfg").unlink()
    (full / "tool.cfg").symlink_to("../full-secret")
    assert "is outside" in told(full)


def test_a_link_inside_the_contract_is_followed(full: Path) -> None:
    before = load_contract(full).task
    (full / "issue.md").rename(full / "text.md")
    (full / "issue.md").symlink_to("text.md")
    assert load_contract(full).task == before


@pytest.mark.parametrize("target", ["issue.md", "nowhere"])
def test_a_link_that_leads_nowhere(full: Path, target: str) -> None:
    (full / "issue.md").unlink()
    (full / "issue.md").symlink_to(target)
    assert "does not exist" in told(full)


def test_a_fifo_does_not_block(full: Path) -> None:
    (full / "issue.md").unlink()
    os.mkfifo(full / "issue.md")
    assert "not a regular file" in told(full)


def test_an_empty_issue(full: Path) -> None:
    (full / "issue.md").write_text(" \n")
    assert "'issue.md' is empty" in told(full)


def test_an_issue_that_is_not_text(full: Path) -> None:
    (full / "issue.md").write_bytes(b"ok\nnot ok \xff\n")
    assert "'issue.md' is not UTF-8 text (line 2)" in told(full)
    (full / "issue.md").write_bytes(b"a\0b")
    assert "zero byte" in told(full)


@pytest.mark.parametrize(
    ("name", "limit"),
    [("issue.md", 1 << 20), ("keep.txt", 10 << 20), ("tool.cfg", 16 << 20), ("sentinel.txt", 1 << 20)],
)
def test_a_file_over_its_limit(full: Path, name: str, limit: int) -> None:
    with open(full / name, "ab") as file:
        file.truncate(limit + 1)
    assert f"{name!r} is larger than {limit} bytes" in told(full)


def test_an_issue_at_its_limit(full: Path) -> None:
    (full / "issue.md").write_bytes(b"x" * (1 << 20))
    assert len(load_contract(full).task.issue_text) == 1 << 20


def test_a_file_that_cannot_be_read(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, limit_bytes: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(named_files, "read_bounded", refuse)
    with pytest.raises(ContractError, match=r"cannot read 'keep\.txt': Permission denied"):
        load_contract(full)


def test_an_id_given_twice_in_a_file(full: Path) -> None:
    (full / "keep.txt").write_text("one\ntwo\n# one\none \n")
    assert told(full) == f"{full}/keep.txt:4:1: 'one' is given twice (first given in line 1)"


def test_windows_line_ends_in_a_list_of_ids(full: Path) -> None:
    (full / "keep.txt").write_bytes(b"one\r\ntwo\r\n")
    assert load_contract(full).checks[2].keep_passing == ("one", "two")


def test_an_empty_hidden_directory(full: Path) -> None:
    for path in ("hidden/test_extra.py", "hidden/data/names.txt"):
        (full / path).unlink()
    assert "the directory 'hidden' holds no files" in told(full)


def test_a_hidden_file_name_that_is_not_utf8(full: Path) -> None:
    (full / "hidden" / os.fsdecode(b"caf\xe9.py")).write_text("")
    assert "not UTF-8: caf\\xe9.py" in told(full)


def test_a_link_among_hidden_files(full: Path) -> None:
    (full / "hidden/link.py").symlink_to("test_extra.py")
    assert "'hidden/link.py' is a link" in told(full)


def test_a_fifo_among_hidden_files(full: Path) -> None:
    os.mkfifo(full / "hidden/pipe")
    assert "'hidden/pipe' is not a plain file" in told(full)


def test_too_many_hidden_files(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_files.DIRECTORY_FILES == 10_000
    monkeypatch.setattr(named_files, "DIRECTORY_FILES", 2)
    load_contract(full)
    (full / "hidden/more.py").write_text("")
    assert "holds more than 2 files" in told(full)


def test_too_many_hidden_bytes(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_files.DIRECTORY_BYTES == 256 << 20
    monkeypatch.setattr(named_files, "DIRECTORY_BYTES", 64)
    load_contract(full)
    (full / "hidden/more.py").write_bytes(b"x" * 65)
    assert "hold more than 64 bytes" in told(full)


def test_hidden_directories_nested_without_end(full: Path) -> None:
    deep = full / "hidden" / "/".join("d" * 70)
    deep.mkdir(parents=True)
    assert "nested more than 64 levels deep" in told(full)


def test_hidden_files_with_odd_names(full: Path) -> None:
    for name in ("new\nline.py", "-dash.py", "sp ace.py", 'quo"te.py', "back\\slash.py", "ünïcode.py"):
        (full / "hidden" / name).write_text("")
    files = load_contract(full).checks[2].hidden[1].files
    assert "hidden/new\nline.py" in [file.path for file in files]
    assert [file.path for file in files] == sorted(file.path for file in files)


def test_a_file_named_twice_is_read_once(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (full / "contract.yaml").read_text()
    (full / "contract.yaml").write_text(text.replace("file: must.txt", "file: keep.txt"))
    read: list[str] = []

    def counting(path: Path, limit_bytes: int) -> bytes:
        read.append(path.name)
        return read_bounded(path, limit_bytes)

    monkeypatch.setattr(named_files, "read_bounded", counting)
    load_contract(full)
    assert read.count("keep.txt") == 1
