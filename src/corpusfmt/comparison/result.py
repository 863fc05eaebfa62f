"""Internal: The outcome of a comparison, and which differences give exit status 1."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import asdict

from corpusfmt.model import Finding, Json, UsageError, html_table
from corpusfmt.wording import clipped

#: Replaces further languages and sources if there are too many to list.
FURTHER = "…"


class Counts(Struct):
    """Numbers of documents by outcome.

    `old` and `new` are all documents of each release: `old` = `removed` + the old places of what is in both, `new` = `added` +
    `changed_text` + `changed_metadata` + `changed_attributes` + `moved` + `same`. Removed documents count at their old place,
    all else where it is now. `reassigned` are those of `changed_text` whose text another document had, `renamed` those of
    `moved` that have another id, source or language in their name.
    """

    old: int = 0
    new: int = 0
    added: int = 0
    removed: int = 0
    changed_text: int = 0
    changed_metadata: int = 0
    changed_attributes: int = 0
    moved: int = 0
    same: int = 0
    reassigned: int = 0
    renamed: int = 0

    @property
    def found(self) -> dict[str, int]:
        """The kinds of differences that occur, by the names of their fields."""
        counted = asdict(self)
        return {name: counted[name] for name in KINDS.values() if counted[name]}

    @property
    def differ(self) -> bool:
        """Whether anything differs."""
        return self.same != self.new or self.removed > 0


#: The kinds of `Counts` in which documents differ, as named in text and in `--fail-on`.
KINDS = {
    "added": "added",
    "removed": "removed",
    "changed-text": "changed_text",
    "reassigned": "reassigned",
    "changed-metadata": "changed_metadata",
    "changed-attributes": "changed_attributes",
    "moved": "moved",
    "renamed": "renamed",
}
#: All values of `--fail-on-change`.
FAILURES = (*KINDS, "removed-language", "removed-source", "schema")


class ComparedRelease(Struct):
    """One of the two releases: its path and format, and which parts were compared and which could not be."""

    path: str
    format: str
    version: str = ""
    documents: int = 0
    shards: int = 0
    rejected: int = 0
    #: Truncated files: the size of the missing rest is unknown.
    cut: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    #: Files next to the data that are not part of the format.
    unread: int = 0
    findings: list[Finding] = field(default_factory=list)


class Difference(Struct, frozen=True):
    """A document that differs: its id in the new release (in the old one if it was removed), and its place in each."""

    kind: str
    id: str
    old: str | None
    new: str | None


class FieldChange(Struct, frozen=True):
    """A field whose JSON types differ between releases; None if a release lacks it."""

    name: str
    old: str | None
    new: str | None


class Comparison(Struct):
    """The comparison of two releases: exact counts, some documents that differ, and the fields that differ.

    `same_shards` says that both have the same shards, so that a document in another shard has moved.
    """

    old: ComparedRelease
    new: ComparedRelease
    documents: Counts
    by_language: dict[str, Counts]
    by_source: dict[str, Counts]
    by_shard: dict[str, Counts]
    same_shards: bool
    differences: list[Difference] = field(default_factory=list)
    fields: list[FieldChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def removed_languages(self) -> list[str]:
        """The languages without any remaining documents."""
        return gone(self.by_language)

    @property
    def removed_sources(self) -> list[str]:
        """The sources without any remaining documents."""
        return gone(self.by_source)

    @property
    def is_complete(self) -> bool:
        """Whether all files were read to their ends."""
        return not self.old.cut and not self.new.cut

    def failures(self, fail_on: Sequence[str]) -> list[str]:
        """Return which of the given kinds of differences occur. Raises `UsageError` for an unknown kind."""
        groups = {
            "removed-language": self.removed_languages,
            "removed-source": self.removed_sources,
            "schema": self.fields,
        }
        occur = {kind for kind, name in KINDS.items() if name in self.documents.found}
        return [kind for kind in refused_unknown(fail_on) if kind in occur or groups.get(kind)]

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{count:,} {kind}" for kind, name in KINDS.items() if (count := self.documents.found.get(name))
        )
        return f"<Comparison {self.old.path} → {self.new.path}: {counts or 'no differences'}>"

    def _repr_html_(self) -> str:
        """Return the numbers of differences, and places of some documents that differ, for a notebook."""
        kinds = html_table(["documents", "old", "new", *KINDS, "same"], [self._counts])
        rows = [(each.id, each.kind, each.old or "", each.new or "") for each in self.differences]
        return kinds + (html_table(["document", "difference", "old", "new"], rows) if rows else "")

    @property
    def _counts(self) -> list[object]:
        counted = asdict(self.documents)
        return ["", *(counted[name] for name in ("old", "new", *KINDS.values(), "same"))]

    def as_json(self) -> Json:
        """Return the comparison in the form of `schemas/compare/compare.schema.json`."""
        return {
            "schema": "corpusfmt-comparison/1",
            "old": _release(self.old),
            "new": _release(self.new),
            "documents": asdict(self.documents),
            "by_language": {name: asdict(each) for name, each in self.by_language.items()},
            "by_source": {name: asdict(each) for name, each in self.by_source.items()},
            "by_shard": {name: asdict(each) for name, each in self.by_shard.items()},
            "same_shards": self.same_shards,
            "removed_languages": self.removed_languages,
            "added_languages": come(self.by_language),
            "removed_sources": self.removed_sources,
            "added_sources": come(self.by_source),
            "differences": [asdict(each) for each in self.differences],
            "fields": [asdict(each) for each in self.fields],
            "notes": self.notes,
        }


def _release(release: ComparedRelease) -> Json:
    findings = [
        {"rule": each.code, "message": each.message, "path": each.location.path, "line": each.location.line}
        for each in release.findings
    ]
    return {**asdict(release), "findings": findings}


def gone(groups: dict[str, Counts]) -> list[str]:
    """Return the names of groups without any remaining documents. Those that remain may be counted as `FURTHER`."""
    rest = groups.get(FURTHER, Counts()).new
    return [
        name for name, each in groups.items() if each.new == 0 < each.old and (not rest or each.removed == each.old)
    ]


def come(groups: dict[str, Counts]) -> list[str]:
    """Return the names of groups without any old documents. Old ones may be counted as `FURTHER`."""
    rest = groups.get(FURTHER, Counts()).old
    return [name for name, each in groups.items() if each.old == 0 < each.new and (not rest or each.added == each.new)]


def refused_unknown(fail_on: Sequence[str]) -> Sequence[str]:
    """Return kinds of differences. Raises `UsageError` for an unknown one."""
    for each in fail_on:
        if each not in FAILURES:
            raise UsageError(f"--fail-on-change {clipped(each)!r} is unknown; known: {', '.join(FAILURES)}")
    return fail_on
