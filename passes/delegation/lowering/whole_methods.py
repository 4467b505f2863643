"""Programs that one backend has as a whole, for the files that it makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FunctionReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, ReturnOp
from flambeau.dialects.flambeau.method_interface import inputs_of, outputs_of
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.candidates import Veto, functions_with_bodies, no_veto, why_left
from flambeau.passes.delegation.interface import BackendError, WholeMethod, located
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.conversion_report import ConversionError, IllegalOperation, LegalizationReport


def take_methods(module: ModuleOp, partitioner: Partitioner, veto: Veto = no_veto) -> Sequence[WholeMethod]:
    """Replaces each function of a partitioned module by one partition of its name, with the operators of all partitions that it calls.

    Args:
        module: behind `partition`, with this backend alone.
        partitioner: the backend.
        veto: why the user keeps an operation from it.

    Raises:
        ConversionError: lists each operation that the backend left, with the reason.
        OperationError: a method writes its inputs.
    """
    functions = functions_with_bodies(module)
    target = f"a .{partitioner.backend.file.suffix} file" if partitioner.backend.file is not None else partitioner.backend.name
    partitions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, PartitionOp)}
    left = [op for function in functions for op in function.body.block.ops if not _is_whole(op, partitions, partitioner)]
    if left:
        raise ConversionError(LegalizationReport.of(target, [IllegalOperation(op, _why_left(op, partitioner, veto)) for op in left]))
    methods = [_taken(function, partitions, partitioner) for function in functions]
    for function, method in zip(functions, methods, strict=True):
        module.body.block.insert_op_before(method.partition, function)
    for op in (*functions, *partitions.values()):
        op.detach()
        op.erase()
    return methods


def convert_methods(methods: Sequence[WholeMethod], constants: ModuleConstants, partitioner: Partitioner) -> None:
    """Rewrites methods in the dialect of their backend, if it has one. Raises OperationError."""
    convert = partitioner.backend.convert
    if convert is None:
        return
    for method in methods:
        try:
            convert(method.partition, constants, partitioner.options)
        except BackendError as error:
            raise located(error, method.partition) from error


def _is_whole(op: Operation, partitions: Mapping[str, PartitionOp], partitioner: Partitioner) -> bool:
    """Returns whether an operation of a function needs nothing but what the backend has."""
    if isinstance(op, CallOp):
        partition = partitions.get(op.callee.string_value())
        return partition is not None and partition.backend.data == partitioner.backend.identifier
    if isinstance(op, GlobalLoadOp | GlobalStoreOp):
        return partitioner.backend.file is not None and partitioner.backend.file.has_states
    return isinstance(op, GlobalLoadConstantOp | FunctionReturnOp)


def _why_left(op: Operation, partitioner: Partitioner, veto: Veto) -> str:
    if isinstance(op, SchemaOp):
        return why_left(op, partitioner, veto)
    file = partitioner.backend.file
    states = "" if file is not None and file.has_states else "no state, "
    return f"a file has operators of its backend only: {states}no control flow, and nothing of other backends"


def _taken(function: FuncOp, partitions: Mapping[str, PartitionOp], partitioner: Partitioner) -> WholeMethod:
    """Returns a function as a method: copies of the operators of the partitions that it calls, in its order.

    The values of mutable globals become arguments behind its own, and those that it stores results behind its own.
    """
    outputs = [leaf for leaf in outputs_of(function) if leaf.is_tensor]
    if written := next((leaf.name for leaf in outputs if leaf.writes is not None), None):
        raise OperationError(function, f"@{function.sym_name.data} writes its input {written!r}, and a file's inputs are only read")
    accesses = [op for op in function.body.block.ops if isinstance(op, GlobalLoadOp | GlobalStoreOp)]
    states = {_symbol(op): op.result.type if isinstance(op, GlobalLoadOp) else op.value.type for op in accesses}
    body = Block(arg_types=[*function.function_type.inputs.data, *states.values()])
    mapping: dict[SSAValue, SSAValue] = dict(zip(function.body.block.args, body.args, strict=False))
    values = dict(zip(states, body.args[len(body.args) - len(states) :], strict=True))
    stored: dict[str, SSAValue] = {}
    for op in function.body.block.ops:
        match op:
            case CallOp():
                inner = partitions[op.callee.string_value()].body.block
                mapping.update(zip(inner.args, (mapping[value] for value in op.operands), strict=True))
                for item in inner.ops:
                    if isinstance(item, ReturnOp):
                        mapping.update(zip(op.results, (mapping[value] for value in item.operands), strict=True))
                    else:
                        _copy(item, mapping, body)
            case GlobalLoadOp():
                mapping[op.result] = stored.get(_symbol(op), values[_symbol(op)])
            case GlobalStoreOp():
                stored[_symbol(op)] = mapping[op.value]
            case FunctionReturnOp():
                body.add_op(ReturnOp([*(mapping[value] for value in op.operands), *stored.values()]))
            case _:
                _copy(op, mapping, body)
    results = [*function.function_type.outputs.data, *(value.type for value in stored.values())]
    kind = FunctionType.from_lists(list(body.arg_types), results)
    partition = PartitionOp(function.sym_name.data, partitioner.backend.identifier, kind, Region(body))
    partition.location = function.location
    names = [leaf.name for leaf in inputs_of(function) if leaf.is_tensor]
    return WholeMethod(partition, names, [leaf.name for leaf in outputs], list(states), list(stored))


def _symbol(op: GlobalLoadOp | GlobalStoreOp) -> str:
    return op.global_attr.string_value()


def _copy(op: Operation, mapping: dict[SSAValue, SSAValue], to: Block) -> None:
    copy = op.clone(mapping)
    copy.location = op.location
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
    to.add_op(copy)
