"""Straight functions with structure put into them that changes nothing of what they compute: branches, loops, calls, state, blocks that
nothing reaches, operations that nobody knows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, StringAttr, TensorType, UnitAttr, UnregisteredOp, i1
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.dialects.ir.blobs import BlobAttr, digest_of
from flambeau.dialects.ir.tensor_types import is_static, nbytes, numpy_dtype, shape_of, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp

OBSERVED = "test.observed"
"""An operation that nobody knows: it gives its operand, and says so, so that it may neither vanish nor move."""


def contents(name: str, kind: Attribute) -> bytes:
    """The bytes of a global, which follow from its name."""
    generator = np.random.default_rng(crc32(name.encode()))
    dtype = numpy_dtype(tensor_type(kind).element_type)
    shape = shape_of(kind)
    array = generator.standard_normal(shape) if dtype.kind == "f" else generator.integers(0, 2, shape)
    return array.astype(dtype).tobytes() if dtype.kind in "fiub" else generator.integers(0, 2, nbytes(kind), dtype=np.uint8).tobytes()


class _Structure:
    def __init__(self, chosen: random.Random, module: ModuleOp):
        self.chosen = chosen
        self.module = module
        self.made = 0

    def name(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def run(self) -> tuple[Block, Sequence[Operation]] | None:
        """Some operations that stand behind each other, and the block that they are in."""
        blocks = [block for op in self.module.walk() for region in op.regions for block in region.blocks if op is not self.module]
        found = [(block, ops) for block in blocks if (ops := _movable(block))]
        if not found:
            return None
        block, ops = self.chosen.choice(found)
        first = self.chosen.choice(ops)
        chain: list[Operation] = [first]
        while (following := chain[-1].next_op) in ops and following is not None and self.chosen.random() < 0.6:
            chain.append(following)
        return block, chain

    # What each change does

    def split(self) -> None:
        """The rest of a block as a block of its own, which gets some of its values as arguments."""
        picked = self.run()
        if picked is None or not isinstance(picked[0].parent_op(), FuncOp):
            return
        block, ops = picked
        rest = block.split_before(ops[0])
        given = [value for value in _used_in(rest) if value.owner is block or getattr(value.owner, "parent", None) is block]
        given = [value for value in given if self.chosen.random() < 0.4]
        for value in given:
            argument = rest.insert_arg(value.type, len(rest.args))
            value.replace_uses_with_if(argument, lambda use: _ancestor_in(use.operation, rest) is not None)
        block.add_op(cf.BranchOp(rest, *given))

    def diamond(self) -> None:
        """Operations in two blocks, of which one is taken."""
        picked = self.run()
        if picked is None or not isinstance(picked[0].parent_op(), FuncOp):
            return
        block, ops = picked
        rest = block.split_before(ops[0])
        after = rest.split_before(ops[-1].next_op) if ops[-1].next_op is not None else None
        if after is None:
            return
        results = _results_used_outside(ops)
        region = block.parent
        assert region is not None
        other = Block()
        region.insert_block_after(other, rest)
        copies = _cloned(ops, other)
        condition = arith.ConstantOp(IntegerAttr(self.chosen.randrange(2), i1))
        block.add_ops([condition, cf.ConditionalBranchOp(condition.result, rest, [], other, [])])
        for value in results:
            argument = after.insert_arg(value.type, len(after.args))
            value.replace_uses_with_if(argument, lambda use: _ancestor_in(use.operation, rest) is None and use.operation not in copies)
        rest.add_op(cf.BranchOp(after, *results))
        other.add_op(cf.BranchOp(after, *(copies[value.op].results[value.index] for value in results)))

    def conditional(self) -> None:
        """Operations in an `scf.if`."""
        if (picked := self.run()) is None:
            return
        _, ops = picked
        results = _results_used_outside(ops)
        other = Block()
        copies = _cloned(ops, other)
        other.add_op(scf.YieldOp(*(copies[value.op].results[value.index] for value in results)))
        condition = arith.ConstantOp(IntegerAttr(self.chosen.randrange(2), i1))
        Rewriter.insert_op(condition, InsertPoint.before(ops[0]))
        body = Block()
        made = scf.IfOp(condition.result, [value.type for value in results], Region(body), Region(other))
        self._move(ops, made, body, results)
        body.add_op(scf.YieldOp(*results))

    def loop(self) -> None:
        """Operations in an `scf.for` of one or two rounds, which begins with any values of the right types."""
        if (picked := self.run()) is None:
            return
        block, ops = picked
        results = _results_used_outside(ops)
        there = [*block.args, *(result for op in block.ops if _before(op, ops[0]) for result in op.results)]
        start = [next((value for value in reversed(there) if value.type == result.type), None) for result in results]
        if None in start:
            return
        first, last, step = (arith.ConstantOp(IntegerAttr(number, IndexType())) for number in (0, self.chosen.choice((1, 2)), 1))
        Rewriter.insert_op([first, last, step], InsertPoint.before(ops[0]))
        body = Block(arg_types=[IndexType(), *(value.type for value in results)])
        initial = [value for value in start if value is not None]
        made = scf.ForOp(first.result, last.result, step.result, initial, body)
        self._move(ops, made, body, results)
        body.add_op(scf.YieldOp(*results))

    def call(self) -> None:
        """Operations in a function, which may be called once more than needed."""
        if (picked := self.run()) is None:
            return
        _, ops = picked
        results = _results_used_outside(ops)
        inside = {result for op in ops for result in op.results}
        given = [value for value in _used_by(ops) if value not in inside]
        body = Block(arg_types=[value.type for value in given])
        name = self.name("part")
        calls = [CallOp(name, given, [value.type for value in results]) for _ in range(self.chosen.choice((1, 1, 2)))]
        for call in calls:
            Rewriter.insert_op(call, InsertPoint.before(ops[0]))
        for value, result in zip(results, calls[-1].results, strict=True):
            value.replace_uses_with_if(result, lambda use: not any(_is_within(use.operation, op) for op in ops))
        for op in ops:
            op.detach()
            body.add_op(op)
        for value, argument in zip(given, body.args, strict=True):
            value.replace_uses_with_if(argument, lambda use: _ancestor_in(use.operation, body) is not None)
        body.add_op(ReturnOp(*results))
        visibility = StringAttr("private") if self.chosen.random() < 0.7 else None
        function = FuncOp(name, (body.arg_types, [value.type for value in results]), Region(body), visibility)
        self.module.body.block.add_op(function)

    def unreachable(self) -> None:
        """A block that nothing leads to."""
        if (picked := self.run()) is None or not isinstance(picked[0].parent_op(), FuncOp):
            return
        block, ops = picked
        region = block.parent
        assert region is not None
        dead = Block()
        region.add_block(dead)
        # What they read need not have been computed: nothing dominates what is never reached, and everything does.
        _cloned(ops, dead)
        dead.add_op(cf.BranchOp(dead))

    def note(self) -> None:
        """An attribute that nobody knows."""
        if (picked := self.run()) is not None:
            for op in picked[1]:
                op.attributes["test.note"] = self.chosen.choice((UnitAttr(), StringAttr("x")))

    def observe(self) -> None:
        """An operation that nobody knows, between a value and those that read it."""
        if (picked := self.run()) is None or not (results := picked[1][0].results):
            return
        value = self.chosen.choice(results)
        seen = UnregisteredOp.with_name(OBSERVED).create(operands=[value], result_types=[value.type])
        Rewriter.insert_op(seen, InsertPoint.after(picked[1][0]))
        value.replace_uses_with_if(seen.results[0], lambda use: use.operation is not seen)

    def store(self) -> None:
        """An argument as a constant, or a value by way of a state."""
        functions = [op for op in self.module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]
        function = self.chosen.choice(functions)
        first, block = function.body.blocks[0].first_op, function.body.blocks[0]
        assert first is not None
        mutable = self.chosen.random() < 0.4
        picked = self.run() if mutable else None
        values = [
            item for item in (picked[1][0].results if picked else block.args) if isinstance(item.type, TensorType) and is_static(item)
        ]
        if not values:
            return
        value = self.chosen.choice(values)
        name, kind = f"global{len(list(self.module.body.block.ops))}", tensor_type(value)
        data = contents(name, kind)
        visibility = self.chosen.choice(("private", "public"))
        made = GlobalOp(name, kind, BlobAttr.get(name, digest_of(data)), is_mutable=mutable, sym_visibility=visibility)
        Rewriter.insert_op(made, InsertPoint.at_start(self.module.body.block))
        if not mutable:
            load = GlobalLoadConstantOp(name, kind)
            Rewriter.insert_op(load, InsertPoint.before(first))
            value.replace_uses_with_if(load.results[0], lambda use: self.chosen.random() < 0.8)
            return
        assert isinstance(value, OpResult)
        store, load = GlobalStoreOp(name, value), GlobalLoadOp(name, kind)
        Rewriter.insert_op([store, load], InsertPoint.after(value.op))
        value.replace_uses_with_if(load.results[0], lambda use: use.operation is not store)

    def nothing_returned(self) -> None:
        """A function without results beside the others, and one that is only declared."""
        if (picked := self.run()) is not None:
            given = _used_by(picked[1])
            body = Block(arg_types=[value.type for value in given])
            copies = _cloned(picked[1], body)
            for value, argument in zip(given, body.args, strict=True):
                value.replace_uses_with_if(argument, lambda use: _ancestor_in(use.operation, body) is not None)
            seen = [result for op in copies.values() for result in op.results][:1]
            body.add_ops(
                [UnregisteredOp.with_name(OBSERVED).create(operands=seen, result_types=[value.type for value in seen]), ReturnOp()]
            )
            self.module.body.block.add_op(FuncOp(self.name("silent"), (body.arg_types, []), Region(body)))
            self.module.body.block.add_op(FuncOp.external(self.name("declared"), [value.type for value in given], []))

    def recursion(self) -> None:
        """A function that calls itself, and that nobody calls."""
        if (picked := self.run()) is not None:
            given = _used_by(picked[1])
            name, body = self.name("endless"), Block(arg_types=[value.type for value in given])
            copies = _cloned(picked[1], body)
            for value, argument in zip(given, body.args, strict=True):
                value.replace_uses_with_if(argument, lambda use: _ancestor_in(use.operation, body) is not None)
            types = [result.type for op in copies.values() for result in op.results]
            call = CallOp(name, list(body.args), types)
            body.add_ops([call, ReturnOp(*call.results)])
            self.module.body.block.add_op(FuncOp(name, (body.arg_types, types), Region(body), StringAttr("private")))

    def _move(self, ops: Sequence[Operation], made: Operation, body: Block, results: Sequence[OpResult]) -> None:
        """Puts operations into `body`, which is in `made`, whose results take the place of theirs outside."""
        Rewriter.insert_op(made, InsertPoint.before(ops[0]))
        for op in ops:
            op.detach()
            body.add_op(op)
        for value, result in zip(results, made.results, strict=True):
            value.replace_uses_with_if(result, lambda use: _ancestor_in(use.operation, body) is None)


def _movable(block: Block) -> list[Operation]:
    return [op for op in block.ops if isinstance(op, SchemaOp | scf.IfOp | scf.ForOp)]


def _cloned(ops: Sequence[Operation], into: Block) -> dict[Operation, Operation]:
    values: dict[SSAValue, SSAValue] = {}
    copies = {op: op.clone(values) for op in ops}
    into.add_ops(copies.values())
    return copies


def _is_within(op: Operation, other: Operation) -> bool:
    around: Operation | None = op
    while around is not None and around is not other:
        around = around.parent_op()
    return around is not None


def _ancestor_in(op: Operation, block: Block) -> Operation | None:
    around: Operation | None = op
    while around is not None and around.parent is not block:
        around = around.parent_op()
    return around


def _before(op: Operation, other: Operation) -> bool:
    following = op.next_op
    while following is not None and following is not other:
        following = following.next_op
    return following is not None


def _used_by(ops: Sequence[Operation]) -> list[SSAValue]:
    """What operations read from outside of them, once each."""
    inner = {result for op in ops for item in op.walk() for result in item.results}
    inner |= {argument for op in ops for item in op.walk() for region in item.regions for block in region.blocks for argument in block.args}
    return list(dict.fromkeys(value for op in ops for item in op.walk() for value in item.operands if value not in inner))


def _used_in(block: Block) -> list[SSAValue]:
    return _used_by(list(block.ops))


def _results_used_outside(ops: Sequence[Operation]) -> list[OpResult]:
    return [
        result
        for op in ops
        for result in op.results
        if any(not any(_is_within(use.operation, item) for item in ops) for use in result.uses)
    ]


def store_globals(chosen: random.Random, module: ModuleOp) -> None:
    """Makes constants of some arguments, and sends some values by way of a state."""
    for _ in range(chosen.choice((0, 1, 1, 3))):
        _Structure(chosen, module).store()


def fill_globals(module: ModuleOp, context: FlambeauContext) -> None:
    """Puts the bytes of the globals into the store of a context."""
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.value, BlobAttr):
            context.blobs.add(op.value.key.data, contents(op.sym_name.data, op.type))


def restructure(chosen: random.Random, module: ModuleOp) -> None:
    """Puts some structure into the functions of a module."""
    structure = _Structure(chosen, module)
    changes = (
        structure.split,
        structure.diamond,
        structure.conditional,
        structure.loop,
        structure.call,
        structure.unreachable,
        structure.note,
        structure.observe,
        structure.store,
        structure.nothing_returned,
        structure.recursion,
    )
    for _ in range(chosen.choice((1, 2, 3, 6))):
        chosen.choice(changes)()
    for op in module.walk():
        # xDSL takes an operation that nobody knows for the terminator of these, which is not printed.
        if isinstance(op, scf.IfOp) and not op.results:
            for seen in [
                item for region in op.regions for block in region.blocks for item in block.ops if isinstance(item, UnregisteredOp)
            ]:
                Rewriter.replace_op(seen, [], list(seen.operands))
