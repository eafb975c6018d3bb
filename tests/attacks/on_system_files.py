"""Attacks on files of the system and of the kernel in odd ways: devices, /proc, /sys, control groups, files without a
name."""

from __future__ import annotations

from tests.attacks.attack import Attack, attack
from tests.attacks.on_files import NOT_THERE

WRITTEN = {
    "the kernel's memory": "/dev/mem", "the kernel's messages": "/dev/kmsg", "a disk": "/dev/sda",
    "virtual machines": "/dev/kvm", "file systems of users": "/dev/fuse", "network devices": "/dev/net/tun",
    "user faults by a device": "/dev/userfaultfd", "a loop device": "/dev/loop-control",
    "processor registers": "/dev/cpu/0/msr", "the host name": "/proc/sys/kernel/hostname",
    "address randomisation": "/proc/sys/kernel/randomize_va_space", "module loading": "/proc/sys/kernel/modprobe",
    "a helper for hot plugging": "/sys/kernel/uevent_helper", "sleep states": "/sys/power/state",
    "tracing": "/sys/kernel/tracing/kprobe_events", "kernel debugging": "/sys/kernel/debug/x",
    "its memory limit": "/sys/fs/cgroup/memory.max", "its process limit": "/sys/fs/cgroup/pids.max",
    "a release agent": "/sys/fs/cgroup/release_agent", "the schedule of the host": "/proc/irq/0/smp_affinity",
    "the kernel's symbols": "/proc/kcore", "the password file": "/etc/shadow", "scheduled commands": "/etc/cron.d/x",
    "sudo": "/etc/sudoers.d/x", "the resolver": "/etc/resolv.conf", "firmware": "/sys/firmware/efi/vars/x",
}  # fmt: skip

KERNEL: tuple[Attack, ...] = tuple(
    attack(f"writing to {what}", f"attempt(lambda: os.open('{path}', os.O_RDWR | os.O_TRUNC))", NOT_THERE,
           "write-outside", path=path, allowed=False)
    for what, path in WRITTEN.items()
)  # fmt: skip

CHILD = """
child = os.fork()
if not child: signal.pause()
try: attempt(lambda: open(f'/proc/{child}/{part}', 'r+b', 0))
finally: os.kill(child, 9)
"""

NAMELESS = """
try:
    handle = os.open('/usr/lib', os.O_TMPFILE | os.O_WRONLY)
    print(call(265, handle, b'', -100, b'/usr/lib/named', 0x1000))
except OSError as error:
    print(errno.errorcode[error.errno])
"""

GIVEN_NAME = """
handle = os.open('/tmp', os.O_TMPFILE | os.O_WRONLY)
print(call(265, -100, f'/proc/self/fd/{handle}'.encode(), -100, b'/etc/named', 0x400))
"""

LINKED = """
handle = os.open('/etc/passwd', os.O_PATH)
print(call(265, -100, f'/proc/self/fd/{handle}'.encode(), -100, b'/workspace/second', 0x400))
"""

RENAMED = """
os.mkdir('a'); open('a/x', 'w')
print(call(316, -100, b'/workspace/a', -100, b'/etc', 2))
"""

UNLINKED = """
handle = os.open('/etc', os.O_PATH)
print(call(263, handle, b'passwd', 0))
"""

