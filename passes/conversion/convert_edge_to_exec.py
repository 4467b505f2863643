"""`convert-edge-to-exec`: converts functions of values to methods of slots and kernel calls."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, SymbolTable

from flambeau.dialects.delegate.ops import CallOp as DelegatedCallOp
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, MoveOp
from flambeau.dialects.exec.instructions import ReturnOp as ExecReturnOp
from flambeau.dialects.exec.literals import (
    BoolListOp,
    BoolOp,
    DoubleListOp,
    DoubleOp,
    IntListOp,
    IntOp,
    NoneOp,
    OptionalTensorListOp,
    StringOp,
    TensorListOp,
)
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.out_variants import out_variant
from flambeau.dialects.exec.slots import ConstantOp, ExternalOp, StateOp, TensorOp
from flambeau.dialects.flambeau.method_interface import IN_SPEC, OUT_SPEC, Constant, Leaf, inputs_of, outputs_of
from flambeau.dialects.flambeau.symbol_definitions import definitions_of
from flambeau.dialects.flambeau.symbol_operations import AssertOp, DefineSymbolOp, Relation, ValueOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.extents import is_known, is_unknown
from flambeau.dialects.ir.tensor_types import dtype_of, is_static, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite, was_restricted
from flambeau.passes.rewriting.conversion_report import ConversionError, IllegalOperation, LegalizationReport
from flambeau.passes.storage.number_arithmetic import slot_of
from flambeau.passes.storage.number_slots import NumberSlots, UndefinedSymbolError
from flambeau.passes.storage.slot_rewrites import replace_slot
from flambeau.passes.storage.structured_control_flow import STRUCTURED, ControlFlow
from flambeau.passes.targets.interface import TargetName, find_target, target_names


@dataclass
class _Method:
    """A method while it is built: slots first, instructions after them."""

    function: FuncOp
    target: str
    slots: list[Operation] = field(default_factory=list[Operation])
    instructions: list[Operation] = field(default_factory=list[Operation])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The names of the inputs."""
    shared: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    illegal: list[IllegalOperation] = field(default_factory=list[IllegalOperation])

    def __post_init__(self) -> None:
        self.control_flow = ControlFlow(self)
        self.stores = _Stores(self.function.body.block)
        self.definitions = definitions_of(self.function.body)
        self.numbers = NumberSlots(self.slot, lambda value: self.constant(value, "int"), self.emit, lambda: self.location)
        self.location = self.function.location

    def emit(self, op: Operation) -> None:
        """Adds an instruction of the operation that is converted."""
        op.location = self.location
        self.instructions.append(op)

    def slot(self, op: Operation) -> SSAValue:
        """Adds a slot."""
        self.slots.append(op)
        return op.results[0]

    def share(self, key: object, make: Any) -> SSAValue:
        """A slot that never changes, the same one for the same key."""
        if key not in self.shared:
            self.shared[key] = self.slot(make())
        return self.shared[key]

    def constant(self, value: Any, kind: str) -> SSAValue:
        """The slot of an argument that is not a tensor."""
        if not is_known(value):
            return self.numbers.of(value)
        if value is None or kind == "MemoryFormat":
            # The result's slot says what its format is.
            return self.share(None, NoneOp)
        if isinstance(value, Attribute):
            return self.constant(dtype_of(value).scalar_type, "int")
        if isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            if kind == "bool":
                return self.share(("bools", items), lambda: BoolListOp(items))
            if kind in ("float", "Scalar"):
                return self.share(("doubles", items), lambda: DoubleListOp([float(item) for item in items]))
            boxed = [self.constant(item, "int") for item in items]
            return self.share(("ints", *boxed), lambda: IntListOp(boxed))
        if isinstance(value, bool):
            return self.share(("bool", value), lambda: BoolOp(value))
        if isinstance(value, int) and kind != "float":
            return self.share(("int", value), lambda: IntOp(value))
        if isinstance(value, int | float):
            # repr tells -0.0 from 0.0 and keeps NaN equal to itself.
            return self.share(("double", repr(float(value))), lambda: DoubleOp(float(value)))
        return self.share(("string", value), lambda: StringOp(value))

    def argument(self, argument: SchemaArgument, value: Any) -> SSAValue:
        """The slot of one argument of a call."""
        if not argument.type.is_tensor:
            return self.constant(value, argument.type.base)
        if argument.type.is_list:
            items = [None if item is None else self.values[item] for item in cast("Sequence[SSAValue | None]", value)]
            if argument.type.element_optional:
                return self.slot(OptionalTensorListOp(items))
            return self.slot(TensorListOp([item for item in items if item is not None]))
        return self.constant(None, "") if value is None else self.values[value]

    def call(self, op: SchemaOp) -> None:
        """Adds the kernel call of an operator."""
        schema = out_variant(op.schema)
        reason = None
        if schema is None:
            reason = "PyTorch declares no out-variant of it"
        elif not find_target(self.target).has(type(op)):
            others = [repr(name) for name in target_names() if find_target(name).has(type(op))]
            hint = f"; {' and '.join(others)} {'has' if len(others) == 1 else 'have'} it" if others else ""
            reason = f"the target {self.target!r} has no kernel {schema.qualified_name}{hint}"
        elif (limit := find_target(self.target).beyond(op)) is not None:
            reason = f"{schema.qualified_name} of the target {self.target!r} does not take it: {limit}"
        if schema is None or reason is not None:
            self.illegal.append(IllegalOperation(op, reason or ""))
            for result in op.results:
                self.values[result] = self.slot(TensorOp(result.type))
            return
        given = dict(zip((a.name for a in op.schema.arguments), op.arguments(), strict=True))
        written = op.written()
        computed, news = op.results[: len(op.results) - len(written)], op.results[len(op.results) - len(written) :]
        updated = [self.own_slot(result, op) for result in news]
        for value, slot in zip(written, updated, strict=True):
            if self.values[value] is not slot:
                self.copy(self.values[value], slot, op)
        values = iter(news)
        ins: list[SSAValue] = []
        lent: dict[str | None, SSAValue] = {}
        for argument in schema.arguments:
            if argument in schema.outs:
                continue
            value = given.get(argument.name, argument.default)
            if argument.name in schema.written and value is not None:
                value = [next(values) for _ in value] if argument.type.is_list else next(values)
            lent[argument.type.alias] = self.argument(argument, value)
            ins.append(lent[argument.type.alias])
        outs = [self.own_slot(result, op) for result in computed]
        returned = [lent[kind.alias] for kind in schema.returns if kind.mutated] if not schema.outs else outs
        if schema.outs and schema.outs[0].type.is_list:
            outs, returned = [self.slot(TensorListOp(outs))], []
        elif len(returned) > 1:
            returned = [self.slot(TensorListOp(returned))]
        self.instruct(CallOp(schema.qualified_name, ins, outs, returned, updated), op)

    def delegate(self, op: DelegatedCallOp) -> None:
        """Adds the call of a delegate."""
        if not isinstance(SymbolTable.lookup_symbol(op, op.callee), PayloadOp):
            reason = f"@{op.callee.string_value()} is not compiled yet; run lower-partitions first"
            self.illegal.append(IllegalOperation(op, reason))
        outs = [self.own_slot(result, op) for result in op.results]
        self.instruct(DelegateCallOp(op.callee, [self.values[value] for value in op.arguments], outs), op)

    def require_bounds(self, value: SSAValue, op: Operation) -> None:
        """A slot has as many bytes as its tensor may ever need."""
        try:
            upper_bounds(value)
        except TypeError as error:
            self.illegal.append(IllegalOperation(op, str(error)))

    def own_slot(self, result: SSAValue, op: Operation) -> SSAValue:
        """Declares the slot of a tensor or number that `op` gives, if it has none, and makes the slot that of the value."""
        if not isinstance(result.type, TensorType):
            self.values[result] = self.slot(slot_of(result.type))
            return self.values[result]
        self.require_bounds(result, op)
        if (chosen := self.control_flow.destinations.get(result)) is not None:
            self.values[result] = chosen
            return chosen
        slot = TensorOp(tensor_type(result))
        slot.location = op.location
        slot.results[0].name_hint = result.name_hint
        self.values[result] = self.slot(slot)
        return self.values[result]

    def input(self, leaf: Leaf, argument: SSAValue | None, is_external: bool) -> SSAValue:
        """Declares the slot of an input."""
        if argument is None:
            return _leaf_slot(self, leaf.value)
        if not isinstance(argument.type, TensorType):
            self.values[argument] = self.slot(slot_of(argument.type))
            return self.values[argument]
        self.require_bounds(argument, self.function)
        slot = (ExternalOp if is_external else TensorOp)(tensor_type(argument))
        slot.location = cast(BlockArgument, argument).location
        slot.results[0].name_hint = argument.name_hint
        self.values[argument] = self.slot(slot)
        return self.values[argument]

    def check_inputs(self) -> None:
        """Gives the symbols of the inputs their values, and checks every extent of those that are dynamic."""
        dynamic = {
            value: (self.values[value], self.definitions.get(value, ()), partial(_dimension, name))
            for value, name in self.names.items()
            if isinstance(value.type, TensorType) and not is_static(value)
        }
        for given in dynamic.values():
            self.numbers.define_dims(*given)
        for value, given in dynamic.items():
            self.numbers.check_dims(value, *given)

    def learn(self, op: Operation) -> None:
        """Gives the symbols that the results of an operation define their values, and checks their other sizes that data decides."""
        shapes = op.inferred_shapes() if isinstance(op, SchemaOp) and not is_static(*op.results) else ()
        what = partial(_dimension_given, op.name)
        for index, result in enumerate(op.results):
            given = self.values[result], self.definitions.get(result, ()), what
            self.numbers.define_dims(*given)
            self.numbers.check_dims(result, *given, [dim for dim, size in enumerate(shapes[index]) if is_unknown(size)] if shapes else ())

    def define(self, op: DefineSymbolOp) -> None:
        """Gives a symbol the integer in a slot."""
        source = self.values[op.source]
        number = self.numbers.item(source) if isinstance(source.type, TensorType) else source
        for definition in self.definitions.get(op, ()):
            self.numbers.define(definition, number, f"input {name!r}" if (name := self.names.get(op.source)) else f"{definition.symbol}")

    def check(self, op: AssertOp) -> None:
        """Fails where a relation does not hold; ranges prove it only here, where what gives a symbol its value has checked its range."""
        if op.is_proven:
            return
        left, right = (self.numbers.of(side.value) for side in (op.left, op.right))
        varying = [slot for side, slot in ((op.left, left), (op.right, right)) if not is_known(side.value)]
        text = f"{op.text}{'' if op.message else ' must hold'}{self.numbers.origins(op.left.value, op.right.value)}"
        self.numbers.check(cast(Relation, op.relation.data), left, right, text, varying[0] if len(varying) == 1 else None)

    def instruct(self, instruction: Operation, op: Operation) -> None:
        """Adds an instruction, in the place of `op`."""
        instruction.location = op.location
        self.instructions.append(instruction)

    def write_inputs(self, written: Sequence[tuple[SSAValue, SSAValue]], returned: Sequence[SSAValue], end: Operation) -> list[SSAValue]:
        """Writes the new values of inputs to them; gives the slots of what is returned, copies of what lies in the caller's inputs."""
        values = [self.values[value] for value in (*returned, *(value for _, value in written))]
        for index, slot in enumerate(values):
            # The new value of an input may be the old one of another.
            if isinstance(slot.owner, ExternalOp) and (index < len(returned) or len(written) > 1):
                values[index] = self.slot(TensorOp(slot.type))
                self.copy(slot, values[index], end)
        for (argument, _), value in zip(written, values[len(returned) :], strict=True):
            self.write(self.values[argument], value, end)
        return values[: len(returned)]

    def copy(self, source: SSAValue, target: SSAValue, op: Operation) -> None:
        """Adds a copy from one slot to another of the same type."""
        if not isinstance(source.type, TensorType):
            self.instruct(MoveOp(source, target), op)
            return
        self.instruct(CallOp("aten::clone.out", [source, self.constant(None, "")], [target]), op)

    def refuse(self, op: Operation, reason: str) -> None:
        """Notes that an operation has no form; its readers are converted all the same, to find everything that is illegal."""
        self.illegal.append(IllegalOperation(op, reason))
        for result in op.results:
            self.values[result] = self.slot(TensorOp(tensor_type(result)) if isinstance(result.type, TensorType) else NoneOp())

    def state(self, op: GlobalLoadOp | GlobalStoreOp) -> SSAValue:
        """The slot of the state that an operation reads or writes."""
        name = op.global_attr.string_value()
        kind = op.operands[0].type if isinstance(op, GlobalStoreOp) else op.result.type
        return self.share(("state", name), lambda: StateOp(name, kind))

    def load(self, op: GlobalLoadOp) -> None:
        """Reads a state: in its place, or as a copy where the value is still read after the state gets its next one."""
        state = self.state(op)
        self.values[op.result] = state
        if self.stores.outlives(op):
            slot = self.values[op.result] = self.slot(TensorOp(op.result.type))
            self.copy(state, slot, op)

    def store(self, op: GlobalStoreOp) -> None:
        """Writes a value back to the state it belongs to."""
        self.write(self.state(op), self.values[op.operands[0]], op)

    def write(self, target: SSAValue, value: SSAValue, op: Operation) -> None:
        """Writes over a slot, which lasts."""
        self.instruct(CallOp("aten::copy_", [target, value, self.constant(False, "bool")], (), [target]), op)

    def convert(self, block: Block) -> None:
        """Adds the instructions of a block."""
        self.control_flow.prepare(block)
        with self.numbers.inside():
            self._convert(block)

    def _convert(self, block: Block) -> None:
        for op in block.ops:
            self.location = op.location
            if op is block.last_op and op.has_trait(IsTerminator, value_if_unregistered=False):
                continue
            try:
                self._convert_operation(op)
            except UndefinedSymbolError as error:
                self.refuse(op, str(error))

    def _convert_operation(self, op: Operation) -> None:
        match op:
            case GlobalLoadConstantOp():
                name, kind = op.global_attr.string_value(), op.result.type
                self.values[op.result] = self.share(("constant", name), lambda: ConstantOp(name, kind))
                self.values[op.result].name_hint = op.result.name_hint
            case GlobalLoadOp():
                self.load(op)
            case GlobalStoreOp():
                self.store(op)
            case SchemaOp():
                self.call(op)
                self.learn(op)
            case DefineSymbolOp():
                self.define(op)
            case AssertOp():
                self.check(op)
            case ValueOp():
                self.values[op.result] = self.numbers.of(op.expression.value)
            case DelegatedCallOp():
                self.delegate(op)
            case _ if isinstance(op, STRUCTURED):
                self.control_flow.convert(op)
                self.learn(op)
            case _:
                self.refuse(op, "it has no form as a kernel call")


