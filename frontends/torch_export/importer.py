"""Imports an ExportedProgram as a module: weights as globals, one function per method, one operation per operator."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr, UnrealizedConversionCastOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.flambeau.method_interface import INPUTS, OUTPUTS, Leaf, leaves_attribute
from flambeau.dialects.ir.diagnostics import remark
from flambeau.dialects.ir.tensor_types import Tensor, element_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.operators import NO_MEANING, UNDECOMPOSED
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import symbolic_numbers
from flambeau.frontends.torch_export.conditions import assert_condition, conditions_of, dynamic_sizes
from flambeau.frontends.torch_export.data_numbers import DataNumber, with_tensors
from flambeau.frontends.torch_export.decompositions import Decomposition, find_decomposition
from flambeau.frontends.torch_export.exported_graph import Step, flatten
from flambeau.frontends.torch_export.exported_outputs import STORED, Outputs
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.functionalization import (
    Variable,
    analyze_writes,
    argument,
    gives_written,
    mutated_arguments,
    only_metadata,
)
from flambeau.frontends.torch_export.graph_signature import STATE_KINDS, TreeSpecs, constant_leaf, example_arrays, is_constant
from flambeau.frontends.torch_export.higher_order.control_flow import check_higher_order, import_higher_order, needs_retracing
from flambeau.frontends.torch_export.higher_order.subgraph_writes import without_subgraph_writes
from flambeau.frontends.torch_export.higher_order.writing_calls import WritingCall, is_writing_call
from flambeau.frontends.torch_export.import_report import POISON, Unsupported, UnsupportedProgramError, is_poisoned
from flambeau.frontends.torch_export.imported_operators import (
    NO_ROW,
    Insert,
    UnsupportedError,
    build,
    class_of,
    collect_types,
    functional_type,
    restore,
)
from flambeau.frontends.torch_export.model_globals import Globals, GlobalState
from flambeau.frontends.torch_export.node_locations import DEBUG_HANDLE, input_location, location, number_calls, place, value_name
from flambeau.frontends.torch_export.storage import Storages
from flambeau.frontends.torch_export.values import Weights, tensor_type_of
from flambeau.support.collector import collector_paused


@collector_paused()
def import_program(
    source: ExportedProgram | Mapping[str, ExportedProgram],
    context: FlambeauContext,
    *,
    name: str = "forward",
    recorded: dict[str, ExportedProgram] | None = None,
) -> ModuleOp:
    """Imports an exported program, or several as the methods of one module, and returns the `aten` module.

    The context keeps views of weights and example inputs, which must stay unchanged. Programs share a global for a common tensor.

    Args:
        source: a program, or programs by method name.
        context: receives the weights, and the example inputs that the programs bring.
        name: the method's name, for a single program.
        recorded: receives the imported programs by name. Their calls get debug handles, and operations and values carry the handles.

    Raises:
        UnsupportedProgramError: lists everything that cannot be imported.
    """
    programs = {name: source} if isinstance(source, ExportedProgram) else dict(source)
    for method in programs:
        if not isinstance(cast(object, method), str) or not method or "\0" in method:
            raise ValueError(f"the name of a method is a string that is not empty, not {method!r}")
    globals_ = Globals(Weights(context.blobs), reserved=set(programs))
    problems: list[Unsupported] = []
    methods = [_Method(method, program, globals_, problems) for method, program in programs.items()]
    if recorded is not None:
        recorded |= {method.name: number_calls(method.program) for method in methods}
    globals_.join_states()
    functions = [method.emit() for method in methods]
    if problems:
        # A pass may still lower an operator that has only a schema; if the import fails anyway, all problems are reported at once.
        raise UnsupportedProgramError([*problems, *(item for method in methods for item in method.unknown)])
    for method, program in programs.items():
        context.examples |= {f"{method}.{key}": array for key, array in example_arrays(program).items()}
    return ModuleOp([*globals_.ops(), *functions])


class _Method:
    """The import of one program as one function."""

    def __init__(self, name: str, program: ExportedProgram, globals_: Globals, problems: list[Unsupported]):
        self.name = name
        self.globals = globals_
        self.problems = problems
        self.unknown: list[Unsupported] = []
        """The calls of operators of which only the schema is known."""
        self.block = Block()
        self.conditions = conditions_of(program)
        self.flat = flatten(program.graph_module)
        writes = analyze_writes(self.flat)
        if (writes.hidden and not writes.lost) or needs_retracing(program.graph_module):
            functional = self._functionalize(program)
            if functional is not None:
                program = functional
                self.flat = flatten(program.graph_module)
                writes = analyze_writes(self.flat)
        for step in writes.hidden:
            self._problem(step.name, _ALIASED if gives_written(step) else _HIDDEN_WRITE, step.node)
        self.program = program
        self.symbols = Symbols(program)
        self.variables = writes.variables
        self.signature = program.graph_signature
        self.states: dict[fx.Node, GlobalState] = {}
        self.arguments: dict[fx.Node, SSAValue] = {}
        self.storages = Storages(self.flat, self.variables)
        self._find_states()

    # All methods are analysed before any is emitted, because a global is mutable if any method writes it.

    @staticmethod
    def _functionalize(program: ExportedProgram) -> ExportedProgram | None:
        """Returns the program functionalised by PyTorch, with composite operators kept, or None if that fails."""
        try:
            with warnings.catch_warnings():
                # PyTorch copies its own tree specs in a way that it deprecates.
                warnings.filterwarnings("ignore", "`isinstance\\(treespec", FutureWarning)
                return cast(Any, without_subgraph_writes(program)).run_decompositions({})
        except Exception:
            # Retracing raises exceptions of any class; the unchanged program then shows the writes at fault.
            return None

    def _find_states(self) -> None:
        used = {node for step in self.flat.steps for node in step.inputs()}
        used.update(node for node in self.flat.outputs if isinstance(node, fx.Node))
        written = self._writers()
        stored = {spec.target for spec in self.signature.output_specs if spec.kind in STORED}
        for node, spec in zip(self.flat.placeholders, self.signature.input_specs, strict=True):
            if spec.kind not in STATE_KINDS or spec.target is None:
                continue
            is_stored = self.variables[node] in written or spec.target in stored
            if node not in used and not is_stored:
                continue
            try:
                state = self.globals.find(
                    spec.target, self._tensor(spec.target, spec.kind), is_named=spec.kind is not InputKind.CONSTANT_TENSOR
                )
            except TypeError as error:
                self.problems.append(Unsupported(f"{spec.kind.name.lower().replace('_', ' ')} {spec.target!r}", str(error), ""))
                self.variables[node].value = POISON
                continue
            state.is_used = True
            state.is_mutable |= is_stored
            self.states[node] = state

    def _writers(self) -> dict[Variable, fx.Node]:
        """Returns the first call that writes each written variable."""
        found: dict[Variable, fx.Node] = {}
        for step in self.flat.steps:
            if step.overload is None or only_metadata(step.overload):
                continue
            for index in mutated_arguments(step.overload):
                if isinstance(target := argument(step, index), fx.Node):
                    found.setdefault(self.variables[target], step.node)
        return found

    def _tensor(self, target: str, kind: InputKind) -> torch.Tensor:
        values = self.program.state_dict
        found = values[target] if kind is not InputKind.CONSTANT_TENSOR and target in values else self.program.constants[target]
        return cast(torch.Tensor, found)

    # Emission

    def emit(self) -> FuncOp:
        """Returns the function, and collects the problems."""
        inputs = self._emit_inputs()
        sizes = dynamic_sizes(self.program, self.symbols) if self.conditions else {}
        for condition in self.conditions:
            try:
                self.block.add_ops(assert_condition(condition, sizes))
            except ValueError as error:
                self._problem("torch._check", str(error))
        for step in self.flat.steps:
            self._emit_step(step)
        outputs = Outputs(
            self.program, self.flat, self.variables, self.states, self.arguments, self._writers(), self._resolve, self._emit, self._problem
        )
        outputs.collect()
        self._emit(ReturnOp(*outputs.results))
        types = ([item.type for item in self.block.args], [item.type for item in outputs.results])
        function = FuncOp(self.name, types, Region(self.block))
        function.attributes |= {INPUTS: leaves_attribute(inputs), OUTPUTS: leaves_attribute(outputs.leaves)}
        function.attributes.update(TreeSpecs(self.program.call_spec.in_spec, self.program.call_spec.out_spec).attributes())
        return function

    def _emit(self, op: Operation) -> None:
        self.block.add_op(op)

    def _problem(self, construct: str, reason: str, node: fx.Node | None = None) -> None:
        self.problems.append(Unsupported(construct, reason, place(node) if node is not None else ""))

    def _emit_inputs(self) -> list[Leaf]:
        leaves: list[Leaf] = []
        loads: list[tuple[fx.Node, GlobalState]] = []
        for node, spec in zip(self.flat.placeholders, self.signature.input_specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                leaves.append(self._user_input(node, getattr(spec.arg, "name", node.name)))
            elif node in self.states:
                loads.append((node, self.states[node]))
            elif spec.kind not in STATE_KINDS:
                self._problem(f"input {node.name!r}", f"{spec.kind.name} inputs are not supported")
                self.variables[node].value = POISON
        for node, state in loads:
            op = (GlobalLoadOp if state.is_mutable else GlobalLoadConstantOp)(state.symbol, state.type)
            op.results[0].name_hint = value_name(state.symbol)
            self._emit(op)
            self.variables[node].value = op.results[0]
        return leaves

    def _user_input(self, node: fx.Node, name: str) -> Leaf:
        self.symbols.begin()
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            try:
                kind = tensor_type_of(value, self.symbols, layout=True)
            except TypeError as error:
                self._problem(f"input {name!r}", str(error))
                self.variables[node].value = POISON
            else:
                item = self.block.insert_arg(kind, len(self.block.args))
                item.name_hint = value_name(name)
                item.location = input_location(node, name)
                self.variables[node].value = self.arguments[node] = item
            return Leaf(name)
        if is_constant(value):
            self.variables[node].value = value
            return constant_leaf(name, value)
        if isinstance(value, torch.SymInt):
            item = self.block.insert_arg(i64, len(self.block.args))
            item.name_hint = value_name(name)
            item.location = input_location(node, name)
            self.variables[node].value = symbolic_numbers.import_value(item, value, self.symbols, self._emit, name)
            return Leaf(name)
        self._problem(f"input {name!r}", f"{symbolic_numbers.described(value)} is not supported as an input; give a constant or a tensor")
        self.variables[node].value = POISON
        return Leaf(name)

    def _emit_step(self, step: Step, decomposition: Decomposition | None = None) -> None:
        self.symbols.begin()
        variable = self.variables[step.node]
        if step.is_getitem:
            source = self._resolve(step.args[0])
            variable.value = source if source is POISON else source[step.args[1]]
            return
        if is_writing_call(step):
            variable.value = self._writing_call(step)
            return
        if isinstance(step.node.target, HigherOrderOperator):
            variable.value = self._higher_order(step, step.node.target)
            return
        try:
            if step.is_number:
                operands, insert = self._resolve(step.args), self._insert_at(step)
                variable.value = POISON if is_poisoned(operands) else symbolic_numbers.import_number(step, operands, self.symbols, insert)
                return
            types: list[Tensor] = []
            reasons: list[str] = []
            decomposition = decomposition or find_decomposition(step, reasons)
            if decomposition is not None:
                variable.value = self._emit_decomposition(step, decomposition, "has no row")
                return
            cls = self._class(step, why := _undecomposed(reasons))
            nesting = collect_types(step.node.meta.get("val"), types, self.symbols)
            given = self._arguments(step, cls)
            if given is not None:
                cls = with_tensors(cls, given, types, self._insert_at(step))
            variable.value = POISON if given is None else restore(nesting, self._call(step, cls, given, types, why))
        except VerifyException as error:
            if (decomposition := find_decomposition(step, [], refused=True)) is not None:
                variable.value = self._emit_decomposition(step, decomposition, f"is refused ({error})")
            else:
                self._problem(step.name, str(error), step.node)
                variable.value = POISON
        except (UnsupportedError, TypeError) as error:
            self._problem(step.name, str(error), step.node)
            variable.value = POISON

    def _emit_decomposition(self, step: Step, found: Decomposition, why: str) -> Any:
        """Emits a call's decomposition with a remark, and returns its result, nested as the call's."""
        operands = [self.variables[node].value for node in found.operands]
        if is_poisoned(operands):
            return POISON
        self.variables |= found.variables
        self.storages.add(found.program)
        for placeholder, value in zip(found.program.placeholders, operands, strict=True):
            self.variables[placeholder].value = value
        last = self.block.last_op
        for inner in found.program.steps:
            inner.node.meta[DEBUG_HANDLE] = step.node.meta.get(DEBUG_HANDLE)
            self._emit_step(inner, found.inner.get(inner.node))
        first = self.block.first_op if last is None else last.next_op
        if first is not None:
            remark(first, f"{step.name} {why}: PyTorch decomposes it into {found}")
        results = [self._resolve(output) for output in found.program.outputs]
        if not isinstance(declared := step.node.meta.get("val"), torch.Tensor):
            return results
        kind = tensor_type_of(declared, self.symbols)
        return results[0] if results[0] is POISON or results[0].type == kind else self._converted(results[0], kind, step)

    def _insert_at(self, step: Step) -> Insert:
        here = location(step.node, self.name)

        def insert(op: Operation) -> None:
            op.location = here
            self._emit(op)

        return insert

    def _converted(self, value: SSAValue, kind: Tensor, step: Step) -> SSAValue:
        """Converts a value to `kind`: to the element type that an in-place operator keeps, or to the sizes that PyTorch knows."""
        converted = aten._to_copy(value, dtype=element_of(kind), result_types=[kind])
        converted.op.location = location(step.node, self.name)
        self._emit(converted.op)
        return converted

    def _higher_order(self, step: Step, operator: HigherOrderOperator) -> Any:
        known = len(self.problems)
        poisoned = is_poisoned(self._resolve(step.args))
        try:
            check_higher_order(operator)
            given = self._standing_in(step.args)
            results = import_higher_order(operator, given, step.node.meta.get("val"), location(step.node, self.name), self)
        except (UnsupportedError, TypeError) as error:
            if not poisoned and len(self.problems) == known:
                self._problem(step.name, str(error), step.node)
            return POISON
        return POISON if poisoned or len(self.problems) > known else results

    def _writing_call(self, step: Step) -> Any:
        kwargs = {name: self._resolve(value) for name, value in step.kwargs.items()}
        if is_poisoned(list(kwargs.values())):
            return POISON
        try:
            return WritingCall(step, kwargs, self.symbols, self._insert_at(step)).emit()
        except (UnsupportedError, TypeError, VerifyException) as error:
            self._problem(step.name, str(error), step.node)
            return POISON

    def _standing_in(self, value: Any) -> Any:
        """Resolves a value as `_resolve` does; a value that was not imported becomes a typed placeholder, so that its users are checked."""
        if isinstance(value, tuple | list):
            return [self._standing_in(item) for item in cast("Sequence[Any]", value)]
        found = self._resolve(value)
        if found is not POISON:
            return found
        op = UnrealizedConversionCastOp.get([], [tensor_type_of(value.meta["val"])])
        self.add(op, location(value, self.name))
        return op.results[0]

    # The interface for control flow

    def add(self, op: Operation, where: LocationAttr) -> None:
        """Adds an operation to the current block."""
        op.location = where
        self._emit(op)

    @contextmanager
    def emitting_to(self, block: Block) -> Generator[None]:
        """Makes `block` the current block."""
        outer, self.block = self.block, block
        with self.symbols.inside():
            yield
        self.block = outer

    def inline(self, module: fx.GraphModule, operands: Sequence[Any]) -> list[Any]:
        """Emits the calls of a graph with operands for its placeholders, and returns the values of its outputs."""
        flat = flatten(module)
        writes = analyze_writes(flat)
        self.variables |= writes.variables
        self.storages.add(flat)
        for node, operand in zip(flat.placeholders, operands, strict=True):
            self.variables[node].value = operand
        for step in writes.hidden:
            self._problem(step.name, _HIDDEN_WRITE, step.node)
        for step in flat.steps:
            self._emit_step(step)
        if any(self.variables[node].value is not operand for node, operand in zip(flat.placeholders, operands, strict=True)):
            raise UnsupportedError("a subgraph writes to its operands; return the new value instead")
        return [self._standing_in(item) for item in flat.outputs]

    def _class(self, step: Step, why: str | None) -> type[SchemaOp]:
        """Returns the operation class of a call; `why` tells why PyTorch's decomposition does not apply. Raises UnsupportedError."""
        overload = step.overload
        if overload is None:
            raise UnsupportedError("it is a Python function that has no form in the IR")
        cls = class_of(overload)
        if cls is not None and cls.has("infer"):
            return cls
        if cls is None:
            raise UnsupportedError(why or NO_ROW)
        self.unknown.append(Unsupported(step.name, why or NO_MEANING, place(step.node)))
        return cls

    def _arguments(self, step: Step, cls: type[SchemaOp]) -> dict[str, Any] | None:
        """Returns the arguments by the names of the class's schema, or None if one of them could not be imported."""
        given: dict[str, Any] = {}
        for index, own in enumerate(cls.schema.arguments):
            value = self._resolve(argument(step, index))
            if is_poisoned(value):
                return None
            if not (isinstance(value, DataNumber) and not own.type.is_list and (own.type.is_tensor or own.type.base == "Scalar")):
                symbolic_numbers.refuse_inexpressible(value)
            given[own.name] = value
        if cls.schema.base == "as_strided":
            given |= self._in_storage(step)
        return given

    def _in_storage(self, step: Step) -> dict[str, Any]:
        """Returns the operand and the offset of an `as_strided` on row-major elements that reads the same memory as in PyTorch."""
        storage = self.storages.find(step)
        offset = argument(step, 3)
        offset = step.args[0].meta["val"].storage_offset() if offset is None else offset
        storage.check_bounds(offset, argument(step, 1), argument(step, 2))
        value = self._resolve(storage.node)
        if not storage.is_row_major:
            permuted = aten.permute(value, storage.order)
            permuted.op.location = location(step.node, self.name)
            self._emit(permuted.op)
            value = permuted
        return {"self": value, "storage_offset": offset}

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return self.variables[value].value
        if isinstance(value, torch.Tensor):
            return self._constant(value)
        if isinstance(value, tuple | list):
            return [self._resolve(item) for item in cast("Sequence[Any]", value)]
        return value

    def _constant(self, value: torch.Tensor) -> SSAValue:
        state = self.globals.find("constant", value)
        state.is_used = True
        op = GlobalLoadConstantOp(state.symbol, state.type)
        self._emit(op)
        return op.results[0]

    def _call(self, step: Step, cls: type[SchemaOp], given: dict[str, Any], types: list[Tensor], why: str | None) -> list[SSAValue]:
        insert = self._insert_at(step)
        in_place = step.overload is not None and bool(mutated_arguments(step.overload))
        note = {UNDECOMPOSED: StringAttr(why)} if why else {}
        op = build(cls, given, types, insert)
        op.attributes |= note
        if in_place and not only_metadata(cast(Any, step.overload)) and (promoted := functional_type(step, op)) != types[0]:
            op = build(cls, given, [promoted], insert)
            op.attributes |= note
            insert(op)
            return [self._converted(op.result, types[0], step)]
        checks = self.symbols.own_sizes(op, step.node.name)
        op.verify_()
        for item in (op, *checks):
            insert(item)
        for result in op.results:
            result.name_hint = value_name(step.node.name, step.node.meta.get(DEBUG_HANDLE))
        if not checks:
            return list(op.results)
        return [item if item.type == kind else self._converted(item, kind, step) for item, kind in zip(op.results, types, strict=True)]


_ALIASED = (
    "PyTorch does not functionalise custom operators that return an argument which they write; "
    "let it return nothing, -> (), or declare it with tags=(torch.Tag.inplace,) or (torch.Tag.out,)"
)


def _undecomposed(reasons: Sequence[str]) -> str | None:
    """Returns a message with the reason why PyTorch's decomposition does not apply; None without a reason."""
    return f"it has no row, and PyTorch's decomposition does not apply here: {reasons[0]}" if reasons else None


_HIDDEN_WRITE = "other tensors share the memory it writes to, in a way that cannot be written out of place; write to a clone()"
