"""Sessions with the language server, as an editor has them: a process of its own, over standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from support import FIXTURES, every, run_cli

import corpusfmt
from corpusfmt.engine.sharing import Judging
from corpusfmt.lsp.server import Server

CASES = FIXTURES / "croissant"
COMPLETE = CASES / "1.1" / "valid" / "complete" / "input.json"
_SECONDS = 120
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}


class Editor:
    """An editor that has texts open, and waits for what the server says of them."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.published: dict[str, list[lsp.PublishDiagnosticsParams]] = defaultdict(list)
        self.arrived = asyncio.Event()

        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published[params.uri].append(params)
            self.arrived.set()

        client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)

    def open(self, path: Path | str, text: str) -> str:
        uri = path.as_uri() if isinstance(path, Path) else path
        document = lsp.TextDocumentItem(uri, "json", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
        return uri

    def change(self, uri: str, text: str, version: int) -> None:
        document = lsp.VersionedTextDocumentIdentifier(version=version, uri=uri)
        whole = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, whole))

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[lsp.Diagnostic]:
        """Wait for the findings in a version of a text."""
        async with asyncio.timeout(_SECONDS):
            while True:
                for each in self.published[uri]:
                    if each.version == version:
                        return list(each.diagnostics)
                self.arrived.clear()
                await self.arrived.wait()

    async def actions(self, uri: str, text: str, *only: str) -> Sequence[lsp.CodeAction]:
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(text.count("\n"), 0))
        context = lsp.CodeActionContext([], only=[lsp.CodeActionKind(each) for each in only] or None)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), whole, context)
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, lsp.CodeAction)]


@asynccontextmanager
async def editing(
    *arguments: str, encoding: str = "utf-16", resolves: Sequence[str] = (), cwd: Path | None = None, said: str = ""
) -> AsyncIterator[Editor]:
    client = LanguageClient("test", "1")
    editor = Editor(client)
    await client.start_io(sys.executable, "-m", "corpusfmt", "lsp", *arguments, cwd=cwd)
    general = lsp.GeneralClientCapabilities(position_encodings=[lsp.PositionEncodingKind(encoding)])
    action = lsp.CodeActionClientCapabilities(resolve_support=lsp.ClientCodeActionResolveOptions(resolves))
    document = lsp.TextDocumentClientCapabilities(code_action=action)
    capabilities = lsp.ClientCapabilities(general=general, text_document=document)
    await client.initialize_async(lsp.InitializeParams(capabilities))
    client.initialized(lsp.InitializedParams())
    stop: Callable[[], Awaitable[None]] = client.stop
    server = client._server
    assert server is not None
    assert server.stderr is not None
    try:
        yield editor
        await client.shutdown_async(None)
        client.exit(None)
        async with asyncio.timeout(_SECONDS):
            assert (await server.stderr.read(), await server.wait()) == (said.encode(), 0)
    finally:
        if server.returncode is None:
            server.kill()
        await stop()


def session(
    scene: Callable[[Editor], Awaitable[None]],
    *arguments: str,
    encoding: str = "utf-16",
    resolves: Sequence[str] = (),
) -> None:
    async def run() -> None:
        async with editing(*arguments, encoding=encoding, resolves=resolves) as editor:
            await scene(editor)

    asyncio.run(run())


def place(data: bytes, byte: int, encoding: str) -> tuple[int, int]:
    """Return the line and units of a byte: lines end with LF, CR or both."""
    before = data[:byte].replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode()
    codec, width = _UNITS[encoding]
    return before.count("\n"), len(before[before.rfind("\n") + 1 :].encode(codec)) // width


def seen(diagnostics: Sequence[lsp.Diagnostic]) -> list[tuple[Any, ...]]:
    return sorted((each.code, each.range.start.line, each.range.start.character, each.message) for each in diagnostics)


def of_command(path: Path, encoding: str) -> list[tuple[Any, ...]]:
    """Return what `validate` finds in a file, in the terms of the protocol."""
    data = path.read_bytes()
    try:
        found = corpusfmt.validate(path, max_per_rule=1_000).findings
    except corpusfmt.UsageError:  # in no known format
        return []
    return sorted(
        (
            each.code,
            *place(data, each.location.byte or 0, encoding),
            each.message + (f"\n{each.hint}" if each.hint else ""),
        )
        for each in found
    )


@pytest.mark.parametrize("rest", every(4, range(4)))
@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "1.0"), ("utf-8", "1.1")])
def test_findings_are_those_of_the_command_at_their_places(encoding: str, name: str, rest: int) -> None:
    texts = {}
    for path in sorted(CASES.glob(f"{name}/*/*/input.json"))[rest::4]:
        # An editor decodes what is not UTF-8, and removes a byte order mark.
        with suppress(UnicodeDecodeError):
            texts[path] = path.read_bytes().decode()
    texts = {path: text for path, text in texts.items() if not text.startswith("\ufeff")}

    async def scene(editor: Editor) -> None:
        for path, text in texts.items():
            editor.open(path, text)
        for path in texts:
            wanted = of_command(path, encoding)
            assert seen(await editor.diagnostics(path.as_uri())) == wanted, path

    assert len(texts) > 15
    session(scene, encoding=encoding)