def _dimension(name: str, dim: int) -> str:
    return f"dimension {dim} of input {name!r}"


def _dimension_given(name: str, dim: int) -> str:
    return f"dimension {dim} of what {name} gives"


class _Stores:
    """The stores of a function to its states."""

    def __init__(self, block: Block):
        self._block = block
        self._position = {op: index for index, op in enumerate(block.ops)}
        self._of: dict[str, list[int]] = {}
        for op in block.walk():
            if isinstance(op, GlobalStoreOp):
                self._of.setdefault(op.global_attr.string_value(), []).append(self._place(op))

    def _place(self, op: Operation) -> int:
        """The position of the operation of the function's own block in which an operation is."""
        around = self._block.find_ancestor_op_in_block(op)
        return -1 if around is None else self._position[around]

    def outlives(self, load: GlobalLoadOp) -> bool:
        """Whether the loaded value may still be read after the state gets its next value."""
        stores = self._of.get(load.global_attr.string_value(), ())
        if load.parent is not self._block:
            return bool(stores)
        following = bisect_right(stores, self._position[load])
        if following == len(stores):
            return False
        # Inside of one branch or loop, either may come first.
        return any(
            place > stores[following] or (place == stores[following] and use.operation.parent is not self._block)
            for use in load.result.uses
            if (place := self._place(use.operation)) >= 0
        )


