"""Internal: Sign a release, and check who signed it: bundles of model-signing, and envelopes of statements. All cryptography is that of libraries."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.io.paths import read_named
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.manifest.claims import Bundle, Claims, Envelope
from corpusfmt.manifest.model import SIGNATURE
from corpusfmt.manifest.rules import SIGNATURE_INVALID, SIGNATURE_MISSING
from corpusfmt.manifest.statements import PAYLOAD
from corpusfmt.model import Incomplete, Location, Problem, UsageError
from corpusfmt.rules import Judge

_MOST_BYTES = 1024 * 1024
_SCHEMES = {"secp256r1": "ecdsa-sha2-nistp256", "secp384r1": "ecdsa-sha2-nistp384", "secp521r1": "ecdsa-sha2-nistp521"}
_MAKE = "make one with `openssl ecparam -name prime256v1 -genkey -noout -out KEY`"
_DERIVE = "make one with `openssl ec -in KEY -pubout -out PUB`"


class Signer(Struct, frozen=True):
    """What signs a release with a private key."""

    configured: Any
    key: Any

    def envelope(self, payload: bytes) -> bytes:
        """Return an envelope with a statement and its signature."""
        from securesystemslib.dsse import Envelope  # noqa: PLC0415
        from securesystemslib.signer import CryptoSigner  # noqa: PLC0415

        envelope = Envelope(payload, PAYLOAD, {})
        envelope.sign(CryptoSigner(self.key, verifier_key(self.key.public_key())))
        return msgspec.json.encode(envelope.to_dict()) + b"\n"

    def bundle(self, digests: Mapping[str, str], ignored: Iterable[str]) -> bytes:
        """Return the bundle over files with known digests; `ignored` are the files in the folder that it leaves out."""
        configured = self.configured.set_hashing_config(hashed(digests, ignored))
        with temporary_folder() as folder:
            path = folder / SIGNATURE
            try:
                configured.sign(folder, path)
            except Exception as error:
                raise Incomplete(f"signing failed: {in_a_line(error)}") from error
            return path.read_bytes()


def signer_of(path: str | Path) -> Signer:
    """Return what signs with a private key in a PEM file. Raises `UsageError` for a missing package or another kind of key."""
    signing = needed("signing")
    # The library reads the file a second time.
    if not Path(path).is_file():
        raise UsageError(f"--sign is `{path}`, expected a file with a private key in PEM: {_MAKE}")
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    key = _key_in(path, "private", lambda data: load_pem_private_key(data, None), _MAKE)
    return Signer(signing.Config().use_elliptic_key_signer(private_key=path), key)


def in_a_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def needed(module: str) -> Any:
    """Return a module of model-signing. Raises `UsageError` if it is not installed."""
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(f"model_signing.{module}")
    except ImportError as error:
        raise UsageError(f"signatures need a missing package ({error}): run `pip install 'corpusfmt[sign]'`") from error


def hashed(digests: Mapping[str, str], ignored: Iterable[str] = ()) -> Any:
    """Return a configuration of hashing that knows all digests already, so that no file is read again.

    The name of the folder, which model-signing takes for the name of the subject, stays out of it.
    """
    from model_signing import hashing, manifest  # noqa: PLC0415 - slow to import
    from model_signing._hashing.hashing import Digest  # noqa: PLC0415

    kind = {"method": "files", "hash_type": "sha256", "allow_symlinks": False, "ignore_paths": sorted(ignored)}

    class Known(hashing.Config):  # type: ignore[misc]
        def hash(self, model_path: Any, *, files_to_hash: Any = None) -> Any:  # noqa: ARG002
            serialization = manifest.SerializationType.from_args(kind)
            items = (
                serialization.new_item(path, Digest("sha256", bytes.fromhex(each))) for path, each in digests.items()
            )
            return manifest.Manifest("_", items, serialization)

    return Known()


def _key_in(path: str | Path, what: str, load: Callable[[bytes], Any], make: str) -> Any:
    """Return the key in a PEM file; `make` says how to make one. Raises `UsageError` for another kind of key."""
    try:
        key = load(read_named(path, _MOST_BYTES, "the key"))
    except OSError as error:
        raise UsageError(f"cannot read the key {path}: {error.strerror}") from error
    except UsageError:
        raise
    except TypeError as error:
        raise UsageError(f"the key {path} is encrypted: decrypt it into a file that only you can read") from error
    except Exception as error:
        raise UsageError(f"{path} has no {what} key in PEM: {make}") from error
    if (curve := _curve_of(key)) not in _SCHEMES:
        found = f"a key on the curve {curve}" if curve else f"a key of another kind ({type(key).__name__})"
        raise UsageError(f"{path} has {found}, expected one on the curve P-256, P-384 or P-521: {make}")
    return key


def _curve_of(key: Any) -> str:
    return str(getattr(getattr(key, "curve", None), "name", ""))


def verifier_key(key: Any) -> Any:
    """Return a public key in the form of the library for envelopes."""
    from securesystemslib.signer import SSlibKey  # noqa: PLC0415

    return SSlibKey.from_crypto(key, scheme=_SCHEMES[_curve_of(key)])


_MISSING = "fetch the signature, or sign the release with `corpusfmt seal --sign KEY`"
_INVALID = "use the key of the publisher, or fetch the release again"


class Key(Struct, frozen=True):
    """A public key: its PEM, the key for envelopes, and the hint by which bundles name it."""

    pem: bytes
    verifier: Any
    hint: str

    def why_not(self, bundle: Bundle) -> str:
        """Return why a signature is not that of the key, "" if it is."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

        if bundle.key is None:
            return "signed with a certificate, expected a key"
        if bundle.key and bundle.key != self.hint:
            return f"signed with the key `{bundle.key}`, expected `{self.hint}`"
        with temporary_folder() as folder:
            pem, signature = folder / "key.pub", folder / SIGNATURE
            pem.write_bytes(self.pem)
            signature.write_bytes(bundle.data)
            configured = needed("verifying").Config().use_elliptic_key_verifier(public_key=pem)
            # What was read is compared with the release elsewhere. Here the library says whether it is what was signed.
            configured.set_hashing_config(hashed(bundle.digests))
            try:
                # It prints a warning about signatures of early versions.
                with redirect_stdout(io.StringIO()):
                    configured.verify(folder, signature)
            except InvalidSignature:
                return "the signature is not valid: what it signs was changed"
            except Exception as error:
                return f"model-signing does not accept the signature: {in_a_line(error)}"
        return ""


def key_at(path: str | Path) -> Key:
    """Return the public key in a PEM file. Raises `UsageError` for a missing package or another kind of key."""
    needed("verifying")
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        PublicFormat,
        load_pem_public_key,
    )

    key = _key_in(path, "public", load_pem_public_key, _DERIVE)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return Key(pem, verifier_key(key), hashlib.sha256(pem).hexdigest())


def check_signatures(claims: Claims, owner: Key, judge: Judge) -> list[str]:
    """Report what the owner of a key did not sign; return the names of what it signed."""
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
        if statement.envelope is None:
            is_signed = bundle is not None and bundle.digests.get(name) == statement.sha256
        elif not (is_signed := _is_signed(statement.envelope, owner)):
            judge.report(SIGNATURE_INVALID, Problem("no signature is valid with the key", Location(name), _INVALID))
        if is_signed:
            signed.append(name)
    return signed


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
