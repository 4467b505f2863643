"""One plug-in of each kind, at work: what a person outside writes, and what it then does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.text.module_text import IRError, parse_module
from flambeau.frontends.interface import SourceError
from flambeau.passes.delegation.interface import BackendError, find_backend
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.registry import PipelineError
from flambeau.passes.planning.buffers import PlanError
from flambeau.passes.targets.interface import Target, UnknownTargetError, find_target, register_target, target_names
from flambeau.plugins.loader import load_plugin, plugin_scope
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.support.tables import declared_by
from flambeau.tools.commands.engines import about_backends
from flambeau.tools.commands.model_source import load_source
from flambeau.tools.main import main as flambeau_main


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with plugin_scope():
        yield


def load(folder: Path, text: str, name: str = "plugin.py") -> None:
    path = folder / name
    path.write_text(text)
    load_plugin(path)


def run(pipeline: str, text: str) -> tuple[ModuleOp, FlambeauContext]:
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.parse(pipeline).run(module, context)
    return module, context


CHAIN = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.cos(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.sin(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""

PRODUCTS = """
func.func @forward(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = edge.mm(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = edge.mm(%0, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}
"""

PLANNER = """
from collections.abc import Sequence

from flambeau import planner
from flambeau.passes.planning.buffers import Buffer


@planner("by-birth")
def by_birth(buffers: Sequence[Buffer]) -> Sequence[int]:
    '''First fit in the order of birth.'''
    offsets: dict[int, int] = {}
    for index in sorted(range(len(buffers)), key=lambda index: buffers[index].start):
        mine = buffers[index]
        live = [other for other in offsets if buffers[other].start < mine.end and mine.start < buffers[other].end]
        offset = 0
        for other in sorted(live, key=lambda other: offsets[other]):
            if offset + mine.size <= offsets[other]:
                break
            offset = max(offset, offsets[other] + buffers[other].size)
        offsets[index] = offset
    return [offsets[index] for index in range(len(buffers))]
"""


def test_a_planner(tmp_path: Path):
    load(tmp_path, PLANNER)
    module, context = run("edge-to-exec,plan-memory{algorithm=by-birth alignment=64},verify-plan", PRODUCTS)
    method = next(op for op in module.body.block.ops if isinstance(op, MethodOp))
    assert str(method.attributes["flambeau.arena_algorithm"]) == '"by-birth"'
    x, y = np.random.default_rng(0).standard_normal((2, 4, 4), dtype=np.float32)
    (found,) = interpret(module, context).run("forward", [x, y])
    np.testing.assert_allclose(np.asarray(found), x @ y @ y, rtol=1e-5)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [0] * len(buffers)", "buffers 0 and 1 are live together and share bytes"),
        ("return [0]", r"the planner 'bad' gave 1 offsets for \d buffers"),
        ("return [0.5] * len(buffers)", "the planner 'bad' did not give a sequence of whole numbers: 'float'"),
        ("return None", "the planner 'bad' did not give a sequence of whole numbers: 'NoneType'"),
        ("return [-16 * index for index in range(len(buffers))]", "the planner 'bad' gave buffer 1 the negative offset -16"),
    ],
)
def test_a_wrong_planner_is_caught(body: str, message: str, tmp_path: Path):
    load(tmp_path, f"from flambeau import planner\n@planner('bad')\ndef bad(buffers):\n    {body}\n")
    with pytest.raises(PassError, match=message) as caught:
        run("builtin.module(edge-to-exec,plan-memory{algorithm=bad})", PRODUCTS)
    assert isinstance(caught.value.__cause__, PlanError)


def test_what_a_plugin_raises_inside_of_our_pass_is_shown_in_its_file(tmp_path: Path):
    for body, message in [("return {}['x']", "KeyError: 'x'"), ("raise ValueError('too many')", "too many")]:
        load(tmp_path, f"from flambeau import planner\n@planner('bad')\ndef bad(buffers):\n    {body}\n")
        with pytest.raises(PassError, match=message) as caught:
            run("builtin.module(edge-to-exec,plan-memory{algorithm=bad})", PRODUCTS)
        (note,) = caught.value.diagnostic.notes
        assert note.message == "raised here" and note.position is not None
        assert (Path(note.position.file).name, note.position.line) == ("plugin.py", 4)


def test_a_bug_of_a_front_end_is_shown_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "front.py").write_text(
        "from flambeau import frontend\n@frontend('.steps')\ndef steps(source, context):\n    return {}['x']\n"
    )
    (tmp_path / "model.steps").touch()
    assert flambeau_main(["compile", "model.steps", "--load-plugin", "front.py"]) == 70
    assert "error: internal error: KeyError: 'x'\nfront.py:4:12: note: raised here\n" in capsys.readouterr().err


def test_an_unknown_planner_lists_those_of_plugins(tmp_path: Path):
    load(tmp_path, PLANNER)
    with pytest.raises(PipelineError, match=r"there is no planning algorithm 'by-death'; there are best, .*naive, by-birth"):
        run("edge-to-exec,plan-memory{algorithm=by-death}", CHAIN)


FRONTEND = """
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp

from flambeau import frontend
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.ir.tensor_types import tensor


@frontend(".steps")
def steps(source: str, context: FlambeauContext) -> ModuleOp:
    '''A file of operators' names, applied to a vector one after the other.'''
    function = FuncOp("forward", ([tensor(f32, (4,))], [tensor(f32, (4,))]))
    value = function.body.block.args[0]
    for number, line in enumerate(Path(source).read_text().split(), 1):
        kind = find_op(f"aten.{line}")
        if kind is None:
            raise ValueError(f"{source}:{number}: error: ATen has no operator {line!r}")
        op = kind(value)
        function.body.block.add_op(op)
        value = op.result
    function.body.block.add_op(ReturnOp(value))
    return ModuleOp([function])


@frontend("hub://")
def hub(source: str, context: FlambeauContext) -> ModuleOp:
    return ModuleOp([]) if source == "hub://empty" else source


@frontend(".broken.steps")
def broken(source: str, context: FlambeauContext) -> ModuleOp:
    function = FuncOp("forward", ([f32], [f32]))
    function.body.block.add_op(ReturnOp())
    return ModuleOp([function])
"""


def test_a_front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "front.py").write_text(FRONTEND)
    (tmp_path / "model.steps").write_text("cos\nrelu\n")
    np.save("x.npy", np.arange(4, dtype=np.float32))
    assert flambeau_main(["compile", "model.steps", "--load-plugin", "front.py"]) == 0
    assert flambeau_main(["run", "model.pte", "--input", "x.npy", "--output", "y.npz"]) == 0
    (found,) = np.load("y.npz").values()
    np.testing.assert_allclose(found, np.maximum(np.cos(np.arange(4)), 0), rtol=1e-6)
    (tmp_path / "wrong.steps").write_text("cos\nrelo\n")
    capsys.readouterr()
    assert flambeau_main(["compile", "wrong.steps", "--load-plugin", "front.py"]) == 1
    assert capsys.readouterr().err.endswith("wrong.steps:2: error: ATen has no operator 'relo'\n")
    assert flambeau_main(["compile", "model.steps"]) == 1
    assert "a program is a .mlir, .pt2, .pte, .bpte file, package.module:name or file.py:name" in capsys.readouterr().err


def test_a_front_end_of_a_scheme_and_what_front_ends_may_not_give(tmp_path: Path):
    load(tmp_path, FRONTEND)
    (tmp_path / "x.broken.steps").write_text("")
    context = FlambeauContext()
    assert isinstance(load_source("hub://empty", context), ModuleOp)
    for source, message in {
        "hub://other": "its front end returned str, not a module",
        "other://x": "a program is a .mlir, .pt2, .pte, .bpte, .steps, hub://, .broken.steps file, package.module:name or file.py:name",
        str(tmp_path / "x.broken.steps"): "its front end returned an invalid module: ",
        str(tmp_path / "gone.steps"): "no such file: ",
    }.items():
        with pytest.raises(SourceError, match=message):
            load_source(source, context)


DIALECT = """
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from flambeau import interprets, row
from flambeau.dialects.schema.row import SchemaOp


@irdl_op_definition
class ReverseOp(IRDLOperation):
    name = "toy.reverse"
    x = operand_def(TensorType)
    y = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($y)"


TOY = Dialect("toy", [ReverseOp], [])


@interprets(ReverseOp)
def reverse(op: ReverseOp, values: Sequence[Any]) -> Sequence[Any]:
    return [values[0][::-1]]


@row("toy", "toy", "twice(Tensor x) -> Tensor")
class TwiceOp(SchemaOp):
    '''2 x.'''

    @staticmethod
    def infer(x: Any) -> Any:
        return x

    @staticmethod
    def numpy(x: Any) -> Any:
        return x * 2
"""

TOY = """
func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = toy.twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = toy.reverse %0 : tensor<3xf32> -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
"""


def test_a_dialect_of_rows_and_others_and_what_its_operations_mean(tmp_path: Path):
    early = FlambeauContext()
    with pytest.raises(IRError):
        parse_module(TOY, early)
    load(tmp_path, DIALECT)
    # A context that was there before knows the dialect too, as an editor's does.
    for context in (early, FlambeauContext(), early.clone()):
        module = parse_module(TOY, context).module
        module.verify()
        (found,) = interpret(module, context).run("forward", [np.array([1, 2, 3], np.float32)])
        assert np.asarray(found).tolist() == [6, 4, 2]


def test_an_operator_of_another_library_is_imported_by_its_row(tmp_path: Path):
    import torch

    from flambeau.frontends.torch_export import export_module

    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    library: Any = torch.library.Library("toy", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", twice, "CompositeExplicitAutograd")

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.toy.twice(x)

    load(tmp_path, DIALECT)
    context = FlambeauContext()
    module = export_module(Model(), (torch.ones(3),), context)
    assert "toy.twice(" in str(module)
    (found,) = interpret(module, context).run("forward", [np.array([1, 2, 3], np.float32)])
    assert np.asarray(found).tolist() == [2, 4, 6]


def test_a_dialect_is_gone_with_its_plugin(tmp_path: Path):
    with plugin_scope():
        load(tmp_path, DIALECT)
        module, context = run("", TOY)
    assert find_op("toy.twice") is None
    with pytest.raises(IRError):
        parse_module(TOY, FlambeauContext())
    with pytest.raises(InterpreterError, match=r"toy\.reverse"):
        interpret(module, context).run("forward", [np.zeros(3, np.float32)])


def test_a_target(tmp_path: Path):
    text = "from flambeau.passes.targets.interface import Target, find_target\n"
    load(tmp_path, f"{text}TINY = Target('tiny', find_target('executorch').operators - {{'aten::cos.out'}})\n")
    assert "tiny" in target_names() and "aten::relu.out" in find_target("tiny").operators
    run("edge-to-exec{target=tiny}", CHAIN.replace("edge.cos", "edge.relu"))
    with pytest.raises(PassError, match="aten::cos"):
        run("edge-to-exec{target=tiny}", CHAIN)
    with pytest.raises(UnknownTargetError, match=r"there is no target 'tyni'; there are .*executorch, .*tiny"):
        find_target("tyni")


BACKEND = """
from flambeau.passes.analysis.operator_table import OperatorTable, Rule
from flambeau.passes.delegation.interface import Backend, Encoded, one_by_one, partition_module
from flambeau.passes.kit import op, tensor
from xdsl.dialects.builtin import f32

# Takes every cosine of four numbers, of which the payload need not say anything.
BACKEND = Backend(
    "cosine",
    "CosineBackend",
    table=OperatorTable({"cos": Rule()}, most=1),
    encode=one_by_one(lambda partition, constants, options: Encoded(b"cos")),
    decode=lambda data, named, blobs: partition_module("CosineBackend", [tensor(f32, [4])], lambda x: op("edge.cos")(x).results),
)
"""


def test_what_a_target_keeps_is_forgotten_with_it():
    for kernels, kept in (({"aten::add.out"}, True), ({"aten::relu.out"}, False)):
        with declared_by("a plug-in") as registered:
            register_target(Target("chip", frozenset(kernels)))
        assert find_target("chip").has(AddTensorOp) is kept
        for item in registered:
            item.undo()


def test_who_runs_a_program_without_its_backend_learns_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("cosine.py").write_text(BACKEND)
    Path("x.mlir").write_text(CHAIN.replace("edge.", "aten."))
    np.save("x.npy", np.arange(4, dtype=np.float32))
    load, given = ["--load-plugin", "cosine.py"], ["--input", "x.npy"]
    assert flambeau_main(["compile", "x.mlir", "--backend", "cosine", *load]) == 0
    capsys.readouterr()
    lacks = "error: method 'forward' needs backend 'CosineBackend', which this runtime does not have; "
    for arguments, message in (
        ([], f"{lacks}load its plug-in with --load-plugin"),
        (load, f"{lacks}the part of 'cosine' for the C runtime is not built; --engine numpy runs it without"),
        (["--engine", "numpy"], "error: @delegate0: no backend here is called 'CosineBackend' by programs ("),
    ):
        assert flambeau_main(["run", "x.pte", *given, *arguments]) == 1
        assert capsys.readouterr().err.startswith(message)
    assert flambeau_main(["run", "x.pte", *given, *load, "--engine", "numpy"]) == 0
    assert "output_0: float32 [4]" in capsys.readouterr().out


def test_a_backend_that_refuses_the_payload_is_not_called_absent(tmp_path: Path):
    load(tmp_path, BACKEND.replace("decode=", f"library=__import__('pathlib').Path({str(tmp_path / 'libcosine.so')!r}),\n    decode="))
    module, _ = run("delegate{backends=cosine},edge-to-exec,plan", CHAIN)
    refused = "method 'forward': delegate 0, of backend 'CosineBackend': its payload is of another version"
    assert about_backends(module, refused) == ""
    library = tmp_path / "libcosine.so"
    library.touch()
    assert about_backends(module, refused).startswith(f"; {library} may be older than its sources: build it again")


def test_why_memory_could_not_be_measured_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("cosine.py").write_text(BACKEND)
    Path("x.mlir").write_text(CHAIN.replace("edge.", "aten."))
    assert flambeau_main(["compile", "x.mlir", "--backend", "cosine", "--load-plugin", "cosine.py"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "kernels an unknown amount" in told
    assert "note: not all of it could be measured: method 'forward' needs backend 'CosineBackend'" in told


def test_a_backend(tmp_path: Path):
    from flambeau.passes.delegation.payload_runner import run_payload

    with pytest.raises(BackendError, match="there is no backend 'cosine'"):
        find_backend("cosine")
    load(tmp_path, BACKEND)
    module, context = run("delegate{backends=cosine}", CHAIN)
    assert "CosineBackend" in str(module)
    x = np.arange(4, dtype=np.float32)
    (found,) = interpret(module, context, run_payload).run("forward", [x])
    np.testing.assert_allclose(np.asarray(found), np.sin(np.maximum(np.cos(x), 0)), rtol=1e-6)


def test_the_library_of_a_backend_is_loaded_when_a_program_may_need_it(tmp_path: Path):
    registry = Runtime.get().backend_registry
    builtin = registry.registered_backend_names
    library = tmp_path / "libcosine.so"
    text = "from pathlib import Path\n" + BACKEND.replace("\n)", f"\n    library=Path({str(library)!r}),\n)")
    with plugin_scope():
        load(tmp_path, text)
        assert registry.registered_backend_names == builtin, "there is no such file yet"
    library.write_bytes(b"")
    with plugin_scope():
        load(tmp_path, text)
        with pytest.raises(FlambeauError, match=r"libcosine\.so cannot be used as the backend 'cosine'"):
            assert registry.registered_backend_names
    assert registry.registered_backend_names == builtin


def test_a_pipeline(tmp_path: Path):
    text = """
from flambeau import pipeline
from flambeau.passes.transforms.canonicalize import CanonicalizePass
from flambeau.passes.transforms.cse import CsePass

@pipeline("tidy")
def tidy(options):
    return [CanonicalizePass(), *([CsePass()] if options.target == "flambeau" else [])]
"""
    load(tmp_path, text)
    assert str(Pipeline.parse("tidy,tidy{target=flambeau}")) == "builtin.module(canonicalize,canonicalize,cse)"
