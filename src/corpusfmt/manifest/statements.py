"""Internal: Statements about a release, in the form of in-toto Statement v1: SLSA provenance v1 and a verification summary.

All of it comes from the manifest and from the check of the release. Times are optional in both predicates and left out, so that
the same release gets the same statements. `docs/statements.md` defines each URI.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from corpusfmt._version import VERSION
from corpusfmt.manifest.model import NAME, PROVENANCE, VERIFICATION, Manifest, by_bytes, is_sha256
from corpusfmt.model import Json, Report, Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
#: The type of the predicate in each file of statements.
PREDICATES = {PROVENANCE: "https://slsa.dev/provenance/v1", VERIFICATION: "https://slsa.dev/verification_summary/v1"}
#: Name of the subject with the tree digest.
TREE = "."
_SLSA = "1.2"

_OURS = "https://corpusfmt.github.io/statements"
BUILDER = f"{_OURS}/builder/v1"
VERIFIER = f"{_OURS}/verifier/v1"
#: The member of a verification summary with what SLSA has no member for; extensions are named by URIs.
SUMMARY = f"{_OURS}/summary/v1"
_PROFILES = f"{_OURS}/profiles"
_EXTERNAL = ("recipe", "conversion", "addresses")
_INTERNAL = ("compressor",)


def statement(name: str, manifest: Manifest, manifest_sha256: str, predicate: Json) -> bytes:
    """Return the statement in the file `name`, about a release and the bytes of its manifest."""
    whole = {
        "_type": STATEMENT,
        "subject": [
            _described(TREE, manifest.head.tree.sha256),
            _described(NAME, manifest_sha256),
            *(_described(path, manifest.files[path].sha256) for path in by_bytes(manifest.files)),
        ],
        "predicateType": PREDICATES[name],
        "predicate": predicate,
    }
    return msgspec.json.encode(whole) + b"\n"


def _described(name: str, sha256: str) -> Json:
    return {"name": name, "digest": {"sha256": sha256}}


def is_ours(build_type: str) -> bool:
    """Return whether a type of builds is one that `provenance` writes."""
    return build_type in {f"{_OURS}/{kind}/v1" for kind in ("build", "convert", "seal")}


def release_uri(tree: str) -> str:
    """Return the URI of a release: its tree digest as a name of RFC 6920."""
    digest = base64.urlsafe_b64encode(bytes.fromhex(tree)).decode().rstrip("=")
    return f"ni:///sha-256;{digest}"


def provenance(manifest: Manifest) -> Json:
    """Return how a release was made as its manifest has it: SLSA provenance v1."""
    whole = manifest.whole
    said = whole.get("tool")
    tool = said if isinstance(said, dict) else {"name": "corpusfmt", "version": VERSION}
    kind = next((kind for name, kind in (("recipe", "build"), ("conversion", "convert")) if name in whole), "seal")
    definition = {
        "buildType": f"{_OURS}/{kind}/v1",
        "externalParameters": {name: whole[name] for name in _EXTERNAL if name in whole},
        "internalParameters": _internal(whole, tool),
        "resolvedDependencies": list(_dependencies(whole)),
    }
    if kind == "seal":
        definition["externalParameters"] = {"format": f"{manifest.head.format}-{manifest.head.version}"}
    builder = {"id": BUILDER, "version": {str(tool.get("name")): str(tool.get("version"))}}
    return {"buildDefinition": definition, "runDetails": {"builder": builder}}


def _internal(whole: Json, tool: Json) -> Json:
    found = {name: whole[name] for name in _INTERNAL if name in whole}
    if "format" in tool:
        found["format"] = tool["format"]
    # Without a digest an input is not a dependency; it was left out of the release.
    left_out = [each for each in _listed(whole) if not _has_digest(each)]
    return found | ({"quarantined": left_out} if left_out else {})


def _dependencies(whole: Json) -> Iterator[Json]:
    for each in _listed(whole):
        if _has_digest(each):
            yield _described(str(each.get("name")), each["sha256"])
    model = whole.get("model")
    if isinstance(model, dict) and _has_digest(model):
        more = {name: value for name, value in model.items() if name != "sha256"}
        yield _described("model", model["sha256"]) | {"annotations": more}


def _listed(whole: Json) -> list[Json]:
    inputs = whole.get("inputs")
    return [each for each in inputs if isinstance(each, dict)] if isinstance(inputs, list) else []


def _has_digest(value: Any) -> bool:
    digest = value.get("sha256") if isinstance(value, dict) else None
    return isinstance(digest, str) and is_sha256(digest)


def verification(manifest: Manifest, report: Report, profiles: Mapping[str, bytes], rules: Mapping[str, str]) -> Json:
    """Return a verification summary of a release: by which rules it was checked, and what was found.

    `profiles` are the files of the profiles by name, `rules` the severity of each rule under them.
    """
    tree = manifest.head.tree
    is_valid = report.verdict is Verdict.VALID
    return {
        "verifier": {"id": VERIFIER, "version": {"corpusfmt": VERSION}},
        "resourceUri": release_uri(tree.sha256),
        "policy": {
            "uri": f"{_PROFILES}/{'+'.join(profiles)}",
            "digest": {"sha256": hashlib.sha256(b"".join(profiles.values())).hexdigest()},
        },
        "verificationResult": "PASSED" if is_valid else "FAILED",
        "verifiedLevels": ["CORPUSFMT_VALID" if is_valid else "FAILED"],
        "slsaVersion": _SLSA,
        SUMMARY: _summary(manifest, report, profiles, rules),
    }


def _summary(manifest: Manifest, report: Report, profiles: Mapping[str, bytes], rules: Mapping[str, str]) -> Json:
    coverage = report.coverage
    suppressed = Counter[str]()
    for (code, _, _), count in sorted(report.tally.suppressed.items()):
        suppressed[code] += count
    listed = "".join(f"{code} {severity}\n" for code, severity in sorted(rules.items()))
    return {
        "tree": msgspec.to_builtins(manifest.head.tree),
        "format": report.format,
        "version": report.version,
        "profiles": list(profiles),
        "rules": {"count": len(rules), "sha256": hashlib.sha256(listed.encode()).hexdigest()},
        "verdict": report.verdict.value,
        "counts": report.counts,
        "byRule": report.by_rule,
        "suppressed": suppressed,
        "coverage": {
            "shards": coverage.shards_seen,
            "documents": coverage.documents,
            "bytes": coverage.bytes,
            "rulesNotRun": dict(coverage.rules_not_run),
        },
    }
