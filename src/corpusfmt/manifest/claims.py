"""Internal: Read the untrusted statements and the signature of a release, and compare them with its manifest.

Nothing here is believed: who signed is another question, `release/signing.py`. What is reported contradicts the release, no
matter who says it.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated

from msgspec import Meta, Struct, field, to_builtins

from corpusfmt.formats.general import barred
from corpusfmt.io.paths import Entry, files_in
from corpusfmt.io.streams import facts_of
from corpusfmt.io.text import pointer
from corpusfmt.manifest.model import (
    NAME,
    PROVENANCE,
    SIGNATURE,
    VERIFICATION,
    Manifest,
    by_bytes,
    is_sha256,
    is_unlisted,
)
from corpusfmt.manifest.read import Refused, content_of, converted, object_in, unsafe
from corpusfmt.manifest.rules import (
    SIGNATURE_MALFORMED,
    SIGNATURE_MISMATCH,
    STATEMENT_MALFORMED,
    STATEMENT_MISMATCH,
    STATEMENT_PATH_UNSAFE,
    STATEMENT_UNKNOWN,
    UNSIGNED,
)
from corpusfmt.manifest.statements import (
    PAYLOAD,
    PREDICATES,
    STATEMENT,
    SUMMARY,
    TREE,
    VERIFIER,
    is_ours,
    provenance,
    release_uri,
)
from corpusfmt.model import FindingType, Json, Location, Problem
from corpusfmt.rules import Judge
from corpusfmt.wording import plural

#: Base64 makes a third more of what a manifest may have.
_MOST_BYTES = 128 * 1024 * 1024
_MOST_SIGNATURES = 100
_NO_NAME = "_"
_SIGNED = "https://model_signing/signature/v1.0"
_BUNDLE = "application/vnd.dev.sigstore.bundle"
_ATTEST = "run `corpusfmt seal --attest`, or remove the statement"
_REMOVE = "remove the file, or run `corpusfmt seal --sign KEY`"
_SIGN = "fetch the release and its signature again, or run `corpusfmt seal --sign KEY`"

#: The SHA-256 of a file that no manifest lists, None if there is none.
DigestOf = Callable[[str], str | None]


class Envelope(Struct, frozen=True):
    """A DSSE envelope: a payload with its type, and signatures of both."""

    kind: str
    payload: bytes
    signatures: tuple[bytes, ...]


class Statement(Struct, frozen=True):
    """What a file, of which `sha256` is the digest, states of files by path; `envelope` is None if it has no signature."""

    sha256: str
    digests: Mapping[str, str]
    kind: str
    predicate: Json
    envelope: Envelope | None = None


class Bundle(Struct, frozen=True):
    """A signature: the digests of the files that it covers, the paths that it leaves out, its bytes, the key that it names, if any."""

    digests: Mapping[str, str]
    ignored: frozenset[str]
    data: bytes
    key: str | None


class Claims(Struct):
    """The statements about a release by the name of their file, and its signature.

    `wrong` has those that contradict the release, each with the files whose content or existence it contradicts.
    """

    statements: dict[str, Statement] = field(default_factory=dict)
    bundle: Bundle | None = None
    wrong: dict[str, list[str]] = field(default_factory=dict)


class _Subject(Struct):
    digest: dict[str, str]
    name: str | None = None


class _Statement(Struct, rename={"kind": "_type"}):
    kind: str
    subject: Annotated[list[_Subject], Meta(min_length=1)]
    predicateType: str  # noqa: N815 - the names of in-toto
    predicate: Json = field(default_factory=dict)


class _Signature(Struct):
    sig: str


class _Envelope(Struct):
    payload: str
    payloadType: str  # noqa: N815
    signatures: Annotated[list[_Signature], Meta(min_length=1, max_length=_MOST_SIGNATURES)]


class _Builder(Struct):
    id: str


class _Run(Struct):
    builder: _Builder


class _Definition(Struct):
    buildType: str  # noqa: N815
    externalParameters: Json  # noqa: N815


class _Provenance(Struct):
    buildDefinition: _Definition  # noqa: N815
    runDetails: _Run  # noqa: N815


class _Policy(Struct):
    uri: str


class _Verification(Struct):
    verifier: _Builder
    resourceUri: str  # noqa: N815
    policy: _Policy
    verificationResult: str  # noqa: N815
    verifiedLevels: list[str]  # noqa: N815


class _Key(Struct):
    hint: str | None = None


class _Material(Struct):
    publicKey: _Key | None = None  # noqa: N815


class _Bundle(Struct):
    mediaType: str  # noqa: N815
    verificationMaterial: _Material  # noqa: N815
    dsseEnvelope: Json  # noqa: N815


class _Serialization(Struct):
    method: str
    hash_type: str
    ignore_paths: tuple[str, ...] = ()


class _Resource(Struct):
    name: str
    algorithm: str
    digest: str


class _Signed(Struct):
    serialization: _Serialization
    resources: list[_Resource]


def digests_in(root: Entry) -> DigestOf:
    """Return a function for the digests of files in a folder. It raises `OSError`."""

    @cache
    def digest_of(path: str) -> str | None:
        entry = root.child(path)
        return None if entry is None or entry.kind == "directory" else facts_of(entry).sha256

    return digest_of


def check_claims(
    root: Entry,
    manifest: Manifest,
    judge: Judge,
    digest_of: DigestOf | None = None,
    names: Collection[str] = (PROVENANCE, VERIFICATION, SIGNATURE),
) -> Claims:
    """Report where statements and the signature in a folder contradict the manifest; return those that can be read.

    `digest_of` knows files that are not written yet; only `names` are looked at.
    """
    digest_of = digest_of or digests_in(root)
    claims = Claims()
    for name in (*PREDICATES, SIGNATURE):
        if name not in names:
            continue
        try:
            entry = root.child(name)
            if entry is None:
                continue
            data = content_of(entry, _MOST_BYTES)
            if name == SIGNATURE:
                claims.bundle = _bundle(data)
                wrong = _uncovered(claims.bundle, claims, manifest, judge, digest_of)
            else:
                claims.statements[name] = statement = _statement(name, data)
                wrong = _contradicted(name, statement, manifest, judge, digest_of)
            if wrong is not None:
                claims.wrong[name] = wrong
        except OSError as error:
            judge.report(*barred(error, Location(name)))
        except Refused as refused:
            malformed, hint = (SIGNATURE_MALFORMED, _SIGN) if name == SIGNATURE else (STATEMENT_MALFORMED, _ATTEST)
            problem = Problem(refused.message, Location(name, pointer=refused.pointer), hint)
            judge.report(refused.rule or malformed, problem)
    return claims


def _object(data: bytes) -> Json:
    value, repeated = object_in(data)
    if repeated:
        raise Refused(f"`{repeated[0]}` occurs twice in one object")
    return value


def _statement(name: str, data: bytes) -> Statement:
    value = _object(data)
    envelope = _enveloped(value) if "payloadType" in value else None
    with _pointing(None if envelope else ""):
        found = _in_toto(_object(envelope.payload) if envelope else value, PREDICATES[name])
    with _pointing(None if envelope else "/predicate"):
        if name == PROVENANCE:
            converted(found.predicate, _Provenance)
        elif (result := converted(found.predicate, _Verification).verificationResult) not in {"PASSED", "FAILED"}:
            raise Refused(f"the result is `{result}`, expected `PASSED` or `FAILED`", "/verificationResult")
    digests = dict(_named((each.digest.get("sha256", ""), each.name) for each in found.subject))
    return Statement(sha256(data).hexdigest(), digests, found.predicateType, found.predicate, envelope)


@contextmanager
def _pointing(place: str | None) -> Iterator[None]:
    """Let JSON pointers be those in the whole file; nothing points into a payload."""
    try:
        yield
    except Refused as refused:
        if refused.rule is None:
            refused.pointer = None if place is None else place + (refused.pointer or "")
        raise


def _enveloped(value: Json) -> Envelope:
    found = converted(value, _Envelope)
    if found.payloadType != PAYLOAD:
        raise Refused(f"payload of type `{found.payloadType}`, expected `{PAYLOAD}`", rule=STATEMENT_UNKNOWN)
    signatures = tuple(_decoded(each.sig, "sig") for each in found.signatures)
    return Envelope(found.payloadType, _decoded(found.payload, "payload"), signatures)


def _decoded(text: str, what: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refused(f"`{what}` is not base64") from error


def _in_toto(value: Json, kind: str) -> _Statement:
    for name, expected in (("_type", STATEMENT), ("predicateType", kind)):
        said = value.get(name)
        if isinstance(said, str) and said != expected:
            raise Refused(f"`{name}` is `{said}`, expected `{expected}`", rule=STATEMENT_UNKNOWN)
    return converted(value, _Statement)


def _named(pairs: Iterable[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    """Yield names with their digests; what has no name goes by its digest.

    Raises for a name that is unsafe or occurs twice, and for what is not a SHA-256.
    """
    seen: set[str] = set()
    for digest, said in pairs:
        name = said if said and said != _NO_NAME else digest
        if name != TREE and (fault := unsafe(name)):
            raise Refused(f"`{name}` {fault}", rule=STATEMENT_PATH_UNSAFE)
        if name in seen:
            raise Refused(f"`{name}` occurs twice")
        if not is_sha256(digest):
            raise Refused(f"`{name}` has no SHA-256 of 64 hexadecimal digits in lower case")
        seen.add(name)
        yield name, digest


def _bundle(data: bytes) -> Bundle:
    found = converted(_object(data), _Bundle)
    if not found.mediaType.startswith(_BUNDLE):
        raise Refused(f"`mediaType` is `{found.mediaType}`, expected `{_BUNDLE}.v0.3+json`", rule=STATEMENT_UNKNOWN)
    with _pointing("/dsseEnvelope"):
        envelope = _enveloped(found.dsseEnvelope)
    with _pointing(None):
        signed = converted(_in_toto(_object(envelope.payload), _SIGNED).predicate, _Signed)
    kinds = {signed.serialization.hash_type, *(each.algorithm for each in signed.resources)}
    if signed.serialization.method != "files" or kinds != {"sha256"}:
        other = min(kinds - {"sha256"}, default="sha256")
        message = f"`{signed.serialization.method}` by `{other}`, expected `files` by `sha256`"
        raise Refused(message, rule=STATEMENT_UNKNOWN)
    digests = dict(_named((each.digest, each.name) for each in signed.resources))
    key = found.verificationMaterial.publicKey
    ignored = frozenset(str(PurePosixPath(each)) for each in signed.serialization.ignore_paths)
    return Bundle(digests, ignored, data, None if key is None else key.hint or "")


def _contradicted(
    name: str, found: Statement, manifest: Manifest, judge: Judge, digest_of: DigestOf
) -> list[str] | None:
    wrong = _report_wrong(name, found.digests, manifest, judge, STATEMENT_MISMATCH, digest_of)
    if wrong is not None:
        return wrong
    problems = [
        Problem(f"`{path}` is not a subject", Location(name), _ATTEST)
        for path in by_bytes(manifest.files.keys() - found.digests.keys())
        if NAME not in found.digests
    ]
    problems += [
        Problem(message, Location(name, pointer=None if found.envelope else f"/predicate{place}"), _ATTEST)
        for message, place in _contradictions(found, manifest)
    ]
    for problem in problems:
        judge.report(STATEMENT_MISMATCH, problem)
    return [] if problems else None


def _contradictions(found: Statement, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield where a predicate that corpusfmt wrote differs from the manifest: the message, and a JSON pointer."""
    predicate = found.predicate
    if found.kind == PREDICATES[VERIFICATION]:
        tree = manifest.head.tree
        if predicate["verifier"]["id"] != VERIFIER:
            return
        if predicate["resourceUri"] != release_uri(tree.sha256):
            yield f"the URI is `{predicate['resourceUri']}`, expected `{release_uri(tree.sha256)}`", "/resourceUri"
        summary = predicate.get(SUMMARY)
        if not isinstance(summary, dict) or summary.get("tree") != to_builtins(tree):
            yield "`tree` is not that of the manifest", pointer(SUMMARY, "tree")
    elif is_ours(predicate["buildDefinition"]["buildType"]):
        expected = provenance(manifest)
        for member, value in expected["buildDefinition"].items():
            if predicate["buildDefinition"].get(member) != value:
                yield f"`{member}` is not what the manifest says", f"/buildDefinition/{member}"
        # Else the version is that of the program that wrote the statement.
        if "tool" in manifest.whole and predicate["runDetails"] != expected["runDetails"]:
            yield "`runDetails` is not what the manifest says", "/runDetails"


