"""Internal: Check with a public key who signed a release and the statements about it."""

from __future__ import annotations

import hashlib
import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from msgspec import Struct

from corpusfmt.manifest.claims import Bundle, Claims, Envelope
from corpusfmt.manifest.model import SIGNATURE
from corpusfmt.manifest.rules import SIGNATURE_INVALID, SIGNATURE_MISSING
from corpusfmt.model import Location, Problem
from corpusfmt.release.signing import hashed, needed, public_key, verifier_key
from corpusfmt.rules import Judge

_MISSING = "fetch the signature, or sign the release with `corpusfmt seal --sign KEY`"
_INVALID = "use the key of the publisher, or fetch the release again"


class Key(Struct, frozen=True):
    """A public key: its PEM, the key for envelopes, and the hint by which bundles name it."""

    pem: bytes
    verifier: Any
    hint: str


def key_at(path: str | Path) -> Key:
    """Return the public key in a PEM file. Raises `UsageError` for a missing package or another kind of key."""
    needed("verifying")
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    key = public_key(path)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return Key(pem, verifier_key(key), hashlib.sha256(pem).hexdigest())


def check_signatures(claims: Claims, key: Key, judge: Judge) -> list[str]:
    """Report what the owner of a key did not sign; return the names of what the owner signed."""
    signed = []
    bundle = claims.bundle
    if bundle is None:
        judge.report(
            SIGNATURE_MISSING, Problem("no signature that the key could verify", Location(SIGNATURE), _MISSING)
        )
    elif why := _why_not(bundle, key):
        judge.report(SIGNATURE_INVALID, Problem(why, Location(SIGNATURE), _INVALID))
        bundle = None
    else:
        signed.append(SIGNATURE)
    for name, statement in claims.statements.items():
        if statement.envelope is None:
            is_signed = bundle is not None and bundle.digests.get(name) == statement.sha256
        elif not (is_signed := _is_signed(statement.envelope, key)):
            judge.report(SIGNATURE_INVALID, Problem("no signature is valid with the key", Location(name), _INVALID))
        if is_signed:
            signed.append(name)
    return signed


def _why_not(bundle: Bundle, key: Key) -> str:
    """Return why a signature is not that of a key, "" if it is."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    if bundle.key is None:
        return "signed with a certificate, expected a key"
    if bundle.key and bundle.key != key.hint:
        return f"signed with the key `{bundle.key}`, expected `{key.hint}`"
    # What was read is compared with the release elsewhere. Here the library says whether it is what was signed.
    configured = needed("verifying").Config().set_hashing_config(hashed(bundle.digests))
    with tempfile.TemporaryDirectory(prefix="corpusfmt-") as folder:
        signature, pem = Path(folder) / SIGNATURE, Path(folder) / "key.pub"
        signature.write_bytes(bundle.data)
        pem.write_bytes(key.pem)
        try:
            # It prints a warning about signatures of early versions.
            with redirect_stdout(io.StringIO()):
                configured.use_elliptic_key_verifier(public_key=pem).verify(folder, signature)
        except InvalidSignature:
            return "the signature is not valid: what it signs was changed"
        except Exception as error:
            return f"model-signing does not accept the signature: {error}"
    return ""


def _is_signed(envelope: Envelope, key: Key) -> bool:
    from securesystemslib.dsse import Envelope as Dsse  # noqa: PLC0415
    from securesystemslib.exceptions import UnverifiedSignatureError  # noqa: PLC0415
    from securesystemslib.signer import Signature  # noqa: PLC0415

    signed = Dsse(envelope.payload, envelope.kind, {}).pae()
    for each in envelope.signatures:
        try:
            key.verifier.verify_signature(Signature(key.verifier.keyid, each.hex()), signed)
        except UnverifiedSignatureError:
            continue
        return True
    return False
