"""Signed runs: what holds, what does not, and what other tools say of them."""

from __future__ import annotations

import json
import random
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer._key import SSlibKey

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.run_directory import RunDirectory
from proctor.record.signing.attestation import attest, check_attestation, parse_envelope, signed_bytes
from proctor.record.signing.keys import create_key, key_id, load_private, load_public
from proctor.record.verify import verify

RECIPE = r"""
set -eu
sed 's/.*"payload":"\([^"]*\)".*/\1/' attestation.json | openssl base64 -d -A > "$OUT/statement.json"
sed 's/.*"sig":"\([^"]*\)".*/\1/' attestation.json | openssl base64 -d -A > "$OUT/signature.bin"
{ printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < "$OUT/statement.json")"; cat "$OUT/statement.json"; } \
    > "$OUT/signed.bin"
openssl pkeyutl -verify -pubin -inkey "$KEY" -rawin -in "$OUT/signed.bin" -sigfile "$OUT/signature.bin"
grep -o '"sha256":"[0-9a-f]*"},"name":"[^"]*"' "$OUT/statement.json" \
    | sed 's/"sha256":"\(.*\)"},"name":"\(.*\)"/\1  \2/' | sha256sum --check --quiet
"""


def sound(run: RunDirectory, key: Path) -> bool:
    """Whether the directory and the public key alone convince."""
    try:
        check_attestation(run, load_public(key.with_suffix(".pub")))
    except BrokenSeal:
        return False
    return verify(run).status == "intact"


def test_a_signed_run_verifies_with_the_public_key_alone(signed: RunDirectory, signing: Path, tmp_path: Path) -> None:
    copy = RunDirectory(tmp_path / "elsewhere")
    shutil.copytree(signed.path, copy.path)
    assert sound(copy, signing)


def test_the_statement_names_every_file_and_the_seal(signed: RunDirectory) -> None:
    statement = json.loads(parse_envelope(signed.attestation.read_bytes(), "").payload)
    names = {subject["name"] for subject in statement["subject"]}
    files = {signed.name(path) for path in signed.path.rglob("*") if path.is_file()}
    assert names == files - {"attestation.json", ".lock"}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicate"]["seal"]["digest"] == json.loads(signed.seal.read_bytes())["digest"]


def test_signing_twice_gives_the_same_bytes_and_another_key_is_refused(
    signed: RunDirectory, signing: Path, tmp_path: Path
) -> None:
    before = signed.attestation.read_bytes()
    attest(signed, load_private(signing))
    assert signed.attestation.read_bytes() == before
    create_key(tmp_path / "other.key", tmp_path / "other.pub")
    with pytest.raises(UsageFault, match="already"):
        attest(signed, load_private(tmp_path / "other.key"))
    with pytest.raises(BrokenSeal, match="another key"):
        check_attestation(signed, load_public(tmp_path / "other.pub"))


def test_an_attestation_of_another_run_is_refused(signed: RunDirectory, signing: Path, make_run: Any) -> None:
    other = make_run.sealed(seed=7)
    shutil.copy(signed.attestation, other.attestation)
    assert verify(other).status == "intact"
    with pytest.raises(BrokenSeal, match="states something else than the directory: the subject"):
        check_attestation(other, load_public(signing.with_suffix(".pub")))


def test_a_broken_run_is_not_signed(make_run: Any, signing: Path) -> None:
    run = make_run.sealed()
    run.report.write_bytes(run.report.read_bytes() + b" ")
    with pytest.raises(BrokenSeal, match="the run is broken"):
        attest(run, load_private(signing))


def test_nothing_but_the_attestation_may_lie_beside_the_seal(signed: RunDirectory) -> None:
    assert verify(signed).status == "intact"
    (signed.path / "attestation.txt").write_text("more")
    assert verify(signed).status == "broken"


def test_a_directory_in_place_of_the_attestation_is_a_stranger(make_run: Any) -> None:
    run = make_run.sealed()
    run.attestation.mkdir()
    assert verify(run).status == "broken"


