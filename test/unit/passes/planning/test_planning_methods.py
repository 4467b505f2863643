"""Random methods keep their meaning through the passes that decide where tensors lie; placing and reusing takes no more memory."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ReuseOp, ViewOp
from flambeau.dialects.ir.tensor_types import f32, shape_of, tensor
from flambeau.dialects.ml_program.ops import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import Pipeline
from flambeau.passes.memory.plan_memory import LOWER_BOUND
from flambeau.passes.planning.buffers import Buffer
from flambeau.passes.planning.live_bytes import LiveProfile
from flambeau.passes.planning.portfolio import plan_buffers
from flambeau.passes.storage.classes import MethodStorage
from flambeau.passes.storage.method_plan import plan_method
from flambeau.runtime.interpreter import MethodProgram
from flambeau.support.lazy import Array

PASSES = "elide-views,place-concat,reuse-storage"
METHODS = 240
Shape = tuple[int, ...]


def type_of(shape: Shape) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}f32>"


@dataclass
class Writer:
    """Writes a random method, slot by slot and call by call."""

    choice: random.Random
    slots: list[str] = field(default_factory=list[str])
    calls: list[str] = field(default_factory=list[str])
    values: dict[str, Shape] = field(default_factory=dict[str, Shape])
    inputs: list[str] = field(default_factory=list[str])
    produced: list[str] = field(default_factory=list[str])
    ints: dict[int, str] = field(default_factory=dict[int, str])

    def fresh(self, text: str) -> str:
        name = f"%v{len(self.slots)}"
        self.slots.append(f"{name} = {text}")
        return name

    def number(self, value: int) -> str:
        if value not in self.ints:
            self.ints[value] = self.fresh(f"exec.int {value}")
        return self.ints[value]

    def out(self, shape: Shape) -> str:
        name = self.fresh(f"exec.tensor : {type_of(shape)}")
        self.produced.append(name)
        return name

    def call(self, kernel: str, arguments: Sequence[str], shape: Shape) -> None:
        out = self.out(shape)
        self.calls.append(f'exec.call "{kernel}"({", ".join(arguments)}) outs({out})')
        self.values[out] = shape

    def pick(self) -> tuple[str, Shape]:
        # Recent values more often: chains are where views and reuses happen.
        names = list(self.values)
        name = names[-1 - min(int(self.choice.expovariate(0.4)), len(names) - 1)]
        return name, self.values[name]

    def step(self) -> None:
        kind = self.choice.choice(
            ("unary", "binary", "view", "slice", "select", "permute", "cat", "cat", "stack", "split", "clone", "scatter", "store", "update")
        )
        getattr(self, kind)(*self.pick())

    def unary(self, name: str, shape: Shape) -> None:
        self.call(f"aten::{self.choice.choice(('neg', 'relu', 'abs'))}.out", [name], shape)

    def binary(self, name: str, shape: Shape) -> None:
        others = [other for other, found in self.values.items() if found == shape or (shape and found == shape[-1:])]
        other = self.choice.choice(others)
        if self.choice.random() < 0.5 or self.values[other] != shape:
            self.call("aten::add.out", [name, other, self.number(1)], shape)
        else:
            self.call("aten::mul.out", [other, name], shape)

    def view(self, name: str, shape: Shape) -> None:
        count = math.prod(shape)
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        first = self.choice.choice(divisors)
        new = self.choice.choice(((count,), (first, count // first), (1, first, count // first)))
        size = self.fresh(f"exec.int_list [{', '.join(self.number(extent) for extent in new)}]")
        self.call("aten::view_copy.out", [name, size], new)

    def slice(self, name: str, shape: Shape) -> None:
        dim = self.choice.randrange(len(shape))
        start = self.choice.randrange(shape[dim])
        end = self.choice.randint(start + 1, shape[dim])
        step = self.choice.choice((1, 1, 2))
        arguments = [name, *map(self.number, (dim - self.choice.choice((0, len(shape))), start, end, step))]
        self.call("aten::slice_copy.Tensor_out", arguments, (*shape[:dim], -(-(end - start) // step), *shape[dim + 1 :]))

    def select(self, name: str, shape: Shape) -> None:
        if len(shape) > 1:
            dim = self.choice.randrange(len(shape))
            index = self.choice.randrange(-shape[dim], shape[dim])
            self.call("aten::select_copy.int_out", [name, self.number(dim), self.number(index)], (*shape[:dim], *shape[dim + 1 :]))

    def permute(self, name: str, shape: Shape) -> None:
        order = self.choice.sample(range(len(shape)), len(shape))
        dims = self.fresh(f"exec.int_list [{', '.join(map(self.number, order))}]")
        self.call("aten::permute_copy.out", [name, dims], tuple(shape[dim] for dim in order))

    def cat(self, name: str, shape: Shape) -> None:
        dim = 0 if self.choice.random() < 0.8 else self.choice.randrange(len(shape))
        fitting = [
            other
            for other, found in self.values.items()
            if len(found) == len(shape) and found[:dim] + found[dim + 1 :] == shape[:dim] + shape[dim + 1 :]
        ]
        parts = [name, *self.choice.choices(fitting[-4:], k=self.choice.randint(1, 2))]
        total = sum(self.values[part][dim] for part in parts)
        if total <= 24:
            parts_list = self.fresh(f"exec.tensor_list [{', '.join(parts)}]")
            self.call("aten::cat.out", [parts_list, self.number(dim)], (*shape[:dim], total, *shape[dim + 1 :]))

    def stack(self, name: str, shape: Shape) -> None:
        other = self.choice.choice([other for other, found in self.values.items() if found == shape][-3:])
        if len(shape) < 4:
            parts = self.fresh(f"exec.tensor_list [{name}, {other}]")
            self.call("aten::stack.out", [parts, self.number(0)], (2, *shape))

    def split(self, name: str, shape: Shape) -> None:
        length = self.choice.randint(1, shape[0])
        shapes = [(min(length, shape[0] - start), *shape[1:]) for start in range(0, shape[0], length)]
        outs = [self.out(part) for part in shapes]
        parts = self.fresh(f"exec.tensor_list [{', '.join(outs)}]")
        sizes = self.fresh(f"exec.int_list [{', '.join(self.number(part[0]) for part in shapes)}]")
        self.calls.append(f'exec.call "aten::split_with_sizes_copy.out"({name}, {sizes}, {self.number(0)}) outs({parts})')
        self.values |= dict(zip(outs, shapes, strict=True))

    def clone(self, name: str, shape: Shape) -> None:
        self.call("aten::clone.out", [name, self.fresh("exec.none")], shape)

    def scatter(self, name: str, shape: Shape) -> None:
        parts = [other for other, found in self.values.items() if found == shape[1:]]
        if parts:
            row = self.number(self.choice.randrange(shape[0]))
            self.call("aten::select_scatter.out", [name, self.choice.choice(parts), self.number(0), row], shape)

    def update(self, name: str, shape: Shape) -> None:
        """A next value for the state, from itself, stored a little later."""
        if shape == (6,):
            self.call("aten::select_scatter.out", ["%state", name, self.number(0), self.number(1)], (4, 6))
        elif shape == (4, 6):
            self.call("aten::add.out", ["%state", name, self.number(1)], (4, 6))
        else:
            return
        new = self.produced[-1]
        for _ in range(self.choice.randrange(3)):
            self.unary(*self.pick())
        self.store(new, (4, 6))

    def store(self, name: str, shape: Shape) -> None:
        if shape == (4, 6):
            no = self.fresh("exec.bool false")
            self.calls.append(f'exec.call "aten::copy_"(%state, {name}, {no}) returns(%state)')


def random_method(seed: int, context: FlambeauContext) -> str:
    """A module with a constant, state and one method."""
    choice = random.Random(seed)
    constant = context.blobs.add("w", (np.arange(24, dtype=np.float32) - 9).tobytes())
    initial = context.blobs.add("s", (np.arange(24, dtype=np.float32) / 8).tobytes())
    kind = tensor(f32, (4, 6))
    writer = Writer(choice)
    for shape in choice.choices(((4, 6), (6,), (2, 6), (1, 4, 6)), k=choice.randint(1, 3)):
        name = writer.fresh(f"exec.tensor : {type_of(shape)}")
        writer.values[name] = shape
        writer.inputs.append(name)
    writer.slots += [f"%w = exec.constant @w : {type_of((4, 6))}", f"%state = exec.state @state : {type_of((4, 6))}"]
    writer.values |= {"%w": (4, 6), "%state": (4, 6)}
    for _ in range(choice.randint(3, 25)):
        writer.step()
    candidates = writer.produced or writer.inputs
    outputs = choice.sample(candidates, min(len(candidates), choice.randint(1, 3)))
    shared = [GlobalOp("w", kind, constant), GlobalOp("state", kind, initial, is_mutable=True)]
    body = "\n  ".join([*writer.slots, *writer.calls])
    ends = f"exec.return inputs({', '.join(writer.inputs)}) outputs({', '.join(outputs)})"
    return "\n".join([*map(str, shared), f"exec.method @forward {{}} {{\n  {body}\n  {ends}\n}}"])


def run_twice(module: ModuleOp, context: FlambeauContext, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of two calls, so that state has its say."""
    program = MethodProgram(module, context)
    results = [*program.run("forward", inputs), *program.run("forward", [-array for array in inputs])]
    return [np.asarray(result) for result in results]


