"""The network of one run, by its contract: ready before the sandbox, live while it lives, summed up at the end.

Made before the sandbox is opened, because the sandbox needs its ``mounts``; ``start`` opens the listeners in the live
sandbox and says which variables its programs need; ``close`` ends it and says whether the run can be replayed. One
network may serve several sandboxes, one after the other or at once. In every mode names are answered by a server of
ours, so that each name asked for is told.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext

from proctor.base.errors import InfrastructureFault
from proctor.base.fields import EMPTY
from proctor.base.files import write_whole
from proctor.contract.policy import Network
from proctor.execute.network.allow import AllowList
from proctor.execute.network.authority import PLACE
from proctor.execute.network.dns import QUERY_BYTES, NameServer
from proctor.execute.network.gate import PROXY_PORT, Gate
from proctor.execute.network.listeners import LOOPBACK, Inhabited, Wanted, open_listeners
from proctor.execute.network.live import Live
from proctor.execute.network.stream import Ended, Stream
from proctor.execute.network.switchboard import Handle, Switchboard
from proctor.execute.network.teller import Teller
from proctor.execute.network.told import Bounds, Spot, Summary, Tell, nothing_planted
from proctor.execute.network.upstream import Dial
from proctor.execute.sandbox.interface import Mount

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
        tell: Tell,
        *,
        directory: Path = Path(),
        rules: AllowList | None = None,
        spot: Spot = nothing_planted,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
        connect: Dial | None = None,
        context: Callable[[], SSLContext] | None = None,
    ) -> None:
        """``directory`` is the contract's; ``spot`` names the planted secrets in what a request sends.

        ``rules`` may say more than the policy's addresses do; ``connect`` and ``context`` reach servers out there.
        """
        self._mode = policy.mode
        self._bounds = bounds
        self._teller = Teller(tell, bounds)
        self._live = Live()
        self._boards: list[Switchboard] = []
        self._summary: Summary | None = None
        self._gate: Gate | None = None
        if self._mode != "none":
            self._gate = Gate(
                *(policy, scratch, self._teller, self._live, bounds),
                directory=directory,
                rules=rules,
                spot=spot,
                connect=connect,
                context=context,
            )
        self._names = NameServer(self._knows, self._teller, bounds.names)
        self.mounts = self._make_mounts(scratch)
        """What the sandbox must be opened with."""

    def start(self, sandbox: Inhabited) -> Access:
        """Open the network inside a live sandbox."""
        if self._summary is not None:
            raise InfrastructureFault("the network of this run is closed")
        board = Switchboard(self._bounds.connections)
        wanted = [Wanted("udp", _NAMES), Wanted("tcp", _NAMES)]
        handles: list[Handle] = [self._answer_names]
        if self._gate is not None:
            ports = self._gate.ports(_NAMES)
            wanted += [Wanted("tcp", PROXY_PORT), *(Wanted("tcp", port) for port in ports)]
            handles += [self._gate.proxy.serve, *(self._gate.proxy.stand_in(port) for port in ports)]
        datagrams, *listeners = open_listeners(sandbox.init_pid, tuple(wanted))
        board.datagrams(datagrams, self._names.answer)
        for listener, handle in zip(listeners, handles, strict=True):
            board.connections(listener, handle)
        self._boards.append(board)
        board.start()
        return Access(self._gate.environment() if self._gate is not None else EMPTY, self.mounts)

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

    def _knows(self, name: str) -> bool:
        return self._gate is not None and self._gate.allow.knows(name)

    def _make_mounts(self, scratch: Path) -> tuple[Mount, ...]:
        mounts = [*name_mounts(scratch)]
        if self._gate is not None and self._gate.certificate is not None:
            mounts.append(Mount(self._gate.certificate, PLACE))
        return tuple(mounts)

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
            except Ended:
                pass

    def _sum_up(self) -> Summary:
        """What came of it; a run is replayable when the same answers can be given again."""
        cassette, digest, gaps, unplayed = self._gate.close() if self._gate is not None else (None, "", (), 0)
        why = list(gaps[:_WHYS])
        if len(gaps) > _WHYS:
            why.append(f"and {len(gaps) - _WHYS} more gaps")
        if self._mode == "allow" and self._teller.passed:
            why.append("the network was open and not recorded")
        return Summary(
            *(self._mode, self._teller.passed, self._teller.refused, self._names.count, not why, tuple(why)),
            cassette=cassette,
            sha256=digest,
            unplayed=unplayed,
        )
