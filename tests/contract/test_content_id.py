"""The content id changes with every change of meaning, and with no other."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import ContractError
from proctor.contract.digest import content_id, from_resolved, resolved
from proctor.contract.load import load_contract
from proctor.contract.model import ArchiveRepository, Check, Contract, GitRepository, Source, Submodule
from proctor.contract.schema import json_schema
from proctor.contract.strict_yaml import load_yaml

Writer = Callable[..., Path]
Steps = tuple[str | int, ...]


def identity(directory: Path) -> str:
    return content_id(load_contract(directory))


class YamlStyle:
    """Writes data as YAML in one of very many ways: order, quotes, blocks, flow, comments and spaces are drawn."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def document(self, data: dict[str, Any]) -> str:
        head = self.draw.choice(["", "# a comment\n", "---\n", "\n\n"])
        return head + self.block(data, 0) + self.draw.choice(["", "\n", "# the end\n", "...\n"])

    def block(self, value: Any, depth: int) -> str:
        """``value`` as a block that ends with a newline; ``depth`` is its indentation."""
        margin = " " * depth
        lines = []
        pairs = [(f"{self.scalar(key)}:", inner) for key, inner in value.items()] if isinstance(value, dict) else None
        if pairs is not None:
            self.draw.shuffle(pairs)
        for head, inner in pairs if pairs is not None else [("-", inner) for inner in value]:
            if self.draw.random() < 0.1:
                lines.append(f"{margin}# a comment: {{ [ & *\n")
            if isinstance(inner, dict | list) and inner and self.draw.random() < 0.6:
                lines.append(f"{margin}{head}\n{self.block(inner, depth + self.draw.choice([1, 2, 4]))}")
            else:
                lines.append(f"{margin}{head} {self.flow(inner)}{self.draw.choice(['', '  # a comment'])}\n")
        return "".join(lines)

    def flow(self, value: Any) -> str:
        space = self.draw.choice(["", " "])
        if isinstance(value, dict):
            pairs = [f"{self.scalar(key)}: {self.flow(inner)}" for key, inner in value.items()]
            self.draw.shuffle(pairs)
            return "{" + space + ", ".join(pairs) + space + "}"
        if isinstance(value, list):
            return "[" + space + ", ".join(map(self.flow, value)) + space + "]"
        return self.scalar(value)

    def scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        styles = [json.dumps(value), "'" + value.replace("'", "''") + "'"]
        if value.replace("-", "").replace("_", "").isalpha() and value[0].isalpha():
            styles += [] if value.lower() in ("true", "false", "null") else [value]
        return self.draw.choice(styles)


def leaves(data: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if inner is None:
        yield path, data
        return
    if path:
        yield path, data
    for key, value in inner:
        yield from leaves(value, (*path, key))


def with_defaults(schema: dict[str, Any], data: Any) -> Any:
    """``data`` with every default that the schema knows written out."""
    if isinstance(data, list):
        return [with_defaults(schema.get("items", {}), item) for item in data]
    if not isinstance(data, dict):
        return data
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if set(data) <= set(choice.get("properties", ())):
            return with_defaults(choice, data)
    known = schema.get("properties", {})
    filled = {key: with_defaults(known.get(key, {}), value) for key, value in data.items()}
    for name, inner in known.items():
        if name in filled:
            continue
        if "default" in inner:
            filled[name] = inner["default"]
        elif inner.get("type") == "object" and "required" not in inner:
            filled[name] = with_defaults(inner, {})
    return filled


@pytest.fixture(scope="module")
def data(full_text: str) -> Any:
    return load_yaml(full_text.encode(), "contract.yaml").plain()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, writer: Writer, full_text: str) -> tuple[Path, str]:
    directory = writer(tmp_path_factory.mktemp("id") / "c", full_text)
    return directory, identity(directory)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_the_way_of_writing_does_not_matter(base: tuple[Path, str], data: Any, seed: int) -> None:
    directory, expected = base
    text = YamlStyle(random.Random(seed)).document(data)
    place = directory / f"style-{seed}.yaml"
    place.write_text(text)
    assert identity(place) == expected, text


def test_explicit_defaults_do_not_matter(
    tmp_path: Path, writer: Writer, data: Any, minimal_text: str, base: tuple[Path, str]
) -> None:
    schema = json_schema()
    small = load_yaml(minimal_text.encode(), "contract.yaml").plain()
    filled = with_defaults(schema, small)
    assert filled["budget"]["wall_seconds"] == 1800
    assert filled["checks"][0]["rerun"] == {"times": 1, "decide": "all"}
    assert filled["score"]["weights"]["minimality"] == "0.5"
    before = identity(writer(tmp_path / "small", minimal_text))
    assert identity(writer(tmp_path / "filled", json.dumps(filled))) == before
    assert identity(writer(tmp_path / "full", json.dumps(with_defaults(schema, data)))) == base[1]


