"""Internal: Findings, repairs and proposals as messages of the Language Server Protocol."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from corpusfmt.lsp.assist import Proposal, Shown
from corpusfmt.lsp.checking import Checked
from corpusfmt.lsp.positions import Positions, Units
from corpusfmt.model import Finding, Location, Rule, Severity
from corpusfmt.report.explained import address_of

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


def _offset(checked: Checked, at: Location) -> int:
    """Return the character at a location: columns count characters."""
    if at.line is None:
        return 0
    start = checked.line_starts[at.line - 1] if at.line <= len(checked.line_starts) else len(checked.text)
    return min(start + (at.column or 1) - 1, len(checked.text))


def _underlined(finding: Finding, checked: Checked, positions: Positions) -> lsp.Range:
    start = _offset(checked, finding.location)
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


def _explained(rule: Rule) -> str:
    return f"[{rule.code}]({address_of(rule)}) {rule.slug}\n\n{rule.explanation}"


def hover_of(shown: Shown | None, checked: Checked, positions: Positions, offset: int) -> lsp.Hover | None:
    """Return what is known of the characters at a cursor, and of the rules that they break."""
    texts = [shown.markdown] if shown is not None else []
    line, units = positions.of(offset)
    codes = {}
    for each in checked.findings if positions.text == checked.text else ():
        place = _underlined(each, checked, positions)
        if place.start <= lsp.Position(line, units) <= place.end:
            codes[each.code] = place
    texts += [_explained(checked.rules[code]) for code in codes]
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
    content = Units(checked.text, "utf-8")
    found = []
    for each in checked.findings:
        if each.fix is None:
            continue
        at = _underlined(each, checked, positions)
        if not within.start.line <= at.start.line <= within.end.line:
            continue
        edits = [
            lsp.TextEdit(range_of(positions, content.offset(edit.start), content.offset(edit.end)), edit.text)
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
