"""Writes planned `exec` IR as a `.pte`: each slot becomes a value, each operation an instruction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.delegate.ops import MODULES, PartitionOp, PayloadOp
from flambeau.dialects.edge.layout import dim_order, upper_bounds
from flambeau.dialects.exec import literals, slots
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, FailOp, FreeOp, JumpFalseOp, LabelOp, MoveOp
from flambeau.dialects.exec.method import MethodOp, NamedDataOp, written_inputs
from flambeau.dialects.exec.slot_contents import is_viewing
from flambeau.dialects.exec.slot_syntax import describe
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, is_static, tensor_type
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.ml_program.weights import check_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import pte
from flambeau.runtime.emit import failure, named_data
from flambeau.runtime.emit.external_constants import ExternalConstants
from flambeau.runtime.emit.places import to_frames
from flambeau.runtime.flat_tensor import TensorLayout
from flambeau.runtime.memory import method_memory
from flambeau.support.lazy import np


class EmitError(ValueError):
    """Reports a module that the format cannot hold, in one line for people."""


def emit_pte(
    module: ModuleOp,
    context: FlambeauContext,
    *,
    constant_alignment: int = 16,
    strip_debug: bool = False,
    external: ExternalConstants | None = None,
) -> list[bytes | memoryview]:
    """Returns the parts of the `.pte` of the methods of `module`; their concatenation is the file. Weights are not copied.

    Args:
        module: one planned `exec.method` per method, the globals and payloads that they name, and `exec.named_data`; nothing else.
        context: owns the weights.
        constant_alignment: each constant starts at a multiple of this number of bytes.
        strip_debug: leaves out the places in the model's source from which instructions come, and the modules that delegates compute.
        external: collects the constants that go to `.ptd` files.

    Raises:
        EmitError: a method is not planned, or the format cannot hold a part of the module.
        BlobError: weights are missing, or do not have the size of their global.
        PteError: a number is out of the range of its field in the format.
    """
    program = to_program(module, context, strip_debug=strip_debug, external=external)
    return pte.write_program(program, constant_alignment=constant_alignment)


def to_program(
    module: ModuleOp, context: FlambeauContext, *, strip_debug: bool = False, external: ExternalConstants | None = None
) -> pte.Program:
    """Returns the records of the program of `module`. Raises as `emit_pte` does."""
    check_weights(module, context.blobs)
    data = _Data(context.blobs, {}, external, strip_debug)
    methods: list[MethodOp] = []
    named: list[pte.NamedData] = []
    for op in module.body.block.ops:
        match op:
            case MethodOp():
                methods.append(op)
            case NamedDataOp():
                named.append(pte.NamedData(op.key.data, context.blobs.get(op.value)))
            case GlobalOp() | PayloadOp():
                data.symbols[op.sym_name.data] = op
            case PartitionOp():
                raise EmitError(
                    f"delegate.partition @{op.sym_name.data} is not compiled for its backend: the pass lower-partitions does it"
                )
            case _:
                raise EmitError(f"{op.name} cannot be in a program: convert the whole module to exec methods first")
    if not methods:
        raise EmitError("there is no function to compile: the module has neither a func.func nor an exec.method")
    plans = [_Plan(method, data, is_one_of_several=len(methods) > 1).build(strip_debug=strip_debug) for method in methods]
    described = {plan.name: _describe(method, plan) for method, plan in zip(methods, plans, strict=True)}
    named.append(pte.NamedData(named_data.KEY, memoryview(named_data.encode(described))))
    mutable = (tuple(data.initial_values),) if len(data.initial_values) > 1 else ()
    return pte.Program(tuple(plans), tuple(data.constants), mutable, tuple(named))


def _describe(method: MethodOp, plan: pte.ExecutionPlan) -> named_data.MethodMetadata:
    memory: dict[str, int] = {
        "method": method_memory(plan),
        "method_32": method_memory(plan, 4),
        "arenas": sum(plan.non_const_buffer_sizes),
    }
    if method.scratch is not None:
        memory["scratch"] = method.scratch.value.data
    return named_data.MethodMetadata(
        None if method.input_names is None else tuple(name.data for name in method.input_names),
        None if method.output_names is None else tuple(name.data for name in method.output_names),
        memory,
        method.bank_names,
        tuple(written_inputs(method)),
    )


@dataclass
class _Data:
    """The data that methods share, each content once, in the order of their first use."""

    blobs: BlobStore
    symbols: dict[str, GlobalOp | PayloadOp]
    external: ExternalConstants | None
    strip_debug: bool
    constants: list[memoryview] = field(default_factory=lambda: [memoryview(b"")])
    initial_values: list[memoryview] = field(default_factory=lambda: [memoryview(b"")])
    indices: dict[tuple[bool, str], int] = field(default_factory=dict[tuple[bool, str], int])

    def index(self, name: SymbolRefAttr, *, mutable: bool, or_zeros: bool = False) -> int:
        """Returns the index of a global's value among the constants or the initial values; 0 for a global without one.

        With `or_zeros`, returns 0 for a value of zeros too, because every arena starts with zeros. ExecuTorch writes initial values of
        state each time that it loads a method, so a method that is loaded late would reset the shared state that others have written.
        """
        blob = self._find(name)[1]
        if blob is None:
            return 0
        entries = self.initial_values if mutable else self.constants
        key = (mutable, blob.digest.data)
        if key not in self.indices:
            data = self.blobs.get(blob)
            if or_zeros and not np.frombuffer(data, np.uint8).any():
                return 0
            self.indices[key] = len(entries)
            entries.append(data)
        return self.indices[key]

    def _find(self, name: SymbolRefAttr) -> tuple[GlobalOp, BlobAttr | None]:
        found = self.symbols.get(name.string_value())
        if not isinstance(found, GlobalOp):
            raise EmitError(f"@{name.string_value()} is not an ml_program.global of the module")
        if not isinstance(found.value, BlobAttr | None):
            raise EmitError(f"the value of global @{name.string_value()} is not stored in the context: only blobs can be in a program")
        return found, found.value

    def external_key(self, name: SymbolRefAttr, layout: TensorLayout) -> str | None:
        """Returns the name in a `.ptd` file of a tensor that is a constant or a part of a constant; None if it is in the program."""
        found, blob = self._find(name)
        if self.external is None or blob is None:
            return None
        return self.external.place(name.string_value(), _layout(tensor_type(found.type)), layout, self.blobs.get(blob))

    def delegate(self, name: SymbolRefAttr) -> pte.BackendDelegate:
        """Returns the delegate's record of a payload."""
        found = self.symbols.get(name.string_value())
        if not isinstance(found, PayloadOp):
            raise EmitError(f"@{name.string_value()} is not a delegate.payload of the module")
        return pte.BackendDelegate(found.backend.data, self.blobs.get(found.data), self._specs(found.specs))

    def _specs(self, specs: DictionaryAttr | None) -> tuple[pte.CompileSpec, ...]:
        result: list[pte.CompileSpec] = []
        for key, value in () if specs is None else specs.data.items():
            if key == MODULES and self.strip_debug:
                continue
            if isinstance(value, BlobAttr):
                result.append(pte.CompileSpec(key, self.blobs.get(value)))
            elif isinstance(value, StringAttr):
                result.append(pte.CompileSpec(key, memoryview(value.data.encode())))
        return tuple(result)