def method_of(text: str, context: FlambeauContext, passes: str) -> MethodOp:
    module = parse_module(text, context).module
    Pipeline.parse(passes).run(module, context)
    return only_method(module)


def only_method(module: ModuleOp) -> MethodOp:
    return next(op for op in module.body.block.ops if isinstance(op, MethodOp))


@pytest.mark.parametrize("part", range(4))
def test_random_methods_keep_their_meaning(part: int):
    views = reuses = 0
    for seed in range(part, METHODS, 4):
        context = FlambeauContext()
        module = parse_module(random_method(seed, context), context).module
        method = only_method(module)
        numbers = np.random.default_rng(seed)
        inputs = [numbers.integers(-4, 5, shape_of(slot)).astype(np.float32) for slot in method.terminator.inputs]
        expected = run_twice(module, context, inputs)
        bounds = [plan_method(method).lower_bound]
        for name in PASSES.split(","):
            Pipeline.parse(name).run(module, context)
            bounds.append(plan_method(method).lower_bound)
        Pipeline.parse("plan-memory,verify-plan").run(module, context)
        for left, right in zip(expected, run_twice(module, context, inputs), strict=True):
            np.testing.assert_array_equal(left, right, err_msg=f"seed {seed}")
        assert bounds[1:] == sorted(bounds[1:], reverse=True), f"seed {seed}"
        views += sum(isinstance(op, ViewOp) for op in method.slots)
        reuses += sum(isinstance(op, ReuseOp) for op in method.slots)
    assert views > 50
    assert reuses > 20


