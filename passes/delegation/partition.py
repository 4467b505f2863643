"""`partition`: outlines the operators that each backend takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, ReturnOp, compile_specs
from flambeau.dialects.ir.diagnostics import is_listening, remark
from flambeau.dialects.ir.locations import fused_location
from flambeau.dialects.ir.symbols import symbols_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS
from flambeau.passes.delegation.candidates import Veto, blocks_of, functions_with_bodies, groups_for, why_left
from flambeau.passes.delegation.grouping import contracted_order, used_outside
from flambeau.passes.delegation.interface import BackendError, backend_names
from flambeau.passes.delegation.partitioner import Partitioner, check_distinct
from flambeau.passes.delegation.quantized_moves import add_pairs, remove_pairs
from flambeau.passes.delegation.refusals import note_refusals
from flambeau.passes.delegation.report import DelegationInfo, delegation_info
from flambeau.passes.delegation.vetoes import Vetoes
from flambeau.passes.manager import count
from flambeau.passes.manager.pipeline_options import Chosen
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.support.suggestions import did_you_mean


def _give_each_reader_its_own(block: Block) -> list[list[Operation]]:
    """Copies each dequantization for each reader; returns the equal ones. So what crosses to a partition, or back, is integers."""
    found: list[list[Operation]] = []
    for op in list(block.ops):
        if not isinstance(op, DEQUANTIZATIONS):
            continue
        equal: list[Operation] = [op]
        for user in list(dict.fromkeys(use.operation for use in op.results[0].uses))[1:]:
            copy = op.clone()
            copy.location = op.location
            copy.results[0].name_hint = op.results[0].name_hint
            block.insert_op_after(copy, equal[-1])
            replace_uses(op.results[0], copy.results[0], lambda use, user=user: use.operation is user)
            equal.append(copy)
        found.append(equal)
    return found


def _share(equal: Sequence[Sequence[Operation]], groups: Sequence[list[Operation]]) -> None:
    """Leaves one of equal operations in each group, and one outside of the groups."""
    place = {op: index for index, items in enumerate(groups) for op in items}
    for ops in equal:
        first: dict[int | None, Operation] = {}
        for op in ops:
            index = place.get(op)
            if (kept := first.setdefault(index, op)) is not op:
                replace_uses(op.results[0], kept.results[0])
                if index is not None:
                    groups[index].remove(op)
                op.detach()
                op.erase()


class _Outliner:
    """Cuts the groups of one function's blocks out of it."""

    def __init__(self, module: ModuleOp, function: FuncOp, partitioner: Partitioner, veto: Veto):
        self.module = module
        self.function = function
        self.partitioner = partitioner
        self.veto = veto
        self.symbols = set(symbols_of(module))
        self.number = 0
        """Partitions of this function with lower numbers are there."""

    def outline(self, block: Block) -> None:
        """Replaces the groups of a block by calls."""
        pairs = add_pairs(block, self.partitioner.table)
        self._replace_groups(block)
        remove_pairs(block, pairs)

    def _replace_groups(self, block: Block) -> None:
        equal = _give_each_reader_its_own(block)
        with analysis("partitions", self.function):
            groups = groups_for(block, self.partitioner, self.veto, equal)
        _share(equal, groups)
        groups = [items for items in groups if len(items) >= self.partitioner.options.least]
        if is_listening():
            self._explain(block, groups)
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

    def _explain(self, block: Block, groups: list[list[Operation]]) -> None:
        """Tells why each operator that stays does so."""
        inside = {op for items in groups for op in items}
        for op in block.ops:
            if isinstance(op, SchemaOp) and op not in inside:
                remark(op, f"backend {self.partitioner.backend.name!r} leaves it: {why_left(op, self.partitioner, self.veto)}")

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
                if isinstance(owner, GlobalLoadConstantOp) and isinstance(op, SchemaOp) and self.partitioner.table.absorbs(op, value):
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
        specs = compile_specs({spec.key: spec.text for spec in self.partitioner.compile_specs}) if self.partitioner.compile_specs else None
        partition = PartitionOp(self._name(), self.partitioner.backend.identifier, kind, Region(body), specs)
        partition.location = fused_location(op.location for op in items)
        self.module.body.block.insert_op_before(partition, self.function)
        call = CallOp(partition.sym_name.data, list(inputs), kind.outputs.data)
        call.location = partition.location
        for old, new in zip(outputs, call.results, strict=True):
            new.name_hint = old.name_hint
            replace_uses(old, new, lambda use: use.operation not in inside)
        return call

    def _name(self) -> str:
        stem = f"{self.function.sym_name.data}_{self.partitioner.backend.name}"
        while (name := f"{stem}_{self.number}") in self.symbols:
            self.number += 1
        self.symbols.add(name)
        return name


@dataclass(frozen=True)
class PartitionPass(ModulePass):
    """Cuts what each backend takes out of the functions, into `delegate.partition`s that `delegate.call`s run.

    Needs: operators of the edge level. Leaves: connected operators of a block that a backend takes in one partition, unless something
    outside lies between them; each operation at or after its place. Earlier backends choose first. An operation that a backend's compiler
    refuses stays, with the reason as its attribute `refused`. Raises BackendError for a backend that does not exist, and for a veto that
    keeps nothing.
    """

    name = "partition"
    backends: tuple[Chosen, ...] = ()
    """Backends, the first choice first, perhaps with options of their own in braces: `elementwise{least=3}`."""
    no_delegate: tuple[str, ...] = ()
    """What stays: paths of modules, `layers.0.attention`, and names of operators; `decode:softmax` does in one method only."""
    are_compiled: bool = False
    """Whether `lower-partitions` follows. Then a backend whose compiler may refuse, and is missing, gets none, unless it is `strict`."""

    def report(self, module: ModuleOp, ctx: Context) -> DelegationInfo:
        """Returns the report of the partitioned module: the backend of each operator, and why the others stay."""
        return delegation_info(module, ctx, self.backends, Vetoes(self.no_delegate))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        if not self.backends:
            raise BackendError(f"no backend is named; say backends=… with one of {', '.join(backend_names())}")
        functions = functions_with_bodies(op)
        vetoes = Vetoes(self.no_delegate)
        vetoes.check(item for function in functions for item in function.walk())
        check_distinct(self.backends)
        _check_methods(self.backends, [function.sym_name.data for function in functions])
        for partitioner in self.backends:
            note_refusals(
                op, ctx, partitioner, lambda module, partitioner=partitioner: _cut(module, partitioner, vetoes), self.are_compiled
            )
            _cut(op, partitioner, vetoes)


def _cut(module: ModuleOp, partitioner: Partitioner, veto: Veto) -> None:
    """Cuts what a backend takes out of the functions of a module."""
    for function in filter(partitioner.is_for, functions_with_bodies(module)):
        outliner = _Outliner(module, function, partitioner, veto)
        for block in list(blocks_of(function)):
            outliner.outline(block)


def _check_methods(partitioners: Sequence[Partitioner], names: Sequence[str]) -> None:
    """Raises BackendError for a method that does not exist."""
    for partitioner in partitioners:
        for name in set(partitioner.options.methods).difference(names):
            there = f"and the program has {', '.join(names)}{did_you_mean(name, names)}"
            raise BackendError(f"backend {partitioner.backend.name!r} is for the method {name!r}, {there}")