def _leaf_slot(method: _Method, value: Constant) -> SSAValue:
    """A slot of its own for a constant input or output: a caller may set it."""
    match value:
        case None:
            return method.slot(NoneOp())
        case bool():
            return method.slot(BoolOp(value))
        case int():
            return method.slot(IntOp(value))
        case float():
            return method.slot(DoubleOp(value))
        case str():
            return method.slot(StringOp(value))


def convert_function(function: FuncOp, target: str, *, are_inputs_external: bool = False) -> tuple[MethodOp, list[IllegalOperation]]:
    """The method that computes what `function` does, and the operations for which the target has no kernel.

    Raises:
        OperationError: the function branches.
    """
    if len(function.body.blocks) != 1:
        raise OperationError(function, f"@{function.sym_name.data} has {len(function.body.blocks)} blocks; only one can become a method")
    method = _Method(function, target)
    outputs = outputs_of(function)
    written = [leaf.writes for leaf in outputs if leaf.writes is not None]
    arguments = iter(function.body.block.args)
    given = [(leaf, next(arguments) if leaf.is_tensor else None) for leaf in inputs_of(function)]
    inputs = [method.input(leaf, argument, are_inputs_external or leaf.name in written) for leaf, argument in given]
    method.names.update((argument, leaf.name) for leaf, argument in given if argument is not None)
    method.check_inputs()
    method.convert(function.body.block)
    end = function.body.block.last_op
    results = list(end.operands) if isinstance(end, ReturnOp) else []
    last = len(results) - len(written)
    named = {name: argument for argument, name in method.names.items()}
    updates = [(named[name], value) for name, value in zip(written, results[last:], strict=True)]
    returned = iter(method.write_inputs(updates, results[:last], end or function))
    outputs = [next(returned) if leaf.is_tensor else _leaf_slot(method, leaf.value) for leaf in outputs if leaf.writes is None]
    in_spec, out_spec = function.attributes.get(IN_SPEC), function.attributes.get(OUT_SPEC)
    method.instructions += method.numbers.failures()
    result = MethodOp(
        function.sym_name.data,
        [*method.slots, *method.instructions, ExecReturnOp(inputs, outputs)],
        input_names=[leaf.name for leaf in inputs_of(function)],
        output_names=[leaf.name for leaf in outputs_of(function) if leaf.writes is None],
        input_spec=in_spec.data if isinstance(in_spec, StringAttr) else None,
        output_spec=out_spec.data if isinstance(out_spec, StringAttr) else None,
    )
    result.location = function.location
    return result, method.illegal


