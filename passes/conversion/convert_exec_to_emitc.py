"""`convert-exec-to-emitc`: makes C of the methods of a planned program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, ModuleOp, i1
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.emitc import EmitC_PointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.cpu import LoopOp
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.emitc import BLOB, ConstantOp, FuncOp, GetGlobalOp, GlobalOp, IncludeOp, ReturnOp, VerbatimOp
from flambeau.dialects.emitc.blob_layout import blob_offsets
from flambeau.dialects.emitc.c_names import bank_macro, c_name, function_names
from flambeau.dialects.exec import slots
from flambeau.dialects.exec.instructions import STEP, CallOp, DelegateCallOp, FailOp, InstructionOp, JumpFalseOp, LabelOp, MoveOp
from flambeau.dialects.exec.method import MethodOp, NamedDataOp
from flambeau.dialects.exec.slot_syntax import describe
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.dialects.ml_program import GlobalOp as ProgramGlobalOp
from flambeau.passes.emission.c_variables import Declarations, array, opaque, text
from flambeau.passes.emission.loops import LANES_HEADER, LoopFunctions, call
from flambeau.passes.emission.slot_values import SlotValues, c_string
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.conversion_report import ConversionError, IllegalOperation, LegalizationReport
from flambeau.runtime.emit import failure
from flambeau.runtime.manifest import KernelRow, kernel_rows

_STATUS = opaque("fl_status")
_BYTES = "FL_ALIGNED(64) uint8_t"
_CONSTANT = "FL_ALIGNED(16) uint8_t"


@dataclass(frozen=True)
class ConvertExecToEmitcPass(ModulePass):
    """Makes a C file of planned methods: variables for slots, a function for each method, and `<name>_init`.

    Needs: planned `exec.method`s whose kernels Flambeau's runtime has, and their globals; a module without methods stays.
    Leaves: `emitc` operations and `cf` branches between the blocks of a function; a declaration of a weight has its `#flambeau.blob` as an
    attribute.
    Raises OperationError for a method without a plan, and ConversionError that lists every operator without a kernel and every delegate.
    """

    name = "convert-exec-to-emitc"
    program: str = "model"
    """The name of the program, with which the names of its functions begin."""
    blob: bool = False
    """Whether the application gives the program the bytes of its weights, by `<name>_weights_in`, instead of the linker."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place. Raises OperationError."""
        if not any(isinstance(item, MethodOp) for item in op.body.block.ops) or not may_rewrite(self.name, op):
            return
        made = _Program(op, c_name(self.program), self.blob).convert()
        block = op.body.block
        for item in list(block.ops):
            item.detach()
            item.erase(safe_erase=False)
        block.add_ops(made)
        count("C functions", sum(isinstance(item, FuncOp) and bool(item.body.blocks) for item in made))


