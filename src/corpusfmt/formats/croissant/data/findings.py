"""Internal: CRO6xx, the files of the description (--data), and CRO7xx, records converted to documents (convert)."""

from __future__ import annotations

from msgspec import Struct

from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Severity

_RESOURCES = "croissant-1.0#resources"


class Gap(Struct, frozen=True):
    """Data that some rules could not check although nothing is wrong with it, and why."""

    codes: tuple[str, ...]
    path: str
    reason: str
    count: int = 1


DATA_FILE_MISSING = RULES.finding(
    "CRO601",
    "data-file-missing",
    """A local file of the description is missing. Files on the web are neither fetched nor checked.

    Why: the data cannot be loaded.
    Example: `"contentUrl": "data/train.csv"` without such a file next to the description; a path that leaves its
    folder.
    Fix: add the file, or correct the path.
    """,
    spec=_RESOURCES,
)


DATA_SIZE_MISMATCH = RULES.finding(
    "CRO602",
    "data-size-mismatch",
    """The size of a file differs from the description. Sizes with a unit may differ by 5 percent.

    Why: the file was truncated or replaced.
    Example: `"contentSize": "117743 B"` and a file of 100 bytes.
    Fix: download the file again, or correct the size.
    """,
    spec="croissant-1.0#fileobject",
)


DATA_SHA256_MISMATCH = RULES.finding(
    "CRO603",
    "data-sha256-mismatch",
    """The SHA-256 or MD5 of a file differs from the description.

    Why: the file is corrupt or was replaced.
    Example: a file that was edited after it was described.
    Fix: download the file again, or correct the digest.
    """,
    spec="croissant-1.0#checksums",
)


DATA_ARCHIVE_CORRUPT = RULES.finding(
    "CRO604",
    "data-archive-corrupt",
    """An archive, table or compressed file is corrupt, or a file is not the archive that it claims to be. A warning if all
    members of the archive are intact: a tar without an end mark, a zip with extra bytes before or after it.

    Why: the data after the damage is lost. Archives are read in place and in bounded memory, which excludes headers of more
    than 1 MiB, a directory of more than 16 MiB, sparse members, overlapping zip members and Parquet rows that do not fit.
    Example: a truncated zip, a member with a wrong checksum, a page of HTML saved as `data.zip`.
    Fix: download or pack the file again.
    """,
    spec="croissant-1.0#fileset",
    grades={"minor": Severity.WARNING},
)


DATA_FILESET_EMPTY = RULES.finding(
    "CRO605",
    "data-fileset-empty",
    """The patterns of a file set select no file.

    Why: in a pattern with a slash, `*` does not cross folders, but `**` does. `excludes` removes files from the selection.
    Example: `"includes": "./*.jpg"` where all images are in folders.
    Fix: write `**/*.jpg`.
    """,
    severity=Severity.WARNING,
    spec="croissant-1.0#fileset",
)


DATA_COLUMN_MISSING = RULES.finding(
    "CRO606",
    "data-column-missing",
    """A file lacks the column that a field extracts, or its JSON path selects nothing in any record. Case matters.

    Why: the field cannot be loaded. A member that only some JSON objects lack is not a finding: those records have no value.
    Example: `"column": "userid"` where the header has `userId`; `$[*].prize` where the objects have `price`.
    Fix: write the name exactly as in the file.
    """,
    spec="croissant-1.0#extract",
)


DATA_ROW_WIDTH = RULES.finding(
    "CRO607",
    "data-row-width",
    """A row of a CSV or TSV file has more or fewer cells than its header.

    Why: readers shift, drop or invent values.
    Example: an unquoted cell that contains a comma.
    Fix: quote cells that contain the delimiter, a quote or a line break.
    """,
    spec="croissant-1.0#extract",
)


DATA_RAGGED_COLUMNS = RULES.finding(
    "CRO608",
    "data-ragged-columns",
    """The JSON paths of one record set select different numbers of values from one file.

    Why: each record takes one value from each path, so the lists do not fit together.
    Example: `$[*].id` gives 3 values and `$[*].prices[*].amount` 7.
    Fix: make the paths select the same records; a list in each record is an array (`isArray`, in 1.0 `repeated`) or a separate record set.
    """,
    spec="croissant-1.0#extract",
)


DATA_VALUE_CAST = RULES.finding(
    "CRO609",
    "data-value-cast",
    """A value in a file does not fit its field's data type. Nothing is rounded or truncated to make it fit.

    Why: readers cannot load it without changing it.
    Example: `3.5` or `n/a` in the column of a field of type sc:Integer. An empty cell means no value, which every type allows.
    Fix: correct the value or the data type.
    """,
    spec="croissant-1.0#data-types",
)


DATA_TRANSFORM_FAILED = RULES.finding(
    "CRO610",
    "data-transform-failed",
    """A transformation fails for a value: the pattern does not match, or is still running after 10 seconds.

    Why: the field has no value; readers keep the whole text, drop it, or hang.
    Example: `"regex": "^([0-9]+)[.]jpg$"` and a file `cover.jpg`; `"regex": "(a+)+$"` and a long run of `a`.
    Fix: correct the pattern, or exclude the file with `excludes`; avoid nested repetition in patterns.
    """,
    spec="croissant-1.0#transform",
)


