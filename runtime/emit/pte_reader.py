"""Reads a `.pte` of Flambeau or ExecuTorch as `exec` IR.

The format does not record which arguments of a call are outs, nor which tensors share storage on purpose. The outs follow from the calling
convention. Shared storage is inferred: a slot that is read but never written is a view of the slots that were written in its memory, and an
out in the memory of an input of the same call reuses the input.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.delegate.ops import PayloadOp, compile_specs, spec_value
from flambeau.dialects.exec import literals, slots
from flambeau.dialects.exec.declarations import order_declarations
from flambeau.dialects.exec.instructions import (
    COPY_INDEX,
    CallOp,
    DelegateCallOp,
    FailOp,
    FreeOp,
    InstructionOp,
    JumpFalseOp,
    LabelOp,
    MoveOp,
    ReturnOp,
)
from flambeau.dialects.exec.method import MethodOp, NamedDataOp, is_bank_name
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.extents import unknown
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import Tensor, from_scalar_type, tensor, tensor_type
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.out_variants import writing_kernels
from flambeau.dialects.schema.schema import Schema
from flambeau.runtime import pte
from flambeau.runtime.emit import failure, named_data
from flambeau.runtime.emit.places import from_frames
from flambeau.runtime.emit.sharing import infer_sharing, lasting_slots, make_state, view_parts_of_state

if TYPE_CHECKING:
    from typing_extensions import Buffer

PRIMITIVES = ("executorch_prim::", "aten::sym_size", "aten::sym_numel", "aten::_local_scalar_dense")
"""The prefixes of kernels that write a value other than a tensor into their last argument."""


def read_pte(data: "Buffer", context: FlambeauContext) -> ModuleOp:
    """Returns the module of a program. Constants become views of `data` in the context's store.

    Raises:
        PteError: the bytes are not a program, or use features that the dialect lacks: unbounded shapes, devices other than the
            processor, data outside of the file (see `flambeau.runtime.flat_tensor.link_files`).
    """
    return from_program(pte.read_program(data), context)


def from_program(program: pte.Program, context: FlambeauContext) -> ModuleOp:
    """Returns the module of a program's records. Raises PteError as `read_pte` does."""
    described: Mapping[str, named_data.MethodMetadata] = {}
    symbols = _Symbols(program, context.blobs)
    named: list[Operation] = []
    for item in program.named_data:
        if item.key == named_data.KEY:
            described = named_data.decode(item.data)
        else:
            named.append(NamedDataOp(item.key, context.blobs.add(f"named_data.{item.key}", item.data)))
    methods: list[MethodOp] = []
    for plan in program.execution_plan:
        methods.append(_Method(plan, symbols, described.get(plan.name, named_data.MethodMetadata())).build())
    return ModuleOp([*symbols.ops, *named, *methods])


@dataclass
class _Symbols:
    """The globals and payloads that the methods of a program share."""

    program: pte.Program
    blobs: BlobStore
    ops: list[Operation] = field(default_factory=list[Operation])
    known: dict[object, str] = field(default_factory=dict[object, str])
    taken: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = {plan.name for plan in self.program.execution_plan}

    def _add(self, key: object, name: str, make: Callable[[str], Operation]) -> str:
        if key not in self.known:
            unique = name
            count = 1
            while unique in self.taken:
                unique = f"{name}_{count}"
                count += 1
            self.taken.add(unique)
            self.known[key] = unique
            self.ops.append(make(unique))
        return self.known[key]

    def constant(self, index: int, type: Tensor, size: int) -> str:
        """Returns the name of the global for constant `index`, of `size` bytes, as a tensor of `type`; each type has its own global."""
        data = self.program.constants[index][:size]
        return self._add((index, type), f"constant_{index}", lambda name: GlobalOp(name, type, self.blobs.add(name, data)))

    def state(self, index: int, type: Tensor, size: int, name: str | None, place: tuple[int, int], method: str) -> str:
        """Returns the name of the mutable global for a state tensor. Methods share the state at one place of the arenas after the first."""

        def make(unique: str) -> Operation:
            value = self.blobs.add(unique, self.program.mutable_data[0][index][:size]) if index else None
            return GlobalOp(unique, type, value, is_mutable=True)

        return self._add(("state", index, type, name, place, method if place[0] == 1 else None), name or "state", make)

    def payload(self, delegate: pte.BackendDelegate) -> str:
        """Returns the name of the payload of a delegate; equal delegates share one."""

        def make(name: str) -> Operation:
            specs = {spec.key: spec_value(name, spec.key, spec.value, self.blobs) for spec in delegate.compile_specs}
            return PayloadOp(name, delegate.id, self.blobs.add(name, delegate.processed), specs=compile_specs(specs) if specs else None)

        return self._add(("payload", delegate), "delegate0", make)