@dataclass
class _Program:
    """A module that becomes a file."""

    module: ModuleOp
    name: str
    is_blob: bool
    declarations: Declarations = field(default_factory=Declarations)
    kernels: dict[str, FuncOp] = field(default_factory=dict[str, FuncOp])

    def __post_init__(self) -> None:
        self.loops = LoopFunctions(self.declarations)

    def convert(self) -> list[Operation]:
        """Returns the operations of the file."""
        methods = [op for op in self.module.body.block.ops if isinstance(op, MethodOp)]
        globals = {op.sym_name.data: op for op in self.module.body.block.ops if isinstance(op, ProgramGlobalOp)}
        for op in self.module.body.block.ops:
            if not isinstance(op, MethodOp | ProgramGlobalOp | NamedDataOp | PayloadOp):
                raise OperationError(op, f"{op.name} cannot be in a C program: it holds planned methods and their globals")
        for method in methods:
            if method.arena_sizes is None:
                raise OperationError(method, f"method @{method.sym_name.data} is not planned: run plan-memory first")
        if illegal := [item for method in methods for op in method.instructions if (item := _illegal(op)) is not None]:
            raise ConversionError(LegalizationReport.of("C", illegal))
        weights = self._weights(methods, globals)
        arenas = _Arenas(self.declarations, methods)
        scratch = max((method.scratch.value.data for method in methods if method.scratch is not None), default=0)
        memory = "NULL" if scratch == 0 else self.declarations.variable("scratch", array(_BYTES, scratch), None)
        functions = function_names(self.name, (method.sym_name.data for method in methods))
        bodies: list[Operation] = []
        placed: list[tuple[str, str]] = []
        init = Block()
        for method in methods:
            converted = _Method(self, method, functions[method.sym_name.data], arenas.of(method), weights, len(methods) > 1)
            run = self.declarations.variable(f"{converted.function}_run", opaque("fl_emitted"), f"FL_EMITTED({memory}, {scratch})", ())
            bodies += converted.convert(run)
            converted.initialise(init, run, globals, arenas)
            placed += converted.values.placed
        init.add_op(ReturnOp())
        if self.is_blob:
            bodies.append(self._weights_function(placed))
        function = FuncOp(f"{self.name}_init", FunctionType.from_lists([], []), (), Region(init))
        includes = [IncludeOp(f"{self.name}.h"), *([IncludeOp(LANES_HEADER)] if self.loops.ops else [])]
        return [*includes, *self.kernels.values(), *self.declarations.ops, *self.loops.ops, *bodies, function]

    def _weights(self, methods: list[MethodOp], globals: Mapping[str, ProgramGlobalOp]) -> dict[str, str]:
        """Declares the bytes of each global whose value the program reads; returns the names of the variables."""
        used = {
            op.global_name.string_value(): None
            for method in methods
            for op in method.slots
            if isinstance(op, slots.ConstantOp | slots.StateOp) and globals[op.global_name.string_value()].value is not None
        }
        names: dict[str, str] = {}
        if self.is_blob:
            blobs = [globals[symbol].blob for symbol in used]
            name = self.declarations.variable(f"{self.name}_weights", EmitC_PointerType(opaque("const uint8_t")), None)
            self.declarations.ops[-1].attributes[BLOB] = ArrayAttr(blobs)
            offsets = blob_offsets(max(slots.nbytes(globals[symbol].type), 1) for symbol in used)
            return {symbol: f"{name} + {offset}" for symbol, offset in zip(used, offsets, strict=False)}
        for symbol in used:
            found = globals[symbol]
            name = self.declarations.variable(
                f"{self.name}_{symbol}", array(_CONSTANT, max(slots.nbytes(found.type), 1)), None, ("extern", "const")
            )
            self.declarations.ops[-1].attributes[BLOB] = found.blob
            names[symbol] = name
        return names

    def _weights_function(self, placed: Sequence[tuple[str, str]]) -> Operation:
        """Returns the function that takes the weights: it gives each tensor of weights its address."""
        block = Block(arg_types=[EmitC_PointerType(opaque("const void"))])
        block.args[0].name_hint = "weights"
        block.add_op(call("FL_POINT", f"{self.name}_weights", block.args[0]))
        block.add_ops(call("FL_PLACE", tensor, address) for tensor, address in placed)
        block.add_op(ReturnOp())
        return FuncOp(f"{self.name}_weights_in", FunctionType.from_lists(block.arg_types, []), (), Region(block))

    def kernel(self, operator: str) -> KernelRow:
        """Returns the kernel of an operator, and declares its function."""
        row = kernel_rows()[operator]
        if row.run not in self.kernels:
            inputs: list[Attribute] = [
                EmitC_PointerType(opaque("fl_context")),
                EmitC_PointerType(opaque("fl_value *const")),
                opaque("size_t"),
            ]
            self.kernels[row.run] = FuncOp(row.run, FunctionType.from_lists(inputs, [_STATUS]), ("extern",))
        return row


def _illegal(op: InstructionOp) -> IllegalOperation | None:
    match op:
        case CallOp() if op.operator.data not in kernel_rows():
            return IllegalOperation(op, f"Flambeau's runtime has no kernel of {op.operator.data}")
        case DelegateCallOp():
            return IllegalOperation(op, f"delegate @{op.delegate.string_value()}: delegates cannot be called from C")
        case _:
            return None


