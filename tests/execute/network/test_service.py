"""Networks by contract, seen from inside real sandboxes: none, an allow list, recorded and replayed."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.contract.policy import NamedFile, Network
from proctor.execute.network.allow_list import AllowList, parse_rule
from proctor.execute.network.http_cassette import BadCassette, load
from proctor.execute.network.network_events import Bounds, Exchange, Lookup, Summary
from proctor.execute.network.network_service import NetworkService
from tests.execute.network.conftest import Town
from tests.execute.network.networked import Seen, networked

SITES = ("plain.test:80", "safe.test:443")
ASK_NAME = """
import socket
try:
    print(socket.gethostbyname({name!r}))
except socket.gaierror as error:
    print(error.errno == socket.EAI_NONAME)
"""


FRONTED = """
import socket, ssl
peer = socket.create_connection(('127.0.0.1', 801), 60)
peer.sendall(b'CONNECT safe.test:443 HTTP/1.1\\r\\n\\r\\n')
assert b'200' in peer.recv(100)
try:
    ssl._create_unverified_context().wrap_socket(peer, server_hostname='hidden.test')
except OSError:
    print('closed')
"""


def replaying(path: Path) -> tuple[Network, Path]:
    """The policy that replays a cassette, and the directory that it is relative to."""
    file = NamedFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
    return Network(replay=file), path.parent


class TestNone:
    def test_every_name_is_told_and_none_exists(self, top: Path) -> None:
        with networked(top, Network()) as inside:
            assert inside.environment == {}
            assert inside.python(ASK_NAME.format(name="Exfil-Secret.Example.Org")) == "True"
            told = [(one.name, one.allowed) for one in inside.seen.lookups]
            assert ("exfil-secret.example.org", False) in told
            payload = inside.seen.lookups[0].payload()
            assert payload["code"] == "dns" and payload["address"] == "127.0.0.1:53"
            assert inside.summary() == Summary("none", 0, 0, len(told), replayable=True)

    def test_nothing_but_the_name_server_listens(self, top: Path) -> None:
        with networked(top, Network()) as inside:
            listening = inside.python(
                "print([line.split()[1] for name in ('tcp', 'udp', 'tcp6') for line in open(f'/proc/net/{name}')][1:])"
            )
            assert set(listening.strip("[]").replace("'", "").split(", ")) - {"local_address"} == {"0100007F:0035"}

    def test_names_asked_for_over_tcp_are_told_too(self, top: Path) -> None:
        with networked(top, Network()) as inside:
            inside.python(
                "import socket, struct\n"
                "query = struct.pack('!6H', 7, 0x100, 1, 0, 0, 0) + b'\\3tcp\\4test\\0' + struct.pack('!2H', 16, 1)\n"
                "peer = socket.create_connection(('127.0.0.1', 53), 60)\n"
                "for _ in range(2):\n"
                "    peer.sendall(struct.pack('!H', len(query)) + query)\n"
                "    size = struct.unpack('!H', peer.recv(2, socket.MSG_WAITALL))[0]\n"
                "    assert peer.recv(size, socket.MSG_WAITALL)[3] & 15 == 3\n"
            )
            inside.summary()
            assert [(one.name, one.kind, one.count) for one in inside.seen.lookups] == [
                ("tcp.test", "TXT", 1),
                ("tcp.test", "TXT", 1),
            ]


class TestAllow:
    def test_a_permitted_page_passes_and_is_told(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES), town.web) as inside:
            assert inside.fetch("http://plain.test/hello") == (200, "GET /hello")
            (told,) = inside.seen.exchanges
            assert (told.host, told.port, told.method, told.path, told.status) == (
                "plain.test",
                80,
                "GET",
                "/hello",
                200,
            )
            assert told.response is not None and told.response.sha256 == hashlib.sha256(b"GET /hello").hexdigest()
            assert told.allowed and not told.replayed
            summary = inside.summary()
            assert not summary.replayable and summary.why == ("the network was open and not recorded",)

    def test_a_tunnel_passes_unread_and_is_told_when_it_opens_and_ends(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES), town.web) as inside:
            assert inside.page("https://safe.test/hello", trust=False) == "GET /hello"
            assert inside.summary().passed == 1
            first, last = inside.seen.exchanges
            assert (first.method, first.status, first.reason, first.response) == ("CONNECT", 200, "opened", None)
            assert last.reason.startswith("ended") and last.response is not None and last.response.size > 500

    def test_what_is_not_on_the_list_is_refused_in_words_and_told(self, top: Path, town: Town) -> None:
        before = list(town.web.dialled)
        with networked(top, Network(SITES), town.web) as inside:
            words = inside.page("http://evil.test/secret")
            assert "refused GET evil.test:80/secret" in words and "plain.test:80, safe.test:443" in words
            assert "403 Forbidden" in inside.page("https://evil.test/")
            assert inside.fetch("http://plain.test:8080/")[0] == 403
            assert inside.summary().refused == 3
            assert [(one.host, one.port, one.status, one.allowed) for one in inside.seen.exchanges] == [
                ("evil.test", 80, 403, False),
                ("evil.test", 443, 403, False),
                ("plain.test", 8080, 403, False),
            ]
            assert inside.summary().replayable, "nothing came in, so there is nothing to replay"
        assert town.web.dialled == before

    def test_programs_that_know_no_proxy_reach_the_same_and_no_more(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES), town.web) as inside:
            assert inside.page("http://plain.test/direct", proxy=False) == "GET /direct"
            assert inside.page("https://safe.test/direct", proxy=False, trust=False) == "GET /direct"
            assert "not known" in inside.page("http://evil.test/", proxy=False)
            assert "refused GET evil.test:80/" in inside.page("http://evil.test/", proxy=False, near=True)
            assert inside.fetch("https://evil.test/", proxy=False, near=True, trust=False)[0] == 0
            assert [one.host for one in inside.seen.exchanges if not one.allowed] == ["evil.test", "evil.test"]

    def test_another_site_behind_an_allowed_address(self, top: Path, town: Town) -> None:
        """Domain fronting: the tunnel is for one name, the greeting in it for another."""
        with networked(top, Network(SITES), town.web) as inside:
            assert inside.python(FRONTED) == "closed"
            inside.summary()
            last = inside.seen.exchanges[-1]
            assert not last.allowed and "hidden.test" in last.reason
            assert last.request is not None and last.request.size == 0

    def test_an_upstream_that_is_not_there_is_no_refusal(self, top: Path, town: Town) -> None:
        with networked(top, Network(("gone.test:80",)), town.web) as inside:
            assert "cannot be reached: Connection refused" in inside.page("http://gone.test/")
            (told,) = inside.seen.exchanges
            assert (told.status, told.allowed) == (502, True)

    def test_rules_on_paths_and_methods_hold_inside_secure_connections(self, top: Path, town: Town) -> None:
        rules = AllowList((parse_rule("safe.test:443", "/open", ("get",)),))
        with networked(top, Network(("safe.test:443",)), town.web, rules=rules) as inside:
            assert inside.page("https://safe.test/open/page") == "GET /open/page"
            for url in ("/closed", "/open/../closed", "/open/%2e%2e/closed", "/openly"):
                assert "Proctor refused" in inside.page(f"https://safe.test{url}"), url
            assert inside.fetch("https://safe.test/open/page", data="x")[0] == 403
            assert inside.fetch("https://safe.test/open/page", headers={"Host": "other.test"})[0] == 421
            assert inside.summary().refused == 6

    def test_a_planted_token_in_a_request(self, top: Path, town: Town) -> None:
        token = b"tok-0123456789abcdef"
        with networked(top, Network(SITES), town.web, spot=lambda data: ("token",) * (token in data)) as inside:
            inside.page("http://plain.test/post", data="x" * 65_530 + token.decode())
            inside.page("http://plain.test/page", headers={"Authorization": f"Bearer {token.decode()}"})
            inside.page("http://plain.test/page")
            assert [one.canaries for one in inside.seen.exchanges] == [("token",), ("token",), ()]

    def test_a_planted_token_in_a_request_without_an_answer(self, top: Path, town: Town) -> None:
        rules = Network((*SITES, "gone.test:80"))
        with networked(top, rules, town.web, spot=lambda data: ("token",) * (b"tok-0123" in data)) as inside:
            inside.page("http://gone.test/post", data="tok-0123")
            inside.page("http://elsewhere.test/tok-0123")
            inside.page("https://tok-0123.test/")
            told = [(one.host, one.allowed, one.canaries) for one in inside.seen.exchanges]
            assert told == [
                ("gone.test", True, ("token",)),
                ("elsewhere.test", False, ("token",)),
                ("tok-0123.test", False, ("token",)),
            ]

    def test_more_exchanges_than_the_network_may_have(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES), town.web, bounds=Bounds(exchanges=3)) as inside:
            codes = [inside.fetch("http://plain.test/")[0] for _ in range(6)]
            assert codes == [200] * 3 + [503] * 3
            inside.summary()
            assert len(inside.seen.exchanges) == 4
            assert inside.seen.exchanges[-1].reason.startswith("3 more")


class TestCassettes:
    def test_what_was_recorded_is_replayed_without_a_server(self, top: Path, town: Town) -> None:
        urls = ("https://safe.test/a?b=c", "http://plain.test/chunked", "http://plain.test/close")
        with networked(top / "first", Network(SITES, "pages"), town.web) as inside:
            first = [inside.page(url) for url in urls]
            assert first == ["GET /a?b=c", "first second", "to the end"]
            recorded = inside.summary()
            assert recorded.replayable and recorded.cassette is not None
        policy, directory = replaying(recorded.cassette)
        before = list(town.web.dialled)
        with networked(top / "again", policy, town.web, directory=directory) as inside:
            assert [inside.page(url) for url in urls] == first
            assert inside.fetch(urls[0], proxy=False)[0] == 403
            assert all(one.replayed for one in inside.seen.exchanges[:-1])
            summary = inside.summary()
            assert summary.replayable and summary.sha256 == recorded.sha256 and summary.unplayed == 0
        assert town.web.dialled == before

    def test_redirects_and_repetitions_come_in_order(self, top: Path, town: Town) -> None:
        urls = ("https://safe.test/count",) * 3
        with networked(top / "first", Network(SITES, "pages"), town.web) as inside:
            counts = [inside.page(url) for url in urls]
            assert len(set(counts)) == 3
            assert inside.page("https://safe.test/moved", follow=True) == "GET /landed"
            cassette = inside.summary().cassette
            assert cassette is not None
        policy, directory = replaying(cassette)
        with networked(top / "again", policy, directory=directory) as inside:
            assert inside.page("https://safe.test/moved", follow=True) == "GET /landed"
            assert [inside.page(url) for url in urls] == counts
            assert "recorded 3 times, and this is one request more" in inside.page(urls[0])

    def test_a_redirect_off_the_list_is_refused_alike(self, top: Path, town: Town) -> None:
        town.secure.moved_to = "https://other.test/away"
        try:
            with networked(top / "first", Network(SITES, "pages"), town.web) as inside:
                assert "403 Forbidden" in inside.page("https://safe.test/moved", follow=True)
                cassette = inside.summary().cassette
                assert cassette is not None
        finally:
            town.secure.moved_to = "/landed"
        policy, directory = replaying(cassette)
        with networked(top / "again", policy, directory=directory) as inside:
            assert "403 Forbidden" in inside.page("https://safe.test/moved", follow=True)
            assert [(one.host, one.allowed) for one in inside.seen.exchanges] == [
                ("safe.test", True),
                ("other.test", False),
            ]

    def test_a_request_that_is_not_on_the_tape_is_refused_and_told(self, top: Path, town: Town) -> None:
        with networked(top / "first", Network(SITES, "pages"), town.web) as inside:
            inside.page("https://safe.test/post", data="one")
            cassette = inside.summary().cassette
            assert cassette is not None
        policy, directory = replaying(cassette)
        with networked(top / "again", policy, directory=directory) as inside:
            assert "recorded with another body" in inside.page("https://safe.test/post", data="two")
            assert "nothing was recorded for it" in inside.page("https://safe.test/unknown")
            assert inside.page("https://safe.test/post", data="one") == "got one"
            assert [one.allowed for one in inside.seen.exchanges] == [False, False, True]
            assert inside.summary().refused == 2

    def test_an_answer_that_was_cut_makes_a_run_that_cannot_be_replayed(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES, "pages"), town.web) as inside:
            assert inside.fetch("http://plain.test/cut")[0] == 0
            summary = inside.summary()
            assert not summary.replayable and "/cut: it did not end" in summary.why[0]
            assert summary.cassette is not None and load(summary.cassette.read_bytes()).gaps == summary.why

    def test_a_server_that_did_not_answer_is_on_the_tape(self, top: Path, town: Town) -> None:
        with networked(top / "first", Network(("gone.test:80",), "pages"), town.web) as inside:
            words = inside.page("http://gone.test/")
            cassette = inside.summary().cassette
            assert cassette is not None and inside.summary().replayable
        policy, directory = replaying(cassette)
        with networked(top / "again", policy, directory=directory) as inside:
            assert inside.page("http://gone.test/") == words

    def test_a_cassette_without_room(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES, "pages"), town.web, bounds=Bounds(tape_bytes=1000)) as inside:
            assert len(inside.page("http://plain.test/large/2000")) == 2000
            summary = inside.summary()
            assert not summary.replayable and "the cassette is full" in summary.why[0]

    def test_credentials_are_not_on_the_tape(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES, "pages"), town.web) as inside:
            inside.page("https://safe.test/page", headers={"Authorization": "Basic hunter2", "Cookie": "a=secret"})
            cassette = inside.summary().cassette
            assert cassette is not None
            data = cassette.read_bytes()
            assert b"/page" in data and b"secret" not in data and b"hunter2" not in data

    def test_a_cassette_that_has_changed(self, tmp_path: Path) -> None:
        (tmp_path / "tape").write_bytes(b"{}\n")
        with pytest.raises(BadCassette, match="changed since"):
            NetworkService(Network(replay=NamedFile("tape", "0" * 64)), tmp_path, Seen().tell, directory=tmp_path)


class TestLife:
    def test_closing_ends_what_is_under_way(self, top: Path, town: Town) -> None:
        with networked(top, Network(SITES), town.web) as inside:
            hold = (
                "import socket\n"
                "peer = socket.create_connection(('127.0.0.1', 801), 60)\n"
                "peer.sendall(b'CONNECT safe.test:443 HTTP/1.1\\r\\n\\r\\n')\n"
                "assert b'200' in peer.recv(100)\n"
                "print('open')\n"
                "try: socket.gethostbyname('ready.test')\n"
                "except socket.gaierror: pass\n"
                "print(peer.recv(1))\n"
            )
            answers: list[str] = []
            thread = threading.Thread(target=lambda: answers.append(inside.python(hold)))
            thread.start()
            inside.seen.wait_for(lambda one: isinstance(one, Lookup) and one.name == "ready.test")
            inside.summary()
            thread.join(60)
            assert answers == ["open\nb''"]
            assert inside.seen.exchanges[-1].reason.startswith("ended")

    def test_nothing_passes_when_nobody_can_be_told(self, top: Path, town: Town) -> None:
        def deaf(told: object) -> None:
            raise OSError(28, "No space left on device")

        before = len(town.plain.asked)
        service = NetworkService(Network(SITES), top, deaf, connect=town.web.dial)
        with pytest.raises(OSError, match="No space"):
            service._events(Exchange("plain.test", 80, "GET", "/", 200))
        assert service._events.full
        with pytest.raises(InfrastructureFault, match="events could not be recorded"):
            service.close()
        assert len(town.plain.asked) == before

    def test_a_closed_network_does_not_start(self, tmp_path: Path) -> None:
        service = NetworkService(Network(), tmp_path, Seen().tell)
        assert service.close() == service.close()
        with pytest.raises(InfrastructureFault, match="closed"):
            service.start(Nobody())


class Nobody:
    init_pid = 1