FILES: tuple[Attack, ...] = (
    attack("a file without a name in the system", NAMELESS, NOT_THERE, "write-outside", path="/usr/lib"),
    attack("a name in the system for a file without one", GIVEN_NAME, "EROFS EXDEV", "write-outside",
           path="/etc/named", syscall="linkat"),
    attack("a second name for a file of the system by its descriptor", LINKED, "EXDEV EPERM", "write-outside",
           detail="hard link", path="/etc/passwd"),
    attack("exchanging a directory with the system", RENAMED, "EXDEV EROFS EBUSY", "write-outside", path="/etc",
           syscall="renameat2"),
    attack("removing by a descriptor that only names", UNLINKED, "EROFS", "write-outside", path="/etc/passwd",
           syscall="unlinkat"),
    attack("the mode of a file by its descriptor",
           "print(call(91, os.open('/usr/bin/env', os.O_RDONLY), 0o777))", "EROFS EPERM", "write-outside",
           path="/usr/bin/env", syscall="fchmod"),
    attack("the mode of a file by its number in /proc",
           "h = os.open('/usr/bin/env', os.O_PATH)\nattempt(lambda: os.chmod(f'/proc/self/fd/{h}', 0o777))",
           "EROFS EPERM", "write-outside", path="/usr/bin/env"),
    attack("reading that makes and cuts", "attempt(lambda: os.open('/etc/passwd', os.O_RDONLY | os.O_TRUNC))", "EROFS",
           "write-outside", path="/etc/passwd"),
    attack("a process that cannot be dumped", "call(157, 4, 0, 0, 0, 0); attempt(lambda: open('/etc/undumped', 'w'))",
           "EROFS", "write-outside", path="/etc/undumped"),
    attack("a thread with a directory of its own",
           "import threading\ndef work():\n    call(272, 0x200); os.chdir('/etc'); attempt(lambda: open('t', 'w'))\n"
           "t = threading.Thread(target=work); t.start(); t.join()", "EROFS", "write-outside", path="/etc/t"),
    attack("a descriptor that was sent over a socket",
           "a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [os.open('/etc', os.O_PATH)])\n"
           "d = socket.recv_fds(b, 1, 1)[1][0]\nattempt(lambda: os.open('s', os.O_WRONLY | os.O_CREAT, dir_fd=d))",
           "EROFS", "write-outside", path="/etc/s"),
    attack("the memory of its child", CHILD.replace("{part}", "mem"), "allowed EACCES EPERM", "proc-access",
           detail="for writing"),
    attack("what its child maps", CHILD.replace("{part}", "clear_refs"), "allowed EACCES EPERM EINVAL", "proc-access",
           detail="for writing"),
    attack("the oom score of its child", CHILD.replace("{part}", "oom_score_adj"), "allowed EACCES EPERM",
           "proc-access", detail="for writing"),
    attack("the users of pid 1", "attempt(lambda: open('/proc/1/uid_map', 'w'))", NOT_THERE, "proc-access",
           path="/proc/1/uid_map", detail="for writing"),
    attack("a descriptor of pid 1 by its number", "attempt(lambda: open('/proc/1/fd/0', 'w'))", NOT_THERE,
           "proc-access", path="/proc/1/fd/0", detail="for writing"),
    attack("an attribute of a file's directory",
           "print(call(190, os.open('/usr', os.O_RDONLY), b'user.x', b'1', 1, 0))", "EROFS EPERM ENOTSUP",
           "write-outside", path="/usr", syscall="fsetxattr"),
    attack("times of a file by its descriptor",
           "print(call(280, os.open('/usr/bin/env', os.O_RDONLY), 0, 0, 0))", "EROFS EPERM EACCES", "write-outside",
           path="/usr/bin/env", syscall="utimensat"),
)  # fmt: skip

CACHED = """
import hashlib
def digest(): return hashlib.sha256(open('/usr/bin/env', 'rb').read()).digest()
before, (r, w) = digest(), os.pipe()
os.write(w, bytes(65536)); os.read(r, 65536)
handle = os.open('/usr/bin/env', os.O_RDONLY)
assert os.splice(handle, w, 1, offset_src=4) == 1
os.write(w, b'overwritten')
a, b = os.pipe()
call(276, r, b, 12, 0)
piece = ctypes.create_string_buffer(b'again')
call(278, b, struct.pack('QQ', ctypes.addressof(piece), 5), 1, 8)
print('held' if digest() == before else 'changed')
"""

DOMAIN = """
rules = struct.pack('Q', 0x1fff)
handle = libc.syscall(444, rules, 8, 0)
call(157, 38, 1, 0, 0, 0)
if handle >= 0:
    call(446, handle, 0)
attempt(lambda: open('/etc/from-a-domain', 'w'))
"""

OPEN_ALREADY = "reads and writes by descriptors that are open, and pipes, are not watched"
NOTHING_THERE = "the path does not exist inside, so no call on a file is recorded"
LIMITED = "a limit bounds it; honest programs lock memory as well"

UNSEEN: tuple[Attack, ...] = (
    attack("changing a program in the cache through a pipe", CACHED, "held", unrecorded=OPEN_ALREADY),
    attack("waiting for changes of the host's files",
           "h = libc.inotify_init(); print(call(254, h, b'{secret}', 0xfff))", "ENOENT EACCES",
           unrecorded=NOTHING_THERE),
    attack("locking all memory", "held = bytearray(64 << 20); print(call(151, 3))", "ENOMEM EPERM", unrecorded=LIMITED),
)  # fmt: skip

HIDDEN: tuple[Attack, ...] = (
    attack("writing from a domain of its own", DOMAIN, "EROFS EACCES", "write-outside", path="/etc/from-a-domain"),
    attack("a program at addresses that are not random",
           "call(135, 0x0040000); subprocess.run(['/bin/echo', 'fixed'], stdout=-3); print('over')", "over",
           kind="exec", argv=("/bin/echo", "fixed")),
)  # fmt: skip

SYSTEM_FILES = (*KERNEL, *FILES, *HIDDEN, *UNSEEN)
