"""Internal: `corpusfmt lsp`."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from corpusfmt.cli.options import UNSET, ConfigFile, Given
from corpusfmt.cli.outcome import guarded
from corpusfmt.engine.sharing import Judging
from corpusfmt.model import UsageError
from corpusfmt.options import made


@guarded
def command(given: Annotated[Given, Judging] = UNSET, config: ConfigFile = None) -> None:
    """Serve an editor: findings while typing, hover, completion and repairs, over standard input and output."""
    from corpusfmt.cli.inputs import settings_of, with_settings

    try:
        from corpusfmt.lsp.server import serve
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(("pygls", "lsprotocol")):
            raise
        raise UsageError("the language server needs a package: run `pip install 'corpusfmt[lsp]'`") from error

    @cache
    def judged(*folder: str) -> Judging:
        """Return how texts in a folder are judged."""
        return made(Judging, with_settings(settings_of(config, folder), given))

    serve(judged)
