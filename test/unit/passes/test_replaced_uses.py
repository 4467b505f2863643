"""Replacing values in wide operations: the same as xDSL does, for whoever looks."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, SSAValues

from flambeau.dialects.ir.equivalence import equivalent
from flambeau.passes.rewriting.uses import MANY, Rewriter, editing_operands, replace_uses

WIDE = MANY + 3


def wide_block() -> tuple[AnyOp, Operation]:
    """Values, and an operation that reads each."""
    source = AnyOp(result_types=[i32] * WIDE)
    reader = AnyOp(operands=source.results)
    Block([source, reader])
    return source, reader


def test_wide_operands_read_as_xdsl_keeps_them() -> None:
    source, reader = wide_block()
    other = AnyOp(result_types=[i32])
    with editing_operands():
        with editing_operands():
            users = replace_uses(source.results[5], other.results[0])
        expected = (*source.results[:5], other.results[0], *source.results[6:])
        assert users == [reader]
        assert tuple(reader.operands) == expected
        assert reader.operands[5] is reader.operands[5 - WIDE] is other.results[0]
        assert isinstance(reader.operands[4:7], SSAValues)
        assert tuple(reader.operands[4:7]) == expected[4:7]
        assert hash(reader.operands) == hash(SSAValues(expected))
        assert reader.operands == AnyOp(operands=expected).operands
        assert reader.operand_types == (i32,) * WIDE
        assert equivalent(reader, reader.clone())
    assert isinstance(reader._operands, SSAValues)  # pyright: ignore[reportPrivateUsage] that it is as before
    assert tuple(reader.operands) == expected


def test_random_replacements_are_those_of_xdsl() -> None:
    chosen = random.Random(3)
    for _ in range(20):
        (ours, our_reader), (theirs, their_reader) = wide_block(), wide_block()
        with editing_operands():
            for _ in range(40):
                old, new = chosen.randrange(WIDE), chosen.randrange(WIDE)
                least = chosen.choice([0, WIDE // 2])
                replace_uses(ours.results[old], ours.results[new], lambda use, least=least: use.index >= least)
                if old != new:
                    theirs.results[old].replace_uses_with_if(theirs.results[new], lambda use, least=least: use.index >= least)
                if chosen.random() < 0.1:  # what others do to the operands in between is kept
                    swapped = chosen.randrange(WIDE)
                    our_reader.operands[swapped] = ours.results[0]
                    their_reader.operands[swapped] = theirs.results[0]
        assert [ours.results.index(item) for item in our_reader.operands] == [theirs.results.index(item) for item in their_reader.operands]
        for mine, other in zip(ours.results, theirs.results, strict=True):
            assert [use.index for use in mine.uses] == [use.index for use in other.uses]


def test_the_rewriter_tells_of_every_use() -> None:
    source, reader = wide_block()
    narrow = AnyOp(operands=[source.results[0], source.results[0]])
    told: list[Operation] = []
    rewriter = Rewriter(reader)
    rewriter.operation_modification_handler.append(told.append)
    with editing_operands():
        rewriter.replace_all_uses_with(source.results[0], source.results[0])
        assert not told and not rewriter.has_done_action
        rewriter.replace_all_uses_with(source.results[0], source.results[1])
        assert told == [narrow, narrow, reader] and rewriter.has_done_action
        rewriter.replace_uses_with_if(source.results[2], source.results[1], lambda use: False)
    assert told == [narrow, narrow, reader]
    assert source.results[0].first_use is None
