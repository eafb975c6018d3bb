"""Builds the static helper that lives inside every sandbox, when the package is built or installed for development."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang")
HINT = "\n  install a C compiler with a static C library and try again: apt-get install gcc libc6-dev"
SOURCES = Path(__file__).resolve().parent.parent / "src/proctor/execute/sandbox"


def compile_helper() -> Path:
    """Compile all C sources of the sandbox into ``bin/proctor-init`` and return its path.

    Without a compiler, or when it fails, the build ends with one message and no traceback.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise SystemExit(f"proctor: the native helper cannot be built: none of {', '.join(COMPILERS)} is on PATH{HINT}")
    target = SOURCES / "bin" / "proctor-init"
    target.parent.mkdir(exist_ok=True)
    fresh = target.with_name(f"proctor-init.{os.getpid()}")
    sources = sorted(str(path) for path in (SOURCES / "native").glob("*.c"))
    flags = ["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    if subprocess.run([compiler, *flags, "-o", str(fresh), *sources]).returncode != 0:
        fresh.unlink(missing_ok=True)
        raise SystemExit(f"proctor: the native helper cannot be built: {compiler} failed, see above{HINT}")
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
