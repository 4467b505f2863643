"""Inputs that a program writes, and outputs other than new tensors: every stage and every engine gives what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import executorch.runtime
import numpy as np
import pytest
import torch
from all_engines import disagreement
from control_flow_operators import branch
from torch import Tensor, nn
from torch.export import Dim

from flambeau import to_edge
from flambeau.frontends.torch_export import UnsupportedProgramError
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.tools.semantics.reference_results import Reference


class _Function(nn.Module):
    """A function, with a parameter and state."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0))
        self.register_buffer("count", torch.full((3,), 5.0))
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def _in_place(model: Any, x: Tensor, y: Tensor) -> Tensor:
    x.add_(y)
    return x * 2


def _through_a_view(model: Any, x: Tensor, y: Tensor) -> Tensor:
    x.view(-1)[1:].mul_(y[1:])
    return x + y


def _swapped(model: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    old = x.clone()
    x.copy_(y)
    y.copy_(old)
    return old, x


def _only_written(model: Any, x: Tensor, y: Tensor) -> None:
    x[:2] = y[:2] * 3


def _cache(model: Any, x: Tensor, y: Tensor) -> Tensor:
    x.index_copy_(0, torch.tensor([1]), y[:1])
    return x.sum()


def _with_state(model: Any, x: Tensor, y: Tensor) -> Tensor:
    model.count.add_(x)
    x.mul_(model.count)
    return y + 1


def _in_a_branch(model: Any, x: Tensor, y: Tensor) -> Tensor:
    x.add_(branch(x.sum() > y.sum(), lambda y: y * 2, lambda y: y - 1, (y,)))
    return x + 1


WRITTEN = (_in_place, _through_a_view, _swapped, _only_written, _cache, _with_state, _in_a_branch)


@pytest.mark.parametrize("function", WRITTEN, ids=lambda function: function.__name__)
def test_inputs_that_a_program_writes(function: Callable[..., Any]) -> None:
    assert disagreement(_Function(function), (torch.tensor([1.0, -2.0, 3.0]), torch.tensor([4.0, 0.5, 2.0])), turns=2) is None


def test_an_input_of_dynamic_shape_is_written() -> None:
    shapes = ({0: Dim("n", max=9)},)
    inputs = (torch.arange(4.0), torch.ones(4))
    assert disagreement(_Function(_in_place), inputs, dynamic_shapes={"inputs": (*shapes, *shapes)}) is None


def _constants(model: Any, x: Tensor) -> Any:
    return {"nothing": None, "number": 3, "half": 0.5, "yes": True, "name": "abc", "x": x + 1}


def _twice(model: Any, x: Tensor) -> Any:
    y = x * 2
    return y, [y, x], y


def _stored(model: Any, x: Tensor) -> Any:
    return model.weight, x, model.count, torch.tensor([7, 8])


def _state(model: Any, x: Tensor) -> Any:
    before = model.count.clone()
    model.count.mul_(x)
    return model.count, before, x, model.count


OUTPUTS = (_constants, _twice, _stored, _state)


@pytest.mark.parametrize("function", OUTPUTS, ids=lambda function: function.__name__)
def test_outputs_that_are_constants_inputs_or_weights(function: Callable[..., Any]) -> None:
    assert disagreement(_Function(function), (torch.tensor([1.0, -2.0, 3.0]),), turns=2) is None


def _edge(function: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
    return to_edge(torch.export.export(_Function(function), tuple(inputs)), **options)


def test_the_new_value_is_computed_where_the_caller_has_it() -> None:
    program = _edge(_in_place, torch.ones(3), torch.ones(3)).to_executorch()
    assert "aten::copy_" not in str(program) and program.memory["forward"].arenas == (16,)


def test_memory_that_cannot_be_written_is_refused() -> None:
    edge = _edge(_in_place, torch.ones(3), torch.ones(3))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method()
    assert method.metadata.written_inputs() == {0}
    y, fixed, every_other = np.ones(3, np.float32), np.ones(3, np.float32), np.arange(6, dtype=np.float32)
    fixed.flags.writeable = False
    with pytest.raises(FlambeauError, match="input 0: the method writes to it, and it is read-only memory; give a copy"):
        method.execute([fixed, y])
    with pytest.raises(InterpreterError, match="input 'inputs_0' is written by the program, and a read-only array was given"):
        interpret(edge.module, edge.context).run("forward", [fixed, y])
    with pytest.raises(FlambeauError, match="expected float32, got int64"):
        method.execute([np.ones(3, np.int64), y])
    method.execute([every_other[::2], y])
    assert every_other.tolist() == [1, 1, 3, 3, 5, 5]


def test_numbers_that_the_program_was_made_with_stay_theirs() -> None:
    def function(_: Any, x: Tensor, n: int, flag: bool) -> Tensor:
        return x * n if flag else x

    edge = _edge(function, torch.ones(3), cast(Any, 5), cast(Any, True))
    for module in (edge.module, edge.to_executorch().module):
        program = interpret(module, edge.context)
        x = np.ones(3, np.float32)
        assert np.array_equal(cast(Any, program.run("forward", [x, 5, True])[0]), 5 * x)
        for given, held in (((6, True), "5"), ((5, False), "True")):
            with pytest.raises(InterpreterError, match=f"is fixed to {held} in this program"):
                program.run("forward", [x, *given])


def test_memory_that_is_written_and_shared_is_refused() -> None:
    edge = _edge(_in_place, torch.ones(3), torch.ones(3))
    program = edge.to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method()
    memory = np.arange(6, dtype=np.float32)
    for x, y in ((memory[:3], memory[:3]), (memory[1:4], memory[:3])):
        with pytest.raises(FlambeauError, match="input 0: the method writes to it, and it shares memory with input 1; give a copy"):
            method.execute([x, y])
        for module in (edge.module, program.module):
            with pytest.raises(
                InterpreterError, match=r"input 'inputs_0' is written .* and shares memory with input 'inputs_1': give a copy"
            ):
                interpret(module, edge.context).run("forward", [x, y])
    method.execute([memory[::2], memory[1::2]])
    assert memory.tolist() == [1, 1, 5, 3, 9, 5]


def test_a_layout_that_would_change_is_refused() -> None:
    x = torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)
    with pytest.raises(UnsupportedProgramError, match=r"input 'inputs_0' at .*: the program writes to it, and it is laid out as"):
        _edge(_in_place, x, x.clone())


def test_comparing_results_sees_what_is_written_to_inputs() -> None:
    edge = _edge(_in_place, torch.ones(3), torch.ones(3))
    reference = Reference(edge.module, edge.context)
    other = edge.module.clone()
    function = next(op for op in other.walk() if op.name == "func.func")
    end = function.regions[0].block.last_op
    end.operands = [end.operands[0], function.regions[0].block.args[0]]
    difference = reference.difference(other)
    assert difference is not None and difference.output == 1


class _Cache(nn.Module):
    """Counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.full((1,), 5))

    def forward(self, x: Tensor) -> Tensor:
        calls = cast(Tensor, self.calls)
        calls.add_(1)
        return x + calls


def test_constant_methods_beside_methods_that_share_state() -> None:
    model = _Cache()
    programs = {name: torch.export.export(model, (torch.zeros(shape),)) for name, shape in (("prefill", 4), ("decode", 1))}
    constants = {"get_max_seq_len": 128, "use_cache": True, "scale": 0.5, "name": "tiny", "tokens": [1, 2], "nothing": None}
    edge = to_edge(programs, constant_methods=constants)
    data = edge.to_executorch().buffer
    peer: Any = executorch.runtime
    ours, theirs = Runtime.get().load_program(data), peer.Runtime.get().load_program(data)
    for loaded in (ours, theirs):
        methods = {name: loaded.load_method(name) for name in (*constants, *programs)}
        for name, value in constants.items():
            assert list(methods[name].execute([])) == (value if isinstance(value, list) else [value])
        for turn, name in enumerate(("prefill", "decode", "decode", "prefill")):
            x = torch.zeros(4 if name == "prefill" else 1)
            (found,) = methods[name].execute([x])
            assert np.asarray(found).tolist() == [6 + turn] * len(x)
    for stage in ("edge", "exec"):
        module = edge.module if stage == "edge" else cast(Any, edge.to_executorch()).module
        program = interpret(module, edge.context)
        assert [program.run(name, []) for name in constants] == [
            value if isinstance(value, list) else [value] for value in constants.values()
        ]
        found = [program.run(name, [np.zeros(4 if name == "prefill" else 1, np.float32)]) for name in ("prefill", "decode", "prefill")]
        assert [cast(Any, item[0]).tolist() for item in found] == [[6] * 4, [7], [8] * 4]


def test_at_least_one_program_is_needed() -> None:
    with pytest.raises(ValueError, match="to_edge takes at least one program, got none"):
        to_edge({})
