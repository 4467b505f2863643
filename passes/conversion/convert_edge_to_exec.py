"""`convert-edge-to-exec`: converts functions of values to methods of slots and kernel calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, i1
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, SymbolTable

from flambeau.dialects.delegate.ops import CallOp as DelegatedCallOp
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.exec.instructions import OVERWRITE, CallOp, DelegateCallOp, JumpFalseOp, LabelOp
from flambeau.dialects.exec.instructions import ReturnOp as ExecReturnOp
from flambeau.dialects.exec.literals import (
    BoolOp,
    DoubleOp,
    IntOp,
    NoneOp,
    StringOp,
    TensorListOp,
)
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ConstantOp, ExternalOp, StateOp, TensorOp
from flambeau.dialects.flambeau.method_interface import IN_SPEC, OUT_SPEC, Constant, Leaf, inputs_of, outputs_of
from flambeau.dialects.flambeau.symbol_definitions import definitions_of
from flambeau.dialects.flambeau.symbol_operations import AssertOp, DefineSymbolOp, Relation, ValueOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.dominance import dominator_tree
from flambeau.dialects.ir.extents import is_known, is_unknown
from flambeau.dialects.ir.tensor_types import is_static, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite, was_restricted
from flambeau.passes.rewriting.conversion_report import ConversionError, IllegalOperation, LegalizationReport
from flambeau.passes.storage.entries import ENTRIES, convert_entry
from flambeau.passes.storage.number_arithmetic import NUMBERS, number_slot, slot_of, why_not
from flambeau.passes.storage.number_slots import NumberSlots, UndefinedSymbolError
from flambeau.passes.storage.slot_builder import SlotBuilder
from flambeau.passes.storage.slot_rewrites import replace_slot
from flambeau.passes.storage.value_slots import ValueSlots
from flambeau.passes.targets.interface import TargetName, find_target, target_names


class _Method:
    """The state of a method under construction."""

    def __init__(self, function: FuncOp, target: str):
        self.function = function
        self.target = target
        self.table = find_target(target).table
        self.builder = SlotBuilder(function.location)
        self.numbers = NumberSlots(self.builder)
        self.slots = ValueSlots(self.builder, self.numbers)
        self.values = self.slots.values
        self.names: dict[SSAValue, str] = {}
        """The names of the inputs."""
        self.definitions = definitions_of(function.body)
        self.labels: dict[Block, str] = {}
        self.edges = 0

    def call(self, op: SchemaOp) -> None:
        """Adds the kernel call of an operator."""
        schema = out_variant(op.schema)
        reason = None
        if schema is None:
            reason = "PyTorch declares no out-variant of it"
        elif (contract := self.table.rule(type(op))) is None:
            others = [repr(name) for name in target_names() if find_target(name).has(type(op))]
            hint = f"; {' and '.join(others)} {'has' if len(others) == 1 else 'have'} it" if others else ""
            reason = f"the target {self.target!r} has no kernel {schema.qualified_name}{hint}"
        elif self.table.lacking(schema.qualified_name, (*op.operands, *op.results)) is not None:
            pass  # `reuse-storage` refuses the call unless it has vanished by then
        elif (limit := contract.why_not(op)) is not None:
            reason = f"{schema.qualified_name} of the target {self.target!r} does not take it: {limit}"
        if schema is None or reason is not None:
            self.slots.illegal.append(IllegalOperation(op, reason or ""))
            for result in op.results:
                self.values[result] = self.builder.slot(TensorOp(result.type))
            return
        given = dict(zip((a.name for a in op.schema.arguments), op.arguments(), strict=True))
        written = op.written()
        computed, news = op.results[: len(op.results) - len(written)], op.results[len(op.results) - len(written) :]
        updated = [self.slots.own(result, op) for result in news]
        for value, slot in zip(written, updated, strict=True):
            if self.values[value] is not slot:
                self.slots.copy(self.values[value], slot)
        values = iter(news)
        ins: list[SSAValue] = []
        lent: dict[str | None, SSAValue] = {}
        for argument in schema.arguments:
            if argument in schema.outs:
                continue
            value = given.get(argument.name, argument.default)
            if argument.name in schema.written and value is not None:
                value = [next(values) for _ in value] if argument.type.is_list else next(values)
            lent[argument.type.alias] = self.slots.argument(argument, value)
            ins.append(lent[argument.type.alias])
        outs = [self.slots.own(result, op) for result in computed]
        returned = [lent[kind.alias] for kind in schema.returns if kind.mutated] if not schema.outs else outs
        if schema.outs and schema.outs[0].type.is_list:
            outs, returned = [self.builder.slot(TensorListOp(outs))], []
        elif len(returned) > 1:
            returned = [self.builder.slot(TensorListOp(returned))]
        self.builder.emit(CallOp(schema.qualified_name, ins, outs, returned, updated))

    def delegate(self, op: DelegatedCallOp) -> None:
        """Adds the call of a delegate."""
        if not isinstance(SymbolTable.lookup_symbol(op, op.callee), PayloadOp):
            reason = f"@{op.callee.string_value()} is not compiled yet; run lower-partitions first"
            self.slots.illegal.append(IllegalOperation(op, reason))
        outs = [self.slots.own(result, op) for result in op.results]
        self.builder.emit(DelegateCallOp(op.callee, [self.values[value] for value in op.arguments], outs))

    def input(self, leaf: Leaf, argument: SSAValue | None, is_external: bool) -> SSAValue:
        """Declares the slot of an input."""
        if argument is None:
            return _leaf_slot(self, leaf.value)
        if not isinstance(argument.type, TensorType):
            self.values[argument] = self.builder.slot(slot_of(argument.type))
            return self.values[argument]
        self.slots.require_bounds(argument, self.function)
        slot = (ExternalOp if is_external else TensorOp)(tensor_type(argument))
        slot.location = cast(BlockArgument, argument).location
        slot.results[0].name_hint = argument.name_hint
        self.values[argument] = self.builder.slot(slot)
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

    def write_inputs(self, written: Sequence[tuple[SSAValue, SSAValue]], returned: Sequence[SSAValue]) -> list[SSAValue]:
        """Writes the new values of inputs to them; gives the slots of what is returned, copies of what lies in the caller's inputs."""
        values = [self.values[value] for value in (*returned, *(value for _, value in written))]
        for index, slot in enumerate(values):
            # The new value of one input may be the old value of another input.
            if isinstance(slot.owner, ExternalOp) and (index < len(returned) or len(written) > 1):
                values[index] = self.builder.slot(TensorOp(slot.type))
                self.slots.copy(slot, values[index])
        for (argument, _), value in zip(written, values[len(returned) :], strict=True):
            self.write(self.values[argument], value)
        return values[: len(returned)]

    def state(self, op: GlobalLoadOp | GlobalStoreOp) -> SSAValue:
        """Returns the slot of the state that an operation reads or writes."""
        name = op.global_attr.string_value()
        kind = op.operands[0].type if isinstance(op, GlobalStoreOp) else op.result.type
        return self.builder.share(("state", name), lambda: StateOp(name, kind))

    def load(self, op: GlobalLoadOp) -> None:
        """Reads a state, as a copy: the state may get its next value while this one is still read."""
        self.slots.copy(self.state(op), self.slots.own(op.result, op))

    def store(self, op: GlobalStoreOp) -> None:
        """Writes a value back to the state it belongs to."""
        self.write(self.state(op), self.values[op.operands[0]])

    def write(self, target: SSAValue, value: SSAValue) -> None:
        """Writes over a slot, which lasts."""
        self.builder.emit(CallOp(OVERWRITE, [target, value, self.slots.constant(False, "bool")], (), [target]))

    def constant(self, op: arith.ConstantOp) -> None:
        """Gives a constant its slot."""
        value = op.value
        if isinstance(value, IntegerAttr):
            number = value.value.data
            self.values[op.result] = self.slots.constant(bool(number) if op.result.type == i1 else number, "int")
        elif isinstance(value, FloatAttr):
            self.values[op.result] = self.slots.constant(value.value.data, "float")
        else:
            self.slots.refuse(op, f"a constant of type {op.result.type} has no form as a slot")

    def number(self, op: Operation) -> None:
        """Adds the instructions of `arith` on numbers."""
        if (reason := why_not(op)) is not None:
            self.slots.refuse(op, reason)
            return
        given = [self.values[value] for value in op.operands]
        self.values[op.results[0]] = number_slot(op, given, self.numbers)

    # Blocks

    def convert(self) -> None:
        """Adds the instructions of every block, in order, up to the operation that returns. Raises OperationError."""
        tree = dominator_tree(self.function.body)
        blocks = [block for block in self.function.body.blocks if block in tree]
        targets = {target for block, after in pairwise(blocks) for target in _jumps(block, after)}
        self.labels = {block: f"bb{index}" for index, block in enumerate(blocks) if block in targets}
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if after is not None and isinstance(block.last_op, ReturnOp):
                raise OperationError(block.last_op, "a method returns at its end: branch to one last block")
            with self.numbers.within(block, tree[block]):
                self._convert_block(block)
                if after is not None and block.last_op is not None:
                    self._branch(block.last_op, after)

    def _convert_block(self, block: Block) -> None:
        if block in self.labels:
            self.builder.emit(LabelOp(self.labels[block]))
        if block is not self.function.body.first_block:
            for argument in block.args:
                self.numbers.define_dims(self._slot(argument), self.definitions.get(argument, ()), _dimension_of_branch)
        for op in block.ops:
            self.builder.location = op.location
            if op is block.last_op and op.has_trait(IsTerminator, value_if_unregistered=False):
                continue
            try:
                self._convert_operation(op)
            except UndefinedSymbolError as error:
                self.slots.refuse(op, str(error))

    def _slot(self, argument: SSAValue) -> SSAValue:
        """Returns the slot of an argument of a block, which branches copy to."""
        return self.values[argument] if argument in self.values else self.slots.own(argument, self.function)

    def _branch(self, op: Operation, after: Block) -> None:
        match op:
            case cf.BranchOp():
                self._go(op.successor, op.arguments, after)
            case cf.ConditionalBranchOp() if op.else_arguments:
                # Moves that belong to this edge only are in a block of their own.
                self.edges += 1
                otherwise = f"edge{self.edges}"
                self.builder.emit(JumpFalseOp(self.values[op.cond], otherwise))
                self._go(op.then_block, op.then_arguments, None)
                self.builder.emit(LabelOp(otherwise))
                self._go(op.else_block, op.else_arguments, after)
            case cf.ConditionalBranchOp():
                self.builder.emit(JumpFalseOp(self.values[op.cond], self.labels[op.else_block]))
                self._go(op.then_block, op.then_arguments, after)
            case _:
                self.slots.refuse(op, "it has no form as jumps")

    def _go(self, target: Block, arguments: Sequence[SSAValue], after: Block | None) -> None:
        """Adds the copies to the arguments of a block, and the jump to it unless it comes next."""
        self.slots.copy_all([self.values[value] for value in arguments], [self._slot(argument) for argument in target.args])
        if target is not after:
            self.builder.emit(JumpFalseOp(self.slots.constant(False, "bool"), self.labels[target]))

    def _convert_operation(self, op: Operation) -> None:
        match op:
            case GlobalLoadConstantOp():
                name, kind = op.global_attr.string_value(), op.result.type
                self.values[op.result] = self.builder.share(("constant", name), lambda: ConstantOp(name, kind))
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
            case arith.ConstantOp():
                self.constant(op)
            case cf.AssertOp():
                self.numbers.require(self.values[op.arg], op.msg.data)
            case _ if isinstance(op, NUMBERS):
                self.number(op)
            case _ if isinstance(op, ENTRIES):
                convert_entry(op, self.slots)
                self.learn(op)
            case scf.IfOp() | scf.ForOp() | scf.WhileOp():
                self.slots.refuse(op, "it is not lowered to branches yet; run lower-scf first")
            case _:
                self.slots.refuse(op, "it has no form as a kernel call")


