"""The extras of the package: parts that only some commands need, and the message when a command lacks one.

Modules import the packages of an extra where they need them, and do not catch a failure. ``missing_extra`` turns the
error of such an import into the message; ``require_extra`` asks before a command begins what it could not finish.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from proctor.base.errors import UsageFault

EXTRAS = {
    "gateway": {"aiohttp": "aiohttp", "yarl": "aiohttp"},
    "prices": {"genai_prices": "genai-prices"},
    "study": {"duckdb": "duckdb", "numpy": "numpy", "scipy": "scipy"},
}
"""Of each extra, the modules that are imported, with the package that brings each."""


def missing_extra(error: ModuleNotFoundError) -> UsageFault | None:
    """The message for an import that failed because an extra is not installed; nothing for any other import."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return _missing(extra, module) if extra else None


def require_extra(extra: str) -> None:
    """Refuse to go on where a package of ``extra`` is not installed."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise _missing(extra, module)


def _missing(extra: str, module: str) -> UsageFault:
    packages = " ".join(dict.fromkeys(EXTRAS[extra].values()))
    python = sys.executable
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return UsageFault(
        f"this needs the extra '{extra}' of Proctor: the package {EXTRAS[extra][module]} is not installed",
        hint=f"install Proctor with [{extra}], or add to this environment: {installer} {packages}",
    )
