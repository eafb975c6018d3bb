"""Real programs run inside as they do outside: compilers, interpreters, git, threads, subprocesses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Limits, Sandbox
from tests.execute.sandbox.workplace import open_directory, opened, shell

GIT = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "
C = "#include <stdio.h>\\n#include <pthread.h>\\nvoid *f(void *p) { puts(p); return 0; }\\n"
MAIN = 'int main(void) { pthread_t t; pthread_create(&t, 0, f, (void *)"ran"); return pthread_join(t, 0); }\\n'
POOL = 'import multiprocessing as m; print(sum(m.get_context(\\"%s\\").Pool(2).map(abs, [-1, 2])))'


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions"), top, Limits()) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("python", "python3 -c 'import ssl, sqlite3, ctypes, json; print(6*7)'", "42"),
        ("pools by fork", f'python3 -c "{POOL % "fork"}"', "3"),
        ("asyncio", "python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, 5)))'", "5"),
        ("node", "node -e 'console.log(require(\"os\").cpus().length > 0, 40 + 2)'", "true 42"),
        ("node workers", 'node -e \'new (require("worker_threads").Worker)("console.log(7)", {eval: true})\'', "7"),
        ("node child", 'node -e \'console.log(require("child_process").execSync("echo 9").toString().trim())\'', "9"),
        ("npm", "mkdir -p n && cd n && npm init -y >/dev/null && npm pkg get version", '"1.0.0"'),
        ("gcc", f"printf '{C}{MAIN}' > t.c && gcc -pthread -o t t.c && ./t", "ran"),
        ("make", "printf 'all:\\n\\t@echo made\\n' > Makefile && make -j2 -s", "made"),
        (
            "git",
            GIT + "git init -q g && cd g && echo x > f && git add . && git commit -qm m && git log --format=%s",
            "m",
        ),
        ("shell pipes", "seq 1000 | sort -rn | head -1", "1000"),
        ("perl", "perl -e 'print 2**10'", "1024"),
        ("time zone", "date +%Z", "UTC"),
        ("names", "id -un; getent hosts localhost | tr -s ' ' | cut -d' ' -f2 | head -1", "agent\nlocalhost"),
        ("shared memory", "python3 -c 'from multiprocessing import Lock, Queue; Lock(); Queue(); print(1)'", "1"),
    ],
)
def test_it_runs(box: Sandbox, name: str, text: str, wanted: str) -> None:
    finished = shell(box, text)
    assert finished.stdout.prefix.decode().strip() == wanted, (name, finished.stderr.prefix.decode())
    assert finished.exit_code == 0


def test_cmake_builds_and_tests_a_project(box: Sandbox) -> None:
    text = (
        "mkdir -p c && cd c && echo 'int main(void) { return 0; }' > m.c && "
        "printf 'cmake_minimum_required(VERSION 3.5)\\nproject(p C)\\nenable_testing()\\n"
        "add_executable(m m.c)\\nadd_test(t m)\\n' > CMakeLists.txt && "
        "cmake -B b . >/dev/null && cmake --build b >/dev/null && cd b && ctest | grep '100% tests passed'"
    )
    finished = shell(box, text)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
