"""Attacks on files: of the host, of the system, of other processes, of the workspace at the wrong time."""

from __future__ import annotations

import signal

from tests.attacks.attack import Attack, attack

NOT_THERE = "EROFS EACCES ENOENT EPERM ENOTDIR"
"""What a system says to a write where nothing can be written; which of them depends on what its image holds."""

READS = "reads are recorded only where the contract asks for them, with `policy.reads: files`"
NOTHING_THERE = "there is no open descriptor to try, so there is no call to record"

RACE = """
import threading
good, bad = b"/workspace/good\\0", b"/etc/passwd\\0\\0\\0\\0\\0"
path = ctypes.create_string_buffer(good, 16)
before, done = open("/etc/passwd").read(), []
def flip():
    while not done:
        path[:] = bad
        path[:] = good
worker = threading.Thread(target=flip)
worker.start()
for _ in range(300):
    handle = libc.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    if handle >= 0:
        os.write(handle, b"x")
        os.close(handle)
done.append(1)
worker.join()
path[:] = bad
libc.open(path, os.O_WRONLY | os.O_APPEND)
print("held" if open("/etc/passwd").read() == before else "changed")
"""

HANDS = """
found = []
for number in range(3, 4096):
    try:
        found.append((number, os.pread(number, 100, 0)))
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ESPIPE):
            found.append((number, error))
print(found or "nothing")
"""

OUTSIDE: tuple[Attack, ...] = (
    attack("writing to the system", "attempt(lambda: open('/etc/new', 'w'))", "EROFS", "write-outside",
           path="/etc/new", syscall="openat", allowed=False),
    attack("writing to the keys of root", "attempt(lambda: open('/root/.ssh/keys', 'w'))", "ENOENT EACCES",
           "write-outside", path="/root/.ssh/keys"),
    attack("climbing out with dots", "attempt(lambda: open('/workspace/../etc/x', 'w'))", "EROFS", "write-outside",
           path="/etc/x"),
    attack("climbing out to the host with dots", "attempt(lambda: open('/workspace/../../../..{secret}', 'w'))",
           NOT_THERE, "write-outside", path="{secret}"),
    attack("a relative path from the system", "os.chdir('/etc'); attempt(lambda: open('relative', 'w'))", "EROFS",
           "write-outside", path="/etc/relative"),
    attack("a descriptor of the system",
           "d = os.open('/usr', os.O_RDONLY); attempt(lambda: os.open('y', os.O_CREAT | os.O_WRONLY, dir_fd=d))",
           "EROFS", "write-outside", path="/usr/y"),
    attack("a symbolic link to a directory", "os.symlink('/etc', 'way'); attempt(lambda: open('way/z', 'w'))",
           "EROFS", "write-outside", path="/etc/z", detail="/workspace/way/z"),
    attack("a dangling symbolic link", "os.symlink('/etc/dangling', 'loose'); attempt(lambda: open('loose', 'w'))",
           "EROFS", "write-outside", path="/etc/dangling", detail="/workspace/loose"),
    attack("a symbolic link to the host", "os.symlink('{secret}', 'far'); attempt(lambda: open('far', 'w'))",
           NOT_THERE, "write-outside", path="{secret}"),
    attack("openat2", "print(call(437, -100, b'/etc/two', struct.pack('QQQ', 0o101, 0o644, 0), 24))", "EROFS",
           "write-outside", path="/etc/two", syscall="openat2"),
    attack("creat", "print(call(85, b'/etc/c', 0o644))", "EROFS", "write-outside", path="/etc/c", syscall="creat"),
    attack("making a directory", "attempt(lambda: os.mkdir('/usr/d'))", "EROFS", "write-outside", path="/usr/d"),
    attack("removing a program", "attempt(lambda: os.unlink('/usr/bin/env'))", "EROFS", "write-outside",
           path="/usr/bin/env"),
    attack("removing a directory", "attempt(lambda: os.rmdir('/usr/lib'))", "EROFS", "write-outside",
           path="/usr/lib"),
    attack("changing a mode", "attempt(lambda: os.chmod('/etc/passwd', 0o666))", "EROFS", "write-outside",
           detail="mode 0666"),
    attack("changing times", "attempt(lambda: os.utime('/etc/passwd'))", "EROFS", "write-outside",
           path="/etc/passwd"),
    attack("cutting a file", "attempt(lambda: os.truncate('/etc/passwd', 0))", "EROFS EACCES", "write-outside",
           syscall="truncate"),
    attack("an attribute", "attempt(lambda: os.setxattr('/etc/passwd', 'user.a', b'1'))", "EROFS", "write-outside",
           syscall="setxattr"),
    attack("a link in the system", "attempt(lambda: os.symlink('a', '/etc/link'))", "EROFS", "write-outside",
           path="/etc/link"),
    attack("a hard link to a program", "attempt(lambda: os.link('/usr/bin/env', 'env'))", "EXDEV",
           "write-outside", detail="hard link"),
    attack("renaming into the system", "open('own', 'w'); attempt(lambda: os.rename('own', '/usr/own'))",
           "EXDEV", "write-outside", path="/usr/own"),
    attack("renaming out of the system", "attempt(lambda: os.rename('/usr/bin/env', 'moved'))", "EXDEV",
           "write-outside", path="/usr/bin/env"),
    attack("the kernel's settings", "attempt(lambda: open('/proc/sys/kernel/core_pattern', 'w'))", NOT_THERE,
           "write-outside", path="/proc/sys/kernel/core_pattern"),
    attack("the system request key", "attempt(lambda: open('/proc/sysrq-trigger', 'w'))", NOT_THERE, "write-outside",
           path="/proc/sysrq-trigger"),
    attack("its own control group", "attempt(lambda: open('/sys/fs/cgroup/cgroup.procs', 'w'))", NOT_THERE,
           "write-outside", path="/sys/fs/cgroup/cgroup.procs"),
    attack("a file among the devices", "attempt(lambda: open('/dev/new', 'w'))", NOT_THERE, "write-outside",
           path="/dev/new"),
    attack("the program that runs as pid 1", "attempt(lambda: open('/run/proctor/init', 'w'))",
           f"{NOT_THERE} ETXTBSY", "write-outside", path="/run/proctor/init"),
    attack("a path that changes under the guard", RACE, "held", "write-outside", path="/etc/passwd"),
)  # fmt: skip