@dataclass(frozen=True)
class ConvertEdgeToExecPass(ModulePass):
    """Gives every value a slot and every operator a kernel call in ExecuTorch's calling convention.

    Needs: `edge`, `quantized_decomposed` or `fused` operators with static or bounded shapes, and calls of payloads; `scf.if`, `scf.while`
    and `scf.for` from a constant in constant steps; `arith` on `i64`, `f64`, `i1`, of symbols and of tensors of one element; `cf.assert`;
    `tensor.extract_slice` and `tensor.insert_slice` of one entry of the outermost dimension. Leaves: one `exec.method` per
    function, its tensors without places; scalars and lists that are equal share a slot. Branches and loops become jumps; their results are
    computed into their slots, or copied where the slot is still read. Raises ConversionError that lists every operator for which the target
    has no kernel, and leaves the module as it was then.
    """

    name = "convert-edge-to-exec"
    target: TargetName = "executorch"
    """Whose kernels may be called."""
    alloc_graph_input: bool = True
    """Whether inputs are planned; without, they are read where the caller has them."""
    alloc_graph_output: bool = True
    """Whether outputs are planned; without, they are written where the caller wants them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place, or leaves it as it is when something has no kernel. Raises ConversionError, OperationError."""
        functions = [item for item in op.body.block.ops if isinstance(item, FuncOp) and item.body.blocks and may_rewrite(self.name, item)]
        converted = [(function, *self._convert(function)) for function in functions]
        illegal = [item for _, _, missing in converted for item in missing]
        if illegal and not was_restricted():
            raise ConversionError(LegalizationReport.of(f"kernel calls of the target {self.target!r}", illegal))
        for function, method, missing in converted:
            if missing:
                continue
            op.body.block.insert_op_before(method, function)
            function.detach()
            function.erase()
            count("kernel calls", sum(isinstance(item, CallOp) for item in method.instructions))
            count("slots", len(method.slots))

    def _convert(self, function: FuncOp) -> tuple[MethodOp, list[IllegalOperation]]:
        method, missing = convert_function(function, self.target, are_inputs_external=not self.alloc_graph_input)
        inputs = method.terminator.inputs
        for slot in dict.fromkeys(method.terminator.outputs if not self.alloc_graph_output else ()):
            if isinstance(slot.owner, TensorOp) and slot not in inputs:
                replace_slot(slot, ExternalOp(slot.type))
        return method, missing
