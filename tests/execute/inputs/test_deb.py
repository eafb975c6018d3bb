"""Debian packages: sources derived from a machine's lists, a stand-in for apt, and the real one for a real package."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs import deb
from proctor.execute.inputs.input_cache import InputCache, resolve
from proctor.execute.inputs.interface import InputRequest, NoSuchInput, Unreachable

OWN = """Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://mirror.example/off
Suites: bookworm
Components: main
"""
FOREIGN = "deb [arch=amd64] https://vendor.example/apt cloud-bookworm main # a remark\n"
LINE = "deb http://mirror.example/debian bookworm main contrib\n#deb http://mirror.example/no bookworm main\n"


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/os-release").write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    return tmp_path / "etc"


def test_only_the_distribution_is_asked_for_sources(etc: Path) -> None:
    (etc / "apt/sources.list.d/debian.sources").write_text(OWN)
    (etc / "apt/sources.list.d/vendor.list").write_text(FOREIGN)
    found = deb.derived_sources(etc, "deb-src")
    assert list(found) == ["machine.sources"]
    assert found["machine.sources"].splitlines() == [
        "Types: deb-src",
        "URIs: http://mirror.example/debian",
        "Suites: bookworm bookworm-updates",
        "Components: main",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
    ]


def test_old_one_line_lists_are_understood(etc: Path) -> None:
    (etc / "apt/sources.list").write_text(LINE)
    assert deb.derived_sources(etc, "deb-src") == {
        "machine.list": "deb-src http://mirror.example/debian bookworm main contrib\n"
    }


def test_without_a_codename_every_list_is_asked(etc: Path) -> None:
    (etc / "os-release").unlink()
    (etc / "apt/sources.list.d/vendor.list").write_text(FOREIGN)
    assert deb.derived_sources(etc, "deb") == {
        "machine.list": "deb [arch=amd64] https://vendor.example/apt cloud-bookworm main\n"
    }


def test_a_machine_without_apt_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deb, "ETC", tmp_path)
    with pytest.raises(InfrastructureFault, match="no sources"):
        resolve(InputRequest(Source("deb", "tree==1.0-1")), tmp_path, InputCache(tmp_path / "inputs"))


APT = r"""
case "$1" in
  update) exit 0;;
  source) printf dsc > tree_1.0-1.dsc; printf orig > tree_1.0.orig.tar.gz; printf rules > tree_1.0-1.debian.tar.xz;;
  download) printf binary > 'tree_1%3a1.0-1_amd64.deb';;
esac
"""

Program = Callable[[str, str], Path]


@pytest.fixture
def cache(etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InputCache:
    (etc / "apt/sources.list").write_text(LINE)
    monkeypatch.setattr(deb, "ETC", etc)
    return InputCache(tmp_path / "inputs")


def test_a_source_package_is_all_its_files(cache: InputCache, program: Program, tmp_path: Path) -> None:
    calls = program("apt-get", APT)
    files = resolve(InputRequest(Source("deb", "tree==1.0-1")), tmp_path, cache)
    assert [file.name for file in files] == ["tree_1.0-1.debian.tar.xz", "tree_1.0-1.dsc", "tree_1.0.orig.tar.gz"]
    assert "source --download-only --only-source tree=1.0-1" in calls.read_text()
    assert f"Dir::State::lists={cache.root}" in calls.read_text()


def test_one_file_of_a_source_package_may_be_pinned(cache: InputCache, program: Program, tmp_path: Path) -> None:
    program("apt-get", APT)
    file = InputFile("tree_1.0.orig.tar.gz", hashlib.sha256(b"orig").hexdigest())
    (path,) = cache.ensure(Source("deb", "tree==1.0-1", (file,)), tmp_path)
    assert path.read_bytes() == b"orig"


NEWER = """
case "$*" in
  update*) ;;
  *tree=1.0-1*) echo "E: Can not find version '1.0-1' of package 'tree'" >&2; exit 100;;
  *) printf orig > tree_1.0.orig.tar.gz; printf new > tree_1.0-2.debian.tar.xz;;
esac
"""


def test_the_authors_archive_outlives_a_revision(cache: InputCache, program: Program, tmp_path: Path) -> None:
    program("apt-get", NEWER)
    file = InputFile("tree_1.0.orig.tar.gz", hashlib.sha256(b"orig").hexdigest())
    cache.ensure(Source("deb", "tree==1.0-1", (file,)), tmp_path)
    gone = InputFile("tree_1.0-1.debian.tar.xz", "0" * 64)
    with pytest.raises(NoSuchInput, match="Can not find version"):
        cache.ensure(Source("deb", "tree==1.0-1", (gone,)), tmp_path)


def test_a_binary_package_is_fetched_by_its_file_name(cache: InputCache, program: Program, tmp_path: Path) -> None:
    calls = program("apt-get", APT)
    file = InputFile("tree_1:1.0-1_amd64.deb", hashlib.sha256(b"binary").hexdigest())
    cache.ensure(Source("deb", "tree==1:1.0-1", (file,)), tmp_path)
    assert "download tree=1:1.0-1" in calls.read_text()


def test_a_package_that_does_not_exist_is_the_contracts_mistake(
    cache: InputCache, program: Program, tmp_path: Path
) -> None:
    program("apt-get", '[ "$1" = update ] || { echo "E: Unable to find a source package for tree" >&2; exit 100; }')
    with pytest.raises(NoSuchInput, match="tree=2"):
        resolve(InputRequest(Source("deb", "tree==2")), tmp_path, cache)


def test_a_mirror_out_of_reach_is_not_a_mirror_without_the_package(
    cache: InputCache, program: Program, tmp_path: Path
) -> None:
    program(
        "apt-get",
        'if [ "$1" = update ]; then echo "W: Failed to fetch x" >&2; else echo "E: Unable to find a source package" >&2'
        "; exit 100; fi",
    )
    with pytest.raises(Unreachable) as caught:
        resolve(InputRequest(Source("deb", "tree==1.0-1")), tmp_path, cache)
    assert caught.value.exit_code == 3


@pytest.mark.corpus
def test_a_real_source_package_is_fetched_without_touching_the_machine(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    file = InputFile("cjson_1.7.15.orig.tar.gz", "5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2")
    source = Source("deb", "cjson==1.7.15-1+deb12u4", (file,))
    before = sorted(Path("/var/lib/apt/lists").iterdir())
    deb.DebSupplier().fetch(source, source.files, tmp_path, into)
    assert hashlib.sha256((into / file.name).read_bytes()).hexdigest() == file.sha256
    assert sorted(Path("/var/lib/apt/lists").iterdir()) == before