def test_equal_decimals_and_digests_do_not_matter(
    tmp_path: Path, writer: Writer, full_text: str, base: tuple[Path, str]
) -> None:
    text = full_text.replace("lambda: 0.02", 'lambda: "0.0200"').replace("seed: 7", "seed: 7.0")
    text = text.replace(f"sha256: {'a' * 64}", f"sha256: sha256:{'a' * 64}")
    assert text.count("sha256:sha256") == 0
    assert identity(writer(tmp_path / "c", text)) == base[1]


def test_the_place_of_the_contract_does_not_matter(tmp_path: Path, base: tuple[Path, str]) -> None:
    shutil.copytree(base[0], tmp_path / "another place")
    assert identity(tmp_path / "another place") == base[1]


def test_files_that_nothing_names_do_not_matter(tmp_path: Path, writer: Writer, base: tuple[Path, str]) -> None:
    directory = writer(tmp_path / "c")
    (directory / "notes.txt").write_text("nothing")
    (directory / "data.tar.gz").write_bytes(b"its digest stands in the contract")
    assert identity(directory) == base[1]


def test_every_byte_of_every_named_file_matters(
    tmp_path: Path, writer: Writer, named_files: Mapping[str, bytes], base: tuple[Path, str]
) -> None:
    seen = {base[1]}
    for name, data in named_files.items():
        if name in ("data.tar.gz", "fix.patch", "contract.lock"):
            continue
        directory = writer(tmp_path / name.replace("/", "-"))
        for changed in (data + b"\n", b"#\n" + data):
            (directory / name).write_bytes(changed)
            found = identity(directory)
            assert found not in seen, name
            seen.add(found)
        (directory / name).write_bytes(data)
        (directory / name).chmod(0o755)
        found = identity(directory)
        assert found not in seen, name
        seen.add(found)


def test_hidden_files_added_removed_or_renamed_matter(tmp_path: Path, writer: Writer, base: tuple[Path, str]) -> None:
    directory = writer(tmp_path / "c")
    seen = {base[1]}
    (directory / "hidden/new.py").write_text("")
    seen.add(identity(directory))
    (directory / "hidden/new.py").rename(directory / "hidden/other.py")
    seen.add(identity(directory))
    (directory / "hidden/other.py").unlink()
    (directory / "hidden/test_extra.py").unlink()
    seen.add(identity(directory))
    assert len(seen) == 4


def test_the_lock_matters(tmp_path: Path, writer: Writer, base: tuple[Path, str]) -> None:
    directory = writer(tmp_path / "c")
    lock = directory / "contract.lock"
    lock.write_text("# a comment\n" + lock.read_text())
    assert identity(directory) == base[1]
    lock.write_text(lock.read_text().replace("a" * 64, "d" * 64))
    assert identity(directory) != base[1]


def changes(path: Steps, value: Any) -> list[Any]:
    """Other values that mean something else at ``path`` and are still good."""
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, list):
        return [value[:-1], value[1:], value * 2, list(reversed(value))]
    if not isinstance(value, str):
        return []
    if name in ("sha256", "commit"):
        return ["e" * len(value)]
    fixed = {
        "kind": ["refactor"], "gate": ["build", "static"], "layer": ["e2e"], "decide": ["all", "any"], "for": ["setup"],
        "repeat": ["once"], "root": ["sha256:" + "d" * 64], "require": ["overlay"], "issue": ["keep.txt"],
        "pypi": ["other==2"], "npm": ["other@2.0.0"], "deb": ["other==2"], "file": ["must.txt", "other.tgz"],
        "template": ["ok {passing} {failing}"], "results": ["junit"], "ladder": ["automatic"], "start": ["inspect"],
        "new": ["allow"], "reads": ["none"], "otherwise": ["approve"], "dns": ["notice"], "signal": ["notice"],
        "words-*": ["alert"], "forbid_syscalls": ["mount"], "usd": ["2.51", "0.00"],
    }  # fmt: skip
    return fixed.get(name, [f"{value}x", f"x{value}"])


