"""Attacks by ways to start a program that leave no file, or another name, and by planted secrets read in odd ways."""

from __future__ import annotations

from tests.attacks.attack import Attack, attack

MEMORY = """
handle = os.memfd_create('hidden')
os.write(handle, open('/usr/bin/true', 'rb').read())
child = os.fork()
if not child:
    {start}
os.wait()
print('over')
"""

SCRIPT = """
handle = os.memfd_create('text', 0)
os.write(handle, b'#!/bin/sh\\nexit 0\\n')
if not os.fork():
    os.execv(f'/proc/self/fd/{handle}', ['looks', 'harmless'])
os.wait()
print('over')
"""

DELETED = """
import shutil
shutil.copy('/usr/bin/true', '/tmp/gone')
handle = os.open('/tmp/gone', os.O_RDONLY)
os.unlink('/tmp/gone')
if not os.fork():
    libc.syscall(322, handle, b'', (ctypes.c_char_p * 2)(b'gone', None), (ctypes.c_char_p * 1)(None), 0x1000)
    os._exit(9)
os.wait()
print('over')
"""

LOADER = """
import glob, shutil
(loader, *_) = sorted(glob.glob('/lib64/ld-linux*') + glob.glob('/lib/ld-linux*'))
shutil.copy('/usr/bin/id', '/tmp/plain'); os.chmod('/tmp/plain', 0o600)
done = subprocess.run([loader, '/tmp/plain'], capture_output=True)
print('over')
"""

PROGRAMS: tuple[Attack, ...] = (
    attack("a program from memory by fexecve",
           MEMORY.replace("{start}", "os.execve(handle, ['kworker'], {})"), "over", kind="exec", argv=("kworker",)),
    attack("a program from memory by its descriptor",
           MEMORY.replace("{start}", "os.execv(f'/proc/self/fd/{handle}', ['init'])"), "over", kind="exec",
           argv=("init",)),
    attack("a program from memory by its descriptor among the devices",
           MEMORY.replace("{start}", "os.execv(f'/dev/fd/{handle}', ['sshd'])"), "over", kind="exec",
           argv=("sshd",)),
    attack("a script from memory", SCRIPT, "over", kind="exec", argv=("looks", "harmless")),
    attack("a program that was deleted", DELETED, "over", kind="exec", argv=("gone",)),
    attack("a program without its mode, by the loader", LOADER, "over", kind="exec",
           argv=("/lib64/ld-linux-x86-64.so.2", "/tmp/plain")),
    attack("a program under the name of another",
           "subprocess.run(['harmless', '-c', ':'], executable='/bin/sh'); print('over')", "over", kind="exec",
           argv=("harmless", "-c", ":")),
    attack("a program without arguments",
           "if not os.fork():\n    libc.execve(b'/usr/bin/true', 0, 0)\n    os._exit(1)\nos.wait(); print('over')",
           "over", kind="exec", path="/usr/bin/true"),
    attack("a shared program by vfork", "libc.system(b'/usr/bin/id >/dev/null 2>&1; true'); print('over')", "over",
           kind="exec", argv=("/usr/bin/id",)),
    attack("a program that is not there by its descriptor",
           "d = os.open('/usr/bin', os.O_RDONLY)\n"
           "print(call(322, d, b'no-such-tool', struct.pack('QQ', 0, 0), 0, 0))", "ENOENT", "absent-program",
           syscall="execveat"),
    attack("a handler for programs of another kind",
           "attempt(lambda: open('/proc/sys/fs/binfmt_misc/register', 'w'))", "EROFS EACCES ENOENT EPERM",
           "write-outside", path="/proc/sys/fs/binfmt_misc/register"),
    attack("a loader for every program", "attempt(lambda: open('/etc/ld.so.preload', 'w'))", "EROFS", "write-outside",
           path="/etc/ld.so.preload"),
)  # fmt: skip

WAYS = {
    "a map": "import mmap\nprint(bool(mmap.mmap(os.open('{canary}', 0), 0, prot=mmap.PROT_READ)[:9]))",
    "sendfile": "print(os.sendfile(os.open('/tmp/s', 65), os.open('{canary}', 0), 0, 9) > 0)",
    "copy_file_range": "i = os.open('{canary}', 0); o = os.open('/home/agent/c', 65)\n"
    "print(os.copy_file_range(i, o, 9) > 0)",
    "splice": "i = os.open('{canary}', 0); r, w = os.pipe()\nprint(os.splice(i, w, 9) > 0)",
    "splice, tee and vmsplice": "i = os.open('{canary}', 0); r, w = os.pipe(); a, b = os.pipe()\n"
    "os.splice(i, w, 9); print(call(276, r, b, 9, 0) == 'allowed' and bool(os.read(a, 9)))",
    "preadv2": "b = bytearray(9); print(os.preadv(os.open('{canary}', 0), [b], 0, os.RWF_HIPRI) > 0)",
    "its own descriptors": "i = os.open('{canary}', os.O_PATH); print(bool(open(f'/proc/self/fd/{i}').read()))",
    "the descriptors of a thread": "i = os.open('{canary}', os.O_PATH)\n"
    "print(bool(open(f'/proc/thread-self/fd/{i}').read()))",
    "its own root": "print(bool(open('/proc/self/root{canary}').read()))",
    "openat2": "h = struct.pack('QQQ', 0, 0, 0x10); d = os.open('/', os.O_PATH)\n"
    "print(libc.syscall(437, d, b'{canary}', h, 24) > 0)",
    "a symbolic link": "os.symlink('{canary}', 'to'); print(bool(open('to').read()))",
    "a hard link": "os.link('{canary}', '/home/agent/hard'); print(bool(open('/home/agent/hard').read()))",
    "a socket": "a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [os.open('{canary}', 0)])\n"
    "print(bool(os.read(socket.recv_fds(b, 1, 1)[1][0], 9)))",
    "a child": "print(bool(subprocess.run(['cat', '{canary}'], capture_output=True).stdout))",
    "a shell alone": "print(bool(subprocess.run(['sh', '-c', 'read x < {canary}; echo $x'], capture_output=1).stdout))",
    "tar": "print(subprocess.run(['tar', 'cPf', '/tmp/t', '{canary}']).returncode == 0)",
    "dd": "print(subprocess.run(['dd', 'if={canary}', 'of=/tmp/dd'], stderr=-3).returncode == 0)",
    "a digest": "print(bool(subprocess.run(['sha256sum', '{canary}'], capture_output=True).stdout))",
    "a search": "print(bool(subprocess.run(['grep', '-r', '.', '/home/agent'], capture_output=True).stdout))",
    "opening it for writing": "print(os.open('{canary}', os.O_RDWR) > 0)",
    "the loader": "subprocess.run(['/usr/bin/true'], env={'LD_PRELOAD': '{canary}'}, stderr=-3); print(True)",
    "an interpreter": "subprocess.run([sys.executable, '{canary}'], stderr=-3); print(True)",
}

CANARIES: tuple[Attack, ...] = tuple(
    attack(f"a planted key by {way}", program, "True", "read-canary", path="{canary}") for way, program in WAYS.items()
)

STARTS = (*PROGRAMS, *CANARIES)