def test_a_text_that_is_typed(tmp_path: Path) -> None:
    text = COMPLETE.read_text("utf-8")
    broken = tmp_path / "croissant.json"
    broken.write_text(text.replace('"datePublished"', '"datePublishd"'), "utf-8")

    async def scene(editor: Editor) -> None:
        uri = editor.open("untitled:Untitled-1", text)
        assert await editor.diagnostics(uri) == []
        editor.change(uri, text[: len(text) // 2], 2)
        assert [each.code for each in await editor.diagnostics(uri, 2)] == ["CRO101"]
        for version in range(3, 1_003):
            editor.change(uri, text[:version], version)
        editor.change(uri, broken.read_text("utf-8"), 1_003)
        found = seen(await editor.diagnostics(uri, 1_003))
        assert {each[0] for each in found} >= {"CRO210"}
        assert found == of_command(broken, "utf-16")
        # The states in between were replaced before a check began.
        assert len(editor.published[uri]) < 100
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await editor.diagnostics(uri, None) == []

    session(scene)


def test_texts_in_no_known_format_and_hostile_ones() -> None:
    async def scene(editor: Editor) -> None:
        for text in ("", "{}", "[1]", "hello", "\x00" * 9, "\ud800", '{"a":' * 10_000):
            uri = editor.open(f"untitled:{len(text)}-{text[:1]!r}", text.encode("utf-8", "replace").decode())
            assert await editor.diagnostics(uri) == []
        longest = editor.open("untitled:longest", f'{{"@context": "{"x" * 20_000_000}"}}')
        assert await editor.diagnostics(longest) == []
        uri = editor.open(
            Path("/nowhere/croissant.json"), '{"@context": {}, "@type": "sc:Dataset", "recordSet": ' + "[" * 5_000
        )
        assert [each.code for each in await editor.diagnostics(uri)] == ["CRO104"]

    session(scene)


def test_a_long_text_has_findings_and_no_completion() -> None:
    async def scene(editor: Editor) -> None:
        text = COMPLETE.read_text("utf-8")
        for padding, some in ((0, True), (1_000_000, False)):
            uri = editor.open(f"untitled:{padding}", text + " " * padding)
            assert await editor.diagnostics(uri) == []
            at = (lsp.TextDocumentIdentifier(uri), lsp.Position(0, 1))
            found = await editor.client.text_document_completion_async(lsp.CompletionParams(*at))
            assert bool(found) is some

    session(scene)


def test_findings_after_other_ends_of_lines_than_those_of_the_protocol_are_at_their_places() -> None:
    lines = [
        "{",
        '"@context": "http://mlcommons.org/croissant/1.1",\r',
        '"a": "\u2028\u0085",\r"b": 1,',
        '"@type": !',
        "}",
    ]

    async def scene(editor: Editor) -> None:
        uri = editor.open("untitled:lines", "\n".join(lines))
        assert [(each.range.start.line, each.range.start.character) for each in await editor.diagnostics(uri)] == [
            (4, 9)
        ]

    session(scene)


def test_hover_completion_and_definition() -> None:
    text = COMPLETE.read_text("utf-8")
    lines = text.split("\n")

    def cursor(uri: str, piece: str, after: int = 2) -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
        line = max(number for number, each in enumerate(lines) if piece in each)
        return lsp.TextDocumentIdentifier(uri), lsp.Position(line, lines[line].index(piece) + after)

    async def scene(editor: Editor) -> None:
        uri = editor.open("untitled:Untitled-1", text)
        await editor.diagnostics(uri)
        hover = await editor.client.text_document_hover_async(lsp.HoverParams(*cursor(uri, '"contentUrl"')))
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.value.startswith("**contentUrl**\n\nA URL, or a path")
        in_name = lsp.CompletionParams(*cursor(uri, '"fileObject": {'))
        completed = await editor.client.text_document_completion_async(in_name)
        assert isinstance(completed, Sequence)
        labels = {each.label for each in completed}
        assert labels >= {"fileObject", "fileSet", "recordSet", "transform"}
        used = cursor(uri, '"@id": "films.csv"', 10)
        defined = await editor.client.text_document_definition_async(lsp.DefinitionParams(*used))
        assert isinstance(defined, lsp.Location)
        assert lines[defined.range.start.line][defined.range.start.character :].startswith('"films.csv"')

    session(scene)


FIXABLE = sorted(
    path
    for path in CASES.glob("1.[01]/invalid/*/input.json")
    if path.parent.name in ("live-yes", "conformsto-https", "id-with-spaces", "value-and-source")
)


def applied(text: str, edits: Sequence[Any]) -> str:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        first, end = (starts[each.line] + each.character for each in (edit.range.start, edit.range.end))
        text = text[:first] + edit.new_text + text[end:]
    return text


def edits_of(actions: Sequence[lsp.CodeAction], uri: str) -> list[Any]:
    return [edit for each in actions if each.edit and each.edit.changes for edit in each.edit.changes[uri]]


@pytest.mark.parametrize("path", FIXABLE, ids=lambda path: path.parent.name)
def test_actions_are_the_repairs_of_fix(path: Path, tmp_path: Path) -> None:
    text = path.read_text("utf-8")
    (tmp_path / "croissant.json").write_text(text, "utf-8")
    run_cli("fix", tmp_path / "croissant.json")
    report = corpusfmt.validate(path, max_per_rule=1_000)
    wanted = [each for each in report.findings if each.fix is not None]

    async def scene(editor: Editor) -> None:
        uri = editor.open("untitled:croissant.json", text)
        await editor.diagnostics(uri)
        quick = await editor.actions(uri, text, "quickfix")
        assert sorted(each.title.partition(":")[0] for each in quick) == sorted(each.code for each in wanted)
        for action in quick:
            assert action.edit is not None
            assert action.edit.changes is not None
            json.loads(applied(text, action.edit.changes[uri]))
        everything = await editor.actions(uri, text, "source.fixAll")
        after = (tmp_path / "croissant.json").read_text("utf-8")
        edits = edits_of(everything, uri)
        assert applied(text, edits) == after
        assert bool(edits) == (after != text)

    session(scene)


def test_repairs_of_all_are_made_when_an_editor_asks_for_what_they_change() -> None:
    text = next(path for path in FIXABLE if path.parent.name == "live-yes").read_text("utf-8")

    async def scene(editor: Editor) -> None:
        uri = editor.open("untitled:croissant.json", text)
        await editor.diagnostics(uri)
        (action,) = await editor.actions(uri, text, "source.fixAll")
        assert action.edit is None
        after = await editor.client.code_action_resolve_async(action)
        assert json.loads(applied(text, edits_of([after], uri))) != json.loads(text)
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert (await editor.client.code_action_resolve_async(action)).edit is None

    session(scene, resolves=["edit"])


def test_the_text_that_is_edited_is_checked_before_others_that_wait() -> None:
    text = COMPLETE.read_text("utf-8")

    async def scene(editor: Editor) -> None:
        edited = editor.open("untitled:edited", text)
        uris = [editor.open(f"untitled:{number}", text) for number in range(60)]
        editor.change(edited, text[:-9], 2)
        await editor.diagnostics(edited, 2)
        assert sum(map(len, editor.published.values())) < 60
        for uri in uris:
            assert await editor.diagnostics(uri) == []

    session(scene)


def test_after_a_bug_the_next_change_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        server, said, published = Server(Judging), asyncio.Queue[str](), asyncio.Queue[int | None]()
        monkeypatch.setattr(server, "window_show_message", lambda shown: said.put_nowait(shown.message))
        monkeypatch.setattr(server, "positions", lambda *_: 1 // 0)
        server.changed("untitled:x", "{}", 1)
        shown = await asyncio.wait_for(said.get(), 60)
        assert shown.startswith("corpusfmt cannot check untitled:x: ZeroDivisionError: ")
        monkeypatch.setattr(server, "positions", lambda *_: None)
        monkeypatch.setattr(
            server, "text_document_publish_diagnostics", lambda params: published.put_nowait(params.version)
        )
        server.changed("untitled:x", "{ }", 2)
        assert await asyncio.wait_for(published.get(), 60) == 2

    asyncio.run(scene())


def test_wrong_settings_are_an_error_of_one_line() -> None:
    ended = run_cli("lsp", "--profile", "nothing")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"error: unknown profile 'nothing'")
    assert ended.stderr.count(b"\n") == 1


def test_settings_count_unless_they_are_in_the_folder_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "corpusfmt.toml").write_text('ignore = ["CRO"]\n', "utf-8")
    (tmp_path / "below").mkdir()
    text = COMPLETE.read_text("utf-8").replace('"license"', '"licence"')

    async def scene() -> None:
        async with editing(cwd=tmp_path, said="settings: corpusfmt.toml\n" * 2) as editor:
            assert await editor.diagnostics(editor.open(tmp_path / "below" / "croissant.json", text)) == []
            assert await editor.diagnostics(editor.open(tmp_path / "croissant.json", text))

    asyncio.run(scene())


def test_a_profile_applies() -> None:
    text = COMPLETE.read_text("utf-8").replace('"rai:dataBiases"', '"rai:dataUseCases"')

    async def scene(editor: Editor) -> None:
        uri = editor.open("untitled:croissant.json", text)
        assert any("dataBiases" in each.message for each in await editor.diagnostics(uri))

    session(scene, "--profile", "neurips-2026")
