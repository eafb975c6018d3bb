"""The same network for a harness that is not root.

What the child needs is imported before it gives up root: the interpreter may lie where an ordinary user cannot read.
"""

from __future__ import annotations

import ctypes
import encodings.idna
import ssl

from proctor.contract.policy import Network
from proctor.execute.network import network_service
from tests.execute.network.networked import networked
from tests.execute.network.servers import Web, serving
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory

NEEDED = (ctypes, encodings.idna, network_service, ssl)


def test_an_ordinary_user_has_the_same_network() -> None:
    with open_directory() as top, serving() as site:
        top.chmod(0o777)
        web = Web(top / "authority")
        web.put("plain.test", 80, site)

        def action() -> None:
            with networked(top / "net", Network(("plain.test:80",), "pages"), web) as inside:
                assert inside.fetch("http://plain.test/hello") == (200, "GET /hello")
                assert "refused" in inside.page("http://evil.test/hello")
                assert inside.page("http://evil.test/", proxy=False).endswith("Name or service not known>")
                assert inside.summary().replayable

        as_ordinary_user(action)
