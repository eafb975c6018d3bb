"""The model gateway against a bare proxy: time to the first byte, and streamed requests a minute on one core.

Both forward to the same scripted provider; each of the three runs in a process of its own. The bare proxy is the same
HTTP library with nothing between its two sides: no reading, no meter, no record. The gateway records into a real trace
and a real blob store, with a cassette. Streams come over time, as those of providers do, where the first byte is
measured; rates are by the processor time of the process that serves.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Row, environment, milliseconds, ratio
from proctor.base.clock import SystemClock, system_entropy
from proctor.execute.gateway.gateway_settings import Settings, Upstream
from proctor.execute.gateway.model_gateway import Gateway
from proctor.execute.gateway.spend_reservation import Meter
from proctor.execute.monitor.price_table import FALLBACK
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.writer import TraceWriter

BAR_SECONDS = 0.002
BAR_PER_MINUTE = 500
PATH = "/v1/chat/completions"
SCRIPT = f"""
schema: 1
turns:
  - {{when: {{model: slow}}, pause_seconds: 0.005, say: '{"An answer that takes its time. " * 15}'}}
  - {{when: {{model: fast}}, say: '{"An answer of a hundred events. " * 77}'}}
"""


def request(model: str, number: int) -> bytes:
    """A conversation of some turns, another one each time."""
    turns = [
        {"role": "user" if place % 2 == 0 else "assistant", "content": f"Message {place} of {number}. " * 40}
        for place in range(9)
    ]
    return json.dumps({"model": model, "messages": turns, "stream": True}).encode()


@contextmanager
def process(*arguments: str) -> Iterator[tuple[int, int]]:
    """The port of a server that runs in a process of its own and prints its address, and the process's id."""
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as started:
        assert started.stdout is not None
        try:
            yield int(started.stdout.readline().rpartition(b":")[2]), started.pid
        finally:
            started.terminate()


async def serve_bare(url: str) -> None:
    """A proxy that only passes bytes on."""
    from aiohttp import ClientSession, web

    async with ClientSession() as session:

        async def forward(request: web.Request) -> web.StreamResponse:
            async with session.post(url + request.path, data=await request.read()) as answer:
                response = web.StreamResponse(headers={"Content-Type": answer.headers["Content-Type"]})
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response

        app = web.Application()
        app.router.add_post("/{path:.*}", forward)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        listener = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(runner, listener).start()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        await asyncio.Event().wait()


def serve_gateway(url: str, directory: Path) -> None:
    """A gateway that records everything."""
    run = RunDirectory(directory / "run").create()
    trace = TraceWriter.create(run.events, SystemClock(), system_entropy)
    settings = Settings(upstreams={"chat": Upstream(url, "sk-bench-0123456789")}, cassette="record")
    gateway = Gateway(settings, trace.append, run.write_blob, Meter(FALLBACK.table))
    gateway.start()
    listener = socket.create_server(("127.0.0.1", 0))
    gateway.serve(listener)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    sys.stdin.read()


def busy_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(port: int, body: bytes) -> float:
    """Seconds to the first byte of a stream, which is then read to its end."""
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    start, first = time.perf_counter(), 0.0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head + body)
        seen = b""
        while chunk := connection.recv(1 << 16):
            if not first:
                seen += chunk
                first = time.perf_counter() - start if b"data: " in seen else 0.0
    return first


def _per_stream(port: int, pid: int, count: int) -> float:
    """The processor time that a server takes for a stream of a hundred events."""
    before = busy_seconds(pid)
    for number in range(count):
        ask(port, request("fast", number))
    return (busy_seconds(pid) - before) / count


def measure(directory: Path, *, quick: bool) -> list[Row]:
    times, streams = (60, 50) if quick else (300, 300)
    script = directory / "model.yaml"
    script.write_text(SCRIPT)
    with process("proctor.execute.gateway.scripted", str(script)) as (upstream, _):
        url = f"http://127.0.0.1:{upstream}"
        with (
            process("bench.gateway", "bare", url) as (bare, bare_pid),
            process("bench.gateway", "gateway", url, str(directory)) as (port, pid),
        ):
            for number in range(10):
                ask(bare, request("slow", -number)), ask(port, request("slow", -number))
            pairs = [
                (ask(port, request("slow", number)), ask(bare, request("slow", number))) for number in range(times)
            ]
            busy, bare_busy = (_per_stream(*server, streams) for server in ((port, pid), (bare, bare_pid)))
    ours, floor = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    return [
        Row(
            "gateway: first byte of a stream",
            milliseconds(ours),
            milliseconds(floor),
            ratio(ours, floor),
            f"+ <= {milliseconds(BAR_SECONDS)}",
            ours - floor <= BAR_SECONDS,
        ),
        Row(
            "gateway: streamed requests a core",
            f"{60 / busy:,.0f}/min",
            f"{60 / bare_busy:,.0f}/min",
            ratio(busy, bare_busy),
            f">= {BAR_PER_MINUTE:,}/min",
            60 / busy >= BAR_PER_MINUTE,
        ),
    ]


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        asyncio.run(serve_bare(sys.argv[2]))
    else:
        serve_gateway(sys.argv[2], Path(sys.argv[3]))
