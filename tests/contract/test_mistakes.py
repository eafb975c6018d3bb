"""A table of named mistakes. Each changes one place of a good contract; ``@@`` marks where the mistake must be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import jsonschema
import pytest

from proctor.base.errors import ContractError
from proctor.contract.load import load_contract
from proctor.contract.schema import json_schema
from proctor.contract.strict_yaml import load_yaml

A = "a" * 64
Writer = Callable[..., Path]
VALIDATOR = jsonschema.Draft202012Validator(json_schema())

# name: (text in the full contract, what replaces it, words of the message)
BY_SHAPE = {
    "an unknown key at the top": ("score:\n", "@@scores: 1\nscore:\n", "did you mean 'score'?"),
    "an unknown key that resembles nothing": ("score:\n", "@@zzzzzz: 1\nscore:\n", "known: schema, contract"),
    "an unknown key in a part": ("  hints: [", "  @@hint: x\n  hints: [", "did you mean 'hints'?"),
    "an unknown key in a list of maps": (
        "    gate: build",
        "    gate: build\n    @@retries: 3",
        "unknown key 'retries'",
    ),
    "a missing key": ("  issue: issue.md\n  hints", "  @@hints", "the key 'issue' is missing"),
    "a missing command": ("    run: make tap\n", "", "the key 'run' is missing"),
    "another version of the form": ("schema: 1\n", "schema: @@2\n", "expected 1, not 2"),
    "a list where text belongs": ("title: Parse spaces", "title: @@[Parse]", "expected text, not a list"),
    "a number where text belongs": ("title: Parse spaces", "title: @@1.10", 'quote it to make it text: "1.10"'),
    "a flag where text belongs": ("title: Parse spaces", "title: @@true", "expected text, not true"),
    "nothing where text belongs": ("title: Parse spaces", "title:@@", "expected text, not nothing"),
    "empty text": ("title: Parse spaces", "title: @@''", "not empty text"),
    "a zero byte": ("title: Parse spaces", 'title: @@"a\\0b"', "expected text"),
    "text where a list belongs": ("hints: [Run the tests with pytest]", "hints: @@pytest", "expected a list, not text"),
    "nothing where a list belongs": ("hints: [Run the tests with pytest]", "hints:@@", "write [] for none"),
    "a list where a map belongs": ("strata: {language: python}", "strata: @@[python]", "expected a map, not a list"),
    "text where a shape belongs": ("rerun: {times: 3, decide: majority}", "rerun: @@3x", "expected a map of rerun's"),
    "text where a flag belongs": ("mandatory: false", "mandatory: @@'no'", "expected true or false, not text"),
    "a word of YAML 1.1 where a flag belongs": ("mandatory: false", "mandatory: @@no", "expected true or false"),
    "a number with a unit": ("memory_bytes: 1073741824", "memory_bytes: @@4GiB", "without a unit"),
    "a fraction where a whole number belongs": ("seed: 7", "seed: @@7.5", "expected a whole number, not 7.5"),
    "a negative limit": ("wall_seconds: 900", "wall_seconds: @@-1", "-1 is too small (at least 1)"),
    "a limit of zero": ("wall_seconds: 900", "wall_seconds: @@0", "0 is too small"),
    "a giant number": ("tmp_bytes: 2097152", "tmp_bytes: @@" + "9" * 30, "is too large"),
    "a negative budget of changes": ("max_changed_files: 3", "max_changed_files: @@-3", "-3 is too small"),
    "a name with a space": ("name: parse-spaces", "name: @@parse spaces", "expected a name"),
    "a name with a newline": ("name: parse-spaces", 'name: @@"parse\\n"', "expected a name"),
    "an unknown kind": ("kind: bug-fix", "kind: @@bugfix", "did you mean 'bug-fix'?"),
    "an unknown gate": ("gate: static", "gate: @@lint", "is not one of build, static, acceptance"),
    "an unknown layer": ("layer: unit", "layer: @@units", "did you mean 'unit'?"),
    "an unknown format of results": ("results: tap\n", "results: @@xunit\n", "is not one of exit-code"),
    "an unknown rule of decision": ("decide: majority", "decide: @@most", "is not one of all"),
    "an unknown requirement": ("require: [cgroup]", "require: [@@cgroups]", "did you mean 'cgroup'?"),
    "a requirement twice": ("require: [cgroup]", "require: [cgroup, @@cgroup]", "is given twice"),
    "an open network": ("network: none", "network: @@all", "is not one of none"),
    "an image without its layers": ("sandbox: host", "sandbox: image", "needed with sandbox: image"),
    "an image by a name": (
        "sandbox: host",
        "sandbox: image\n  image: @@base:latest",
        "expected sha256: and 64 lower-case",
    ),
    "an image of no layers": ("sandbox: host", "sandbox: image\n  image: @@[]", "must not be empty"),
    "a hidden path without an image": (
        "sandbox: host",
        "sandbox: host\n  hide: @@[/testbed/.git]",
        "'hide' makes no sense with sandbox: host",
    ),
    "a hidden path of the sandbox itself": (
        "sandbox: host",
        f"sandbox: image\n  image: sha256:{A}\n  hide: [/opt/x, @@/workspace/tests]",
        "outside the sandbox's own directories",
    ),
    "a hidden path that is relative": (
        "sandbox: host",
        f"sandbox: image\n  image: sha256:{A}\n  hide: [@@testbed/.git]",
        "an absolute path or glob in the image",
    ),
    "a hidden path that climbs": (
        "sandbox: host",
        f"sandbox: image\n  image: sha256:{A}\n  hide: [@@/opt/../etc]",
        "an absolute path or glob in the image",
    ),
    "a hidden path twice": (
        "sandbox: host",
        f"sandbox: image\n  image: sha256:{A}\n  hide: [/opt/x, @@/opt/x]",
        "is given twice",
    ),
    "an image for the host": (
        "sandbox: host",
        f"sandbox: host\n  image: @@sha256:{A}",
        "'image' makes no sense with sandbox: host",
    ),
    "a bad variable": ("{COLUMNS: ", "{@@2COLUMNS: ", "a variable's name"),
    "a variable of the harness": ("{COLUMNS: ", "{@@PROCTOR_RESULTS: ", "PROCTOR_… is the harness's own"),
    "a number as a variable": ('{COLUMNS: "80"}', "{COLUMNS: @@80}", 'quote it to make it text: "80"'),
    "a short digest": (f"sha256: {A}, strip: 1", "sha256: @@abc, strip: 1", "expected a SHA-256 digest"),
    "a digest in capitals": (f"sha256: {A}, strip: 1", f"sha256: @@{A.upper()}, strip: 1", "lower-case"),
    "a file without its digest": (
        f"file: parse-1.22.2.tar.gz, sha256: {A}",
        "file: x.tar.gz",
        "file and sha256 go together",
    ),
    "a digest without its file": (
        f"file: parse-1.22.2.tar.gz, sha256: {A}",
        f"sha256: {A}",
        "file and sha256 go together",
    ),
    "a package without a version": ('"parse==1.22.2"', '@@"parse"', "expected name==version"),
    "a package that is an option": ('"parse==1.22.2"', '@@"--parse==1.22.2"', "expected name==version"),
    "a range of versions": ('"parse==1.22.2"', '@@"parse>=1.22.2"', "expected name==version"),
    "an npm package by tag": ("@scope/left-pad@1.3.0", "@scope/left-pad@latest", "expected name@version"),
    "a file pinned with dependencies": (
        "with_dependencies: true}",
        f"with_dependencies: true, file: @@x.whl, sha256: {A}}}",
        "'file' makes no sense with with_dependencies: true",
    ),
    "two sources at once": ("npm: ", "pypi: x==1, npm: ", "only one of pypi, npm may be given"),
    "no source": ("deb: ", "debian: ", "one of archive, pypi, npm, deb is missing"),
    "a repository of no kind": ("repository: {pypi: ", "repository: @@{pypy: ", "did you mean 'pypi'?"),
    "a repository that is text": ("repository: {pypi", "repository: @@parse\nunused: {pypi", "expected a map"),
    "an unknown audience": ("for: judge", "for: @@judges", "did you mean 'judge'?"),
    "a negative strip": ("strip: 1}\nenvironment", "strip: @@-1}\nenvironment", "-1 is too small"),
    "an issue above the contract": (
        "issue: issue.md",
        "issue: @@../issue.md",
        "a path inside the contract's directory",
    ),
    "an issue at an absolute path": (
        "issue: issue.md",
        "issue: @@/etc/passwd",
        "a path inside the contract's directory",
    ),
    "a path with an empty step": ("issue: issue.md", "issue: @@a//issue.md", "a path inside the contract's directory"),
    "a placed file at a relative path": ("to: /etc/tool.cfg", "to: @@etc/tool.cfg", "expected an absolute path"),
    "a placed file in the tree": ("to: /etc/tool.cfg", "to: @@/workspace/tool.cfg", "outside /workspace"),
    "a placed file over the tree": ("to: /etc/tool.cfg", "to: @@/workspace", "outside /workspace"),
    "a placed file that climbs": ("to: /etc/tool.cfg", "to: @@/etc/../workspace/x", "outside /workspace"),
    "a placed file in the inputs": ("to: /etc/tool.cfg", "to: @@/inputs/x", "outside /workspace"),
    "a placed file at the root": ("to: /etc/tool.cfg", "to: @@/", "outside /workspace"),
    "a relative directory": ("directory: /workspace/sub", "directory: @@sub", "expected an absolute path"),
    "a directory that climbs": (
        "directory: /workspace/sub",
        "directory: @@/workspace/../etc",
        "expected an absolute path",
    ),
    "an empty list of arguments": ("run: [make, all]", "run: @@[]", "must not be empty"),
    "a command that is a map": ("run: [make, all]", "run: @@{make: all}", "expected a command"),
    "an unknown time to repeat": ("repeat: after_patch", "repeat: @@always", "is not one of once, after_patch"),
    "a glob at the root": ('protected: ["tests/**"]', 'protected: [@@"/tests/**"]', "expected a glob"),
    "a glob that climbs": ('protected: ["tests/**"]', 'protected: [@@"../tests/**"]', "expected a glob"),
    "a glob with glued stars": ('protected: ["tests/**"]', 'protected: [@@"tests**"]', "expected a glob"),
    "a glob with an open bracket": ('protected: ["tests/**"]', 'protected: [@@"test[s"]', "expected a glob"),
    "an empty glob": ('protected: ["tests/**"]', 'protected: [@@""]', "not empty text"),
    "a glob twice": ('protected: ["tests/**"]', "protected: [x, @@x]", "is given twice"),
    "no checks": ("checks:\n", "checks: @@[]\nunused:\n", "must not be empty"),
    "results in a file without its name": ("    results_file: out.tap\n", "", "the key 'results_file' is missing"),
    "a results file with slashes": (
        "results_file: out.tap",
        "results_file: @@../out.tap",
        "a file name without slashes",
    ),
    "a results file for pytest": (
        "results: pytest",
        "results: pytest\n    results_file: @@x.xml",
        "'results_file' makes no sense with results: pytest",
    ),
    "ids with an exit code": (
        "run: python3 -m compileall -q .",
        "run: x\n    must_pass: @@[a]",
        "'must_pass' makes no sense with results: exit-code",
    ),
    "ids to keep with an exit code": (
        "run: python3 -m compileall -q .",
        "run: x\n    keep_passing: @@[a]",
        "'keep_passing' makes no sense with results: exit-code",
    ),
    "an id twice": ('["tests/test_parse.py::test_a"]', "[a, @@a]", "is given twice"),
    "ids that are text": ('["tests/test_parse.py::test_a"]', "@@a", "a list of test ids, or {file: name}"),
    "an empty gate with a command": ("no_op: true}", "no_op: true, run: @@x}", "'run' makes no sense with no_op: true"),
    "too many reruns": ("times: 3", "times: @@1000", "at most 100"),
    "a negative weight": ("trace: 0.25", "trace: @@-0.25", "-0.25 is negative"),
    "a weight that is a word": ("trace: 0.25", "trace: @@half", "not a decimal number"),
    "a weight with too many digits": ("trace: 0.25", "trace: @@'0.2500000000000001'", "not a decimal number"),
    "a reference of two kinds": ("reference: {", "reference: @@{patch: fix.patch, ", "only one of patch, from"),
    "a reference of no kind": ("reference: {from: fixed, ", "reference: @@{", "one of patch, from is missing"),
    "a target above the tree": ("to: lib}", "to: @@../lib}", "a path inside the tree"),
    "a git address that runs a program": (
        f'{{pypi: "parse==1.22.2", file: parse-1.22.2.tar.gz, sha256: {A}, strip: 1}}',
        f"{{git: @@'ext::sh -c id', commit: {'1' * 39}a}}",
        "a path or an address of a git repository",
    ),
    "a branch instead of a commit": (
        f'{{pypi: "parse==1.22.2", file: parse-1.22.2.tar.gz, sha256: {A}, strip: 1}}',
        "{git: 'https://example.org/x.git', commit: @@main}",
        "a full commit id",
    ),
}

BY_MEANING = {
    "a missing issue": ("issue: issue.md", "issue: @@absent.md", "'absent.md' does not exist"),
    "a directory as the issue": ("issue: issue.md", "issue: @@hidden", "hidden"),
    "a missing placed file": ("from: tool.cfg", "from: @@absent.cfg", "does not exist"),
    "a missing archive": ("archive: data.tar.gz", "archive: @@absent.tar.gz", "does not exist"),
    "an archive that is a directory": ("archive: data.tar.gz", "archive: @@hidden", "is not a plain file"),
    "an address without a file name": (
        "archive: data.tar.gz",
        "archive: @@'https://example.org/'",
        "does not end in a",
    ),
    "a missing list of ids": ("{file: keep.txt}", "{file: @@absent.txt}", "does not exist"),
    "a list of no ids": ("{file: keep.txt}", "{file: @@empty.txt}", "lists no test ids"),
    "a list of ids that is binary": ("{file: keep.txt}", "{file: @@binary}", "not UTF-8"),
    "an unpinned input": ('"pytest==8.4.2"', '@@"mypy==1.0"', "run proctor lock"),
    "two inputs with one file": (
        "file: cjson_1.7.15.orig.tar.gz",
        "file: left-pad-1.3.0.tgz",
        "a different file called 'left-pad-1.3.0.tgz'",
    ),
    "two checks of one id": ("- id: taps", "- id: @@tests", "a second check called 'tests'"),
    "two inputs of one name": ("name: tools", "name: @@fixed", "a second input called 'fixed'"),
    "hidden from an unknown input": (
        '{from: fixed, paths: ["tests',
        '{from: @@fixd, paths: ["tests',
        "did you mean 'fixed'?",
    ),
    "hidden from an input that setup sees": ("{from: hidden}", "{from: @@cjson}", "mark it 'for: judge'"),
    "hidden from an input that is also a directory": ("name: fixed,", "name: hidden,", "is an input and a directory"),
    "a reference from an unknown input": (
        "reference: {from: fixed",
        "reference: {from: @@fixde",
        "did you mean 'fixed'?",
    ),
    "a reference from an input that setup sees": ("reference: {from: fixed", "reference: {from: @@cjson", "for: judge"),
    "a missing patch": (
        "reference: {from: fixed, paths: [parse.py], strip: 1, to: lib}",
        "reference: {patch: @@absent.patch}",
        "does not exist",
    ),
    "weights that do not sum to 1": (
        "weights: {minimality: 0.5",
        "weights: @@{minimality: 0.6",
        "the weights 0.6 + 0.25 + 0.25 do not sum to 1",
    ),
    "maintainability by an unknown check": ("[compiles]", "[@@compile]", "did you mean 'compiles'?"),
    "maintainability by nothing": ("maintainability: [compiles]", "maintainability: []", "no checks measure it"),
    "one id to pass and to keep": (
        '["tests/test_parse.py::test_a"]\n    keep_passing: {file: keep.txt}',
        "[a, b]\n    keep_passing: @@[b]",
        "'b' is in must_pass and in keep_passing",
    ),
    "a majority of one": ("{times: 3, decide: majority}", "@@{decide: majority}", "needs more than one attempt"),
    "an acceptance gate that is empty": (
        "{id: style, gate: static, no_op: true}",
        "{id: style, gate: acceptance, no_op: @@true}",
        "cannot be empty",
    ),
    "a sentinel without its names": ("template: sentinel.txt", "template: @@tool.cfg", "does not contain {passing}"),
    "a sentinel at a fixed path": ('at: "t/{name}.t"', "at: @@t/x.t", "does not contain {name}"),
    "a sentinel that cannot be told": (
        'failing_id: "{path} {failing}"',
        'failing_id: @@"{path} {passing}"',
        "are the same",
    ),
    "two files at one place": (
        "files: [{from: tool.cfg, to: /etc/tool.cfg}]",
        "files: [{from: tool.cfg, to: /etc/x}, {from: tool.cfg, to: @@/etc/x}]",
        "overlap",
    ),
    "a file below a file": (
        "files: [{from: tool.cfg, to: /etc/tool.cfg}]",
        "files: [{from: tool.cfg, to: /etc/x/y}, {from: tool.cfg, to: @@/etc/x}]",
        "overlap",
    ),
    "a git path that is not there": (
        f'{{pypi: "parse==1.22.2", file: parse-1.22.2.tar.gz, sha256: {A}, strip: 1}}',
        f"{{git: @@../absent, commit: {'1' * 39}a}}",
        "is not a directory",
    ),
}

BY_YAML = {
    "a duplicate key": ("  title: Parse spaces", "  title: One\n  @@title: Two", "duplicate key 'title'"),
    "an anchor": ("title: Parse spaces", "title: @@&a Parse", "anchors are not allowed"),
    "an alias": ("title: Parse spaces", "title: @@*a", "aliases are not allowed"),
    "a tag": ("title: Parse spaces", "title: @@!!str Parse", "tags are not allowed"),
    "a tag that makes objects": ("title: Parse spaces", "title: @@!!python/name:os.system x", "tags are not allowed"),
    "a merge key": ("strata: {language: python}", "strata: {@@<<: {language: python}}", "expected a key"),
    "an octal number": ("seed: 7", "seed: @@010", "not a plain decimal"),
    "a hexadecimal number": ("seed: 7", "seed: @@0x10", "not a plain decimal"),
    "a number with a plus": ("seed: 7", "seed: @@+7", "not a plain decimal"),
    "an endless number": ("seed: 7", "seed: @@" + "7" * 5000, "not a plain decimal"),
    "an infinite number": ("lambda: 0.02", "lambda: @@.inf", "not a plain decimal"),
    "a number as a key": ("strata: {language: python}", "strata: {@@3: x}", "a key must be text, not a number"),
    "a list as a key": ("strata: {language: python}", "strata: {? @@[a] : x}", "a key must be text, not a list"),
    "a second document": ("score:\n", "@@---\nscore:\n", "a second document"),
}
MORE_FILES = {"empty.txt": b"# nothing\n", "binary": b"\xff\xfe\n"}
EVERY = {**BY_SHAPE, **BY_MEANING, **BY_YAML}


def changed(full_text: str, case: tuple[str, str, str]) -> tuple[str, str]:
    """The contract with the mistake, and the place that was marked."""
    old, new, _ = case
    assert full_text.count(old) == 1, f"{old!r} is not unique"
    text = full_text.replace(old, new)
    if "@@" not in new:
        return text, ""
    before = text[: text.index("@@")]
    column = len(before) - before.rfind("\n")
    return text.replace("@@", "", 1), f":{before.count(chr(10)) + 1}:{column}: "


@pytest.mark.parametrize("name", EVERY)
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, writer: Writer, full_text: str, named_files: Mapping[str, bytes], name: str
) -> None:
    text, place = changed(full_text, EVERY[name])
    directory = writer(tmp_path / "c", text, {**named_files, **MORE_FILES})
    with pytest.raises(ContractError) as caught:
        load_contract(directory)
    told = [str(mistake) for mistake in caught.value.mistakes]
    assert any(place in line and EVERY[name][2] in line for line in told), told


@pytest.mark.parametrize("name", BY_SHAPE)
def test_the_schema_refuses_what_the_shape_forbids(full_text: str, name: str) -> None:
    data = load_yaml(changed(full_text, BY_SHAPE[name])[0].encode(), "contract.yaml").plain()
    assert not VALIDATOR.is_valid(data)


@pytest.mark.parametrize("name", BY_MEANING)
def test_the_schema_accepts_what_only_the_loader_can_tell(full_text: str, name: str) -> None:
    data = load_yaml(changed(full_text, BY_MEANING[name])[0].encode(), "contract.yaml").plain()
    VALIDATOR.validate(data)


def test_every_mistake_is_reported_at_once_and_in_order(tmp_path: Path, writer: Writer, full_text: str) -> None:
    text = full_text
    names = [
        "a duplicate key",
        "an unknown kind",
        "a missing issue",
        "a negative limit",
        "a glob that climbs",
        "an id twice",
        "hidden from an unknown input",
        "two checks of one id",
        "a reference from an unknown input",
        "weights that do not sum to 1",
    ]
    for name in names:
        old, new, _ = EVERY[name]
        assert old in text, name
        text = text.replace(old, new.replace("@@", ""))
    with pytest.raises(ContractError) as caught:
        load_contract(writer(tmp_path / "c", text))
    told = [str(mistake) for mistake in caught.value.mistakes]
    for name in names:
        assert any(EVERY[name][2] in line for line in told), name
    assert len(told) == len(names)
    lines = [mistake.line for mistake in caught.value.mistakes]
    assert lines == sorted(lines)


def test_one_mistake_does_not_bring_others(
    tmp_path: Path, writer: Writer, full_text: str, named_files: Mapping[str, bytes]
) -> None:
    """After a mistake reading goes on with a blank, about which nothing more is said. Only ``several`` are more."""
    noisy = []
    for name, case in EVERY.items():
        text, _ = changed(full_text, case)
        try:
            load_contract(writer(tmp_path / name.replace(" ", "-"), text, {**named_files, **MORE_FILES}))
        except ContractError as error:
            if len(error.mistakes) > 1:
                noisy.append((name, [str(mistake) for mistake in error.mistakes]))
    several = {
        "a file pinned with dependencies",
        "a repository that is text",
        "no checks",
        "an archive that is a directory",
        "two inputs of one name",
        "hidden from an input that is also a directory",
        "a sentinel without its names",
        "a merge key",
    }
    assert {name for name, _ in noisy} == several, noisy
