"""The network beside the rest of a sandbox: under a guard, while it is frozen, in two sandboxes at once."""

from __future__ import annotations

import threading
from pathlib import Path

from proctor.base.canonical import canonical
from proctor.contract.policy import Network
from proctor.execute.network.network_events import Exchange
from proctor.execute.network.network_service import NetworkService
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.record.trace.event_types import check_event
from tests.execute.network.conftest import Town
from tests.execute.network.networked import Networked, Seen, networked
from tests.execute.network.servers import WAIT_SECONDS

SITES = ("plain.test:80", "safe.test:443")


def test_a_guard_has_nothing_against_what_is_open(top: Path, town: Town) -> None:
    observed: list[Observation] = []
    guard = GuardPlan(notify=observed.append)
    with networked(top, Network(SITES, "pages"), town.web, plan={"guard": guard}) as inside:
        assert inside.page("http://plain.test/page") == "GET /page"
        assert inside.page("https://safe.test/page", proxy=False) == "GET /page"
        assert inside.box.guard is not None
        inside.box.guard.settle()
        attempts = [one for one in observed if one.kind == "attempt" and not one.allowed]
        assert attempts == []


def test_an_exchange_outlives_a_freeze(top: Path, town: Town) -> None:
    asked, go_on = threading.Event(), threading.Event()
    real = town.web.dial

    def dial(host: str, port: int, seconds: float) -> object:
        asked.set()
        assert go_on.wait(WAIT_SECONDS)
        return real(host, port, seconds)

    with networked(top, Network(SITES), town.web, connect=dial) as inside:
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(inside.page("http://plain.test/page")))
        thread.start()
        assert asked.wait(WAIT_SECONDS)
        inside.box.freeze()
        go_on.set()
        inside.seen.wait_for(lambda one: isinstance(one, Exchange) and one.status == 200)
        inside.box.thaw()
        thread.join(WAIT_SECONDS)
        assert found == ["GET /page"]


def test_one_network_in_two_sandboxes(top: Path, town: Town) -> None:
    seen = Seen()
    (top / "shared").mkdir()
    service = NetworkService(Network(SITES), top / "shared", seen.tell, connect=town.web.dial)
    with (
        networked(top / "one", Network(), service=service) as one,
        networked(top / "two", Network(), service=service) as two,
    ):
        assert [inside.page(f"http://plain.test/{name}") for name, inside in (("one", one), ("two", two))] == [
            "GET /one",
            "GET /two",
        ]
        assert [told.path for told in seen.exchanges] == ["/one", "/two"]
    assert service.close().passed == 2


def test_the_authority_shows_its_certificate_and_nothing_else(top: Path, town: Town) -> None:
    with networked(top, Network(SITES, "pages"), town.web) as inside:
        place = inside.environment["SSL_CERT_FILE"]
        assert {
            inside.environment[name] for name in ("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE")
        } == {place}
        text = inside.python(f"print(open({place!r}).read())")
        assert text.count("BEGIN CERTIFICATE") == 1 and "KEY" not in text
        write = f"try: open({place!r}, 'w')\nexcept OSError as error: print('refused')"
        assert inside.python(write) == "refused"


def test_everything_that_is_told_can_be_written_down(top: Path, town: Town) -> None:
    with networked(top, Network(SITES), town.web) as inside:
        _make_noise(inside)
        summary = inside.summary()
        for told in inside.seen.all:
            assert check_event(told.event, told.payload(), None) == "agent"
            assert len(canonical(told.payload())) < 20_000
        assert check_event("network.closed", summary.payload(), None) == "harness" and canonical(summary.payload())
        assert summary.refused >= 3


def _make_noise(inside: Networked) -> None:
    """Things of all kinds that a hostile program may say."""
    inside.python(
        "import socket\n"
        "def say(port, data):\n"
        "    try:\n"
        "        with socket.create_connection(('127.0.0.1', port), 60) as peer:\n"
        "            peer.sendall(data)\n"
        "            peer.shutdown(socket.SHUT_WR)\n"
        "            while peer.recv(65536): pass\n"
        "    except OSError: pass\n"
        "say(801, b'GET http://evil.test/' + b'x' * 60000 + b' HTTP/1.1\\r\\n\\r\\n')\n"
        "say(801, bytes(range(256)) + b'\\r\\n\\r\\n')\n"
        "say(801, b'\\xff' * 70000)\n"
        "say(443, b'\\x16\\x03\\x01' + b'\\xff' * 70000)\n"
        "say(80, b'GET / HTTP/1.1\\r\\nHost: \\xff\\r\\n\\r\\n')\n"
        "say(53, b'\\xff' * 70000)\n"
        "for data in (b'', b'\\xff' * 600, b'\\0' * 12):\n"
        "    socket.socket(type=socket.SOCK_DGRAM).sendto(data, ('127.0.0.1', 53))\n"
    )
