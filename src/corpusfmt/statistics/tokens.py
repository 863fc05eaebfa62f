"""Internal: Count the tokens of texts with a tokenizer of the package `tokenizers`, from its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from corpusfmt.io.paths import read_named
from corpusfmt.model import UsageError
from corpusfmt.wording import clipped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MOST_BYTES = 256 * 1024 * 1024


class TokenizerFile(Struct, frozen=True):
    """What counted tokens: the name of a file, and its digest."""

    name: str
    sha256: str


def kept_tokenizer(path: str | Path, copy: Path) -> TokenizerFile:
    """Copy the file of a tokenizer for workers. Raises `UsageError` if it cannot be one, or the package is not installed."""
    try:
        data = read_named(path, _MOST_BYTES, "the tokenizer")
    except OSError as error:
        raise UsageError(f"cannot read the tokenizer {clipped(str(path))!r}: {error.strerror}") from None
    copy.write_bytes(data)
    try:
        _tokenizer(copy)
    except ImportError:
        raise UsageError("counting tokens needs a package: pip install 'corpusfmt[tokens]'") from None
    except Exception as error:
        reason = clipped(str(error))
        raise UsageError(f"{clipped(str(path))!r} is not the tokenizer.json of a tokenizer: {reason}") from None
    return TokenizerFile(Path(path).name, sha256(data).hexdigest())


def tokens_in(texts: Sequence[str], tokenizer: Path) -> Iterator[int]:
    """Yield the number of tokens of each text, without those that mark its beginning or end."""
    encode = _tokenizer(tokenizer).encode
    # One text at a time starts no threads: `--jobs` decides how many processors are used.
    return (len(encode(text, add_special_tokens=False)) for text in texts)


@cache
def _tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer  # noqa: PLC0415 - an extra

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
