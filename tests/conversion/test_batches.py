"""Documents that are converted in batches: the bytes are those of a conversion document by document."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from conversion.rows import document, lines_of
from support import gzipped, tree

from corpusfmt import convert
from corpusfmt.conversion import stored
from corpusfmt.formats import CheckOptions, Rejected, format_at
from corpusfmt.formats.dolma import read as dolma
from corpusfmt.formats.oscar import read, write
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.io.compress import GzipWriter
from corpusfmt.io.loading import BLOCK_BYTES, Columns
from corpusfmt.io.paths import entry_of

pytest.importorskip("corpusfmt.formats._native")

_WORDS = (
    "plain words", "Straße", "मस", "🙂", '"', "\\", "\\n", "/", "\t", "\r", "\x02", "\x7f", "\x85", "\u2028", "2021-02-03", "e\u0301",
)  # fmt: skip
_ODD_LINES = ("", " ", " \t", "\r", "2021-02-03", "7", " leads", "\ufeff", "\\ud800")
_DATE = "2021-02-24T17:55:00Z"
# Changes of one record or document in a few; the functions get the record's headers.
_CHANGES = (
    lambda headers: headers.pop("warc-date"),
    lambda headers: headers.pop("warc-target-uri"),
    lambda headers: headers.pop("warc-record-id"),
    lambda headers: headers.update({"warc-date": "2021-02-30T17:55:00Z"}),
    lambda headers: headers.update({"warc-date": "2021-02-24"}),
    lambda headers: headers.update({"warc-target-uri": "2021-02-24"}),
    lambda headers: headers.update({"warc-target-uri": ""}),
    lambda headers: headers.update({"warc-target-uri": 'http://é.example/"\\\n\u0000\u001f\u007f'}),
    lambda headers: headers.update({"warc-record-id": "<<a>>"}),
    lambda headers: headers.update({"warc-record-id": "<urn:uuid:00000000-0000-0000-0000-000000000000>"}),
    lambda headers: headers.update({"corpusfmt-blank-lines": "1"}),
    lambda headers: headers.update({"corpusfmt-annotations": "{}"}),
    lambda headers: headers.update({"corpusfmt-changes": '{"source":"web"}'}),
    lambda headers: headers.update({"x": "🙂é"}),
)


def documents(rng: random.Random, odd: float) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield texts, headers, and what is wrong: a number from 0 to 1, below `odd` for a document that is not usual."""
    for _ in range(rng.randrange(1, 60)):
        lines = [
            " ".join(rng.choices(_WORDS, k=rng.randrange(1, 40))).strip() or "x" for _ in range(rng.randrange(1, 6))
        ]
        identity = f"{rng.getrandbits(32):08x}-0000-0000-0000-{rng.getrandbits(48):012x}"
        headers = {
            "content-length": "9999",
            "warc-target-uri": f"https://example.org/{rng.choice(['a', 'é', 'q%22', '<b>'])}",
            "warc-date": _DATE,
            "warc-record-id": f"<urn:uuid:{identity}>",
        }
        wrong = rng.random()
        if wrong < odd / 2:
            rng.choice(_CHANGES)(headers)
        elif wrong < odd:
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(_ODD_LINES))
        yield "\n".join(lines), headers, wrong


def oscar(folder: Path, seed: int) -> Path:
    """Write a release with usual documents, and in every second part others among them."""
    rng = random.Random(seed)
    for language in ("de", "hi"):
        odd = rng.choice((0, 0.04))
        text, rows, offset = b"", [], 0
        for content, headers, wrong in documents(rng, odd):
            lines = content.count("\n") + 1
            row = {"headers": headers, "offset": offset + (odd * 0.9 < wrong < odd), "nb_sentences": lines}
            separators = rng.choice((None, (", ", ": "))) if wrong < odd else (",", ":")
            rows.append(json.dumps(row, ensure_ascii=rng.random() < 0.5, separators=separators))
            text += content.encode("utf-8", "replace") + (b"\xff" if odd * 0.8 < wrong < odd * 0.85 else b"") + b"\n\n"
            offset += lines + 1
        end = rng.choice((0, 0, 1, 2))
        (folder / language).mkdir(parents=True)
        (folder / language / f"{language}.txt.gz").write_bytes(gzipped(text[: len(text) - end]))
        data = "".join(f"{row}\n" for row in rows).encode()
        (folder / language / f"{language}_meta.jsonl.gz").write_bytes(gzipped(data))
    return folder


