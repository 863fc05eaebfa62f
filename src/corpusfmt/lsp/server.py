"""Internal: The language server on standard input and output: what an editor asks, and what it is told."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import accumulate
from typing import Any, Literal, TypeVar, cast

from lsprotocol import types as lsp
from msgspec import Struct, field
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from corpusfmt._version import VERSION
from corpusfmt.engine.fix import Fixing, fixed_at
from corpusfmt.engine.sharing import Judging, Validation
from corpusfmt.engine.validate import grading, validated
from corpusfmt.formats import Format, detect, named_format
from corpusfmt.io.limits import Limits
from corpusfmt.io.paths import Changed, Root, printable
from corpusfmt.lsp import assist
from corpusfmt.lsp.assist import Proposal, Schema, Shown
from corpusfmt.model import CorpusfmtError, Finding, Rule, Severity
from corpusfmt.options import like
from corpusfmt.report.view import address_of, rules_of

#: A longer text is not checked while it is edited.
MOST_BYTES = 20_000_000
_SECONDS = 10.0
_MOST_PER_RULE = 1_000


class Checked(Struct):
    """What a check of one state of a text found: findings at its places, and the rules that they break.

    For findings, lines end with LF alone.
    """

    text: str
    format: Format | None = None
    version: str = ""
    findings: Sequence[Finding] = ()
    rules: Mapping[str, Rule] = field(default_factory=dict)
    line_starts: Sequence[int] = (0,)

    @property
    def schema(self) -> Schema | None:
        """What is known of the names in a description; None for other texts."""
        return _schema(self.format.name, self.version) if self.format is not None else None


@cache
def _schema(format_name: str, version: str) -> Schema | None:
    own = named_format(format_name)[0].schema
    return Schema(own(version)) if own is not None else None


def check(text: str, path: str, format_name: str, judged: Judging) -> Checked:
    """Check a text that is or will be the file at `path`, as `validate` would by these rules.

    `format_name` is the format of an earlier state, "" if there is none. A text in no known format has no findings. Raises
    `UsageError` for wrong arguments.
    """
    entry = _entry(text, path)
    fmt = None if entry is None else _format_of(entry, format_name)
    if entry is None or fmt is None:
        return Checked(text)
    report = validated(
        entry,
        like(Validation, judged, format=fmt.name, max_per_rule=_MOST_PER_RULE, limits=Limits(timeout=_SECONDS)),
    )
    findings = [each for each in report.findings if each.location.path in (entry.path, ".")]
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    codes = {each.code for each in findings}
    # Formats of other distributions have rules of their own.
    rules = rules_of(codes) | {rule.code: rule for rule in fmt.rules if rule.code in codes}
    return Checked(text, fmt, report.version, findings, rules, starts)


def repaired(text: str, path: str, format_name: str, judged: Judging) -> str | None:
    """Return a text with all repairs made that need no review; None if there are none."""
    entry = _entry(text, path)
    if entry is None:
        return None
    try:
        asked = like(Fixing, judged, format=format_name, write=False, limits=Limits(timeout=_SECONDS))
        changes = fixed_at(entry, asked).changes
    except CorpusfmtError:
        return None
    after = next((each.after for each in changes if each.path == entry.path and each.after is not None), None)
    return None if after is None else after.decode("utf-8", "surrogatepass")


def _entry(text: str, path: str) -> Changed | None:
    content = text.encode("utf-8", "surrogatepass")
    if len(content) > MOST_BYTES:
        return None
    folder, name = os.path.split(path)
    return Changed(printable(name), path, "file", len(content), root=Root(os.path.realpath(folder)), content=content)


def _format_of(entry: Changed, known: str) -> Format | None:
    """Return the format of a text, or of an earlier state of it: one that is being edited may be in no format."""
    try:
        found = detect(entry)[0]
    except CorpusfmtError:
        found = None
    if found is not None and not found.is_general:
        return found
    return named_format(known)[0] if known else None


Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_PIECE = 1024


class Units:
    """The units of an encoding that are before each character of a text, in time that does not depend on its length."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._codec, self._width = _CODECS[encoding]
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        self._sums = [0, *accumulate(map(self._count, pieces))]

    def before(self, offset: int) -> int:
        piece = offset // _PIECE
        return self._sums[piece] + self._count(self.text[piece * _PIECE : offset])

    def offset(self, units: int, start: int, end: int) -> int:
        """Return the last character from `start` to `end` that has at most this many units before it."""
        return start + bisect_right(range(start, end + 1), units, lo=1, key=self.before) - 1

    def _count(self, text: str) -> int:
        return len(text.encode(self._codec, "surrogatepass")) // self._width


