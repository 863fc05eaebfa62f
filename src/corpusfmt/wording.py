"""Internal: Escape and clip text from data for messages, with one function per medium. Standard library only.

JSON keeps values exactly. Everywhere else a name or value must not end a line, forge the start of one, or be markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

#: The longest value, name or id that is not clipped, and the longest message, in characters.
MOST_OF_A_VALUE = 200
MOST_OF_A_MESSAGE = 2_000

# Controls (C0, DEL, C1), soft hyphen, direction marks and embeddings, line and paragraph separators, zero-width characters
# (except the joiners of Persian, Indic scripts and emoji), lone surrogates, tags, and characters that XML 1.0 forbids.
_UNSEEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# `##[command]`, `##vso[command]` and `##teamcity[command]` take effect anywhere in a log line.
_LOG_COMMAND = r"##(?=\w*\[)"
# A path that cannot be mistaken for a workflow command or for a line that corpusfmt prints.
_ORDINARY = (
    r"(?!VALID|INVALID|INCOMPLETE)"
    r"(?!(?i:valid|invalid|incomplete|error|warning|info|help|interrupted|terminated)(?![\w./-]))"
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?[\w./~][^:\s]*"
)
_LONG_VALUE = rf"`([^`]{{{MOST_OF_A_VALUE + 1},}})`"
# C0 controls are left out: `json.dumps` has escaped them already.
_UNSEEN_IN_JSON = rf"(?![\x00-\x1f]){_UNSEEN}"
# A user with a password, which may contain what a URL must not: a number after a colon is a port.
_USER = r"(?<=://)(?:([^/?#\s:@]*)(:)[^/?#\s]*@|[^/?#\s@]*@|([^/?#\s@:\[]*):(?!\d{1,5}(?:\W|$))\S*@)"
# What an unknown name may lack: `-2026`, `-1.1`.
_VERSION = r"-[\d.]+$"


def clipped(text: str, limit: int = MOST_OF_A_VALUE) -> str:
    """Return a text, or the head, length and tail of one longer than `limit` characters."""
    if len(text) <= limit:
        return text
    middle = f" … [{len(text):,} characters] … "
    half = max(limit - len(middle), 2) // 2
    return shortened(text, limit, half, half, middle)


def shortened(text: str, limit: int, head: int, tail: int, between: str = "…") -> str:
    """Return a text, or the first `head` and last `tail` characters of one longer than `limit`."""
    return text if len(text) <= limit else f"{text[:head]}{between}{text[-tail:]}"


def clipped_message(message: str) -> str:
    """Return a message with long values (in backticks) clipped, and clipped itself if it is still long."""
    if len(message) <= MOST_OF_A_VALUE:
        return message
    return clipped(re.sub(_LONG_VALUE, lambda value: f"`{clipped(value[1])}`", message), MOST_OF_A_MESSAGE)


def unknown(what: str, name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a message about an unknown name: the known name most like it, if one is, and all, or `otherwise`."""
    names = list(known)
    return f"unknown {what} {clipped(name)!r}{meant(name, names)}; {otherwise or 'known: ' + ', '.join(names)}"


