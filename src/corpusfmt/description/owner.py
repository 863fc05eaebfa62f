"""Internal: What only the owner of a dataset knows, from a TOML file (`schemas/description/`): who made it, of what,
and what to mind when it is used.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpusfmt._resources import resource
from corpusfmt.io.paths import read_named
from corpusfmt.io.toml import decoded_toml
from corpusfmt.model import Json, UsageError
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