def _uncovered(
    found: Bundle, claims: Claims, manifest: Manifest, judge: Judge, digest_of: DigestOf
) -> list[str] | None:
    wrong = _report_wrong(SIGNATURE, found.digests, manifest, judge, SIGNATURE_MISMATCH, digest_of)
    if found.digests.keys().isdisjoint({NAME, *manifest.files}):
        return wrong or []
    alone = {name for name, each in claims.statements.items() if each.envelope is None}
    left_out = by_bytes({NAME, *manifest.files, *alone} - found.digests.keys())
    for path in left_out:
        judge.report(UNSIGNED, Problem(f"`{path}` is not signed", Location(SIGNATURE), _SIGN))
    return [] if wrong is None and left_out else wrong


# What model-signing leaves out of any folder.
_OF_GIT = frozenset({".git", ".gitattributes", ".github", ".gitignore"})


def check_folder(root: Entry, claims: Claims, judge: Judge) -> None:
    """Report files that no manifest lists and that the signature does not cover, as model-signing does."""
    if claims.bundle is None:
        return
    ignored = claims.bundle.ignored | _OF_GIT
    for each in files_in(root):
        if not is_unlisted(each.path) or each.path in {NAME, SIGNATURE, *PREDICATES}:
            continue
        path = PurePosixPath(each.path)
        if each.path not in claims.bundle.digests and ignored.isdisjoint(map(str, (path, *path.parents))):
            judge.report(UNSIGNED, Problem(f"`{each.path}` is not signed", Location(SIGNATURE), _REMOVE))
            claims.wrong.setdefault(SIGNATURE, [])