@pytest.mark.parametrize("seed", range(20))
def test_running_a_pass_again_changes_nothing(seed: int):
    context = FlambeauContext()
    module = parse_module(random_method(seed, context), context).module
    for name in PASSES.split(","):
        Pipeline.parse(name).run(module, context)
        once = print_module(module)
        Pipeline.parse(name).run(module, context)
        assert print_module(module) == once


def test_the_profile_is_the_maximum_over_time():
    choice = random.Random(3)
    for moments in (1, 2, 3, 7, 16, 33):
        profile, plain = LiveProfile(moments), [0] * moments
        for _ in range(200):
            start = choice.randrange(moments)
            end, size = choice.randint(start, moments), choice.randint(-5, 9)
            profile.add(start, end, size)
            for time in range(start, end):
                plain[time] += size
            assert profile.most == max(plain)


CARRIED = """
exec.method @m {} {
  %c = exec.tensor : tensor<1xi1>
  %sum = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<4xf32>
  %half = exec.tensor : tensor<4xf32>
  %low = exec.view %half : tensor<2xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.label @again
  exec.call "aten::neg.out"(%sum) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%sum)
  exec.jump_false %c, @skip
  exec.call "aten::neg.out"(%sum) outs(%d)
  exec.label @skip
  exec.call "aten::neg.out"(%d) outs(%y)
  exec.call "aten::neg.out"(%low) outs(%low)
  exec.call "aten::neg.out"(%half) outs(%y)
  exec.jump_false %c, @again
  exec.return inputs(%c) outputs(%y)
}
"""