def changed(corpus: Path, rng: random.Random) -> Path:
    """Change a few rows of a corpus in Dolma."""
    for path in sorted(corpus.rglob("documents/**/*.gz")):
        rows = lines_of(path)
        for number in range(len(rows)):
            if rng.random() < 0.02:
                row = json.loads(rows[number])
                choices = [
                    lambda row: row.update(added=_DATE),
                    lambda row: row.update(source="web"),
                    lambda row: row.update(text=row["text"] + "\n"),
                    lambda row: row.update(text="\n\n" + row["text"]),
                    lambda row: row.update(text=""),
                    lambda row: row.update(created="2020-01-01T00:00:00Z"),
                    lambda row: row.update(id=row["id"] + "x"),
                    lambda row: row["metadata"].update(url="https://example.org/"),
                    lambda row: row["metadata"].update(more=1),
                    lambda row: row["metadata"].pop("oscar"),
                    lambda row: row.update(text=7),
                ]
                rng.choice(choices)(row)
                rows[number] = json.dumps(row, separators=(",", ":"), ensure_ascii=rng.random() < 0.5).encode()
        path.write_bytes(gzipped(b"".join(row + b"\n" for row in rows)))
    return corpus


def mixed(folder: Path, seed: int) -> Path:
    """Write rows of several languages in each shard of Dolma, and a few that are not usual."""
    rng = random.Random(seed)
    changes = [
        lambda row: row.update(version="v1"),
        lambda row: row.update(version=None),
        lambda row: row.update(extra={"a": [1, 2.50, None]}, zone="é"),
        lambda row: row.update(attributes={"x__y": [[0, 1, 0.5]]}),
        lambda row: row.pop("created"),
        lambda row: row.pop("metadata"),
        lambda row: row.update(metadata=None),
        lambda row: row["metadata"].update(language=None),
        lambda row: row["metadata"].update(language="zh-hans"),
        lambda row: row["metadata"].update(oscar="{}"),
        lambda row: row["metadata"].update(number=10**20),
        lambda row: row["metadata"].update(deep=[[[[[[[1]]]]]]]),
        lambda row: row.update(text=""),
        lambda row: row.update(text=f"\n{row['text']}\n \t\n\n"),
        lambda row: row.update(source=""),
        lambda row: row.update(id=7),
    ]
    for shard in range(3):
        rows = []
        for number in range(rng.randrange(1, 60)):
            text = "\n".join(" ".join(rng.choices(_WORDS, k=rng.randrange(1, 40))) for _ in range(rng.randrange(1, 6)))
            metadata = {"language": rng.choice(["de", "hi"]), "url": "https://example.org/é", "score": 0.5}
            row = {"id": f"{shard}-{number}", "text": text, "source": "web", "created": _DATE, "metadata": metadata}
            if rng.random() < 0.04:
                rng.choice(changes)(row)
            if rng.random() < 0.04:
                row = dict(reversed(row.items()))
            rows.append(json.dumps(row, ensure_ascii=rng.random() < 0.5).encode() + b"\n")
        (folder / "documents").mkdir(parents=True, exist_ok=True)
        (folder / "documents" / f"{shard}.jsonl.gz").write_bytes(gzipped(b"".join(rows)))
    return folder


def converted(source: Path, target: Path, to: str, **more: int) -> dict[str, bytes]:
    options = {"on_bad_record": "quarantine", "on_loss": "allow"} | more
    convert(source, target, to=to, **options)  # type: ignore[arg-type]
    beside = target.with_name(f"{target.name}-quarantine")
    return tree(target) | (
        {f"quarantine/{name}": data for name, data in tree(beside).items()} if beside.exists() else {}
    )


