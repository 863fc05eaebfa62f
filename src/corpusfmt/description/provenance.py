"""Internal: What the manifest of a corpus says: what it was made of, and by what, in the terms of PROV-O; and how many documents
and how much text it has.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from corpusfmt._resources import resource
from corpusfmt.formats.describing import Describer, Statistic, count_of
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry, is_uri, read_named
from corpusfmt.io.revisions import revision_of
from corpusfmt.io.streams import facts_of
from corpusfmt.io.toml import decoded_toml
from corpusfmt.manifest.model import NAME, ListedFile
from corpusfmt.manifest.read import Refused, content_of, object_in, read_manifest
from corpusfmt.manifest.rules import RULES
from corpusfmt.model import Json, UsageError
from corpusfmt.rules import Grading, Judge
from corpusfmt.wording import clipped

if TYPE_CHECKING:
    from jsonschema import ValidationError


_MOST_BYTES = 1024 * 1024


def load_owner(path: str | Path) -> Json:
    """Return the properties of a description that a TOML file gives. Raises `UsageError` that names each wrong key."""
    try:
        text = read_named(path, _MOST_BYTES, "file for --rai").decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path} (--rai): {error}") from error
    found = _plain(decoded_toml(text, f"{path} (--rai)"))
    if complaints := sorted({complaint for error in _errors(found) for complaint in _complaints(error)}):
        raise UsageError(f"{path} (--rai): {'; '.join(complaints)}")
    return _properties(found)


def _plain(value: Any) -> Any:
    """Return what JSON has for a value of TOML: dates as text."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


def _errors(found: Json) -> Iterator[ValidationError]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only this option needs it

    schema = json.loads(resource("schemas", "description/owner.schema.json").read_bytes())
    yield from Draft202012Validator(schema).iter_errors(found)


def _complaints(error: ValidationError) -> Iterator[str]:
    path = ".".join(str(step) for step in error.absolute_path)
    schema: Any = error.schema
    found: Any = error.instance
    if error.validator == "required":
        missing = next(name for name in schema["required"] if name not in found)
        yield f"`{path}` has no `{missing}`"
    elif error.validator == "additionalProperties":
        known = schema["properties"]
        yield from (_unknown(f"{path}.{key}" if path else key, key, known) for key in found.keys() - known.keys())
    else:
        shown = clipped(json.dumps(found, ensure_ascii=False))
        yield f"`{path}` is {shown}, expected {schema['description']}"


