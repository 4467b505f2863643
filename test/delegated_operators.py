"""Legality against reality: each sample of an operator as a program that a backend may take, and what it must compute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from row_harness import samples_of
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import UndecidedError, extent, is_known
from flambeau.dialects.ir.tensor_types import element_of, is_float, shape_of, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.inferred_types import UndecidedTypesError
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation, with_tensors

_IMAGE = np.random.default_rng(0).standard_normal((2, 3, 4, 5), np.float32)
_HIDDEN = np.tril(np.ones((4, 5), bool))
_MORE_SAMPLES: dict[str, list[tuple[Any, ...]]] = {
    "permute_copy": [(_IMAGE, (0, 2, 3, 1))],
    "squeeze_copy.dims": [(_IMAGE[:, :1], (1,))],
    "mean.dim": [(_IMAGE, dims, len(dims) == 2, None) for dims in ((2, 3), (-1, 2), (1,), (0, 1), (-1,), (0, 1, 2, 3))],
    "sum.dim_IntList": [(_IMAGE, dims, len(dims) == 2, None) for dims in ((2, 3), (0, 1), (1,), (2, -1), (-1,))],
    "where.self": [
        (_HIDDEN, _IMAGE, np.full((), -np.inf, np.float32)),
        (_HIDDEN, _IMAGE, _IMAGE[0]),
        (_HIDDEN, np.zeros((), np.float32), np.full((), 2, np.float32)),
        (~_HIDDEN, _IMAGE, np.full((1,), np.inf, np.float32)),
    ],
}


@dataclass
class Trial:
    """A program of one operation, weights as constants, with its inputs and results."""

    module: ModuleOp
    context: FlambeauContext
    inputs: list[Array]
    expected: list[Array]

    @property
    def is_finite(self) -> bool:
        """Whether nothing of it is NaN or infinite."""
        return all(np.isfinite(array).all() for array in (*self.inputs, *self.expected))


@dataclass
class Trials:
    """The programs of the samples that a backend takes of an operator, and its reasons for the others."""

    operator: str
    taken: list[Trial] = field(default_factory=list[Trial])
    reasons: list[str] = field(default_factory=list[str])

    def finite(self) -> list[Trial]:
        """Those of numbers: libraries leave NaN to the processor. Fails where nothing is taken, and for a reason without words."""
        assert self.taken, f"no sample of {self.operator} is taken: {sorted(set(self.reasons))}"
        assert all(reason and reason[0].islower() for reason in self.reasons)
        return [trial for trial in self.taken if trial.is_finite]


def kind_of(name: str) -> type[SchemaOp]:
    """The class of an operator of the edge level."""
    kind = find_op(f"edge.{name}") or find_op(name)
    assert kind is not None
    return kind


def trials_of(
    name: str,
    table: OperatorTable,
    constants: Mapping[str, Sequence[str]] | None = None,
    readers: Mapping[str, str] | None = None,
    of_sample: Callable[[type[SchemaOp], Sequence[Any]], tuple[SchemaOp, Block]] = operation,
) -> Trials:
    """The samples of an operator.

    Args:
        name: at the edge level.
        table: what the backend takes.
        constants: by operator, further arguments that are constants.
        readers: by operator, what reads the result, where it is taken for that only.
        of_sample: makes the operation on a sample, and a block of its operands. A sample of which it makes none is left out.
    """
    kind = kind_of(name)
    trials = Trials(name)
    for sample in [*samples_of(kind.siblings["row"]), *_MORE_SAMPLES.get(name, ())]:
        try:
            (known, _), (op, block) = operation(kind, sample), of_sample(kind, sample)
            op.verify_()
        except (VerifyException, UndecidedError, UndecidedTypesError):
            continue  # the edge level takes fewer
        arrays: list[Any] = arrays_of(sample)
        read = [op, *_reader((readers or {}).get(name), op)]
        expected = meaning(known, arrays)
        for item in read[1:]:
            expected = meaning(item, expected)
        context, inputs = FlambeauContext(), [*arrays]
        module = ModuleOp([])
        # Of operators that return several things, backends give the first.
        returned = read[-1].results[:1] if len(kind.schema.returns) > 1 else read[-1].results
        block.add_ops([*read, ReturnOp(*returned)])
        weights = ModuleConstants(context, module)
        constant = (*table.rules[name].constants, *(constants or {}).get(name, ()))
        for argument in sorted(constant, key=[argument.name for argument in kind.schema.arguments].index, reverse=True):
            given: Any = op.argument(argument)
            values = cast("list[Any]", given) if isinstance(given, list) else [given]
            for value in [item for item in reversed(values) if item is not None]:
                load = weights.add(argument, arrays[value.index], value.type)
                block.insert_op_before(load, op)
                value.replace_all_uses_with(load.result)
                inputs.pop(value.index)
                block.erase_arg(value)
        method_type = FunctionType.from_lists(block.arg_types, [value.type for value in returned])
        module.body.block.add_op(FuncOp("forward", method_type, Region(block)))
        if (reason := table.why_not(op)) is None:
            trials.taken.append(Trial(module, context, inputs, expected[: len(returned)]))
        else:
            trials.reasons.append(reason)
    return trials


_OF_SIZES = {"view_copy": "size", "expand_copy": "size", "native_group_norm": "N"}
"""The operators that have a first size among their numbers, with the argument."""


def open_operation(kind: type[SchemaOp], sample: Sequence[Any], fixed: Collection[str]) -> tuple[SchemaOp, Block]:
    """The operation on a sample, where the first size of the operand with most dimensions, and of others as large, is a symbol.

    The arguments `fixed` are constants. Raises UndecidedError where there is no such size, VerifyException where types do not follow.
    """
    op, block = operation(kind, sample)
    constants = [op.argument(name) for name in fixed]
    others = [value for value in block.args if value not in constants and shape_of(value)]
    size = shape_of(max(others, key=lambda value: len(shape_of(value))))[0] if others else 1
    if size < 2:
        raise UndecidedError("no batch")
    batch = extent(of_symbol(Symbol("batch", 1, 2 * size)))
    kinds = [
        tensor(element_of(value), (batch, *shape_of(value)[1:])) if value in others and shape_of(value)[0] == size else value.type
        for value in block.args
    ]
    renewed = Block(arg_types=kinds)
    arguments = list(with_tensors(sample, lambda number, _: renewed.args[number]))
    for place, argument in enumerate(kind.schema.arguments):
        if argument.name == _OF_SIZES.get(kind.schema.base):
            value = arguments[place]
            arguments[place] = (batch, *value[1:]) if isinstance(value, tuple) and value[0] == size else batch if value == size else value
    return kind(*arguments), renewed


def of_batch(arrays: Sequence[Array], block: Block, size: int) -> list[Array]:
    """The arrays of a sample with so many entries where the first size is a symbol; they are repeated to fill them."""
    return [
        array if all(map(is_known, shape_of(value)[:1])) else array.take(np.arange(size) % len(array), 0)
        for array, value in zip(arrays, block.args, strict=True)
    ]


def _reader(name: str | None, op: SchemaOp) -> list[SchemaOp]:
    """What reads the result of an operation."""
    return [kind_of(name)(op.results[0], -1, False)] if name is not None and is_float(element_of(op.results[0])) else []


def program_of(trial: Trial, backend: str) -> bytes:
    """The program of a trial whose operation the backend has, after its stages have run by numpy."""
    converted = trial.module.clone()
    Pipeline.parse(f"partition{{backends={backend}}},convert-partitions,cse").run(converted, trial.context)
    assert not [op.name for op in converted.walk() if op.name.startswith("edge.")]
    assert_close(interpret(converted, trial.context).run("forward", trial.inputs), trial.expected)
    Pipeline.parse(f"partition{{backends={backend}}},convert-partitions,cse,lower-partitions").run(trial.module, trial.context)
    assert sum(isinstance(op, PayloadOp) for op in trial.module.walk()) == 1
    assert_close(interpret(trial.module, trial.context, run_payload).run("forward", trial.inputs), trial.expected)
    Pipeline.parse("edge-to-exec,plan").run(trial.module, trial.context)
    return b"".join(emit_pte(trial.module, trial.context))


def assert_close(found: Sequence[Any], expected: Sequence[Array]) -> None:
    """Fails where results differ by more than their type explains."""
    for a, b in zip(found, expected, strict=True):
        array = np.asarray(a)
        assert array.dtype == b.dtype
        # In float16, a library rounds what it computes in several steps between them.
        relative, absolute = (1e-4, 1e-5) if b.dtype == np.float32 else (4e-3, 4e-3 * float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(array.astype(np.float64), b.astype(np.float64), rtol=relative, atol=absolute)
