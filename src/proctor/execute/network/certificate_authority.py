"""A certificate authority for one run, so that secure exchanges can be recorded, replayed and restricted to paths.

The ``openssl`` program makes it in the run's scratch directory, with which it is removed. The usual variables make
programs in the sandbox trust it; its key never leaves the scratch directory. One key serves for all the hosts, whose
certificates are made when they are first asked for.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from ssl import SSLContext, SSLObject, SSLSocket

from proctor.base.errors import InfrastructureFault
from proctor.base.process import run

PLACE = "/etc/proctor-authority.pem"
"""Where a sandbox sees the authority's certificate."""

VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "NPM_CONFIG_CAFILE",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
)
"""The variables that name trusted authorities to programs."""

DAYS = 30
HOSTS = 1000
_OPENSSL_SECONDS = 60
_CONFIGURATION = """\
[req]
distinguished_name = nobody
[nobody]
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[host]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = $ENV::PROCTOR_HOST
"""


class Authority:
    """Signs certificates for hosts; usable from many threads."""

    def __init__(self, directory: Path) -> None:
        """Make a new authority in ``directory``, which is made for it and which only the harness can read."""
        self._directory = directory
        self._turn = threading.Lock()
        self._contexts: dict[str, SSLContext] = {}
        directory.mkdir(mode=0o700)
        (directory / "openssl.cnf").write_text(_CONFIGURATION)
        self._key("authority.key")
        self._key("host.key")
        name = f"/CN=Proctor run {os.urandom(4).hex()}"
        self._sign("DNS:localhost", name, "authority", "-key", "authority.key", "-out", "authority.pem")
        self.certificate.chmod(0o644)

    @property
    def certificate(self) -> Path:
        """The file that the sandbox trusts."""
        return self._directory / "authority.pem"

    def context(self, host: str) -> SSLContext:
        """What it takes to be ``host`` (a plain name or address) towards the sandbox."""
        with self._turn:
            found = self._contexts.get(host)
            if found is None:
                if len(self._contexts) >= HOSTS:
                    raise InfrastructureFault(f"certificates for more than {HOSTS} hosts were asked for")
                found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                found.load_cert_chain(self._host_certificate(host), self._directory / "host.key")
                found.set_alpn_protocols(["http/1.1"])
                self._contexts[host] = found
            return found

    def choosing(self, choose: Callable[[SSLSocket | SSLObject, str, SSLContext], int | None]) -> SSLContext:
        """A context whose ``choose`` is called with the name that a client asks for, to put the right one in place."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose
        return context

    def _host_certificate(self, host: str) -> Path:
        name = f"host-{hashlib.sha256(host.encode()).hexdigest()[:16]}.pem"
        is_address = ":" in host or host.replace(".", "").isdecimal()
        by = ("-CA", "authority.pem", "-CAkey", "authority.key", "-key", "host.key")
        self._sign(f"IP:{host}" if is_address else f"DNS:{host}", "/CN=proctor", "host", *by, "-out", name)
        return self._directory / name

    def _key(self, name: str) -> None:
        self._openssl("", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", name)
        (self._directory / name).chmod(0o600)

    def _sign(self, names: str, subject: str, section: str, *how: str) -> None:
        common = ("-new", "-x509", "-sha256", "-days", str(DAYS), "-config", "openssl.cnf")
        self._openssl(names, "req", *common, "-extensions", section, "-subj", subject, *how)

    def _openssl(self, names: str, *arguments: str) -> None:
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(self._directory), "PROCTOR_HOST": names or "DNS:localhost"}
        done = run(
            ("openssl", *arguments),
            environment=variables,
            directory=self._directory,
            timeout_seconds=_OPENSSL_SECONDS,
            output_bytes=1 << 20,
        )
        if done.exit_code != 0:
            reason = done.stderr.decode("utf-8", "replace").strip()[-500:]
            raise InfrastructureFault(f"openssl cannot make a certificate: {reason}", hint="OpenSSL 3 is needed")
