"""Writes the seeds of the C fuzz test, a program per file: `PYTHONPATH=src python test/make_seeds.py FOLDER`.

Each kernel of the runtime is called with some samples of its operator: planned, with bounds instead of sizes, in memory of the caller and
with constants, and among branches, moves and views. Seeds share no table and no list and leave no field at its default, so that the fuzz
test finds each of them in the file. The operators that a seed names and does not call are what its calls may be changed to.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute, Block

from flambeau.backends.elementwise.payload import COMPUTATIONS, CONSTANT, LOAD, STORE, Instruction, Payload
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, from_numpy_name, is_static, shape_of, tensor
from flambeau.dialects.schema.out_variants import TENSOR_OPTIONS, out_variant
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import load_rows
from flambeau.runtime import pte
from flambeau.runtime.flatbuffer import Scalar
from flambeau.runtime.manifest import kernel_names
from flambeau.runtime.pte import writer
from flambeau.runtime.pte.records import EMPTY
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_table import all_samples

SAMPLES_PER_KERNEL = 3
UNUSED_OPERATORS = 10
COMBINED = 150
BOUND = 64
X = np.zeros((2, 3), np.float32)
LONG = np.ones((2, 3), np.int64)


@dataclass
class Slot:
    """An argument that is written: a tensor of these sizes, which are bounds if they depend on data."""

    shape: tuple[int, ...]
    scalar_type: pte.ScalarType
    dynamic: bool = False
    is_input: bool = False


@dataclass
class Call:
    """A call of a kernel: `arguments` end with what is returned."""

    operator: str
    arguments: list[Any]


def out(array: Array, is_input: bool = False) -> Slot:
    """A result like `array`; `is_input`: which a caller sets before."""
    return Slot(array.shape, scalar_type(array), is_input=is_input)


def scalar_type(array: Array) -> pte.ScalarType:
    """The element type of an array in the format."""
    kind = from_numpy_name(array.dtype.name)
    assert kind is not None, array.dtype
    return pte.ScalarType(kind.scalar_type)


def prim(name: str, *numbers: float) -> Call:
    """A call that computes a number from numbers."""
    return Call(f"executorch_prim::{name}", [*numbers, 0])


def result_in(name: str, *arguments: Any, like: Array = X) -> Call:
    """A call that writes one tensor."""
    slot = out(like)
    return Call(name, [*arguments, slot, slot])


def results_in(name: str, *arguments: Any, like: Sequence[Array]) -> Call:
    """A call that writes several tensors."""
    outs = [out(array) for array in like]
    return Call(name, [*arguments, *outs, outs])


def in_place(name: str, *arguments: Any) -> Call:
    """A call that writes to its first argument."""
    slot = out(X, is_input=True)
    return Call(name, [slot, *arguments, slot])


ONE = np.ones((1,), np.float32)
BYTES = X.astype(np.int8)
ROW = X[0]
BY_HAND = [
    *(
        prim(f"{name}.Scalar", 7, 2)
        for name in ("add", "eq", "floordiv", "ge", "gt", "le", "lt", "mod", "mul", "sub", "sym_max", "sym_min")
    ),
    *(prim(f"{name}.Scalar", 7.5, 2) for name in ("add", "floordiv", "mod", "truediv")),
    *(prim(f"{name}.int", 7, 2) for name in ("floordiv", "mod")),
    *(prim(f"{name}.Scalar", 2.5) for name in ("ceil", "neg", "round", "sym_float", "sym_int", "sym_not", "trunc")),
    prim("sym_ite.Scalar", True, 1, 2),
    Call("executorch_prim::et_view.default", [X, (3, 2), Slot((3, 2), pte.ScalarType.FLOAT)]),
    in_place("executorch_prim::et_copy_index.tensor", ROW, 1),
    in_place("aten::copy_", X, False),
    in_place("aten::index_put_", [LONG[0]], X[:1], False),
    Call("aten::_local_scalar_dense", [LONG[0, :1], 0]),
    Call("aten::sym_numel", [X, 0]),
    Call("aten::sym_size.int", [X, 1, 0]),
    *(result_in(name, X) for name in ("et_copy::_d2h_copy.out", "et_copy::_h2d_copy.out", "aten::_conj_physical.out", "aten::erfc.out")),
    *(result_in(f"aten::{name}_copy.out", X) for name in ("alias", "detach")),
    result_in("aten::t_copy.out", X, like=X.T),
    result_in("aten::as_strided_copy.out", X, (2, 2), (3, 1), 1, like=X[:, :2]),
    result_in("aten::repeat_interleave.Tensor_out", LONG[0], None, like=LONG[0]),
    result_in("aten::cumprod.out", X, 1, None),
    results_in("aten::_native_batch_norm_legit.out", X, ROW, ROW, ROW, ROW, True, 0.1, 1e-5, like=[X, ROW, ROW]),
    result_in("dim_order_ops::_clone_dim_order.out", X, False, (0, 1)),
    result_in("dim_order_ops::_empty_dim_order.out", (2, 3), (0, 1)),
    results_in("quantized_decomposed::choose_qparams.Tensor_out", X, -128, 127, 1e-5, 3, like=[ONE, LONG[0, :1]]),
    result_in("quantized_decomposed::quantize_per_tensor.Tensor_out", X, ONE, LONG[0, :1], -128, 127, 1, like=BYTES),
    result_in("quantized_decomposed::dequantize_per_tensor.Tensor_out", BYTES, ONE, LONG[0, :1], -128, 127, 1, None),
]
"""Calls of the kernels that no sample of a row leads to."""


def kernel_of(row: type[SchemaOp], names: frozenset[str]) -> str | None:
    """The kernel that computes a row, or for a view, copies it."""
    schema = row.schema
    variant = out_variant(schema)
    over = f"{schema.overload}_out" if schema.overload else "out"
    copies = (f"{schema.namespace}::{schema.base}_copy.{overload}" for overload in (over, over[:1].upper() + over[1:]))
    candidates = (*([] if variant is None else [variant.qualified_name]), *copies)
    return next((name for name in candidates if name in names), None)


def result(kind: Attribute) -> Slot:
    """A result of an inferred type."""
    shape = tuple(shape_of(kind))
    element = pte.ScalarType(dtype_of(element_of(kind)).scalar_type)
    return Slot(tuple(extent if is_known(extent) else BOUND for extent in shape), element, not is_static(kind))


def call_of(row: type[SchemaOp], kernel: str, sample: Sequence[Any]) -> Call:
    """The call of the kernel on a sample. Raises if the row refuses the sample."""
    block = Block(arg_types=[type_of(array) for array in flat(sample)])
    values = iter(block.args)

    def value(item: Any) -> Any:
        if isinstance(item, np.ndarray):
            return next(values)
        return [value(part) for part in cast("list[Any]", item)] if isinstance(item, list) else item

    types = row(*map(value, sample)).result_types
    results = [result(kind) for kind in types]
    variant = out_variant(row.schema)
    dropped = TENSOR_OPTIONS
    if variant is not None and variant.qualified_name == kernel:
        dropped = dropped - {argument.name for argument in variant.arguments}
    kept = [item for item, argument in zip(sample, row.schema.arguments, strict=True) if argument.name not in dropped]
    if row.schema.returns[0].is_list:
        return Call(kernel, [*kept, results, results])
    return Call(kernel, [*kept, *results, *(results if len(results) == 1 else [results])])


def flat(sample: Sequence[Any]) -> list[Array]:
    """The tensors of a sample in order."""
    return [
        item
        for value in sample
        for item in (cast("list[Any]", value) if isinstance(value, list) else [value])
        if isinstance(item, np.ndarray)
    ]


def type_of(array: Array) -> Attribute:
    """The tensor type of an array."""
    kind = from_numpy_name(array.dtype.name)
    assert kind is not None, array.dtype
    return tensor(kind.element, array.shape)


@cache
def calls() -> list[Call]:
    """Some calls of each kernel."""
    names = kernel_names()
    samples = all_samples()
    found: defaultdict[str, list[Call]] = defaultdict(list)
    for row in (row for dialect in load_rows().values() for row in dialect.values()):
        kernel = kernel_of(row, names)
        if kernel is None or row.name not in samples:
            continue
        defaults = [argument.default for argument in row.schema.arguments]
        for sample in samples[row.name](np.random.default_rng(0)):
            if sum(array.nbytes for array in flat(sample)) < 4096:
                found[kernel].append(call_of(row, kernel, (*sample, *defaults[len(sample) :])))
    for call in BY_HAND:
        found[call.operator].append(call)
    if missing := names - found.keys():
        raise SystemExit(f"these kernels have no seed: {', '.join(sorted(missing))}")
    return [
        kind[i * len(kind) // take]
        for _, kind in sorted(found.items())
        for take in [min(SAMPLES_PER_KERNEL, len(kind))]
        for i in range(take)
    ]


@dataclass
class Seed:
    """A method in the making."""

    style: int
    values: list[pte.Value] = field(default_factory=list[pte.Value])
    inputs: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    constants: list[memoryview] = field(default_factory=lambda: [EMPTY])
    arena: int = 0

    def add(self, value: pte.Value) -> int:
        """The index of a new value."""
        self.values.append(value)
        return len(self.values) - 1

    def tensor(self, kind: pte.ScalarType, shape: Sequence[int], planned: bool, data: Array | None = None, dynamic: bool = False) -> int:
        """A new tensor: a constant with `data`, else in the arena or in memory of the caller."""
        place = None
        dynamic = dynamic or (self.style == 1 and data is None)
        sizes = tuple(shape)
        if planned:
            place = pte.AllocationDetails.at(1, self.arena)
            self.arena += -(-pte.Tensor(kind, sizes, ()).nbytes // 16) * 16
        if data is not None:
            self.constants.append(memoryview(data.tobytes()))
        return self.add(
            pte.Tensor(
                kind,
                sizes,
                tuple(range(len(sizes))),
                data_buffer_idx=len(self.constants) - 1 if data is not None else 0,
                allocation_info=place,
                shape_dynamism=pte.TensorShapeDynamism(dynamic),
            )
        )

    def argument(self, item: Any, slots: dict[int, int]) -> int:
        """The value of an argument; `slots` holds those of the slots so far."""
        match item:
            case Slot():
                if id(item) not in slots:
                    slots[id(item)] = self.tensor(item.scalar_type, item.shape, self.style != 2, dynamic=item.dynamic)
                    self.outputs.append(slots[id(item)])
                    if item.is_input:
                        self.inputs.append(slots[id(item)])
                return slots[id(item)]
            case np.ndarray():
                array = cast(Array, item)
                constant = self.style == 2 and array.dtype.kind in "iub"
                index = self.tensor(scalar_type(array), array.shape, self.style not in (2, 4) and not constant, array if constant else None)
                if not constant:
                    self.inputs.append(index)
                return index
            case list():
                items = [-1 if part is None else self.argument(part, slots) for part in cast("list[Any]", item)]
                key = hash(("list", *items))
                if key not in slots:
                    absent = any(index < 0 for index in items)
                    slots[key] = self.add((pte.OptionalTensorList if absent else pte.TensorList)(tuple(items)))
                return slots[key]
            case tuple():
                return self.numbers(cast("tuple[Any, ...]", item))
            case None:
                return self.add(pte.Null())
            case Attribute():
                return self.add(pte.Int(dtype_of(item).scalar_type))
            case bool():
                return self.add(pte.Bool(item))
            case int():
                return self.add(pte.Int(item))
            case float():
                return self.add(pte.Double(item))
            case _:
                return self.add(pte.String(str(item)))

    def numbers(self, items: tuple[Any, ...]) -> int:
        """A list of numbers."""
        if items and isinstance(items[0], bool):
            return self.add(pte.BoolList(items))
        if items and isinstance(items[0], float):
            return self.add(pte.DoubleList(items))
        return self.add(pte.IntList(tuple(self.add(pte.Int(number)) for number in items)))

    def program(self, instructions: Sequence[pte.Instruction], operators: Sequence[str], **fields: Any) -> pte.Program:
        """The program of the method."""
        parts = [name.partition(".") for name in operators]
        plan = pte.ExecutionPlan(
            name="forward",
            values=tuple(self.values),
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            chains=(pte.Chain(instructions=tuple(instructions)),),
            operators=tuple(pte.Operator(base, overload) for base, _, overload in parts),
            non_const_buffer_sizes=(0, self.arena),
            **fields,
        )
        return pte.Program(execution_plan=(plan,), constants=tuple(self.constants))


def kinds(call: Call) -> tuple[str, ...]:
    """What calls that may stand for each other have in common."""
    return tuple(type(item).__name__ for item in call.arguments)


def seed_of(call: Call, style: int, others: Sequence[str]) -> pte.Program:
    """A program of one call: 0 planned, 1 with bounds, 2 in memory of the caller and with constants, 3 and 4 among branches."""
    seed = Seed(style)
    slots: dict[int, int] = {}
    args = tuple(seed.argument(item, slots) for item in call.arguments)
    operators = [call.operator, *others]
    instructions: list[pte.Instruction] = [pte.KernelCall(0, args)]
    result = seed.values[args[-1]]
    if isinstance(result, pte.Int | pte.Bool | pte.Double):
        seed.outputs.append(args[-1])
    if style < 3 or not isinstance(result, pte.Tensor):
        return seed.program(instructions, operators)
    # r = call(...) if c else call(...); z = clone(r); v = view(z)
    second = seed.tensor(result.scalar_type, result.sizes, True)
    other = tuple(second if index == args[-1] else index for index in args)
    condition = seed.tensor(pte.ScalarType.BOOL, (), style == 3)
    seed.inputs.append(condition)
    either, never = seed.add(replace(result, allocation_info=None)), seed.add(pte.Bool(False))
    copied = seed.tensor(result.scalar_type, result.sizes, True)  # state, of which there is a view
    name = pte.ExtraTensorInfo(fully_qualified_name="copied")
    seed.values[copied] = replace(cast(pte.Tensor, seed.values[copied]), extra_tensor_info=name)
    viewed = seed.add(pte.Tensor(result.scalar_type, (count := int(np.prod(result.sizes)),), (0,)))
    size = seed.add(pte.IntList((seed.add(pte.Int(count)),)))
    seed.outputs += [either, viewed]
    operators += ["aten::clone.out", "executorch_prim::et_view.default"]
    instructions = [
        pte.JumpFalseCall(condition, 4),
        pte.KernelCall(0, args),
        pte.MoveCall(args[-1], either),
        pte.JumpFalseCall(never, 6),
        pte.KernelCall(0, other),
        pte.MoveCall(second, either),
        pte.KernelCall(len(operators) - 2, (either, seed.add(pte.Null()), copied, copied)),
        pte.KernelCall(len(operators) - 1, (copied, size, viewed)),
    ]
    return seed.program(instructions, operators)


def delegate() -> pte.Program:
    """A program with a delegate, y = relu(2 x + 1), and its argument and result used by another call."""
    steps = (
        Instruction(LOAD, 0, 0),
        Instruction(CONSTANT, 1, number=2.0),
        Instruction(COMPUTATIONS["mul.Tensor"], 2, 0, 1),
        Instruction(COMPUTATIONS["relu"], 2, 2),
        Instruction(STORE, 0, 2),
    )
    seed = Seed(0)
    x, y, z = (seed.tensor(pte.ScalarType.FLOAT, (2, 3), True) for _ in range(3))
    one = seed.add(pte.Int(1))
    seed.inputs, seed.outputs = [x], [y, z]
    instructions = [pte.DelegateCall(0, (x, y)), pte.KernelCall(0, (x, y, one, z, z)), pte.FreeCall(x)]
    payload = memoryview(Payload(1, 1, 3, (2, 3), steps).encode())
    return seed.program(instructions, ["aten::add.out", "aten::sub.out"], delegates=(pte.BackendDelegate("FlambeauElementwise", payload),))


def state() -> pte.Program:
    """A program with a buffer that keeps its content between executions and has an initial one, and a view of it."""
    seed = Seed(0)
    buffer, x, sum_ = (seed.tensor(pte.ScalarType.FLOAT, (3,), True) for _ in range(3))
    seed.values[buffer] = replace(cast(pte.Tensor, seed.values[buffer]), data_buffer_idx=1)
    view = seed.tensor(pte.ScalarType.FLOAT, (3,), False)
    seed.inputs, seed.outputs = [x], [sum_]
    one, no, size = seed.add(pte.Int(1)), seed.add(pte.Bool(False)), seed.numbers((3,))
    instructions = [
        pte.KernelCall(2, (buffer, size, view)),
        pte.KernelCall(0, (x, view, one, sum_, sum_)),
        pte.KernelCall(1, (buffer, sum_, no, buffer)),
    ]
    program = seed.program(instructions, ["aten::add.out", "aten::copy_", "executorch_prim::et_view.default"])
    return replace(program, mutable_data=((EMPTY, memoryview(np.full(3, 5.0, np.float32).tobytes())),))


def methods() -> pte.Program:
    """A program of two methods that share a buffer: state + x, which is the state then, and its double."""
    plans: list[pte.ExecutionPlan] = []
    for name in ("put", "show"):
        seed = Seed(0)
        x, sum_ = (seed.tensor(pte.ScalarType.FLOAT, (3,), True) for _ in range(2))
        place, info = pte.AllocationDetails.at(2, 16), pte.ExtraTensorInfo(fully_qualified_name="buffer")
        buffer = seed.add(pte.Tensor(pte.ScalarType.FLOAT, (3,), (0,), allocation_info=place, extra_tensor_info=info))
        one, no = seed.add(pte.Int(1)), seed.add(pte.Bool(False))
        seed.inputs, seed.outputs = [x], [sum_]
        add, copy = pte.KernelCall(0, (x, buffer, one, sum_, sum_)), pte.KernelCall(1, (buffer, sum_, no, buffer))
        (plan,) = seed.program([add, copy] if name == "put" else [add], ["aten::add.out", "aten::copy_"]).execution_plan
        plans.append(replace(plan, name=name, non_const_buffer_sizes=(0, seed.arena, 32)))
    return pte.Program(execution_plan=tuple(plans))


def combined(chosen: Sequence[Call], style: int, has_sentence: bool) -> pte.Program:
    """A program of several calls, of which a condition skips one, and of a move between two tensors of one type, if there are.

    With `has_sentence`, it fails if that condition is not true, and says so.
    """
    seed = Seed(style)
    condition = seed.tensor(pte.ScalarType.BOOL, (), True)
    seed.inputs.append(condition)
    instructions: list[pte.Instruction] = []
    for number, call in enumerate(chosen):
        slots: dict[int, int] = {}
        args = tuple(seed.argument(item, slots) for item in call.arguments)
        if number == 1:
            instructions.append(pte.JumpFalseCall(condition, 3))
        instructions.append(pte.KernelCall(number, args))
    tensors = [(i, value) for i, value in enumerate(seed.values) if isinstance(value, pte.Tensor) and value.data_buffer_idx == 0]
    alike = [(i, j) for i, x in tensors for j, y in tensors if i < j and x.scalar_type == y.scalar_type and len(x.sizes) == len(y.sizes)]
    if alike:
        instructions.insert(1, pte.MoveCall(*alike[len(alike) // 2]))
    if has_sentence:
        found, unused = (seed.tensor(pte.ScalarType.DOUBLE, (1,), True) for _ in range(2))
        sentence, never = seed.add(pte.String("the condition must be true")), seed.add(pte.Bool(False))
        seed.inputs.append(found)
        end = len(instructions) + 3
        instructions += [pte.JumpFalseCall(condition, end - 1), pte.JumpFalseCall(never, end)]
        instructions.append(pte.KernelCall(len(chosen), (found, sentence, unused, unused)))
    return seed.program(instructions, [*(call.operator for call in chosen), "aten::gelu.out"])


class _Unshared(dict[object, int]):
    """Remembers nothing."""

    def __setitem__(self, key: object, value: int) -> None:
        pass


class _SeedEncoder(writer.Encoder):
    """Writes each table and list anew, and every field."""

    def __init__(self) -> None:
        super().__init__()
        self.memo = _Unshared()

    def _is_default(self, kind: Scalar, packed: bytes, name: str) -> bool:
        return False


def seeds() -> Iterator[tuple[str, pte.Program]]:
    """All seeds with their names."""
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for call in calls():
        if call.operator not in alike[kinds(call)]:
            alike[kinds(call)].append(call.operator)
    styles = cycle(range(5))
    chance = random.Random(0)
    for index, call in enumerate(calls()):
        others = [name for name in alike[kinds(call)] if name != call.operator]
        chosen = chance.sample(others, min(len(others), UNUSED_OPERATORS))
        yield f"{index:04}_{call.operator.replace('::', '_').replace('.', '_')}", seed_of(call, next(styles), chosen)
    for number in range(COMBINED):
        yield f"combined_{number:03}", combined(chance.sample(calls(), 3), number % 3, number % 2 == 0)
    yield "delegate", delegate()
    yield "state", state()
    yield "methods", methods()


def main() -> None:
    """Writes the seeds to the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.pte"):
        old.unlink()
    writer.Encoder = _SeedEncoder
    for name, program in seeds():
        (folder / f"{name}.pte").write_bytes(b"".join(pte.write_program(program)))


if __name__ == "__main__":
    main()