def _jumps(block: Block, after: Block) -> Sequence[Block]:
    """Returns the blocks that the end of a block jumps to, when `after` is what comes next."""
    match block.last_op:
        case cf.BranchOp():
            return [block.last_op.successor] if block.last_op.successor is not after else []
        case cf.ConditionalBranchOp() if block.last_op.else_arguments:
            return [block.last_op.then_block, block.last_op.else_block]
        case cf.ConditionalBranchOp():
            return [block.last_op.else_block, *([block.last_op.then_block] if block.last_op.then_block is not after else [])]
        case _:
            return []


def _dimension(name: str, dim: int) -> str:
    return f"dimension {dim} of input {name!r}"


def _dimension_given(name: str, dim: int) -> str:
    return f"dimension {dim} of what {name} gives"


def _dimension_of_branch(dim: int) -> str:
    return f"dimension {dim} of what a branch or loop gives"


def _leaf_slot(method: _Method, value: Constant) -> SSAValue:
    """Returns a slot of its own for a constant input or output: a caller may set it."""
    match value:
        case None:
            return method.builder.slot(NoneOp())
        case bool():
            return method.builder.slot(BoolOp(value))
        case int():
            return method.builder.slot(IntOp(value))
        case float():
            return method.builder.slot(DoubleOp(value))
        case str():
            return method.builder.slot(StringOp(value))


