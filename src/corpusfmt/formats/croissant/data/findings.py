"""Internal: CRO6xx, the files behind the description (--data), and CRO7xx, records that are to be documents
(convert).
"""

from __future__ import annotations

from msgspec import Struct

from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Severity

_RESOURCES = "croissant-1.0#resources"


class Gap(Struct, frozen=True):
    """Data that was not judged by some rules, through no fault of its own: what, and why."""

    codes: tuple[str, ...]
    path: str
    reason: str
    count: int = 1


DATA_FILE_MISSING = RULES.finding(
    "CRO601",
    "data-file-missing",
    """A local file is not where the description says. Files on the web are not fetched, and not judged.

    Why: the data cannot be loaded.
    Example: `"contentUrl": "data/train.csv"`, and no such file beside the description; a path out of its folder.
    Fix: add the file, or correct the path.
    """,
    spec=_RESOURCES,
)


DATA_SIZE_MISMATCH = RULES.finding(
    "CRO602",
    "data-size-mismatch",
    """A file is not as large as the description says; sizes with a unit may differ by 5 percent.

    Why: it was cut, or replaced.
    Example: `"contentSize": "117743 B"` and a file of 100 bytes.
    Fix: fetch the file again, or write the size that it has.
    """,
    spec="croissant-1.0#fileobject",
)


DATA_SHA256_MISMATCH = RULES.finding(
    "CRO603",
    "data-sha256-mismatch",
    """The SHA-256 (or MD5) of a file is not the one that the description says.

    Why: it is another file, or a damaged one.
    Example: a file that was edited after it was described.
    Fix: fetch the file again, or write the digest that it has.
    """,
    spec="croissant-1.0#checksums",
)


DATA_ARCHIVE_CORRUPT = RULES.finding(
    "CRO604",
    "data-archive-corrupt",
    """An archive, table or compressed file does not read to its end, or a file is not the archive that it is described as.
    Milder for an archive whose members are whole: a tar without an end mark, a zip with other bytes before or after it.

    Why: what comes after the damage is lost. Archives are read in place and in bounded memory: headers
    of more than 1 MiB, a directory of more than 16 MiB, sparse members, zip members that overlap and a row of Parquet that does not fit are not read.
    Example: a zip that was cut short, a member with a wrong checksum, a page of HTML saved as `data.zip`.
    Fix: fetch or pack it again.
    """,
    spec="croissant-1.0#fileset",
    grades={"minor": Severity.WARNING},
)


DATA_FILESET_EMPTY = RULES.finding(
    "CRO605",
    "data-fileset-empty",
    """The patterns of a file set select nothing.

    Why: in a pattern with a slash `*` does not cross folders, `**` does; what is included is then reduced by `excludes`.
    Example: `"includes": "./*.jpg"` where all pictures are in folders.
    Fix: write `**/*.jpg`.
    """,
    severity=Severity.WARNING,
    spec="croissant-1.0#fileset",
)


DATA_COLUMN_MISSING = RULES.finding(
    "CRO606",
    "data-column-missing",
    """A file has no column of the name that a field extracts, or its JSON path leads nowhere in all records. Case matters.

    Why: the field cannot be loaded. A member that some objects of JSON lack is no value in their records, and no finding.
    Example: `"column": "userid"` where the header has `userId`; `$[*].prize` where the objects have `price`.
    Fix: write the name as the file has it.
    """,
    spec="croissant-1.0#extract",
)


DATA_ROW_WIDTH = RULES.finding(
    "CRO607",
    "data-row-width",
    """A row of a CSV or TSV file has more or fewer cells than its header.

    Why: readers shift, drop or invent values.
    Example: a comma in a cell that is not quoted.
    Fix: quote cells that hold the delimiter, a quote or a line end.
    """,
    spec="croissant-1.0#extract",
)


DATA_RAGGED_COLUMNS = RULES.finding(
    "CRO608",
    "data-ragged-columns",
    """The JSON paths of one record set select different numbers of values from one file.

    Why: each record takes one value of each, so the lists cannot be put side by side.
    Example: `$[*].id` gives 3 values and `$[*].prices[*].amount` 7.
    Fix: let the paths lead to the same records: a list inside of each is a `repeated` field, or a record set of its own.
    """,
    spec="croissant-1.0#extract",
)


DATA_VALUE_CAST = RULES.finding(
    "CRO609",
    "data-value-cast",
    """A value in a file cannot be of the data type of its field. Nothing is rounded or cut to make it fit.

    Why: it cannot be loaded as what the field says it is, or only by changing it.
    Example: `3.5` or `n/a` in a column of a field of type sc:Integer. An empty cell is no value, which any type takes.
    Fix: correct the value, or the data type.
    """,
    spec="croissant-1.0#data-types",
)


