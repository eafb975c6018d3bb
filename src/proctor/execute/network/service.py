"""The network of one run, by its contract: ready before the sandbox, live while it lives, summed up at the end.

Made before the sandbox is opened, because the sandbox needs its ``mounts``; ``start`` opens the listeners in the live
sandbox and says which variables its programs need; ``close`` ends it and says whether the run can be replayed. One
network may serve several sandboxes, one after the other or at once. In every mode names are answered by a server of
ours, so that each name asked for is told.
"""

from __future__ import annotations

import hashlib
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.frozen import EMPTY, frozen
from proctor.contract.policy import Network
from proctor.execute.network import authority
from proctor.execute.network.allow import AllowList, parse_rule
from proctor.execute.network.authority import Authority
from proctor.execute.network.cassette import BadCassette, load
from proctor.execute.network.conversation import Desk
from proctor.execute.network.dns import QUERY_BYTES, NameServer
from proctor.execute.network.listeners import LOOPBACK, Inhabited, Wanted, open_listeners
from proctor.execute.network.live import Live
from proctor.execute.network.player import Player, allowed_by
from proctor.execute.network.proxy import Proxy
from proctor.execute.network.recorder import Recorder
from proctor.execute.network.stream import Ended, Malformed, Stream
from proctor.execute.network.switchboard import Switchboard
from proctor.execute.network.teller import Teller
from proctor.execute.network.told import Bounds, Summary, Tell
from proctor.execute.network.upstream import Dial, Upstream, dial
from proctor.execute.sandbox.interface import Mount

if TYPE_CHECKING:
    from ssl import SSLContext

PROXY_PORT = 801
"""Where the proxy listens; below 1024, where nothing inside can want to listen itself."""

CASSETTE_BYTES = 64 << 20
CASSETTE = "cassette.jsonl"

_NAMES = 53
_STANDING_IN = 1024
_RESOLVER = f"nameserver {LOOPBACK}\noptions timeout:30 attempts:1\n"
_SWITCH = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_NO_PROXY = "localhost,127.0.0.1,::1"


@frozen
class Access:
    """What a sandbox needs to use its network: variables for its commands; the mounts it must have been opened with."""

    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]


