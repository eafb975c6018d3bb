"""npm releases: a stand-in that packs tarballs by name, and the real client for a real release."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache, resolve
from proctor.execute.inputs.interface import InputRequest, NoSuchInput, Unreachable
from proctor.execute.inputs.npm import NpmSupplier, package_of, tarball_name

PACK = r"""
if [ "$1" = install ]; then
  cat > package-lock.json <<END
{"packages": {"": {}, "node_modules/leaf": {"version": "1.2.3"}, "node_modules/@wood/bark": {"version": "0.1.0-rc.1"},
 "node_modules/leaf/node_modules/vein": {"version": "2.0.0"},
 "node_modules/fsx": {"version": "9.0.0", "optional": true}}}
END
  exit 0
fi
shift
sep='['
for spec in "$@"; do
  case "$spec" in --*) continue;; esac
  name=${spec%@*}; version=${spec##*@}
  file=$(printf %s "${name#@}" | tr / -)-$version.tgz
  printf 'tarball of %s' "$spec" > "$file"
  printf '%s{"name": "%s", "version": "%s", "filename": "%s"}' "$sep" "$name" "$version" "$file"
  sep=,
done
echo ']'
"""


def digest(spec: str) -> str:
    return hashlib.sha256(f"tarball of {spec}".encode()).hexdigest()


@pytest.fixture
def cache(tmp_path: Path) -> InputCache:
    return InputCache(tmp_path / "inputs")


Program = Callable[[str, str], Path]


def test_a_release_is_packed_and_kept(cache: InputCache, program: Program, tmp_path: Path) -> None:
    calls = program("npm", PACK)
    file = InputFile("leaf-1.2.3.tgz", digest("leaf@1.2.3"))
    assert resolve(InputRequest(Source("npm", "leaf@1.2.3")), tmp_path, cache) == (file,)
    other = InputCache(tmp_path / "other")
    assert other.ensure(Source("npm", "leaf@1.2.3", (file,)), tmp_path) == (
        tmp_path / "other" / file.sha256 / file.name,
    )
    assert all("--ignore-scripts" in call for call in calls.read_text().splitlines())


def test_a_scoped_release_has_the_name_that_npm_gives(cache: InputCache, program: Program, tmp_path: Path) -> None:
    program("npm", PACK)
    (file,) = resolve(InputRequest(Source("npm", "@wood/bark@0.1.0")), tmp_path, cache)
    assert file == InputFile("wood-bark-0.1.0.tgz", digest("@wood/bark@0.1.0"))


def test_a_closure_names_each_package_and_leaves_out_the_optional(
    cache: InputCache, program: Program, tmp_path: Path
) -> None:
    program("npm", PACK)
    files = resolve(InputRequest(Source("npm", "leaf@1.2.3"), with_dependencies=True), tmp_path, cache)
    assert [file.name for file in files] == ["leaf-1.2.3.tgz", "@wood+bark-0.1.0-rc.1.tgz", "vein-2.0.0.tgz"]
    other = InputCache(tmp_path / "other")
    assert len(other.ensure(Source("npm", "leaf@1.2.3", files), tmp_path)) == 3


@pytest.mark.parametrize("package", [("leaf", "1.2.3"), ("@wood/bark", "0.1.0-rc.1"), ("a-2-b", "1.0.0")])
def test_names_of_tarballs_tell_their_package(package: tuple[str, str]) -> None:
    assert package_of(tarball_name(*package)) == package


def test_a_tarball_without_a_version_tells_nothing() -> None:
    with pytest.raises(NoSuchInput):
        package_of("leaf.tgz")


def test_a_release_that_does_not_exist_is_the_contracts_mistake(
    cache: InputCache, program: Program, tmp_path: Path
) -> None:
    calls = program("npm", "echo 'npm error code ETARGET' >&2; exit 1")
    with pytest.raises(NoSuchInput, match=r"leaf@9\.0\.0"):
        resolve(InputRequest(Source("npm", "leaf@9.0.0")), tmp_path, cache)
    assert len(calls.read_text().splitlines()) == 2


def test_a_registry_out_of_reach_is_tried_three_times(cache: InputCache, program: Program, tmp_path: Path) -> None:
    calls = program("npm", "echo 'npm error network request failed, reason: refused' >&2; exit 1")
    with pytest.raises(Unreachable, match="request failed, reason: refused") as caught:
        resolve(InputRequest(Source("npm", "leaf@1.0.0")), tmp_path, cache)
    assert caught.value.exit_code == 3
    assert len(calls.read_text().splitlines()) == 3


def test_something_else_than_asked_for_is_refused(cache: InputCache, program: Program, tmp_path: Path) -> None:
    program("npm", """echo '[{"name": "other", "version": "1.0.0", "filename": "other-1.0.0.tgz"}]'""")
    with pytest.raises(NoSuchInput, match="other than"):
        resolve(InputRequest(Source("npm", "leaf@1.0.0")), tmp_path, cache)


@pytest.mark.corpus
def test_a_real_release_is_fetched(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    assert NpmSupplier().resolve(InputRequest(Source("npm", "minimist@1.2.5")), tmp_path, into) == (
        "minimist-1.2.5.tgz",
    )
    assert (into / "minimist-1.2.5.tgz").stat().st_size > 1000
