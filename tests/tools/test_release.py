"""``tools/release.py`` builds the files of a release; the rehearsal signs their digests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.release import HELPER, TAGS, check_wheel


def release(project: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, project / "tools" / "release.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def test_an_untagged_tree_is_no_release(project: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tools").mkdir(parents=True)
    (tree / "src/proctor").mkdir(parents=True)
    for name in ("pyproject.toml", "CHANGELOG.md", "tools/release.py", "src/proctor/__init__.py"):
        shutil.copy(project / name, tree / name)
    git = ("git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@example.org")

    def answer() -> str:
        done = release(tree, "--tagged", "--out", tmp_path / "out")
        assert done.returncode == 1 and not (tmp_path / "out").exists()
        return done.stderr

    subprocess.run([*git, "init", "-q"], check=True)
    assert "changes that are not committed" in answer()
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "all"], check=True)
    version = tomllib.loads((project / "pyproject.toml").read_text())["project"]["version"]
    assert f"no tag v{version}" in answer()
    subprocess.run([*git, "tag", f"v{version}"], check=True)
    assert "CHANGELOG.md has no heading" in answer()


@pytest.mark.soak
def test_a_release_is_rehearsed(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = release(project, "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not started" not in done.stderr, "the helpers for all processors were started"
    assert len(list(out.glob("*.whl"))) == len(TAGS)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=out, check=True)
    again = release(project, "--out", out)
    assert again.returncode == 1 and "is not empty" in again.stderr

    bill = json.loads(next(out.glob("*.cdx.json")).read_text())
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    scopes = {one["name"].lower(): one["scope"] for one in bill["components"]}
    assert {scopes[name] for name in ("click", "cryptography", "orjson", "pyrage", "pyyaml", "glibc")} == {"required"}
    assert {scopes[name] for name in ("aiohttp", "duckdb", "genai-prices", "numpy", "scipy", "zstandard")} == {
        "optional"
    }
    assert not {"pytest", "mypy", "ruff"} & set(scopes)
    known = {one["bom-ref"] for one in bill["components"]} | {f"pkg:pypi/proctor@{declared['version']}"}
    assert {name for one in bill["dependencies"] for name in (one["ref"], *one["dependsOn"])} <= known

    key, signers = tmp_path / "key", tmp_path / "allowed_signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers.write_text(f'releaser namespaces="proctor-release" {key.with_suffix(".pub").read_text()}')
    sums = out / "SHA256SUMS"
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "proctor-release", "-f", key, sums], check=True)
    verify: list[str | Path] = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-n",
        "proctor-release",
        "-f",
        signers,
        "-I",
        "releaser",
        "-s",
        f"{sums}.sig",
    ]
    assert subprocess.run(verify, input=sums.read_bytes(), capture_output=True).returncode == 0
    assert subprocess.run(verify, input=b"0" + sums.read_bytes(), capture_output=True).returncode != 0

    pure = out / f"proctor-{declared['version']}-{TAGS['pure']}.whl"
    with zipfile.ZipFile(pure, "a") as wheel:
        wheel.writestr(HELPER, b"something else")
    with pytest.raises(SystemExit, match="RECORD does not list every file"):
        check_wheel(pure, "pure", declared["version"])
