"""Internal: What is known of a corpus apart from its data: by its owner's file, by the files about it, by its git repository; and
by its manifest what it was made of, in the terms of PROV-O, and how many documents and how much text it has.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from corpusfmt._resources import resource
from corpusfmt.formats.describing import Describer, Statistic, count_of
from corpusfmt.hub.card import Malformed, yaml_object
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry, is_uri, read_named
from corpusfmt.io.revisions import revision_of
from corpusfmt.io.streams import facts_of
from corpusfmt.io.text import is_date, parsed_json
from corpusfmt.io.toml import complaints_of, decoded_toml
from corpusfmt.manifest.model import NAME, ListedFile
from corpusfmt.manifest.read import Refused, content_of, object_in, read_manifest
from corpusfmt.manifest.rules import RULES
from corpusfmt.model import Json, UsageError
from corpusfmt.rules import Grading, Judge
from corpusfmt.wording import clipped

_MOST_BYTES = 1024 * 1024


def load_owner(path: str | Path) -> Json:
    """Return the properties of a description that a TOML file gives. Raises `UsageError` that names each wrong key."""
    try:
        text = read_named(path, _MOST_BYTES, "file for --rai").decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path} (--rai): {error}") from error
    found = _plain(decoded_toml(text, f"{path} (--rai)"))
    if complaints := complaints_of(found, resource("schemas", "description/owner.schema.json").read_bytes()):
        raise UsageError(f"{path} (--rai): {'; '.join(complaints)}")
    return _properties(found)


def _plain(value: Any) -> Any:
    """Return what JSON has for a value of TOML: dates as text."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


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


