"""Internal: MAN1xx, the manifest itself; MAN2xx, the files of a release; MAN3xx, its other records; MAN4xx, statements; MAN5xx, signatures."""

from __future__ import annotations

from corpusfmt.formats import CheckOptions
from corpusfmt.formats.general import GENERAL
from corpusfmt.manifest.model import NAME
from corpusfmt.model import Severity
from corpusfmt.rules import Judge, RuleSet

RULES = RuleSet(GENERAL)


def judge_of(options: CheckOptions) -> Judge:
    """Return the judge of manifests under the caller's options."""
    return Judge(RULES, options.grading, version="", path=NAME, cap=options.max_per_rule)


MALFORMED = RULES.finding(
    "MAN101",
    "manifest-malformed",
    """`MANIFEST.json` is not JSON, or does not follow its schema.

    Why: nothing in it can be checked, therefore nothing in it is trusted.
    Example: an empty file, a size written as text, a digest of 63 digits.
    Fix: fetch the manifest again, or write it with `corpusfmt seal DIR`.
    """,
)

UNKNOWN_SCHEMA = RULES.finding(
    "MAN102",
    "manifest-schema-unknown",
    """`MANIFEST.json` follows a schema that this version of corpusfmt does not know.

    Why: a later schema may list files in another way, and a wrong guess would hide damage.
    Example: `"schema": "corpusfmt-manifest/2"`.
    Fix: use a version of corpusfmt that knows the schema.
    """,
)

UNSAFE_PATH = RULES.finding(
    "MAN103",
    "manifest-path-unsafe",
    """The manifest lists a path that no file of a release may have: absolute, with `..`, or reserved.

    Why: a program that follows such a path leaves the folder of the release.
    Example: `../../etc/passwd`, `/etc/passwd`, `C:/x`, `a//b`, `MANIFEST.json`.
    Fix: write the manifest with `corpusfmt seal DIR`.
    """,
)

REPEATED_NAME = RULES.finding(
    "MAN104",
    "manifest-name-repeated",
    """A name occurs twice in one object of the manifest.

    Why: readers keep one of the two values, and differ in which.
    Example: `"af/af.txt.gz"` listed with two digests.
    Fix: write the manifest with `corpusfmt seal DIR`.
    """,
)

TREE_MISMATCH = RULES.finding(
    "MAN105",
    "tree-digest-mismatch",
    """The digest of the tree differs from the digest of the listed files.

    Why: the manifest was edited after it was written, or parts of it come from another release.
    Example: an entry and its file were removed.
    Fix: fetch the manifest again from its publisher.
    """,
)

WRONG_TOTAL = RULES.finding(
    "MAN106",
    "manifest-total-wrong",
    """A total in the manifest differs from the sum of its entries.

    Why: one of the two is wrong, and users rely on the total.
    Example: `"documents": 1000` over files of 400 and 500.
    Fix: write the manifest with `corpusfmt seal DIR`.
    """,
    requires=("MAN301",),
)

FILE_MISSING = RULES.finding(
    "MAN201",
    "release-file-missing",
    """A file that the manifest lists is not in the release.

    Why: its documents are lost, and a corpus without them looks complete.
    Example: `af/af_part_12.txt.gz` was not downloaded.
    Fix: fetch the file again.
    """,
)

FOLDER_MISSING = RULES.finding(
    "MAN202",
    "release-folder-missing",
    """A folder is missing, with all files that the manifest lists in it.

    Why: a whole language or source is lost, and the rest looks complete.
    Example: `rm -r af`.
    Fix: fetch the folder again.
    """,
)

FILE_ADDED = RULES.finding(
    "MAN203",
    "release-file-added",
    """The release contains a file that the manifest does not list.

    Why: its publisher does not vouch for the file, and readers take it for a part of the release.
    Example: `af/af_part_13.txt.gz`, if the manifest lists twelve parts.
    Fix: remove the file, or seal the release again if the file belongs to it.
    """,
)

