"""Looking at a live workspace whose owner, an ordinary user, has taken permissions away."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from proctor.execute.monitor.sensors.resource_usage import disk_of
from proctor.execute.monitor.sensors.workspace_scan import WorkspaceScanner
from proctor.execute.workspace.layer_store import LayerStore
from proctor.execute.workspace.workspace import Workspace
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory


def build(content: Path) -> dict[str, str]:
    (content / "workspace").mkdir(exist_ok=True)
    (content / "workspace" / "a").write_text("1\n")
    return {}


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400])
@pytest.mark.parametrize("name", ["", "inner"])
def test_attack_closed_directories_stay_closed_and_nothing_is_concluded(mode: int, name: str) -> None:
    def look() -> None:
        with open_directory() as top:
            layer = LayerStore(top / "layers").make("base", build)
            with Workspace.create((layer,), top / "agent", overlays=True) as workspace:
                (workspace.upper / "workspace/inner").mkdir()
                (workspace.upper / "workspace/inner/new").write_text("n")
                closed = workspace.upper / "workspace" / name
                closed.chmod(mode)
                seen = WorkspaceScanner(workspace).look()
                assert not seen.pairs and not seen.saw(b"inner/new")
                assert disk_of(workspace).look().unread == 1
                assert stat.S_IMODE(closed.stat().st_mode) == mode
                assert [change.path for change in workspace.changes().changes] == [b"inner/new"]

    as_ordinary_user(look)
