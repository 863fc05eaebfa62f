"""Internal: `corpusfmt verify`."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from corpusfmt.cli.bounds import limits_of
from corpusfmt.cli.console import mention, say
from corpusfmt.cli.options import MaxTotalBytes, OutputFormat, Reports, Timeout
from corpusfmt.cli.outcome import FailOn, check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.progress import shown_progress
from corpusfmt.cli.seal import TrustConfig
from corpusfmt.model import Report, UsageError
from corpusfmt.wording import plural

if TYPE_CHECKING:
    from corpusfmt.release.reproduce.request import Request

Release = Annotated[str, typer.Argument(metavar="DIR|URL", help="The folder of a release, here or in a store.")]
ManifestFile = Annotated[
    str | None,
    typer.Option("--manifest", metavar="FILE", help="A manifest from elsewhere (default: the MANIFEST.json in DIR)."),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="PUB", help="A public key (a PEM file) that must have signed the release."),
]
Identity = Annotated[
    str | None,
    typer.Option("--identity", metavar="NAME", help="Who must have signed the release without a key."),
]
Provider = Annotated[str | None, typer.Option("--identity-provider", metavar="URL", help="Who vouches for --identity.")]
Quick = Annotated[bool, typer.Option("--quick", help="Check names and sizes only; read no file.")]
Reproduce = Annotated[
    int,
    typer.Option(
        "--reproduce", metavar="N", min=0, help="Rebuild N inputs of a build, and compare the lines that they gave."
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option("--inputs", metavar="PATH", help="Where the inputs to rebuild are: a folder or a file; repeatable."),
]
Seed = Annotated[
    int | None, typer.Option(metavar="S", min=0, help="Choose the inputs to rebuild by S (default: another each time).")
]
Model = Annotated[
    str | None, typer.Option(metavar="FILE", help="The model of the build, if it was not the bundled one.")
]
AllowUrls = Annotated[
    str | None,
    typer.Option("--allow-urls", metavar="FILE", help="The list that the build was given, to rebuild inputs."),
]
DenyUrls = Annotated[
    str | None,
    typer.Option("--deny-urls", metavar="FILE", help="The list that the build was given, to rebuild inputs."),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Files read at one time (default: the processors).")]


@guarded
def command(
    release: Release,
    manifest: ManifestFile = None,
    key: Key = None,
    identity: Identity = None,
    identity_provider: Provider = None,
    trust_config: TrustConfig = None,
    quick: Quick = False,
    reproduce: Reproduce = 0,
    inputs: Inputs = [],  # noqa: B006 - typer needs a value, and nothing here changes it
    seed: Seed = None,
    model: Model = None,
    allow_urls: AllowUrls = None,
    deny_urls: DenyUrls = None,
    max_total_bytes: MaxTotalBytes = None,
    timeout: Timeout = None,
    jobs: Jobs = None,
    output_format: OutputFormat = "full",
    report: Reports = [],  # noqa: B006 - typer needs a value, and nothing here changes it
) -> None:
    """Check every file of a release against its manifest, and list the files to download again."""
    from corpusfmt.release.verify import verify
    from corpusfmt.report import FOR_TERMINALS

    check_outputs(output_format, report)
    rebuild = _request(reproduce, inputs, seed, model, allow_urls, deny_urls)
    limits = limits_of(None, max_total_bytes, timeout)
    with shown_progress("verifying") as show:
        found = verify(
            release,
            manifest=manifest,
            key=key,
            identity=identity,
            identity_provider=identity_provider,
            trust_config=trust_config,
            quick=quick,
            rebuild=rebuild,
            jobs=jobs,
            limits=limits,
            progress=show,
        )
    found.arguments |= {"paths": [release], "manifest": manifest, "key": key, "quick": quick}
    if identity is not None:
        found.arguments |= {"identity": identity, "identity-provider": identity_provider, "trust-config": trust_config}
    if resumed := found.results.get("resumed"):
        mention(f"went on with an interrupted run: {plural(resumed, 'file')} had been read")
    write_reports(found, output_format, report)
    if output_format in FOR_TERMINALS:
        _say_what_to_fetch(found)
        _say_what_was_rebuilt(found)
        if signed := found.results.get("signed"):
            say(f"Signed {f'with {key}' if identity is None else f'by {identity}'}: {', '.join(signed)}")
    raise SystemExit(exit_status(found, FailOn.ERROR))


def _request(
    count: int, inputs: list[str], seed: int | None, model: str | None, allow_urls: str | None, deny_urls: str | None
) -> Request | None:
    if not count:
        if inputs or (seed, model, allow_urls, deny_urls) != (None,) * 4:
            raise UsageError("--inputs, --seed, --model, --allow-urls and --deny-urls need --reproduce N")
        return None
    if not inputs:
        raise UsageError("--reproduce needs --inputs: name the folder of the inputs")
    from corpusfmt.release.reproduce.request import Request

    # Whoever changes a release must not know which inputs will be rebuilt.
    chosen = secrets.randbelow(2**32) if seed is None else seed
    return Request(count, inputs, chosen, model, allow_urls, deny_urls)


def _say_what_to_fetch(report: Report) -> None:
    fetch = report.results.get("fetch", ())
    if fetch:
        say(f"Download again ({len(fetch):,}):")
        for path in fetch:
            say(f"  {path}")


def _say_what_was_rebuilt(report: Report) -> None:
    rebuilt = report.results.get("rebuilt")
    if rebuilt:
        names = ", ".join(rebuilt["inputs"])
        say(f"rebuilt {len(rebuilt['inputs']):,} of {rebuilt['of']:,} inputs (--seed {rebuilt['seed']}): {names}")