class Positions:
    """The lines of a text. Lines end with LF, CR or both; no other character ends one."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._units = Units(text, encoding)
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def of(self, offset: int) -> tuple[int, int]:
        """Return the line and the units before a character, both from 0."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._units.before(offset) - self._units.before(self._starts[line])

    def offset(self, line: int, units: int) -> int:
        """Return the character at a position; the end of the line or text for one beyond it."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return self._units.offset(self._units.before(start) + units, start, end)


T = TypeVar("T")

# A text is checked when it has not changed for this long, or has waited for a check for that long.
_QUIET_SECONDS = 0.025
_MOST_SECONDS = 1.0
# A thread that checks lets the one that reads messages go on after this long.
_SWITCH_SECONDS = 0.001
# A longer text has no hover and no completion: its outline would keep the editor waiting for seconds.
_MOST_CHARACTERS = 1_000_000
_FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.corpusfmt"


def serve(judged: Callable[..., Judging]) -> None:
    """Serve one editor until it ends the session. Raises `UsageError` for wrong arguments of `validate`.

    `judged` returns these for texts in a folder, and without one for those that were never saved.
    """
    grading(judged())
    # pygls logs every message that it cannot take, with a traceback.
    logging.disable(logging.CRITICAL)
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = Server(judged)
    for name, (handler, options) in _HANDLERS.items():
        server.feature(name, options)(handler)
    # pygls closes what it writes to, and the command flushes standard output at its end.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        server.start_io(stdout=output)


class State(Struct):
    """A text as an editor has it now, and the latest state that was checked."""

    text: str
    version: int | None
    checked: Checked
    #: When it became this, and when the first change came that was never checked.
    changed: float
    waits_since: float
    is_waiting: bool = True

    @property
    def due(self) -> float:
        """When it is time for a check."""
        return min(self.changed + _QUIET_SECONDS, self.waits_since + _MOST_SECONDS)


class Server(LanguageServer):
    """The texts that an editor has open, by their URIs."""

    def __init__(self, judged: Callable[..., Judging]) -> None:
        # Whole texts: for parts of them, both sides would have to agree on what ends a line.
        super().__init__("corpusfmt", VERSION, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self.judged = judged
        self.states: dict[str, State] = {}
        self.checking: asyncio.Task[None] | None = None
        self.worker = ThreadPoolExecutor(1)

    def positions(self, text: str) -> Positions:
        encoding = self.workspace.position_encoding
        return Positions(text, cast("Encoding", getattr(encoding, "value", encoding)))

    async def work(self, task: Callable[[], T]) -> T:
        """Run a check in its thread, one after the other, so that the server keeps answering."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, task)

    def changed(self, uri: str, text: str, version: int | None) -> None:
        """Check a new state soon; states that are replaced before are never checked."""
        known, now = self.states.get(uri), time.monotonic()
        waits_since = known.waits_since if known is not None and known.is_waiting else now
        self.states[uri] = State(text, version, known.checked if known else Checked(""), now, waits_since)
        if self.checking is None:
            self.checking = asyncio.create_task(self._check_states())

    async def _check_states(self) -> None:
        """Check texts one after the other, of those that are due the one that changed last."""
        while waiting := {uri: state for uri, state in self.states.items() if state.is_waiting}:
            now = time.monotonic()
            due = {uri: state for uri, state in waiting.items() if state.due <= now}
            if not due:
                await asyncio.sleep(min(state.due for state in waiting.values()) - now)
                continue
            uri = max(due, key=lambda each: due[each].changed)
            await self._check(uri, due[uri])
            self._drop_finished()
        self.checking = None

    async def _check(self, uri: str, state: State) -> None:
        state.is_waiting = False
        try:
            checked = await self.work(
                partial(check, state.text, _path(uri), _format(state), self.judged(*_folder(uri)))
            )
            if not gc.get_freeze_count():
                # The modules that the first check imports stay; looking for garbage in them would delay findings by 40 ms.
                gc.freeze()
            if uri in self.states:
                self.states[uri].checked = checked
                positions = self.positions(checked.text)
                found = [diagnostic(each, checked, positions) for each in checked.findings]
                self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, state.version))
        except Exception as error:
            said = f"corpusfmt cannot check {uri}: {type(error).__name__}: {error}"
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, said))

    def _drop_finished(self) -> None:
        """Remove what pygls 2.1 keeps of each message for good, 2 kB for each edit."""
        kept = getattr(self.protocol, "_request_futures", {})
        for name in [name for name, future in kept.items() if future.done()]:
            del kept[name]

    def forget(self, uri: str) -> None:
        self.states.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _path(uri: str) -> str:
    """Return the path of a text, or a name for one that was never saved, which is taken for JSON."""
    return to_fs_path(uri) or f"{uri.rpartition('/')[2].rpartition(':')[2]}.json"


