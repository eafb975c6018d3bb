"""The same network for a harness that is not root; in a file of its own because it forks, and wants no threads then."""

from __future__ import annotations

from proctor.contract.policy import Network
from tests.execute.network.networked import networked
from tests.execute.network.servers import Web, serving
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory


def test_an_ordinary_user_has_the_same_network() -> None:
    with open_directory() as top:
        top.chmod(0o777)

        def action() -> None:
            with serving() as site:
                web = Web(top / "authority")
                web.put("plain.test", 80, site)
                with networked(top / "net", Network(("plain.test:80",), "pages"), web) as inside:
                    assert inside.fetch("http://plain.test/hello") == (200, "GET /hello")
                    assert "refused" in inside.page("http://evil.test/hello")
                    assert inside.page("http://evil.test/", proxy=False).endswith("Name or service not known>")
                    assert inside.summary().replayable

        as_ordinary_user(action)
