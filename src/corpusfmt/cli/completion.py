"""Internal: What a shell completes: values of options and arguments that come from the registry."""

from __future__ import annotations

from collections.abc import Iterator


def format_names(incomplete: str) -> Iterator[str]:
    """Yield formats, with and without their versions."""
    from corpusfmt import formats

    return (name for name in formats.format_names() if name.startswith(incomplete))


def targets(incomplete: str) -> Iterator[str]:
    """Yield formats that can be written."""
    from corpusfmt import formats

    return (name for name in formats.format_names(written=True) if name.startswith(incomplete))


def profiles(incomplete: str) -> Iterator[str]:
    """Yield the profiles that are shipped."""
    from corpusfmt.profiles import profile_names

    return (each for each in profile_names() if each.startswith(incomplete))


def rules(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield codes with their slugs; the last of several codes is completed."""
    from corpusfmt.cli.catalogue import known_rules

    before, comma, last = incomplete.rpartition(",")
    found = [
        (code, owners[0][1].slug) for code, owners in sorted(known_rules().items()) if code.startswith(last.upper())
    ]
    return ((f"{before}{comma}{code}", slug) for code, slug in found)


def fields(incomplete: str) -> Iterator[str]:
    """Yield the beginnings of values of `--field`."""
    from corpusfmt.options import FIELDS

    return (f"{each}=" for each in FIELDS if each.startswith(incomplete))


def limits(incomplete: str) -> Iterator[str]:
    """Yield the beginnings of values of `--limit`."""
    from corpusfmt.io.limits import NAMES

    return (f"{each}=" for each in NAMES if each.startswith(incomplete))