def meant(name: str, known: Iterable[str]) -> str:
    """Return the known name most like an unknown one as a question in parentheses, or nothing if none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for messages

    known = list(known)
    # `neurips` means `neurips-2026`: the last of its versions.
    names = {re.sub(_VERSION, "", each).lower(): each for each in known} | {each.lower(): each for each in known}
    close = get_close_matches(name.lower()[:MOST_OF_A_VALUE], names, n=1, cutoff=0.75)
    return f" (did you mean `{plain(names[close[0]])}`?)" if close else ""


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: `1 shard`, `2,000 shards`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def masked(text: str) -> str:
    """Return text in which no URL has credentials: passwords, and values in queries, which may be signatures, become `***`."""
    if "://" not in text:
        return text
    return "".join(_masked(word) if "://" in word else word for word in re.split(r"(\s+)", text))


def _masked(word: str) -> str:
    # What follows the last `@` is not searched for one again from each `://`.
    end = word.rfind("@") + 1
    word = re.sub(_USER, lambda match: f"{match[1]}:***@" if match[2] else "***@", word[:end]) + word[end:]
    url = re.search(r"[A-Za-z0-9+.-]://", word)
    query = re.compile(r"[?#]\S*").search(word, url.end()) if url else None
    if query is None:
        return word
    address, tail = word[: query.start()], query[0].rstrip(".,:;)]'\"`")
    # Elsewhere than on the web, a question mark may be a wildcard.
    is_web = re.search("https?://", address, re.IGNORECASE)
    parts = []
    for part in re.split("([?#&])", tail):
        name, equals, _ = part.partition("=")
        is_value = is_web and part not in {"", "?", "#", "&"}
        parts.append(f"{name}=***" if equals else "***" if is_value else part)
    return f"{address}{''.join(parts)}{query[0][len(tail) :]}"


def plain(text: str) -> str:
    """Return text, with invisible characters escaped, for a line on a terminal or in a log, except for its start."""
    # Of Latin-1, nothing unseen is printable: the large expressions are seldom compiled.
    if text.isprintable() and (text.isascii() or max(text) <= "\xff") and "##" not in text:
        return text
    return re.sub(_LOG_COMMAND, r"#\\x23", re.sub(_UNSEEN, _escape, text))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def leading(path: str) -> str:
    """Return a path for the start of a line, quoted if the line could be mistaken for a command or a verdict."""
    shown = plain(path)
    return shown if re.fullmatch(_ORDINARY, shown) else f'"{shown}"'


def backticked(text: str) -> str:
    """Return text in backticks for a line of plain text."""
    return f"`{plain(text)}`"


def workflow_data(text: str) -> str:
    """Return text as the message of a GitHub workflow command."""
    return plain(text).replace("%", "%25")


def workflow_property(text: str) -> str:
    """Return text as the value of a property of a GitHub workflow command."""
    return workflow_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Return text as a Markdown code span, safe in a table cell: nothing in it is markup, a link or a mention."""
    # A pipe ends a cell even in a code span; renderers disagree about escaping it after a backslash.
    shown = re.sub(r"(\\+)\|", r"\1\\x7c", plain(text)).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    edge = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown else ""
    return f"{fence}{edge}{shown}{edge}{fence}"


def markup(text: str) -> str:
    """Return text as the content of an element, or of a quoted attribute, of HTML or XML 1.0."""
    from html import escape  # noqa: PLC0415 - imports a table of all entities, which few commands need

    return escape(plain(text))


def marked_up(text: str) -> str:
    """Return text as HTML in which what stands in backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", markup(text))


def sarif_message(text: str) -> str:
    """Return text as a SARIF message: `[text](target)` is a link there and `{0}` a placeholder (2.1.0, 3.11.5)."""
    return plain(text).replace("](", "]\\x28").replace("{", "{{").replace("}", "}}")


def uri(path: str) -> str:
    """Return a path as a URI reference (RFC 3986), with everything but slashes quoted as needed."""
    from urllib.parse import quote  # noqa: PLC0415 - imports modules on addresses, which few commands need

    return quote(path, safe="/", errors="surrogatepass")


def json_text(text: str) -> str:
    """Return JSON, safe for a terminal or a log: invisible characters and log commands become JSON escapes."""
    from json import dumps  # noqa: PLC0415 - the version and the help need it not

    return re.sub(_LOG_COMMAND, r"#\\u0023", re.sub(_UNSEEN_IN_JSON, lambda match: dumps(match[0])[1:-1], text))


def text_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: its first column begins at the left, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *numbers in rows:
        cells = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> Iterator[str]:
    """Yield a table in Markdown, of which all columns but the first are numbers, with at most `most` rows."""
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'--:|' * (len(heads) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows[:most])
    if most is not None and len(rows) > most:
        yield f"| {len(rows) - most:,} more |{' |' * (len(heads) - 1)}"
