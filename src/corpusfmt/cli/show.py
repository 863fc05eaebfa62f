"""Internal: `corpusfmt show`."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from corpusfmt.cli.console import colours_are_shown, read_or_not, warn, write
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Bounds, FormatName, Profiled
from corpusfmt.cli.outcome import FINDINGS, guarded
from corpusfmt.engine.sharing import FollowLinks
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, UsageError
from corpusfmt.wording import MOST_OF_A_MESSAGE, clipped, plain, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from corpusfmt.reading import Documents, Excerpt


Output = Literal["text", "jsonl"]
Corpus = Annotated[str, typer.Argument(metavar="CORPUS", help="A corpus in any format that has documents.")]
What = Annotated[
    str | None,
    typer.Argument(metavar="[ID|PATH:LINE]", help="The id of a document, or a location as a finding states it."),
]
Languages = Annotated[list[str], typer.Option("--language", metavar="CODE", help="Only this language; repeatable.")]
Sources = Annotated[list[str], typer.Option("--source", metavar="NAME", help="Only this source; repeatable.")]
Number = Annotated[int, typer.Option("-n", "--number", min=1, metavar="N", help="Most documents to show.")]
AtRandom = Annotated[bool, typer.Option("--random", help="Choose documents at random, from all of the corpus.")]
Seed = Annotated[int, typer.Option(min=0, help="Choose other documents with --random.")]
Grep = Annotated[
    str | None, typer.Option(metavar="REGEX", help="Only documents whose text this regular expression matches.")
]
OutputFormat = Annotated[Output | None, typer.Option(help="text or jsonl (default: text on a terminal, else jsonl).")]


@guarded
def command(
    corpus: Corpus,
    what: What = None,
    format_name: FormatName = "auto",
    language: Languages = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    source: Sources = [],  # noqa: B006
    number: Number = 5,
    at_random: AtRandom = False,
    seed: Seed = 0,
    grep: Grep = None,
    output_format: OutputFormat = None,
    fields: Profiled = UNSET,
    bounds: Bounds = UNSET,
    follow_links: FollowLinks = False,
) -> None:
    """Show documents of a corpus: the first ones, a random choice, or the one with an id or at a location."""
    from corpusfmt.reading import chosen, read

    if what is not None and (at_random or grep is not None):
        raise UsageError("ID and PATH:LINE name one document: remove them, or --random and --grep")
    pattern = _pattern(grep)
    codes: set[str] = set()
    documents = read(
        corpus,
        format=format_name,
        languages=language,
        sources=source,
        on_error=lambda finding: codes.add(finding.code),
        follow_links=follow_links,
        limits=limits_of(bounds),
        **fields,
    )
    found: Sequence[Document | Excerpt]
    if what is None:
        matching = (each for each in documents if pattern is None or pattern.search(each.text))
        found = chosen(matching, number, seed if at_random else None)
    else:
        found = _named(documents, corpus, what)
    _print(found, output_format or ("text" if sys.stdout.isatty() else "jsonl"))
    if documents.skipped:
        skipped = plural(documents.skipped, "record")
        warn(f"{skipped} skipped because of {', '.join(sorted(codes))}: run `corpusfmt validate`")
    if not found:
        warn("no document found")
        raise SystemExit(FINDINGS)


def _pattern(grep: str | None) -> re.Pattern[str] | None:
    try:
        return None if grep is None else re.compile(grep)
    except re.error as error:
        raise UsageError(f"--grep is {clipped(grep or '')!r}, not a regular expression: {error}") from None


_LINE = re.compile(r":([1-9]\d{0,17})(?=[:\s]|$)")


def _named(documents: Documents, corpus: str, what: str) -> list[Document | Excerpt]:
    """Return what is at a location, which may be a whole line that a report prints, or the first document with an id."""
    for match in _LINE.finditer(what):
        if (named := documents.file_named(what[: match.start()], corpus)) is not None:
            found = documents.at(*named, int(match[1]))
            return [] if found is None else [found]
    return [each for each in [next((each for each in documents if each.id == what), None)] if each is not None]


def _print(found: Sequence[Document | Excerpt], output: Output) -> None:
    if output == "jsonl":
        write((json_line(_row(each))[:-1].decode() for each in found), utf8=True)
        return
    from rich.console import Console

    # A pager on a terminal only; PAGER is respected.
    os.environ.setdefault("LESS", "FRX")
    coloured = colours_are_shown()
    console = Console(
        highlight=False, markup=False, emoji=False, no_color=not coloured, force_terminal=coloured or None
    )
    with read_or_not(), console.pager(styles=True) if sys.stdout.isatty() else nullcontext():
        for each in found:
            console.print(_shown(each), soft_wrap=True, end="")


def _row(found: Document | Excerpt) -> dict[str, Any]:
    """Return a document as one row, its attribute sets by name in `attribute_rows`."""
    from corpusfmt.formats.rows.writing import fields_of

    if not isinstance(found, Document):
        return {"path": found.path, "line": found.line, "text": found.text}
    row = fields_of(found)
    if found.lang is not None:
        row["lang"] = found.lang
    if found.attribute_rows:
        row["attribute_rows"] = {name: json.loads(text) for name, text in found.attribute_rows.items()}
    return row


_COLOURS = ("yellow", "cyan", "magenta", "green", "blue", "red")
_MOST_SPANS = 1_000


def _shown(found: Document | Excerpt) -> Text:
    """Return a document for a terminal: its fields, its attributes in colours, and its text with their spans."""
    from rich.text import Text

    text = Text()
    if not isinstance(found, Document):
        text.append(f"{plain(found.path)}, from line {found.line:,}\n", "bold")
        return text.append(_printable(found.text) + "\n")
    text.append(f"{plain(found.id)}\n", "bold")
    for name, value in found.items():
        if name not in ("id", "text", "attributes"):
            text.append(f"{name}: ", "dim").append(f"{_one_line(value)}\n")
    spans: list[tuple[int, int, str]] = []
    for number, (name, values) in enumerate(_attributes(found).items()):
        colour = _COLOURS[number % len(_COLOURS)]
        text.append(f"{plain(name)}: ", colour).append(f"{_one_line(values)}\n")
        spans += [(*each, f"black on {colour}") for each in _parts(values, len(found.text))]
    text.append("\n")
    for piece, style in _styled(found.text, spans[:_MOST_SPANS]):
        text.append(_printable(piece), style)
    return text.append("\n\n")


def _attributes(document: Document) -> dict[str, Any]:
    """Return the attributes of a document, of its sets and embedded."""
    found: dict[str, Any] = dict(document.attributes or {})
    for row in document.attribute_rows.values():
        found |= json.loads(row).get("attributes") or {}
    return found


def _parts(spans: Any, length: int) -> Iterator[tuple[int, int]]:
    """Yield the [start, end] of spans that cover a part of a text of some length."""
    for each in spans if isinstance(spans, list) else ():
        match each:
            case [int(start), int(end), *_] if 0 <= start < end <= length and end - start < length:
                yield start, end


def _styled(text: str, spans: Sequence[tuple[int, int, str]]) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text between the ends of spans, each with the style of the last span over it."""
    ends = sorted({0, len(text), *(place for start, end, _ in spans for place in (start, end))})
    for start, end in pairwise(ends):
        yield text[start:end], next((style for first, last, style in reversed(spans) if first <= start < last), "")


def _printable(text: str) -> str:
    return "\n".join(map(plain, text.split("\n")))


def _one_line(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return plain(clipped(text, MOST_OF_A_MESSAGE))
