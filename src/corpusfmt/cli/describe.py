"""Internal: `corpusfmt describe`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from corpusfmt.cli.console import mention, warn, write
from corpusfmt.cli.inputs import limits_of, settings_of
from corpusfmt.cli.options import UNSET, ConfigFile, Given
from corpusfmt.cli.outcome import guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.engine.describing import Describing
from corpusfmt.options import made
from corpusfmt.wording import json_text, plural

Corpus = Annotated[
    str, typer.Argument(metavar="PATH", help="A corpus, any folder of data files, or a description to complete.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE|URL",
        help="Output file (default: print). Paths are relative to its folder if the corpus is in or below it.",
    ),
]
Evidence = Annotated[
    str | None,
    typer.Option("--evidence", metavar="FILE|URL", help="Write the reasons for each type, key and split as JSON."),
]


@guarded
def command(
    corpus: Corpus,
    output: Output = None,
    given: Annotated[Given, Describing] = UNSET,
    evidence: Evidence = None,
    config: ConfigFile = None,
) -> None:
    """Describe a corpus or any folder as Croissant, with sizes and SHA-256 of files, languages, and records."""
    from corpusfmt.description import REQUIRED, described_as, descriptions
    from corpusfmt.engine.config import Details
    from corpusfmt.io.publish import output_at, publish_bytes

    paths = {"--output": output, "--evidence": evidence}
    outputs = {option: output_at(path, option) for option, path in paths.items() if path is not None}
    described = outputs.get("--output")
    settings = settings_of(config, [corpus])
    limits = limits_of(given, settings)
    details = settings.describe.under(Details.of(given))
    with shown_progress("describing") as show:
        base = described and described.parent
        asked = made(Describing, given, base=base, jobs=given.get("jobs"), limits=limits, progress=show)
        document, found = described_as(asked, corpus, details, list(outputs.values()))
    missing = [name for name in REQUIRED if name not in document]
    if missing:
        warn(f"required by Croissant but missing: {', '.join(missing)}")
    _warn_of(found.get("notes", []), evidence)
    version = document.get("version")
    if version is not None and not descriptions().is_good_version(version):
        warn(f"version is `{version}`; Croissant recommends MAJOR.MINOR.PATCH, like 1.0.0")
    text = json_text(json.dumps(document, ensure_ascii=False, indent=2))
    if described is None:
        write([text], utf8=True)
    else:
        publish_bytes(described, f"{text}\n".encode())
        resources, record_sets = (len(document.get(name, ())) for name in ("distribution", "recordSet"))
        mention(f"{plural(resources, 'resource')}, {plural(record_sets, 'record set')} -> {described}")
    if evidence is not None:
        publish_bytes(outputs["--evidence"], f"{json_text(json.dumps(found, ensure_ascii=False, indent=2))}\n".encode())


# As many notes are shown; the evidence has all of them.
_MOST_NOTES = 20


def _warn_of(notes: Sequence[str], evidence: str | None) -> None:
    for note in notes[:_MOST_NOTES]:
        mention(f"note: {note}")
    if len(notes) > _MOST_NOTES:
        where = evidence if evidence is not None else "--evidence FILE"
        mention(f"note: {len(notes) - _MOST_NOTES} more in {where}")
