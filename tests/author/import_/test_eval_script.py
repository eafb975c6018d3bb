"""What is read out of evaluation scripts, and what is listed as lost."""

from __future__ import annotations

import pytest

from proctor.author.import_.eval_script import evaluation
from proctor.author.import_.import_record import Losses, Refused
from tests.author.import_.swebench_samples import SCRIPT


def losses_of(script: str, repo: str = "acme/greeter") -> list[tuple[str, str]]:
    losses = Losses()
    evaluation(script, repo, losses)
    return [(loss.code, loss.detail) for loss in losses.all()]


def test_options_and_variables_are_taken_and_the_rest_is_listed() -> None:
    found = evaluation(SCRIPT, "acme/greeter", Losses())
    assert found.runner == "pytest"
    assert found.options == ("-p", "no:cacheprovider")
    assert found.variables == {"LANG": "en_US.UTF-8"}
    assert losses_of(SCRIPT) == [
        ("build", "python -m pip install -e ."),
        ("preamble", "sed -i 's/a/b/' setup.cfg"),
        ("test-option", "--doctest-modules"),
    ]


def test_a_locale_that_is_generated_becomes_one_that_every_system_has() -> None:
    script = "sed -i '/en_US.UTF-8/s/^# //g' /etc/locale.gen && locale-gen\n: '>>>>> Start Test Output'\npytest a.py\n"
    assert evaluation(script, "a/b", Losses()).variables == {"LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (": '>>>>> Start Test Output'\n./tests/runtests.py --verbosity 2 a.b\n", "django"),
        (": '>>>>> Start Test Output'\ngo test ./...\n", "go test"),
    ],
)
def test_runners_that_cannot_be_read_are_refused(script: str, expected: str) -> None:
    with pytest.raises(Refused) as caught:
        evaluation(script, "a/b", Losses())
    assert caught.value.code == "runner"
    assert expected in caught.value.detail


def test_other_runners_are_replaced_by_pytest_and_said_to_be() -> None:
    sympy = ": '>>>>> Start Test Output'\nPYTHONWARNINGS=ignore bin/test -C --verbose sympy/a.py\n"
    assert losses_of(sympy) == [("runner-replaced", "bin/test")]
    tox = ": '>>>>> Start Test Output'\ntox --current-env -epy39 -v -- tests/a.py\n"
    assert losses_of(tox) == [("runner-replaced", "tox --current-env -epy39 -v -- tests/a.py")]
    assert losses_of("", "sympy/sympy") == [("runner-replaced", "bin/test")]
    with pytest.raises(Refused):
        losses_of("", "django/django")
    assert losses_of("pytest 'open\n") == [("test-option", "pytest 'open")]


def test_commands_that_would_run_something_are_text_only() -> None:
    script = "export A=$(touch /tmp/proctor-was-here)\n: '>>>>> Start Test Output'\npytest a.py; touch /tmp/x\n"
    found = evaluation(script, "a/b", Losses())
    assert found.variables == {}
    assert found.options == ()
