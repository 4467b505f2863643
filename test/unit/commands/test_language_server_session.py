"""The language server as a process: sessions over stdio, and its plug-ins."""

import asyncio
import importlib.util
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from flambeau.tools.main import main

URI = "file:///model.mlir"

TEXT = """builtin.module {
  func.func @forward(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %y = aten.sigmoid(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %z = aten.relu(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %u = aten.add.Tensor(%z, %z) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    func.return %u : tensor<4x8xf32>
  }
}
"""

PLUGIN = '''
from xdsl.dialects.builtin import i32
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def


@irdl_op_definition
class BarOp(IRDLOperation):
    """Does what bars do."""

    name = "foobar.bar"
    value = operand_def(i32)


FOOBAR = Dialect("foobar", [BarOp])
'''


def test_without_its_packages_the_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  it takes a name
    assert main(["lsp"]) == 1
    assert "run pip install '.[lsp]' in the folder of Flambeau's sources" in capsys.readouterr().err


def session(work: Callable[[Any, "asyncio.Queue[Any]"], Awaitable[None]], folder: Path, *arguments: str, **options: Any) -> None:
    """Runs `work` with a client of a server that is a process of its own."""

    async def run() -> None:
        client: Any = LanguageClient("test", "1")  # its methods take more than their types say
        published: asyncio.Queue[Any] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            published.put_nowait(params)

        client.told = []

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def tell(params: types.ShowMessageParams) -> None:
            client.told.append(params)

        await client.start_io(sys.executable, "-m", "flambeau.tools.main", "lsp", *arguments)
        try:
            await client.initialize_async(
                types.InitializeParams(types.ClientCapabilities(), root_uri=folder.as_uri(), initialization_options=options)
            )
            client.initialized(types.InitializedParams())
            await asyncio.wait_for(work(client, published), 60)
            await client.shutdown_async(None)
        finally:
            client.exit(None)
            await asyncio.wait_for(client.stop(), 10)

    asyncio.run(run())


def test_a_session(tmp_path: Path):
    document = types.TextDocumentIdentifier(URI)

    async def work(client: Any, published: "asyncio.Queue[Any]") -> None:
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, TEXT)))
        assert (await published.get()).diagnostics == ()
        position = types.Position(3, 20)
        described = await client.text_document_hover_async(types.HoverParams(document, position))
        assert described is not None
        assert "%y : tensor<4x8xf32>" in str(described.contents)
        found = await client.text_document_definition_async(types.DefinitionParams(document, position))
        assert [item.range.start.line for item in found or ()] == [2]
        uses = types.ReferenceParams(types.ReferenceContext(True), document, position)
        assert len(await client.text_document_references_async(uses) or ()) == 2
        change = types.TextDocumentContentChangePartial(types.Range(types.Position(3, 14), types.Position(3, 18)), "rleu")
        for version in (2, 3):
            client.text_document_did_change(
                types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version=version, uri=URI), [change])
            )
        report = await published.get()
        assert (report.version, [item.message for item in report.diagnostics]) == (
            3,
            ["there is no operation aten.rleu; did you mean 'aten.relu'?"],
        )
        items = await client.text_document_completion_async(types.CompletionParams(document, types.Position(3, 16)))
        assert "aten.reciprocal" not in str(items)
        assert not await client.text_document_document_symbol_async(types.DocumentSymbolParams(document)), "the function holds the error"
        hints = types.InlayHintParams(document, types.Range(types.Position(0, 0), types.Position(7, 0)))
        assert [hint.label for hint in await client.text_document_inlay_hint_async(hints) or ()] == ["self:", "other:"]
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(document, report.diagnostics[0].range, types.CodeActionContext(report.diagnostics))
        )
        assert len(actions or ()) == 2
        client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert (await published.get()).diagnostics == ()

    session(work, tmp_path)


def test_plug_ins_come_from_the_command_line_or_the_settings(tmp_path: Path):
    (tmp_path / "foobar.py").write_text(PLUGIN)
    text = '%0 = "foobar.bar"() : () -> i32\n'

    async def work(client: Any, published: "asyncio.Queue[Any]") -> None:
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, text)))
        report = await published.get()
        while "no operation" in report.diagnostics[0].message:
            report = await published.get()  # it was opened before the settings had come
        assert "operand" in report.diagnostics[0].message

    session(work, tmp_path, plugins=["foobar.py"])
    session(work, tmp_path, "--load-plugin", str(tmp_path / "foobar.py"))


def test_dialects_of_installed_packages_are_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    (tmp_path / "bars.py").write_text(f"{PLUGIN}\nprint('loaded')\n")
    about = tmp_path / "bars-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bars\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[flambeau.plugins]\nbars = bars\n")

    async def work(client: Any, published: "asyncio.Queue[Any]") -> None:
        for text, labels in (("foob", ["foobar"]), ("foobar.", ["foobar.bar"])):
            client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, text)))
            await published.get()
            asked = types.CompletionParams(types.TextDocumentIdentifier(URI), types.Position(0, len(text)))
            assert [item.label for item in (await client.text_document_completion_async(asked)).items] == labels
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
            await published.get()

    session(work, tmp_path)


def test_what_cannot_be_answered_is_no_failure_of_the_server(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    closed = types.TextDocumentIdentifier((tmp_path / "nowhere.mlir").as_uri())

    async def work(client: Any, published: "asyncio.Queue[Any]") -> None:
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, TEXT)))
        await published.get()
        for name, words in (("z", "the name of something else"), ("a b", "is not a name")):
            with pytest.raises(Exception, match=words):
                await client.text_document_rename_async(types.RenameParams(types.TextDocumentIdentifier(URI), types.Position(2, 5), name))
        assert await client.text_document_hover_async(types.HoverParams(closed, types.Position(3, 20))) is None
        assert not await client.text_document_formatting_async(types.DocumentFormattingParams(closed, types.FormattingOptions(2, True)))

    session(work, tmp_path)
    assert "Traceback" not in capfd.readouterr().err


def test_a_plug_in_that_fails_does_not_end_the_server(tmp_path: Path):
    (tmp_path / "foobar.py").write_text("1 / 0")

    async def work(client: Any, published: "asyncio.Queue[Any]") -> None:
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, TEXT)))
        assert (await published.get()).diagnostics == ()
        while not client.told:
            await asyncio.sleep(0.05)
        assert "foobar.py:1" in client.told[0].message

    session(work, tmp_path, "--load-plugin", str(tmp_path / "foobar.py"))


def test_a_plug_in_that_changes_is_loaded_again(tmp_path: Path):
    path = tmp_path / "foobar.py"
    path.write_text(PLUGIN)
    text = '%0 = "foobar.baz"() : () -> i32\n'

    async def work(client: Any, published: "asyncio.Queue[Any]") -> None:
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, text)))
        report = await published.get()
        while "did you mean" not in report.diagnostics[0].message:
            report = await published.get()
        path.write_text(PLUGIN.replace("foobar.bar", "foobar.baz"))
        assert "operand" in (await published.get()).diagnostics[0].message

    session(work, tmp_path, plugins=["gone.py", "foobar.py"])
