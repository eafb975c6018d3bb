"""Speaking with an engine: what it refuses, breaks off or never answers becomes one clear message. No engine needed."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault, MissingIsolation, UsageFault
from proctor.execute.sandbox.container import engine as module
from proctor.execute.sandbox.container import images
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.container.container_cgroup import ContainerGroup
from proctor.execute.sandbox.container.engine import Engine, EngineFault, find_socket

ABLE = {"MemoryLimit": True, "PidsLimit": True, "SecurityOptions": ["name=seccomp,profile=default"]}

Serve = Callable[[dict[str, bytes]], Engine]


def answer(status: int, body: bytes, extra: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body


def asked(link: socket.socket) -> bytes:
    """One whole request."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += link.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    match = re.search(rb"Content-Length: ([0-9]+)", head)
    while match and len(body) < int(match[1]):
        body += link.recv(65536)
    return head


PING = answer(200, b"OK", "Api-Version: 1.41\r\n")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts an engine that gives fixed answers by the path that is asked for, and keeps what it was asked."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen(8)
    answers: dict[str, bytes] = {"/_ping": PING}

    def loop() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with link:
                path = asked(link).split(b" ")[1].decode().partition("?")[0]
                link.sendall(answers.get(path, answer(404, b'{"message": "no such page"}')))

    thread = threading.Thread(target=loop)
    thread.start()

    def start(more: dict[str, bytes]) -> Engine:
        answers.update(more)
        return Engine(str(tmp_path / "s"))

    yield start
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(30)


@pytest.mark.parametrize(
    ("newest", "used"),
    [("1.41", "/v1.41"), ("1.43", "/v1.41"), ("1.44", "/v1.44"), ("1.52", "/v1.44"), ("2.0", "/v1.44")],
)
def test_a_version_that_the_engine_has_is_spoken(serve: Serve, newest: str, used: str) -> None:
    ping = answer(200, b"OK", f"Api-Version: {newest}\r\n")
    assert serve({"/_ping": ping, f"{used}/info": answer(200, b'{"x": 1}')}).call("GET", "/info") == {"x": 1}


def test_podman_is_told_from_docker_and_asked_about_itself_once(serve: Serve) -> None:
    pages = {"/v1.41/info": answer(200, b'{"ServerVersion": "9"}')}
    engine = serve(pages)
    assert not engine.podman() and engine.identity() == "docker 9"
    serve({"/v1.41/info": answer(500, b"{}")})
    assert engine.identity() == "docker 9"
    engine = serve({**pages, "/_ping": answer(200, b"OK", "Libpod-Api-Version: 4.3.1\r\n")})
    assert engine.podman() and engine.identity() == "podman 9"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"message": "two\\nlines"}', "refused: two lines"),
        (b"plain \xff text", "refused: plain"),
        (b"", "gave no reason"),
        (b"[]", r"refused: \[\]"),
    ],
)
def test_a_refusal_carries_the_engines_reason(serve: Serve, body: bytes, wanted: str) -> None:
    with pytest.raises(EngineFault, match=wanted) as caught:
        serve({"/v1.41/x": answer(409, body)}).call("POST", "/x", body={})
    assert caught.value.status == 409 and caught.value.where == "POST /v1.41/x"


