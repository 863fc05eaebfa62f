"""Keys, and what is read of signed releases; for tests of statements and signatures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support import REPOSITORY

import corpusfmt

Json = dict[str, Any]
MANIFEST, PROVENANCE, VERIFICATION, SIGNATURE = (
    "MANIFEST.json",
    "MANIFEST.provenance.json",
    "MANIFEST.verification.json",
    "model.sig",
)
SUMMARY = "https://corpusfmt.github.io/statements/summary/v1"
SCHEMAS = REPOSITORY / "schemas"
SIGNED = [SIGNATURE, PROVENANCE, VERIFICATION]


def pem(key: Any, password: bytes = b"") -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    kind = serialization.PrivateFormat.PKCS8
    made: bytes = key.private_bytes(serialization.Encoding.PEM, kind, encryption)
    return made


def public_pem(key: Any) -> bytes:
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    made: bytes = key.public_key().public_bytes(serialization.Encoding.PEM, kind)
    return made


def write_keys(folder: Path, name: str, curve: ec.EllipticCurve) -> tuple[Path, Path]:
    key = ec.generate_private_key(curve)
    paths = folder / f"{name}.key", folder / f"{name}.pub"
    paths[0].write_bytes(pem(key))
    paths[1].write_bytes(public_pem(key))
    return paths


def found(report: corpusfmt.Report) -> set[tuple[str, str]]:
    return {(each.code, each.location.path) for each in report.findings if each.severity != "info"}


def payload_of(data: bytes) -> bytes:
    value = json.loads(data)
    return base64.b64decode(value.get("dsseEnvelope", value)["payload"])


def statement_of(path: Path) -> Json:
    data = path.read_bytes()
    made: Json = json.loads(payload_of(data) if b"payloadType" in data else data)
    return made
