"""Time stamps from an authority of the test's own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.run_directory import RunDirectory
from proctor.record.signing.attestation import attest, check_timestamp, keep_timestamp
from proctor.record.signing.keys import load_private
from proctor.record.verify import verify
from tests.corpus_runs import unpack

SETTINGS = """\
[tsa]
default_tsa = here
[here]
serial = serial
default_policy = 1.2.3.4
digests = sha256
signer_digest = sha256
[extension]
extendedKeyUsage = critical,timeStamping
"""


class Authority:
    """Stamps files with a certificate of its own."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.place = place
        self.certificate = place / "authority.pem"
        (place / "settings").write_text(SETTINGS)
        (place / "serial").write_text("01\n")
        self._openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "authority.pem"),
            *("-subj", "/CN=Authority", "-days", "30", "-addext", "extendedKeyUsage=critical,timeStamping"),
        )

    def stamp(self, path: Path) -> Path:
        self._openssl("ts", "-query", "-data", path, "-sha256", "-cert", "-out", "query")
        self._openssl(
            *("ts", "-reply", "-config", "settings", "-section", "here", "-queryfile", "query"),
            *("-signer", "authority.pem", "-inkey", "key.pem", "-out", "reply"),
        )
        return self.place / "reply"

    def _openssl(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.place, check=True, capture_output=True)


def test_a_time_stamp_is_kept_and_checked(signed: RunDirectory, tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    reply = authority.stamp(signed.attestation)
    told = keep_timestamp(signed, reply, authority.certificate)
    assert told.endswith("GMT")
    assert verify(signed).status == "intact"
    assert check_timestamp(signed, authority.certificate) == told
    with pytest.raises(BrokenSeal, match="is not valid"):
        check_timestamp(signed, stranger.certificate)
    with pytest.raises(BrokenSeal, match="is not valid"):
        keep_timestamp(signed, authority.stamp(signed.report), authority.certificate)
    signed.attestation.write_bytes(signed.attestation.read_bytes() + b" ")
    with pytest.raises(BrokenSeal, match="is not valid"):
        check_timestamp(signed, authority.certificate)


def test_what_is_no_time_stamp_is_refused(signed: RunDirectory, signing: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_bytes(b"no token")
    with pytest.raises(BrokenSeal, match="is not valid"):
        keep_timestamp(signed, token, signing.with_suffix(".pub"))
    assert not signed.timestamp.exists()
    with pytest.raises(BrokenSeal, match="no time stamp"):
        check_timestamp(signed, signing)
    signed.attestation.unlink()
    with pytest.raises(UsageFault, match="there is none"):
        keep_timestamp(signed, token, signing)


def test_from_the_command_line(proctor: Any, signing: Path, tmp_path: Path) -> None:
    signed = RunDirectory(unpack("report-2-success", tmp_path / "runs"))
    attest(signed, load_private(signing))
    authority = Authority(tmp_path / "one")
    stamp = ("--timestamp", authority.stamp(signed.attestation))
    half = proctor("attest", signed.path, *stamp)
    assert half.returncode == 2 and "belong together" in half.stderr
    kept = proctor("attest", signed.path, *stamp, "--authority", authority.certificate)
    assert kept.returncode == 0 and "stamped" in kept.stdout
    public = signing.with_suffix(".pub")
    checked = proctor("verify", signed.path, "--key", public, "--authority", authority.certificate, "--json")
    assert checked.returncode == 0 and json.loads(checked.stdout)["attestation"]["timestamp"].endswith("GMT")
    signed.timestamp.write_bytes(b"")
    assert proctor("verify", signed.path, "--key", public, "--authority", authority.certificate).returncode == 4
