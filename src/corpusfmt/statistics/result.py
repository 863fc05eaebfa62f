"""Internal: The statistics of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from corpusfmt._version import VERSION
from corpusfmt.model import Finding, Json, html_table
from corpusfmt.statistics.domains import Domains
from corpusfmt.statistics.sizes import LENGTHS, Attribute, Built, Counted, Repeats, Size, Sketch, TokenizerFile

# Languages that are displayed in a notebook.
_MOST_DISPLAYED = 10


class Statistics(Struct):
    """What a corpus contains, and how much of it was counted.

    `groups` has sizes by language, source and variant. Scripts and words were not counted if `scripts` is None; `attributes`, `domains` and
    both of repeats likewise. `broken` has one finding for each file that could not be read to its end: what is in the rest of it
    is unknown. `build` has sizes before and after deduplication, if a build counted.
    """

    path: str
    format: str
    version: str
    shards: int
    whole_shards: int
    total: Size
    groups: Mapping[str, Mapping[str, Size]]
    language_scores: Sketch
    scripts: Mapping[str, int] | None
    created: Mapping[str, int]
    added: Mapping[str, int]
    snapshots: Mapping[str, int]
    attributes: Mapping[str, Attribute] | None = None
    domains: Domains | None = None
    tokenizer: TokenizerFile | None = None
    repeated_documents: Repeats | None = None
    repeated_lines: Repeats | None = None
    rejected: int = 0
    findings: list[Finding] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)
    left_out: Mapping[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    build: Built | None = None

    @classmethod
    def of(
        cls,
        counted: Counted,
        path: str,
        kind: tuple[str, str],
        shards: int,
        *,
        attributes: bool,
    ) -> Statistics:
        """Return the statistics of what was counted in a corpus: its path, format and version, and the number of its shards."""
        return cls(
            path,
            *kind,
            shards,
            counted.shards,
            counted.total,
            {name: _largest_first(groups) for name, groups in counted.groups.items()},
            counted.scores,
            _by_number(counted.scripts) if "words" in counted.total.lengths else None,
            _by_name(counted.created),
            _by_name(counted.added),
            _by_name(counted.snapshots),
            _by_name(counted.attributes) if attributes else None,
            rejected=counted.rejected,
            findings=counted.findings,
            broken=counted.broken,
            left_out=_by_number(counted.left_out),
        )

    @property
    def by_language(self) -> Mapping[str, Size]:
        return self.groups["language"]

    @property
    def by_source(self) -> Mapping[str, Size]:
        return self.groups["source"]

    @property
    def by_variant(self) -> Mapping[str, Size]:
        return self.groups["variant"]

    @property
    def lengths(self) -> dict[str, Sketch]:
        """Lengths of documents, by what they were counted in."""
        return self.total.lengths

    @property
    def units(self) -> list[str]:
        """What documents were counted in."""
        return [name for name in LENGTHS if name in self.lengths]

    @property
    def is_complete(self) -> bool:
        """Whether every file was read to its end."""
        return not self.broken

    def __repr__(self) -> str:
        return (
            f"<Statistics {self.format} {self.version}: {self.total.documents:,} documents, {self.total.bytes:,} bytes>"
        )

    def _repr_html_(self) -> str:
        """Return the sizes of the whole and of the largest languages for a notebook."""
        groups = [("all", self.total), *islice(self.by_language.items(), _MOST_DISPLAYED)]
        rows = [
            (name or "none", *(getattr(size, unit) for unit in ("documents", *self.units))) for name, size in groups
        ]
        further = len(self.by_language) - _MOST_DISPLAYED
        more = f"<p>and {further:,} more languages</p>" if further > 0 else ""
        return html_table(["", "documents", *self.units], rows) + more

    def to_dict(self) -> Json:
        """Return the statistics in the form of `schemas/stats/stats.schema.json`."""
        found: Json = {
            "schema": "corpusfmt-stats/1",
            "tool": {"name": "corpusfmt", "version": VERSION},
            "path": self.path,
            "format": self.format,
            "version": self.version,
            "coverage": {
                "shards": self.shards,
                "whole_shards": self.whole_shards,
                "rejected": self.rejected,
                "findings": [_finding(each) for each in self.findings],
                "broken": [_finding(each) for each in self.broken],
                "left_out": dict(self.left_out),
                "unread": self.unread,
            },
            **self._size(self.total),
            **{
                f"{name}s": {key: self._size(size) | {"lengths": _lengths(size)} for key, size in each.items()}
                for name, each in self.groups.items()
            },
            "lengths": _lengths(self.total),
            "language_scores": self.language_scores.as_json(),
            "created": dict(self.created),
            "added": dict(self.added),
            "snapshots": dict(self.snapshots),
        }
        return found | self._asked_for()

    def _asked_for(self) -> Json:
        found: Json = {}
        if self.build is not None:
            found["build"] = self.build.as_json()
        if self.tokenizer is not None:
            found["tokenizer"] = asdict(self.tokenizer)
        if self.scripts is not None:
            found["scripts"] = dict(self.scripts)
        if self.domains is not None:
            most = [{"domain": name, "documents": number, "bytes": size} for name, number, size in self.domains.most]
            found["domains"] = asdict(self.domains) | {"most": most}
        if self.attributes is not None:
            found["attributes"] = {
                name: {"documents": each.documents, "spans": each.spans, "values": each.values.as_json()}
                for name, each in self.attributes.items()
            }
        if self.repeated_documents is not None and self.repeated_lines is not None:
            lines, documents = self.repeated_lines, self.repeated_documents
            most = [{"line": line, "count": count} for line, count in lines.most]
            found["repeats"] = {"documents": _repeats(documents), "lines": _repeats(lines) | {"most": most}}
        return found

    def _size(self, size: Size) -> Json:
        return {name: getattr(size, name) for name in ("documents", *self.units)}


def _lengths(size: Size) -> Json:
    return {name: size.lengths[name].as_json() for name in LENGTHS if name in size.lengths}


def _repeats(found: Repeats) -> Json:
    return {"compared": found.compared, "repeated": found.repeated, "share": found.share}


def _finding(found: Finding) -> Json:
    return {"rule": found.code, "message": found.message, "path": found.location.path, "line": found.location.line}


def _largest_first(groups: Mapping[str, Size]) -> dict[str, Size]:
    """Return groups, those with the most bytes first."""
    return dict(sorted(groups.items(), key=lambda each: (-each[1].bytes, each[0])))


def _by_name(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(values.items()))


def _by_number(counts: Counter[str]) -> dict[str, int]:
    """Return counts by name, the largest first."""
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))