def convert_function(function: FuncOp, target: str, *, are_inputs_external: bool = False) -> tuple[MethodOp, list[IllegalOperation]]:
    """Returns the method that computes what `function` does, and the operations for which the target has no kernel.

    Raises:
        OperationError: the function returns at several places.
    """
    method = _Method(function, target)
    outputs = outputs_of(function)
    written = [leaf.writes for leaf in outputs if leaf.writes is not None]
    arguments = iter(function.body.blocks[0].args)
    given = [(leaf, next(arguments) if leaf.is_tensor else None) for leaf in inputs_of(function)]
    inputs = [method.input(leaf, argument, are_inputs_external or leaf.name in written) for leaf, argument in given]
    method.names.update((argument, leaf.name) for leaf, argument in given if argument is not None)
    method.check_inputs()
    method.convert()
    end = function.body.blocks[-1].last_op
    results = list(end.operands) if isinstance(end, ReturnOp) else []
    last = len(results) - len(written)
    named = {name: argument for argument, name in method.names.items()}
    updates = [(named[name], value) for name, value in zip(written, results[last:], strict=True)]
    returned = iter(method.write_inputs(updates, results[:last]))
    outputs = [next(returned) if leaf.is_tensor else _leaf_slot(method, leaf.value) for leaf in outputs if leaf.writes is None]
    in_spec, out_spec = function.attributes.get(IN_SPEC), function.attributes.get(OUT_SPEC)
    method.builder.instructions += method.numbers.failures()
    result = MethodOp(
        function.sym_name.data,
        [*method.builder.slots, *method.builder.instructions, ExecReturnOp(inputs, outputs)],
        input_names=[leaf.name for leaf in inputs_of(function)],
        output_names=[leaf.name for leaf in outputs_of(function) if leaf.writes is None],
        input_spec=in_spec.data if isinstance(in_spec, StringAttr) else None,
        output_spec=out_spec.data if isinstance(out_spec, StringAttr) else None,
    )
    result.location = function.location
    return result, method.slots.illegal


@dataclass(frozen=True)
class ConvertEdgeToExecPass(ModulePass):
    """Gives every value a slot and every operator a kernel call in ExecuTorch's calling convention.

    Needs: `edge`, `quantized_decomposed` or `fused` operators with static or bounded shapes, and calls of payloads; `arith` on `i64`,
    `f64`, `i1`, of symbols and of tensors of one element; `cf.br`, `cf.cond_br`, `cf.assert`; `tensor.extract_slice` and
    `tensor.insert_slice` of one entry of the outermost dimension. Leaves: one `exec.method` per function, its tensors without places;
    scalars and lists that are equal share a slot; sizes that are computed are expressions of `exec.evaluate`. Branches become jumps; they
    copy to the slots of a block's arguments, and a state is copied where it is read: `coalesce-slots` removes the copies without use.
    Raises ConversionError that lists every operator for which the target has no kernel, and leaves the module as it was then.
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