@pytest.mark.parametrize("seed", range(24))
def test_batches_change_no_byte(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = oscar(tmp_path / "source", seed)
    fast = converted(source, tmp_path / "fast", "dolma")
    back = converted(tmp_path / "fast", tmp_path / "fast-back", "oscar-1.1")
    dirty = changed(tmp_path / "fast", random.Random(seed))
    dirty_back = converted(dirty, tmp_path / "dirty-back", "oscar-1.1")

    monkeypatch.setattr(read, "rows_of_pairs", None)
    monkeypatch.setattr(write, "_native", None)
    assert converted(source, tmp_path / "slow", "dolma") == fast
    assert converted(tmp_path / "slow", tmp_path / "slow-back", "oscar-1.1") == back
    assert converted(dirty, tmp_path / "slow-dirty-back", "oscar-1.1") == dirty_back


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("size", [None, 5_000])
def test_batches_that_are_sorted_change_no_byte(
    seed: int, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = mixed(tmp_path / "source", seed)
    parts = {} if size is None else {"part_bytes": size}
    fast = converted(source, tmp_path / "fast", "oscar-1.1", **parts)

    # Small pieces of rows, of which most are usual, and sections in which a part may end.
    monkeypatch.setattr(dolma, "_PIECE", 2_000)
    monkeypatch.setattr(stored, "_SECTION_BYTES", 3_000)
    assert converted(source, tmp_path / "small", "oscar-1.1", **parts) == fast

    monkeypatch.setattr(write, "_native", None)
    assert converted(source, tmp_path / "slow", "oscar-1.1", **parts) == fast


def test_rows_that_are_sorted_are_converted_at_once(tmp_path: Path) -> None:
    rows = [document(number, language) for number, language in enumerate(["de", "hi", "de"])]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    languages, items = zip(*write.OSCAR_1_1.of_rows(data, "language") or (), strict=True)
    assert languages == ("de", "hi", "de")
    assert [item.text.decode() for item in items] == [row["text"] for row in rows]
    assert items[0].record == (
        b'{"headers":{"corpusfmt-document":"{\\"id\\":\\"d0\\",\\"source\\":\\"test\\",'
        b'\\"metadata\\":{\\"language\\":\\"de\\"}}"},"offset":\0,"nb_sentences":2}\n'
    )
    assert write.OSCAR_1_1.of_rows(data.replace(b'"hi"', b'"hi-IN"'), "language") is None


def test_only_the_last_document_of_a_usual_part_is_in_no_batch(oscar_corpus: Path, tmp_path: Path) -> None:
    fmt, version = format_at(entry_of(str(oscar_corpus)), "auto")
    assert fmt.reader is not None
    options = CheckOptions(version=version)
    for shard in fmt.plan(entry_of(str(oscar_corpus)), options).shards:
        found = list(fmt.reader.batches[EncodedRows](shard, options))
        assert sum(not isinstance(each, EncodedRows) for each in found) == 1


def test_a_document_that_is_too_long_is_in_no_batch(tmp_path: Path) -> None:
    lines = ["a" * 150] * 3
    headers = {"warc-date": _DATE, "warc-target-uri": "https://example.org/"}
    text, rows = "", ""
    for number in range(8):
        identity = {"warc-record-id": f"<urn:uuid:00000000-0000-0000-0000-{number:012}>"}
        content = lines if number == 4 else lines[:1]
        row = {"headers": headers | identity, "offset": text.count("\n"), "nb_sentences": len(content)}
        rows += json.dumps(row, separators=(",", ":")) + "\n"
        text += "\n".join(content) + "\n\n"
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "de.txt.gz").write_bytes(gzipped(text.encode()))
    (tmp_path / "de" / "de_meta.jsonl.gz").write_bytes(gzipped(rows.encode()))
    fmt, version = format_at(entry_of(str(tmp_path)), "auto")
    assert fmt.reader is not None
    options = CheckOptions(version=version, max_line_bytes=400)
    (shard,) = fmt.plan(entry_of(str(tmp_path)), options).shards
    found = list(fmt.reader.batches[EncodedRows](shard, options))
    assert sum(len(each.names) if isinstance(each, EncodedRows) else 1 for each in found) == 8
    assert [each for each in found if isinstance(each, Rejected)] == [
        each for each in fmt.reader.read(shard, options) if isinstance(each, Rejected)
    ]


def test_pieces_reach_the_compressor_as_if_each_was_written() -> None:
    rng = random.Random(7)
    one, many = BytesIO(), BytesIO()
    single, several = GzipWriter(one), GzipWriter(many)
    for _ in range(40):
        pieces = [bytes(rng.choices(b"abc ", k=rng.randrange(1, 60_000))) + b"\n" for _ in range(rng.randrange(1, 20))]
        for piece in pieces:
            single.write(piece)
        several.write_pieces(b"".join(pieces))
    assert single.finish() == several.finish()
    assert one.getvalue() == many.getvalue()


def test_columns_of_batches_have_the_blocks_of_rows() -> None:
    """A date that is a text in one block only does not make texts of the dates of others."""
    sizes = array("q", [BLOCK_BYTES // 7] * 40)
    one, alike, each = Columns(), Columns(), Columns()
    for start in range(0, len(sizes), 10):
        row = {"id": "a", "created": "2021-02-03T04:05:06Z" if start else "long ago"}
        for size in sizes[start : start + 10]:
            one.note(row, size)
        lines = b"".join(b"x" * (size - 1) + b"\n" for size in sizes[start : start + 10])
        alike.note_encoded([row], lines)
        each.note_encoded([row] * 10, lines)
    assert one.finish() == alike.finish() == each.finish()
    assert one.blocks == alike.blocks == each.blocks


def test_a_batch_that_is_not_taken_makes_no_part(tmp_path: Path) -> None:
    """A file whose rows are all rejected has no documents, and becomes no file."""
    row = {"id": "a", "text": 7, "source": "web", "metadata": {"language": "en"}}
    path = tmp_path / "in" / "documents" / "en" / "en.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzipped(json.dumps(row).encode() + b"\n"))
    found = converted(tmp_path / "in", tmp_path / "out", "oscar-1.1")
    assert not [name for name in found if name.endswith(".txt.gz")]