class _Method:
    """Converts one execution plan to IR."""

    def __init__(self, plan: pte.ExecutionPlan, symbols: _Symbols, described: named_data.MethodMetadata):
        self.plan = plan
        self.symbols = symbols
        self.described = described
        if len(plan.chains) != 1:
            raise pte.PteError(f"method {plan.name!r} has {len(plan.chains)} chains of instructions: programs with one are supported")
        self.payloads = [symbols.payload(delegate) for delegate in plan.delegates]
        self.slots: list[SSAValue] = []
        self.texts: set[Operation] = set()
        """The declarations of the texts of failures."""

    def build(self) -> MethodOp:
        """Returns the method, with the sharing of storage inferred."""
        declared: dict[int, Operation] = {}
        # Lists come last, because they refer to other values.
        for index, value in sorted(enumerate(self.plan.values), key=lambda item: isinstance(item[1], _LISTS)):
            declared[index] = self._declare(index, value, declared)
        declarations = [declared[index] for index in range(len(self.plan.values))]
        self.slots = [op.results[0] for op in declarations]
        self._hint_names()
        metadata_type = self.plan.container_meta_type or pte.ContainerMetadata()
        memory = self.described.memory or {}
        instructions = self._instructions()
        declarations = [op for op in declarations if op not in self.texts or op.results[0].uses]
        method = MethodOp(
            self.plan.name,
            [*declarations, *instructions, ReturnOp(self._at(self.plan.inputs), self._at(self.plan.outputs))],
            arenas=self.plan.non_const_buffer_sizes[1:],
            banks=self._banks(),
            scratch=memory.get("scratch"),
            input_names=self._names(self.described.inputs, self.plan.inputs),
            output_names=self._names(self.described.outputs, self.plan.outputs),
            input_spec=metadata_type.encoded_inp_str,
            output_spec=metadata_type.encoded_out_str,
        )
        view_parts_of_state(method)
        order_declarations(method)
        for slot in lasting_slots(method):
            op = slot.owner
            if isinstance(op, slots.TensorOp) and op.place is not None:
                make_state(op, self.symbols.state(0, tensor_type(slot), slots.nbytes(slot.type), None, op.place, self.plan.name))
        infer_sharing(method)
        return method

    def _names(self, names: tuple[str, ...] | None, indices: Sequence[int]) -> tuple[str, ...] | None:
        if names is not None and len(names) != len(indices):
            raise pte.PteError(f"the program's {named_data.KEY} is damaged: method {self.plan.name!r} has other inputs or outputs")
        return names

    def _banks(self) -> tuple[str, ...] | None:
        names = self.described.banks
        if names is not None and (len(names) != len(self.plan.non_const_buffer_sizes) - 1 or not all(map(is_bank_name, names))):
            raise pte.PteError(f"the program's {named_data.KEY} is damaged: method {self.plan.name!r} has other banks")
        return names

    def _at(self, indices: Sequence[int]) -> list[SSAValue]:
        return [self.slots[index] for index in indices]

    def _hint_names(self) -> None:
        for names, indices in ((self.described.outputs, self.plan.outputs), (self.described.inputs, self.plan.inputs)):
            for name, index in zip(names or (), indices, strict=False):
                if re.fullmatch(r"[A-Za-z_]\w*", name):
                    self.slots[index].name_hint = name
        for name, index in zip(self.described.inputs or (), self.plan.inputs, strict=False):
            cast(Operation, self.slots[index].owner).location = NameLoc(StringAttr(name), UnknownLoc())

    # Values

    def _declare(self, index: int, value: pte.Value, declared: Mapping[int, Operation]) -> Operation:
        match value:
            case pte.Tensor():
                return self._tensor(index, value)
            case pte.Null():
                return literals.NoneOp()
            case pte.Int(number):
                return literals.IntOp(number)
            case pte.Bool(truth):
                return literals.BoolOp(truth)
            case pte.Double(number):
                return literals.DoubleOp(number)
            case pte.String(text):
                return literals.StringOp(text)
            case pte.DoubleList(numbers):
                return literals.DoubleListOp(numbers)
            case pte.BoolList(truths):
                return literals.BoolListOp(truths)
            case pte.IntList(items):
                return literals.IntListOp([declared[item].results[0] for item in items])
            case pte.TensorList(items):
                return literals.TensorListOp([declared[item].results[0] for item in items])
            case pte.OptionalTensorList(items):
                return literals.OptionalTensorListOp([None if item == -1 else declared[item].results[0] for item in items])

    def _unsupported(self, index: int, what: str) -> pte.PteError:
        return pte.PteError(f"method {self.plan.name!r}, value {index}: {what}, which is not supported")

    def _tensor(self, index: int, value: pte.Tensor) -> Operation:
        extra = value.extra_tensor_info or pte.ExtraTensorInfo()
        row = from_scalar_type(value.scalar_type)
        if row is None:
            raise self._unsupported(index, f"its element type is {value.scalar_type.name}")
        if value.shape_dynamism is pte.TensorShapeDynamism.DYNAMIC_UNBOUND:
            raise self._unsupported(index, "its sizes have no bounds")
        if value.storage_offset:
            raise self._unsupported(index, "it has a storage offset")
        if extra.location is pte.TensorDataLocation.EXTERNAL:
            text = f"method {self.plan.name!r}, value {index}: its data {extra.fully_qualified_name!r} lies in a .ptd file"
            raise pte.PteError(f"{text}, which is given with --data-path")
        if extra.device_type is not pte.DeviceType.CPU:
            raise self._unsupported(index, f"it lies on a {extra.device_type.name} device")
        plain = value.dim_order == tuple(range(len(value.sizes)))
        # A tensor without dimensions is static, even if the file marks it as dynamic.
        if value.shape_dynamism is pte.TensorShapeDynamism.DYNAMIC_BOUND and value.sizes:
            shape, layout = tuple(unknown(0, size) for size in value.sizes), LayoutAttr.of(value.dim_order)
        else:
            shape, layout = value.sizes, None if plain else LayoutAttr.of(value.dim_order)
        type = tensor(row.element, shape, layout)
        allocation = value.allocation_info
        if allocation is None:
            if not value.data_buffer_idx:
                is_external = index in self.plan.inputs or index in self.plan.outputs
                return slots.ExternalOp(type) if is_external else slots.TensorOp(type)
            return slots.ConstantOp(self.symbols.constant(value.data_buffer_idx, type, value.nbytes), type)
        place = (allocation.memory_id, allocation.memory_offset)
        public = extra.fully_qualified_name
        if not value.data_buffer_idx and public is None:
            return slots.TensorOp(type, *place)
        name = self.symbols.state(value.data_buffer_idx, type, value.nbytes, public, place, self.plan.name)
        return slots.StateOp(name, type, *place, None if name == public else public or "")

    # Instructions

    def _instructions(self) -> list[InstructionOp]:
        steps = self.plan.chains[0].instructions
        targets = sorted({step.destination_instruction for step in steps if isinstance(step, pte.JumpFalseCall)})
        labels = {target: f"L{number}" for number, target in enumerate(targets)}
        locations = {index: from_frames(place.items) for index, place in enumerate(self.plan.chains[0].stacktrace or ())}
        defined = set(self.plan.inputs)
        result: list[InstructionOp] = []
        for position, step in enumerate(steps):
            if position in labels:
                result.append(LabelOp(labels[position]))
            op = self._instruction(step, labels, defined)
            op.location = locations.get(position, UnknownLoc())
            result.append(op)
        if len(steps) in labels:
            result.append(LabelOp(labels[len(steps)]))
        return result

    def _instruction(self, step: pte.Instruction, labels: Mapping[int, str], defined: set[int]) -> InstructionOp:
        match step:
            case pte.KernelCall(operator, args):
                defined.update(args)
                return self._call(self.plan.operators[operator].full_name, args)
            case pte.DelegateCall(delegate, args):
                count = self._inputs_of_delegate(args, defined)
                defined.update(args)
                return DelegateCallOp(self.payloads[delegate], self._at(args[:count]), self._at(args[count:]))
            case pte.MoveCall(source, target):
                defined.add(target)
                return MoveOp(self.slots[source], self.slots[target])
            case pte.JumpFalseCall(condition, target):
                return JumpFalseOp(self.slots[condition], labels[target])
            case pte.FreeCall(value):
                return FreeOp(self.slots[value])

    def _inputs_of_delegate(self, args: Sequence[int], defined: set[int]) -> int:
        """Returns the number of a delegate's arguments that are inputs: those up to the last argument that has a value before the call."""
        for count in range(len(args), 0, -1):
            value = self.plan.values[args[count - 1]]
            if args[count - 1] in defined or not isinstance(value, pte.Tensor) or value.data_buffer_idx:
                return count
        return 0

    def _failure(self, args: Sequence[int]) -> FailOp | None:
        """Returns the failure that a call of the kernel in `failure` stands for; None for another call of it."""
        found, text = (self.plan.values[index] for index in args[:2]) if len(args) == 4 else (None, None)
        is_number = isinstance(found, pte.Tensor) and found.scalar_type is pte.ScalarType.DOUBLE and found.sizes == (1,)
        if not (is_number and isinstance(text, pte.String) and failure.is_text(text.string_val)):
            return None
        self.texts.add(cast(Operation, self.slots[args[1]].owner))
        return FailOp(text.string_val, self.slots[args[0]])

    def _call(self, operator: str, args: Sequence[int]) -> CallOp | FailOp:
        """Returns the call, with inputs, outs and results separated by the calling convention that FORMAT.md describes."""
        values = self.plan.values
        if operator == failure.OPERATOR and (found := self._failure(args)) is not None:
            return found
        if (schema := writing_kernels().get(operator)) is not None:
            return self._writing_call(schema, args)
        if operator == COPY_INDEX or not args:
            return CallOp(operator, self._at(args))
        *rest, last = args
        in_place = operator.partition(".")[0].endswith("_")
        if in_place or operator.startswith(PRIMITIVES) or not rest:
            return CallOp(operator, self._at(rest), (), self._at([last]))
        if last == rest[-1]:
            return CallOp(operator, self._at(rest[:-1]), self._at([last]))
        if isinstance(returned := values[last], pte.TensorList):
            before = values[rest[-1]]
            if isinstance(before, pte.TensorList) and before.items == returned.items:
                return CallOp(operator, self._at(rest[:-1]), self._at(rest[-1:]), self._at([last]))
            count = len(returned.items)
            if count > 1 and tuple(rest[-count:]) == returned.items:
                return CallOp(operator, self._at(rest[:-count]), self._at(rest[-count:]), self._at([last]))
        return CallOp(operator, self._at(rest), (), self._at([last]))

    def _writing_call(self, schema: Schema, args: Sequence[int]) -> CallOp:
        """Returns the call of a kernel that writes to some of its arguments."""
        slots, count = self._at(args), len(schema.arguments)
        given = list(zip(schema.arguments, slots, strict=False))
        written = [slot for argument, slot in given if argument.name in schema.written and not isinstance(slot.owner, literals.NoneOp)]
        written = [item for slot in written for item in (slot.owner.items if isinstance(slot.owner, literals.TensorListOp) else (slot,))]
        ins, outs = slots[: count - len(schema.outs)], slots[count - len(schema.outs) : count]
        return CallOp(schema.qualified_name, ins, outs, slots[count:] if len(outs) != 1 else (), written)


_LISTS = (pte.IntList, pte.TensorList, pte.OptionalTensorList)
