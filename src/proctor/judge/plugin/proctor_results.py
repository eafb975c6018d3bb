"""The pytest plugin that the harness loads into a check's own test process.

It writes one signed line for each report to a file of its own in the results directory, adds the sentinel file to
what is collected, keeps the sentinels from being filtered out, runs them at drawn places among the other tests, and
takes their failure out of the exit status. It records what code of the tree changed in the test runner, with
``proctor_fingerprints``, because sentinels do not detect a forgery that affects only some tests. It uses only the
standard library, works with pytest 6 to 9, and runs on whatever interpreter the check starts. It is mounted read-only;
the harness itself never imports it.

Code under test shares this process. The key is removed at once from the environment, or from the file that is named
there, which makes forging harder but does not prevent it.
"""

import hashlib
import hmac
import json
import os
import types
from typing import Any, Dict, Generator, List, Union  # noqa: UP035  (old interpreters)

import pytest
from proctor_fingerprints import Fingerprints  # type: ignore[import-not-found]

VARIABLE = "PROCTOR_PYTEST"


class Reporter:
    """Writes the lines; only the process that leads the session has one."""

    def __init__(self, key: bytes, directory: str) -> None:
        self._key = key
        self._count = 0
        self._new = hmac.new
        self._write = os.write
        self._dumps = json.dumps
        name = os.path.join(directory, "pytest-" + os.urandom(8).hex() + ".jsonl")
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._process = os.getpid()

    def line(self, record: Dict[str, Any]) -> None:  # noqa: UP006
        """Append one signed line; a forked child of the session stays silent."""
        if os.getpid() != self._process:
            return
        text = self._dumps(record, sort_keys=True).encode("ascii")
        code = self._new(self._key, b"%d " % self._count + text, hashlib.sha256).hexdigest()
        self._count += 1
        rest = code.encode("ascii") + b" " + text + b"\n"
        while rest:
            rest = rest[self._write(self._file, rest) :]


