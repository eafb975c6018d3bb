"""Whatever would make a manifest incomplete is found before anything acts."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault, ProctorError, UsageFault
from proctor.conduct.run_manifest import require_complete
from proctor.record.completeness import REQUIRED

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def without(manifest: dict[str, Any], path: str) -> dict[str, Any]:
    """A copy of ``manifest`` that lacks the field at ``path``."""
    whole = copy.deepcopy(manifest)
    inner: Any = whole
    *above, last = path.split(".")
    for part in above:
        inner = inner[part.removesuffix("[]")]
        inner = inner[0] if part.endswith("[]") else inner
    del inner[last]
    return whole


def test_c2_every_field_that_a_manifest_needs_is_needed_before_the_run(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    assert proctor("run", make_contract(), "--agent", "reference").returncode == 0
    manifest = json.loads(next((tmp_path / "home" / "runs").glob("*/manifest.json")).read_bytes())
    require_complete(manifest)
    manifest["inputs"] = [{"name": "n", "file": "f", "sha256": "s"}]
    for field in REQUIRED:
        with pytest.raises(ProctorError) as raised:
            require_complete(without(manifest, field.path))
        assert field.path.replace("[]", "[0]") in raised.value.message
        asked = field.path.startswith(("agent", "configuration", "price_table"))
        assert raised.value.exit_code == (2 if asked else 3), field.path


@pytest.mark.parametrize("value", [1.5, b"bytes", {"é": 1}, "\udc80", 1 << 60, {1: 2}], ids=repr)
def test_c2_what_has_no_canonical_form_is_refused_before_the_run(
    proctor: Proctor, make_contract: Any, tmp_path: Path, value: object
) -> None:
    assert proctor("run", make_contract(), "--agent", "reference").returncode == 0
    manifest = json.loads(next((tmp_path / "home" / "runs").glob("*/manifest.json")).read_bytes())
    with pytest.raises(UsageFault, match="configuration cannot be recorded"):
        require_complete({**manifest, "configuration": {"gateway": value}})
    with pytest.raises(InfrastructureFault, match="limits cannot be recorded"):
        require_complete({**manifest, "limits": {"gateway": value}})


def test_c2_a_root_without_an_identity_stops_the_run_before_the_agent(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    assert proctor("run", make_contract(), "--agent", "reference").returncode == 0
    manifest = json.loads(next((tmp_path / "home" / "runs").glob("*/manifest.json")).read_bytes())
    with pytest.raises(InfrastructureFault, match="identity is empty") as raised:
        require_complete({**manifest, "sandbox": {**manifest["sandbox"], "identity": {}}})
    assert raised.value.exit_code == 3 and "doctor" in raised.value.hint