def _folder(uri: str) -> list[str]:
    path = to_fs_path(uri)
    return [os.path.dirname(path)] if path else []  # noqa: PTH120


def _format(state: State) -> str:
    return state.checked.format.name if state.checked.format is not None else ""


def _opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    ls.changed(params.text_document.uri, params.text_document.text, params.text_document.version)


def _changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    ls.changed(params.text_document.uri, params.content_changes[-1].text, params.text_document.version)


def _closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    ls.forget(params.text_document.uri)


_AtCursor = lsp.CompletionParams | lsp.HoverParams | lsp.DefinitionParams | lsp.ReferenceParams


class _Cursor(Struct):
    state: State
    positions: Positions
    offset: int


def _cursor(ls: Server, params: _AtCursor) -> _Cursor | None:
    """Return where a cursor is in a text of a format with a schema; None for other texts, and long ones."""
    state = ls.states.get(params.text_document.uri)
    if state is None or state.checked.schema is None or len(state.text) > _MOST_CHARACTERS:
        return None
    positions = ls.positions(state.text)
    return _Cursor(state, positions, positions.offset(params.position.line, params.position.character))


def _complete(ls: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    cursor = _cursor(ls, params)
    if cursor is None or cursor.state.checked.schema is None:
        return []
    found = assist.complete(cursor.state.text, cursor.offset, cursor.state.checked.schema)
    return [item(each, cursor.positions) for each in found]


def _hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    cursor = _cursor(ls, params)
    if cursor is None or cursor.state.checked.schema is None:
        return None
    shown = assist.show(cursor.state.text, cursor.offset, cursor.state.checked.schema)
    return hover_of(shown, cursor.state.checked, cursor.positions, cursor.offset)


def _definition(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    cursor = _cursor(ls, params)
    found = assist.definition(cursor.state.text, cursor.offset) if cursor is not None else None
    if cursor is None or found is None:
        return None
    return lsp.Location(params.text_document.uri, range_of(cursor.positions, *found))


def _references(ls: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    cursor = _cursor(ls, params)
    if cursor is None:
        return []
    found = assist.references(cursor.state.text, cursor.offset)
    return [lsp.Location(params.text_document.uri, range_of(cursor.positions, *each)) for each in found]


async def _actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Return the repairs of findings in a range, and that of all that need no review."""
    uri = params.text_document.uri
    state = ls.states.get(uri)
    if state is None or state.checked.format is None or state.checked.text != state.text:
        return []
    positions = ls.positions(state.text)
    wanted = [str(getattr(each, "value", each)) for each in params.context.only or ()]
    found = []
    if not wanted or lsp.CodeActionKind.QuickFix.value in wanted:
        found += actions(uri, state.checked, positions, params.range)
    is_wanted = any(f"{_FIX_ALL}.".startswith(f"{each}.") for each in wanted or [_FIX_ALL])
    if is_wanted and any(each.fix is not None and each.fix.safe for each in state.checked.findings):
        every = lsp.CodeAction("Repair all that needs no review", _FIX_ALL, data=uri)
        resolves = get_capability(ls.client_capabilities, "text_document.code_action.resolve_support.properties", ())
        found.append(every if "edit" in resolves else await _resolved(ls, every))
    return [each for each in found if each.edit is not None or each.data is not None]


async def _resolved(ls: Server, action: lsp.CodeAction) -> lsp.CodeAction:
    """Add to the action that makes all repairs what it changes: it takes several checks, and editors ask for actions at each move."""
    uri = str(action.data)
    state = ls.states.get(uri)
    if state is not None:
        text = await ls.work(partial(repaired, state.text, _path(uri), _format(state), ls.judged(*_folder(uri))))
        if text is not None:
            whole = range_of(ls.positions(state.text), 0, len(state.text))
            action.edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(whole, text)]})
    action.data = None
    return action


_HANDLERS: dict[str, tuple[Callable[..., Any], Any]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: (_opened, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (_changed, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (_closed, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (_complete, lsp.CompletionOptions(trigger_characters=['"'])),
    lsp.TEXT_DOCUMENT_HOVER: (_hover, None),
    lsp.TEXT_DOCUMENT_DEFINITION: (_definition, None),
    lsp.TEXT_DOCUMENT_REFERENCES: (_references, None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (
        _actions,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, _FIX_ALL], resolve_provider=True),
    ),
    lsp.CODE_ACTION_RESOLVE: (_resolved, None),
}


_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
}
# What is underlined for a finding: the string, number or word that begins at its place, or one character.
_UNDERLINED = re.compile(r'"(?:[^"\\\n\r]|\\.)*"?|[^\s{}\[\],:"]+|.', re.DOTALL)


def range_of(positions: Positions, start: int, end: int) -> lsp.Range:
    """Return the range of the characters from `start` up to `end`."""
    return lsp.Range(lsp.Position(*positions.of(start)), lsp.Position(*positions.of(end)))


def _underlined(finding: Finding, checked: Checked, positions: Positions) -> lsp.Range:
    at, starts, end = finding.location, checked.line_starts, len(checked.text)
    line_start = 0 if at.line is None else starts[at.line - 1] if at.line <= len(starts) else end
    start = 0 if at.line is None else min(line_start + (at.column or 1) - 1, end)
    found = _UNDERLINED.match(checked.text, start)
    return range_of(positions, start, found.end() if found is not None else start)


def diagnostic(finding: Finding, checked: Checked, positions: Positions) -> lsp.Diagnostic:
    """Return a finding at its place."""
    return lsp.Diagnostic(
        range=_underlined(finding, checked, positions),
        message=finding.message + (f"\n{finding.hint}" if finding.hint else ""),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=lsp.CodeDescription(address_of(checked.rules[finding.code])),
        source="corpusfmt",
    )


def hover_of(shown: Shown | None, checked: Checked, positions: Positions, offset: int) -> lsp.Hover | None:
    """Return what is known of the characters at a cursor, and of the rules that they break."""
    texts = [shown.markdown] if shown is not None else []
    line, units = positions.of(offset)
    codes = {}
    for each in checked.findings if positions.text == checked.text else ():
        place = _underlined(each, checked, positions)
        if place.start <= lsp.Position(line, units) <= place.end:
            codes[each.code] = place
    rules = map(checked.rules.__getitem__, codes)
    texts += (f"[{rule.code}]({address_of(rule)}) {rule.slug}\n\n{rule.explanation}" for rule in rules)
    if not texts:
        return None
    place = range_of(positions, shown.start, shown.end) if shown is not None else next(iter(codes.values()))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n---\n\n".join(texts)), place)


def item(proposal: Proposal, positions: Positions) -> lsp.CompletionItem:
    """Return a proposal for a list."""
    return lsp.CompletionItem(
        label=proposal.label,
        kind=lsp.CompletionItemKind.Property if proposal.is_name else lsp.CompletionItemKind.Value,
        detail=proposal.detail or None,
        filter_text=proposal.text,
        text_edit=lsp.TextEdit(range_of(positions, proposal.start, proposal.end), proposal.text),
    )


def actions(uri: str, checked: Checked, positions: Positions, within: lsp.Range) -> list[lsp.CodeAction]:
    """Return the repairs of findings that begin in some lines."""
    content, end = Units(checked.text, "utf-8"), len(checked.text)
    found = []
    for each in checked.findings:
        if each.fix is None:
            continue
        at = _underlined(each, checked, positions)
        if not within.start.line <= at.start.line <= within.end.line:
            continue
        edits = [
            lsp.TextEdit(range_of(positions, *(content.offset(at, 0, end) for at in (edit.start, edit.end))), edit.text)
            for edit in each.fix.edits
        ]
        found.append(
            lsp.CodeAction(
                title=f"{each.code}: {each.hint or each.message}{'' if each.fix.safe else ' (to be reviewed)'}",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(each, checked, positions)],
                is_preferred=each.fix.safe,
                edit=lsp.WorkspaceEdit({uri: edits}),
            )
        )
    return found