DATA_KEY_NOT_UNIQUE = RULES.finding(
    "CRO611",
    "data-key-not-unique",
    """Two records in files have the same key.

    Why: the values of the key "uniquely identify each record".
    Example: two rows with user 1 and film 2, which are the key.
    Fix: correct one of the records, or the key.
    """,
    spec="croissant-1.0#recordset",
)


DATA_KEY_NULL = RULES.finding(
    "CRO612",
    "data-key-null",
    """A record in a file has no value in a field of its key.

    Why: the record cannot be identified.
    Example: an empty cell in the column of the key.
    Fix: give the record a key.
    """,
    spec="croissant-1.0#recordset",
)


DATA_FOREIGN_KEY_VIOLATION = RULES.finding(
    "CRO613",
    "data-foreign-key-violation",
    """A value in a file, such as the split of a record, does not occur in the field that it references.

    Why: the "values in the Field that contains the reference are taken from the values of the target Field"; a join finds
    no match.
    Example: a rating of film 7, and no film 7.
    Fix: correct the value, or add the missing record.
    """,
    spec="croissant-1.0#joins",
)


DATA_GLOB_ANY_DEPTH = RULES.finding(
    "CRO614",
    "data-glob-any-depth",
    """A pattern without a slash selects files in folders.

    Why: the specification uses `*.jpg` for all images of an archive, and most readers agree; other readers, where `*`
    never crosses folders, find nothing.
    Example: `"includes": "*.jpg"`, and an image `train/1.jpg`.
    Fix: write `**/*.jpg`, which all readers understand, or `./*.jpg` for images in the top folder only.
    """,
    severity=Severity.INFO,
    spec="croissant-1.0#fileset",
)


DATA_FORMAT_MISMATCH = RULES.finding(
    "CRO615",
    "data-format-mismatch",
    """The first bytes of a file do not match its encodingFormat. A warning for another format of the same kind.

    Why: readers that rely on the encodingFormat fail. The first bytes of JPEG, PNG, GIF, BMP, TIFF, WebP, JPEG 2000,
    JPEG XL, WAV, AIFF, FLAC, Ogg, MP3, MIDI and PDF files are compared if the file is a FileObject or a record set reads its content; nothing is decoded.
    Example: an error page saved as `1.jpg`; a PNG image in a file set of `image/jpeg`.
    Fix: replace the file, or correct `encodingFormat`.
    """,
    spec="croissant-1.0#fileobject",
    grades={"minor": Severity.WARNING},
)


DATA_MEMBER_ESCAPES = RULES.finding(
    "CRO616",
    "data-member-escapes",
    """The path of an archive member points outside the folder where the archive is unpacked.

    Why: a careless program that unpacks the archive writes there. Corpusfmt does not unpack archives.
    Example: `../../home/user/.profile`, `/etc/passwd`.
    Fix: pack the archive again with relative paths; do not unpack an archive from an unknown author.
    """,
    severity=Severity.WARNING,
    spec="croissant-1.0#fileset",
)


DATA_TYPE_DIFFERS = RULES.finding(
    "CRO617",
    "data-type-differs",
    """A column of Parquet, or a member of JSON objects, is stored as another type than its field declares, although all
    values can be read as declared. Cells of CSV and TSV have no stored type.

    Why: readers that trust the file and readers that trust the description load different types.
    Example: `"dataType": "sc:Text"` for a column of `int64`; `"sc:Integer"` for JSON strings such as `"12"`. Integers of
    any size are sc:Integer, sc:Float or sc:Number; strings may be sc:URL or sc:Date.
    Fix: declare the stored type, or store the values as declared.
    """,
    severity=Severity.INFO,
    spec="croissant-1.0#data-types",
)


RECORD_WITHOUT_TEXT = RULES.finding(
    "CRO701",
    "record-without-text",
    """A record to be converted has no text in its text field. An empty text is accepted.

    Why: a document needs text; numbers and lists are not converted to text.
    Example: an empty cell; a field of type sc:Integer named with --field text=FIELD.
    Fix: add the text, remove the record, or name another field with --field text=FIELD.
    """,
)


RECORD_WITHOUT_ID = RULES.finding(
    "CRO702",
    "record-without-id",
    """A record to be converted has no id, although its record set has ids. An id is nonempty text or a whole number.

    Why: the document cannot be identified, and numbers with fractions have several spellings.
    Example: an empty cell in the field of the key.
    Fix: give the record an id, or name another field with --field id=FIELD.
    """,
)


RECORD_TOO_DEEP = RULES.finding(
    "CRO703",
    "record-too-deep",
    """The lists and objects of a record to be converted nest more than 127 levels deep.

    Why: many JSON readers fail on deep nesting.
    Example: lists nested 200 levels deep.
    Fix: flatten the value, or remove its field from the description.
    """,
)