def _unknown(path: str, key: str, known: Mapping[str, Any]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - for hints alone

    near = get_close_matches(key.removeprefix("rai:"), known, n=1, cutoff=0.6)
    return f"`{clipped(path)}` is unknown; " + (
        f"did you mean `{near[0]}`?" if near else f"known: {', '.join(sorted(known))}"
    )


def _properties(found: Json) -> Json:
    provenance = found.get("provenance", {})
    made: Json = {name: list(map(_agent, found[name])) for name in ("creator", "publisher") if name in found}
    made |= {name: found[name] for name in ("usageInfo", "sdVersion", "isLiveDataset") if name in found}
    if "wasDerivedFrom" in provenance:
        sources = provenance["wasDerivedFrom"]
        made["prov:wasDerivedFrom"] = [{"@id": each} for each in ([sources] if isinstance(sources, str) else sources)]
    if "wasGeneratedBy" in provenance:
        made["prov:wasGeneratedBy"] = [activity(each) for each in provenance["wasGeneratedBy"]]
    return made | {f"rai:{name}": value for name, value in found.get("rai", {}).items()}


def _agent(table: Mapping[str, str]) -> Json:
    affiliation = table.get("affiliation")
    known = {name: table[name] for name in ("name", "url", "email", "identifier") if name in table}
    inside = {"affiliation": {"@type": "sc:Organization", "name": affiliation}} if affiliation else {}
    return {"@type": f"sc:{table.get('type', 'Organization')}", **known, **inside}


def activity(table: Mapping[str, Any]) -> Json:
    """Return an activity of PROV-O: what was done, when, and by whom."""
    agents = table.get("wasAttributedTo", [])
    named = [{"@type": "prov:Agent", "rdfs:label": each} for each in ([agents] if isinstance(agents, str) else agents)]
    times = {f"prov:{name}": table[name] for name in ("startedAtTime", "endedAtTime") if name in table}
    by = {"prov:wasAssociatedWith": named} if named else {}
    return {"@type": "prov:Activity", "rdfs:label": table["label"], **times, **by}


# With more inputs only their folders are named.
_MOST_INPUTS = 1000
_STATISTICS = "stats.json"
_OF_TEXT = ("lines", "words", "characters", "bytes", "tokens")
_MEDIAN = "0.5"
# Documents without a language, and of those that are too many to list.
_NO_LANGUAGES = frozenset({"", "…"})


class Release(Struct, frozen=True):
    """What a manifest says of a corpus: its files, and how it was `made`; and its statistics."""

    files: Mapping[str, ListedFile]
    made: Json
    statistics: Json

    def difference(self, files: Mapping[str, FileFacts], prefix: str) -> str:
        """Return the first data file that is not as the manifest lists it, if any; `files` are those of the corpus."""
        for path, facts in sorted(files.items()):
            known = self.files.get(path.removeprefix(prefix))
            if known is None or known.sha256 != facts.sha256:
                return path
        gone = (path for path, each in self.files.items() if each.documents is not None and prefix + path not in files)
        return min(gone, default="")

    @property
    def provenance(self) -> Json:
        """`wasDerivedFrom` and `wasGeneratedBy`, as far as they are known."""
        tool, inputs, recipe, model = (self.made.get(name) for name in ("tool", "inputs", "recipe", "model"))
        if not isinstance(tool, dict) or not isinstance(inputs, list | Iterator):
            return {}
        made: Json = {}
        names = _few(_names(inputs))
        names = [*_repositories(self.made.get("conversion")), *names]
        if names:
            made["prov:wasDerivedFrom"] = [_source(name) for name in names]
        label = f"{tool.get('name', 'corpusfmt')} {tool.get('version', '')}".strip()
        agents = [label]
        if isinstance(model, dict) and isinstance(model.get("sha256"), str):
            agents.append(f"language identification model, SHA-256 {model['sha256']}")
        done = activity({"label": f"{label}{_how(recipe, self.made.get('conversion'))}"})
        done["prov:wasAssociatedWith"] = [{"@type": "prov:SoftwareAgent", "rdfs:label": each} for each in agents]
        return made | {"prov:wasGeneratedBy": [done]}

    @property
    def documents_by_language(self) -> Mapping[str, int]:
        """The documents of each language, as far as the statistics have them."""
        languages = self.statistics.get("languages")
        sizes = languages.items() if isinstance(languages, dict) else ()
        found = {
            name: each.get("documents") for name, each in sizes if isinstance(each, dict) and name not in _NO_LANGUAGES
        }
        return {name: count for name, count in found.items() if type(count) is int}

    @property
    def documents(self) -> int:
        """The number of documents in all files."""
        return sum(each.documents or 0 for each in self.files.values())

    def of_records(self, describer: Describer, *, counted: bool) -> list[Statistic]:
        """Return the numbers of documents, in all and by language; the former not if records are documents."""
        found: Counter[str] = Counter()
        for path, each in self.files.items():
            if each.documents is not None:
                found[describer.language(path) if describer.language else ""] += each.documents
        sizes = found if describer.language else self.documents_by_language
        parts = [count_of(describer.tags.get(name, name), count) for name, count in sorted(sizes.items())]
        made = [] if counted else [count_of("documents", found.total())]
        made += [count_of("languages", len(parts))] if parts else []
        return made + ([Statistic("documents_by_language", (), 0, parts=parts)] if parts else [])

    def of_text(self) -> list[Statistic]:
        """Return the amount of text, and the lengths of documents, if the statistics have them for all files together."""
        if len({each.corpus for each in self.files.values() if each.documents is not None}) != 1:
            return []
        lengths: Any = self.statistics.get("lengths")
        made = [count_of(name, self.statistics[name]) for name in _OF_TEXT if type(self.statistics.get(name)) is int]
        for name in _OF_TEXT if isinstance(lengths, dict) else ():
            parts = list(_of_lengths(lengths.get(name)))
            made += [Statistic(f"{name}_of_a_document", (), 0, parts=parts)] if parts else []
        return made


def revision_as_source(corpus: Entry) -> Json:
    """Return `wasDerivedFrom` with the commit of a corpus on the Hub; nothing of any other."""
    return {"prov:wasDerivedFrom": [_source(corpus.url)]} if revision_of(corpus.url) else {}


def _repositories(conversion: Any) -> Iterator[str]:
    """Yield the repositories on the Hub that were converted, with their commits."""
    revisions = conversion.get("revisions") if isinstance(conversion, dict) else None
    for repository, commit in revisions.items() if isinstance(revisions, dict) else ():
        yield f"{repository}@{commit}"


def release_at(corpus: Entry) -> Release | None:
    """Return the manifest of a folder, and its statistics if they are as listed; None if there is no usable manifest."""
    entry = corpus.child(NAME) if corpus.kind == "directory" else None
    if entry is None or entry.kind != "file":
        return None
    manifest = read_manifest(entry, Judge(RULES, Grading(), version="", path=NAME))
    if manifest is None or manifest.unusable:
        return None
    listed, beside = manifest.files.get(_STATISTICS), corpus.child(_STATISTICS)
    statistics: Json = {}
    try:
        if listed and beside is not None and beside.kind == "file" and facts_of(beside).sha256 == listed.sha256:
            statistics = object_in(content_of(beside))[0]
    except (OSError, Refused):
        pass
    return Release(manifest.files, manifest.whole, statistics)


def _of_lengths(known: Any) -> Iterator[Statistic]:
    known = known if isinstance(known, dict) else {}
    quantiles = known.get("quantiles")
    median = quantiles.get(_MEDIAN) if isinstance(quantiles, dict) else None
    values = {"minimum": known.get("min"), "median": median, "maximum": known.get("max"), "mean": known.get("mean")}
    for name, value in values.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Statistic(name, ("sc:Integer" if isinstance(value, int) else "sc:Float",), value)


def _how(recipe: Any, conversion: Any) -> str:
    if isinstance(recipe, dict) and isinstance(recipe.get("name"), str):
        return f", recipe {recipe['name']}"
    if isinstance(conversion, dict) and isinstance(conversion.get("from"), str):
        return f", converted from {conversion['from']}"
    return ""


def _few(names: Iterator[str]) -> list[str]:
    """Return names, or of many the first of their folders."""
    few = list(islice(names, _MOST_INPUTS + 1))
    if len(few) <= _MOST_INPUTS:
        return few
    return sorted({name.rpartition("/")[0] or name for name in chain(few, names)})[:_MOST_INPUTS]


def _names(inputs: Iterable[Any]) -> Iterator[str]:
    """Yield the names of the inputs that were taken."""
    for each in inputs:
        if isinstance(each, dict) and isinstance(each.get("name"), str) and "sha256" in each:
            yield each["name"]


def _source(name: str) -> Json:
    """Return an input as an entity: a URL as its IRI; a path as its label, since as an IRI it might be that of an own file."""
    if is_uri(name):
        return {"@id": quote(name, safe="/:?&=%#+@,;~")}
    return {"@type": "prov:Entity", "rdfs:label": name}
