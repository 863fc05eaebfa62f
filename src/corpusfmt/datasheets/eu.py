"""Internal: What is known of a corpus for sections 2.1 and 2.3 of the public summary of training content.

The template is that of the European Commission for Article 53(1)(d) of Regulation (EU) 2024/1689, C(2025) 5235 of 24 July 2025.
Section 2.1 is about publicly available datasets, among them those that others have compiled from Common Crawl, 2.3 about data that the
provider of a model has crawled. Names of fields are those of the template; names of facts about the corpus, which follow the field
that they belong to, begin with a small letter. Fields that only the provider of a model knows are marked.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain, groupby, islice
from pathlib import Path

from msgspec import Struct

from corpusfmt.datasheets.content import Datasheet
from corpusfmt.datasheets.web import not_counted
from corpusfmt.model import Json
from corpusfmt.wording import markdown as code
from corpusfmt.wording import plain, plural

#: The value of a field that does not follow from the corpus.
UNFILLED = "[to be filled in]"
_HEADS = ("section", "field", "value", "documents", "bytes")
#: The template asks for the largest tenth of the domains by the size of the content scraped.
_SHARE_OF_DOMAINS = 10


class Field(Struct, frozen=True):
    """A field of the summary, with the documents and bytes of text that it is about, if that is counted."""

    section: str
    name: str
    value: str = UNFILLED
    documents: int | None = None
    bytes: int | None = None

    @property
    def cells(self) -> list[str]:
        numbers = ["" if number is None else str(number) for number in (self.documents, self.bytes)]
        return [self.section, self.name, plain(self.value), *numbers]


def fields(sheet: Datasheet, listed: Path | None) -> Iterator[Field]:
    """Yield the fields in the order of the template; `listed` is a CSV file with all domains, the largest first, if there is one."""
    found, known = sheet.statistics, sheet.properties
    if partly := not_counted(found):
        yield Field("2", "not counted", partly)
    months = [month for month in found["created"] if month != "…"]
    period = f"{min(months)} to {max(months)}, by the dates of documents" if months else UNFILLED
    dated = sum(found["created"][month] for month in months) or None

    yield Field("2.1", "Have you used publicly available datasets to train the model?")
    yield Field("2.1", "Modality(ies) of the content covered by the datasets concerned", "text")
    yield Field("2.1", "List of large publicly available datasets", sheet.title, found["documents"], found["bytes"])
    for title in ("link", "description", "version", "licence"):
        yield Field("2.1", title, known.get({"link": "address"}.get(title, title), UNFILLED))
    yield Field("2.1", "period of data collection", period, dated)
    for name, count in found["snapshots"].items():
        yield Field("2.1", "snapshot of Common Crawl", name, count)
    for unit in ("words", "tokens"):
        if unit in found:
            yield Field("2.1", f"size in {unit}", str(found[unit]))
    for title in ("source", "language"):
        for name, size in found[f"{title}s"].items():
            yield Field("2.1", title, name or "none stated", size["documents"], size["bytes"])
    yield Field("2.1", "General description of other publicly available datasets not listed above")
    yield Field("2.1", "Additional comments (optional)")

    yield Field("2.3", "Were crawlers used by the provider or on behalf of?")
    yield Field("2.3", "Crawler name(s)/identifier(s)")
    yield Field("2.3", "Purposes of the crawler(s)")
    yield Field("2.3", "General description of crawler behaviour")
    yield Field("2.3", "Period of data collection", period, dated)
    yield Field("2.3", "Comprehensive description of the type of content and online sources crawled")
    yield Field("2.3", "Type of modality covered", "text")
    yield from _domains(found, listed)
    yield Field("2.3", "Additional comments (optional)")


def _domains(found: Json, listed: Path | None) -> Iterator[Field]:
    name = "Summary of the most relevant domain names crawled"
    domains = found.get("domains")
    wanted = math.ceil(domains["distinct"] / _SHARE_OF_DOMAINS) if domains else 0
    if domains is None or not wanted:
        yield Field("2.3", name)
        return
    there = wanted if listed else min(wanted, len(domains["most"]))
    said = f"the largest {there:,} of {plural(domains['distinct'], 'registered domain')} by bytes of text"
    if there < wanted:
        said += f"; the largest tenth is {wanted:,}, and the statistics list no more"
    yield Field("2.3", name, said, domains["documents"])
    with listed.open(encoding="utf-8", newline="") if listed else nullcontext() as file:
        for each in islice(csv.DictReader(file) if file else domains["most"], there):
            yield Field("2.3", "domain", each["domain"], int(each["documents"]), int(each["bytes"]))


_TITLES = {
    "2": "Coverage",
    "2.1": "2.1 Publicly available datasets",
    "2.3": "2.3 Data crawled and scraped from online sources",
}


def markdown(sheet: Datasheet, listed: Path | None) -> Iterator[str]:
    """Yield lines with a table for each section; what is to be filled in is in bold."""
    yield f"# {code(sheet.title)}"
    for section, rows in groupby(fields(sheet, listed), key=lambda each: each.section):
        yield from ("", f"## {_TITLES[section]}", "", "| field | value | documents | bytes |", "|---|---|--:|--:|")
        for each in rows:
            shown = f"**{UNFILLED}**" if each.value == UNFILLED else code(each.value)
            numbers = ("" if number is None else f"{number:,}" for number in (each.documents, each.bytes))
            yield f"| {each.name} | {shown} | {' | '.join(numbers)} |"


def table(sheet: Datasheet, listed: Path | None) -> Iterator[str]:
    """Yield lines of CSV (RFC 4180, with line feeds)."""
    for cells in chain([_HEADS], (field.cells for field in fields(sheet, listed))):
        # A spreadsheet takes a cell that begins like this for a formula.
        safe = [f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in cells]
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(safe)
        yield line.getvalue()
