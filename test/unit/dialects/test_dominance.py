"""Definitions before uses: blocks in any shape, nested regions, graphs, blocks that are never reached."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.test import TestOp as AnOp
from xdsl.dialects.test import TestTermOp as ATerminator
from xdsl.ir import Block, Region

from flambeau.dialects.ir.dominance import dominance_errors, dominator_tree
from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module


def random_region(chosen: random.Random) -> Region:
    """Blocks that define and use values and jump, all at random."""
    blocks = [Block() for _ in range(chosen.randrange(1, 9))]
    region = Region(blocks)
    ops: list[AnOp] = []
    for block in blocks:
        for _ in range(2):
            ops.append(AnOp(result_types=[i32]))
            block.add_op(ops[-1])
        targets = chosen.sample(blocks[1:], min(len(blocks) - 1, chosen.randrange(3)))
        block.add_op(ATerminator(successors=targets))
    for op in chosen.sample(ops, len(ops) // 2):
        op.operands = [chosen.choice(ops).results[0]]
    return region


def reachable(entry: Block, without: Block | None = None) -> set[Block]:
    """The blocks that control can reach when it may not pass through one."""
    seen: set[Block] = set()
    stack = [entry]
    while stack:
        block = stack.pop()
        if block is without or block in seen:
            continue
        seen.add(block)
        assert block.last_op is not None
        stack.extend(block.last_op.successors)
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_random_regions_agree_with_the_definition(seed: int) -> None:
    region = random_region(random.Random(seed))
    entry = region.block if len(region.blocks) == 1 else region.blocks[0]
    live = reachable(entry)
    without = {block: reachable(entry, block) for block in live}
    tree = dominator_tree(region)
    assert set(tree) == live
    for block in live:
        above: set[Block] = set()
        found: Block | None = block
        while found is not None:
            above.add(found)
            found = tree[found]
        assert above == {other for other in live if block not in without[other]}
    expected: set[tuple[object, int]] = set()
    for block in live:
        for position, op in enumerate(block.ops):
            for index, operand in enumerate(op.operands):
                defining = operand.owner
                assert isinstance(defining, AnOp) and defining.parent is not None
                home = defining.parent
                if home is block:
                    misused = list(block.ops).index(defining) >= position
                else:
                    misused = home not in live or block in without[home]
                if misused:
                    expected.add((op, index))
    holder = ModuleOp([FuncOp("f", ((), ()), region)])
    assert {(op, index) for op, index, _ in dominance_errors(holder)} == expected


TEXT = """
func.func @f(%x : i32, %c : i1) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  %1 = "test.op"() ({
    %inner = "test.op"(%x) : (i32) -> i32
    "test.termop"(%inner) : (i32) -> ()
  }) : () -> i32
  cf.br ^b
^b:
  USE
  func.return %x : i32
}
"""


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ('"test.op"(%1) : (i32) -> ()', "operand 0 is defined in a block that does not dominate the use"),
        ('"test.op"(%x, %2) : (i32, i32) -> ()\n  %2 = "test.op"() : () -> i32', "operand 1 is used before test.op defines it"),
        ('%2 = "test.op"(%2) : (i32) -> i32', "operand 0 is used before test.op defines it"),
        ('%2 = "test.op"() ({\n  "test.termop"(%2) : (i32) -> ()\n }) : () -> i32', "operand 0 is used before test.op defines it"),
    ],
)
def test_the_reason_is_said(use: str, reason: str) -> None:
    module = parse_module(TEXT.replace("USE", use), FlambeauContext()).module
    with pytest.raises(VerificationError, match=reason):
        verify_module(module)


def test_a_value_of_a_region_that_does_not_enclose_the_use() -> None:
    inner = AnOp(result_types=[i32])
    outer = AnOp(regions=[Region(Block([inner, ATerminator()]))])
    user = AnOp([inner.results[0]])
    module = ModuleOp([FuncOp("f", ((), ()), Region(Block([outer, user, ATerminator()])))])
    assert dominance_errors(module) == [(user, 0, "is defined in a region that does not enclose the use")]
    stranger = AnOp(result_types=[i32])
    user.operands = [stranger.results[0]]
    assert dominance_errors(module) == [(user, 0, "is not defined within the module")]


GRAPHS = """
%0 = "test.op"(%1) : (i32) -> i32
%1 = "test.op"() : () -> i32
"made.up"() ({
  %2 = "test.op"(%3) : (i32) -> i32
  %3 = "test.op"() : () -> i32
}) : () -> ()
func.func @f() {
  func.return
^never:
  %4 = "test.op"(%5) : (i32) -> i32
  %5 = "test.op"() : () -> i32
  func.return
}
"""


def test_graph_regions_and_blocks_that_are_never_reached_have_no_order() -> None:
    module = parse_module(GRAPHS, FlambeauContext(allow_unregistered=True)).module
    assert any(isinstance(op, UnregisteredOp) for op in module.walk())
    verify_module(module)
