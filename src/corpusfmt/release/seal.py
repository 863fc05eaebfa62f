"""Internal: Seal a corpus of any format: check it, hash every file, write the manifest, and what vouches for it: statements, and a signature."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from corpusfmt.engine.release import CheckedRelease, judge_entries
from corpusfmt.engine.sharing import Validation
from corpusfmt.engine.validate import Examined, examine, grading
from corpusfmt.engine.workplace import Workplace
from corpusfmt.formats import CheckOptions, formats, named_format
from corpusfmt.formats.general import barred
from corpusfmt.io.paths import Entry, entry_of, is_hidden, refuse_remote, walk
from corpusfmt.io.publish import publish_bytes, publish_pieces
from corpusfmt.manifest.claims import Bundle, Statement, check_claims, digests_in
from corpusfmt.manifest.listed import listed, rules_of
from corpusfmt.manifest.model import (
    NAME,
    PROVENANCE,
    SCHEMA,
    SIGNATURE,
    VERIFICATION,
    Head,
    ListedFile,
    Manifest,
    is_unlisted,
    manifest_pieces,
    tree_of,
)
from corpusfmt.manifest.read import fault_of, read_manifest
from corpusfmt.manifest.rules import RULES, judge_of
from corpusfmt.manifest.statements import provenance, statement, verification
from corpusfmt.model import BadInput, Incomplete, Json, Location, Report, UsageError
from corpusfmt.options import like, takes_options
from corpusfmt.profiles import shipped_profile
from corpusfmt.release.options import Sealing
from corpusfmt.release.signing import Signer, signer_of
from corpusfmt.rules import STANDARD, Grading, Judge, finding_of


@takes_options(Sealing)
def seal(path: str | Path, asked: Sealing) -> Report:
    """Write `MANIFEST.json` for the corpus in a folder: every file with its size and SHA-256, and a digest of the tree.

    The corpus is checked in the same run, as by `validate`; returns the report, with the tree in `results`. Provenance
    in an earlier manifest is kept if none of the documents has changed; statements about another manifest, and its
    signature, are removed. `attest` also writes statements: the provenance, and a summary of this check. `sign` is a file
    with a private key, which signs the release and the statements.
    Raises `UsageError` if `path` is not a folder with a finished corpus, or for another kind of key, `BadInput` if a file
    cannot be read, `Incomplete` if not everything was read.
    """
    root = _folder(path)
    signer = None if asked.sign is None else signer_of(asked.sign)
    before = _manifest_at(root)
    validation = like(Validation, asked, format=_format_of(before, asked.format))
    options = CheckOptions(grading=grading(validation), limits=asked.limits)
    examined = examine(entry_of(str(root)), options, validation, sealing=True)
    release = examined.release
    if release is None or examined.report.has_gaps:
        raise _unfinished(examined)
    files = _listed(examined, release)
    head = Head(SCHEMA, tree_of(files.items()), examined.format, examined.version)
    sealed = Manifest(head, files, _made_of(before, files))
    judge = judge_of(options)
    judge_entries(sealed, release.found.files, release.read, named_format(examined.format)[0], examined.version, judge)
    examined.report.tally.merge(judge.tally)
    name, version = head.format, head.version
    made = partial(manifest_pieces, files, sealed.whole, name, version, rules_of(name, version))
    sha256 = hashlib.sha256()
    for piece in made():
        sha256.update(piece)
    digest = sha256.hexdigest()
    written = statements_of(sealed, digest, examined.report, options.grading) if asked.attest else {}
    gone = outdated(release.root, sealed, digest)
    if signer is not None:
        written = vouchers(release.root, sealed, digest, written, gone, signer)
    for name in gone:
        (root / name).unlink()
    publish_pieces(root / NAME, made())
    for name, content in written.items():
        publish_bytes(root / name, content)
    judge = judge_of(options)
    check_claims(release.root, sealed, judge)
    examined.report.tally.merge(judge.tally)
    examined.report.results = {
        "tree": msgspec.to_builtins(sealed.head.tree),
        "made_of": sorted(sealed.whole),
        "written": [NAME, *written],
        "removed": [name for name in gone if name not in written],
    }
    return examined.report


def _folder(path: str | Path) -> Path:
    refuse_remote(path, "the corpus to seal")
    root = Path(path)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: name the folder of a corpus")
    if Workplace.is_unfinished(root):
        raise UsageError(f"{root} holds an unfinished run: finish it, or remove `.corpusfmt`, then seal it")
    for name in (NAME, PROVENANCE, VERIFICATION, SIGNATURE):
        if (root / name).is_dir():
            raise UsageError(f"{root / name} is a folder, expected a file: rename it, then seal the corpus")
    return root


def _unfinished(examined: Examined) -> Exception:
    """Return the reasons why a corpus cannot be sealed."""
    for each in examined.report.findings:
        if each.code.startswith("GEN00"):
            return BadInput(each)
    return Incomplete("not every file was read, so the corpus is not sealed")


def _listed(examined: Examined, release: CheckedRelease) -> dict[str, ListedFile]:
    for entry in release.found.barred.values():
        raise BadInput(finding_of(barred(entry, Location(entry.path)), RULES, ""))
    for path, entry in release.found.files.items():
        # The printed form of a name that is not UTF-8 differs from the name.
        is_text = os.fsencode(entry.url).endswith(path.encode())
        if fault := fault_of(path) if is_text else "is not UTF-8":
            raise UsageError(f"`{path}` {fault}: rename the file, then seal the corpus")
        if path not in release.read:
            raise Incomplete(f"{path}: not read, so the corpus is not sealed")
    read = {path: replace(facts, documents=release.documents.get(path)) for path, facts in sorted(release.read.items())}
    return listed(read, examined.shards)


def _manifest_at(root: Path) -> Manifest | None:
    """Return the earlier manifest of a corpus, if it is usable."""
    entry = entry_of(str(root)).child(NAME)
    return read_manifest(entry, _any_judge()) if entry else None


def _format_of(before: Manifest | None, asked: str) -> str:
    """Return the format in which a corpus was sealed before, unless another is requested: many files look alike."""
    if asked != "auto" or before is None:
        return asked
    return before.head.format if before.head.format in formats() else asked


def _made_of(before: Manifest | None, files: Mapping[str, ListedFile]) -> Json:
    """Return the provenance in an earlier manifest, if it is about the same documents."""
    if before is None:
        return {}
    documents = [
        {path: each.sha256 for path, each in release.items() if each.documents is not None}
        for release in (before.files, files)
    ]
    if documents[0] != documents[1]:
        return {}
    return {name: value for name, value in before.whole.items() if name not in Head.__struct_fields__}


_STATEMENTS = (PROVENANCE, VERIFICATION)


def statements_of(manifest: Manifest, digest: str, report: Report, grading: Grading) -> dict[str, bytes]:
    """Return the statements about a release by the name of their file; `digest` is that of its manifest, `report` that of its check."""
    fmt, _ = named_format(report.format)
    known = {rule.code: rule for rule in (*fmt.rules, *RULES)}
    rules = {code: grading.judged(rule, report.version, "")[0] or "ignored" for code, rule in known.items()}
    asked = (shipped_profile(each.name) if each == STANDARD else each for each in grading.profiles)
    profiles = {Path(each.name).name: each.text.encode() for each in asked}
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
    made = {name: signer.envelope(each) for name, each in statements.items()}
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