class _Arenas:
    """The variables of arenas. Methods run one at a time and share an arena, except one in which a single method has state."""

    def __init__(self, declarations: Declarations, methods: list[MethodOp]):
        self._own: dict[MethodOp, dict[int, str]] = {method: {} for method in methods}
        self._sizes: dict[str, int] = {}
        several = len(methods) > 1
        shared: dict[tuple[int, str], dict[MethodOp, int]] = {}
        for method in methods:
            banks = method.bank_names or ("",) * len(method.arena_sizes or ())
            states = {place[0] for op in method.slots if isinstance(op, slots.StateOp) and (place := op.place) is not None}
            for index, size in enumerate(method.arena_sizes or (), 1):
                if size == 0:
                    continue
                if several and index == 1 and index in states:
                    name = declarations.variable(f"{method.sym_name.data}_arena", array(_BYTES, size), None)
                    self._own[method][index] = name
                    self._sizes[name] = size
                else:
                    shared.setdefault((index, banks[index - 1]), {})[method] = size
        for (index, bank), sizes in shared.items():
            type = array(f"{bank_macro(bank)} {_BYTES}" if bank else _BYTES, max(sizes.values()))
            name = declarations.variable(f"arena_{bank or index}", type, None)
            self._sizes[name] = max(sizes.values())
            for method in sizes:
                self._own[method][index] = name

    def to_clear(self, name: str) -> int | None:
        """Returns the bytes of an arena that is to be cleared before its first state is written; None after the first call."""
        return self._sizes.pop(name, None)

    def of(self, method: MethodOp) -> dict[int, str]:
        """Returns the arenas of a method."""
        return self._own[method]


