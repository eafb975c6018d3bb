"""A contract that uses every field, as text and as files, for the tests of this floor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

A, B, C = "a" * 64, "b" * 64, "c" * 64

FULL = f"""\
schema: 1
contract:
  name: parse-spaces
  title: Parse spaces
  kind: bug-fix
  strata: {{language: python}}
  assumptions: [Only spaces matter]
task:
  issue: issue.md
  hints: [Run the tests with pytest]
  targets: {{modules: [parse.py], entry_points: [parse.parse], behaviour: Spaces are kept}}
  ambiguities: [Tabs]
repository: {{pypi: "parse==1.22.2", file: parse-1.22.2.tar.gz, sha256: {A}, strip: 1}}
environment:
  sandbox: host
  root: sha256:{C}
  variables: {{PYTHONPATH: /setup/site}}
  files: [{{from: tool.cfg, to: /etc/tool.cfg}}]
  require: [cgroup]
  seed: 7
inputs:
  - {{name: fixed, pypi: "parse==1.22.3", file: parse-1.22.3.tar.gz, sha256: {B}, for: judge}}
  - {{name: tools, pypi: "pytest==8.4.2", with_dependencies: true}}
  - {{npm: "@scope/left-pad@1.3.0", file: left-pad-1.3.0.tgz, sha256: sha256:{B}}}
  - {{deb: "cjson==1.7.15-1", file: cjson_1.7.15.orig.tar.gz, sha256: {C}}}
  - {{archive: data.tar.gz, sha256: {C}}}
setup:
  - run: cp -r /inputs /setup/site
    timeout_seconds: 60
  - run: [make, all]
    directory: /workspace/sub
    repeat: after_patch
    network: none
policy:
  network: {{record: pages, allow: ["example.org:443", "*.example.org:8443"]}}
  writable: ["src/**", parse.py]
  protected: ["tests/**"]
  forbidden: [LICENSE]
  generated: ["**/*.pyc"]
  free_steering: [conftest.py]
  max_changed_files: 3
  max_changed_lines: 100
  stages: {{ladder: requested, start: write, tests: ["make check*"]}}
  forbid_commands: ["git push", "curl*"]
  forbid_syscalls: [trace, bpf]
  dependencies: {{new: declare, registries: [example.org]}}
  canaries: true
  reads: files
  words: {{off: [privilege-sudo]}}
  ask:
    - {{on: [network, write-outside], deadline_seconds: 60, otherwise: deny}}
    - on: [syscall-io_uring]
  checkpoints: {{every_calls: 10, every_seconds: 60, keep: 4, total_bytes: 1048576}}
  rollback:
    - {{on: [forbidden-command], then: end}}
    - on: [patch-oscillation]
  rules: {{dns: alert, signal: violation, "words-*": notice}}
budget:
  wall_seconds: 900
  command_seconds: 300
  memory_bytes: 1073741824
  processes: 64
  file_bytes: 1048576
  tmp_bytes: 2097152
  output_bytes: 65536
  usd: "2.5"
  tokens: 1000000
  tool_calls: 100
  failed_cycles: 10
  dependency_resolutions: 0
  cpu_seconds: 1200
  disk_bytes: 4194304
  inodes: 1000
checks:
  - id: compiles
    gate: build
    run: python3 -m compileall -q .
    mandatory: false
  - {{id: style, gate: static, no_op: true}}
  - id: tests
    gate: acceptance
    layer: unit
    run: [python3, -m, pytest, -q]
    directory: /workspace/tests
    timeout_seconds: 120
    results: pytest
    must_pass: ["tests/test_parse.py::test_a"]
    keep_passing: {{file: keep.txt}}
    hidden:
      - {{from: fixed, paths: ["tests/**"], strip: 1, to: tests}}
      - {{from: hidden}}
    variables: {{COLUMNS: "80"}}
    rerun: {{times: 3, decide: majority}}
  - id: taps
    gate: acceptance
    run: make tap
    results: tap
    results_file: out.tap
    must_pass: {{file: must.txt}}
    sentinel:
      template: sentinel.txt
      at: "t/{{name}}.t"
      arguments: ["{{path}}"]
      passing_id: "{{path}} {{passing}}"
      failing_id: "{{path}} {{failing}}"
reference: {{from: fixed, paths: [parse.py], strip: 1, to: lib}}
score:
  lambda: 0.02
  weights: {{minimality: 0.5, trace: 0.25, maintainability: "0.25"}}
  maintainability: [compiles]
"""
LOCK = f"""\
schema: 1
inputs:
  tools:
    spec: pypi pytest==8.4.2 with dependencies
    files:
      - {{name: pytest-8.4.2-py3-none-any.whl, sha256: {A}}}
      - {{name: iniconfig-2.1.0-py3-none-any.whl, sha256: {B}}}
"""
FILES: Mapping[str, bytes] = {
    "issue.md": b"# Spaces are lost\n\nparse() drops the spaces at the end of a field, which it should keep.\n",
    "tool.cfg": b"[tool]\n",
    "data.tar.gz": b"never read by the loader",
    "keep.txt": b"# ids\ntests/test_parse.py::test_b\n\n  tests/test_parse.py::test_c[a b]\n",
    "must.txt": b"first\nsecond\n",
    "hidden/test_extra.py": b"def test_extra(): pass\n",
    "hidden/data/names.txt": b"names\n",
    "sentinel.txt": b". ../lib.sh\nok - {passing}\nnot ok - {failing}\n",
    "fix.patch": b"--- a/parse.py\n+++ b/parse.py\n",
    "contract.lock": LOCK.encode(),
}
MINIMAL = f"""\
schema: 1
contract: {{name: small, title: Small, kind: feature}}
task: {{issue: issue.md}}
repository: {{archive: data.tar.gz, sha256: {A}}}
checks: [{{id: tests, gate: acceptance, run: "true"}}]
"""

Writer = Callable[..., Path]


def write(directory: Path, text: str | bytes = FULL, files: Mapping[str, bytes] = FILES) -> Path:
    """Write a contract and its files into ``directory``."""
    for name, data in {"contract.yaml": text.encode() if isinstance(text, str) else text, **files}.items():
        place = directory / os.fsdecode(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return directory


@pytest.fixture(scope="session")
def writer() -> Writer:
    """:func:`write`."""
    return write


@pytest.fixture(scope="session")
def full_text() -> str:
    """A contract that gives every field."""
    return FULL


@pytest.fixture(scope="session")
def minimal_text() -> str:
    """A contract that gives only what it must."""
    return MINIMAL


@pytest.fixture(scope="session")
def named_files() -> Mapping[str, bytes]:
    """The files that the contracts name."""
    return FILES


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """The directory of the full contract."""
    return write(tmp_path / "full")
