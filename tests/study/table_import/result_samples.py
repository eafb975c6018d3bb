"""Result files of other tools, as small as their readers allow."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import zstandard


def write(path: Path, value: Any) -> Path:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def trial(name: str = "hello__x", task: str = "org/hello", reward: Any = 1, **more: Any) -> dict[str, Any]:
    """The result of a trial of Harbor."""
    return {
        "trial_name": name,
        "task_name": task,
        "agent_info": {"name": "house", "version": "1", "model_info": {"name": "m", "provider": "p"}},
        "agent_result": {"cost_usd": 0.25, "n_input_tokens": 10, "n_output_tokens": 3},
        "agent_execution": {"started_at": "2026-11-01T10:00:00Z", "finished_at": "2026-11-01T10:01:30.500000Z"},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None,
        "started_at": "2026-11-01T09:59:00Z",
        **more,
    }


def job(folder: Path, *trials: dict[str, Any], planned: int | None = None) -> Path:
    """The folder of a job of Harbor."""
    write(folder / "result.json", {"n_total_trials": len(trials) if planned is None else planned, "stats": {}})
    for one in trials:
        write(folder / one["trial_name"] / "result.json", one)
    return folder


def summary(name: Any = "s1", epoch: int = 1, value: Any = "C", **more: Any) -> dict[str, Any]:
    """The summary of a sample of Inspect."""
    scores = {} if value is None else {"includes": {"value": value}}
    usage = {"m": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}
    return {"id": name, "epoch": epoch, "scores": scores, "model_usage": usage, "working_time": 1.5, **more}


def header(**more: Any) -> dict[str, Any]:
    """The header of a log of Inspect."""
    evaluation = {"created": "2026-11-01T10:00:00+00:00", "task": "demo", "dataset": {}, "model": "m", "config": {}}
    return {"version": 2, "status": "success", "eval": evaluation, **more}


def trajectory(task: str = "", model: str = "org/m", status: str = "Submitted") -> dict[str, Any]:
    """A trajectory of mini-swe-agent."""
    found = {
        "info": {
            "model_stats": {"instance_cost": 0.5, "api_calls": 7},
            "config": {"model": {"model_name": model}},
            "exit_status": status,
        },
        "messages": [],
        "trajectory_format": "mini-swe-agent-1.1",
    }
    return {**found, "instance_id": task} if task else found


def deflated(path: Path, members: dict[str, Any]) -> Path:
    """A zip archive whose members are deflated."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return path


def zstd(path: Path, members: dict[str, bytes], *, stated: int | None = None) -> Path:
    """A zip archive whose members are compressed by zstd; ``stated`` is a size to state instead of the real one."""
    body, directory = b"", b""
    for name, data in members.items():
        packed, crc = zstandard.ZstdCompressor().compress(data), zlib.crc32(data)
        size, encoded = len(data) if stated is None else stated, name.encode()
        common = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 33, crc, len(packed), size, len(encoded), 0)
        place = len(body)
        body += b"PK\x03\x04" + common + encoded + packed
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common + struct.pack("<HHHII", 0, 0, 0, 0, place) + encoded
    count = len(members)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path
