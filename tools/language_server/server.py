"""The server: open files, read again after each pause in typing, and the editor's requests about them."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from flambeau.plugins.loader import load_plugin, loaded_plugins
from flambeau.support.tables import discover
from flambeau.tools.language_server import code_actions, completion, hints, hover, navigation, published_diagnostics
from flambeau.tools.language_server.analysis import Analysis, Settings, analyze, completed, moved

PAUSE = 0.15
"""Seconds without a change after which a file is read again."""

LEISURE = 0.5
"""Seconds without a change after which the names of large modules are read, unless a request needs them before."""

WATCH = 1.0
"""Seconds between two looks at the files of plug-ins."""

VERSION = "1"


@dataclass
class _OpenFile:
    analysis: Analysis
    changes: int = 0
    """The number of changes of the text, which shows whether work on an earlier text is out of date."""
    is_read: bool = False
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class FlambeauLanguageServer(LanguageServer):
    """A language server for modules of every dialect that the registry or a plug-in knows."""

    def __init__(self, settings: Settings | None = None, plugins: Sequence[Path] = ()):
        super().__init__("flambeau", VERSION)  # pyright: ignore[reportUnknownMemberType]  pygls leaves its other arguments untyped
        self.options: object = None
        """The settings that the editor gave when it started the server."""
        self._settings = settings or Settings()
        self._plugins = list(plugins)
        self._stamp: dict[Path, tuple[int, int] | None] = {}
        self._troubles: dict[Path, str] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._files: dict[str, _OpenFile] = {}
        logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_no_answer)
        # One thread reads: dialects are loaded at their first use, which is not safe in two threads.
        self._reader = ThreadPoolExecutor(1, "reader")

    # Files

    def _file(self, uri: str) -> _OpenFile:
        found = self._files.get(uri)
        if found is None:
            encoding = self.server_capabilities.position_encoding or types.PositionEncodingKind.Utf16
            settings = Settings(self._settings.allow_unregistered, types.PositionEncodingKind(encoding).value)
            name = Path(to_fs_path(uri) or uri).name
            found = _OpenFile(moved("", Analysis("", name, settings)))
            if uri in self.workspace.text_documents:
                self._files[uri] = found
        return found

    def _text(self, uri: str) -> str:
        """Returns the text of an open file; empty if the file is not open."""
        return self.workspace.get_text_document(uri).source if uri in self.workspace.text_documents else ""

    async def changed(self, uri: str, pause: float) -> None:
        """Reads a file again if it does not change for a while, and sends its diagnostics to the editor."""
        file = self._file(uri)
        file.changes += 1
        change = file.changes
        await asyncio.sleep(pause)
        if change == file.changes and uri in self._files:
            await self._read(uri, file)
            await asyncio.sleep(LEISURE)
        if change == file.changes and uri in self._files:
            await self._read(uri, file, with_names=True)

    async def _read(self, uri: str, file: _OpenFile, *, with_names: bool = False) -> None:
        """Reads the current text unless it was read; the names of large modules too, unless the text changes meanwhile."""
        async with file.reading:
            text = self._text(uri)
            loop = asyncio.get_running_loop()
            if not file.is_read or text != file.analysis.text:
                analysis = await loop.run_in_executor(self._reader, self._analyze, text, file.analysis)
                file.analysis, file.is_read = analysis, True
                if self._text(uri) == text and uri in self._files:
                    self._publish(uri, analysis)
            if with_names and not file.analysis.is_complete:
                change = file.changes
                file.analysis = await loop.run_in_executor(self._reader, completed, file.analysis, lambda: file.changes == change)

    def _analyze(self, text: str, previous: Analysis) -> Analysis:
        return analyze(text, previous.file, previous.settings, previous)

    def _publish(self, uri: str, analysis: Analysis) -> None:
        version = self.workspace.get_text_document(uri).version
        found = published_diagnostics.diagnostics(analysis, uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version=version))

    def known(self, uri: str) -> Analysis:
        """Returns the analysis of a file's current text, with results of the last reading; it may not have been read yet."""
        file = self._file(uri)
        text = self._text(uri)
        return file.analysis if file.analysis.text == text else moved(text, file.analysis)

    async def settled(self, uri: str) -> Analysis:
        """The analysis of a file's current text."""
        file = self._file(uri)
        change = -1
        while change != file.changes:
            change = file.changes
            await self._read(uri, file, with_names=True)
        return self.known(uri)

    def close(self, uri: str) -> None:
        """Forgets a file."""
        if (file := self._files.pop(uri, None)) is not None:
            file.changes += 1
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    # Settings

    async def configure(self, options: object) -> None:
        """Takes settings: `plugins`, paths relative to the workspace, and `allowUnregisteredDialect`. Malformed settings are reported."""
        given = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
        given = cast("dict[str, Any]", given.get("flambeau", given))
        allow = given.get("allowUnregisteredDialect")
        if isinstance(allow, bool) and allow != self._settings.allow_unregistered:
            self._settings = Settings(allow, self._settings.encoding)
            await self._read_all()
        root = Path(self.workspace.root_path or ".")
        named = given.get("plugins", [])
        if not isinstance(named, list) or not all(isinstance(item, str) for item in cast("list[object]", named)):
            self._complain("flambeau.plugins must be a list of paths")
            named = []
        for path in (root / Path(item).expanduser() for item in cast("list[str]", named)):
            if path not in self._plugins:
                self._plugins.append(path)
        await self.reload_plugins()

    async def discover_plugins(self) -> None:
        """Loads the plug-ins of installed packages once, so that their names are proposed too."""
        await asyncio.get_running_loop().run_in_executor(self._reader, _discover)

    def watch_plugins(self) -> None:
        """Begins to reload plug-ins when their files change, in whatever editor."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            if self._stamp_of_plugins() != self._stamp:
                await self.reload_plugins()

    def _stamp_of_plugins(self) -> dict[Path, tuple[int, int] | None]:
        """Returns the modification times and sizes of plug-in files; None for a missing one."""
        return {file: _stamp_of(file) for path in self._plugins for file in (path.rglob("*.py") if path.is_dir() else (path,))}

    async def reload_plugins(self) -> None:
        """Loads plug-ins that are new or have changed; if there are any, every file is read again. The same problem is reported once."""
        before = loaded_plugins()
        self._stamp = self._stamp_of_plugins()
        for path in self._plugins:
            try:
                await asyncio.get_running_loop().run_in_executor(self._reader, load_plugin, path)
                self._troubles.pop(path, None)
            except (ValueError, OSError) as error:
                if self._troubles.get(path) != str(error):
                    self._troubles[path] = str(error)
                    self._complain(str(error))
        if loaded_plugins() != before:
            await self._read_all()

    async def _read_all(self) -> None:
        for uri, file in list(self._files.items()):
            file.is_read = False
            settings = Settings(self._settings.allow_unregistered, file.analysis.settings.encoding)
            # Requests may need the old names until the text is read again.
            file.analysis = replace(moved(self._text(uri), file.analysis), settings=settings)
            await self.changed(uri, 0)

    def _complain(self, message: str) -> None:
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))


def _discover() -> None:
    with redirect_stdout(sys.stderr):  # stdout is the editor's
        discover()


def _is_no_answer(record: logging.LogRecord) -> bool:
    """Returns whether a log record is to be shown: False for the refusal of a request, such as a name that is in use."""
    return record.exc_info is None or not isinstance(record.exc_info[1], JsonRpcInvalidParams)


def _stamp_of(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def make_server(settings: Settings | None = None, plugins: Sequence[Path] = ()) -> FlambeauLanguageServer:
    """Returns a server with all features, ready to `start_io()`."""
    server = FlambeauLanguageServer(settings, plugins)
    _register_files(server)
    _register_requests(server)
    return server


def _register_files(server: FlambeauLanguageServer) -> None:
    @server.feature(types.INITIALIZE)
    def initializing(ls: FlambeauLanguageServer, params: types.InitializeParams) -> None:
        ls.options = params.initialization_options

    @server.feature(types.INITIALIZED)
    async def initialized(ls: FlambeauLanguageServer, _: types.InitializedParams) -> None:
        await ls.configure(ls.options)
        ls.watch_plugins()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(ls: FlambeauLanguageServer, params: types.DidChangeConfigurationParams) -> None:
        await ls.configure(params.settings)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: FlambeauLanguageServer, params: types.DidOpenTextDocumentParams) -> None:
        await ls.changed(params.text_document.uri, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: FlambeauLanguageServer, params: types.DidChangeTextDocumentParams) -> None:
        await ls.changed(params.text_document.uri, PAUSE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: FlambeauLanguageServer, _: types.DidSaveTextDocumentParams) -> None:
        await ls.reload_plugins()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: FlambeauLanguageServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.close(params.text_document.uri)


def _register_requests(server: FlambeauLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def on_hover(ls: FlambeauLanguageServer, params: types.HoverParams) -> types.Hover | None:
        return hover.hover(ls.known(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def on_definition(ls: FlambeauLanguageServer, params: types.DefinitionParams) -> list[types.Location]:
        uri = params.text_document.uri
        analysis = ls.known(uri)
        found = [types.Location(uri, place) for place in navigation.definition(analysis, params.position)]
        return found or navigation.model_source(analysis, params.position, Path(to_fs_path(uri) or uri).parent)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def on_references(ls: FlambeauLanguageServer, params: types.ReferenceParams) -> list[types.Location]:
        uri = params.text_document.uri
        found = navigation.references(ls.known(uri), params.position, declaration=params.context.include_declaration)
        return [types.Location(uri, place) for place in found]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def on_highlight(ls: FlambeauLanguageServer, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        return navigation.highlights(ls.known(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    async def on_rename(ls: FlambeauLanguageServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
        uri = params.text_document.uri
        try:
            changes = navigation.rename(await ls.settled(uri), params.position, params.new_name)
        except ValueError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        return None if changes is None else types.WorkspaceEdit(changes={uri: changes})

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def on_symbols(ls: FlambeauLanguageServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return navigation.document_symbols(await ls.settled(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list(completion.TRIGGERS)))
    async def on_completion(ls: FlambeauLanguageServer, params: types.CompletionParams) -> types.CompletionList:
        await ls.discover_plugins()
        return types.CompletionList(False, completion.complete(ls.known(params.text_document.uri), params.position))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]))
    def on_code_action(ls: FlambeauLanguageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        return code_actions.code_actions(ls.known(uri), uri, params.context.diagnostics, params.range)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def on_inlay_hint(ls: FlambeauLanguageServer, params: types.InlayHintParams) -> list[types.InlayHint]:
        return hints.inlay_hints(ls.known(params.text_document.uri), params.range)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def on_formatting(ls: FlambeauLanguageServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        return code_actions.formatting(await ls.settled(params.text_document.uri))
