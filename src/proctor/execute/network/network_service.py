"""The network of one run, by its contract: ready before the sandbox, open while it runs, summarised at the end.

Made before the sandbox is opened, because the sandbox needs its ``mounts``; ``start`` opens the listeners in the live
sandbox and says which variables its programs need; ``close`` ends it and says whether the run can be replayed. One
network may serve several sandboxes, one after the other or at once. In every mode the harness answers name
queries, so that each name is recorded.
"""

from __future__ import annotations

import hashlib
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded, write_whole
from proctor.contract.policy import Network
from proctor.execute.network import certificate_authority
from proctor.execute.network.allow_list import AllowList, parse_rule
from proctor.execute.network.certificate_authority import PLACE
from proctor.execute.network.dns import QUERY_BYTES, NameServer
from proctor.execute.network.http_cassette import BadCassette, load
from proctor.execute.network.http_messages import Ended, Stream
from proctor.execute.network.namespace_sockets import (
    LOOPBACK,
    ConnectionServer,
    Handle,
    OpenConnections,
    SandboxProcess,
    SocketRequest,
    open_listeners,
)
from proctor.execute.network.network_events import (
    Bounds,
    FindCanaries,
    NetworkEventRecorder,
    RecordNetworkEvent,
    Summary,
    nothing_planted,
)
from proctor.execute.network.proxy import Proxy
from proctor.execute.network.record_replay import Player, Recorder, allowed_by
from proctor.execute.network.request_handler import ProxyContext
from proctor.execute.network.upstream import Dial, Upstream, dial
from proctor.execute.sandbox.interface import Mount

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
        recorder: NetworkEventRecorder,
        live: OpenConnections,
        bounds: Bounds,
        *,
        directory: Path,
        rules: AllowList | None = None,
        spot: FindCanaries = nothing_planted,
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
        self._authority = certificate_authority.Authority(scratch / "authority") if looks_inside else None
        source = self._player or self._recorder or upstream
        self.proxy = Proxy(
            ProxyContext(self.allow, source, recorder, live, scratch, bounds, self._authority, spot), upstream
        )

    @property
    def certificate(self) -> Path | None:
        """What the sandbox has to trust, shown at ``authority.PLACE``."""
        return self._authority.certificate if self._authority is not None else None

    def ports(self, taken: int) -> tuple[int, ...]:
        """The ports at which the proxy replaces servers: those that nothing inside could use itself."""
        return tuple(port for port in self.allow.ports() if port < _STANDING_IN and port not in (taken, PROXY_PORT))

    def environment(self) -> dict[str, str]:
        """The variables by which programs find the proxy and trust it."""
        variables = dict.fromkeys(_PROXIES, f"http://{LOOPBACK}:{PROXY_PORT}")
        variables |= {"NO_PROXY": _NO_PROXY, "no_proxy": _NO_PROXY, "NODE_USE_ENV_PROXY": "1"}
        if self._authority is not None:
            variables |= dict.fromkeys(certificate_authority.VARIABLES, certificate_authority.PLACE)
        return variables

    def close(self) -> tuple[Path | None, str, tuple[str, ...], int]:
        """The cassette that was written, the digest of it or of the one that was played, its gaps, and its
        unused exchanges."""
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


_NAMES = 53
_WHYS = 20
_FILES = {
    "/etc/resolv.conf": f"nameserver {LOOPBACK}\noptions timeout:30 attempts:1\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
}
"""What makes programs inside ask our name server."""


def name_mounts(scratch: Path) -> tuple[Mount, ...]:
    """The files that make programs inside a sandbox ask a name server at its loopback, put into ``scratch``."""
    for target, text in _FILES.items():
        write_whole(scratch / Path(target).name, text.encode(), sync=False)
    return tuple(Mount(scratch / Path(target).name, target) for target in _FILES)


