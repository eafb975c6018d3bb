"""What engines are told about a container: nothing that widens it, everything that bounds it. No engine needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.container.container_cgroup import locate
from proctor.execute.sandbox.container.create_request import MASKED, container
from proctor.execute.sandbox.interface import Limits, Mount, SandboxPlan, Tree, owner

PLAN = SandboxPlan(Tree(Path("/t")), Limits(memory_bytes=1 << 30, processes=7, cpu_cores=1, tmp_bytes=1 << 40))


def specified(plan: SandboxPlan = PLAN, podman: bool = False) -> dict[str, Any]:
    return container(plan, "sha256:image", Path("/place"), "proctor-1-a", podman=podman)


def test_a_container_has_no_privileges_and_no_way_out() -> None:
    body = specified()
    host = body["HostConfig"]
    assert (host["Privileged"], host["CapAdd"], host["CapDrop"], host["Devices"]) == (False, [], ["ALL"], [])
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["IpcMode"]) == ("none", True, "private")
    assert "no-new-privileges" in host["SecurityOpt"] and body["User"] == "{}:{}".format(*owner())
    assert not {"PidMode", "UTSMode", "UsernsMode", "VolumesFrom", "ExtraHosts", "Links"} & set(host)


def test_memory_processes_and_files_are_bounded() -> None:
    host = specified()["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (1 << 30, 1 << 30, 8)
    assert host["ShmSize"] == 1 << 28 and all(f"size={1 << 28}," in options for options in host["Tmpfs"].values())
    assert {one["Name"]: one["Hard"] for one in host["Ulimits"]}["core"] == 0


def test_nothing_of_the_images_configuration_is_used() -> None:
    body = specified()
    assert body["Entrypoint"] == ["/run/proctor/init"] and body["Cmd"][:2] == ["connect", "/run/proctor/control"]
    assert body["Healthcheck"] == {"Test": ["NONE"]} and body["WorkingDir"] == "/"


@pytest.mark.parametrize("podman", [False, True])
def test_what_tells_about_the_host_is_masked(podman: bool) -> None:
    host = specified(podman=podman)["HostConfig"]
    assert "/sys" in host["MaskedPaths"] and "/proc/kcore" in host["MaskedPaths"]
    assert any(option == "mask=" + ":".join(MASKED) for option in host["SecurityOpt"]) == podman


def test_only_what_is_declared_writable_is() -> None:
    plan = SandboxPlan(
        PLAN.workspace,
        PLAN.limits,
        mounts=(Mount(Path("/a"), "/inputs"), Mount(Path("/b"), "/out", writable=True)),
        workspace_writable=False,
        setup_writable=True,
    )
    mounts = specified(plan)["HostConfig"]["Mounts"]
    assert sorted(mount["Target"] for mount in mounts if not mount["ReadOnly"]) == ["/out", "/setup"]
    assert len({mount["Target"] for mount in mounts}) == len(mounts)


def test_a_mount_may_replace_a_file_that_is_made_for_the_sandbox() -> None:
    plan = SandboxPlan(PLAN.workspace, PLAN.limits, mounts=(Mount(Path("/h"), "/etc/hosts"),))
    assert [mount["Target"] for mount in specified(plan)["HostConfig"]["Mounts"]].count("/etc/hosts") == 1


@pytest.mark.parametrize("target", ["/sys", "/sys/x", "/run/x", "/proc", "/workspace", "x", "/a/../b"])
def test_mounts_over_the_container_itself_are_refused(target: str) -> None:
    with pytest.raises(UsageFault):
        specified(SandboxPlan(PLAN.workspace, PLAN.limits, mounts=(Mount(Path("/h"), target),)))


V1 = "30 25 0:29 / /cg/memory rw - cgroup cgroup rw,memory\n31 25 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
V2 = "40 25 0:31 / /cg/unified rw - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("membership", "mountinfo", "wanted"),
    [
        (
            "2:cpu,cpuacct:/docker/x\n1:memory:/docker/x\n0::/",
            V1 + V2,
            (
                dict.fromkeys(("cpu", "cpuacct"), Path("/cg/cpu/docker/x")) | {"memory": Path("/cg/memory/docker/x")},
                None,
            ),
        ),
        ("0::/docker/x", V2, ({}, Path("/cg/unified/docker/x"))),
        ("0::/pod/x", "40 25 0:31 /pod /cg rw - cgroup2 cgroup2 rw\n", ({}, Path("/cg/x"))),
        ("1:memory:/\n0::/", V1 + V2, ({}, None)),
        ("0::/", V2, ({}, None)),
    ],
    ids=["hybrid", "version 2", "version 2 from inside", "nobody's own", "root"],
)
def test_the_groups_of_a_container_are_found(
    membership: str, mountinfo: str, wanted: tuple[dict[str, Path], Path | None]
) -> None:
    assert locate(membership, mountinfo) == wanted
