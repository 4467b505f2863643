"""The public API as users of ExecuTorch write it: the flows of its tutorials, and what it refuses."""

import io
import re
from pathlib import Path
from typing import Any

import executorch.exir
import executorch.runtime
import numpy as np
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockXnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir.passes.cse_pass import CSEPass
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import flambeau
from flambeau import (
    CompileSpec,
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    MemoryPlanningPass,
    Partitioner,
    PassError,
    Runtime,
    get_delegation_info,
    to_edge,
    to_edge_transform_and_lower,
)
from flambeau.backends.openvino import OpenvinoPartitioner
from flambeau.backends.xnnpack import XnnpackPartitioner
from flambeau.dialects.delegate.ops import CallOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import CaptureError
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.transforms.cse import CsePass
from flambeau.runtime import FlambeauError, Status
from flambeau.runtime.emit.pte_writer import EmitError
from flambeau.runtime.interpreter import interpret

X = torch.linspace(-4, 4, 8).reshape(2, 4)


class Swish(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.linear.load_state_dict({"weight": torch.linspace(-1, 1, 16).reshape(4, 4), "bias": torch.ones(4)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.hardswish(self.linear(x))


class Gate(torch.nn.Module):
    """Operators that several backends take."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(torch.relu(x + x) * x)


@pytest.fixture(scope="module")
def network() -> Swish:
    return Swish().eval()


@pytest.fixture(scope="module")
def exported(network: Swish) -> ExportedProgram:
    return torch.export.export(network, (X,))


def run(program: flambeau.ExecutorchProgramManager, *inputs: Any, method: str = "forward") -> Any:
    return Runtime.get().load_program(program.buffer).load_method(method).execute(inputs)


def test_from_an_exported_program_to_a_result(network: Swish, exported: ExportedProgram, tmp_path: Path):
    program = to_edge_transform_and_lower(exported, compile_config=EdgeCompileConfig()).to_executorch(ExecutorchBackendConfig())
    program.save(tmp_path / "model.pte")
    with open(tmp_path / "other.pte", "wb") as file:
        program.write_to_file(file)
    memory = io.BytesIO()
    program.write_to_file(memory)
    assert memory.getvalue() == program.buffer == (tmp_path / "model.pte").read_bytes() == (tmp_path / "other.pte").read_bytes()
    method = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward")
    (found,) = method.execute([X])
    np.testing.assert_allclose(found, network(X).detach(), rtol=1e-5, atol=1e-6)


def test_programs_are_shown_in_a_line_and_printed_as_ir(exported: ExportedProgram):
    edge = to_edge({"forward": exported, "second": exported})
    program = edge.to_executorch()
    assert repr(edge) == "<edge program of forward, second>" and str(edge).startswith("builtin.module {")
    assert repr(program) == f"<program of forward, second: {len(program.buffer)} bytes>" and str(program).startswith("builtin.module {")


def test_transforms_and_backends_come_in_this_order(exported: ExportedProgram):
    edge = to_edge_transform_and_lower({"forward": exported}, transform_passes="cse,canonicalize", partitioner=["elementwise"])
    assert "delegate.payload" in str(edge)
    assert str(to_edge(exported).transform([CsePass()]).transform("canonicalize").to_backend("elementwise")) == str(edge)
    assert str(to_edge_transform_and_lower(exported, partitioner="elementwise")).count("delegate.payload") == 1


def test_a_partitioner_is_a_backend_with_its_options(exported: ExportedProgram):
    edge = to_edge_transform_and_lower(exported, partitioner=[Partitioner("elementwise{least=3}")])
    assert str(edge) == str(to_edge(exported).to_backend("elementwise{least=3}"))
    with pytest.raises(ValueError, match="backend 'elementwise' has no option 'mode'; it has least, methods"):
        Partitioner("elementwise", [CompileSpec("mode", "fast")])
    with pytest.raises(ValueError, match="compile spec 'least' holds bytes that are no text"):
        Partitioner("elementwise", [CompileSpec("least", b"\xff")])


def test_a_compile_spec_may_be_an_option_of_every_backend(exported: ExportedProgram):
    three = to_edge_transform_and_lower(exported, partitioner=[Partitioner("elementwise", [CompileSpec("least", b"3")])])
    assert str(three) == str(to_edge(exported).to_backend("elementwise{least=3}"))
    assert "delegate.payload" not in str(to_edge(exported).to_backend(Partitioner("elementwise", [CompileSpec("least", "99")])))
    for text, spec, message in (
        ("elementwise", "none", "option 'least' of backend 'elementwise' must be an integer, got 'none'"),
        ("elementwise", "0", "option 'least', the fewest operators of a delegate, is 1 or more, not 0"),
        ("elementwise{least=2}", "3", "option 'least' of backend 'elementwise' is given twice"),
    ):
        with pytest.raises(ValueError, match=message):
            Partitioner(text, [CompileSpec("least", spec)])


def test_options_in_braces_and_compile_specs_add_up():
    exported = torch.export.export(torch.nn.Linear(4, 2).eval(), (torch.rand(1, 4),))
    edge = to_edge_transform_and_lower(exported, partitioner=Partitioner("openvino{device=GPU}", [CompileSpec("precision", b"f16")]))
    assert '{device = "GPU", precision = "f16"' in str(edge)


def test_a_backend_is_chosen_once(exported: ExportedProgram):
    with pytest.raises(PassError, match=r"backend 'elementwise' is chosen twice"):
        to_edge_transform_and_lower(exported, partitioner=["elementwise{least=3}", "elementwise"])


def test_what_stays_is_said_on_every_way(exported: ExportedProgram):
    edge = to_edge(exported).to_backend("elementwise", no_delegate="mul.Tensor")
    assert str(to_edge_transform_and_lower(exported, partitioner="elementwise", no_delegate="mul.Tensor")) == str(edge)

    def is_product(op: SchemaOp) -> bool:
        return op.schema.base == "mul"

    for other in (
        to_edge_transform_and_lower(exported, partitioner="elementwise", unless=is_product),
        to_edge_transform_and_lower(exported, partitioner=Partitioner("elementwise", unless=is_product)),
        to_edge(exported).to_backend("elementwise", unless=is_product),
    ):
        assert str(other) == str(edge)
    assert "no-delegate 'mul.Tensor' keeps it" in str(get_delegation_info(edge))


def test_what_stays_may_be_one_text(exported: ExportedProgram):
    edge: Any = to_edge(exported)
    assert str(edge.to_backend("elementwise", no_delegate="mul.Tensor")) == str(edge.to_backend("elementwise", no_delegate=["mul.Tensor"]))
    for wrong, kind in ((3, "int"), (["mul.Tensor", None], "NoneType")):
        with pytest.raises(TypeError, match=rf"no_delegate is paths of modules and names of operators, as in \['softmax'\], not {kind}"):
            edge.to_backend("elementwise", no_delegate=wrong)


@pytest.mark.parametrize("text", ["", "elementwise,", "elementwise xnnpack", "elementwise,xnnpack", "func.func(elementwise)"])
def test_what_names_no_backend_is_refused(exported: ExportedProgram, text: str):
    with pytest.raises(BackendError, match=r"^a backend is a name, perhaps with options in braces, as in xnnpack\{least=3\}"):
        to_edge(exported).to_backend(text)


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (XnnpackPartitioner, "compile_spec", "; it has compile_specs; did you mean 'compile_specs'?"),
        (OpenvinoPartitioner, "nonsense", "; it has compile_spec"),
        (
            OpenvinoPartitioner,
            "op_types_to_skip",
            ", which ExecuTorch has: edge.to_backend(partitioner, no_delegate=[...]) keeps operators",
        ),
        (Partitioner, "nonsense", "; it has backend, compile_specs"),
        (to_edge, "partitioner", "; it has programs, constant_methods, compile_config"),
    ],
)
def test_an_unknown_argument_is_told_what_is_taken(make: Any, given: str, message: str):
    with pytest.raises(TypeError, match=f"^{make.__name__} has no argument {given!r}{re.escape(message)}"):
        make(**{given: 1})


def test_the_first_partitioner_chooses_first():
    exported = torch.export.export(Gate(), (X,))
    names = ["elementwise", "xnnpack"]
    for order in (names, names[::-1]):
        edge = to_edge_transform_and_lower(exported, partitioner=[Partitioner(order[0]), order[1]])
        assert [name for name in names if f"@forward_{name}_0" in str(edge)] == order[:1]


def test_what_is_delegated_is_counted(exported: ExportedProgram):
    start = to_edge(exported).transform("legalize")
    whole = get_delegation_info(start)
    assert (whole.num_delegated_subgraphs, whole.num_delegated_nodes) == (0, 0) and whole.num_non_delegated_nodes > 2
    edge = start.to_backend("elementwise")
    for program in (edge, edge.transform("canonicalize"), start.transform("partition{backends=elementwise}")):
        info = get_delegation_info(program)
        assert (
            info.num_delegated_subgraphs == 1 and info.num_delegated_nodes + info.num_non_delegated_nodes == whole.num_non_delegated_nodes
        )
        rows = info.delegation_by_operator
        assert rows.keys() == whole.delegation_by_operator.keys() and all(name == row.op_type for name, row in rows.items())
        assert sum(row.delegated for row in rows.values()) == info.num_delegated_nodes > 0
        assert sum(row.non_delegated for row in rows.values()) == info.num_non_delegated_nodes > 0
    assert info.get_summary().splitlines() == [
        "Total delegated subgraphs: 1",
        f"Number of delegated nodes: {info.num_delegated_nodes}",
        f"Number of non-delegated nodes: {info.num_non_delegated_nodes}",
    ]
    total = whole.num_non_delegated_nodes
    assert f"elementwise takes {info.num_delegated_nodes} of {total} operators in 1 partition" in str(info)
    why = ": the backend has no such operator"
    assert why in str(get_delegation_info(edge)) and why not in str(whole)


def test_operators_are_kept_whole_by_name_or_as_torch_has_them(exported: ExportedProgram):
    assert "edge.hardswish" in str(to_edge(exported)) and "aten::hardtanh.out" in str(to_edge(exported).to_executorch())
    for operator in ("hardswish", torch.ops.aten.hardswish.default, torch.ops.aten.hardswish):
        kept = to_edge(exported, compile_config=EdgeCompileConfig(preserve_ops=[operator]))
        with pytest.raises(PassError, match=r"edge\.hardswish"):
            kept.to_executorch()
    wrong: list[Any] = ["hardswsh", 3]
    for operator in wrong:
        with pytest.raises(ValueError, match="ATen has no operator "):
            to_edge(exported, compile_config=EdgeCompileConfig(preserve_ops=[operator]))


def test_constant_methods_return_their_values(exported: ExportedProgram):
    values = {"size": 4, "rate": 0.5, "on": True, "name": "swish", "none": None, "list": [1, 2.5, "x"], "table": X}
    edge = to_edge(exported, constant_methods=values)
    program = edge.to_executorch()
    assert set(program.methods) == set(edge.methods) == {"forward", *values}
    for name in ("size", "rate", "on", "name", "none"):
        assert run(program, method=name) == [values[name]]
    assert run(program, method="list") == values["list"]
    np.testing.assert_array_equal(run(program, method="table")[0], X)
    with pytest.raises(ValueError, match="forward is among programs and among constant_methods"):
        to_edge(exported, {"forward": 3})
    for large, value in ((2**63, 2**63), (-(2**63) - 1, {"a": [1, -(2**63) - 1]})):
        with pytest.raises(CaptureError, match=rf"^constant method 'big': {large} does not fit in 64 bits$"):
            to_edge(exported, {"big": value})
    name: Any
    for name in ("", "a\0b", 3, None):
        for call in (lambda name=name: to_edge(exported, {name: 3}), lambda name=name: to_edge({name: exported})):
            with pytest.raises(ValueError, match=f"^the name of a method is a string that is not empty, not {re.escape(repr(name))}$"):
                call()
    with pytest.raises(CaptureError, match=r"constant method 'x': a method returns numbers, strings, .*; <object.* is something else"):
        to_edge(exported, {"x": object()})


def quantized_by_torchao(network: torch.nn.Module) -> Any:
    prepared: Any = prepare_pt2e(
        torch.export.export(network, (X,)).module(), XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    )
    prepared(X)
    return convert_pt2e(prepared)


def test_a_model_that_torchao_quantized_gives_what_it_gives_in_torch(network: Swish):
    quantized = quantized_by_torchao(network)
    program = to_edge_transform_and_lower(torch.export.export(quantized, (X,))).to_executorch()
    assert "quantized_decomposed::quantize_per_tensor.out" in Runtime.get().load_program(program.buffer).metadata().operator_names
    np.testing.assert_allclose(run(program, X)[0], quantized(X).detach(), rtol=1e-5, atol=1e-5)


def test_the_planner_is_chosen_by_name(exported: ExportedProgram):
    edge = to_edge(exported)
    sizes = [
        edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner)).memory["forward"].arenas
        for planner in ("best", "naive", "naive{alignment=64}")
    ]
    assert len(set(sizes)) == 3 and sizes[0] == edge.to_executorch().memory["forward"].arenas
    with pytest.raises(ValueError, match=r"memory_planning_pass 'greedz': there is no planning algorithm 'greedz'"):
        edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass="greedz"))


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_inputs_and_outputs_may_lie_where_the_caller_has_them(network: Swish, exported: ExportedProgram, target: str):
    edge = to_edge(exported, compile_config=EdgeCompileConfig(target=target))
    expected = network(X).detach()
    for takes, gives in ((False, False), (True, False), (False, True)):
        planning = MemoryPlanningPass(alloc_graph_input=takes, alloc_graph_output=gives)
        program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
        method = Runtime.get().load_program(program.buffer).load_method()
        given = X.clone()
        results: list[Any] = [method.execute([given])[0] for _ in range(2)]
        (slot,), (out,) = method.metadata.inputs, method.metadata.outputs
        assert slot.tensor is not None and out.tensor is not None
        assert (slot.tensor.planned, out.tensor.planned) == (takes, gives) and torch.equal(given, X)
        results += interpret(program.module, program.context).run("forward", [X.numpy()])
        if target == "executorch":
            stock: Any = executorch.runtime
            theirs = stock.Runtime.get().load_program(program.buffer).load_method("forward")
            results += theirs.execute([given])
        for result in results:
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_an_argument_that_says_what_is_done_anyway_is_taken():
    given: dict[str, Any] = {"emit_mutable_buffer_names": True, "remove_view_copy": True, "segment_alignment": 128}
    make: Any = ExecutorchBackendConfig
    assert make(**given) == ExecutorchBackendConfig()
    with pytest.raises(TypeError, match="ExecutorchBackendConfig has no argument 'emit_mutable_buffer_names', which ExecuTorch has: "):
        make(**(given | {"emit_mutable_buffer_names": False}))


def test_what_belongs_to_executorch_is_refused_in_one_line(exported: ExportedProgram):
    edge: Any = to_edge(exported)
    stock: Any = executorch.exir
    chosen: Any = Partitioner("elementwise")
    three: Any = [3]
    anything: Any = exported
    takes = "to_backend takes the name of a backend or a flambeau.Partitioner, not"
    refused: list[tuple[str, type[Exception], Any]] = [
        (f"{takes} executorch's XnnpackPartitioner: import it from", TypeError, lambda: edge.to_backend(StockXnnpackPartitioner())),
        (f"{takes} executorch's XnnpackPartitioner: import it from", TypeError, lambda: lowered([StockXnnpackPartitioner()])),
        (f"{takes} executorch's XnnpackPartitioner: import it from", TypeError, lambda: lowered(StockXnnpackPartitioner())),
        (f"{takes} executorch's XnnpackPartitioner: ", TypeError, lambda: lowered({"forward": [StockXnnpackPartitioner()]})),
        ("no attribute 'partition', which ExecuTorch has: ", AttributeError, lambda: chosen.partition(exported)),
        ("compile_specs is a list of flambeau.CompileSpec, and holds 3", TypeError, lambda: Partitioner("elementwise", three)),
        ("compile_specs has 'a' twice", ValueError, lambda: Partitioner("elementwise", [CompileSpec("a", "b"), CompileSpec("a", b"c")])),
        (
            "get_delegation_info takes the flambeau.EdgeProgramManager of to_backend, .* torch's ExportedProgram",
            TypeError,
            lambda: get_delegation_info(anything),
        ),
        ("there is no backend 'XnnpackBackend'", BackendError, lambda: edge.to_backend("XnnpackBackend")),
        ("not a list of executorch's CSEPass: passes over torch.fx graphs do not", TypeError, lambda: edge.transform([CSEPass()])),
        ("not a list of function: passes over torch.fx graphs do not", TypeError, lambda: edge.transform([configured])),
        ("not a list of function: passes over torch.fx graphs do not", TypeError, lambda: edge.transform({"forward": [configured]})),
        ("there is no method 'backward'; there are forward", ValueError, lambda: edge.transform({"backward": []})),
        ("XnnpackPartitioner: import it from", TypeError, lambda: edge.transform([StockXnnpackPartitioner()])),
        (
            "not a list of str: write the names in one text, 'canonicalize,cse'",
            TypeError,
            lambda: edge.transform(["canonicalize", "cse"]),
        ),
        ("no argument '_use_edge_ops', which ExecuTorch has: ", TypeError, lambda: made(_use_edge_ops=True)),
        ("no attribute 'executorch_program', which", AttributeError, lambda: edge.to_executorch().executorch_program),
        ("compile_config is a flambeau.EdgeCompileConfig, not executorch's", TypeError, lambda: configured(stock.EdgeCompileConfig())),
        ("to_edge: constant_methods is a dict of values by method name, not flambeau's", TypeError, lambda: to_edge(exported, misplaced())),
        ("a flambeau.ExecutorchBackendConfig, not executorch's", TypeError, lambda: finished(stock.ExecutorchBackendConfig())),
        ("memory_planning_pass is the name of a planner, not executorch's MemoryPlanningPass: ", TypeError, lambda: planned()),
        ("memory_planning_pass is the name of a planner, not function: .*planner", TypeError, lambda: by_function("config")),
        ("memory_planning_pass is the name of a planner, not function: .*planner", TypeError, lambda: by_function("config by method")),
        ("memory_planning_algo is the name of a planner, not function: .*planner", TypeError, lambda: by_function("pass")),
        ("not Swish", TypeError, lambda: to_edge(unexported())),
        (
            "EdgeCompileConfig has no argument '_check_ir_validity', which ExecuTorch has: ",
            TypeError,
            lambda: made(_check_ir_validity=False),
        ),
        ("has no argument 'check'; it has target, preserve_ops, bounds", TypeError, lambda: made(check=False)),
        ("no attribute 'exported_program', which ExecuTorch has: ", AttributeError, lambda: edge.exported_program()),
        ("no attribute 'exported'$", AttributeError, lambda: edge.exported),
    ]

    def lowered(partitioner: Any) -> object:
        return to_edge_transform_and_lower(exported, partitioner=partitioner)

    def configured(config: Any) -> object:
        return to_edge(exported, compile_config=config)

    def finished(config: Any) -> object:
        return edge.to_executorch(config)

    def planned() -> object:
        planner: Any = stock.ExecutorchBackendConfig().memory_planning_pass
        return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))

    def by_function(where: str) -> object:
        function: Any = lowered
        if where == "pass":
            return MemoryPlanningPass(function)
        return ExecutorchBackendConfig(memory_planning_pass=function if where == "config" else {"forward": function})

    def made(**given: Any) -> object:
        return EdgeCompileConfig(**given)

    def misplaced() -> Any:
        return EdgeCompileConfig()

    def unexported() -> Any:
        return Swish()

    for message, kind, call in refused:
        with pytest.raises(kind, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


class Rows(torch.nn.Module):
    """Reads a slice to the end of a dynamic dimension, and two inputs of one size."""

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (ids[:, 0:] + mask).relu() * 2


def unbounded() -> ExportedProgram:
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq", min=3)
    shapes = ({0: batch, 1: seq}, {1: seq})
    return torch.export.export(Rows(), (torch.ones(2, 4), torch.ones(1, 4)), dynamic_shapes=shapes)


def test_a_size_without_a_maximum_is_refused_once_as_the_model_names_it_and_bounds_give_one():
    program = unbounded()
    with pytest.raises(PassError) as caught:
        to_edge(program)
    first, *lines = str(caught.value).splitlines()
    assert first == "convert-core-to-edge: 2 sizes have no maximum"
    assert [line.partition(":")[0].strip() for line in lines] == [
        "input 0 'ids', dimension 0",
        "input 0 'ids', dimension 1 and input 1 'mask', dimension 1",
    ]
    assert "the size seq has no maximum: " in lines[1] and "--bound seq=512" in lines[1] and "bounds={'seq': 512}" in lines[1]
    edge = to_edge(program, compile_config=EdgeCompileConfig(bounds={"batch": 4, "seq": 8}))
    assert "batch in [0, 4], seq in [3, 8]" in str(edge)
    ids, mask = torch.randn(4, 8), torch.randn(1, 8)
    np.testing.assert_array_equal(run(edge.to_executorch(), ids, mask)[0], Rows()(ids, mask))
    with pytest.raises(ValueError, match=r"no dynamic size is named 'sec'; did you mean 'seq'\?; there are batch, seq"):
        to_edge(program, compile_config=EdgeCompileConfig(bounds={"sec": 8}))
    wrong: Any
    for wrong in ({"seq": "8"}, {"seq": -1}, {"seq": 1.5}, {"seq": True}, {"": 8}, {3: 8}, ["seq"]):
        with pytest.raises(ValueError, match=f"bounds gives greatest values by name, as in {{'seq': 512}}, not {re.escape(repr(wrong))}"):
            EdgeCompileConfig(bounds=wrong)


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.hardswish(self.second(torch.nn.functional.hardswish(self.first(x))))


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_a_target_keeps_nothing_from_a_backend(target: str):
    program = torch.export.export(Gated().eval(), (X,))
    config = EdgeCompileConfig(target=target)
    edge = to_edge(program, compile_config=config)
    assert "fused." not in str(edge)
    whole = to_edge_transform_and_lower(program, partitioner=["xnnpack{least=2}", "elementwise"], compile_config=config)
    for delegated in (edge.to_backend("xnnpack"), whole):
        operators = [op.name for op in delegated.module.walk() if op.name.startswith(("edge.", "core.", "aten."))]
        assert operators == [] and str(delegated).count("delegate.payload") == 1


def test_what_a_veto_leaves_of_what_was_kept_whole_runs():
    model = Gated().eval()
    program = torch.export.export(model, (X,))
    config = EdgeCompileConfig(target="executorch")
    edge = to_edge(program, compile_config=config)
    for delegated in (
        edge.to_backend("xnnpack", no_delegate=["first"]),
        edge.to_backend("xnnpack", unless=lambda op: op.name == "edge.linear"),
    ):
        assert "edge.linear" in str(delegated) and "delegate.call" in str(delegated)
    with pytest.raises(PassError, match=r"no-delegate 'frist' keeps nothing: .*; did you mean 'first'"):
        edge.to_backend("xnnpack", no_delegate=["frist"])


def test_the_weight_of_a_layer_that_stays_stays_with_it(network: Swish):
    edge = to_edge(torch.export.export(quantized_by_torchao(network), (X,)))
    for kept in (edge.to_backend("xnnpack", no_delegate="linear"), edge.to_backend("xnnpack", unless=lambda op: op.name == "edge.linear")):
        partitions = [op for op in kept.module.walk() if isinstance(op, CallOp)]
        assert all(call.operands for call in partitions), "a payload that gives constants"


def test_what_is_asked_later_knows_nothing_of_earlier_vetoes(exported: ExportedProgram):
    edge = to_edge(exported).to_backend("xnnpack", no_delegate="hardswish")
    info = edge.survey("openvino")
    assert "openvino takes 1 of" in str(info) and str(info).count("edge.hardswish") == 1
    assert "= edge.hardswish" in str(edge) and "= edge.hardswish" not in str(edge.to_backend("openvino"))


def test_a_program_without_operators_is_lowered_once():
    edge = to_edge(torch.export.export(torch.nn.Identity(), (X,)))
    program = edge.to_backend("xnnpack").to_backend("xnnpack").to_executorch()
    np.testing.assert_array_equal(run(program, X)[0], X)


def test_a_c_runtime_that_cannot_be_loaded_is_not_said_to_refuse_the_program(exported: ExportedProgram, monkeypatch: pytest.MonkeyPatch):
    def missing() -> None:
        raise FlambeauError(Status.NOT_FOUND, "no.so cannot be used as the C runtime")

    monkeypatch.setattr(Runtime, "get", missing)
    with pytest.raises(EmitError, match=r"^the memory that kernels need cannot be measured: no\.so cannot be used as the C runtime$"):
        to_edge(exported).to_executorch()
