"""Attacks over the network, and over what looks like one."""

from __future__ import annotations

from tests.attacks.attack import Attack, attack

QUERY = r"b'\x12\x34\1\0\0\1\0\0\0\0\0\0\4evil\7example\3com\0\0\1\0\1'"
NOWHERE = "ENETUNREACH"

BATCH = f"""
query = {QUERY}
data = ctypes.create_string_buffer(query, len(query))
piece = (ctypes.c_uint64 * 2)(ctypes.addressof(data), len(query))
batch = (ctypes.c_uint64 * 8)(0, 0, ctypes.addressof(piece), 1, 0, 0, 0, 0)
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect(('127.0.0.1', 53))
print(call(307, s.fileno(), batch, 1, 0))
"""

NO_FAMILY = """
data = ctypes.create_string_buffer(query, len(query))
to = ctypes.create_string_buffer(struct.pack('=HHI8x', 0, 0x3500, 0x350200c0))
piece = (ctypes.c_uint64 * 2)(ctypes.addressof(data), len(query))
header = (ctypes.c_uint64 * 7)(ctypes.addressof(to), 16, ctypes.addressof(piece), 1, 0, 0, 0)
print(call(46, socket.socket(type=socket.SOCK_DGRAM).fileno(), header, 0))
"""

NETWORK: tuple[Attack, ...] = (
    attack("TCP", "attempt(lambda: socket.create_connection(('192.0.2.7', 80)))", NOWHERE, "network",
           address="192.0.2.7:80", syscall="connect", errno="ENETUNREACH", allowed=False),
    attack("TCP over IPv6", "attempt(lambda: socket.create_connection(('2001:db8::7', 443)))", NOWHERE, "network",
           address="[2001:db8::7]:443"),
    attack("TCP over a mapped address", "s = socket.socket(socket.AF_INET6)\n"
           "attempt(lambda: s.connect(('::ffff:192.0.2.6', 80)))", NOWHERE, "network",
           address="[::ffff:192.0.2.6]:80"),
    attack("UDP", "attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.8', 9)))", NOWHERE,
           "network", address="192.0.2.8:9", syscall="sendto"),
    attack("UDP over a connected socket",
           "attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.10', 9)))", NOWHERE, "network",
           address="192.0.2.10:9", syscall="connect"),
    attack("UDP by sendmsg",
           "attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.11', 9)))", NOWHERE,
           "network", address="192.0.2.11:9", syscall="sendmsg"),
    attack("UDP to an address of no family",
           "s = socket.socket(type=socket.SOCK_DGRAM)\nto = struct.pack('=HHI8x', 0, 0x900, 0x0d0200c0)\n"
           "print(call(44, s.fileno(), b'x', 1, 0, to, 16))", NOWHERE, "network", address="192.0.2.13:9",
           syscall="sendto"),
    attack("a name from an address of no family by sendmsg",
           f"query = {QUERY}\n" + NO_FAMILY, NOWHERE, "dns", detail="evil.example.com", address="192.0.2.53:53"),
    attack("a port of root on an address of no family",
           "print(call(49, socket.socket().fileno(), struct.pack('=HHI8x', 0, 0x5000, 0), 16))", "EACCES", "privilege",
           detail="a port of root"),
    attack("a name from afar",
           f"attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto({QUERY}, ('192.0.2.53', 53)))", NOWHERE,
           "dns", detail="evil.example.com", address="192.0.2.53:53", allowed=False),
    attack("a name from nearby",
           f"attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto({QUERY}, ('127.0.0.1', 53)))",
           "allowed", "dns", detail="evil.example.com", address="127.0.0.1:53", allowed=True),
    attack("a name in a batch", BATCH, "allowed", "dns", detail="evil.example.com", syscall="sendmmsg"),
    attack("binding to an address", "attempt(lambda: socket.socket().bind(('192.0.2.9', 0)))", "EADDRNOTAVAIL",
           "network", detail="bind"),
    attack("a raw socket", "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))", "EPERM", "network",
           detail="raw socket"),
    attack("a packet socket", "print(call(41, 17, 3, 0))", "EAFNOSUPPORT", "network",
           address="family 17 type 3 protocol 0"),
    attack("a socket to the hypervisor", "print(call(41, 40, 1, 0))", "EAFNOSUPPORT", "network",
           address="family 40 type 1 protocol 0"),
    attack("a socket to the kernel's audit", "print(call(41, 16, 3, 9))", "EAFNOSUPPORT", "network",
           address="family 16 type 3 protocol 9"),
    attack("a socket to the kernel's ciphers", "print(call(41, 38, 5, 0))", "EAFNOSUPPORT", "network",
           address="family 38 type 5 protocol 0"),
    attack("an abstract socket of the host", "attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0{abstract}'))",
           "ECONNREFUSED", "network", address="@{abstract}", detail="abstract socket"),
)  # fmt: skip