@dataclass(frozen=True)
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
        notify: RecordNetworkEvent,
        *,
        directory: Path = Path(),
        rules: AllowList | None = None,
        spot: FindCanaries = nothing_planted,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
        connect: Dial | None = None,
        context: Callable[[], SSLContext] | None = None,
    ) -> None:
        """``directory`` is the contract's; ``spot`` names the planted secrets in what a request sends.

        ``rules`` may say more than the policy's addresses do; ``connect`` and ``context`` reach servers out there.
        """
        self._mode = policy.mode
        self._bounds = bounds
        self._events = NetworkEventRecorder(notify, bounds)
        self._live = OpenConnections()
        self._boards: list[ConnectionServer] = []
        self._summary: Summary | None = None
        self._gate: Gate | None = None
        if self._mode != "none":
            self._gate = Gate(
                *(policy, scratch, self._events, self._live, bounds),
                directory=directory,
                rules=rules,
                spot=spot,
                connect=connect,
                context=context,
            )
        self._names = NameServer(self._knows, self._events, bounds.names)
        self.mounts = self._make_mounts(scratch)
        """What the sandbox must be opened with."""

    def start(self, sandbox: SandboxProcess) -> Access:
        """Open the network inside a live sandbox."""
        if self._summary is not None:
            raise InfrastructureFault("the network of this run is closed")
        board = ConnectionServer(self._bounds.connections)
        wanted = [SocketRequest("udp", _NAMES), SocketRequest("tcp", _NAMES)]
        handles: list[Handle] = [self._answer_names]
        if self._gate is not None:
            ports = self._gate.ports(_NAMES)
            wanted += [SocketRequest("tcp", PROXY_PORT), *(SocketRequest("tcp", port) for port in ports)]
            handles += [self._gate.proxy.serve, *(self._gate.proxy.stand_in(port) for port in ports)]
        datagrams, *listeners = open_listeners(sandbox.init_pid, tuple(wanted))
        board.datagrams(datagrams, self._names.answer)
        for listener, handle in zip(listeners, handles, strict=True):
            board.connections(listener, handle)
        self._boards.append(board)
        board.start()
        return Access(self._gate.environment() if self._gate is not None else EMPTY, self.mounts)

    def close(self) -> Summary:
        """End every connection, report what is left, write the cassette; safe to call twice."""
        if self._summary is None:
            self._live.cut()
            for board in self._boards:
                board.close(self._bounds.close_seconds)
            if self._events.problem is None:
                self._names.close()
                self._events.close()
            self._summary = self._sum_up()
        if self._events.problem is not None:
            raise InfrastructureFault(
                "the network was closed because its events could not be recorded"
            ) from self._events.problem
        return self._summary

    def _knows(self, name: str) -> bool:
        return self._gate is not None and self._gate.allow.knows(name)

    def _make_mounts(self, scratch: Path) -> tuple[Mount, ...]:
        mounts = [*name_mounts(scratch)]
        if self._gate is not None and self._gate.certificate is not None:
            mounts.append(Mount(self._gate.certificate, PLACE))
        return tuple(mounts)

    def _answer_names(self, connection: socket.socket) -> None:
        """Queries over TCP, each after its length."""
        stream = Stream(connection, self._bounds.client_seconds)
        with self._live.held(connection):
            try:
                while size := stream.exactly(2):
                    query = stream.exactly(min(QUERY_BYTES, struct.unpack("!H", size)[0]))
                    reply = self._names.answer(query)
                    if not reply:
                        return
                    stream.send(struct.pack("!H", len(reply)) + reply)
            except Ended:
                pass

    def _sum_up(self) -> Summary:
        """The summary; a run is replayable if the same answers can be given again."""
        cassette, digest, gaps, unplayed = self._gate.close() if self._gate is not None else (None, "", (), 0)
        why = list(gaps[:_WHYS])
        if len(gaps) > _WHYS:
            why.append(f"and {len(gaps) - _WHYS} more gaps")
        if self._mode == "allow" and self._events.passed:
            why.append("the network was open and not recorded")
        return Summary(
            *(self._mode, self._events.passed, self._events.refused, self._names.count, not why, tuple(why)),
            cassette=cassette,
            sha256=digest,
            unplayed=unplayed,
        )
