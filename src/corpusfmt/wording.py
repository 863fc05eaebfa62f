"""Internal: Text from data, made fit for a message and for the medium that shows it: one function a medium.
Standard library only.

JSON holds values exactly. Everywhere else a name or value may neither end a line, nor begin one, nor act in it.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

#: The longest value, name or id that a message repeats whole, and the longest message.
MOST_OF_A_VALUE = 200
MOST_OF_A_MESSAGE = 2_000

# Controls (C0, DEL, C1), soft hyphen, marks and embeddings of writing direction, line and paragraph separators, what has no
# width (but the joiners of Persian, Indic scripts and emoji), lone surrogates, tags, and what XML 1.0 forbids.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# `##[command]`, `##vso[command]` and `##teamcity[command]` act wherever they are in a line of a log.
_LOG_COMMAND = re.compile(r"##(?=\w*\[)")
# A path that cannot be taken for a workflow command, nor for one of the lines that are ours.
_ORDINARY = re.compile(
    r"(?!VALID|INVALID|INCOMPLETE)"
    r"(?!(?i:valid|invalid|incomplete|error|warning|info|help|interrupted|terminated)(?![\w./-]))"
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?[\w./~][^:\s]*"
)
_LONG_VALUE = re.compile(rf"`([^`]{{{MOST_OF_A_VALUE + 1},}})`")
# What JSON may hold as it is; control characters that are not line ends are escaped there anyway.
_UNSEEN_IN_JSON = re.compile(rf"(?![\x00-\x1f]){_UNSEEN.pattern}")
_BACKTICKS = re.compile("`+")


def clipped(text: str, limit: int = MOST_OF_A_VALUE) -> str:
    """Return a text of at most `limit` characters whole, of a longer one head, length and tail."""
    if len(text) <= limit:
        return text
    middle = f" … [{len(text):,} characters] … "
    half = max(limit - len(middle), 2) // 2
    return shortened(text, limit, half, half, middle)


def shortened(text: str, limit: int, head: int, tail: int, between: str = "…") -> str:
    """Return a text of at most `limit` characters whole, of a longer one so many of its beginning and of its end."""
    return text if len(text) <= limit else f"{text[:head]}{between}{text[-tail:]}"


def clipped_message(message: str) -> str:
    """Return a message in which long values (in backticks) are clipped, and which is not endless itself."""
    if len(message) <= MOST_OF_A_VALUE:
        return message
    return clipped(_LONG_VALUE.sub(lambda value: f"`{clipped(value[1])}`", message), MOST_OF_A_MESSAGE)


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: `1 shard`, `2,000 shards`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plain(text: str) -> str:
    """Return text as a part of one line on a terminal or in a log, not the first: what is not seen is escaped."""
    return _LOG_COMMAND.sub(r"#\\x23", _UNSEEN.sub(_escape, text))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def leading(path: str) -> str:
    """Return a path as the first part of a line: in quotes where the line could be taken for a command or a verdict."""
    shown = plain(path)
    return shown if _ORDINARY.fullmatch(shown) else f'"{shown}"'


def backticked(text: str) -> str:
    """Return text as a part of one line, between backticks."""
    return f"`{plain(text)}`"


def workflow_data(text: str) -> str:
    """Return text as the message of a GitHub workflow command."""
    return plain(text).replace("%", "%25")


def workflow_property(text: str) -> str:
    """Return text as the value of a property of a GitHub workflow command."""
    return workflow_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Return text as a Markdown code span, also in the cell of a table: nothing in it is markup, a link or a mention."""
    # A pipe ends a cell even in a code span; behind a backslash readers disagree about escaping it.
    shown = re.sub(r"(\\+)\|", r"\1\\x7c", plain(text)).replace("|", "\\|")
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    edge = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown else ""
    return f"{fence}{edge}{shown}{edge}{fence}"


def markup(text: str) -> str:
    """Return text as the content of an element, or of a quoted attribute, of HTML or XML 1.0."""
    from html import escape  # noqa: PLC0415 - it comes with a table of all entities, which few commands need

    return escape(plain(text))


def sarif_message(text: str) -> str:
    """Return text as a SARIF message, in which `[text](target)` would be a link and `{0}` a placeholder (2.1.0, 3.11.5)."""
    return plain(text).replace("](", "]\\x28").replace("{", "{{").replace("}", "}}")


def uri(path: str) -> str:
    """Return a path as a URI reference (RFC 3986): only its slashes stay as they are."""
    return quote(path, safe="/", errors="surrogatepass")


def json_text(text: str) -> str:
    """Return JSON that a terminal or a log shows as it is: escapes, which mean the same, for what is unseen or acts there."""
    return _LOG_COMMAND.sub(r"#\\u0023", _UNSEEN_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text))
