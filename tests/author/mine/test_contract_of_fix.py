"""Contracts from fixes in small histories, proven in real sandboxes; each trap of real histories is here once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.author.mine import python_environment
from proctor.author.mine.contract_of_fix import Made, make_contract
from proctor.author.mine.known_fix import UnfitFix, fix_of_commits, fix_range
from proctor.author.mine.python_resolution import Resolver
from proctor.cli.wiring import machine
from proctor.contract.load import load_contract
from proctor.execute.workspace.git_history import open_history
from tests.author.mine.histories import FIX, FIXED, MORE_TESTS, PROJECT, SLUG, TESTS, slugs

Proctor = Callable[..., subprocess.CompletedProcess[str]]
Make = Callable[..., Made]
LONG = "Titles with several spaces in a row should get one dash between two words, and not one dash for each space."

pytestmark = pytest.mark.corpus


@pytest.fixture
def make(tmp_path: Path, shared_home: Path) -> Make:
    """Makes the contract of the last commit of a history."""

    def made(files: dict[str, str | None], message: str = LONG, first: dict[str, str | None] | None = None) -> Made:
        history = slugs(tmp_path / "project", {}, "Nothing")
        if first:
            history.commit("Prepare", first)
        history.commit(message, files)
        with known(tmp_path / "project") as (fix, resolver, here):
            return make_contract(here, fix, tmp_path / "made", "made", resolver, fix.time, 2)

    return made


@contextmanager
def known(path: Path, name: str = "HEAD") -> Iterator[tuple]:  # type: ignore[type-arg]
    here = machine()
    with open_history(path) as history, here.scratch("resolve") as scratch:
        yield fix_of_commits(history, *fix_range(history, name), str(path)), Resolver(here.inputs, scratch), here


def with_test(code: str) -> str:
    return f"{TESTS}\n\n{code}"


def test_a_fix_becomes_a_valid_contract_with_one_command(proctor: Proctor, tmp_path: Path) -> None:
    made = slugs(tmp_path / "project")
    done = proctor(
        "init", tmp_path / "made", "--git", made.path, "--fix", made.git("rev-parse", "--short", "HEAD"), "--json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["valid"] is True and said["task"] == "bug-fix" and said["reason"] == ""
    assert said["must_pass"] == ["tests/test_slugs.py::test_several_spaces"]
    assert said["failures"] == {"assertion": 1}
    contract = load_contract(tmp_path / "made")
    assert contract.repository.commit == made.git("rev-parse", "HEAD~1")  # type: ignore[union-attr]
    assert contract.checks[-1].keep_passing == ("tests/test_slugs.py::test_one_space",)
    patch = (tmp_path / "made" / "reference.patch").read_text()
    assert "src/slugs/__init__.py" in patch and "CHANGES.rst" in patch and "tests/" not in patch
    issue = (tmp_path / "made" / "issue.md").read_text()
    assert "one dash between two words" in issue and "#12" not in issue
    assert "pytest==8.2.1" in (tmp_path / "made" / "contract.lock").read_text(), "as of the date of the fix"
    assert {one["file"] for one in said["remarks"]} >= {"issue.md"} and all(one["line"] for one in said["remarks"])
    again = proctor("validate", tmp_path / "made", "--times", "1")
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.soak
def test_two_releases_become_a_contract(proctor: Proctor, tmp_path: Path) -> None:
    done = proctor("init", tmp_path / "made", "--pypi", "xmltodict==0.14.1..0.14.2", "--times", "2", "--json")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert (tmp_path / "made" / "contract.lock").read_text().count("xmltodict-0.14.1.tar.gz") == 1
    assert said["reason"] in ("", "no-fail-to-pass") and said["quality"]["source_files"] >= 1


def test_a_branch_that_is_not_merged_starts_at_the_common_ancestor(tmp_path: Path) -> None:
    made = slugs(tmp_path / "project", {}, "Nothing")
    made.git("checkout", "-q", "-b", "fix")
    made.commit("One half", {"src/slugs/__init__.py": FIXED})
    tip = made.commit("The other", {"tests/test_slugs.py": MORE_TESTS})
    made.git("checkout", "-q", "main")
    main = made.commit("Meanwhile", {"README": "x"})
    with open_history(made.path) as history:
        assert fix_range(history, "fix") == (history.commit(main).parents[0], tip)
        assert fix_range(history, f"{main}..fix") == (main, tip)


def test_tests_that_need_a_private_name_are_no_fix(make: Make) -> None:
    code = "def test_words():\n    import slugs\n    assert slugs._words('a  b') == ['a', 'b']\n"
    source = FIXED + "\n\ndef _words(title):\n    return title.split()\n"
    made = make({"src/slugs/__init__.py": source, "tests/test_slugs.py": with_test(code)})
    assert made.proof.reason == "hidden-interface" and "_words" in made.proof.detail
    assert made.quality.hidden_names == ("_words",)


@pytest.mark.soak
def test_a_hidden_interface_beside_a_fix_is_left_out_of_must_pass(make: Make) -> None:
    code = "def test_words():\n    import slugs\n    assert slugs._words('a  b') == ['a', 'b']\n"
    source = FIXED + "\n\ndef _words(title):\n    return title.split()\n"
    made = make({"src/slugs/__init__.py": source, "tests/test_slugs.py": f"{MORE_TESTS}\n\n{code}"})
    assert made.proof.must_pass == ("tests/test_slugs.py::test_several_spaces",)
    assert made.proof.hidden == ("tests/test_slugs.py::test_words",) and made.proof.kind == "bug-fix"


def test_a_name_that_the_text_has_makes_a_feature(make: Make) -> None:
    code = "def test_words():\n    import slugs\n    assert slugs.words('a  b') == ['a', 'b']\n"
    source = SLUG + "\n\ndef words(title):\n    return title.split()\n"
    message = "Add a function words\n\nThe new function `words` returns the words of a title as a list, in their order."
    made = make({"src/slugs/__init__.py": source, "tests/test_slugs.py": with_test(code)}, message)
    assert made.proof.reason == "" and made.proof.kind == "feature"
    assert 'kind: "feature"' in (made.directory / "contract.yaml").read_text()


def test_a_refactoring_whose_tests_import_a_new_name_fixes_nothing(make: Make) -> None:
    """On the base the file cannot be collected, so that every test of it seems to be fixed."""
    tests = TESTS.replace("import slug\n", "import slug, _join\n")
    source = SLUG + "\n\ndef _join(words):\n    return '-'.join(words)\n"
    made = make({"src/slugs/__init__.py": source, "tests/test_slugs.py": tests})
    assert made.proof.reason == "collection-error" and made.proof.must_pass == ()


def test_a_fix_whose_tests_pass_before_is_refused(make: Make) -> None:
    made = make(
        {"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": with_test("def test_true():\n    assert True\n")}
    )
    assert made.proof.reason == "no-fail-to-pass"


def test_tests_that_depend_on_seeds_or_order_are_listed_and_left_out(make: Make) -> None:
    code = (
        "import os\nSEEN = []\n\n\ndef test_seed():\n    assert os.environ['PYTHONHASHSEED'] == '20260307'\n\n\n"
        "def test_before():\n    SEEN.append(slug('a  b'))\n\n\n"
        "def test_needs_another():\n    assert SEEN == ['a-b']\n"
    )
    made = make({"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": f"{MORE_TESTS}\n\n{code}"})
    file = "tests/test_slugs.py"
    assert made.proof.must_pass == (f"{file}::test_several_spaces",)
    assert f"{file}::test_seed" in made.proof.unsteady
    assert f"{file}::test_needs_another" in (*made.proof.unsteady, *made.proof.dependent)
    assert f"{file}::test_seed" not in made.proof.keep_passing
    assert {one.code for one in made.remarks} >= {"unsteady"}


@pytest.mark.soak
def test_a_base_that_hangs_is_a_failure_of_one_test(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_environment, "TEST_SECONDS", 3)
    first = {"src/slugs/__init__.py": SLUG + "\n\ndef wait():\n    while True:\n        pass\n"}
    code = "def test_wait():\n    from slugs import wait\n    assert wait() is None\n"
    fixed = SLUG + "\n\ndef wait():\n    return None\n"
    made = make({"src/slugs/__init__.py": fixed, "tests/test_slugs.py": with_test(code)}, first=first)
    assert made.proof.reason == "" and made.proof.counted() == {"timeout": 1}
    assert made.proof.keep_passing == ("tests/test_slugs.py::test_one_space",)


@pytest.mark.soak
def test_tests_after_the_death_of_the_process_are_not_listed(make: Make) -> None:
    """On the base a test ends the process: the later ones seem to be missing there, and are not fixed by the fix."""
    first = {"src/slugs/__init__.py": SLUG + "\n\ndef leave():\n    import os\n    os._exit(3)\n"}
    code = (
        "def test_leave():\n    import slugs\n    slugs.leave()\n\n\ndef test_later():\n    assert slug('A') == 'a'\n"
    )
    fixed = FIXED + "\n\ndef leave():\n    return None\n"
    files = {"src/slugs/__init__.py": fixed, "tests/test_slugs.py": f"{TESTS}\n\n{code}"}
    made = make(files, first=first)
    assert "tests/test_slugs.py::test_later" not in made.proof.must_pass


def test_ids_start_at_the_root_of_the_tree_whatever_the_configuration(make: Make) -> None:
    first = {"tests/pytest.ini": "[pytest]\naddopts = --no-such-option\n"}
    made = make({"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": MORE_TESTS}, first=first)
    assert made.proof.must_pass == ("tests/test_slugs.py::test_several_spaces",)


def test_a_crash_inside_the_code_under_test_is_a_fault(make: Make) -> None:
    code = "def test_nothing():\n    assert slug(None) == ''\n"
    fixed = SLUG.replace("return title", "return '' if title is None else title")
    made = make({"src/slugs/__init__.py": fixed, "tests/test_slugs.py": with_test(code)})
    assert made.proof.kind == "bug-fix" and made.proof.counted() == {"exception": 1}


def test_a_clock_in_the_id_of_a_test_is_never_listed(make: Make) -> None:
    code = "import time\nimport pytest\n\n\n@pytest.mark.parametrize('now', [time.time_ns()])\n"
    code += "def test_now(now):\n    slug('a')\n"
    made = make({"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": f"{MORE_TESTS}\n\n{code}"})
    assert made.proof.must_pass == ("tests/test_slugs.py::test_several_spaces",)
    assert not any("test_now" in test for test in made.proof.keep_passing)


def test_tests_run_as_an_ordinary_user_with_a_generated_version_file_and_metadata(make: Make) -> None:
    project = PROJECT.replace('version = "1.0"', 'dynamic = ["version"]') + (
        '\n[project.entry-points."slugs.forms"]\nplain = "slugs:slug"\n'
        '\n[tool.setuptools_scm]\nwrite_to = "src/slugs/_version.py"\n'
    )
    source = "from slugs._version import version\n" + SLUG
    code = (
        "import os\nfrom importlib.metadata import entry_points, version\n\n\ndef test_surroundings():\n"
        "    import slugs\n    assert os.getuid() != 0\n    assert version('slugs') == slugs.version\n"
        "    assert [one.name for one in entry_points(group='slugs.forms')] == ['plain']\n"
        "    assert slugs.__file__.startswith('/workspace/src/')\n"
    )
    first = {"pyproject.toml": project, "src/slugs/__init__.py": source}
    fixed = "from slugs._version import version\n" + FIXED
    made = make({"src/slugs/__init__.py": fixed, "tests/test_slugs.py": f"{MORE_TESTS}\n\n{code}"}, first=first)
    assert made.proof.reason == ""
    assert "tests/test_slugs.py::test_surroundings" in made.proof.keep_passing


def test_a_release_of_the_project_is_never_installed(tmp_path: Path, shared_home: Path) -> None:
    """A tool that the tests use depends on the project: its wheel would hide the tree, and every fix with it."""
    made = slugs(tmp_path / "project", {}, "Nothing")
    project = PROJECT.replace('"slugs"', '"six"').replace('["pytest"]', '["pytest", "python-dateutil"]')
    tests = "import dateutil\nimport six\n\n\ndef test_it():\n    assert six.A == 2\n"
    made.commit("Six", {"pyproject.toml": project, "six.py": "A = 1\n", "tests/test_six.py": tests})
    made.commit("Fix six", {"six.py": "A = 2\n", "tests/test_six.py": f"{tests}    assert dateutil\n"})
    with known(made.path) as (fix, resolver, _):
        environment = python_environment.for_fix(fix, resolver, fix.time)
    assert "python-dateutil" in environment.inputs and "six" not in environment.inputs
    assert environment.imports == ("six",)


def test_the_same_requirements_are_resolved_once(tmp_path: Path, shared_home: Path) -> None:
    made = slugs(tmp_path / "project")
    with known(made.path) as (fix, resolver, _):
        first = python_environment.for_fix(fix, resolver, fix.time)
        assert python_environment.for_fix(fix, resolver, fix.time) == first and resolver.resolved == 1


def test_requirements_that_no_wheels_satisfy_are_a_reason(tmp_path: Path, shared_home: Path) -> None:
    made = slugs(tmp_path / "project", {"pyproject.toml": PROJECT + "\n", **FIX})
    made.commit("Bounds", {"pyproject.toml": PROJECT.replace("requires-", 'dependencies = ["six>99"]\nrequires-')})
    made.commit(
        "Again", {**FIX, "src/slugs/__init__.py": FIXED + "# more\n", "tests/test_slugs.py": MORE_TESTS + "# more\n"}
    )
    with known(made.path) as (fix, resolver, _), pytest.raises(UnfitFix, match="six") as refused:
        python_environment.for_fix(fix, resolver, fix.time)
    assert refused.value.reason == "environment"


def test_a_release_of_the_project_under_a_name_that_is_not_told_is_never_an_input(
    tmp_path: Path, shared_home: Path
) -> None:
    """Its wheel may have the fix, for an agent to read: the files in it tell what it is."""
    made = slugs(tmp_path / "project", {}, "Nothing")
    project = PROJECT.replace('name = "slugs"', 'dynamic = ["name"]').replace(
        '["pytest"]', '["pytest", "python-dateutil"]'
    )
    tests = "import dateutil.parser\n\n\ndef test_it():\n    assert dateutil.A == 2\n"
    first = {"pyproject.toml": project, "dateutil/__init__.py": "A = 1\n", "tests/test_it.py": tests}
    made.commit("Start", {**first, "src/slugs/__init__.py": None})
    made.commit("Fix it", {"dateutil/__init__.py": "A = 2\n", "tests/test_it.py": f"{tests}    assert dateutil\n"})
    with known(made.path) as (fix, resolver, _):
        environment = python_environment.for_fix(fix, resolver, fix.time)
    assert "pytest" in environment.inputs and "python-dateutil" not in environment.inputs