def test_an_answer_that_breaks_off_is_a_fault(serve: Serve) -> None:
    engine = serve({"/v1.41/x": b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nshort", "/v1.41/y": b""})
    for path in ("/x", "/y"):
        with pytest.raises(InfrastructureFault, match="broke off"):
            engine.call("GET", path)


def test_an_answer_without_end_is_a_fault(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_BYTES", 10)
    with pytest.raises(InfrastructureFault, match="too large"):
        serve({"/v1.41/x": answer(200, b"x" * 11)}).call("GET", "/x")


def test_nobody_there_is_missing_isolation(tmp_path: Path) -> None:
    with pytest.raises(MissingIsolation, match="no container engine answers"):
        Engine(str(tmp_path / "absent")).identity()
    with pytest.raises(MissingIsolation, match="no container engine answers"):
        Engine("/" + "x" * 200).identity()


def test_the_environment_names_the_engine() -> None:
    assert find_socket({"DOCKER_HOST": "unix:///a/b.sock"}) == "/a/b.sock"
    assert find_socket({"CONTAINER_HOST": "unix:///c.sock"}) == "/c.sock"
    with pytest.raises(MissingIsolation, match="cannot show files of this machine"):
        find_socket({"DOCKER_HOST": "tcp://192.0.2.1:2375"})


def test_an_engine_of_the_users_own_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLACES", ())
    assert find_socket({"XDG_RUNTIME_DIR": str(tmp_path)}) == ""
    (tmp_path / "podman").mkdir()
    (tmp_path / "podman/podman.sock").write_bytes(b"")
    assert find_socket({"XDG_RUNTIME_DIR": str(tmp_path)}) == str(tmp_path / "podman/podman.sock")


ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def with_images(*described: tuple[str, list[str], dict[str, object]]) -> dict[str, bytes]:
    pages = {"/v1.41/images/json": answer(200, json.dumps([{"Id": name} for name, _, _ in described]).encode())}
    for name, layers, configuration in described:
        found = {"Id": name, "RepoTags": None, "RootFS": {"Layers": layers}, "Size": 5, "Config": configuration}
        pages[f"/v1.41/images/{name}/json"] = answer(200, json.dumps(found).encode())
    return pages


def test_an_image_is_found_by_all_of_its_layers_in_order(serve: Serve) -> None:
    engine = serve(with_images(("a", [ONE], {}), ("b", [TWO, ONE], {}), ("c", [ONE, TWO], {"Volumes": None})))
    assert images.pinned(engine, (ONE, TWO)).id == "c" and images.pinned(engine, (ONE,)).id == "a"
    with pytest.raises(MissingIsolation, match="no image with the layers"):
        images.pinned(engine, (TWO,))


def test_an_image_that_was_found_before_is_the_only_one_inspected(serve: Serve) -> None:
    pages = with_images(("a", [ONE], {}), ("b", [TWO], {}))
    engine = serve({**pages, "/v1.41/images/json": answer(500, b"{}")})
    assert images.pinned(engine, (TWO,), "b").id == "b"
    for moved in ("a", "gone"):
        with pytest.raises(EngineFault):
            images.pinned(engine, (TWO,), moved)
    serve(pages)
    assert images.pinned(engine, (TWO,), "a").id == "b" and images.pinned(engine, (TWO,), "gone").id == "b"


def test_an_image_with_volumes_is_refused(serve: Serve) -> None:
    engine = serve(with_images(("a", [ONE], {"Volumes": {"/data": {}}})))
    with pytest.raises(MissingIsolation, match=r"volumes.*: /data"):
        images.pinned(engine, (ONE,))


@pytest.mark.parametrize("layers", [(), ("latest",), (ONE, "sha256:xyz"), (ONE.upper(),), (ONE + "\n",)])
def test_what_is_no_digest_pins_nothing(layers: tuple[str, ...]) -> None:
    with pytest.raises(UsageFault, match="digests of its layers"):
        images.check_layers(layers)


@pytest.mark.parametrize("name", ["", "Upper", "a b", "-a", "a//b", "../x", "a:b:c", "x" * 201])
def test_names_that_no_image_may_have(name: str) -> None:
    with pytest.raises(UsageFault, match="not a name for an image"):
        images.check_name(name)


def test_names_that_an_image_may_have() -> None:
    assert [images.check_name(name) for name in ("base", "a/b-c_d.e:1.0")] == ["base", "a/b-c_d.e:1.0"]


@pytest.mark.parametrize(
    ("unable", "why"),
    [
        ({"SecurityOptions": ["name=rootless"]}, "it runs without root"),
        ({"SecurityOptions": ["name=userns"]}, "it maps users"),
        ({"MemoryLimit": False}, "no control group for MemoryLimit"),
        ({"MemoryLimit": False, "PidsLimit": False}, "no control group for MemoryLimit and PidsLimit"),
    ],
)
def test_an_engine_that_cannot_hold_a_sandbox_is_refused(
    serve: Serve, tmp_path: Path, unable: dict[str, object], why: str
) -> None:
    pages = {**with_images(("a", [ONE], {})), "/v1.41/info": answer(200, json.dumps({**ABLE, **unable}).encode())}
    backend = ContainerBackend(tmp_path / "sessions", serve(pages).path, (ONE,))
    with pytest.raises(MissingIsolation, match=why):
        backend.identity()
    assert why in backend.missing(("cgroup",))[0]


def test_an_able_engine_without_the_image_is_refused_before_anything_runs(serve: Serve, tmp_path: Path) -> None:
    pages = {**with_images(("a", [ONE], {})), "/v1.41/info": answer(200, json.dumps(ABLE).encode())}
    backend = ContainerBackend(tmp_path / "sessions", serve(pages).path, (ONE, TWO))
    assert backend.missing(("cgroup",)) == ()
    with pytest.raises(MissingIsolation, match=f"no image with the layers {ONE} {TWO}") as caught:
        backend.identity()
    assert "proctor image build" in caught.value.hint


def test_a_frozen_group_that_the_engine_has_taken_away_is_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "freezer.state").write_text("FROZEN")
    group = ContainerGroup(Engine("/nonexistent"), "gone")
    group.v1 = {"freezer": tmp_path}
    assert group.open_to_us
    group.end_frozen()
    (tmp_path / "cgroup.procs").write_text("")
    group.end_frozen()
    assert (tmp_path / "freezer.state").read_text() == "THAWED"