@dataclass
class _Method:
    """A method that becomes a function."""

    program: _Program
    method: MethodOp
    function: str
    arenas: dict[int, str]
    weights: Mapping[str, str]
    is_one_of_several: bool

    def __post_init__(self) -> None:
        self.prefix = f"{self.function.removeprefix(f'{self.program.name}_')}_" if self.is_one_of_several else ""
        self.values = SlotValues(
            self.method, self.program.declarations, self.arenas, self.weights, self.prefix, are_weights_placed=self.program.is_blob
        )

    def convert(self, run: str) -> list[Operation]:
        """Returns the functions that run the method, and the tables of its inputs and outputs; `run` is the variable of its runs."""
        blocks, ports = self._steps(run), self._ports()
        type = FunctionType.from_lists([], [_STATUS])
        if not self.values.written:
            return [FuncOp(self.function, type, (), Region(blocks)), *ports]
        # After a failure, values such as counters of loops may hold anything.
        steps = f"{self.prefix}steps"
        status = call(steps, results=[_STATUS])
        failed = call("FL_FAILED", status.results[0], results=[i1])
        again, done = Block([call(f"{self.prefix}restore")]), Block([ReturnOp(status.results[0])])
        again.add_op(BranchOp(done))
        first = Block([status, failed, ConditionalBranchOp(failed.results[0], again, [], done, [])])
        restore = Region(Block([*self._restored(), ReturnOp()]))
        return [
            FuncOp(steps, type, ("static",), Region(blocks)),
            FuncOp(f"{self.prefix}restore", FunctionType.from_lists([], []), ("static",), restore),
            FuncOp(self.function, type, (), Region([first, again, done])),
            *ports,
        ]

    def _restored(self) -> list[Operation]:
        """Returns the statements that give values which runs change what they are declared with."""
        found: list[Operation] = []
        for name, value in self.values.written:
            initial = self.program.declarations.constant(f"{name}_at_init", opaque("fl_value"), value)
            found.append(call("FL_MOVE", initial, name))
        return found

    def _steps(self, run: str) -> list[Block]:
        """Returns the instructions: calls in order, and jumps between blocks."""
        labels = {op.label.data: Block() for op in self.method.instructions if isinstance(op, LabelOp)}
        for name, target in labels.items():
            # The printer numbers blocks without a name: bb0.
            target.name_hint = None if re.fullmatch(r"bb\d+", name) else c_name(name)
        block = Block()
        blocks, place, number = [block], "", 0
        for op in self.method.instructions:
            if isinstance(op, LabelOp):
                block.add_op(BranchOp(labels[op.label.data]))
                blocks.append(block := labels[op.label.data])
                continue
            if isinstance(step := op.attributes.get(STEP), IntegerAttr):
                number = step.value.data
            for part in op.elements if isinstance(op, LoopOp) else (op,):
                if (here := describe_location(part.location)) != place and here:
                    block.add_op(VerbatimOp(f"/* {here.replace('*/', '* /')} */"))
                    place = here
            if isinstance(op, JumpFalseOp):
                following = Block()
                block.add_ops(self._jump(op, labels[op.label.data], following))
                blocks.append(block := following)
            else:
                block.add_ops(self._instruction(op, run, number))
            number += 1
        done = ConstantOp(text("FL_OK"), _STATUS)
        block.add_ops([done, ReturnOp(done.result)])
        return blocks

    def _jump(self, op: JumpFalseOp, target: Block, following: Block) -> list[Operation]:
        known = self.values.constant_truth(op.condition)
        if known is not None:
            return [BranchOp(following if known else target)]
        condition = call("fl_emitted_is_false", self.values.address(op.condition), results=[i1])
        return [condition, ConditionalBranchOp(condition.results[0], target, [], following, [])]

    def _instruction(self, op: InstructionOp, run: str, number: int) -> list[Operation]:
        match op:
            case CallOp():
                return self._call(op, op.operator.data, op.arguments, run, number)
            case FailOp():
                declare = self.program.declarations
                message = f"FL_STRING_VALUE({c_string(failure.text_of(op.message.data))})"
                name = declare.constant("v_message", opaque("fl_value"), message)
                found = self.values.address(op.found)
                return self._kernel(failure.OPERATOR, [found, f"FL_CONSTANT({name})", found, found], run, number)
            case LoopOp():
                return [self.program.loops.call(op, self.values)]
            case MoveOp():
                return [call("FL_MOVE", self.values.name(op.source), self.values.name(op.target))]
            case _:
                return []

    def _call(self, op: CallOp, operator: str, arguments: tuple[SSAValue, ...], run: str, number: int) -> list[Operation]:
        row = self.program.kernel(operator)
        over = next((index for index, value in enumerate(op.ins) if self._lies_over(op, row, index, value)), None)
        return self._kernel(operator, list(map(self.values.address, arguments)), run, number, over)

    def _lies_over(self, op: CallOp, row: KernelRow, index: int, operand: SSAValue) -> bool:
        """Returns whether a dynamic out lies in the memory of an operand, whose sizes it must have."""
        outs = [out for out in op.outs if isinstance(out.owner, slots.TensorSlotOp) and not is_static(out.type)]
        if row.access[index : index + 1] != "i" or not outs or not isinstance(operand.owner, slots.TensorSlotOp):
            return False
        place = self.values.place(operand)
        return place is not None and any(out is not operand and self.values.place(out) == place for out in outs)

    def _kernel(self, operator: str, addresses: list[str], run: str, number: int, over: int | None = None) -> list[Operation]:
        row = self.program.kernel(operator)
        type = array("fl_value *const", len(addresses))
        name = self.program.declarations.constant(f"{self.prefix}args_{number}", type, f"{{{', '.join(addresses)}}}", ())
        args = GetGlobalOp(name, type)
        called = call("FL_CALL", run, number, row.run, args.result)
        return [args, called if over is None else call("FL_CALL_OVER", run, number, row.run, args.result, over)]

    def _ports(self) -> list[Operation]:
        """Returns the tables of the method's inputs and outputs, which the header declares."""
        found: list[Operation] = []
        for kind, values in (("inputs", self.method.terminator.inputs), ("outputs", self.method.terminator.outputs)):
            # C has no empty arrays.
            initial = text(self.values.addresses(list(values) or [None]))
            found.append(GlobalOp(f"{self.function}_{kind}", array("fl_value *const", max(len(values), 1)), initial))
        return found

    def initialise(self, block: Block, run: str, globals: Mapping[str, ProgramGlobalOp], arenas: _Arenas) -> None:
        """Adds the statements that give state and changing values their first content."""
        block.add_op(call("FL_RESET", run))
        for op in self.method.slots:
            if not isinstance(op, slots.StateOp):
                continue
            if op.place is None:
                raise OperationError(op, f"state {describe(op.slot)} has no place in an arena")
            symbol, (arena, offset) = op.global_name.string_value(), op.place
            if (cleared := arenas.to_clear(self.arenas[arena])) is not None:
                block.add_op(call("memset", self.arenas[arena], 0, cleared))
            if symbol in self.weights:
                block.add_op(call("memcpy", f"{self.arenas[arena]} + {offset}", self.weights[symbol], slots.nbytes(op.slot.type)))
        if self.values.written:
            block.add_op(call(f"{self.prefix}restore"))
