"""Placement in banks: what a bank takes, and that every buffer lies in one bank, apart from all that live with it."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from test_planning_methods import only_method, random_method, run_twice
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.passes.planning.banks import Bank, bank_of, banks_of, place_in_banks
from flambeau.passes.planning.buffers import Buffer, Plan, check_plan, lower_bound
from flambeau.passes.planning.portfolio import plan_buffers
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte, read_pte
from flambeau.support.lazy import Array


def pack(buffers: Sequence[Buffer], effort: int) -> Plan:
    return plan_buffers(buffers, alignment=16, effort=effort)


def random_buffers(choice: random.Random) -> list[Buffer]:
    starts = [choice.randrange(20) for _ in range(choice.randrange(1, 40))]
    return [Buffer(start, start + choice.randint(1, 8), choice.choice((0, 4, 16, 24, 100, 256))) for start in starts]


@pytest.mark.parametrize("part", range(4))
def test_each_buffer_lies_in_one_bank_or_is_told(part: int):
    told = 0
    for seed in range(part, 400, 4):
        choice = random.Random(seed)
        buffers = random_buffers(choice)
        sizes = [choice.choice((None, 0, 50, 128, 300, 700)) for _ in range(choice.randint(1, 4))]
        pins = {index: choice.randrange(len(sizes)) for index in range(len(buffers)) if choice.random() < 0.2}
        traffic = [choice.randrange(5) * buffer.size for buffer in buffers]
        found = place_in_banks(buffers, traffic, sizes, pack, alignment=16, effort=20_000, pins=pins)
        assert sorted([*found.unplaced, *(index for members in found.members for index in members)]) == list(range(len(buffers)))
        for bank, (size, members, plan) in enumerate(zip(sizes, found.members, found.plans, strict=True)):
            check_plan([buffers[index] for index in members], plan, 16)
            assert size is None or plan.size <= size
            assert all(pins.get(index, bank) == bank for index in members)
        told += len(found.unplaced)
        for index in found.unplaced:
            tried = [pins[index]] if index in pins else range(len(sizes))
            assert all(sizes[bank] is not None for bank in tried)
            # At the least, what is left out does not fit beside the bank's buffers of more traffic.
            for bank in tried:
                beside = [buffers[member] for member in found.members[bank]]
                assert pack([*beside, buffers[index]], 0).size > (sizes[bank] or 0) or lower_bound([buffers[index]], 16) == 0
    assert told


def test_a_bank_takes_the_most_traffic_per_byte():
    buffers = [Buffer(0, 2, 64), Buffer(0, 2, 32), Buffer(0, 2, 32), Buffer(2, 3, 64)]
    found = place_in_banks(buffers, [192, 96, 160, 64], [64, 64, None], pack, alignment=16)
    assert found.members == [[1, 2, 3], [0], []]


def test_what_a_bank_holds_moves_for_one_more():
    """First fit leaves 32 bytes on each side of the second buffer, and the third needs 64."""
    buffers = [Buffer(0, 3, 32), Buffer(1, 4, 32), Buffer(3, 5, 64)]
    found = place_in_banks([*buffers, Buffer(0, 5, 96)], [96, 64, 64, 1], [96, None], pack, alignment=16)
    assert found.members == [[0, 1, 2], [3]]


def on_the_c_runtime(module: ModuleOp, context: FlambeauContext, inputs: list[Array]) -> list[bytes]:
    method = Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method("forward")
    runs = [method.execute(inputs), method.execute([-array for array in inputs])]
    return [np.asarray(item).tobytes() for run in runs for item in run]


def test_random_methods_compute_the_same_bits_in_banks():
    used = 0
    for seed in range(60):
        context = FlambeauContext()
        whole = parse_module(random_method(seed, context), context).module
        numbers = np.random.default_rng(seed)
        inputs = [numbers.integers(-4, 5, shape_of(slot)).astype(np.float32) for slot in only_method(whole).terminator.inputs]
        parts = whole.clone()
        Pipeline.parse("reuse-storage,plan-memory,verify-plan").run(whole, context)
        Pipeline.parse("reuse-storage,plan-memory{banks=tcm:96,sram:256,dram},verify-plan").run(parts, context)
        used += all(only_method(parts).arena_sizes or ())
        assert [item.tobytes() for item in run_twice(parts, context, inputs)] == [
            item.tobytes() for item in run_twice(whole, context, inputs)
        ]
        assert on_the_c_runtime(parts, context, inputs) == on_the_c_runtime(whole, context, inputs)
        again = only_method(read_pte(b"".join(emit_pte(parts, context)), FlambeauContext()))
        assert (again.bank_names, again.arena_sizes) == (only_method(parts).bank_names, only_method(parts).arena_sizes)
    assert used > 30


@pytest.mark.parametrize(
    ("text", "bank"),
    [
        ("sram:512K", Bank("sram", 512 << 10)),
        ("dram=8M", Bank("dram", 8 << 20)),
        ("x:40", Bank("x", 40)),
        ("_a1", Bank("_a1")),
        ("x:0", Bank("x", 0)),
    ],
)
def test_banks_are_written_as_names_and_sizes(text: str, bank: Bank):
    assert bank_of(text) == bank


@pytest.mark.parametrize("text", ["", "1a", "a-b", "sram:", "sram:-4", "sram:4k", "sram:4G", "sram:4K:5", "sr\u00e4m:4", "a b"])
def test_other_texts_are_no_banks(text: str):
    with pytest.raises(ValueError, match="a bank is an identifier of C"):
        bank_of(text)


def test_each_bank_has_a_name_of_its_own():
    with pytest.raises(ValueError, match="the bank 'a' is given twice"):
        banks_of(["a:4", "b", "a"])
