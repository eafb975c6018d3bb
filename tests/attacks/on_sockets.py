"""Attacks over sockets: odd families, the kernel's own channels, sockets of the host, names asked for in odd ways."""

from __future__ import annotations

from tests.attacks.attack import Attack, attack
from tests.attacks.on_network import NOWHERE, QUERY

FAMILIES = {
    "CAN": (29, 3, 1), "TIPC": (30, 5, 0), "Bluetooth": (31, 3, 1), "the phone network": (35, 2, 0),
    "NFC": (39, 5, 0), "XDP": (44, 3, 0), "the keys of IPsec": (15, 3, 2), "RDS": (21, 5, 0), "X.25": (9, 5, 0),
    "amateur radio": (3, 5, 0), "AppleTalk": (5, 2, 0), "SMC": (43, 1, 0),
}  # fmt: skip

CHANNELS = {
    "devices": 15, "generic requests": 16, "netfilter": 12, "IPsec": 6, "sockets": 4, "processes": 11, "SELinux": 7,
    "crypto": 21,
}  # fmt: skip

ODD: tuple[Attack, ...] = (
    *(
        attack(f"a socket of {name}", f"print(call(41, {family}, {kind}, {protocol}))", "EAFNOSUPPORT", "network",
               detail="socket family", address=f"family {family} type {kind} protocol {protocol}")
        for name, (family, kind, protocol) in FAMILIES.items()
    ),
    *(
        attack(f"the kernel's channel for {name}", f"print(call(41, 16, 3, {protocol}))", "EAFNOSUPPORT", "network",
               detail="socket family", address=f"family 16 type 3 protocol {protocol}")
        for name, protocol in CHANNELS.items()
    ),
    attack("a raw socket over IPv6", "attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))", "EPERM",
           "network", detail="raw socket"),
    attack("a packet socket without headers", "print(call(41, 17, 2, 0x300))", "EAFNOSUPPORT", "network",
           detail="socket family"),
    attack("a pair of odd sockets", "print(call(53, 30, 5, 0, bytes(8)))", "EAFNOSUPPORT", "network",
           syscall="socketpair"),
)  # fmt: skip

ROUTE = """
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
text = struct.pack('IHHII', 32, {type}, 0x605, 1, 0) + bytes(16)
attempt(lambda: s.{send})
"""

MESSAGE = """
import array
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
handle = os.open('/workspace', os.O_RDONLY)
attempt(lambda: s.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [handle]))], 0,
                          '\\0{abstract}'))
"""

BATCH = f"""
query = {QUERY}
data = ctypes.create_string_buffer(query, len(query))
piece = (ctypes.c_uint64 * 2)(ctypes.addressof(data), len(query))
to = ctypes.create_string_buffer(b'\\2\\0\\0\\x35\\xc0\\0\\2\\x36' + bytes(8), 16)
batch = (ctypes.c_uint64 * 16)(0, 0, ctypes.addressof(piece), 1, 0, 0, 0, 0,
                               ctypes.addressof(to), 16, ctypes.addressof(piece), 1, 0, 0, 0, 0)
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect(('127.0.0.1', 9))
print(call(307, s.fileno(), batch, 2, 0))
"""

PIECES = f"""
query = {QUERY}
s = socket.socket(type=socket.SOCK_DGRAM)
attempt(lambda: s.sendmsg([query[i:i + 1] for i in range(len(query))], [], 0, ('192.0.2.55', 53)))
"""

LOCAL: tuple[Attack, ...] = (
    attack("an abstract socket of the host, by a datagram",
           "attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0{abstract}'))",
           "ECONNREFUSED", "network", address="@{abstract}", syscall="sendto"),
    attack("a descriptor for an abstract socket of the host", MESSAGE, "ECONNREFUSED", "network",
           address="@{abstract}", syscall="sendmsg"),
    attack("the socket of Docker", "attempt(lambda: socket.socket(socket.AF_UNIX).connect('/run/docker.sock'))",
           "ENOENT EACCES", "network", path="/run/docker.sock", detail="socket of the host"),
    attack("the socket of the message bus",
           "attempt(lambda: socket.socket(socket.AF_UNIX).connect('/run/dbus/system_bus_socket'))", "ENOENT EACCES",
           "network", path="/run/dbus/system_bus_socket", detail="socket of the host"),
    attack("a screen of the host", "attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0/tmp/.X11-unix/X0'))",
           "ECONNREFUSED", "network", address="@/tmp/.X11-unix/X0"),
    attack("a socket file in the system", "attempt(lambda: socket.socket(socket.AF_UNIX).bind('/etc/listening'))",
           "EROFS EACCES", "write-outside", path="/etc/listening", syscall="bind"),
    attack("a new interface", ROUTE.replace("{type}", "16").replace("{send}", "sendto(text, (0, 0))"), "EPERM",
           "network", detail="network settings", syscall="sendto"),
    attack("a new route", ROUTE.replace("{type}", "24").replace("{send}", "sendmsg([text], [], 0, (0, 0))"), "EPERM",
           "network", detail="network settings", syscall="sendmsg"),
    attack("the loopback taken down", ROUTE.replace("{type}", "19").replace("{send}", "sendto(text, (0, 0))"), "EPERM",
           "network", detail="network settings", syscall="sendto"),
)  # fmt: skip

NAMES: tuple[Attack, ...] = (
    attack("a name by sendmsg in pieces of one byte", PIECES, NOWHERE, "dns", detail="evil.example.com",
           address="192.0.2.55:53", syscall="sendmsg"),
    attack("a name in the second message of a batch", BATCH, "ENETUNREACH allowed", "dns", detail="evil.example.com",
           address="192.0.2.54:53", syscall="sendmmsg"),
    attack("a name over TCP", "attempt(lambda: socket.create_connection(('192.0.2.56', 53)))", NOWHERE, "network",
           address="192.0.2.56:53"),
    attack("a name over TLS", "attempt(lambda: socket.create_connection(('192.0.2.57', 853)))", NOWHERE, "network",
           address="192.0.2.57:853"),
    attack("a name over IPv6",
           f"attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto({QUERY}, ('2001:db8::35', 53)))",
           NOWHERE, "dns", detail="evil.example.com", address="[2001:db8::35]:53"),
    attack("a name from all machines nearby",
           f"attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto({QUERY}, ('224.0.0.251', 5353)))", NOWHERE,
           "network", address="224.0.0.251:5353"),
    attack("a name from another address of the loopback",
           f"attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto({QUERY}, ('127.0.0.53', 53)))",
           "allowed ECONNREFUSED", "dns", detail="evil.example.com", address="127.0.0.53:53"),
    attack("a broadcast", "s = socket.socket(type=socket.SOCK_DGRAM); s.setsockopt(1, 6, 1)\n"
           "attempt(lambda: s.sendto(b'x', ('255.255.255.255', 9)))", NOWHERE, "network",
           address="255.255.255.255:9"),
    attack("the metadata of a cloud", "attempt(lambda: socket.create_connection(('169.254.169.254', 80)))", NOWHERE,
           "network", address="169.254.169.254:80"),
    attack("a quick TCP connection with its data",
           "attempt(lambda: socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('192.0.2.58', 80)))", NOWHERE,
           "network", address="192.0.2.58:80", syscall="sendto"),
)  # fmt: skip

SOCKETS = (*ODD, *LOCAL, *NAMES)