def test_every_field_matters(tmp_path: Path, writer: Writer, data: Any, base: tuple[Path, str]) -> None:
    directory = writer(tmp_path / "c")
    tried, seen = set(), {base[1]: "unchanged"}
    for path, value in leaves(data):
        for other in changes(path, value):
            whole = json.loads(json.dumps(data))
            place = whole
            for step in path[:-1]:
                place = place[step]
            if place[path[-1]] == other:
                continue
            place[path[-1]] = other
            (directory / "contract.yaml").write_text(json.dumps(whole))
            try:
                found = identity(directory)
            except ContractError:
                continue
            tried.add(tuple(step for step in path if isinstance(step, str)))
            assert seen.get(found, str(path)) == str(path), f"{path} gives the id of {seen[found]}"
            seen[found] = str(path)
    names = {".".join(steps) for steps in tried}
    assert len(names) >= 100, sorted(names)


def frozen_changes(value: Any) -> Iterator[Any]:
    """Copies of a frozen value, each with one field, however deep, changed."""
    for name, inner in field_items(value):
        for other in _other(inner):
            yield replace(value, **{name: other})


def _other(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield value + "x"
    elif value is None:
        yield from ()
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield value[:index] + value[index + 1 :]
            for changed in _other(item):
                yield (*value[:index], changed, *value[index + 1 :])
    elif isinstance(value, Mapping):
        yield {**value, "X": "y"}
    elif not isinstance(value, Path):
        yield from frozen_changes(value)


def test_every_field_of_the_model_matters(full: Path) -> None:
    """Also those that no YAML gives: a new field of the model is covered without a new test."""
    contract = load_contract(full)
    ids = [content_id(changed) for changed in frozen_changes(contract)]
    archive = "data.tar.gz"
    same = [changed for changed in frozen_changes(contract) if content_id(changed) == content_id(contract)]
    assert [one.inputs[4].source.spec for one in same] == [f"{archive}x"]
    assert len(ids) > 190


def test_places_of_bytes_do_not_matter(full: Path) -> None:
    contract = load_contract(full)
    one = replace(contract, repository=GitRepository("../a", "1" * 40, (Submodule("s", "../b", "2" * 40),)))
    two = replace(contract, repository=GitRepository("https://x/a", "1" * 40, (Submodule("s", "../c", "2" * 40),)))
    assert content_id(one) == content_id(two) != content_id(contract)
    moved = replace(contract, directory=Path("/elsewhere"))
    assert content_id(moved) == content_id(contract)
    here, there = (ArchiveRepository(Source("archive", spec, ())) for spec in ("x.tar", "https://x/x.tar"))
    assert content_id(replace(contract, repository=here)) == content_id(replace(contract, repository=there))


def test_the_resolved_form_leads_back(full: Path) -> None:
    contract = load_contract(full)
    variants = [
        contract,
        replace(contract, repository=GitRepository("../a", "1" * 40, (Submodule("s", "b", "2" * 40),))),
    ]
    for one in [*variants, *frozen_changes(contract)]:
        data = parse_canonical(canonical(resolved(one)))
        again = from_resolved(data, one.directory)
        assert again == one
        assert canonical(resolved(again)) == canonical(resolved(one))
        assert isinstance(again, Contract) and isinstance(again.checks[0], Check)


def test_the_resolved_form_keeps_its_input(full: Path) -> None:
    data = resolved(load_contract(full))
    before = canonical(data)
    from_resolved(data, full)
    assert canonical(data) == before


def test_what_is_no_resolved_contract_is_a_contract_error(full: Path) -> None:
    data = resolved(load_contract(full))
    bad: list[Any] = [{}, {**data, "schema": 2}, {**data, "record": "report"}, {**data, "more": 1}]
    bad += [{key: value for key, value in data.items() if key != left_out} for left_out in data]
    for path, _ in list(leaves(data)):
        for odd in (12.5, object()):
            whole = parse_canonical(canonical(data))
            place = whole
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = odd
            bad.append(whole)
    for one in bad:
        with pytest.raises(ContractError):
            from_resolved(one, full)


def test_fields_that_came_later_are_left_out_while_they_say_nothing(full: Path) -> None:
    contract = load_contract(full)
    assert contract.reference is not None
    data = resolved(contract)
    assert not {"flake_tolerance"} & set(data["checks"][0])
    assert "alternatives" not in data["reference"]
    tolerant = replace(contract, checks=tuple(replace(one, flake_tolerance="0.1") for one in contract.checks))
    assert content_id(tolerant) != content_id(contract)
    assert from_resolved(resolved(tolerant), full).checks == tolerant.checks
