"""`partition`: outlines the operators that each backend takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, ReturnOp
from flambeau.dialects.ir.diagnostics import is_listening, remark
from flambeau.dialects.ir.symbols import symbols_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.grouping import contracted_order, used_outside
from flambeau.passes.delegation.interface import Backend, BackendError, backend_names, find_backend
from flambeau.passes.delegation.survey import functions_with_bodies, groups_for, why_left
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.rewriting.uses import replace_uses


def _explain(function: FuncOp, backend: Backend, groups: list[list[Operation]]) -> None:
    """Tells why each operator that stays does so."""
    inside = {op for items in groups for op in items}
    for op in function.body.block.ops:
        if isinstance(op, SchemaOp) and op not in inside:
            remark(op, f"backend {backend.name!r} leaves it: {why_left(op, backend)}")


class _Outliner:
    """Cuts one function's groups out of it."""

    def __init__(self, module: ModuleOp, function: FuncOp, backend: Backend):
        self.module = module
        self.function = function
        self.backend = backend
        self.symbols = set(symbols_of(module))
        self.number = 0
        """Partitions of this function with lower numbers are there."""

    def outline(self) -> None:
        block = self.function.body.block
        with analysis("partitions", self.function):
            groups = groups_for(self.function, self.backend)
        if is_listening():
            _explain(self.function, self.backend, groups)
        groups = [items for items in groups if may_rewrite(PartitionPass.name, items[0])]
        if not groups:
            return
        order = contracted_order(block, groups)
        terminator = block.last_op
        assert terminator is not None
        for item in order:
            if isinstance(item, Operation):
                item.detach()
                block.insert_op_before(item, terminator)
                continue
            call = self._cut(groups[item])
            if call is not None:
                block.insert_op_before(call, terminator)
        count("partitions cut", len(groups))
        count("operators handed over", sum(len(items) for items in groups))
        for op in reversed([op for items in groups for op in items]):
            op.detach()
            op.erase(safe_erase=False)

    def _cut(self, items: list[Operation]) -> CallOp | None:
        """Adds the partition of a group to the module, and gives its call, which takes over the uses of its results."""
        outputs = used_outside(items)
        if not outputs:
            return None
        inside = set(items)
        inputs: dict[SSAValue, None] = {}
        absorbed: dict[GlobalLoadConstantOp, None] = {}
        for op in items:
            for value in op.operands:
                owner = value.op if isinstance(value, OpResult) else None
                if isinstance(owner, GlobalLoadConstantOp) and self.backend.absorbs(op, value):
                    absorbed[owner] = None
                elif owner not in inside:
                    inputs[value] = None
        kind = FunctionType.from_lists([value.type for value in inputs], [value.type for value in outputs])
        body = Block(arg_types=kind.inputs.data)
        mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
        for value, argument in mapping.items():
            argument.name_hint = value.name_hint
        for op in (*absorbed, *items):
            copy = op.clone(mapping)
            copy.location = op.location
            body.add_op(copy)
        body.add_op(ReturnOp([mapping[value] for value in outputs]))
        partition = PartitionOp(self._name(), self.backend.identifier, kind, Region(body))
        partition.location = items[0].location
        self.module.body.block.insert_op_before(partition, self.function)
        call = CallOp(partition.sym_name.data, list(inputs), kind.outputs.data)
        call.location = items[0].location
        for old, new in zip(outputs, call.results, strict=True):
            new.name_hint = old.name_hint
            replace_uses(old, new, lambda use: use.operation not in inside)
        return call

    def _name(self) -> str:
        stem = f"{self.function.sym_name.data}_{self.backend.name}"
        while (name := f"{stem}_{self.number}") in self.symbols:
            self.number += 1
        self.symbols.add(name)
        return name


@dataclass(frozen=True)
class PartitionPass(ModulePass):
    """Cuts what each backend takes out of the functions, into `delegate.partition`s that `delegate.call`s run.

    Needs: `edge` operators. Leaves: connected operators of a backend in one partition unless something outside lies between them; each
    operation at or after its place. Earlier backends choose first. Raises BackendError for a backend that does not exist.
    """

    name = "partition"
    backends: tuple[Annotated[str, find_backend], ...] = ()
    """Names of backends, the first choice first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        if not self.backends:
            raise BackendError(f"no backend is named; say backends=… with one of {', '.join(backend_names())}")
        for name in self.backends:
            backend = find_backend(name)
            for function in functions_with_bodies(op):
                _Outliner(op, function, backend).outline()
