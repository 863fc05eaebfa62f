"""Internal: Check with a public key, or by an identity, who signed a release and the statements about it."""

from __future__ import annotations

import hashlib
import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from msgspec import Struct

from corpusfmt.io.temporary import temporary_folder
from corpusfmt.manifest.claims import Bundle, Claims, Envelope
from corpusfmt.manifest.model import SIGNATURE
from corpusfmt.manifest.rules import SIGNATURE_INVALID, SIGNATURE_MISSING
from corpusfmt.model import Location, Problem
from corpusfmt.release.signing import hashed, in_a_line, needed, public_key, reaching_sigstore, trusted_at, verifier_key
from corpusfmt.rules import Judge

_MISSING = "fetch the signature, or sign the release with `corpusfmt seal --sign KEY`"
_INVALID = "use the key or the identity of the publisher, or fetch the release again"


class Key(Struct, frozen=True):
    """A public key: its PEM, the key for envelopes, and the hint by which bundles name it."""

    pem: bytes
    verifier: Any
    hint: str

    def why_not(self, bundle: Bundle) -> str:
        """Return why a signature is not that of the key, "" if it is."""
        if bundle.key is None:
            return "signed with a certificate, expected a key"
        if bundle.key and bundle.key != self.hint:
            return f"signed with the key `{bundle.key}`, expected `{self.hint}`"
        with temporary_folder() as folder:
            pem = folder / "key.pub"
            pem.write_bytes(self.pem)
            return _refused(needed("verifying").Config().use_elliptic_key_verifier(public_key=pem), bundle)


class Identity(Struct, frozen=True):
    """Who signed without a key: the name in the certificate, and the verifier that expects it."""

    name: str
    configured: Any

    def why_not(self, bundle: Bundle) -> str:
        """Return why a signature is not that of the identity, "" if it is."""
        if bundle.key is not None:
            return f"signed with a key, expected a certificate of `{self.name}`"
        return _refused(self.configured, bundle)


def key_at(path: str | Path) -> Key:
    """Return the public key in a PEM file. Raises `UsageError` for a missing package or another kind of key."""
    needed("verifying")
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    key = public_key(path)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return Key(pem, verifier_key(key), hashlib.sha256(pem).hexdigest())


def identity_of(name: str, provider: str, trust_config: str | Path | None) -> Identity:
    """Return an identity that a provider vouches for, in the public instance of sigstore or in that of `trust_config`.

    Raises `UsageError` for a missing package or another kind of configuration, `Incomplete` if sigstore cannot be reached.
    """
    configured = needed("verifying").Config()
    trusted = None if trust_config is None else trusted_at(trust_config)
    with reaching_sigstore("name its keys with --trust-config, or verify where there is a network"):
        configured.use_sigstore_verifier(identity=name, oidc_issuer=provider, trust_config=trusted)
    return Identity(name, configured)


def check_signatures(claims: Claims, owner: Key | Identity, judge: Judge) -> list[str]:
    """Report what the owner of a key, or an identity, did not sign; return the names of what it signed."""
    signed = []
    bundle = claims.bundle
    if bundle is None:
        judge.report(SIGNATURE_MISSING, Problem("no signature that could be verified", Location(SIGNATURE), _MISSING))
    elif why := owner.why_not(bundle):
        judge.report(SIGNATURE_INVALID, Problem(why, Location(SIGNATURE), _INVALID))
        bundle = None
    else:
        signed.append(SIGNATURE)
    for name, statement in claims.statements.items():
        if statement.envelope is None or isinstance(owner, Identity):
            is_signed = bundle is not None and bundle.digests.get(name) == statement.sha256
        elif not (is_signed := _is_signed(statement.envelope, owner)):
            judge.report(SIGNATURE_INVALID, Problem("no signature is valid with the key", Location(name), _INVALID))
        if is_signed:
            signed.append(name)
    return signed


def _refused(configured: Any, bundle: Bundle) -> str:
    """Return why a verifier of model-signing refuses a signature, "" if it accepts it."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    # What was read is compared with the release elsewhere. Here the library says whether it is what was signed.
    configured.set_hashing_config(hashed(bundle.digests))
    with temporary_folder() as folder:
        signature = folder / SIGNATURE
        signature.write_bytes(bundle.data)
        try:
            # It prints a warning about signatures of early versions.
            with redirect_stdout(io.StringIO()):
                configured.verify(folder, signature)
        except InvalidSignature:
            return "the signature is not valid: what it signs was changed"
        except Exception as error:
            return f"model-signing does not accept the signature: {in_a_line(error)}"
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
