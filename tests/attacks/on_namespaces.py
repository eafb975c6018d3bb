"""Attacks by mounts, namespaces and other calls that are never allowed, with arguments that mean something."""

from __future__ import annotations

from tests.attacks.attack import Attack, attack

LOCK = 0x40045431
"""The number of an ``ioctl`` that is allowed, which no other call may borrow as its second argument."""

KINDS = {
    "mount": 0x20000, "control group": 0x2000000, "host name": 0x4000000, "IPC": 0x8000000, "user": 0x10000000,
    "process": 0x20000000, "network": 0x40000000,
}  # fmt: skip
TIME = 0x80

UNSHARED: tuple[Attack, ...] = tuple(
    attack(f"unsharing the {kind} namespace", f"print(call(272, {flag}))", "EPERM", "syscall-namespace",
           syscall="unshare", errno="EPERM", allowed=False)
    for kind, flag in {**KINDS, "time": TIME}.items()
)  # fmt: skip

CLONED: tuple[Attack, ...] = tuple(
    attack(f"a child in another {kind} namespace", f"print(call(56, {flag | 17}, 0, 0, 0, 0))", "EPERM",
           "syscall-namespace", syscall="clone", errno="EPERM", allowed=False)
    for kind, flag in KINDS.items() if kind != "user"
)  # fmt: skip

BORROWED: tuple[Attack, ...] = tuple(
    attack(f"{name} with the number of an allowed ioctl beside it", f"print(call({number}, {first}, {LOCK}))", answer,
           f"syscall-{kind}", syscall=name, allowed=False)
    for name, number, first, answer, kind in (
        ("unshare", 272, 0x10000000, "EPERM", "namespace"),
        ("userfaultfd", 323, 1, "EPERM", "userfault"),
        ("io_uring_setup", 425, 8, "ENOSYS", "io_uring"),
        ("clone", 56, 0x10000011, "EPERM", "namespace"),
        ("keyctl", 250, 0, "EPERM", "keys"),
    )
)  # fmt: skip

ASKS_TRACER = """
steps = (0x20, 0, 0, 0), (0x15, 0, 1, 165), (6, 0, 0, 0x7ff00000), (6, 0, 0, 0x7fff0000)
code = b''.join(struct.pack('HBBI', *step) for step in steps)
b = ctypes.create_string_buffer(code, len(code))
call(157, 38, 1, 0, 0, 0)
assert call(317, 1, 0, struct.pack('QQ', len(steps), ctypes.addressof(b))) == 'allowed'
print(call(165, b'/workspace', b'/usr', b'', 4096, 0))
"""

MOUNTS: tuple[Attack, ...] = (
    attack("the tree as a copy of its mounts", "print(call(428, -100, b'/', 0x80001))", "EPERM", "syscall-mount",
           syscall="open_tree"),
    attack("the system made writable by attributes",
           "print(call(442, -100, b'/usr', 0x8000, struct.pack('QQQQ', 0, 1, 0, 0), 32))", "EPERM", "syscall-mount",
           syscall="mount_setattr"),
    attack("a tree with attributes", "print(call(467, -100, b'/', 1, struct.pack('QQQQ', 0, 1, 0, 0), 32))", "EPERM",
           "syscall-mount", syscall="open_tree_attr"),
    attack("a mount moved over the system", "print(call(429, 3, b'', -100, b'/usr', 4))", "EPERM", "syscall-mount",
           syscall="move_mount"),
    attack("a file system by its parts",
           "print(*{call(430, b'tmpfs', 0), call(431, 3, 6, 0, 0, 0), call(432, 3, 0, 0)})", "EPERM",
           "syscall-mount", syscall="fsmount"),
    attack("the workspace bound over the system", "print(call(165, b'/workspace', b'/usr', b'', 4096, 0))", "EPERM",
           "syscall-mount", syscall="mount"),
    attack("the system remounted for writing", "print(call(165, 0, b'/usr', 0, 4128, 0))", "EPERM", "syscall-mount",
           syscall="mount"),
    attack("what covers the harness taken away", "print(call(166, b'/run', 2))", "EPERM", "syscall-mount",
           syscall="umount2"),
    attack("another root by pivot_root", "os.mkdir('old'); print(call(155, b'/workspace', b'/workspace/old'))", "EPERM",
           "syscall-mount", syscall="pivot_root"),
    attack("another root, and dots out of it", "print(call(161, b'/workspace')); os.chdir('..')", "EPERM",
           "syscall-mount", syscall="chroot"),
    attack("the namespaces of pid 1", "print(call(308, os.pidfd_open(1), 0x7e020000))", "EPERM", "syscall-namespace",
           syscall="setns"),
    attack("its own namespace again", "print(call(308, os.open('/proc/self/ns/net', os.O_RDONLY), 0))", "EPERM",
           "syscall-namespace", syscall="setns"),
)  # fmt: skip

