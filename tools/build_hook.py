"""Builds the static helper that lives inside every sandbox, when the package is built or installed for development."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src/proctor/execute/sandbox"


def compile_helper() -> Path:
    """Compile all C sources of the sandbox into ``bin/proctor-init`` and return its path."""
    target = SOURCES / "bin" / "proctor-init"
    target.parent.mkdir(exist_ok=True)
    fresh = target.with_name(f"proctor-init.{os.getpid()}")
    sources = sorted(str(path) for path in (SOURCES / "native").glob("*.c"))
    flags = ["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    subprocess.run(["cc", *flags, "-o", str(fresh), *sources], check=True)
    fresh.chmod(0o755)
    fresh.replace(target)
    return target


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    pass
else:

    class CustomBuildHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
        """Hatchling calls this before it packs a wheel or makes an editable install."""

        def initialize(self, version: str, build_data: dict[str, object]) -> None:
            if self.target_name == "wheel":
                compile_helper()
                build_data["pure_python"] = False
                build_data["infer_tag"] = True


if __name__ == "__main__":
    sys.stdout.write(f"{compile_helper()}\n")