def _report_wrong(
    name: str,
    claimed: Mapping[str, str],
    manifest: Manifest,
    judge: Judge,
    kind: FindingType,
    digest_of: DigestOf,
) -> list[str] | None:
    """Report the digests in a statement or signature that are not those of the release; return their files, None if none is."""
    at, hint = Location(name), _SIGN if kind is SIGNATURE_MISMATCH else _ATTEST
    known: frozenset[str | None] = frozenset()
    if any(path == digest for path, digest in claimed.items()):
        listed = (each.sha256 for each in manifest.files.values())
        known = frozenset({manifest.head.tree.sha256, digest_of(NAME), *listed})
    wrong: dict[str, str] = {}
    for path, digest in claimed.items():
        try:
            message = _difference(path, digest, manifest, digest_of, known)
        except OSError as error:
            judge.report(*barred(error, Location(path)))
            continue
        if message:
            wrong[path] = message
    if len(wrong) == len(claimed) > 1:
        wrong = {name: f"about another release: none of its {plural(len(claimed), 'digest')} is of a file in this one"}
    for message in wrong.values():
        judge.report(kind, Problem(message, at, hint))
    return [path for path in wrong if path not in (TREE, claimed.get(path))] if wrong else None


def _difference(path: str, digest: str, manifest: Manifest, digest_of: DigestOf, known: frozenset[str | None]) -> str:
    """Return how a claimed digest differs from the release, "" if it does not. Raises `OSError`."""
    actual: str | None
    if path == TREE:
        actual = manifest.head.tree.sha256
    elif path in manifest.files:
        actual = manifest.files[path].sha256
    elif path == digest:
        return "" if digest in known else f"no file has the SHA-256 `{digest}`"
    elif is_unlisted(path):
        actual = digest_of(path)
    else:
        return f"`{path}` is not in the manifest"
    if actual is None:
        return f"`{path}` is missing"
    return "" if actual == digest else f"SHA-256 of `{path}` is `{actual}`, expected `{digest}`"
