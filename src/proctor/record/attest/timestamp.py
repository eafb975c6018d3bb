"""A time stamp of RFC 3161 on an attestation: somebody else's word that it was there at a time.

The token is the authority's response as it came, kept as ``attestation.tsr`` over the bytes of ``attestation.json``.
The ``openssl`` program checks it; whoever checks brings the certificate of the authority that they trust.
"""

from __future__ import annotations

import os
from pathlib import Path

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.process import run as run_program
from proctor.record.rundir import RunDirectory

TOKEN_BYTES = 1 << 20
OPENSSL_SECONDS = 60


def keep_timestamp(run: RunDirectory, token: Path, authority: Path) -> str:
    """Check the response ``token`` and lay it beside the attestation of ``run``; the time that it names."""
    try:
        data = read_bounded(token, TOKEN_BYTES)
    except OSError as error:
        raise UsageFault(f"the time stamp cannot be read: {error.strerror}", where=str(token)) from None
    if not os.path.lexists(run.attestation):
        raise UsageFault("a time stamp is for an attestation, and there is none", where=str(run.path))
    told = _checked(run, token, authority)
    write_whole(run.timestamp, data)
    return told


def check_timestamp(run: RunDirectory, authority: Path) -> str:
    """The time at which the attestation of ``run`` was seen; :class:`BrokenSeal` when the token does not hold."""
    if not os.path.lexists(run.timestamp):
        raise BrokenSeal("missing: nobody stamped this attestation", where=run.name(run.timestamp))
    run.read(run.timestamp, TOKEN_BYTES)
    return _checked(run, run.timestamp, authority)


def _checked(run: RunDirectory, token: Path, authority: Path) -> str:
    if not authority.is_file():
        raise UsageFault("there is no such certificate", where=str(authority))
    code, said = _openssl("-verify", "-data", run.attestation, "-in", token, "-CAfile", authority)
    if code:
        reason = next((line for line in said.splitlines() if "error:" in line), said).rpartition(":")[2].strip()
        raise BrokenSeal(f"the time stamp does not hold: {reason[:200] or 'openssl says no'}", where=token.name)
    _, shown = _openssl("-reply", "-in", token, "-text")
    stamped = next((line for line in shown.splitlines() if line.startswith("Time stamp: ")), "")
    return stamped.removeprefix("Time stamp: ")


def _openssl(*arguments: str | Path) -> tuple[int, str]:
    done = run_program(
        ["openssl", "ts", *arguments],
        environment={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
        timeout_seconds=OPENSSL_SECONDS,
    )
    return done.exit_code, (done.stdout + done.stderr).decode("utf-8", "replace")
