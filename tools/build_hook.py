"""Builds the static helper that lives inside every sandbox, when the package is built or installed for development."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang")
HINT = "\n  install a C compiler with a static C library and try again: apt-get install gcc libc6-dev"
FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"),
    *("-static-pie", "-fPIE", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"),
    *("-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"),
)
SANITIZED_FLAGS = (
    *("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-format-truncation", "-D_GNU_SOURCE"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    *("-static-libasan", "-static-libubsan", "-pie", "-fPIE"),
)
"""AddressSanitizer cannot be linked statically, so this build is for tests alone. It ends at the first fault."""
SOURCES = Path(__file__).resolve().parent.parent / "src/proctor/execute/sandbox"


def compile_sanitized(target: Path, log: Path, *more: Path, helper: bool = True) -> Path:
    """Compile the C sources with sanitizers, and ``more`` files beside them; reports go to files named after ``log``.

    Without ``helper``, the main program is one of ``more``.
    """
    sources = [path for path in sorted((SOURCES / "native").glob("*.c")) if helper or path.name != "main.c"]
    places = (f"-I{SOURCES / 'native'}", f'-DSANITIZER_LOG="{log}"', "-o", str(target))
    subprocess.run(["gcc", *SANITIZED_FLAGS, *places, *map(str, (*sources, *more))], check=True)
    target.chmod(0o755)
    return target


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
    if subprocess.run([compiler, *FLAGS, "-o", str(fresh), *sources]).returncode != 0:
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
