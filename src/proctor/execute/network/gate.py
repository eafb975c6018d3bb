"""What of the network is open in one run: the proxy with its rules, its authority, and the tape that it keeps or plays.

Loaded only for contracts that open anything. Here the mode of the contract becomes a source of answers: the servers
themselves, a recording of them, or a cassette.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from ssl import SSLContext

from proctor.base.files import read_bounded
from proctor.contract.policy import Network
from proctor.execute.network import authority
from proctor.execute.network.allow import AllowList, parse_rule
from proctor.execute.network.cassette import BadCassette, load
from proctor.execute.network.conversation import Desk
from proctor.execute.network.listeners import LOOPBACK
from proctor.execute.network.live import Live
from proctor.execute.network.player import Player, allowed_by
from proctor.execute.network.proxy import Proxy
from proctor.execute.network.recorder import Recorder
from proctor.execute.network.teller import Teller
from proctor.execute.network.told import Bounds, Spot, nothing_planted
from proctor.execute.network.upstream import Dial, Upstream, dial

PROXY_PORT = 801
"""Where the proxy listens; below 1024, where nothing inside can want to listen itself."""

CASSETTE_BYTES = 64 << 20
CASSETTE = "cassette.jsonl"

_STANDING_IN = 1024
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_NO_PROXY = "localhost,127.0.0.1,::1"


class Gate:
    """The way out for one run. ``rules`` may say more than the policy's addresses do."""

    def __init__(
        self,
        policy: Network,
        scratch: Path,
        teller: Teller,
        live: Live,
        bounds: Bounds,
        *,
        directory: Path,
        rules: AllowList | None = None,
        spot: Spot = nothing_planted,
        connect: Dial | None = None,
        context: Callable[[], SSLContext] | None = None,
    ) -> None:
        self._scratch = scratch
        self._recorder: Recorder | None = None
        self._player: Player | None = None
        self._digest = ""
        self._gaps: tuple[str, ...] = ()
        recording = policy.mode == "record"
        upstream = Upstream(bounds, live, connect=connect or dial, context=context, plain_bodies=recording)
        self.allow = rules or AllowList(tuple(parse_rule(address) for address in policy.allow))
        if policy.replay is not None:
            self.allow = self._load(directory / policy.replay.path, policy.replay.path, policy.replay.sha256)
        elif recording:
            self._recorder = Recorder(upstream, policy.record, scratch, bounds)
        looks_inside = recording or self._player is not None or self.allow.restricted
        self._authority = authority.Authority(scratch / "authority") if looks_inside else None
        source = self._player or self._recorder or upstream
        self.proxy = Proxy(Desk(self.allow, source, teller, live, scratch, bounds, self._authority, spot), upstream)

    @property
    def certificate(self) -> Path | None:
        """What the sandbox has to trust, shown at ``authority.PLACE``."""
        return self._authority.certificate if self._authority is not None else None

    def ports(self, taken: int) -> tuple[int, ...]:
        """The ports at which the proxy stands in for servers: those that nothing inside could use itself."""
        return tuple(port for port in self.allow.ports() if port < _STANDING_IN and port not in (taken, PROXY_PORT))

    def environment(self) -> dict[str, str]:
        """The variables by which programs find the proxy and trust it."""
        variables = dict.fromkeys(_PROXIES, f"http://{LOOPBACK}:{PROXY_PORT}")
        variables |= {"NO_PROXY": _NO_PROXY, "no_proxy": _NO_PROXY, "NODE_USE_ENV_PROXY": "1"}
        if self._authority is not None:
            variables |= dict.fromkeys(authority.VARIABLES, authority.PLACE)
        return variables

    def close(self) -> tuple[Path | None, str, tuple[str, ...], int]:
        """The cassette that was written, the digest of it or of the one that was played, its gaps, and what of it
        nobody asked for."""
        if self._recorder is not None:
            path = self._scratch / CASSETTE
            digest, gaps = self._recorder.write(path)
            return path, digest, gaps, 0
        return None, self._digest, self._gaps, self._player.unplayed if self._player is not None else 0

    def _load(self, path: Path, name: str, expected: str) -> AllowList:
        """Put the contract's cassette in; it opens the addresses that it holds."""
        data = read_bounded(path, CASSETTE_BYTES)
        self._digest = hashlib.sha256(data).hexdigest()
        if self._digest != expected:
            raise BadCassette("changed since the contract was loaded", where=name)
        tape = load(data, name)
        self._gaps = tape.gaps
        self._player = Player(tape)
        return allowed_by(tape)
