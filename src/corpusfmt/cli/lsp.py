"""Internal: `corpusfmt lsp`."""

from __future__ import annotations

from functools import cache
from typing import Any

from corpusfmt.cli.options import ConfigFile, Ignore, Profile, Select
from corpusfmt.cli.outcome import guarded
from corpusfmt.model import UsageError


@guarded
def command(
    profile: Profile = [],  # noqa: B006 - typer needs a value, and nothing here changes it
    select: Select = [],  # noqa: B006
    ignore: Ignore = [],  # noqa: B006
    config: ConfigFile = None,
) -> None:
    """Serve an editor: findings while typing, hover, completion and repairs, over standard input and output."""
    from corpusfmt.cli.inputs import judged_by, settings_of

    try:
        from corpusfmt.lsp.server import serve
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(("pygls", "lsprotocol")):
            raise
        raise UsageError("the language server needs a package: run `pip install 'corpusfmt[lsp]'`") from error

    @cache
    def judged(*folder: str) -> dict[str, Any]:
        """Return how texts in a folder are judged."""
        return judged_by(settings_of(config, folder), profile, select, ignore)

    serve(judged)