class _Plan:
    """Converts one method to records."""

    def __init__(self, method: MethodOp, data: _Data, *, is_one_of_several: bool):
        self.method = method
        self.data = data
        self.is_one_of_several = is_one_of_several
        self.index: dict[SSAValue, int] = {op.results[0]: position for position, op in enumerate(method.slots)}
        self.roots: slots.Roots = {}
        self.texts: list[pte.Value] = []
        """The values after the slots: the texts of failures."""
        self.operators: dict[str, int] = {}
        self.delegates: dict[str, int] = {}
        self.payloads: list[pte.BackendDelegate] = []

    def build(self, *, strip_debug: bool) -> pte.ExecutionPlan:
        """Returns the records of the method, without the places of instructions if `strip_debug`."""
        method = self.method
        if method.arena_sizes is None:
            raise EmitError(f"method @{method.sym_name.data} is not planned: run plan-memory first")
        targets: dict[str, int] = {}
        count = 0
        for op in method.instructions:
            if isinstance(op, LabelOp):
                targets[op.label.data] = count
            else:
                count += 1
        values = tuple(self._value(op) for op in method.slots)
        steps = method.steps
        instructions = tuple(self._instruction(op, targets) for op in steps)
        places = () if strip_debug else tuple(to_frames(op.location) for op in steps)
        specs = (method.input_spec, method.output_spec)
        encoded = [None if spec is None else spec.data for spec in specs]
        return pte.ExecutionPlan(
            name=method.sym_name.data,
            values=(*values, *self.texts),
            inputs=self._indices(method.terminator.inputs),
            outputs=self._indices(method.terminator.outputs),
            chains=(pte.Chain(instructions, stacktrace=places if any(place.items for place in places) else None),),
            operators=tuple(map(_operator, self.operators)),
            delegates=tuple(self.payloads),
            non_const_buffer_sizes=(0, *method.arena_sizes),
            container_meta_type=None if encoded == [None, None] else pte.ContainerMetadata(*encoded),
        )

    def _indices(self, values: Iterable[SSAValue]) -> tuple[int, ...]:
        return tuple(self.index[value] for value in values)

    def _value(self, op: Operation) -> pte.Value:
        match op:
            case slots.TensorSlotOp():
                return self._tensor(op)
            case literals.IntOp():
                return pte.Int(op.number)
            case literals.DoubleOp():
                return pte.Double(op.number)
            case literals.BoolOp():
                return pte.Bool(op.truth)
            case literals.StringOp():
                return pte.String(op.value.data)
            case literals.IntListOp():
                return pte.IntList(self._indices(op.items))
            case literals.DoubleListOp():
                return pte.DoubleList(op.numbers)
            case literals.BoolListOp():
                return pte.BoolList(op.truths)
            case literals.TensorListOp():
                return pte.TensorList(self._indices(op.items))
            case literals.OptionalTensorListOp():
                return pte.OptionalTensorList(tuple(-1 if item is None else self.index[item] for item in op.entries))
            case literals.NoneOp():
                return pte.Null()
            case _:
                raise EmitError(f"{op.name} is no slot that a .pte can hold")

    def _tensor(self, op: slots.TensorSlotOp) -> pte.Tensor:
        type = tensor_type(op.slot)
        base = slots.root_of(op.slot, self.roots)[0]
        root = base.owner
        # A view whose sizes a call sets has no place before that call.
        is_placed_later = isinstance(op, slots.ViewOp) and any(is_viewing(use.operation, op.slot) for use in op.slot.uses)
        place = None if is_placed_later else slots.place_of(op.slot, self.roots)
        buffer = 0
        extra = None
        if isinstance(root, slots.ConstantOp):
            if (key := self.data.external_key(root.global_name, _layout(type))) is not None:
                # Any index but 0 marks a constant.
                buffer, extra = 1, pte.ExtraTensorInfo(fully_qualified_name=key, location=pte.TensorDataLocation.EXTERNAL)
            else:
                buffer = self.data.index(root.global_name, mutable=False)
        elif place is None and root is not op and not is_placed_later:
            raise EmitError(f"{describe(op.slot)} has the storage of {describe(base)}, which has no place in an arena")
        elif isinstance(op, slots.StateOp):
            if place is None:
                raise EmitError(f"state {describe(op.slot)} has no place in an arena")
            buffer = self.data.index(op.global_name, mutable=True, or_zeros=place[0] > 1 and self.is_one_of_several)
            extra = pte.ExtraTensorInfo(fully_qualified_name=op.public_name) if op.public_name else None
        dynamic = not is_static(type)
        return pte.Tensor(
            scalar_type=pte.ScalarType(dtype_of(type.element_type).scalar_type),
            sizes=upper_bounds(type),
            dim_order=dim_order(type),
            data_buffer_idx=buffer,
            allocation_info=None if place is None else pte.AllocationDetails.at(*place),
            shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_BOUND if dynamic else pte.TensorShapeDynamism.STATIC,
            extra_tensor_info=extra,
        )

    def _instruction(self, op: Operation, targets: Mapping[str, int]) -> pte.Instruction:
        match op:
            case CallOp():
                return pte.KernelCall(self._operator_index(op.operator.data), self._indices(op.arguments))
            case FailOp():
                self.texts.append(pte.String(failure.text_of(op.message.data)))
                found, text = self.index[op.found], len(self.index) + len(self.texts) - 1
                return pte.KernelCall(self._operator_index(failure.OPERATOR), (found, text, found, found))
            case DelegateCallOp():
                return pte.DelegateCall(self._delegate(op.delegate), self._indices((*op.ins, *op.outs)))
            case MoveOp():
                return pte.MoveCall(self.index[op.source], self.index[op.target])
            case JumpFalseOp():
                return pte.JumpFalseCall(self.index[op.condition], targets[op.label.data])
            case FreeOp():
                return pte.FreeCall(self.index[op.tensor])
            case _:
                raise EmitError(f"the format has no instruction for {op.name}")

    def _operator_index(self, name: str) -> int:
        return self.operators.setdefault(name, len(self.operators))

    def _delegate(self, name: SymbolRefAttr) -> int:
        key = name.string_value()
        if key not in self.delegates:
            self.delegates[key] = len(self.payloads)
            self.payloads.append(self.data.delegate(name))
        return self.delegates[key]


def _layout(type: Tensor) -> TensorLayout:
    return TensorLayout(pte.ScalarType(dtype_of(type.element_type).scalar_type), upper_bounds(type), dim_order(type))


def _operator(name: str) -> pte.Operator:
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return pte.Operator(f"{namespace}::{base}", overload)