# Licences of data by the names that cards and citations give them, SPDX identifiers in lower case or not.
_LICENCES = {
    name.lower(): name
    for name in (
        "AFL-3.0", "AGPL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CC-BY-2.0", "CC-BY-3.0", "CC-BY-4.0",
        "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0",
        "CC-BY-SA-4.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "EUPL-1.2", "GPL-2.0", "GPL-3.0", "ISC",
        "LGPL-3.0", "MIT", "MPL-2.0", "ODbL-1.0", "ODC-By-1.0", "OGL-UK-3.0", "PDDL-1.0", "Unlicense",
    )
} | {"odbl": "ODbL-1.0", "odc-by": "ODC-By-1.0", "pddl": "PDDL-1.0"}  # fmt: skip
_BY_TEXT = {
    r"MIT License|^Permission is hereby granted, free of charge": "MIT",
    r"Apache License Version 2\.0": "Apache-2.0",
    r"BSD 3-Clause": "BSD-3-Clause",
    r"CC0 1\.0 Universal": "CC0-1.0",
    r"Attribution 4\.0 International": "CC-BY-4.0",
    r"Attribution-ShareAlike 4\.0 International": "CC-BY-SA-4.0",
    r"Attribution-NonCommercial 4\.0 International": "CC-BY-NC-4.0",
    r"Open Database License": "ODbL-1.0",
}
_REMOTE = re.compile(r'^\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
_ADDRESS = re.compile(
    r"(?:https?|ssh|git)://(?:[^/@]*@)?([\w.:-]+)/([\w./~-]+?)(?:\.git)?/?|[\w.-]+@([\w.-]+):([\w./~-]+?)(?:\.git)?"
)


def licence_on_the_hub(said: Json) -> str:
    """Return the licence of properties by the name that cards give it, `unknown` if there is none."""
    name = said.get("license", "").rpartition("spdx.org/licenses/")[2]
    return next((short for short, known in reversed(_LICENCES.items()) if known == name), "unknown")


def said_about(
    corpus: Entry, given: Iterable[str], notes: list[str] | None, names: Collection[str] = ()
) -> dict[str, Json]:
    """Return the properties that files about a corpus, or those of some names, give, by file, apart from those that are given.

    The files are data of strangers: at most 1 MiB of each is read, nothing is executed, and nothing outside of the folder.
    `notes` are of those that cannot be read. Without any, raises `UsageError` if a package is missing: what is made then does
    not depend on what is installed.
    """
    made: dict[str, Json] = {}
    known = set(given)
    for name, properties in _SAID.items() if corpus.kind == "directory" else ():
        if names and name not in names:
            continue
        try:
            text = text_of(corpus, name)
            said = properties(text) if text is not None else {}
        except (OSError, ValueError, RecursionError, Malformed, UsageError) as error:
            if notes is not None:
                notes.append(f"{name} is not read: {error}")
            elif isinstance(error, UsageError):
                raise UsageError(f"{name} is not read: {error}") from error
            continue
        for key in [key for key, value in said.items() if value and not _is_right(key, value)]:
            wrong = clipped(said.pop(key))
            if notes is not None:
                notes.append(f"{name}: `{key}` is left out: `{wrong}` is no {'URL' if key == 'url' else 'date'}")
        made[name] = {key: value for key, value in said.items() if value and key not in known}
        known |= made[name].keys()
    return made


def _is_right(name: str, value: Any) -> bool:
    """Return whether a value is a URL or a date, perhaps a year or month alone, where it has to be one."""
    if name == "url":
        return is_uri(value) and not re.search(r"\s", value)
    return name not in ("datePublished", "dateModified") or is_date(value)


def text_of(corpus: Entry, name: str) -> str | None:
    """Return the text of a file of at most 1 MiB. Raises `OSError` and `ValueError`."""
    if corpus.url.startswith(("http://", "https://")):  # where each name is a request
        return None
    entry = corpus.child(name)
    if entry is None or entry.kind != "file":
        return None
    with entry.open() as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
    return data.decode()


def _yaml(text: str, line: int) -> Json:
    return yaml_object(text, Judge(RULES, Grading(), version="", path=NAME), "it", line)


def _of_citation(text: str) -> Json:
    """Return what a CITATION.cff says (https://github.com/citation-file-format/citation-file-format, 1.2.0)."""
    cff = _yaml(text, 1)
    creators = []
    for author in _objects(cff.get("authors")):
        parts = [author.get(name) for name in ("given-names", "name-particle", "family-names", "name-suffix")]
        person = " ".join(part for part in parts if isinstance(part, str))
        name = person or author.get("name")
        more = _texts(author, {"email": "email", "affiliation": "affiliation", "website": "url", "orcid": "url"})
        if isinstance(name, str):
            creators.append(_agent({"type": "Person" if person else "Organization", "name": name, **more}))
    doi = cff.get("doi")
    return {
        **_texts(
            cff, {"title": "name", "abstract": "description", "version": "version", "date-released": "datePublished"}
        ),
        **_texts(cff, {"url": "url"}),
        "creator": creators,
        "license": _licence(cff.get("license")),
        "keywords": _list(cff.get("keywords")),
        "sameAs": [f"https://doi.org/{doi}"] if isinstance(doi, str) else [],
    }


def _of_codemeta(text: str) -> Json:
    """Return what a codemeta.json says (https://codemeta.github.io/terms/)."""
    meta: Any = parsed_json(text).value
    meta = meta if isinstance(meta, dict) else {}
    creators = []
    for author in _objects(meta.get("author") or meta.get("creator")):
        parts = [author.get(name) for name in ("givenName", "familyName")]
        name = author.get("name") or " ".join(part for part in parts if isinstance(part, str))
        kind = "Organization" if author.get("@type") == "Organization" else "Person"
        if isinstance(name, str) and name:
            creators.append(_agent({"type": kind, "name": name, **_texts(author, {"email": "email"})}))
    same = {name: name for name in ("name", "description", "version", "datePublished", "dateModified")}
    return {
        **_texts(meta, same | {"codeRepository": "url", "url": "url"}),
        "creator": creators,
        "license": _licence(meta.get("license")),
        "keywords": _list(meta.get("keywords")),
    }


def _of_card(text: str) -> Json:
    """Return what the head of a card says, as on the Hub."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        return {}
    head = _yaml("\n".join(lines[1 : lines.index("---", 1)]), 2)
    return {
        **_texts(head, {"pretty_name": "name"}), "license": _licence(head.get("license")),
        "inLanguage": [each for each in _list(head.get("language")) if each != "multilingual"],
        "keywords": [each for each in _list(head.get("tags")) if ":" not in each],
    }  # fmt: skip


def _of_licence(text: str) -> Json:
    beginning = " ".join(text[:4000].split())
    found = (name for pattern, name in _BY_TEXT.items() if re.search(pattern, beginning))
    return {"license": _licence(next(found, None))}


def _of_git(text: str) -> Json:
    remote = _REMOTE.search(text)
    address = _ADDRESS.fullmatch(remote[1]) if remote else None
    if remote is None or address is None:
        return {}
    host = address[1] if remote[1].startswith("http") else (address[1] or address[3]).partition(":")[0]
    return {"url": f"https://{host}/{address[2] or address[4]}"}


#: How files about a corpus are read; what the first ones say goes before what others do.
_SAID: Mapping[str, Callable[[str], Json]] = {
    "CITATION.cff": _of_citation,
    "codemeta.json": _of_codemeta,
    "README.md": _of_card,
    "LICENSE": _of_licence,
    "LICENSE.txt": _of_licence,
    "LICENSE.md": _of_licence,
    ".git/config": _of_git,
}


def _licence(name: Any) -> str:
    name = name[0] if isinstance(name, list) and len(name) == 1 else name
    if not isinstance(name, str):
        return ""
    known = _LICENCES.get(name.lower())
    return f"https://spdx.org/licenses/{known}" if known else name if is_uri(name) else ""


def _objects(value: Any) -> list[Json]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _list(value: Any) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _texts(table: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Return texts of a table under other names, numbers and dates included."""
    values = ((ours, table.get(theirs)) for theirs, ours in names.items())
    return {name: str(value) for name, value in values if isinstance(value, str | int | float | dt.date) and value}


class Repository(Struct, frozen=True):
    """Where a corpus is published: what its files' addresses begin with, and the address to clone, if it is a git repository."""

    base: str
    clone: str = ""


_HUB = re.compile(r"(?:https://huggingface\.co/|hf://)(datasets/[^/@]+/[^/@]+?)(?:(?:/tree/|@)([^/]+))?/?")
_FORGE = re.compile(r"(https://(?:github|gitlab)\.com/[^/]+/[^/]+?)(?:\.git)?(?:(?:/-)?/tree/(.+?))?/?")
_COMMIT = re.compile("[0-9a-f]{40}")


def repository_at(url: str, corpus: Entry, notes: list[str]) -> Repository:
    """Return the repository at a URL, in the revision that it names, or else in that of the folder's own git repository."""
    if not re.match(r"(?:https?|hf|s3|gs)://[^/]", url):
        raise UsageError(f"--repository is {url!r}, expected a URL")
    match = _HUB.fullmatch(url) or _FORGE.fullmatch(url)
    if match is None:
        return Repository(f"{url.rstrip('/')}/")
    revision = match[2] or _head_commit(corpus)
    if revision is None:
        revision = "main"
        notes.append("addresses of files follow the branch `main`: name a commit, as in --repository URL/tree/COMMIT")
    if match.re is _HUB:
        clone = f"https://huggingface.co/{match[1]}"
        return Repository(f"{clone}/resolve/{quote(unquote(revision), safe='')}/", clone)
    raw = "/raw/" if match[1].startswith("https://github") else "/-/raw/"
    return Repository(f"{match[1]}{raw}{quote(revision)}/", match[1])


def _head_commit(corpus: Entry) -> str | None:
    """Return the commit that is checked out in a folder."""
    if corpus.kind != "directory" or corpus.is_remote:
        return None
    try:
        head = (text_of(corpus, ".git/HEAD") or "").strip()
        name = head.removeprefix("ref: ")
        if name != head:
            packed = text_of(corpus, ".git/packed-refs") or ""
            lines = (line.partition(" ") for line in packed.split("\n"))
            head = text_of(corpus, f".git/{name}") or next((commit for commit, _, ref in lines if ref == name), "")
    except (OSError, ValueError):
        return None
    return head.strip() if _COMMIT.fullmatch(head.strip()) else None


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
        tool, inputs, recipe, model, conversion = (
            self.made.get(name) for name in ("tool", "inputs", "recipe", "model", "conversion")
        )
        if not isinstance(tool, dict) or not isinstance(inputs, list | Iterator):
            return {}
        recipe = recipe if isinstance(recipe, dict) else {}
        conversion = conversion if isinstance(conversion, dict) else {}
        taken = (each for each in inputs if isinstance(each, dict) and "sha256" in each)  # others were not read
        named = (each["name"] for each in taken if isinstance(each.get("name"), str))
        sources = list(islice(named, _MOST_INPUTS + 1))
        if len(sources) > _MOST_INPUTS:
            sources = sorted({name.rpartition("/")[0] or name for name in chain(sources, named)})[:_MOST_INPUTS]
        revisions = conversion.get("revisions")
        if isinstance(revisions, dict):  # the repositories on the Hub that were converted, with their commits
            sources = [*(f"{repository}@{commit}" for repository, commit in revisions.items()), *sources]
        label = f"{tool.get('name', 'corpusfmt')} {tool.get('version', '')}".strip()
        how = ""
        if isinstance(recipe.get("name"), str):
            how = f", recipe {recipe['name']}"
        elif isinstance(conversion.get("from"), str):
            how = f", converted from {conversion['from']}"
        agents = [label]
        if isinstance(model, dict) and isinstance(model.get("sha256"), str):
            agents.append(f"language identification model, SHA-256 {model['sha256']}")
        done = activity({"label": f"{label}{how}"})
        done["prov:wasAssociatedWith"] = [{"@type": "prov:SoftwareAgent", "rdfs:label": each} for each in agents]
        derived = {"prov:wasDerivedFrom": [_source(name) for name in sources]} if sources else {}
        return derived | {"prov:wasGeneratedBy": [done]}

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


def _source(name: str) -> Json:
    """Return an input as an entity: a URL as its IRI; a path as its label, since as an IRI it might be that of an own file."""
    if is_uri(name):
        return {"@id": quote(name, safe="/:?&=%#+@,;~")}
    return {"@type": "prov:Entity", "rdfs:label": name}
