"""Good contracts come out whole; what is no contract at all is one clear mistake."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.dataclass_fields import field_items
from proctor.base.errors import ContractError
from proctor.contract.digest import content_id, from_resolved, resolved
from proctor.contract.load import load_contract
from proctor.contract.model import (
    ArchiveRepository,
    Ask,
    Budget,
    Check,
    Checkpoints,
    Contract,
    Dependencies,
    Environment,
    GitRepository,
    Hidden,
    InputFile,
    NamedFile,
    Network,
    Policy,
    Reference,
    Rerun,
    Rollback,
    Score,
    Sentinel,
    SetupStep,
    Source,
    Stages,
    Submodule,
    Targets,
    TextRules,
)

A, B, C = "a" * 64, "b" * 64, "c" * 64
Writer = Callable[..., Path]


def test_every_field_arrives(full: Path) -> None:
    contract = load_contract(full)
    assert (contract.name, contract.title, contract.kind) == ("parse-spaces", "Parse spaces", "bug-fix")
    assert contract.directory == full
    assert contract.strata == {"language": "python"}
    assert contract.assumptions == ("Only spaces matter",)
    assert contract.task.issue.path == "issue.md"
    assert contract.task.issue_text.startswith("# Spaces are lost")
    assert contract.task.targets == Targets(("parse.py",), ("parse.parse",), "Spaces are kept")
    assert contract.task.hints == ("Run the tests with pytest",)
    assert contract.task.ambiguities == ("Tabs",)
    repository = contract.repository
    assert repository == ArchiveRepository(Source("pypi", "parse==1.22.2", (InputFile("parse-1.22.2.tar.gz", A),)), 1)
    assert contract.environment.variables == {"PYTHONPATH": "/setup/site"}
    assert contract.environment.files[0].to == "/etc/tool.cfg"
    assert contract.environment.files[0].file.path == "tool.cfg"
    assert (contract.environment.root, contract.environment.seed) == (f"sha256:{C}", 7)
    assert contract.environment.require == ("cgroup",)
    limits = (900, 300, 1 << 30, 64, 1 << 20, 2 << 20, 65536)
    assert contract.budget == Budget(*limits, "2.50", 1_000_000, 100, 10, 0, 1200, 4 << 20, 1000)
    assert contract.policy == Policy(
        Network(("example.org:443", "*.example.org:8443"), "pages"),
        ("src/**", "parse.py"),
        ("tests/**",),
        ("LICENSE",),
        ("**/*.pyc",),
        ("conftest.py",),
        3,
        100,
        Stages("requested", "write", ("make check*",)),
        ("git push", "curl*"),
        ("trace", "bpf"),
        Dependencies("declare", ("example.org",)),
        True,
        "files",
        TextRules(("privilege-sudo",)),
        (Ask(("network", "write-outside"), 60, "deny"), Ask(("syscall-io_uring",))),
        Checkpoints(10, 60, 4, 1 << 20),
        (Rollback(("forbidden-command",), "end"), Rollback(("patch-oscillation",))),
        {"dns": "alert", "signal": "violation", "words-*": "notice"},
    )
    assert contract.setup == (
        SetupStep(("/bin/sh", "-eu", "-c", "cp -r /inputs /setup/site"), timeout_seconds=60),
        SetupStep(("make", "all"), "/workspace/sub", 600, "after_patch"),
    )
    assert contract.reference == Reference(None, "fixed", ("parse.py",), 1, "lib")
    assert contract.score == Score("0.02", "0.5", "0.25", "0.25", ("compiles",))


def test_inputs_are_named_and_pinned(full: Path) -> None:
    inputs = {one.name: one for one in load_contract(full).inputs}
    assert list(inputs) == ["fixed", "tools", "scope-left-pad", "cjson", "data"]
    assert inputs["fixed"].audience == "judge"
    assert inputs["tools"].audience == "setup"
    assert inputs["tools"].with_dependencies
    assert [file.name for file in inputs["tools"].source.files] == [
        "iniconfig-2.1.0-py3-none-any.whl",
        "pytest-8.4.2-py3-none-any.whl",
    ]
    assert inputs["scope-left-pad"].source.files == (InputFile("left-pad-1.3.0.tgz", B),)
    assert inputs["data"].source == Source("archive", "data.tar.gz", (InputFile("data.tar.gz", C),))


def test_checks_arrive_in_order(full: Path) -> None:
    compiles, style, tests, taps = load_contract(full).checks
    assert compiles.run == ("/bin/sh", "-eu", "-c", "python3 -m compileall -q .")
    assert not compiles.mandatory
    assert style.no_op and style.run == ("/bin/true",)
    assert tests.run == ("python3", "-m", "pytest", "-q")
    assert (tests.layer, tests.directory, tests.timeout_seconds) == ("unit", "/workspace/tests", 120)
    assert tests.must_pass == ("tests/test_parse.py::test_a",) and tests.must_pass_file is None
    assert tests.keep_passing == ("tests/test_parse.py::test_b", "tests/test_parse.py::test_c[a b]")
    assert tests.keep_passing_file is not None and tests.keep_passing_file.path == "keep.txt"
    assert tests.hidden[0] == Hidden("fixed", "", (), ("tests/**",), 1, "tests")
    assert tests.hidden[1].directory == "hidden"
    assert [file.path for file in tests.hidden[1].files] == ["hidden/data/names.txt", "hidden/test_extra.py"]
    assert tests.variables == {"COLUMNS": "80"}
    assert tests.rerun == Rerun(3, "majority")
    assert taps.results_file == "out.tap"
    assert isinstance(taps.sentinel, Sentinel)
    assert taps.sentinel.template == ". ../lib.sh\nok - {passing}\nnot ok - {failing}\n"
    assert isinstance(taps.sentinel.template_file, NamedFile)
    assert (taps.sentinel.at, taps.sentinel.arguments) == ("t/{name}.t", ("{path}",))


def test_what_is_left_out_has_the_defaults_of_the_model(tmp_path: Path, writer: Writer, minimal_text: str) -> None:
    contract = load_contract(writer(tmp_path / "c", minimal_text))
    given = {"directory", "name", "title", "kind", "task", "repository", "checks"}
    bare = Contract(**{name: value for name, value in field_items(contract) if name in given})
    assert contract == bare
    assert contract.environment == Environment()
    check = contract.checks[0]
    assert check == Check(check.id, check.gate, check.run)


def test_a_git_repository_with_submodules(tmp_path: Path, writer: Writer, minimal_text: str) -> None:
    commit, other = "1" * 39 + "a", "2" * 39 + "b"
    archive = f"{{archive: data.tar.gz, sha256: {A}}}"
    git = (
        f"{{git: ../project, commit: {commit}, submodules: "
        f"{{z/y: {{git: 'https://example.org/y.git', commit: {other}}}, "
        f"a: {{git: 'git@example.org:a.git', commit: {other}}}}}}}"
    )
    (tmp_path / "project").mkdir()
    contract = load_contract(writer(tmp_path / "c", minimal_text.replace(archive, git)))
    assert contract.repository == GitRepository(
        "../project",
        commit,
        (Submodule("a", "git@example.org:a.git", other), Submodule("z/y", "https://example.org/y.git", other)),
    )


def test_hidden_paths_are_part_of_what_a_contract_means(tmp_path: Path, writer: Writer, minimal_text: str) -> None:
    text = f"{minimal_text}\nenvironment: {{sandbox: image, image: sha256:{A}@}}\n"
    plain = load_contract(writer(tmp_path / "plain", text.replace("@", "")))
    hiding = load_contract(writer(tmp_path / "hiding", text.replace("@", ", hide: [/testbed/.git, '/**/*.orig']")))
    assert plain.environment.hide == () and hiding.environment.hide == ("/testbed/.git", "/**/*.orig")
    assert "hide" not in resolved(plain)["environment"], "contracts without it keep their content id"
    assert content_id(plain) != content_id(hiding)
    assert from_resolved(resolved(hiding), hiding.directory) == hiding


@pytest.mark.parametrize("image", [f"sha256:{A}", f"[sha256:{A}, sha256:{B}]"])
def test_an_image_is_one_layer_or_several(tmp_path: Path, writer: Writer, minimal_text: str, image: str) -> None:
    text = f"{minimal_text}\nenvironment: {{sandbox: image, image: {image}}}\n"
    environment = load_contract(writer(tmp_path / "c", text)).environment
    assert environment.sandbox == "image" and environment.image == tuple(image.strip("[]").split(", "))


def test_the_file_itself_and_a_link_to_the_directory_will_do(tmp_path: Path, full: Path) -> None:
    (tmp_path / "link").symlink_to(full)
    assert load_contract(full / "contract.yaml") == load_contract(full)
    assert load_contract(tmp_path / "link").name == "parse-spaces"


def test_a_relative_path_gives_an_absolute_directory(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(full)
    assert load_contract(Path("contract.yaml")).directory == full
    assert load_contract(Path()).directory == full


def test_text_in_another_language_and_odd_characters(tmp_path: Path, writer: Writer, minimal_text: str) -> None:
    text = minimal_text.replace("title: Small", 'title: "Größe: 🙂 \\u00e9\\t"')
    assert load_contract(writer(tmp_path / "c", text)).title == "Größe: 🙂 é\t"


def test_an_inline_sentinel(tmp_path: Path, writer: Writer, full_text: str) -> None:
    text = full_text.replace("template: sentinel.txt", 'template: "test {passing} {failing}"')
    sentinel = load_contract(writer(tmp_path / "c", text)).checks[3].sentinel
    assert sentinel is not None
    assert sentinel.template == "test {passing} {failing}" and sentinel.template_file is None


def test_unpinned_sources_are_allowed_for_locking_only(tmp_path: Path, writer: Writer, full_text: str) -> None:
    directory = writer(tmp_path / "c", full_text)
    (directory / "contract.lock").write_text("not a lock")
    contract = load_contract(directory, allow_unpinned=True)
    assert [one.source.files for one in contract.inputs if one.name == "tools"] == [()]
    (directory / "contract.lock").unlink()
    with pytest.raises(ContractError, match="proctor lock"):
        load_contract(directory)


def one_mistake(path: Path) -> str:
    with pytest.raises(ContractError) as caught:
        load_contract(path)
    assert len(caught.value.mistakes) == 1, str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"\x7fELF\x00\x01", "binary file"),
        (b"title: \xff\xfe\n", "not UTF-8"),
        (b"[" * 100_000, "nested more than"),
        (b"a: " + b"{a: " * 5_000, "nested more than"),
        (b"- a\n- b\n", "expected a map"),
        (b"just text\n", "expected a map"),
        (b"a: [1, 2\n", "not valid YAML"),
        (b"a: 1\x0b\n", "control characters"),
    ],
)
def test_what_is_no_contract_is_one_mistake(tmp_path: Path, writer: Writer, data: bytes, words: str) -> None:
    assert words in one_mistake(writer(tmp_path / "c", data))


def test_a_missing_contract(tmp_path: Path) -> None:
    assert "there is no contract.yaml in this directory" in one_mistake(tmp_path)
    assert "does not exist" in one_mistake(tmp_path / "absent")
    assert "does not exist" in one_mistake(tmp_path / "absent" / "contract.yaml")


def test_a_directory_called_contract_yaml(tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").mkdir()
    assert "directory" in one_mistake(tmp_path)


def test_a_fifo_called_contract_yaml(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "contract.yaml")
    assert "not a regular file" in one_mistake(tmp_path)


def test_a_giant_file_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "contract.yaml", "wb") as file:
        file.truncate(100 << 20)
    assert "larger than 1048576 bytes" in one_mistake(tmp_path)


def test_a_dangling_link_called_contract_yaml(tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").symlink_to("nowhere")
    assert "there is no contract.yaml" in one_mistake(tmp_path)


def test_a_file_full_of_mistakes_ends_early(tmp_path: Path, writer: Writer) -> None:
    text = "".join(f"key{number}: 1\n" for number in range(20_000))
    with pytest.raises(ContractError) as caught:
        load_contract(writer(tmp_path / "c", text))
    assert len(caught.value.mistakes) == 501
    assert "too many mistakes" in caught.value.mistakes[-1].message