class Plugin:
    """The hooks, with the state of one session."""

    def __init__(self, settings: Dict[str, Any]) -> None:  # noqa: UP006
        self.sentinel = str(settings.get("sentinel", ""))
        self.token = str(settings.get("token", ""))
        self.places = list(settings.get("places", []))
        self.only = list(settings.get("only", []))
        self._settings = settings
        self._reporter: Union[Reporter, None] = None  # noqa: UP007
        self._others = 0
        self._others_failed = 0
        self._changed: List[Any] = []  # noqa: UP006

    def begin(self, config: Any) -> None:
        """Take part in a new session; if only some tests are to run, only their files are collected."""
        worker = hasattr(config, "workerinput")
        if not worker:
            self._reporter = Reporter(bytes.fromhex(self._settings["key"]), self._settings["directory"])
        config.option.maxfail = 0
        if self.only and not worker:
            root = str(getattr(config, "rootpath", None) or config.rootdir)
            files = dict.fromkeys(test.partition("::")[0] for test in self.only)
            config.args[:] = [os.path.join(root, file) for file in files]
        if self.sentinel and self.sentinel not in config.args:
            # Some versions drop a directory that is named beside a file in it, unless duplicates are kept.
            config.option.keepduplicates = True
            config.args.append(self.sentinel)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the workers of pytest-xdist the tests that they must not filter out."""
        node.workerinput["proctor"] = [self.sentinel, self.token, self._settings["options"], self.places, self.only]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what code of the tree changed in a worker of pytest-xdist, where the tests ran."""
        self._changed += [
            one for one in getattr(node, "workeroutput", {}).get("proctor", []) if one not in self._changed
        ]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: Any) -> Generator[None, Any, None]:
        """Take this plugin out of the options once workers were started, so that sessions in tests stay their own."""
        yield
        objects = {"reporter": self._reporter} if self._reporter is not None else {}
        _FINGERPRINTS.begin(session.config.pluginmanager, {"session plug-in": self, **objects})
        if self._settings["options"]:
            os.environ["PYTEST_ADDOPTS"] = self._settings["options"]
        else:
            os.environ.pop("PYTEST_ADDOPTS", None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: Any) -> Any:
        """Collect the sentinel functions whatever names the tree's configuration wants tests to have."""
        if self._is_sentinel(collector.nodeid) and name.startswith("test_") and isinstance(obj, types.FunctionType):
            return list(collector._genfunctions(name, obj)) if hasattr(collector, "_genfunctions") else None
        return None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: List[Any]) -> Generator[None, Any, None]:  # noqa: UP006
        """Run the sentinels, each at its place, even if the command or the tree selects other tests."""
        mine = {item.nodeid: item for item in items if self._is_sentinel(item.nodeid)}
        yield
        wanted = set(self.only)
        others = [i for i in items if not self._is_sentinel(i.nodeid) and (not wanted or i.nodeid in wanted)]
        gaps = self._gaps([item.nodeid.partition("::")[0] for item in others], list(mine))
        placed: Dict[int, List[Any]] = {}  # noqa: UP006
        for place, item in zip(self.places + [-1] * len(mine), mine.values()):  # noqa: B905
            placed.setdefault(gaps[place % len(gaps)], []).append(item)
        items[:] = placed.get(0, [])
        for number, item in enumerate(others, 1):
            items.append(item)
            items.extend(placed.get(number, []))

    def _gaps(self, files: List[str], mine: List[str]) -> List[int]:  # noqa: UP006
        """Before which of the tests of ``files`` a sentinel may run, and at the end.

        Never within a file nor among the files of another directory, whose fixtures would be set up again.
        """
        own = {os.path.dirname(test.partition("::")[0]) for test in mine}
        found = [0]
        for number in range(1, len(files)):
            before, after = (os.path.dirname(file) for file in files[number - 1 : number + 1])
            if files[number - 1] != files[number] and (before != after or after in own):
                found.append(number)
        return [*found, len(files)] if files else found

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        """Compare the collected tests with their files."""
        _FINGERPRINTS.collected(session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> None:
        """Compare a test that has run with the collected one."""
        _FINGERPRINTS.after_item(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note one phase of one test."""
        self._note(report.nodeid, report.when, report.outcome)
        if report.when == "teardown":
            _FINGERPRINTS.after_test()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        """Note a file that could not be collected."""
        if report.outcome == "failed":
            self._note(report.nodeid, "collect", report.outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Generator[None, Any, None]:
        """Leave the sentinels out of the exit status, then close the record."""
        if self._reporter is not None and int(session.exitstatus) == 1 and not self._others_failed:
            session.exitstatus = 0 if self._others else 5
        if hasattr(session.config, "workeroutput"):  # sent to the leader when the other hooks have run
            session.config.workeroutput["proctor"] = _changes(session.config)
        yield
        if self._reporter is not None:
            changed = _changes(session.config)
            changed += [one for one in self._changed if one not in changed]
            if changed:
                self._reporter.line({"kind": "runner", "changed": changed})
            self._reporter.line({"kind": "finished", "status": int(session.exitstatus)})
            self._reporter = None

    def _note(self, test: str, when: str, outcome: str) -> None:
        if not self._is_sentinel(test):
            self._others += 1
            self._others_failed += outcome == "failed"
        if self._reporter is not None:
            self._reporter.line({"kind": "report", "id": _text(test), "when": str(when), "outcome": str(outcome)})

    def _is_sentinel(self, test: str) -> bool:
        return bool(self.token) and self.token in test


def _changes(config: Any) -> List[List[str]]:  # noqa: UP006
    """What code of the tree has changed in the test runner of this process."""
    _FINGERPRINTS.end(config.pluginmanager)
    return [[_text(part) for part in change] for change in _FINGERPRINTS.changes()]


def _text(name: Any) -> str:
    """A name as text that can be encoded."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8")


def _settings() -> Dict[str, Any]:  # noqa: UP006
    """What the harness passed, taken out of the environment, or out of the file that it names, at once."""
    text = os.environ.pop(VARIABLE, "")
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            handed = file.read()
        os.unlink(text[1:])
        text = handed
    return dict(json.loads(text)) if text else {}


_SETTINGS = _settings()
_FINGERPRINTS = Fingerprints(os.getcwd())


@pytest.hookimpl(trylast=True)
def pytest_configure(config: Any) -> None:
    """Start once, in the session that the harness's variable was meant for or in one of its workers."""
    settings = dict(_SETTINGS)
    _SETTINGS.clear()
    if not settings and hasattr(config, "workerinput"):
        sentinel, token, options, places, only = config.workerinput.get("proctor", ["", "", "", [], []])
        settings = {"sentinel": sentinel, "token": token, "options": options, "places": places, "only": only}
    if settings:
        plugin = Plugin(settings)
        plugin.begin(config)
        config.pluginmanager.register(plugin, "proctor-results-session")
