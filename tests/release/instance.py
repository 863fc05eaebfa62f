"""An instance of sigstore on this machine: what its client asks for over HTTP, with keys, certificates and a log of its own.

Written from RFC 6962 (timestamps of certificates, Merkle trees), the profile of Fulcio's certificates, and the first interface of
Rekor. Four parts answer: an OpenID provider, the tokens of a workflow, the certificate authority, and the transparency log.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Json = dict[str, Any]
#: Who signs, as a workflow names itself.
IDENTITY = "https://example.org/corpora/release/.github/workflows/release.yml@refs/heads/main"
TOKEN_OF_THE_RUNNER = "runner"
_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_TIMESTAMPS = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_DER, _PEM = serialization.Encoding.DER, serialization.Encoding.PEM
_DAY = timedelta(days=1)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _canonical(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


class _Key:
    """A key that signs, and its identifier in logs."""

    def __init__(self) -> None:
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.public = self.private.public_key().public_bytes(_DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = hashlib.sha256(self.public).digest()

    def sign(self, data: bytes) -> bytes:
        return self.private.sign(data, ec.ECDSA(hashes.SHA256()))


class Instance:
    """The keys of an instance, its log, and the answers to requests."""

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self._authority, self._certificates, self._log = _Key(), _Key(), _Key()
        self._leaves: list[bytes] = []
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self._root = (
            self._unsigned(name, name, self._authority.private.public_key(), _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier(self._authority.id[:20]), critical=False)
            .sign(self._authority.private, hashes.SHA256())
        )

    def _unsigned(
        self, subject: x509.Name, issuer: x509.Name, key: Any, lifetime: timedelta
    ) -> x509.CertificateBuilder:
        began = datetime.now(UTC) - timedelta(minutes=1)
        made = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
        return made.not_valid_before(began).not_valid_after(began + lifetime)

    def answer(self, path: str, sent: bytes, authorization: str) -> Json:
        """Answer a request; `paths` records it."""
        path = path.partition("?")[0]
        self.paths.append(path)
        if path == "/.well-known/openid-configuration":
            return {"authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token"}
        if path == "/workflow":
            assert authorization.lower() == f"bearer {TOKEN_OF_THE_RUNNER}"
            return {"value": self._token()}
        if path == "/api/v2/signingCert":
            return self._certified(json.loads(sent), authorization)
        assert path == "/api/v1/log/entries"
        return self._logged(json.loads(sent))

    def _token(self) -> str:
        now = int(datetime.now(UTC).timestamp())
        claims = {"iss": self.url, "sub": IDENTITY, "aud": "sigstore", "iat": now, "exp": now + 60}
        parts = [base64.urlsafe_b64encode(_canonical(each)).rstrip(b"=") for each in ({"alg": "ES256"}, claims)]
        return b".".join([*parts, b"c2lnbmVk"]).decode()

    def _certified(self, sent: Json, authorization: str) -> Json:
        """Return a certificate for a key and the subject of a token, with the timestamp of a log of certificates."""
        body = authorization.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        request = x509.load_pem_x509_csr(base64.b64decode(sent["certificateSigningRequest"]))
        assert request.is_signature_valid
        unsigned = (
            self._unsigned(x509.Name([]), self._root.subject, request.public_key(), timedelta(minutes=10))
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(claims["sub"])]), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier(self._authority.id[:20], None, None), critical=False)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, claims["iss"].encode()), critical=False)
        )
        signed = unsigned.sign(self._authority.private, hashes.SHA256()).tbs_certificate_bytes
        stamp = self._stamp(signed)
        extension = x509.UnrecognizedExtension(_TIMESTAMPS, _octets(_sized(_sized(stamp))))
        leaf = unsigned.add_extension(extension, critical=False).sign(self._authority.private, hashes.SHA256())
        chain = [each.public_bytes(_PEM).decode() for each in (leaf, self._root)]
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}}

    def _stamp(self, certificate: bytes) -> bytes:
        """Return the signed timestamp of a certificate without one: RFC 6962, section 3.2."""
        time = int(datetime.now(UTC).timestamp() * 1000)
        entry = self._authority.id + len(certificate).to_bytes(3, "big") + certificate
        signature = self._certificates.sign(struct.pack("!BBQH", 0, 0, time, 1) + entry + bytes(2))
        sha256_with_ecdsa = bytes([4, 3])
        return struct.pack("!B32sQH", 0, self._certificates.id, time, 0) + sha256_with_ecdsa + _sized(signature)

    def _logged(self, sent: Json) -> Json:
        """Add an entry to the log; return it with a promise and a proof that it is there."""
        assert sent["kind"] == "dsse"
        proposed = sent["spec"]["proposedContent"]
        envelope = json.loads(proposed["envelope"])
        spec = {
            "envelopeHash": _hash_of(proposed["envelope"].encode()),
            "payloadHash": _hash_of(base64.b64decode(envelope["payload"])),
            "signatures": [
                {"signature": each["sig"], "verifier": proposed["verifiers"][0]} for each in envelope["signatures"]
            ],
        }
        body = _canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})
        self._leaves.append(hashlib.sha256(b"\0" + body).digest())
        index, size = len(self._leaves) - 1, len(self._leaves)
        promised = {
            "body": _text(body),
            "integratedTime": int(datetime.now(UTC).timestamp()),
            "logID": self._log.id.hex(),
            "logIndex": index,
        }
        root = _root_of(self._leaves)
        note = f"log.example.org - 1\n{size}\n{_text(root)}\n"
        signature = _text(self._log.id[:4] + self._log.sign(note.encode()))
        proof = {
            "checkpoint": f"{note}\n\u2014 log.example.org {signature}\n",
            "hashes": [each.hex() for each in _path_to_last(self._leaves)],
            "logIndex": index,
            "rootHash": root.hex(),
            "treeSize": size,
        }
        promise = _text(self._log.sign(_canonical(promised)))
        return {"0" * 64: promised | {"verification": {"inclusionProof": proof, "signedEntryTimestamp": promise}}}

    def trust_config(self) -> Json:
        """Return what a client must know of this instance: its addresses, and its keys."""
        valid = {"start": (datetime.now(UTC) - _DAY).isoformat(timespec="seconds").replace("+00:00", "Z")}
        service = {"url": self.url, "majorApiVersion": 1, "validFor": valid, "operator": "example.org"}
        logs = [
            {
                "baseUrl": self.url,
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": _text(key.public),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": valid,
                },
                "logId": {"keyId": _text(key.id)},
            }
            for key in (self._log, self._certificates)
        ]
        authority = {
            "subject": {"organization": "example.org", "commonName": "authority"},
            "uri": self.url,
            "certChain": {"certificates": [{"rawBytes": _text(self._root.public_bytes(_DER))}]},
            "validFor": valid,
        }
        media_type = "application/vnd.dev.sigstore.{}"
        return {
            "mediaType": media_type.format("clienttrustconfig.v0.1+json"),
            "trustedRoot": {
                "mediaType": media_type.format("trustedroot+json;version=0.1"),
                "tlogs": logs[:1],
                "ctlogs": logs[1:],
                "certificateAuthorities": [authority],
            },
            "signingConfig": {
                "mediaType": media_type.format("signingconfig.v0.2+json"),
                "caUrls": [service],
                "oidcUrls": [service],
                "rekorTlogUrls": [service],
                "rekorTlogConfig": {"selector": "ANY"},
            },
        }


def _usage(**chosen: bool) -> x509.KeyUsage:
    names = ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"]
    names += ["key_cert_sign", "crl_sign", "encipher_only", "decipher_only"]
    return x509.KeyUsage(**dict.fromkeys(names, False) | chosen)


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def _octets(data: bytes) -> bytes:
    assert len(data) < 256
    return b"\x04" + (bytes([len(data)]) if len(data) < 128 else bytes([0x81, len(data)])) + data


def _hash_of(data: bytes) -> Json:
    return {"algorithm": "sha256", "value": hashlib.sha256(data).hexdigest()}


def _split(leaves: list[bytes]) -> int:
    """Return the largest power of two below the number of leaves: RFC 6962, section 2.1."""
    return 1 << (len(leaves) - 1).bit_length() - 1


def _root_of(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    middle = _split(leaves)
    return hashlib.sha256(b"\1" + _root_of(leaves[:middle]) + _root_of(leaves[middle:])).digest()


def _path_to_last(leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    middle = _split(leaves)
    return [*_path_to_last(leaves[middle:]), _root_of(leaves[:middle])]


@contextmanager
def running(trust_config: Path) -> Iterator[Instance]:
    """Run an instance, and write its trust configuration to a file."""
    instance = Instance()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            content = json.dumps(instance.answer(self.path, sent, self.headers.get("Authorization", ""))).encode()
            self.send_response(201 if self.command == "POST" else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        instance.url = f"http://127.0.0.1:{server.server_port}"
        trust_config.write_text(json.dumps(instance.trust_config()))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield instance
        finally:
            server.shutdown()
            thread.join()
