"""Build the static helper that every sandbox starts, when a wheel is built or Proctor is installed for development.

``PROCTOR_WHEEL`` says which wheel is built: the name of a processor (``x86_64``, ``aarch64``) for Linux wheels with the
helper, cross-compiled where necessary, or ``pure`` for the wheel without it. Without the variable, a wheel for this
machine is built: with the helper on Linux, without it elsewhere.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang")
HINT = "\n  install a C compiler with a static C library and try again: apt-get install {packages}"
PACKAGES = {
    "": "gcc libc6-dev",
    "x86_64": "gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
    "aarch64": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
}
"""The Debian packages of the compiler for this machine, and of those for the processors that wheels are built for."""
PURE = "pure"
TAGS = "py3-none-manylinux_2_17_{0}.musllinux_1_1_{0}"
"""The helper is linked statically and the rest is Python, so one wheel serves every C library and Python 3."""
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


def is_helper_outdated(target: Path = SOURCES / "bin" / "proctor-init") -> bool:
    """Whether the helper of this checkout is older than one of its sources; a missing one is not."""
    if not target.exists():
        return False
    built = target.stat().st_mtime_ns
    return any(path.stat().st_mtime_ns > built for path in (SOURCES / "native").glob("*.[ch]"))


def compile_helper(target: Path = SOURCES / "bin" / "proctor-init", processor: str = "") -> Path:
    """Compile all C sources of the sandbox into ``target`` and return it; for this machine, or for ``processor``.

    Without a compiler, or when it fails, the build ends with one message and no traceback.
    """
    if processor == platform.machine():
        processor = ""
    compilers = (f"{processor}-linux-gnu-gcc",) if processor else COMPILERS
    compiler = next(filter(None, map(shutil.which, compilers)), None)
    hint = HINT.format(packages=PACKAGES[processor])
    if compiler is None:
        raise SystemExit(f"proctor: the native helper cannot be built: none of {', '.join(compilers)} is on PATH{hint}")
    target.parent.mkdir(exist_ok=True)
    fresh = target.with_name(f"proctor-init.{os.getpid()}")
    sources = sorted(str(path) for path in (SOURCES / "native").glob("*.c"))
    if subprocess.run([compiler, *FLAGS, "-o", str(fresh), *sources]).returncode != 0:
        fresh.unlink(missing_ok=True)
        raise SystemExit(f"proctor: the native helper cannot be built: {compiler} failed, see above{hint}")
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
            """Compile the helper, add it to the wheel and name the machines that the wheel is for."""
            wanted = os.environ.get("PROCTOR_WHEEL", "")
            if wanted not in {*PACKAGES, PURE}:
                known = ", ".join(sorted(filter(None, PACKAGES)))
                raise SystemExit(f"proctor: PROCTOR_WHEEL={wanted}: not {PURE} or one of {known}")
            if self.target_name != "wheel" or wanted == PURE or (not wanted and sys.platform != "linux"):
                return
            build_data["pure_python"] = False
            if version == "editable":
                compile_helper()
                return
            self._compiled = tempfile.TemporaryDirectory()
            helper = compile_helper(Path(self._compiled.name) / "proctor-init", wanted)
            build_data["force_include"] = {str(helper): "proctor/execute/sandbox/bin/proctor-init"}
            build_data["tag"] = TAGS.format(wanted) if wanted else f"py3-none-linux_{platform.machine()}"

        def finalize(self, version: str, build_data: dict[str, object], artifact_path: str) -> None:
            """Remove the helper that was compiled for the wheel."""
            if hasattr(self, "_compiled"):
                self._compiled.cleanup()


if __name__ == "__main__":
    sys.stdout.write(f"{compile_helper()}\n")