class NetworkService:
    """The network that ``policy`` describes. ``scratch`` is an existing directory of the run's own."""

    def __init__(
        self,
        policy: Network,
        scratch: Path,
        tell: Tell,
        *,
        directory: Path = Path(),
        rules: AllowList | None = None,
        canaries: Mapping[str, bytes] = EMPTY,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
        connect: Dial = dial,
        context: Callable[[], SSLContext] | None = None,
    ) -> None:
        """``directory`` is the contract's; ``rules`` may say more than the policy's addresses do."""
        self._policy = policy
        self._scratch = scratch
        self._bounds = bounds
        self._teller = Teller(tell, bounds.exchanges)
        self._live = Live()
        self._boards: list[Switchboard] = []
        self._summary: Summary | None = None
        self._recorder: Recorder | None = None
        self._player: Player | None = None
        self._digest = ""
        self._gaps: tuple[str, ...] = ()
        mode = policy.mode
        allow = rules or AllowList(tuple(parse_rule(address) for address in policy.allow))
        upstream = Upstream(bounds, self._live, connect=connect, context=context, plain_bodies=mode == "record")
        if mode == "replay":
            allow = self._load(directory)
        elif mode == "record":
            self._recorder = Recorder(upstream, policy.record, scratch, bounds)
        looks_inside = mode in ("record", "replay") or allow.restricted
        self._authority = Authority(scratch / "authority") if looks_inside else None
        self._allow = allow
        self._names = NameServer(allow.knows, self._teller, bounds.names)
        source = self._player or self._recorder or upstream
        desk = Desk(allow, source, self._teller, self._live, scratch, bounds, self._authority, canaries)
        self._proxy = Proxy(desk, upstream)
        self.mounts = self._make_mounts()
        """What the sandbox must be opened with."""

    def start(self, sandbox: Inhabited) -> Access:
        """Open the network inside a live sandbox."""
        if self._summary is not None:
            raise InfrastructureFault("the network of this run is closed")
        serves = self._policy.mode != "none"
        ports = [port for port in self._allow.ports() if port < _STANDING_IN and port not in (_NAMES, PROXY_PORT)]
        wanted = [Wanted("udp", _NAMES), Wanted("tcp", _NAMES)]
        if serves:
            wanted += [Wanted("tcp", PROXY_PORT), *(Wanted("tcp", port) for port in ports)]
        ends = open_listeners(sandbox.init_pid, tuple(wanted))
        board = Switchboard(self._bounds.connections)
        board.datagrams(ends[0], self._names.answer)
        board.connections(ends[1], self._answer_names)
        if serves:
            board.connections(ends[2], self._proxy.serve)
            for port, end in zip(ports, ends[3:], strict=True):
                board.connections(end, self._proxy.stand_in(port))
        self._boards.append(board)
        board.start()
        return Access(self._environment() if serves else EMPTY, self.mounts)

    def close(self) -> Summary:
        """End every connection, tell what is left to tell, write the cassette; safe to call twice."""
        if self._summary is None:
            self._live.cut()
            for board in self._boards:
                board.close(self._bounds.close_seconds)
            if self._teller.problem is None:
                self._names.close()
                self._teller.close()
            self._summary = self._sum_up()
        if self._teller.problem is not None:
            raise InfrastructureFault("the network was closed because nobody could be told") from self._teller.problem
        return self._summary

    def _load(self, directory: Path) -> AllowList:
        """Put the contract's cassette in; it opens the addresses that it holds."""
        file = self._policy.replay
        assert file is not None
        data = read_bounded(directory / file.path, CASSETTE_BYTES)
        self._digest = hashlib.sha256(data).hexdigest()
        if self._digest != file.sha256:
            raise BadCassette("changed since the contract was loaded", where=file.path)
        tape = load(data, file.path)
        self._gaps = tape.gaps
        self._player = Player(tape)
        return allowed_by(tape)

    def _make_mounts(self) -> tuple[Mount, ...]:
        files = {"/etc/resolv.conf": _RESOLVER, "/etc/nsswitch.conf": _SWITCH}
        mounts = []
        for target, text in files.items():
            path = self._scratch / Path(target).name
            write_whole(path, text.encode(), sync=False)
            mounts.append(Mount(path, target))
        if self._authority is not None:
            mounts.append(Mount(self._authority.certificate, authority.PLACE))
        return tuple(mounts)

    def _environment(self) -> dict[str, str]:
        variables = dict.fromkeys(_PROXIES, f"http://{LOOPBACK}:{PROXY_PORT}")
        variables |= {"NO_PROXY": _NO_PROXY, "no_proxy": _NO_PROXY, "NODE_USE_ENV_PROXY": "1"}
        if self._authority is not None:
            variables |= dict.fromkeys(authority.VARIABLES, authority.PLACE)
        return variables

    def _answer_names(self, connection: socket.socket) -> None:
        """Queries over TCP, each behind its length."""
        stream = Stream(connection, self._bounds.client_seconds)
        with self._live.held(connection):
            try:
                while size := stream.exactly(2):
                    query = stream.exactly(min(QUERY_BYTES, struct.unpack("!H", size)[0]))
                    reply = self._names.answer(query)
                    if not reply:
                        return
                    stream.send(struct.pack("!H", len(reply)) + reply)
            except (Ended, Malformed):
                pass

    def _sum_up(self) -> Summary:
        """What came of it; a run is replayable when the same answers can be given again."""
        mode, why = self._policy.mode, list(self._gaps)
        cassette = None
        if self._recorder is not None:
            cassette = self._scratch / CASSETTE
            self._digest, gaps = self._recorder.write(cassette)
            why += gaps
        if mode == "allow" and self._teller.passed:
            why.append("the network was open and not recorded")
        return Summary(
            *(mode, self._teller.passed, self._teller.refused, self._names.count, not why, tuple(why)),
            cassette=cassette,
            sha256=self._digest,
            unplayed=self._player.unplayed if self._player else 0,
        )
