"""Attacks on pid 1 and on what a process may use: limits, priorities, schedules, capabilities, floods of signals."""

from __future__ import annotations

from tests.attacks.attack import Attack, attack

FLOOD = """
answers = set()
for number in list(range(1, 65)) * 8:
    answers.add(call(62, 1, number))
print(*answers)
"""

QUEUED = """
information = struct.pack('iiiiiQ', 15, 0, -1, os.getpid(), 0, 0) + bytes(100)
print(call(129, 1, 15, information))
"""

THREADS = """
import threading
def send():
    for _ in range(50):
        call(200, 1, 9)
workers = [threading.Thread(target=send) for _ in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print(call(200, 1, 9))
"""

FORKS = """
for _ in range(20):
    if not os.fork():
        os._exit(call(62, 1, 15) != 'EPERM')
print(*{os.wait()[1] for _ in range(20)})
"""

GUARD = """
answers = set()
for pid in (os.getppid() + 1_000_000, 2_000_000, 3_999_999):
    answers.add(call(62, pid, 9))
print(*answers)
"""

LIMITS: tuple[Attack, ...] = (
    attack("no open files for pid 1", "print(call(302, 1, 7, struct.pack('QQ', 3, 3), 0))", "EPERM", "syscall-trace",
           syscall="prlimit64", detail="a limit of pid 1"),
    attack("no time for pid 1", "print(call(302, 1, 0, struct.pack('QQ', 0, 0), 0))", "EPERM", "syscall-trace",
           syscall="prlimit64", detail="a limit of pid 1"),
    attack("no memory for pid 1", "print(call(302, 1, 9, struct.pack('QQ', 4096, 4096), 0))", "EPERM",
           "syscall-trace", syscall="prlimit64"),
    attack("a higher limit on open files",
           "import resource\nmost = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
           "print(call(160, 7, struct.pack('QQ', most + 1, most + 1)))", "EPERM", "raised-limit", syscall="setrlimit",
           detail="limit 7"),
    attack("core dumps without a limit", "print(call(302, 0, 4, struct.pack('QQ', 2**64 - 1, 2**64 - 1), 0))", "EPERM",
           "raised-limit", syscall="prlimit64", detail="limit 4"),
    attack("locked memory without a limit", "print(call(302, os.getpid(), 8, struct.pack('QQ', 1 << 40, 1 << 40), 0))",
           "EPERM", "raised-limit", syscall="prlimit64", detail="limit 8"),
    attack("files without a limit in size", "print(call(160, 1, struct.pack('QQ', 2**64 - 1, 2**64 - 1)))",
           "EPERM allowed", "privilege", syscall="setrlimit", detail="limit 1"),
)  # fmt: skip

SCHEDULES: tuple[Attack, ...] = (
    attack("a real-time schedule", "print(call(144, 0, 1, struct.pack('I', 99)))", "EPERM", "privilege",
           syscall="sched_setscheduler", detail="a real-time policy"),
    attack("a deadline",
           "print(call(314, 0, struct.pack('IIQiIQQQ', 48, 6, 0, 0, 0, 10**6, 10**7, 10**7), 0))", "EPERM", "privilege",
           syscall="sched_setattr", detail="a real-time policy"),
    attack("pid 1 when nothing else runs", "print(call(144, 1, 5, struct.pack('I', 0)))", "EPERM", "syscall-trace",
           syscall="sched_setscheduler"),
    attack("pid 1 on one processor", "print(call(203, 1, 8, struct.pack('Q', 1)))", "EPERM", "syscall-trace",
           syscall="sched_setaffinity"),
    attack("pid 1 at the lowest priority", "print(call(141, 0, 1, 19))", "EPERM", "syscall-trace",
           syscall="setpriority"),
    attack("every process at the lowest priority", "print(call(141, 2, 0, 19))", "EPERM", "syscall-trace",
           syscall="setpriority"),
    attack("pid 1 without its turn at the disk", "print(call(251, 1, 1, 3 << 13))", "EPERM", "syscall-trace",
           syscall="ioprio_set"),
)  # fmt: skip

PRIVILEGES: tuple[Attack, ...] = (
    attack("a capability for its children", "print(call(157, 47, 2, 21, 0, 0))", "EPERM", "privilege",
           syscall="prctl", detail="ambient capability"),
    attack("capabilities that are kept", "print(call(157, 28, 0x10, 0, 0, 0))", "EPERM", "privilege", syscall="prctl",
           detail="secure bits"),
    attack("the user of files only", "call(122, 0); print(call(122, -1))", "allowed", "privilege", syscall="setfsuid"),
    attack("all three users", "print(call(117, 0, 0, 0))", "EPERM", "privilege", syscall="setresuid", detail="0 0 0"),
    attack("a port of root", "attempt(lambda: socket.socket().bind(('127.0.0.1', 80)))", "EACCES", "privilege",
           syscall="bind", address="127.0.0.1:80"),
    attack("a port of root over IPv6",
           "attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).bind(('::', 53)))", "EACCES",
           "privilege", syscall="bind", address="[::]:53"),
    attack("a setuid copy of a shell",
           "import shutil\nshutil.copy('/bin/sh', 'shell'); os.chmod('shell', 0o6755)\n"
           "done = subprocess.run(['./shell', '-p', '-c', 'id -u'], capture_output=True)\n"
           "print('root' if done.stdout.strip() == b'0' else 'nobody')", "nobody", "privilege",
           detail="mode 6755", path="/workspace/shell"),
    attack("a capability on a file",
           "open('able', 'w'); attempt(lambda: os.setxattr('able', 'security.capability', struct.pack('<5I',"
           " 0x2000001, 1 << 21, 0, 0, 0)))", "EPERM", "privilege", path="/workspace/able",
           detail="security.capability"),
)  # fmt: skip

SIGNALS: tuple[Attack, ...] = (
    attack("every signal to pid 1, again and again", FLOOD, "EPERM", "signal", syscall="kill",
           detail="signal 15 to 1"),
    attack("a queued signal to pid 1", QUEUED, "EPERM", "signal", syscall="rt_sigqueueinfo",
           detail="signal 15 to 1"),
    attack("a flood from threads to pid 1", THREADS, "EPERM", "signal", syscall="tkill", detail="signal 9 to 1"),
    attack("a flood from children to pid 1", FORKS, "0", "signal", syscall="kill", detail="signal 15 to 1"),
    attack("looking for the guard with signals", GUARD, "ESRCH", "signal", errno="ESRCH",
           detail="signal 9 to 2000000"),
    attack("killing the group of pid 1", "signal.signal(15, signal.SIG_IGN); print(call(62, -1, 15))", "allowed",
           "signal", detail="signal 15 to -1"),
)  # fmt: skip

PID_ONE = (*LIMITS, *SCHEDULES, *PRIVILEGES, *SIGNALS)
