"""The authority of a run: certificates that strict programs accept, and a key that stays where it is."""

from __future__ import annotations

import socket
import ssl
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from proctor.execute.network.certificate_authority import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("run") / "authority")


def shake_hands(authority: Authority, host: str, asked: str) -> str:
    """The subject alternative name of the certificate that a strict client accepts for ``asked``."""
    inside, outside = socket.socketpair()
    trusting = ssl.create_default_context(cafile=str(authority.certificate))
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT

    def serve() -> None:
        try:
            authority.context(host).wrap_socket(outside, server_side=True).close()
        except OSError:
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        inside.settimeout(60)
        with trusting.wrap_socket(inside, server_hostname=asked) as secured:
            certificate = secured.getpeercert()
            assert certificate is not None
            return str(certificate["subjectAltName"][0][1])
    finally:
        thread.join()
        inside.close()
        outside.close()


@pytest.mark.parametrize("host", ["safe.test", "under_score.test", "127.0.0.1", "a" * 60 + ".test"])
def test_a_host_is_trusted_by_its_name_or_address(authority: Authority, host: str) -> None:
    assert shake_hands(authority, host, host) == host


def test_a_certificate_is_for_one_host(authority: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(authority, "safe.test", "other.test")


def test_another_run_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    checked = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-CAfile", other.certificate, other._host_certificate("a.test")],
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert checked.returncode == 0, checked.stderr
    crossed = subprocess.run(
        ["openssl", "verify", "-CAfile", authority.certificate, other._host_certificate("a.test")],
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert crossed.returncode != 0


def test_keys_are_for_the_harness_alone(authority: Authority) -> None:
    directory = authority.certificate.parent
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.glob("*.key")} == {0o600}


def test_a_host_has_one_context(authority: Authority) -> None:
    assert authority.context("same.test") is authority.context("same.test")
