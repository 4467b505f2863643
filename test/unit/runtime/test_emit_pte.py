"""Exec IR as .pte and back."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.exec.instructions import FailOp, InstructionOp
from flambeau.dialects.exec.literals import StringOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ReuseOp, StateOp, ViewOp
from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.ir.weight_files import BlobError
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module, read_module
from flambeau.passes.memory.verify_plan import check_method
from flambeau.runtime import pte
from flambeau.runtime.emit import EmitError, emit_pte, named_data, read_pte

PROGRAM = """
ml_program.global private @w(#flambeau.blob<"w", "{w}">) : tensor<4xf32>
ml_program.global private @same(#flambeau.blob<"other name", "{w}">) : tensor<2x2xf32>
ml_program.global private mutable @counter(#flambeau.blob<"counter", "{counter}">) : tensor<1xi64>
ml_program.global private mutable @cache : tensor<4xf32>
delegate.payload @lowered backend "B" {{level = "3", raw = #flambeau.blob<"raw", "{w}">}} (#flambeau.blob<"lowered", "{w}">)
exec.named_data "extra" = #flambeau.blob<"extra", "{counter}">
exec.method @forward {{arenas = [256], scratch = 64, input_names = ["x", "scale"], output_names = ["y", "none"],
                      input_spec = "i", output_spec = "o"}} {{
  %x = exec.tensor {{arena = 1, offset = 0}} : tensor<4xf32>
  %scale = exec.double 0.5
  %w = exec.constant @w : tensor<4xf32>
  %square = exec.constant @same : tensor<2x2xf32>
  %flat = exec.view %square : tensor<4xf32>
  %counter = exec.state @counter {{arena = 1, offset = 128, qualified_name = "model.counter"}} : tensor<1xi64>
  %cache = exec.state @cache {{arena = 1, offset = 144}} : tensor<4xf32>
  %recent = exec.view %cache {{offset = 8}} : tensor<2xf32>
  %one = exec.int 1
  %no = exec.bool false
  %none = exec.none
  %dims = exec.int_list [%one, %one]
  %sum = exec.tensor {{arena = 1, offset = 16}} : tensor<4xf32>
  %negative = exec.reuse %sum : tensor<4xf32>
  %pair = exec.view %negative : tensor<2x2xf32>
  %cat = exec.tensor {{arena = 1, offset = 32}} : tensor<8xf32, #edge.layout<[0]>>
  %left = exec.view %cat : tensor<4xf32>
  %right = exec.view %cat {{offset = 16}} : tensor<4xf32>
  %values = exec.tensor {{arena = 1, offset = 64}} : tensor<2xf32>
  %indices = exec.tensor {{arena = 1, offset = 72}} : tensor<2xi64>
  %both = exec.tensor_list [%values, %indices]
  %maybe = exec.optional_tensor_list [none, %w]
  %condition = exec.tensor {{arena = 1, offset = 96}} : tensor<i1>
  %y = exec.tensor {{arena = 1, offset = 192}} : tensor<?x8xf32, #edge.layout<[1, 0], sizes = [? in [0, 2], 8]>>
  %text = exec.string "mode"
  exec.call "aten::add.out"(%x, %flat, %one) outs(%sum)
  exec.call "aten::neg.out"(%sum) outs(%negative)
  exec.call "aten::max.dim_max"(%pair, %one, %no) outs(%values, %indices) returns(%both)
  exec.call "aten::relu.out"(%negative) outs(%left)
  exec.call "aten::mul.out"(%recent, %w) outs(%right)
  exec.call "aten::lt.out"(%values, %scale) outs(%condition)
  exec.jump_false %condition, @skip
  exec.call "aten::copy_"(%cache, %left, %no) returns(%cache)
  exec.label @skip
  exec.call "aten::index.out"(%cat, %maybe, %dims, %text) outs(%y)
  exec.jump_false %no, @end
  exec.delegate_call @lowered(%y) outs(%x)
  exec.label @end
  exec.return inputs(%x, %scale) outputs(%y, %none)
}}
exec.method @size {{arenas = []}} {{
  %n = exec.int 4
  exec.return outputs(%n)
}}
"""


def parse(text: str, context: FlambeauContext) -> ModuleOp:
    module = parse_module(text, context).module
    verify_module(module)
    return module


def context_with_data() -> tuple[FlambeauContext, dict[str, str]]:
    context = FlambeauContext()
    digests: dict[str, str] = {}
    for key, data in (("w", bytes(range(16))), ("counter", bytes(8))):
        digests[key] = context.blobs.add(key, data).digest.data
    for key, name in (("other name", "w"), ("raw", "w"), ("lowered", "w"), ("extra", "counter")):
        assert context.blobs.add(key, bytes(range(16)) if name == "w" else bytes(8)).digest.data == digests[name]
    return context, digests


def program_module() -> tuple[ModuleOp, FlambeauContext]:
    context, digests = context_with_data()
    return parse(PROGRAM.format(**digests), context), context


def written(module: ModuleOp, context: FlambeauContext) -> bytes:
    return b"".join(emit_pte(module, context))


FILE = written(*program_module())


def test_reading_and_writing_again_gives_the_same_bytes() -> None:
    module, context = program_module()
    file = written(module, context)
    fresh = FlambeauContext()
    read = read_pte(file, fresh)
    verify_module(read)
    for generic in (False, True):
        again = parse(print_module(read, generic=generic), fresh)
        assert equivalent(again, read)
        assert written(again, fresh) == file


FAILURES = """
exec.method @m {arenas = [32]} {
  %number = exec.tensor {arena = 1, offset = 0} : tensor<1xf64>
  %pair = exec.tensor {arena = 1, offset = 16} : tensor<2xf64>
  %tanh = exec.string "tanh"
  %other = exec.string "no name"
  exec.call "aten::gelu.out"(%number, %tanh) outs(%number)
  exec.call "aten::gelu.out"(%pair, %other) outs(%pair)
  exec.fail "n must be 2"(%number)
  exec.fail "odd"(%number)
  exec.return
}
"""


def test_a_failure_is_a_call_of_the_file_and_is_read_back() -> None:
    context = FlambeauContext()
    file = written(parse(FAILURES, context), context)
    (plan,) = pte.read_program(file).execution_plan
    assert plan.values[4:] == (pte.String("n must be 2"), pte.String("a condition does not hold: odd"))
    assert plan.chains[0].instructions[2:] == (pte.KernelCall(0, (0, 4, 0, 0)), pte.KernelCall(0, (0, 5, 0, 0)))
    read = read_pte(file, context)
    names = [(op.name, op.message.data if isinstance(op, FailOp) else "") for op in read.walk() if isinstance(op, InstructionOp)]
    calls = [("exec.call", "")] * 2
    assert names == [*calls, ("exec.fail", "n must be 2"), ("exec.fail", "a condition does not hold: odd")]
    assert [op.value.data for op in read.walk() if isinstance(op, StringOp)] == ["tanh", "no name"]
    assert written(read, context) == file


def test_the_records_say_what_the_ir_says() -> None:
    module, context = program_module()
    program = pte.read_program(written(module, context))
    forward, size = program.execution_plan
    assert (forward.name, size.name) == ("forward", "size")
    assert forward.non_const_buffer_sizes == (0, 256)
    assert forward.inputs == (0, 1)
    assert forward.container_meta_type == pte.ContainerMetadata("i", "o")
    assert size.container_meta_type is None
    assert [operator.full_name for operator in forward.operators][:3] == ["aten::add.out", "aten::neg.out", "aten::max.dim_max"]
    steps = forward.chains[0].instructions
    # The one out again; a list of several outs; self of an in-place operator.
    assert steps[0] == pte.KernelCall(0, (0, 4, 8, 12, 12))
    assert steps[2] == pte.KernelCall(2, (14, 8, 9, 18, 19, 20))
    assert steps[7] == pte.KernelCall(6, (6, 16, 9, 6))
    # Labels are positions.
    assert steps[6] == pte.JumpFalseCall(22, 8)
    assert steps[9] == pte.JumpFalseCall(9, 11)
    assert steps[10] == pte.DelegateCall(0, (23, 0))


def test_storage_follows_from_views_and_reuses() -> None:
    module, context = program_module()
    program = pte.read_program(written(module, context))
    values = program.execution_plan[0].values

    def storage(index: int) -> tuple[int, int | None]:
        value = values[index]
        assert isinstance(value, pte.Tensor)
        return value.data_buffer_idx, None if value.allocation_info is None else value.allocation_info.memory_offset

    assert [storage(index) for index in (2, 3, 4)] == [(1, None), (1, None), (1, None)]  # equal bytes are one constant
    assert [storage(index) for index in (5, 6, 7)] == [(1, 128), (0, 144), (0, 152)]
    assert [storage(index) for index in (12, 13, 14, 15, 16, 17)] == [(0, 16), (0, 16), (0, 16), (0, 32), (0, 32), (0, 48)]
    assert program.constants == (b"", bytes(range(16)))
    assert program.mutable_data == ((b"", bytes(8)),)
    dynamic = values[23]
    assert isinstance(dynamic, pte.Tensor)
    assert (dynamic.sizes, dynamic.dim_order, dynamic.shape_dynamism) == ((2, 8), (1, 0), pte.TensorShapeDynamism.DYNAMIC_BOUND)


def test_metadata_carries_names_and_memory() -> None:
    module, context = program_module()
    program = pte.read_program(written(module, context))
    assert [item.key for item in program.named_data] == ["extra", named_data.KEY]
    described = named_data.decode(program.named_data[1].data)
    assert described["forward"].inputs == ("x", "scale")
    assert described["forward"].outputs == ("y", "none")
    memory = described["forward"].memory
    assert memory is not None
    assert (memory["arenas"], memory["scratch"]) == (256, 64)
    assert 0 < memory["method_32"] < memory["method"]
    assert described["size"].inputs is None


def method_of(module: ModuleOp, name: str) -> MethodOp:
    return next(op for op in module.body.block.ops if isinstance(op, MethodOp) and op.sym_name.data == name)


SHARED = """
ml_program.global private mutable @cache : tensor<4xf32>
exec.method @forward {arenas = [256]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %cache = exec.state @cache {arena = 1, offset = 144} : tensor<4xf32>
  %recent = exec.view %cache {offset = 8} : tensor<2xf32>
  %sum = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %negative = exec.reuse %sum : tensor<4xf32>
  %last = exec.reuse %negative : tensor<2x2xf32>
  %pair = exec.view %last : tensor<2xf32>
  %cat = exec.tensor {arena = 1, offset = 32} : tensor<8xf32>
  %left = exec.view %cat : tensor<4xf32>
  %right = exec.view %cat {offset = 16} : tensor<4xf32>
  %quarter = exec.view %right {offset = 8} : tensor<2xf32>
  %y = exec.tensor {arena = 1, offset = 64} : tensor<8xf32>
  %z = exec.tensor {arena = 1, offset = 96} : tensor<8xf32>
  %no = exec.bool false
  exec.call "aten::add.out"(%x, %recent) outs(%sum)
  exec.call "aten::neg.out"(%sum) outs(%negative)
  exec.call "aten::exp.out"(%negative) outs(%last)
  exec.call "aten::relu.out"(%pair) outs(%left)
  exec.call "aten::mul.out"(%last) outs(%right)
  exec.call "aten::sin.out"(%cat) outs(%y)
  exec.call "aten::cos.out"(%quarter) outs(%z)
  exec.call "aten::copy_"(%cache, %left, %no) returns(%cache)
  exec.return inputs(%x) outputs(%y, %z)
}
"""


def test_sharing_of_storage_is_inferred_so_that_the_plan_verifies() -> None:
    context = FlambeauContext()
    module = parse(SHARED, context)
    assert check_method(method_of(module, "forward")) == []
    read = read_pte(written(module, context), context)
    verify_module(read)
    method = method_of(read, "forward")
    assert check_method(method) == []
    kinds = [type(op) for op in method.slots]
    before = [type(op) for op in method_of(module, "forward").slots]
    assert kinds == before
    assert sum(kind is ViewOp for kind in kinds) == 5
    assert sum(kind is ReuseOp for kind in kinds) == 2
    assert sum(kind is StateOp for kind in kinds) == 1


def test_memory_that_is_never_set_is_state() -> None:
    context = FlambeauContext()
    module = parse(
        """
        exec.method @forward {arenas = [64]} {
          %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
          %buffer = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
          %sum = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
          %no = exec.bool false
          exec.call "aten::add.out"(%x, %buffer) outs(%sum)
          exec.call "aten::copy_"(%buffer, %sum, %no) returns(%buffer)
          exec.return inputs(%x) outputs(%sum)
        }""",
        context,
    )
    file = written(module, context)
    read = read_pte(file, FlambeauContext())
    verify_module(read)
    assert isinstance(method_of(read, "forward").slots[1], StateOp)
    assert check_method(method_of(read, "forward")) == []
    assert written(read, FlambeauContext()) == file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("builtin.module {}", "there is no function to compile"),
        ("func.func @f() { func.return }", "func.func cannot be in a program: convert the whole module to exec methods first"),
        ("exec.method @m {} { exec.return }", "method @m is not planned: run plan-memory first"),
        (
            "exec.method @m {arenas = []} { %x = exec.tensor : tensor<2xf32> %v = exec.view %x : tensor<2xf32> exec.return }",
            "%v has the storage of %x, which has no place in an arena",
        ),
        (
            "ml_program.global private mutable @s : tensor<2xf32> "
            "exec.method @m {arenas = []} { %s = exec.state @s : tensor<2xf32> exec.return }",
            "state %s has no place in an arena",
        ),
        (
            "ml_program.global private @w(dense<1.0> : tensor<2xf32>) : tensor<2xf32> "
            "exec.method @m {arenas = []} { %w = exec.constant @w : tensor<2xf32> exec.return }",
            "the value of global @w is not stored in the context",
        ),
    ],
)
def test_what_no_program_says_is_refused(text: str, message: str) -> None:
    context = FlambeauContext()
    with pytest.raises(EmitError) as caught:
        emit_pte(parse(text, context), context)
    assert message in str(caught.value)


def test_missing_weights_are_an_error() -> None:
    context = FlambeauContext()
    text = (
        'ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32> '
        "exec.method @m {arenas = []} { %w = exec.constant @w : tensor<2xf32> exec.return }"
    )
    with pytest.raises(BlobError, match="there are no weights under 'w'"):
        emit_pte(parse(text, context), context)


def plan_with(value: pte.Tensor) -> bytes:
    plan = pte.ExecutionPlan("m", (value,), chains=(pte.Chain(),))
    return b"".join(pte.write_program(pte.Program((plan,))))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pte.Tensor(pte.ScalarType.QINT8, (2,), (0,)), "its element type is QINT8, which is not supported"),
        (
            pte.Tensor(pte.ScalarType.FLOAT, (2,), (0,), shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_UNBOUND),
            "its sizes have no bounds, which is not supported",
        ),
        (pte.Tensor(pte.ScalarType.FLOAT, (2,), (0,), storage_offset=1), "it has a storage offset, which is not supported"),
        (
            pte.Tensor(
                pte.ScalarType.FLOAT,
                (2,),
                (0,),
                extra_tensor_info=pte.ExtraTensorInfo(fully_qualified_name="w", location=pte.TensorDataLocation.EXTERNAL),
            ),
            "its data 'w' lies in a .ptd file, which is given with --data-path",
        ),
        (
            pte.Tensor(pte.ScalarType.FLOAT, (2,), (0,), extra_tensor_info=pte.ExtraTensorInfo(device_type=pte.DeviceType.CUDA)),
            "it lies on a CUDA device, which is not supported",
        ),
    ],
)
def test_what_the_dialect_cannot_say_is_refused(value: pte.Tensor, message: str) -> None:
    with pytest.raises(pte.PteError, match=f"method 'm', value 0: {message}$"):
        read_pte(plan_with(value), FlambeauContext())


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"methods": 1}',
        b'{"methods": {"m": {"inputs": [1]}}}',
        b'{"methods": {"m": {"inputs": ["x"]}}}',
        b'{"methods": {"m": {"banks": 1}}}',
        b'{"methods": {"m": {"banks": ["sram", "dram"]}}}',
        b'{"methods": {"m": {"banks": ["a b"]}}}',
    ],
)
def test_damaged_metadata_is_refused(content: bytes) -> None:
    program = pte.Program(
        (pte.ExecutionPlan("m", chains=(pte.Chain(),), non_const_buffer_sizes=(0, 16)),),
        named_data=(pte.NamedData(named_data.KEY, memoryview(content)),),
    )
    with pytest.raises(pte.PteError, match=r"flambeau\.json is damaged"):
        read_pte(b"".join(pte.write_program(program)), FlambeauContext())


def test_a_scalar_that_may_grow_is_fixed() -> None:
    file = plan_with(pte.Tensor(pte.ScalarType.FLOAT, (), (), shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_BOUND))
    assert "exec.tensor : tensor<f32>" in print_module(read_pte(file, FlambeauContext()))


def test_everything_a_program_needs_is_saved_beside_the_text(tmp_path: Path) -> None:
    module, context = program_module()
    save_weights(module, context.blobs, tmp_path / "model.safetensors")
    (tmp_path / "model.mlir").write_text(print_module(module))
    fresh = FlambeauContext()
    assert written(read_module(tmp_path / "model.mlir", fresh).module, fresh) == FILE


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_programs_are_refused_or_become_ir(data: st.DataObject) -> None:
    damaged = bytearray(FILE)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    context = FlambeauContext()
    try:
        module = read_pte(bytes(damaged), context)
        verify_module(module)
        file = written(module, context)
    except (pte.PteError, VerificationError, EmitError) as error:
        assert "\n" not in str(error)
        return
    # What is accepted says the same as IR; its plan may be wrong, but looking at it ends.
    for method in module.body.block.ops:
        if isinstance(method, MethodOp):
            check_method(method)
    fresh = FlambeauContext()
    assert written(read_pte(file, fresh), fresh) == file
