"""Without an engine, ``lint`` and ``lock`` say that the image was not searched, and ``run`` does not begin.

What is found with an engine is tested in ``tests/execute/sandbox/container/test_image_answers.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conduct.live import Proctor

IMAGE = {"sandbox": "image", "image": "sha256:" + "1" * 64}
NO_ENGINE = {"DOCKER_HOST": "unix:///nonexistent/engine.sock"}


def test_an_image_that_cannot_be_searched_is_named(proctor: Proctor, make_contract: Any) -> None:
    contract: Path = make_contract(environment=IMAGE)
    linted = proctor("lint", contract, **NO_ENGINE)
    assert linted.returncode == 0 and "not searched for answers to the task" in linted.stdout, linted.stderr
    assert "no container engine answers" in linted.stdout
    locked = proctor("lock", contract, **NO_ENGINE)
    assert locked.returncode == 0 and "the image was not searched" in locked.stderr
    started = proctor("run", contract, "--agent", "noop", **NO_ENGINE)
    assert started.returncode == 3 and "no container engine answers" in started.stderr


def test_a_contract_on_the_host_has_no_image_to_search(proctor: Proctor, make_contract: Any) -> None:
    linted = proctor("lint", make_contract(), **NO_ENGINE)
    assert linted.returncode == 0 and "image" not in linted.stdout