FILE_CHANGED = RULES.finding(
    "MAN204",
    "release-file-changed",
    """The content of a file differs from the manifest.

    Why: the file was changed or damaged after the release was sealed.
    Example: one flipped bit, a rewritten file.
    Fix: fetch the file again, or seal the release again if the change is intended.
    """,
)

FILE_TRUNCATED = RULES.finding(
    "MAN205",
    "release-file-truncated",
    """A file is shorter than its size in the manifest.

    Why: its last documents are lost, usually because a download ended early.
    Example: 4,096 bytes, 10,000 in the manifest.
    Fix: fetch the file again.
    """,
)

FILE_RENAMED = RULES.finding(
    "MAN206",
    "release-file-renamed",
    """A file was renamed: it has the content of a file that is missing.

    Why: readers rely on names: documents change language, split or part, or are not found.
    Example: `af/af.txt.gz` is now `af/af_part_1.txt.gz`.
    Fix: restore the name.
    """,
)

FILES_SWAPPED = RULES.finding(
    "MAN207",
    "release-files-swapped",
    """Two files have each other's content.

    Why: readers rely on names, and take each file for the other.
    Example: `train.jsonl.gz` and `test.jsonl.gz` exchanged.
    Fix: exchange the names of the two files.
    """,
)

CONTENT_REPEATED = RULES.finding(
    "MAN208",
    "release-content-repeated",
    """Two files with documents have the same content.

    Why: the documents count twice; published corpora have contained such files by mistake.
    Example: `part-0003.jsonl.gz` is a copy of `part-0002.jsonl.gz`.
    Fix: remove one of the two and seal the release again.
    """,
    severity=Severity.WARNING,
)

DOCUMENTS_MISCOUNTED = RULES.finding(
    "MAN301",
    "manifest-documents-wrong",
    """The number of documents in a file differs from the manifest.

    Why: the digest is right, so the number was wrong when the release was sealed, or was edited.
    Example: `"documents": 1000` for a file of 999.
    Fix: seal the release again.
    """,
)

STATISTICS_DIFFER = RULES.finding(
    "MAN302",
    "statistics-mismatch",
    """The number of documents in `stats.json` differs from the manifest, or without one from the files.

    Why: the published statistics are wrong, or a part of the release was left out.
    Example: 171 documents in `stats.json`, 170 in the files.
    Fix: write the statistics again, then seal the release.
    """,
    requires=("MAN106", "MAN301"),
)

DESCRIPTION_DIFFERS = RULES.finding(
    "MAN303",
    "description-mismatch",
    """`croissant.json` contradicts the manifest, or without one the file itself, about its size, its digest or its existence.

    Why: loaders that rely on the description reject the file, or do not find it.
    Example: the digest of an earlier version.
    Fix: run `corpusfmt describe DIR -o DIR/croissant.json`, then `corpusfmt seal DIR`.
    """,
)

CHECKSUM_DIFFERS = RULES.finding(
    "MAN304",
    "checksum-list-mismatch",
    """A checksum list contradicts the manifest, or without one the file itself, or names a file that is not there.

    Why: the file is damaged or the list is wrong, and everyone who runs `sha256sum -c` sees a failure.
    Example: `SHA256SUMS` or `data.md5` of an earlier version; milder: a line that is not one of `sha256sum`.
    Fix: fetch the file again, or write the list again with `sha256sum`; then run `corpusfmt seal DIR` if there is a manifest.
    """,
    grades={"minor": Severity.WARNING},
)

CARD_DIFFERS = RULES.finding(
    "MAN305",
    "card-mismatch",
    """The card (`README.md`) names data that the manifest does not list, or that does not exist, or a wrong digest.

    Why: loaders rely on the paths in the head of a card, readers on its text.
    Example: `path: data/train-*.parquet`, if the files are in `train/`.
    Fix: correct the card, then run `corpusfmt seal DIR`.
    """,
)