TRACED = {
    "a parent that traces": (101, "0, 0, 0, 0"),
    "attaching to pid 1": (101, "16, 1, 0, 0"),
    "seizing pid 1": (101, "0x4206, 1, 0, 0"),
    "attaching to its own parent": (101, "16, os.getppid(), 0, 0"),
}

PROCESSES: tuple[Attack, ...] = (
    *(
        attack(name, f"print(call({number}, {arguments}))", "EPERM", "syscall-trace", syscall="ptrace")
        for name, (number, arguments) in TRACED.items()
    ),
    attack("the memory of pid 1 in one call",
           "b = ctypes.create_string_buffer(8); v = struct.pack('QQ', ctypes.addressof(b), 8)\n"
           "print(call(310, 1, v, 1, struct.pack('QQ', 4096, 8), 1, 0))", "EPERM", "syscall-trace",
           syscall="process_vm_readv"),
    attack("the memory of its child in one call",
           "child = os.fork()\nif not child: signal.pause()\n"
           "b = ctypes.create_string_buffer(8); v = struct.pack('QQ', ctypes.addressof(b), 8)\n"
           "print(call(311, child, v, 1, v, 1, 0)); os.kill(child, 9)", "EPERM", "syscall-trace",
           syscall="process_vm_writev"),
    attack("a descriptor of pid 1", "print(call(438, os.pidfd_open(1), 0, 0))", "EPERM", "syscall-trace",
           syscall="pidfd_getfd"),
    attack("advice about the memory of pid 1",
           "print(call(440, os.pidfd_open(1), struct.pack('QQ', 4096, 4096), 1, 21, 0))", "EPERM", "syscall-trace",
           syscall="process_madvise"),
    attack("freeing the memory of pid 1", "print(call(448, os.pidfd_open(1), 0))", "EPERM", "syscall-trace",
           syscall="process_mrelease"),
    attack("comparing its files with those of pid 1", "print(call(312, os.getpid(), 1, 0, 0, 0))", "EPERM",
           "syscall-trace", syscall="kcmp"),
    attack("another place for its own arguments", "print(call(157, 35, 8, 4096, 0, 0))", "EPERM", "syscall-trace",
           syscall="prctl"),
    attack("a guard of its own over its children",
           "code = struct.pack('HBBI', 6, 0, 0, 0x7fc00000); b = ctypes.create_string_buffer(code, 8)\n"
           "call(157, 38, 1, 0, 0, 0); print(call(317, 1, 8, struct.pack('QQ', 1, ctypes.addressof(b))))", "EBUSY",
           "syscall-trace", syscall="seccomp", detail="a listener"),
    attack("a filter of its own that allows everything, then a mount",
           "code = struct.pack('HBBI', 6, 0, 0, 0x7fff0000); b = ctypes.create_string_buffer(code, 8)\n"
           "call(157, 38, 1, 0, 0, 0); assert call(317, 1, 0, struct.pack('QQ', 1, ctypes.addressof(b))) == 'allowed'\n"
           "print(call(165, b'/workspace', b'/usr', b'', 4096, 0))", "EPERM", "syscall-mount", syscall="mount"),
    attack("a filter of its own that asks a tracer about a mount", ASKS_TRACER, "EPERM", "syscall-mount",
           syscall="mount"),
)  # fmt: skip

ODD = {
    "system": ("swapoff 168 b'/dev/sda'", "acct 163 b'/workspace/log'", "quotactl 179 0x80000700,b'/dev/sda',0,0",
               "quotactl_fd 443 0,0,0,0", "fanotify_init 300 0,0", "fanotify_mark 301 0,1,1,-100,b'/'", "vhangup 153",
               "setdomainname 171 b'evil',4"),
    "kernel": ("delete_module 176 b'tun',0",),
    "handle": ("name_to_handle_at 303 -100,b'/etc/passwd',bytes(136),bytes(8),0",),
    "clock": ("adjtimex 159 struct.pack('I',1)+bytes(204)", "clock_adjtime 305 0,struct.pack('I',0x4000)+bytes(204)"),
    "ports": ("modify_ldt 154 1,bytes(16),16",),
    "secret": ("memfd_secret 447 0",),
}  # fmt: skip

CALLS: tuple[Attack, ...] = tuple(
    attack(name, f"print(call({number}{', ' + ''.join(arguments) if arguments else ''}))",
           "ENOSYS" if kind == "secret" else "EPERM", f"syscall-{kind}", syscall=name, allowed=False)
    for kind, rows in ODD.items()
    for name, number, *arguments in (row.split(maxsplit=2) for row in rows)
)  # fmt: skip

NAMESPACES = (*UNSHARED, *CLONED, *BORROWED, *MOUNTS, *PROCESSES, *CALLS)
