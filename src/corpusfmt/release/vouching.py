"""Internal: What vouches for a sealed release: statements about it, and its signature."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path

from corpusfmt.formats import named_format
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.manifest.claims import Bundle, Statement, check_claims, digests_in
from corpusfmt.manifest.model import NAME, PROVENANCE, SIGNATURE, VERIFICATION, Manifest, is_unlisted
from corpusfmt.manifest.rules import RULES
from corpusfmt.manifest.statements import provenance, statement, verification
from corpusfmt.model import Report, UsageError
from corpusfmt.release.signing import Signer
from corpusfmt.rules import Grading, Judge

_STATEMENTS = (PROVENANCE, VERIFICATION)


def statements_of(manifest: Manifest, digest: str, report: Report, grading: Grading) -> dict[str, bytes]:
    """Return the statements about a release by the name of their file; `digest` is that of its manifest, `report` that of its check."""
    fmt, _ = named_format(report.format)
    known = {rule.code: rule for rule in (*fmt.rules, *RULES)}
    rules = {code: grading.judged(rule, report.version, "")[0] or "ignored" for code, rule in known.items()}
    profiles = {Path(each.name).name: each.text.encode() for each in grading.profiles}
    made = {
        PROVENANCE: provenance(manifest),
        VERIFICATION: verification(manifest, report, profiles, rules),
    }
    return {name: statement(name, manifest, digest, predicate) for name, predicate in made.items()}


def outdated(folder: Entry, manifest: Manifest, digest: str) -> list[str]:
    """Return the statements and the signature in a folder that are about other bytes of its manifest."""
    claims = check_claims(folder, manifest, _any_judge())
    vouching: dict[str, Statement | Bundle] = {**claims.statements}
    if claims.bundle is not None:
        vouching[SIGNATURE] = claims.bundle
    return [name for name, each in vouching.items() if each.digests.get(NAME, digest) != digest]


def vouchers(
    folder: Entry, manifest: Manifest, digest: str, statements: dict[str, bytes], gone: Collection[str], signer: Signer
) -> dict[str, bytes]:
    """Return the files that sign a release, its manifest and the statements about it, except those that are to be `gone`.

    Raises `UsageError` if other statements in the folder, which would be signed, are about another release.
    """
    envelope = signer.envelope
    made = {name: each if envelope is None else envelope(each) for name, each in statements.items()}
    there = digests_in(folder)
    names = [name for name in _STATEMENTS if name not in made and name not in gone]

    def digest_of(path: str) -> str | None:
        if path == NAME:
            return digest
        written = made.get(path)
        return hashlib.sha256(written).hexdigest() if written is not None else there(path)

    judge = _any_judge()
    check_claims(folder, manifest, judge, digest_of, names)
    for each in judge.tally.findings:
        raise UsageError(f"{each.location}: {each.message}: add --attest, or remove the statement, and seal again")
    signed = {path: each.sha256 for path, each in manifest.files.items()}
    signed |= {name: found for name in (NAME, *made, *names) if (found := digest_of(name))}
    return made | {SIGNATURE: signer.bundle(signed, {SIGNATURE, *_ignored(folder)})}


def _any_judge() -> Judge:
    return Judge(RULES, Grading(), version="", path=NAME)


def _ignored(folder: Entry) -> Iterator[str]:
    """Yield the files and folders that are not signed: other signatures, and hidden ones."""
    for each in walk(folder):
        if is_unlisted(each.path) and not is_hidden(each.parent) and each.path not in {NAME, *_STATEMENTS}:
            yield each.path
