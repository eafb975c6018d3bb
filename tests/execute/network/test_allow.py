"""Rules on addresses, paths and methods."""

from __future__ import annotations

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.network.allow_list import AllowList, Rule, parse_rule, plain_host

LIST = AllowList(
    (
        parse_rule("example.org:443"),
        parse_rule("*.example.net:80"),
        parse_rule("paths.test:80", "/a/b", ("get", "head")),
        parse_rule("[::1]:8080"),
    )
)


@pytest.mark.parametrize(
    ("method", "host", "port", "target", "passes"),
    [
        ("GET", "example.org", 443, "/", True),
        ("DELETE", "example.org", 443, "/../%2e", True),
        ("GET", "example.org", 80, "/", False),
        ("GET", "www.example.org", 443, "/", False),
        ("GET", "evil-example.org", 443, "/", False),
        ("GET", "example.org.evil.test", 443, "/", False),
        ("GET", "a.example.net", 80, "/", True),
        ("GET", "a.b.example.net", 80, "/", True),
        ("GET", "example.net", 80, "/", False),
        ("GET", ".example.net", 80, "/", False),
        ("GET", "aexample.net", 80, "/", False),
        ("GET", "paths.test", 80, "/a/b", True),
        ("GET", "paths.test", 80, "/a/b/", True),
        ("HEAD", "paths.test", 80, "/a/b/c?x=/../y", True),
        ("GET", "paths.test", 80, "/a/b?query", True),
        ("GET", "paths.test", 80, "/a/bc", False),
        ("GET", "paths.test", 80, "/a", False),
        ("POST", "paths.test", 80, "/a/b", False),
        ("get", "paths.test", 80, "/a/b", False),
        ("GET", "paths.test", 80, "/a/b/../c", False),
        ("GET", "paths.test", 80, "/a/b/..", False),
        ("GET", "paths.test", 80, "/a/b/./c", False),
        ("GET", "paths.test", 80, "/a/b/%2E%2e/c", False),
        ("GET", "paths.test", 80, "/a/b/..%2fc", False),
        ("GET", "paths.test", 80, "/a/b/..%5Cc", False),
        ("GET", "paths.test", 80, "/a/b\\..\\c", False),
        ("GET", "paths.test", 80, "/a/b//c", False),
        ("GET", "paths.test", 80, "/a/b/..;/c", False),
        ("GET", "::1", 8080, "/", True),
    ],
)
def test_what_passes(method: str, host: str, port: int, target: str, passes: bool) -> None:
    assert LIST.permits(method, host, port, target) is passes


def test_a_list_knows_its_names_and_ports() -> None:
    assert LIST.ports() == (80, 443, 8080)
    assert LIST.knows("example.org") and LIST.knows("x.example.net") and not LIST.knows("example.com")
    assert LIST.opens("paths.test", 80) and not LIST.opens("paths.test", 443)
    assert LIST.restricted and not AllowList((Rule("a.test", 1),)).restricted
    assert [str(rule) for rule in LIST.rules] == [
        "example.org:443",
        "*.example.net:80",
        "GET HEAD paths.test:80/a/b",
        "[::1]:8080",
    ]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("[::1]", "::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("under_score.test", "under_score.test"),
        ("", ""),
        (".", ""),
        ("*.example.org", ""),
        ("a..b", ""),
        ("a b", ""),
        ("user@host", ""),
        ("host/path", ""),
        ("hösts", ""),
        ("a\nb", ""),
        ("a.test\n", ""),
        ("-a.test", ""),
        ("x" * 254, ""),
    ],
)
def test_hosts_in_plain_form(text: str, plain: str) -> None:
    assert plain_host(text) == plain


@pytest.mark.parametrize(
    "text", ["example.org", "example.org:", "example.org:0", "example.org:65536", ":80", "a b:80", "*:80"]
)
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(UsageFault, match="not an address"):
        parse_rule(text)


@pytest.mark.parametrize("path", ["a", "/a/../b", "/a%2fb", "//a"])
def test_paths_that_no_rule_can_hold(path: str) -> None:
    with pytest.raises(UsageFault, match="not a path"):
        parse_rule("example.org:80", path)
