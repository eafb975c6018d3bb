"""Real programs work under a guard as they do without one, and nothing that they do is an attempt."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory, shell

GIT = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "
C = "#include <stdio.h>\\n#include <pthread.h>\\nvoid *f(void *p) { puts(p); return 0; }\\n"
MAIN = 'int main(void) { pthread_t t; pthread_create(&t, 0, f, (void *)"ran"); return pthread_join(t, 0); }\\n'
POOL = 'import multiprocessing as m; print(sum(m.get_context(\\"%s\\").Pool(2).map(abs, [-1, 2])))'
SERVER = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").status)
"""
PROGRAMS = [
    ("python", "python3 -c 'import ssl, sqlite3, ctypes, json; print(6*7)'", "42"),
    ("pools by fork", f'python3 -c "{POOL % "fork"}"', "3"),
    ("pools by spawn", f'python3 -c "{POOL % "spawn"}"', "3"),
    ("asyncio", "python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, 5)))'", "5"),
    ("a server on the loopback", f"mkdir -p served && cd served && python3 -c '{SERVER}' 2>/dev/null", "200"),
    ("virtual environment", "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'", "1"),
    ("node", "node -e 'console.log(require(\"os\").cpus().length > 0, 40 + 2)'", "true 42"),
    ("node workers", 'node -e \'new (require("worker_threads").Worker)("console.log(7)", {eval: true})\'', "7"),
    ("node child", 'node -e \'console.log(require("child_process").execSync("echo 9").toString().trim())\'', "9"),
    ("npm", "mkdir -p n && cd n && npm init -y >/dev/null && npm pkg get version", '"1.0.0"'),
    ("gcc", f"printf '{C}{MAIN}' > t.c && gcc -pthread -o t t.c && ./t", "ran"),
    ("make", "printf 'all: a b c\\na b c:\\n\\t@touch $@.out\\n' > Makefile && make -j4 -s && ls *.out | wc -l", "3"),
    ("git", GIT + "git init -q g && cd g && echo x > f && git add . && git commit -qm m && git log --format=%s", "m"),
    ("git's housekeeping", GIT + "git init -q h && cd h && git commit -qm m --allow-empty && git gc -q; git fsck", ""),
    ("tar", "mkdir -p t1 && seq 500 > t1/n && tar czf t.tgz t1 && rm -r t1 && tar xzf t.tgz && wc -l < t1/n", "500"),
    ("shell pipes", "seq 1000 | sort -rn | head -1", "1000"),
    ("sqlite", "python3 -c 'import sqlite3; sqlite3.connect(\"d\").execute(\"create table t(x)\"); print(1)'", "1"),
    ("shared memory", "python3 -c 'from multiprocessing import Lock, Queue; Lock(); Queue(); print(1)'", "1"),
]  # fmt: skip


def check(seen: Seen, name: str, text: str, wanted: str) -> None:
    assert seen.box is not None
    seen.clear()
    finished = shell(seen.box, text)
    assert finished.stdout.prefix.decode().strip() == wanted, (name, finished.stderr.prefix.decode())
    assert finished.exit_code == 0
    assert [one for one in seen.kind("attempt") if one.detail != "byte code"] == [], name


@pytest.fixture(scope="module")
def box() -> Iterator[Seen]:
    with open_directory() as top, guarded(top) as seen:
        yield seen


@pytest.mark.parametrize(("name", "text", "wanted"), PROGRAMS, ids=[one[0] for one in PROGRAMS])
def test_it_runs(box: Seen, name: str, text: str, wanted: str) -> None:
    check(box, name, text, wanted)


def test_they_run_for_an_ordinary_user_with_every_open_watched() -> None:
    def inside() -> None:
        with guarded(top, reads=True) as seen:
            for name, text, wanted in PROGRAMS:
                check(seen, name, text, wanted)

    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)
        as_ordinary_user(inside)
