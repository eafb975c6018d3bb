"""What every source of inputs must do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from proctor.base.errors import ProctorError
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache, input_source, resolve
from proctor.execute.inputs.interface import InputRequest


class InputSourceSuite:
    """Subclass with the ``name`` of a kind of input, a ``spec`` that it can resolve and one that does not exist.

    Override the fixture ``contract_directory`` if the spec names files of the contract.
    """

    name: str
    spec: str
    missing_spec: str

    @pytest.fixture
    def contract_directory(self, tmp_path: Path) -> Path:
        """The directory of the contract that names the input."""
        directory = tmp_path / "contract"
        directory.mkdir()
        return directory

    def resolved(self, contract_directory: Path, into: Path, spec: str = "") -> tuple[str, ...]:
        """The names of the files of the spec, fetched into a new directory."""
        into.mkdir()
        wish = InputRequest(Source(self.name, spec or self.spec))
        return input_source(self.name).resolve(wish, contract_directory, into)

    def test_it_resolves_to_files(self, contract_directory: Path, tmp_path: Path) -> None:
        names = self.resolved(contract_directory, tmp_path / "into")
        assert isinstance(names, tuple) and names and len(set(names)) == len(names), names
        for name in names:
            path = tmp_path / "into" / name
            assert "/" not in name and not name.startswith("."), name
            assert path.is_file() and not path.is_symlink(), f"{name} is not a file"

    def test_what_was_resolved_can_be_fetched_again(self, contract_directory: Path, tmp_path: Path) -> None:
        names = self.resolved(contract_directory, tmp_path / "into")
        digests = {name: hashlib.sha256((tmp_path / "into" / name).read_bytes()).hexdigest() for name in names}
        files = tuple(InputFile(name, digest) for name, digest in digests.items())
        source = Source(self.name, self.spec, files)
        (tmp_path / "again").mkdir()
        input_source(self.name).fetch(source, files, contract_directory, tmp_path / "again")
        for file in files:
            found = hashlib.sha256((tmp_path / "again" / file.name).read_bytes()).hexdigest()
            assert found == file.sha256, f"fetch() brings another {file.name} than resolve()"
        (tmp_path / "one").mkdir()
        input_source(self.name).fetch(source, files[:1], contract_directory, tmp_path / "one")
        assert (tmp_path / "one" / files[0].name).is_file(), f"fetch() does not bring {files[0].name} alone"

    def test_the_cache_takes_what_it_fetches(self, contract_directory: Path, tmp_path: Path) -> None:
        cache = InputCache(tmp_path / "cache")
        files = resolve(InputRequest(Source(self.name, self.spec)), contract_directory, cache)
        other = InputCache(tmp_path / "other")
        ensured = other.ensure(Source(self.name, self.spec, files), contract_directory)
        assert len(ensured) == len(files), (ensured, files)

    def test_what_does_not_exist_is_an_error_and_no_crash(self, contract_directory: Path, tmp_path: Path) -> None:
        with pytest.raises(ProctorError) as raised:
            self.resolved(contract_directory, tmp_path / "into", self.missing_spec)
        error = raised.value
        assert error.exit_code == 2 and error.message, f"{error!r} has the exit code {error.exit_code}"
