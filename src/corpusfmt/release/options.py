"""Internal: Options of `corpusfmt seal` and `verify`, and of `seal` and `verify`."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Struct

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.sharing import Engine, FormatOption, Jobs, Profile
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited
from corpusfmt.options import File, Option


class Sealing(Struct, frozen=True, kw_only=True):
    """How a corpus is sealed."""

    attest: Annotated[
        bool, Option("Also write statements: provenance, and a summary of the check.", flag="--attest")
    ] = False
    sign: Annotated[File | None, Option("Sign with a private key (a PEM file).", metavar="KEY")] = None
    format: FormatOption = "auto"
    profile: Profile = "standard"
    jobs: Jobs = 1
    engine: Engine = None
    limits: Limited = DEFAULT_LIMITS
    progress: Callable[[Progress], None] | None = None


class Verifying(Struct, frozen=True, kw_only=True):
    """How a release is verified."""

    manifest: Annotated[
        File | None, Option("A manifest from elsewhere (default: the MANIFEST.json in DIR).", metavar="FILE")
    ] = None
    key: Annotated[
        File | None, Option("A public key (a PEM file) that must have signed the release.", metavar="PUB")
    ] = None
    quick: Annotated[bool, Option("Check names and sizes only; read no file.", flag="--quick")] = False
    jobs: Annotated[int | None, Option("Files read at one time (default: the processors).", least=1)] = None
    limits: Limited = DEFAULT_LIMITS
    follow_redirects: Annotated[
        bool, Option("Follow redirections of a web server to others.", flag="--follow-links")
    ] = False
    progress: Callable[[Progress], None] | None = None