PROCESSES: tuple[Attack, ...] = (
    attack("writing to the memory of pid 1", "attempt(lambda: open('/proc/1/mem', 'r+b'))", "EACCES",
           "proc-access", path="/proc/1/mem", detail="for writing"),
    attack("the root of pid 1", "attempt(lambda: open('/proc/1/root/etc/x', 'w'))", NOT_THERE, "proc-access",
           path="/proc/1/root/etc/x"),
    attack("its own root by another name", "attempt(lambda: open('/proc/self/root/etc/r', 'w'))", NOT_THERE,
           "write-outside", path="/etc/r"),
    attack("its own directory by another name",
           "os.chdir('/etc'); attempt(lambda: open(f'/proc/{os.getpid()}/cwd/w', 'w'))", NOT_THERE, "write-outside",
           path="/etc/w"),
    attack("the oom score of pid 1", "attempt(lambda: open('/proc/1/oom_score_adj', 'w'))", NOT_THERE, "proc-access",
           path="/proc/1/oom_score_adj"),
    attack("looking into pid 1", "attempt(lambda: open('/proc/1/environ').read())", "EACCES EPERM", "proc-access",
           path="/proc/1/environ", unrecorded=READS),
)  # fmt: skip

READING: tuple[Attack, ...] = (
    attack("reading the host by its path", "attempt(lambda: open('{secret}').read())", "ENOENT EACCES",
           unrecorded="the path does not exist inside, so nothing is read that could be recorded"),
    attack("descriptors of the harness", HANDS, "nothing", unrecorded=NOTHING_THERE),
    attack("a planted key", "attempt(lambda: open('{canary}').read())", "allowed", "read-canary", path="{canary}"),
)  # fmt: skip

STAGES: tuple[Attack, ...] = (
    attack("writing in the stage that only reads", "signal.alarm(1); open('/workspace/early', 'w'); print('written')",
           "", kind="held", held=True, dies_of=signal.SIGALRM, path="/workspace/early", syscall="openat"),
)  # fmt: skip

FILES = (*OUTSIDE, *PROCESSES, *READING, *STAGES)
