"""Attacks on the kernel, on other processes and on privileges."""

from __future__ import annotations

from tests.attacks.attack import MARK, Attack, attack

FOREIGN = """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))  # mov eax, getpid; int 0x80; ret
answer = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print("allowed" if answer > 0 else errno.errorcode[-answer])
"""

IN_A_CHILD = """
if os.fork() == 0:
    print(call(0x40000000 + 40), flush=True)
    os._exit(0)
os.wait()
"""

DAEMON = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        os.execv("/usr/bin/sleep", ["sleep", "{MARK}"])
    os._exit(0)
os.wait()
print("gone")
"""

EXEC_RACE = """
import threading
words = [ctypes.create_string_buffer(text, 16) for text in (b"echo", b"harmless")]
arguments = (ctypes.c_char_p * 3)(*map(ctypes.addressof, words), None)
def flip():
    while True:
        words[1].value = b"changed"
        words[1].value = b"harmless"
threading.Thread(target=flip, daemon=True).start()
sys.stdout.flush()
libc.execv(b"/usr/bin/echo", arguments)
"""

ZOMBIES = """
for _ in range(300):
    if os.fork() == 0:
        os.fork()
        os._exit(0)
attempt(lambda: os.kill(-1, signal.SIGCONT))
"""

REFUSED = {
    "mount": ("mount 165", "umount2 166", "pivot_root 155", "chroot 161", "open_tree 428", "move_mount 429",
              "fsopen 430", "fsconfig 431", "fsmount 432", "fspick 433", "mount_setattr 442"),
    "namespace": ("unshare 272", "setns 308"),
    "trace": ("ptrace 101", "process_vm_readv 310", "process_vm_writev 311", "pidfd_getfd 438", "kcmp 312"),
    "bpf": ("bpf 321",),
    "perf": ("perf_event_open 298",),
    "userfault": ("userfaultfd 323",),
    "kernel": ("kexec_load 246", "kexec_file_load 320", "init_module 175", "finit_module 313", "reboot 169"),
    "io_uring": ("io_uring_setup 425", "io_uring_enter 426", "io_uring_register 427"),
    "keys": ("add_key 248", "request_key 249", "keyctl 250"),
    "handle": ("open_by_handle_at 304",),
    "system": ("swapon 167", "sethostname 170", "syslog 103"),
    "clock": ("settimeofday 164", "clock_settime 227"),
    "ports": ("iopl 172", "ioperm 173"),
}  # fmt: skip

NEVER: tuple[Attack, ...] = tuple(
    attack(name, f"print(call({number}, 0, 0, 0, 0, 0))", "ENOSYS" if kind == "io_uring" else "EPERM",
           f"syscall-{kind}", syscall=name, allowed=False)
    for kind, rows in REFUSED.items()
    for name, number in (row.split() for row in rows)
)  # fmt: skip

CALLS: tuple[Attack, ...] = (
    attack("a user namespace by clone", "print(call(56, 0x10000011, 0, 0, 0, 0))", "EPERM", "syscall-namespace",
           syscall="clone"),
    attack("a user namespace by clone3",
           "print(call(435, struct.pack('QQQQQQQQ', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64))", "ENOSYS",
           "syscall-namespace", syscall="clone3"),
    attack("system calls by int 0x80", FOREIGN, "ENOSYS", "syscall-foreign", syscall="foreign 20", errno="ENOSYS"),
    attack("system calls of x32", "print(call(0x40000000 + 39))", "ENOSYS", "syscall-foreign", syscall="foreign 39"),
    attack("system calls of x32 in a child", IN_A_CHILD, "ENOSYS", "syscall-foreign", syscall="foreign 40"),
    attack("a block device", "attempt(lambda: os.mknod('disk', 0o60600, os.makedev(254, 0)))", "EPERM",
           "syscall-device", detail="block device"),
    attack("a character device", "attempt(lambda: os.mknod('memory', 0o20600, os.makedev(1, 1)))", "EPERM",
           "syscall-device", detail="character device"),
    attack("pushing bytes into a terminal", "m, s = os.openpty(); print(call(16, s, 0x5412, b'x'))", "EPERM",
           "syscall-terminal", syscall="ioctl"),
    attack("pasting into a console", "m, s = os.openpty(); print(call(16, s, 0x541C, b'x'))", "EPERM",
           "syscall-terminal", syscall="ioctl"),
    attack("a file of a petabyte, allocated", "f = open('f', 'w'); print(call(285, f.fileno(), 0, 0, 1 << 50))",
           "EFBIG", "syscall-space", syscall="fallocate"),
    attack("a sparse file of a petabyte", "f = open('s', 'w'); print(call(77, f.fileno(), 1 << 50))", "EFBIG",
           "syscall-space", syscall="ftruncate"),
)  # fmt: skip

SIGNALS: tuple[Attack, ...] = (
    attack("killing pid 1", "attempt(lambda: os.kill(1, 9))", "EPERM", "signal", detail="signal 9 to 1"),
    attack("stopping pid 1", "attempt(lambda: os.kill(1, 19))", "EPERM", "signal", detail="signal 19 to 1"),
    attack("a thread of pid 1", "print(call(234, 1, 1, 15))", "EPERM", "signal", syscall="tgkill",
           detail="signal 15 to 1"),
    attack("pid 1 by a descriptor", "p = os.pidfd_open(1); print(call(424, p, 9, 0, 0))", "EPERM", "signal",
           syscall="pidfd_send_signal"),
    attack("a process of the host", "attempt(lambda: os.kill(4000000, 9))", "ESRCH", "signal", errno="ESRCH"),
    attack("a flood of zombies, and a signal to all", ZOMBIES, "allowed", "signal", detail="signal 18 to -1"),
)  # fmt: skip

PRIVILEGES: tuple[Attack, ...] = (
    attack("setuid", "attempt(lambda: os.setuid(0))", "EPERM", "privilege", detail="0", syscall="setuid"),
    attack("setresgid", "attempt(lambda: os.setresgid(0, 0, 0))", "EPERM", "privilege", detail="0 0 0"),
    attack("setgroups", "attempt(lambda: os.setgroups([0]))", "EPERM", "privilege", syscall="setgroups"),
    attack("capabilities",
           "head, data = struct.pack('Ii', 0x20080522, 0), struct.pack('6I', *[1 << 21] * 6)\n"
           "print(call(126, head, data))", "EPERM", "privilege", syscall="capset",
           detail="effective 00200000 permitted 00200000"),
    attack("giving a file to root", "open('mine', 'w'); attempt(lambda: os.chown('mine', 0, 0))", "EPERM",
           "privilege", path="/workspace/mine", detail="owner 0:0"),
    attack("a setuid bit", "open('bit', 'w'); attempt(lambda: os.chmod('bit', 0o4755))", "allowed", "privilege",
           detail="mode 4755", allowed=True),
    attack("a setuid program",
           "done = subprocess.run(['/usr/bin/su', '-c', 'id -u'], stdin=subprocess.DEVNULL, capture_output=True)\n"
           "print('root' if done.stdout.strip() == b'0' else 'nobody')", "nobody", kind="exec", path="/usr/bin/su",
           argv=("/usr/bin/su", "-c", "id -u")),
)  # fmt: skip

PROGRAMS: tuple[Attack, ...] = (
    attack("a double-forked daemon", DAEMON, "gone", kind="exec", path="/usr/bin/sleep", argv=("sleep", MARK)),
    attack("arguments that change under the guard", EXEC_RACE, "*", kind="exec", path="/usr/bin/echo"),
)  # fmt: skip

KERNEL = (*NEVER, *CALLS, *SIGNALS, *PRIVILEGES, *PROGRAMS)
