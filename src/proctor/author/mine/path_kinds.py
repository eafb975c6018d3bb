"""What kind of file a changed path is, by its components. Pure.

Components decide, not substrings: ``contest/x.py`` is not a test and ``docstrings.py`` is not documentation. Files that
steer a test runner (``conftest.py``, ``pytest.ini``) count as tests: the judge puts them in place with the tests.
"""

from __future__ import annotations

import re

from proctor.judge.patch_policy.paths_of_tests import WHOLE, is_test, steers

TEST, SOURCE, CHANGELOG, DOCUMENTATION, BUILD, LOCK, CI, GENERATED, VENDORED, OTHER = (
    *("test", "source", "changelog", "documentation", "build", "lock", "ci", "generated", "vendored", "other"),
)

PATH_BYTES = 400
PART_BYTES = 200

_VENDORED_TEXT = """
    _vendor _vendored vendor vendored third_party third-party thirdparty node_modules bower_components extern
"""
_VENDORED = frozenset(_VENDORED_TEXT.split())
_GENERATED_TEXT = """
    __pycache__ dist build _build .eggs htmlcov __generated__ generated
"""
_GENERATED = frozenset(_GENERATED_TEXT.split())
_GENERATED_NAME = re.compile(
    r".*(?:_pb2(?:_grpc)?\.py|\.min\.js|\.min\.css|\.map|\.pyc|\.generated\.[a-z]+|\.g\.[a-z]+)\Z"
)
_PACKED = re.compile(r"[^/]*\.(?:egg-info|dist-info)\Z")
_LOCKS_TEXT = """
    uv.lock poetry.lock pdm.lock Pipfile.lock package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml
    Cargo.lock go.sum composer.lock Gemfile.lock pylock.toml
"""
_LOCKS = frozenset(_LOCKS_TEXT.split())
_CI_TEXT = """
    .github .circleci .gitlab .azure-pipelines .ci .buildkite .devcontainer
"""
_CI = frozenset(_CI_TEXT.split())
_CI_NAMES_TEXT = """
    .travis.yml .gitlab-ci.yml azure-pipelines.yml appveyor.yml .appveyor.yml .pre-commit-config.yaml codecov.yml
    .codecov.yml .readthedocs.yml .readthedocs.yaml .gitignore .gitattributes .editorconfig renovate.json
"""
_CI_NAMES = frozenset(_CI_NAMES_TEXT.split())
_BUILD_TEXT = """
    pyproject.toml setup.py setup.cfg tox.ini noxfile.py MANIFEST.in Makefile Pipfile package.json go.mod Cargo.toml
    CMakeLists.txt meson.build requirements.txt tsconfig.json justfile tasks.py PKG-INFO
"""
_BUILD = frozenset(_BUILD_TEXT.split())
_REQUIREMENTS = re.compile(r"(?:requirements|constraints)(?:[-_.][a-z0-9_-]+)*\.(?:txt|in)\Z", re.IGNORECASE)
_CHANGELOG = re.compile(
    r"(?:changes?|changelog|change[-_]?log|history|news|release[-_]?notes|releases|versionhistory|whatsnew)"
    r"(?:[-_.][a-z0-9]+)*\Z",
    re.IGNORECASE,
)
_FRAGMENTS_TEXT = """
    changelog.d newsfragments news.d changes.d changelog changes news
"""
_FRAGMENTS = frozenset(_FRAGMENTS_TEXT.split())
_DOCUMENTATION_TEXT = """
    doc docs documentation man examples example samples benchmarks bench scripts tools
"""
_DOCUMENTATION = frozenset(_DOCUMENTATION_TEXT.split())
_DOCUMENT = re.compile(r".*\.(?:md|rst|txt|adoc|ipynb|svg|png|gif|jpg)\Z", re.IGNORECASE)
_SOURCE = re.compile(r".*\.(?:py|pyi|pyx|pxd|c|h|cc|cpp|hpp|js|cjs|mjs|jsx|ts|tsx|go|rs|java|kt|rb|php|cs|swift)\Z")


def usable_path(path: bytes) -> str:
    """``path`` as text if a contract can have a file of that name, else nothing."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    parts = text.split("/")
    plain = all(
        part not in ("", ".", "..") and part.lower() != ".git" and len(part.encode()) <= PART_BYTES for part in parts
    )
    odd = not text.isprintable() or "\\" in text or text.startswith(("-", "/", " ")) or text != text.strip()
    return "" if odd or not plain or len(path) > PATH_BYTES else text


def kind_of(path: str) -> str:
    """The kind of the file at ``path``."""
    *directories, name = path.split("/")
    parts = frozenset(part.lower() for part in directories)
    if parts & _VENDORED:
        return VENDORED
    if parts & _GENERATED or _GENERATED_NAME.match(name) or any(_PACKED.match(part) for part in directories):
        return GENERATED
    if name in _LOCKS:
        return LOCK
    if parts & _CI or name in _CI_NAMES:
        return CI
    if is_changelog(path):
        return CHANGELOG
    if _REQUIREMENTS.match(name) or "requirements" in parts:
        return BUILD
    if is_test(path) or steers(path.encode()) == WHOLE:
        return BUILD if name == "noxfile.py" else TEST
    if name in _BUILD:
        return BUILD
    if parts & _DOCUMENTATION and not parts & {"src", "lib"}:
        return DOCUMENTATION
    if _SOURCE.match(name):
        return SOURCE
    return DOCUMENTATION if _DOCUMENT.match(name) else OTHER


def is_changelog(path: str) -> bool:
    """Whether ``path`` is a changelog or a fragment of one."""
    *directories, name = path.split("/")
    stem = re.sub(r"\.(?:md|rst|txt)\Z", "", name, flags=re.IGNORECASE)
    if _CHANGELOG.match(stem) and (stem != name or "." not in name):
        return True
    parts = [part.lower() for part in directories]
    return (
        bool(parts)
        and parts[-1] in _FRAGMENTS
        and bool(re.match(r".*\.(?:md|rst|txt|[a-z]+)\Z", name))
        and (not name.endswith((".py", ".js", ".ts", ".go", ".rs")))
    )