@pytest.mark.parametrize("changes", [200, pytest.param(1000, marks=pytest.mark.soak)])
def test_single_byte_changes_are_all_caught(signed: RunDirectory, signing: Path, changes: int) -> None:
    draw = random.Random(20260307)
    files = sorted(path for path in signed.path.rglob("*") if path.is_file() and path.stat().st_size)
    assert signed.attestation in files and len(files) > 10
    for number in range(changes):
        path = files[number % len(files)]
        data = path.read_bytes()
        at = draw.randrange(len(data))
        changed = bytearray(data)
        changed[at] ^= draw.randrange(1, 256)
        path.write_bytes(changed)
        assert not sound(signed, signing), f"byte {at} of {signed.name(path)}"
        path.write_bytes(data)
    assert sound(signed, signing)


def test_every_byte_around_the_statement_counts(signed: RunDirectory, signing: Path) -> None:
    data = signed.attestation.read_bytes()
    public = load_public(signing.with_suffix(".pub"))
    for at in (*range(20), *range(data.index(b"payloadType") - 10, len(data))):
        signed.attestation.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(BrokenSeal):
            check_attestation(signed, public)


def test_openssl_verifies_it_by_the_recipe(signed: RunDirectory, signing: Path, tmp_path: Path) -> None:
    def follow() -> int:
        variables = {"PATH": "/usr/bin:/bin", "KEY": str(signing.with_suffix(".pub")), "OUT": str(tmp_path)}
        return subprocess.run(["sh", "-c", RECIPE], cwd=signed.path, env=variables, capture_output=True).returncode

    assert follow() == 0
    data = signed.report.read_bytes()
    signed.report.write_bytes(data + b" ")
    assert follow() != 0
    signed.report.write_bytes(data)
    create_key(tmp_path / "other.key", tmp_path / "other.pub")
    signing.with_suffix(".pub").write_bytes((tmp_path / "other.pub").read_bytes())
    assert follow() != 0


def test_the_recipe_is_the_one_in_the_documentation(project: Path) -> None:
    page = (project / "docs/attestation.md").read_text()
    for line in ("DSSEv1 28 application/vnd.in-toto+json %d ", "openssl pkeyutl -verify -pubin", "sha256sum --check"):
        assert line in RECIPE and line in page


def test_securesystemslib_verifies_it(signed: RunDirectory, signing: Path) -> None:
    public = load_public(signing.with_suffix(".pub"))
    theirs = TheirEnvelope.from_dict(json.loads(signed.attestation.read_bytes()))
    key = SSlibKey(key_id(public), "ed25519", "ed25519", {"public": public.public_bytes_raw().hex()})
    assert key.keyid in theirs.verify([key], 1)
    assert theirs.pae() == signed_bytes(theirs.payload)
    theirs.payload += b" "
    with pytest.raises(VerificationError):
        theirs.verify([key], 1)


def test_a_private_key_is_its_owners_alone(signing: Path) -> None:
    assert stat.S_IMODE(signing.stat().st_mode) == 0o600
    with pytest.raises(UsageFault, match="already"):
        create_key(signing, signing.with_suffix(".pub2"))
    signing.chmod(0o640)
    with pytest.raises(UsageFault, match="others can read"):
        load_private(signing)


def test_the_wrong_half_of_a_key_is_called_so(signing: Path) -> None:
    public = signing.with_suffix(".pub")
    with pytest.raises(UsageFault, match="this is a public key"):
        load_private(public)
    with pytest.raises(UsageFault, match="this is a private key"):
        load_public(signing)


@pytest.mark.parametrize("text", ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "\0" * 100])
def test_what_is_no_key_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    path.chmod(0o600)
    for load in (load_private, load_public):
        with pytest.raises(UsageFault):
            load(path)
    with pytest.raises(UsageFault, match="cannot be read"):
        load_public(tmp_path / "absent")


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ec.key"
    subprocess.run(["openssl", "genpkey", "-algorithm", "X25519", "-out", path], check=True, capture_output=True)
    path.chmod(0o600)
    with pytest.raises(UsageFault, match="not an Ed25519 key"):
        load_private(path)


def test_a_key_that_openssl_made_signs_too(make_run: Any, tmp_path: Path) -> None:
    private, public = tmp_path / "o.key", tmp_path / "o.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    private.chmod(0o600)
    run = make_run.sealed()
    attest(run, load_private(private))
    assert sound(run, private)
