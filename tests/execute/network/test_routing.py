"""Where a request goes, and requests that would go to two places."""

from __future__ import annotations

import pytest

from proctor.execute.network.allow_list import Place, Route, authority, route
from proctor.execute.network.http_messages import Malformed, RequestHead

SAFE = Place("https", "safe.test", 443)
ANY = Place("http", "", 80)


def head(target: str, *hosts: str) -> RequestHead:
    return RequestHead("GET", target, "HTTP/1.1", tuple(("Host", host) for host in hosts))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("http://a.test/x?y", Route("http", "a.test", 80, "/x?y")),
        ("http://A.Test.:8080/x", Route("http", "a.test", 8080, "/x")),
        ("HTTPS://a.test", Route("https", "a.test", 443, "/")),
        ("http://a.test?q=/x", Route("http", "a.test", 80, "/?q=/x")),
        ("http://[::1]:81/", Route("http", "::1", 81, "/")),
        ("http://[::1]/", Route("http", "::1", 80, "/")),
    ],
)
def test_whole_addresses(target: str, expected: Route) -> None:
    assert route(head(target, "ignored.test"), None) == expected


@pytest.mark.parametrize(
    "target",
    [
        *(
            "/path",
            "*",
            "a.test:80",
            "ftp://a.test/",
            "http:///x",
            "http://user@a.test/",
            "http://a.test:/",
            "http://:80/",
        ),
        *("http://a.test:99999/", "http://a.test:80:81/", "http://a.test:8o/", "http://a.test/#part", "http://::1/"),
        *("http://a.test\\@b.test/", "http://*.test/", "http://[a.test]/"),
    ],
)
def test_addresses_that_are_refused(target: str) -> None:
    with pytest.raises(Malformed):
        route(head(target), None)


def test_a_server_is_asked_by_paths() -> None:
    assert route(head("/x", "safe.test"), SAFE) == Route("https", "safe.test", 443, "/x")
    assert route(head("/x", "Safe.Test:443"), SAFE) == Route("https", "safe.test", 443, "/x")
    assert route(head("/x"), SAFE) == Route("https", "safe.test", 443, "/x")
    assert route(head("/x", "a.test"), ANY) == Route("http", "a.test", 80, "/x")


@pytest.mark.parametrize(
    ("target", "hosts", "place"),
    [
        ("/x", ("other.test",), SAFE),
        ("/x", ("safe.test:80",), SAFE),
        ("/x", ("safe.test", "safe.test"), SAFE),
        ("https://safe.test/x", ("safe.test",), SAFE),
        ("*", ("safe.test",), SAFE),
        ("/x", ("a.test:81",), ANY),
        ("/x", (), ANY),
        ("/x", ("",), ANY),
        ("/x", ("a.test, b.test",), ANY),
        ("/x#y", ("safe.test",), SAFE),
    ],
)
def test_a_server_is_not_asked_for_others(target: str, hosts: tuple[str, ...], place: Place) -> None:
    with pytest.raises(Malformed):
        route(head(target, *hosts), place)


def test_tunnels_name_a_port() -> None:
    assert authority("a.test:443", None) == ("a.test", 443)
    with pytest.raises(Malformed):
        authority("a.test", None)