STATEMENT_MALFORMED = RULES.finding(
    "MAN401",
    "statement-malformed",
    """A statement is not JSON, not a statement of in-toto or an envelope with one, or lacks what its type requires.

    Why: nothing in it can be checked, therefore nothing in it is trusted.
    Example: `subject` is missing, a digest of 63 digits, a payload that is not base64, a million subjects.
    Fix: write the statements again with `corpusfmt seal DIR --attest`.
    """,
)

STATEMENT_UNKNOWN = RULES.finding(
    "MAN402",
    "statement-type-unknown",
    """The type of a statement or signature is not the one that its file is reserved for.

    Why: nothing in it can be checked, therefore nothing in it is trusted.
    Example: an SPDX document in `MANIFEST.provenance.json`, a signature with digests of BLAKE3.
    Fix: move the statement to another file, or write it with `corpusfmt seal DIR --attest`.
    """,
    severity=Severity.WARNING,
)

STATEMENT_PATH_UNSAFE = RULES.finding(
    "MAN403",
    "statement-path-unsafe",
    """A statement or signature names a path that no file of a release may have: absolute, or with `..`.

    Why: a program that follows such a path leaves the folder of the release.
    Example: `../../etc/passwd`, `/etc/passwd`, `C:/x`, `a//b`.
    Fix: write the statement with `corpusfmt seal DIR --attest`, or the signature with `--sign`.
    """,
)

STATEMENT_MISMATCH = RULES.finding(
    "MAN404",
    "statement-mismatch",
    """A statement is about another release than the one it is in, or contradicts its manifest.

    Why: its origin and its verdict are those of other files.
    Example: version 1.1 contains the statements of version 1.0.
    Fix: fetch the release again, or run `corpusfmt seal DIR --attest`.
    """,
)

SIGNATURE_MISSING = RULES.finding(
    "MAN501",
    "signature-missing",
    """A release that must be signed has no signature, or one that cannot be read.

    Why: whoever can change the files can change the manifest as well, and only a signature shows that.
    Example: `corpusfmt verify DIR --key release.pub` where `model.sig` was removed.
    Fix: fetch the signature from its publisher, or run `corpusfmt seal DIR --sign KEY`.
    """,
)

SIGNATURE_MALFORMED = RULES.finding(
    "MAN502",
    "signature-malformed",
    """`model.sig` is not JSON, not a bundle of sigstore, or not one of model-signing.

    Why: nothing in it can be checked, therefore nothing in it is trusted.
    Example: an empty file, a payload that is not base64, a resource with a digest of 63 digits.
    Fix: fetch the signature again, or run `corpusfmt seal DIR --sign KEY`.
    """,
)

SIGNATURE_INVALID = RULES.finding(
    "MAN503",
    "signature-invalid",
    """A signature was not made with the given key, or what it signs was changed afterwards.

    Why: the expected publisher does not vouch for this release.
    Example: `model.sig` of another publisher, a statement that was edited after it was signed.
    Fix: use the key of the publisher, or fetch the release again.
    """,
)

SIGNATURE_MISMATCH = RULES.finding(
    "MAN504",
    "signature-mismatch",
    """What `model.sig` signs differs from the content of the release.

    Why: files were changed after they were signed, or the signature belongs to another release.
    Example: the digest of `MANIFEST.json` is not the signed one.
    Fix: fetch the release again; if the change is meant, run `corpusfmt seal DIR --sign KEY`.
    """,
)

UNSIGNED = RULES.finding(
    "MAN505",
    "file-unsigned",
    """The signature of a release does not cover a file.

    Why: anyone may have added or changed it, and no publisher vouches for it.
    Example: `.vscode/tasks.json` was added after the release was signed.
    Fix: remove a file that does not belong there, else run `corpusfmt seal DIR --attest --sign KEY`.
    """,
)
