"""A pytest plugin that records why tests fail: by an assertion, because a name is missing, or otherwise.

It writes lines of the Test Anything Protocol, whose descriptions begin with the kind and the missing name, so that the
harness reads them like any other results. It runs inside the sandbox on whatever interpreter the check starts; the
harness itself never imports it.
"""

import json
import os
import re
from typing import Any, Dict, Generator, List, Tuple  # noqa: UP035  (old interpreters)

import pytest

NAME = re.compile(
    r"(?:cannot import name|No module named|has no attribute|has no member|name|unexpected keyword argument|"
    r"missing \d+ required (?:positional|keyword-only) arguments?:) '([A-Za-z_][A-Za-z0-9_.]*)'"
)
FORM = re.compile(
    r"takes (?:from )?\d+.* positional arguments?|not subscriptable|not callable|not iterable|context manager protocol|"
    r"missing \d+ required|unexpected keyword argument|got some positional-only|multiple values for argument"
)
MISSING = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "UnboundLocalError")

_SEEN: Dict[str, Tuple[str, str, str]] = {}  # noqa: UP006
_LINES: List[str] = []  # noqa: UP006


def kind_of(error: BaseException, in_test: bool) -> Tuple[str, str]:  # noqa: UP006
    """The kind of a failure, and the name that is missing; ``in_test``: whether the test's own code raised it."""
    names = [one.__name__ for one in type(error).__mro__]
    text = str(error)[:20000]
    if "CollectError" in names:
        found = re.findall(r"^E\s+((?:ImportError|ModuleNotFoundError): .*)$", text, re.MULTILINE)
        match = NAME.search(found[-1]) if found else None
        return ("missing", match.group(1)) if match else ("collection", "")
    if "Failed" in names and "Timeout" in text:
        return "timeout", ""
    if "AssertionError" in names or "Failed" in names:
        return "assertion", ""
    match = NAME.search(text)
    if in_test and (any(one in names for one in MISSING) or ("TypeError" in names and FORM.search(text))):
        return "missing", match.group(1) if match else ""
    return "exception", match.group(1) if match and "AttributeError" in names else ""


def note(test: str, when: str, kind: str, name: str) -> None:
    """Keep the first failure of a test."""
    _SEEN.setdefault(test, (when, kind, name))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    """Look at the exception of a phase that failed."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and call.excinfo is not None:
        place = str(call.excinfo.traceback[-1].path) if call.excinfo.traceback else ""
        tests = (str(item.fspath), "conftest.py")
        kind, name = kind_of(call.excinfo.value, place.endswith(tests))
        note(report.nodeid, report.when, kind, name)


@pytest.hookimpl(tryfirst=True)
def pytest_exception_interact(node: Any, call: Any, report: Any) -> None:
    """Look at the exception of a file that could not be collected."""
    if getattr(report, "when", "collect") == "collect" and call.excinfo is not None:
        kind, name = kind_of(call.excinfo.value, True)
        note(report.nodeid, "collect", kind if kind in ("missing", "collection") else "collection", name)


def pytest_collection_modifyitems(config: Any, items: List[Any]) -> None:  # noqa: UP006
    """Leave out all tests but those that the harness asks for."""
    wanted = json.loads(os.environ.get("PROCTOR_ONLY") or "null")
    if wanted is not None:
        kept = [item for item in items if item.nodeid in set(wanted)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_sessionfinish(session: Any) -> None:
    """Write what was seen."""
    place = os.environ.get("PROCTOR_RESULTS", "")
    if not place:
        return
    lines = ["TAP version 13", f"1..{len(_SEEN)}"]
    for number, (test, (when, kind, name)) in enumerate(sorted(_SEEN.items()), 1):
        text = test.encode("utf-8", "backslashreplace").decode("utf-8").replace("\n", "\\n").replace("#", "\\#")
        lines.append(f"not ok {number} - {when} {kind} {name or '-'} {text}")
    with open(os.path.join(place, "failures.tap"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