def test_what_a_round_may_read_from_the_round_before_lives_through_the_loop():
    method = method_of(CARRIED, FlambeauContext(), "")
    found = {item.root.name_hint: item.span for item in MethodStorage(method).classes()}
    # %sum is read before it is written, %d written by one branch only, %half by halves, %y read after the loop; only %a begins anew.
    assert found == {"c": (0, 11), "sum": (1, 11), "a": (2, 4), "d": (1, 11), "half": (1, 11), "y": (1, 12)}


ENTERED = """
exec.method @m {} {
  %c = exec.tensor : tensor<1xi1>
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.label @outer
  JUMP
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.label @inner
  exec.call "aten::neg.out"(%a) outs(%y)
  ENTRY
  exec.jump_false %c, @inner
  exec.jump_false %c, @outer
  exec.return inputs(%c, %x) outputs(%y)
}
"""


@pytest.mark.parametrize(("jump", "entry", "span"), [("exec.jump_false %c, @within", "exec.label @within", (1, 9)), ("", "", (2, 6))])
def test_what_a_jump_into_a_loop_may_leave_unwritten_lives_through_the_loop_around_it(jump: str, entry: str, span: tuple[int, int]):
    storage = MethodStorage(method_of(ENTERED.replace("JUMP", jump).replace("ENTRY", entry), FlambeauContext(), ""))
    assert {item.root.name_hint: item.span for item in storage.classes()}["a"] == span


def test_a_plan_is_never_above_executorchs_greedy():
    for seed in range(40):
        context = FlambeauContext()
        planned = plan_method(method_of(random_method(seed, context), context, PASSES))
        buffers = [Buffer(*buffer) for buffer in planned.buffers]
        assert planned.lower_bound <= planned.placement.plans[0].size <= plan_buffers(buffers, alignment=16, algorithm="greedy").size


def test_the_pass_writes_down_what_it_found():
    context = FlambeauContext()
    method = method_of(random_method(1, context), context, f"{PASSES},plan-memory")
    planned = plan_method(method)
    assert method.arena_sizes == (planned.placement.plans[0].size,)
    assert str(method.attributes[LOWER_BOUND]) == f"{planned.lower_bound} : i64"


def test_another_order_computes_the_same_bits_in_no_more_memory():
    lower = 0
    for seed in range(0, METHODS, 4):
        context = FlambeauContext()
        module = parse_module(random_method(seed, context), context).module
        method = only_method(module)
        numbers = np.random.default_rng(seed)
        inputs = [numbers.integers(-4, 5, shape_of(slot)).astype(np.float32) for slot in method.terminator.inputs]
        Pipeline.parse(PASSES).run(module, context)
        before, expected = plan_method(method).lower_bound, run_twice(module, context, inputs)
        calls = Counter(str(op) for op in method.instructions)
        Pipeline.parse("reorder-instructions").run(module, context)
        assert Counter(str(op) for op in method.instructions) == calls
        after = plan_method(method).lower_bound
        assert after <= before
        lower += after < before
        Pipeline.parse("plan-memory,verify-plan").run(module, context)
        for found, wanted in zip(run_twice(module, context, inputs), expected, strict=True):
            assert found.tobytes() == wanted.tobytes()
    assert lower > METHODS // 40
