"""What commands print, on the pages of the site: in the colours of a terminal, and wrapped."""

from __future__ import annotations

import re
from html import escape

# A block of code: what it is indented by, its language, and what it contains.
_BLOCK = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# A finding up to its message: its place, code, severity, name and mark.
_FINDING = re.compile(r"(\S[^\n]*?): ([A-Z]{3}\d{3}) (error|warning|info)\b([^:`]*):(.*)")
_SHAPES = (
    (re.compile(r"(\$)( .*)"), "prompt"),
    (re.compile(r"(  help:)(.*)"), "help"),
    (re.compile(r"(VALID|valid)\b(.*)"), "good"),
    (re.compile(r"(INVALID|INCOMPLETE|invalid|incomplete|error)\b(:.*)"), "error"),
    (re.compile(r"( *\d* \|)(.*)"), "margin"),
    (re.compile(r"(\+.*)()"), "added"),
    (re.compile(r"(-.*)()"), "removed"),
)


def coloured(page: str) -> str:
    """Return a page with the sessions and findings on it as HTML."""
    return _BLOCK.sub(_terminal, page)


def _terminal(block: re.Match[str]) -> str:
    indent, language, text = block.groups()
    lines = text.splitlines()
    is_terminal = any(line.startswith("$ ") or _FINDING.fullmatch(line) for line in lines)
    if indent or language not in ("", "text") or not is_terminal:
        return block[0]
    body = "\n".join(map(_line, lines))
    return f'\n<div class="terminal highlight"><pre><code>{body}\n</code></pre></div>\n'


def _line(line: str) -> str:
    if found := _FINDING.fullmatch(line):
        place, code, severity, name, message = map(escape, found.groups())
        return f"<b>{place}</b>: <b class={severity}>{code}</b> {severity}{name}:{message}"
    for shape, kind in _SHAPES:
        if found := shape.fullmatch(line):
            return f"<span class={kind}><b>{escape(found[1])}</b>{escape(found[2])}</span>"
    return escape(line)