DATA_TRANSFORM_FAILED = RULES.finding(
    "CRO610",
    "data-transform-failed",
    """A transformation does not apply to a value: the pattern does not match it, or has no end in sight after 10 seconds.

    Why: the field has no value there; readers keep the whole text, leave it out, or hang.
    Example: `"regex": "^([0-9]+)[.]jpg$"` and a file `cover.jpg`; `"regex": "(a+)+$"` and a long text of `a`.
    Fix: correct the pattern, or leave the file out with `excludes`; write patterns without repetition in a repetition.
    """,
    spec="croissant-1.0#transform",
)


DATA_KEY_NOT_UNIQUE = RULES.finding(
    "CRO611",
    "data-key-not-unique",
    """Two records that are read from files have the same key.

    Why: the values of the key "uniquely identify each record".
    Example: two rows with user 1 and film 2, which are the key.
    Fix: correct one of them, or the key.
    """,
    spec="croissant-1.0#recordset",
)


DATA_KEY_NULL = RULES.finding(
    "CRO612",
    "data-key-null",
    """A record that is read from a file has no value in a field of its key.

    Why: nothing identifies nothing.
    Example: an empty cell in the column of the key.
    Fix: give the record a key.
    """,
    spec="croissant-1.0#recordset",
)


DATA_FOREIGN_KEY_VIOLATION = RULES.finding(
    "CRO613",
    "data-foreign-key-violation",
    """A value that is read from a file is not among those of the field that it references; nor is the split of a record.

    Why: the "values in the Field that contains the reference are taken from the values of the target Field"; a join finds
    nothing for it.
    Example: a rating of film 7, and no film 7.
    Fix: correct the value, or add the record that it names.
    """,
    spec="croissant-1.0#joins",
)


DATA_GLOB_ANY_DEPTH = RULES.finding(
    "CRO614",
    "data-glob-any-depth",
    """A pattern without a slash selects files in folders.

    Why: the specification writes `*.jpg` for all pictures of an archive, and most readers take it so; others, to which
    `*` never crosses a folder, find nothing.
    Example: `"includes": "*.jpg"`, and a picture `train/1.jpg`.
    Fix: write `**/*.jpg`, which everybody reads alike; or `./*.jpg` for pictures of the top folder only.
    """,
    severity=Severity.INFO,
    spec="croissant-1.0#fileset",
)


DATA_FORMAT_MISMATCH = RULES.finding(
    "CRO615",
    "data-format-mismatch",
    """A file does not start as files of its encodingFormat do. Milder for another format of the same kind.

    Why: whoever reads it by its encodingFormat fails. The first bytes of JPEG, PNG, GIF, BMP, TIFF, WebP, WAV, FLAC, Ogg
    and PDF files are compared, where a FileObject is one or a record set takes their content; nothing is decoded.
    Example: a page with an error message, saved as `1.jpg`; a PNG image in a file set of `image/jpeg`.
    Fix: replace the file, or correct `encodingFormat`.
    """,
    spec="croissant-1.0#fileobject",
    grades={"minor": Severity.WARNING},
)


DATA_MEMBER_ESCAPES = RULES.finding(
    "CRO616",
    "data-member-escapes",
    """A member of an archive has a path that leads out of the folder that it is unpacked in.

    Why: a careless program that unpacks the archive writes there. Nothing is unpacked here.
    Example: `../../home/user/.profile`, `/etc/passwd`.
    Fix: pack the archive again with relative paths; do not unpack one of which you do not know the maker.
    """,
    severity=Severity.WARNING,
    spec="croissant-1.0#fileset",
)


RECORD_WITHOUT_TEXT = RULES.finding(
    "CRO701",
    "record-without-text",
    """A record that is to be a document has no text in the field of texts. The empty text is one.

    Why: there is no document to make of it; a number or a list is not written out as if it were prose.
    Example: an empty cell; a field of type sc:Integer named with --text-field.
    Fix: write the text, leave the record out, or name another field with --text-field.
    """,
)


RECORD_WITHOUT_ID = RULES.finding(
    "CRO702",
    "record-without-id",
    """A record that is to be a document has no id, in a record set that has ids: no text that is not empty, no whole number.

    Why: nothing then tells the document from others, and a number with a fraction is written in several ways.
    Example: an empty cell in the field of the key.
    Fix: give the record an id, or name another field with --id-field.
    """,
)


RECORD_TOO_DEEP = RULES.finding(
    "CRO703",
    "record-too-deep",
    """The lists and objects of a record that is to be a document nest deeper than 127 levels.

    Why: many readers of JSON give up on it.
    Example: a list in a list in a list, 200 times.
    Fix: flatten the value, or leave its field out of the description.
    """,
)
