"""Names and versions are read from every kind of metadata, and from nothing that only looks like it."""

from __future__ import annotations

import pytest

from proctor.execute.leakage.package_metadata import Package, is_metadata, packages_in, same_version

DECLARED = {
    "a/b-1.0.dist-info/METADATA": ("Name: B_c.D\nVersion: 1.0\n\nName: body\n", "pypi", "b-c-d", "1.0", "a"),
    "b-1.0/PKG-INFO": ("Name: b\nVersion: 1.0\n", "pypi", "b", "1.0", "b-1.0"),
    "b-1.0/src/b.egg-info/PKG-INFO": ("Name: b\nVersion: 1.0\n", "pypi", "b", "1.0", "b-1.0/src"),
    "usr/lib/b-1.0.egg-info": ("Name: b\nVersion: 1.0\n", "pypi", "b", "1.0", "usr/lib"),
    "EGG-INFO/PKG-INFO": ("Name: b\nVersion: 1.0\n", "pypi", "b", "1.0", ""),
    "x/pyproject.toml": ('[project]\nname = "b"\nversion = "2"\n', "pypi", "b", "2", "x"),
    "y/pyproject.toml": ('[project]\nname = "b"\ndynamic = ["version"]\n', "pypi", "b", "", "y"),
    "z/pyproject.toml": ('[tool.poetry]\nname = "b"\nversion = "2"\n', "pypi", "b", "2", "z"),
    "x/setup.cfg": ("[metadata]\nname = b\nversion = attr: b.__version__\n", "pypi", "b", "", "x"),
    "y/setup.cfg": ("[metadata]\nname = b\nversion = 2.0\n", "pypi", "b", "2.0", "y"),
    "x/setup.py": ("import setuptools\nN = 'b'\nsetuptools.setup(name=N, version='2')\n", "pypi", "b", "2", "x"),
    "y/setup.py": ("print 'old'\nsetup(name='b', version=\"2\")\n", "pypi", "b", "2", "y"),
    "package/package.json": ('{"name": "@s/B", "version": "1.0.0"}', "npm", "@s/b", "1.0.0", "package"),
    "x/debian/changelog": ("bee (1:2.0-3) unstable; urgency=low\n\n  * x\n", "deb", "bee", "1:2.0-3", "x"),
    "b.dsc": ("Format: 3.0\nSource: b\nVersion: 2.0-1\n", "deb", "b", "2.0-1", ""),
}


@pytest.mark.parametrize("path", DECLARED)
def test_metadata_declares_a_package(path: str) -> None:
    text, ecosystem, name, version, root = DECLARED[path]
    assert is_metadata(path)
    assert packages_in(path, text.encode()) == (Package(ecosystem, name, version, root),)


def test_a_control_file_names_the_source_and_every_package() -> None:
    text = b"Source: b\nMaintainer: x\n\nPackage: libb1\n\nPackage: libb-dev\n"
    assert [one.name for one in packages_in("x/debian/control", text)] == ["b", "libb1", "libb-dev"]
    (source, package) = packages_in("control", b"Package: libb1\nSource: b (2.0)\nVersion: 2.0+b1\n")
    assert (source.name, source.version, package.name, package.version) == ("b", "2.0", "libb1", "2.0+b1")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("METADATA", b"Name: b\n"),
        ("x/pyproject.toml", b"[project\n"),
        ("x/pyproject.toml", b"[build-system]\nrequires = []\n"),
        ("x/pyproject.toml", b"project = 1\ntool = 2\n"),
        ("x/setup.cfg", b"no section\n"),
        ("x/setup.py", b"setup(name=compute(), version=1)\n"),
        ("x/setup.py", b"\0" + b"(" * 5000),
        ("package.json", b"[" * 100_000),
        ("package.json", b'["name"]'),
        ("package.json", b'{"name": {"a": 1}}'),
        ("debian/changelog", b"\xff\xfe"),
    ],
)
def test_other_text_declares_nothing(path: str, data: bytes) -> None:
    assert packages_in(path, data) == ()


@pytest.mark.parametrize(
    ("ecosystem", "one", "other", "same"),
    [
        ("pypi", "1.4", "v1.4.0", True),
        ("pypi", "1.4.0+local", "1.4.0", True),
        ("pypi", "1.4.0.post1", "1.4.0", False),
        ("npm", "1.4.0-1", "1.4.0", False),
        ("deb", "1:1.4-2+deb12u1", "1.4", True),
        ("deb", "1.4.1-1", "1.4", False),
    ],
)
def test_versions_are_compared_by_release(ecosystem: str, one: str, other: str, same: bool) -> None:
    assert same_version(ecosystem, one, other) == same
