"""W4: with ``policy.reads: all`` nothing outside the workspace is read, listed, copied or sent without a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.execute.sandbox.interface import Command
from tests.attacks.test_isolation import USERS, as_user
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import PYTHON, VARIABLES, open_directory, python, shell

READ, LISTED = "/usr/lib/os-release", "/usr/lib/systemd"
PROGRAM = """
import ctypes, mmap, os, shutil, socket, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
path, way = sys.argv[1:]
def sent(handle):
    ours, theirs = socket.socketpair()
    socket.send_fds(ours, [b'x'], [handle])
    return os.read(socket.recv_fds(theirs, 1, 1)[1][0], 9)
def linked(target):
    os.symlink(target, '/tmp/l' + str(os.getpid()))
    return '/tmp/l' + str(os.getpid())
ways = {
    'open': lambda: open(path).read(),
    'openat': lambda: os.open(os.path.basename(path), 0, dir_fd=os.open(os.path.dirname(path), os.O_PATH)),
    'relative': lambda: (os.chdir(os.path.dirname(path)), open(os.path.basename(path))),
    'openat2': lambda: libc.syscall(437, -100, path.encode(), (ctypes.c_uint64 * 3)(), 24),
    'old open': lambda: libc.syscall(2, path.encode(), 0),
    'a map': lambda: mmap.mmap(os.open(path, 0), 1, prot=mmap.PROT_READ),
    'O_PATH and again': lambda: open('/proc/self/fd/%d' % os.open(path, os.O_PATH)),
    'its own root': lambda: open('/proc/self/root' + path),
    'a thread': lambda: (t := threading.Thread(target=lambda: open(path).read()), t.start(), t.join()),
    'a link': lambda: open(linked(path)),
    'a link to its directory': lambda: open(linked(os.path.dirname(path)) + '/' + os.path.basename(path)),
    'dots': lambda: open('/tmp/../usr/..' + path),
    'sendfile': lambda: os.sendfile(os.open('/tmp/copy', os.O_WRONLY | os.O_CREAT), os.open(path, 0), 0, 9),
    'copy_file_range': lambda: os.copy_file_range(os.open(path, 0), os.open('/tmp/copied', os.O_RDWR | os.O_CREAT), 9),
    'a descriptor by a socket': lambda: sent(os.open(path, 0)),
    'a copy': lambda: shutil.copy(path, '/tmp'),
    'reading and writing': lambda: os.open(path, os.O_RDWR),
    'as if to make it': lambda: os.open(path, os.O_RDONLY | os.O_CREAT, 0o600),
    'as if to make it, by openat2': lambda: libc.syscall(437, -100, path.encode(), (ctypes.c_uint64 * 3)(0o100), 24),
    **{text: lambda text=text: subprocess.run(['sh', '-c', text.replace('PATH', path)]) for text in (
        'cat PATH', 'cat < PATH', 'grep . PATH', 'head -c 1 PATH', 'cp PATH /tmp', 'dd if=PATH', 'tar cf /tmp/t PATH',
        'base64 PATH', 'od PATH', 'awk 1 PATH', 'sed p PATH', 'sort PATH', 'while read x; do :; done < PATH', '. PATH',
        'exec 3< PATH', 'diff PATH /dev/null', 'cmp PATH /dev/null', 'sha256sum PATH', 'wc PATH', 'xargs -a PATH echo',
        'tail -n 1 PATH', 'perl -pe 1 PATH', 'tee /tmp/x < PATH', 'LD_PRELOAD=PATH /bin/true', 'git hash-object PATH',
        'python3 PATH', 'sh PATH', 'find PATH -exec cat {} +',
    )},
}
if way == 'all':
    print('\\n'.join(ways)); sys.exit()
try: ways[way]()
except (OSError, ValueError): pass
"""
LISTS = ("ls DIR", "find DIR", "echo DIR/*", "tar cf /tmp/u DIR", "cd DIR && ls", "grep -r x DIR", "du DIR")


def run(seen: Seen, way: str) -> list[str]:
    assert seen.box is not None
    finished = seen.box.run(Command((PYTHON, "-I", "-c", PROGRAM, READ, way), VARIABLES))
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    return finished.stdout.prefix.decode("utf-8", "replace").splitlines()


@pytest.mark.parametrize("user", USERS)
def test_every_way_to_read_or_to_list_is_told(user: str) -> None:
    def action(top: Path) -> None:
        with guarded(top, everywhere=True) as seen:
            ways = run(seen, "all")
            assert len(ways) + len(LISTS) >= 50
            untold = []
            for way in ways:
                seen.clear()
                run(seen, way)
                if READ not in {one.path for one in (*seen.kind("read"), *seen.attempts("write-outside"))}:
                    untold.append(way)
            for way in LISTS:
                seen.clear()
                assert seen.box is not None
                shell(seen.box, way.replace("DIR", LISTED))
                if LISTED not in {one.path for one in seen.kind("read")}:
                    untold.append(way)
            assert untold == []
            assert not [one for one in seen.all if one.kind in ("more", "lost")]

    as_user(user, action)


OWN = """
import os
def own(path, flags):
    open(path, 'w').close()
    os.open(path, flags, 0o600)
own(place + '/both', os.O_RDWR)
own(place + '/both-or-made', os.O_RDWR | os.O_CREAT)
own(place + '/made', os.O_RDONLY | os.O_CREAT)
own(place + '/emptied', os.O_RDWR | os.O_TRUNC)
own(place + '/written', os.O_WRONLY)
os.open(place + '/new', os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
"""


@pytest.mark.parametrize(("place", "fields"), [("/tmp", {"everywhere": True}), ("/workspace", {"reads": True})])
def test_own_files_that_are_opened_for_reading_and_writing_are_read(place: str, fields: dict[str, Any]) -> None:
    with open_directory() as top, guarded(top, **fields) as seen:
        assert seen.box is not None
        finished = python(seen.box, f"place = {place!r}{OWN}")
        assert finished.exit_code == 0, finished.stderr.prefix.decode()
        told = [one.path for one in seen.kind("read") if one.path.startswith(place)]
        assert told == [f"{place}/{name}" for name in ("both", "both-or-made", "made")]
